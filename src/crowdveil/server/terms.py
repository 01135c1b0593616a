"""Make the terms of a campaign, and refuse those that every device with the default limits would refuse."""

from __future__ import annotations

from functools import lru_cache

from crowdveil.errors import CampaignRefused
from crowdveil.limits import Charge, PrivacyLimits, Spent, check_terms, check_totals
from crowdveil.server.refusals import refuse
from crowdveil.wire import MAX_SELECTIONS, PROTOCOL, CampaignPlan, Terms, secret_digest, selection_seed


def lotteries(new: CampaignPlan) -> int:
    """Return how many selections the seed of a campaign is for."""
    return MAX_SELECTIONS if new.panel else 1


def make_terms(campaign: str, new: CampaignPlan, *, server_key: str, seed: str) -> Terms:
    """Return what a campaign with this plan announces; the seed of the last lottery only as a hash of hashes."""
    return Terms(
        protocol=PROTOCOL,
        campaign=campaign,
        server_key=server_key,
        name=new.name,
        offer=new.offer,
        area=new.area,
        targets=new.targets,
        target_names=new.target_names,
        epsilon_per_km=new.epsilon_per_km,
        null_epsilon=new.null_epsilon,
        grade_epsilon=new.grade_epsilon,
        delta=new.delta,
        lower_deltas=new.thresholds[1:],
        profile_constants=new.profile_constants,
        rule=new.rule,
        period=new.period,
        enrolment=new.enrolment,
        rounds=new.rounds,
        panel=new.panel,
        renewal_s=new.renewal_s,
        seed_hash=secret_digest(selection_seed(seed, 0, lotteries(new))),
    )


def check_default_limits(terms: Terms) -> None:
    """Refuse terms that a device refuses under the default limits, even if it has never reported before."""
    limits = PrivacyLimits()
    try:
        check_terms(terms, limits)
        check_totals(Spent(), Charge.of(terms, limits), limits)
    except CampaignRefused as error:
        words = f"{error} {error.figures}".strip()
        raise refuse(
            "invalid",
            f"every phone with the default limits would refuse this campaign, and say: {words} "
            "Change the plan, or set beyond_default_limits to create it all the same.",
        ) from None


@lru_cache(maxsize=256)
def read_terms(text: str) -> Terms:
    """Read stored terms."""
    return Terms.from_bytes(text.encode())
