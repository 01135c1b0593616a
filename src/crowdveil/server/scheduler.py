"""Advance campaigns: make policies, open rounds, close them, select. Runs in a process of its own.

    open campaign, no open round    claim the round, update the estimate, make the policy, open the round
    open round                      close it when every seat has reported, or at its deadline
    all rounds closed               close the campaign; a panel stays open for selections
    closed campaign                 select participants; the campaign is finished
    finished campaign               delete it after so many days, if the server keeps it no longer

A panel opens its next round on its public schedule, so many seconds after the one before it. Its operator asks for
selections (selections.py), also once it is closed.

What to do next follows from the database alone. So a scheduler can be killed at any moment and another one continues,
and several schedulers of several servers do each step once: the first one wins, by constraints of the database. A claim
only avoids duplicate work. It is renewed while a policy is being made, and expires soon after its holder has ended.
Campaigns are advanced side by side (lanes.py).
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from time import monotonic, time

import numpy as np
from threadpoolctl import threadpool_limits

from crowdveil.campaign import (
    Forecast,
    RoundOpened,
    State,
    advance,
    forecast,
    next_policy,
    reporting_share,
    resume,
)
from crowdveil.campaign.from_wire import expectation_message, plan_from_wire, round_seats
from crowdveil.campaign.state import select_so_far
from crowdveil.errors import CrowdveilError, StoreError
from crowdveil.server.child_process import wake_at_each_line, write_to_parent
from crowdveil.server.lanes import Lanes
from crowdveil.server.services import read_plan
from crowdveil.server.settings import delete_at
from crowdveil.server.terms import read_terms
from crowdveil.store import (
    Campaign,
    RoundRow,
    Store,
    StoredEstimate,
    claim_round,
    close_round,
    closed_rounds,
    count_reports,
    delete_campaign,
    finish_panel,
    get_campaign,
    list_campaigns,
    open_round,
    open_store,
    reports_of,
    rounds_of,
    save_estimate,
    save_selection,
    set_failure,
    set_state,
    signing_key,
)
from crowdveil.wire import RoundNotice, new_private_key

DATABASE = "CROWDVEIL_DATABASE"
"""Environment variable with the URL of the database; other users could read a password in an argument."""
KEEP_DAYS = "CROWDVEIL_KEEP_DAYS"
"""Environment variable with the days after which finished campaigns are deleted; empty if they are kept."""
CLAIM_S, RENEW_S = 15, 5
"""How long a claim lasts, and how often it is renewed."""
IDLE_S, BUSY_S = 1.0, 0.1
"""Seconds between two steps, when nothing happens and while reports arrive."""
COUNTING_SHARE = 0.05
"""Largest share of the time that is spent on counting the reports of a large round."""
RETRY_S = 60.0
"""Seconds until a campaign that failed is tried again."""
SWITCH_S = 0.0005
"""How long a thread computes before another one may: a tenth of Python's own, because most have little to do."""


@dataclass(frozen=True)
class SchedulerEvent:
    """A step that was done, for logs and metrics."""

    event: str
    campaign: str
    round: int | None = None
    seconds: float | None = None
    reason: str | None = None


