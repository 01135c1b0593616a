"""From an operator's message to the pure campaign, and from reports to the selection: what server and audit share."""

from __future__ import annotations

import numpy as np

from crowdveil.area import Area
from crowdveil.campaign import Plan, State, select
from crowdveil.campaign.selection import Reports, Selection, lottery_number
from crowdveil.errors import InputError
from crowdveil.wire import CampaignPlan

MAX_EPSILON_PER_KM = 1000.0
"""Far beyond anything private; larger ones only overflow."""


def plan_from_wire(new: CampaignPlan, seed: int, area: Area | None = None) -> Plan:
    """The plan that an operator's message means, with everything checked that a campaign rests on.

    Who has made the message's area before may hand it over.
    """
    if new.round_size is not None and new.round_size * new.rounds > new.users:
        raise InputError(
            "round_size", new.round_size, f"times {new.rounds} rounds should be at most users, {new.users}"
        )
    if new.epsilon_per_km > MAX_EPSILON_PER_KM:
        expected = f"should be at most {MAX_EPSILON_PER_KM:g}; devices usually accept ln 4 = 1.386"
        raise InputError("epsilon_per_km", new.epsilon_per_km, expected)
    return Plan(
        area=Area.from_description(new.area) if area is None else area,
        targets=new.targets,
        epsilon_per_km=new.epsilon_per_km,
        users=new.users,
        wanted=new.people_wanted,
        rounds=new.rounds,
        confidence=new.confidence,
        algorithm=new.algorithm,
        start=None if new.prior is None else np.array(new.prior),
        seed=seed,
        null_epsilon=new.null_epsilon,
    )


def round_seats(new: CampaignPlan, plan: Plan, number: int) -> int:
    """How many may take part in a round."""
    return plan.round_users()[number] if new.round_size is None else new.round_size


def choose(state: State, reports: Reports) -> Selection:
    """Select, as far as the campaign came. Nothing depends on who was early, whichever way the campaign is run.

    Algorithm 2 takes reports in their order; here that is the order of the lottery.
    """
    if not state.closed:
        return Selection(np.zeros(0, dtype=np.int64), np.zeros(0), 0, state.plan.wanted)
    if state.plan.algorithm == "algorithm-2":
        order = np.array(
            sorted(range(len(reports)), key=lambda row: lottery_number(state.plan.seed, int(reports.participant[row]))),
            dtype=np.int64,
        )
        reports = Reports(reports.participant[order], reports.round[order], reports.symbol[order])
    return select(state, reports, early=True)
