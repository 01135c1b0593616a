"""Hold what the routes share: store, commit queue, child processes, and what takes long to make and never changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from time import monotonic, time

from crowdveil.campaign import State, resume
from crowdveil.campaign.from_wire import plan_from_wire
from crowdveil.server.commit_queue import CommitQueue
from crowdveil.server.metrics import Metrics
from crowdveil.server.previews import Previews
from crowdveil.server.rate_limit import RateLimiter
from crowdveil.server.seat_limit import SeatLimiter
from crowdveil.server.settings import ServerSettings
from crowdveil.server.terms import read_terms
from crowdveil.store import Campaign, Store, closed_rounds, get_campaign, policy_bytes, rounds_of
from crowdveil.wire import PROTOCOL, Announcement, CampaignPlan, RoundNotice, Terms

MAX_CACHED_POLICIES, MAX_CACHED_PANELS = 32, 8


@dataclass(frozen=True)
class KnownTerms:
    """The terms of a campaign with their hash, which takes a while to compute where the area is large."""

    terms: Terms
    hash: str


@dataclass(frozen=True)
class _CachedPolicy:
    data: bytes
    policy_hash: str
    checked: float
    """When the database still had it, on the monotonic clock."""


@dataclass(eq=False)
class Services:
    """What the routes of one server share."""

    store: Store
    settings: ServerSettings
    metrics: Metrics
    commit_queue: CommitQueue
    previews: Previews
    failures: RateLimiter
    seat_limiter: SeatLimiter
    server_key: str
    """Public key of the server, which every campaign's terms name."""
    wake: Callable[[], None]
    """Tell the scheduler that something has changed."""
    clock: Callable[[], float] = time
    _announced: dict[str, tuple[float, bytes | None]] = field(default_factory=dict)
    known_terms: dict[str, KnownTerms] = field(default_factory=dict)
    """The terms of campaigns that were started and asked for; they never change."""
    _policies: OrderedDict[tuple[str, int], _CachedPolicy] = field(default_factory=OrderedDict)
    _panels: OrderedDict[str, tuple[str, State]] = field(default_factory=OrderedDict)
    """What the closed rounds of panels tell, with the plan that it was computed for."""
    _learning: dict[str, Lock] = field(default_factory=dict)

    def announcement(self, campaign: str) -> bytes | None:
        """Return the announcement of a campaign, at most `announcement_age_s` old; None if it has not started."""
        cached = self.cached_announcement(campaign)
        if cached is not None:
            return cached
        now = monotonic()
        found = get_campaign(self.store, campaign)
        if found is None or found.state == "draft":
            return None
        announced = self._announce(found).to_bytes()
        self._announced[campaign] = (now, announced)
        return announced

    def cached_announcement(self, campaign: str) -> bytes | None:
        """Return the announcement of a campaign if one is cached that is not too old."""
        made, cached = self._announced.get(campaign, (0.0, None))
        return cached if monotonic() - made < self.settings.announcement_age_s else None

    def drop_announcement(self, campaign: str) -> None:
        """Drop a campaign's cached announcement, because its operator has changed the campaign."""
        self._announced.pop(campaign, None)

    def forget(self, campaign: str) -> None:
        """Drop all that is cached of a campaign, because it was deleted.

        Other processes learn of it from the database: they ask it before every answer that is not `announcement_age_s`
        old.
        """
        self.drop_announcement(campaign)
        self.known_terms.pop(campaign, None)
        self._panels.pop(campaign, None)
        self._learning.pop(campaign, None)
        for key in [one for one in self._policies if one[0] == campaign]:
            self._policies.pop(key, None)

    def policy(self, campaign: str, number: int) -> tuple[bytes, str] | None:
        """Return the bytes and the hash of a published policy; both never change until the campaign is deleted."""
        checked = monotonic()
        hashes = {one.number: one.policy_hash for one in rounds_of(self.store, campaign)}
        cached = self._policies.get((campaign, number))
        data = policy_bytes(self.store, campaign, number) if cached is None else cached.data
        policy_hash = hashes.get(number)
        if data is None or policy_hash is None:
            self._policies.pop((campaign, number), None)
            return None
        self._policies[campaign, number] = _CachedPolicy(data, policy_hash, checked)
        if len(self._policies) > MAX_CACHED_POLICIES:
            self._policies.popitem(last=False)
        return data, policy_hash

    def cached_policy(self, campaign: str, number: int) -> tuple[bytes, str] | None:
        """Return the bytes and the hash of a policy if they are cached, and its campaign existed a moment ago."""
        cached = self._policies.get((campaign, number))
        if cached is None or monotonic() - cached.checked >= self.settings.announcement_age_s:
            return None
        return cached.data, cached.policy_hash

    def terms(self, campaign: str) -> KnownTerms | None:
        """Return the terms of a campaign, which do not change any more; None if it does not exist, or is a draft."""
        known = self.known_terms.get(campaign)
        if known is None:
            found = get_campaign(self.store, campaign)
            if found is None or found.state == "draft":
                return None
            terms = read_terms(found.terms)
            known = self.known_terms[campaign] = KnownTerms(terms, terms.hash)
        return known

    def panel_state(self, campaign: Campaign) -> State:
        """Return what the closed rounds of a panel tell, computed once for all selections until the next one closes."""
        with self._learning.setdefault(campaign.id, Lock()):  # whoever asks meanwhile waits for the same result
            closed = sum(one.state == "closed" for one in rounds_of(self.store, campaign.id))
            learnt_for, state = self._panels.get(campaign.id, ("", None))
            if state is None or len(state.closed) < closed or learnt_for != campaign.plan:  # a draft takes new plans
                plan = plan_from_wire(read_plan(campaign.plan), campaign.seed)
                state = resume(plan, closed_rounds(self.store, campaign.id))
                self._panels[campaign.id] = (campaign.plan, state)
                if len(self._panels) > MAX_CACHED_PANELS:
                    self._panels.popitem(last=False)
            return state

    def _announce(self, campaign: Campaign) -> Announcement:
        current = [one for one in rounds_of(self.store, campaign.id) if one.state == "open"]
        return Announcement(
            protocol=PROTOCOL,
            terms=read_terms(campaign.terms),
            notice=RoundNotice.from_bytes(str(current[0].notice).encode()) if current else None,
            state=campaign.state,
        )


@lru_cache(maxsize=256)
def read_plan(text: str) -> CampaignPlan:
    """Read a stored plan."""
    return CampaignPlan.from_bytes(text.encode())
