"""What the routes share: store, commit queue, child processes, and what is kept in memory because it never changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from time import monotonic, time

from crowdveil.server.commit_queue import CommitQueue
from crowdveil.server.metrics import Metrics
from crowdveil.server.previews import Previews
from crowdveil.server.rate_limit import RateLimiter
from crowdveil.server.settings import ServerSettings
from crowdveil.store import Campaign, Store, get_campaign, policy_bytes, rounds_of
from crowdveil.wire import PROTOCOL, Announcement, CampaignPlan

KEPT_POLICIES = 32


@dataclass(eq=False)
class Services:
    """Made once for each server."""

    store: Store
    settings: ServerSettings
    metrics: Metrics
    commit_queue: CommitQueue
    previews: Previews
    failures: RateLimiter
    wake: Callable[[], None]
    """Tells the conductor that something has changed."""
    clock: Callable[[], float] = time
    _announced: dict[str, tuple[float, bytes]] = field(default_factory=dict)
    _takes_null: dict[str, bool] = field(default_factory=dict)
    _policies: OrderedDict[tuple[str, int], tuple[bytes, str]] = field(default_factory=OrderedDict)

    def announcement(self, campaign: str) -> bytes | None:
        """What anyone may know of a campaign, at most `announcement_age_s` old; None for one that was not started."""
        now = monotonic()
        made, kept = self._announced.get(campaign, (0.0, b""))
        if kept and now - made < self.settings.announcement_age_s:
            return kept
        found = get_campaign(self.store, campaign)
        if found is None or found.state == "draft":
            return None
        announced = self._announce(found).to_bytes()
        self._announced[campaign] = (now, announced)
        return announced

    def forget(self, campaign: str) -> None:
        """Announce a campaign anew: its operator has changed it."""
        self._announced.pop(campaign, None)

    def policy(self, campaign: str, number: int) -> tuple[bytes, str] | None:
        """A published policy's bytes and hash; both never change."""
        kept = self._policies.get((campaign, number))
        if kept is None:
            data = policy_bytes(self.store, campaign, number)
            if data is None:
                return None
            hashes = {one.number: one.policy_hash for one in rounds_of(self.store, campaign)}
            kept = self._policies[campaign, number] = (data, str(hashes[number]))
            if len(self._policies) > KEPT_POLICIES:
                self._policies.popitem(last=False)
        return kept

    def takes_null(self, campaign: str) -> bool:
        """Whether devices may say NULL in the clear: not where the campaign protects it."""
        if campaign not in self._takes_null:
            found = get_campaign(self.store, campaign)
            if found is None:
                return True
            self._takes_null[campaign] = read_plan(found.plan).null_epsilon is None
        return self._takes_null[campaign]

    def _announce(self, campaign: Campaign) -> Announcement:
        plan = read_plan(campaign.plan)
        current = [one for one in rounds_of(self.store, campaign.id) if one.state == "open"]
        return Announcement(
            protocol=PROTOCOL,
            campaign=campaign.id,
            name=plan.name,
            offer=campaign.offer,
            area=plan.area,
            targets=plan.targets,
            epsilon_per_km=plan.epsilon_per_km,
            delta=plan.delta,
            rule=plan.rule,
            period=plan.period,
            null_epsilon=plan.null_epsilon,
            enrolment=campaign.enrolment,
            rounds=plan.rounds,
            round=current[0].number if current else None,
            policy_hash=current[0].policy_hash if current else None,
            state=campaign.state,
        )


@lru_cache(maxsize=256)
def read_plan(text: str) -> CampaignPlan:
    """The plan as it was sent."""
    return CampaignPlan.from_bytes(text.encode())