class Scheduler:
    """Do what is due in every campaign."""

    def __init__(self, store: Store, keep_days: int | None = None) -> None:
        self._store = store
        self._keep_days = keep_days
        self._private_key = signing_key(store, new_private_key())
        self._not_before: dict[str, float] = {}

    def step(self, now: int) -> list[SchedulerEvent]:
        """Do what is due now, one campaign after the other; one that fails does not delay the others."""
        return [event for campaign in self.pending(now) for event in self.advance(campaign, now)]

    def pending(self, now: int) -> list[Campaign]:
        """Return the campaigns in which something may be due, the oldest first."""
        return [
            campaign
            for campaign in list_campaigns(self._store)
            if (campaign.state not in ("draft", "finished") or self._kept_long_enough(campaign, now))
            and monotonic() >= self._not_before.get(campaign.id, 0.0)
        ]

    def advance(self, campaign: Campaign, now: int) -> list[SchedulerEvent]:
        """Do what is due in one campaign; different campaigns can be advanced by different threads."""
        events: list[SchedulerEvent] = []
        try:
            events.extend(self._advance(campaign, now))
            if campaign.failure is not None and events:
                set_failure(self._store, campaign.id, None)
        except StoreError:
            raise
        except Exception as error:  # of any kind: a process that ends here would stop all campaigns
            found = get_campaign(self._store, campaign.id)
            if found is None or found.state != campaign.state:
                return events  # it was closed or deleted meanwhile; the next step sees that
            self._not_before[campaign.id] = monotonic() + RETRY_S
            reason = str(error) if isinstance(error, CrowdveilError) else f"{type(error).__name__}: {error}"
            set_failure(self._store, campaign.id, reason)
            events.append(SchedulerEvent("campaign-failed", campaign.id, reason=reason))
        return events

    def _advance(self, campaign: Campaign, now: int) -> Iterator[SchedulerEvent]:
        if campaign.state == "finished":
            if self._kept_long_enough(campaign, now):
                delete_campaign(self._store, campaign.id)
                yield SchedulerEvent("campaign-deleted", campaign.id)
            return
        if campaign.state == "closed":
            if campaign.panel:
                finish_panel(self._store, campaign.id, at=now)
                yield SchedulerEvent("finished", campaign.id)
            else:
                yield self._select(campaign, now)
            return
        rounds = rounds_of(self._store, campaign.id)
        if rounds and rounds[-1].state == "open":
            if not self._due(campaign, rounds[-1], now):
                return
            close_round(self._store, campaign.id, rounds[-1].number)
            yield SchedulerEvent("round-closed", campaign.id, rounds[-1].number)
            if campaign.panel:
                self._learn(campaign)
        if campaign.state == "paused":
            return
        closed = sum(one.state != "opening" for one in rounds)
        if campaign.panel and not self._renewal_due(campaign, rounds, now):
            return
        if closed == read_plan(campaign.plan).rounds:
            yield self._select(set_state(self._store, campaign.id, "closed"), now)
        else:
            yield from self._open(campaign, closed, now)

    def _kept_long_enough(self, campaign: Campaign, now: int) -> bool:
        end = delete_at(campaign.finished, self._keep_days)
        return end is not None and now >= end

    def _due(self, campaign: Campaign, current: RoundRow, now: int) -> bool:
        if current.deadline is not None and current.deadline <= now:
            return True
        if current.size is None:
            return False
        started = monotonic()
        full = count_reports(self._store, campaign.id, current.number) >= current.size
        ended = monotonic()
        self._not_before[campaign.id] = ended + (ended - started) / COUNTING_SHARE
        return full

    def _renewal_due(self, campaign: Campaign, rounds: list[RoundRow], now: int) -> bool:
        """Whether the next round of a panel should be open by now; the first one at once."""
        plan, opened = read_plan(campaign.plan), [one for one in rounds if one.opened is not None]
        if not opened:
            return True
        begun = opened[0].opened or 0
        return len(opened) < plan.rounds and now >= begun + len(opened) * (plan.renewal_s or 0)

    def _learn(self, campaign: Campaign) -> None:
        plan = plan_from_wire(read_plan(campaign.plan), campaign.seed)
        self._save_estimate(campaign.id, resume(plan, closed_rounds(self._store, campaign.id)), None)

    def _open(self, campaign: Campaign, number: int, now: int) -> Iterator[SchedulerEvent]:
        with self._claimed(campaign.id, number, now) as claimed:
            if not claimed:
                return
            started = monotonic()
            new = read_plan(campaign.plan)
            state = resume(plan_from_wire(new, campaign.seed), closed_rounds(self._store, campaign.id))
            policy = next_policy(state)
            opened = advance(state, RoundOpened(policy))
            self._save_estimate(campaign.id, state, None if campaign.panel else forecast(opened))
            took_s = monotonic() - started
            deadline = None if new.deadline_s is None else now + round(took_s) + new.deadline_s
            size = round_seats(new, state.plan, number)
            notice = RoundNotice.of(read_terms(campaign.terms), number, policy.hash, self._private_key)
            open_round(
                self._store,
                campaign.id,
                number,
                policy,
                notice=notice.to_bytes().decode("ascii"),
                size=size,
                opened=now + round(took_s),
                deadline=deadline,
            )
            yield SchedulerEvent("round-opened", campaign.id, number, took_s)

    def _select(self, campaign: Campaign, now: int) -> SchedulerEvent:
        started = monotonic()
        state = resume(plan_from_wire(read_plan(campaign.plan), campaign.seed), closed_rounds(self._store, campaign.id))
        if state.closed:
            self._save_estimate(campaign.id, state, forecast(state, to_come=0))
        found = select_so_far(state, reports_of(self._store, campaign.id))
        save_selection(self._store, campaign.id, found, rounds=len(state.closed), made=now)
        return SchedulerEvent("selected", campaign.id, seconds=monotonic() - started)

    def _save_estimate(self, campaign: str, state: State, found: Forecast | None) -> None:
        if state.closed:
            inside = reporting_share(state)
            joint = np.atleast_2d(state.prior)
            estimate = StoredEstimate(
                prior=tuple(joint.sum(axis=0).tolist()),
                grade_shares=tuple((inside * joint.sum(axis=1)).tolist()),
                outside_share=1 - inside,
                expected_coverage=None if found is None else found.coverage,
                expectation=None if found is None else _as_text(state, found),
            )
            save_estimate(self._store, campaign, len(state.closed) - 1, estimate)

    @contextmanager
    def _claimed(self, campaign: str, number: int, now: int) -> Iterator[bool]:
        """Claim a round and yield whether that succeeded; the claim is renewed until the block ends."""
        until = now + CLAIM_S
        if not claim_round(self._store, campaign, number, now=now, until=until):
            yield False
            return
        done = threading.Event()

        def renew() -> None:
            claimed_until = until
            while not done.wait(RENEW_S):
                try:
                    claim_round(self._store, campaign, number, now=claimed_until, until=claimed_until + RENEW_S)
                    claimed_until += RENEW_S
                except CrowdveilError:
                    return  # closed meanwhile, or no database: opening the round will fail then

        renewing = threading.Thread(target=renew, daemon=True)
        renewing.start()
        try:
            yield True
        finally:
            done.set()
            renewing.join()


