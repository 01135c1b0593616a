"""Hold what the routes share: store, commit queue, child processes, and a cache of announcements and policies."""

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

MAX_CACHED_POLICIES = 32


@dataclass(eq=False)
class Services:
    """What the routes of one server share."""

    store: Store
    settings: ServerSettings
    metrics: Metrics
    commit_queue: CommitQueue
    previews: Previews
    failures: RateLimiter
    wake: Callable[[], None]
    """Tell the scheduler that something has changed."""
    clock: Callable[[], float] = time
    _announced: dict[str, tuple[float, bytes]] = field(default_factory=dict)
    _accepts_null: dict[str, bool] = field(default_factory=dict)
    _policies: OrderedDict[tuple[str, int], tuple[bytes, str]] = field(default_factory=OrderedDict)

    def announcement(self, campaign: str) -> bytes | None:
        """Return the announcement of a campaign, at most `announcement_age_s` old; None if it has not started."""
        now = monotonic()
        made, cached = self._announced.get(campaign, (0.0, b""))
        if cached and now - made < self.settings.announcement_age_s:
            return cached
        found = get_campaign(self.store, campaign)
        if found is None or found.state == "draft":
            return None
        announced = self._announce(found).to_bytes()
        self._announced[campaign] = (now, announced)
        return announced

    def drop_announcement(self, campaign: str) -> None:
        """Drop a campaign's cached announcement, because its operator has changed the campaign."""
        self._announced.pop(campaign, None)

    def policy(self, campaign: str, number: int) -> tuple[bytes, str] | None:
        """Return the bytes and the hash of a published policy; both never change."""
        cached = self._policies.get((campaign, number))
        if cached is None:
            data = policy_bytes(self.store, campaign, number)
            if data is None:
                return None
            hashes = {one.number: one.policy_hash for one in rounds_of(self.store, campaign)}
            cached = self._policies[campaign, number] = (data, str(hashes[number]))
            if len(self._policies) > MAX_CACHED_POLICIES:
                self._policies.popitem(last=False)
        return cached

    def accepts_null(self, campaign: str) -> bool:
        """Return whether devices may send NULL in the clear, which they may not where the campaign protects it."""
        if campaign not in self._accepts_null:
            found = get_campaign(self.store, campaign)
            if found is None:
                return True
            self._accepts_null[campaign] = read_plan(found.plan).null_epsilon is None
        return self._accepts_null[campaign]

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
    """Read a stored plan."""
    return CampaignPlan.from_bytes(text.encode())