def _as_text(state: State, found: Forecast) -> str:
    return expectation_message(state.plan.request, found).to_bytes().decode("ascii")


def step(store: Store, now: int, keep_days: int | None = None) -> list[SchedulerEvent]:
    """Do one step of all campaigns, for tests and for programs that call the scheduler themselves."""
    return Scheduler(store, keep_days).step(now)


def main() -> None:
    """Advance campaigns, side by side, until the server ends."""
    wake = threading.Event()
    wake_at_each_line(wake)
    sys.setswitchinterval(SWITCH_S)
    with threadpool_limits(1, user_api="blas"), open_store(os.environ[DATABASE]) as store:
        days = os.environ.get(KEEP_DAYS)
        scheduler = Scheduler(store, int(days) if days else None)

        def advance(name: str) -> bool:
            """Do what is due in a campaign, as it is by now; return whether the next step may be due at once."""
            try:
                campaign = get_campaign(store, name)
                events = [] if campaign is None else scheduler.advance(campaign, int(time()))
            except StoreError as error:
                _tell(SchedulerEvent("store-unavailable", "", reason=str(error)))
                threading.Event().wait(IDLE_S)
                return False
            for one in events:
                _tell(one)
            return bool(events)

        lanes = Lanes(advance, wake)
        while True:
            heard = wake.wait(IDLE_S)
            wake.clear()
            try:
                lanes.offer([campaign.id for campaign in scheduler.pending(int(time()))])
            except StoreError as error:
                _tell(SchedulerEvent("store-unavailable", "", reason=str(error)))
                threading.Event().wait(IDLE_S)
            if heard:
                threading.Event().wait(BUSY_S)


def _tell(event: SchedulerEvent) -> None:
    write_to_parent(json.dumps(asdict(event)).encode())


if __name__ == "__main__":
    try:
        main()
    except StoreError as error:
        _tell(SchedulerEvent("store-unavailable", "", reason=str(error)))
        sys.exit(1)
