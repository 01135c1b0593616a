"""Moves campaigns on: makes policies, opens rounds, closes them, selects. Runs in a process of its own.

    open campaign, no open round    claim it, learn, make the policy, open the round
    open round                      close it when every seat has reported, or at its deadline
    all rounds closed               close the campaign
    closed campaign                 select, publish: finished

What is to be done follows from the database alone, so that a conductor can be killed at any moment and another goes
on; and several of them, of several servers, do each step once: whoever is first wins, by the store's constraints.
A claim only saves work. It is renewed while a policy is being made, and runs out soon after its holder died.
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

from threadpoolctl import threadpool_limits

from crowdveil.campaign import RoundOpened, State, advance, expected_coverage, next_policy, resume
from crowdveil.campaign.from_wire import plan_from_wire, round_seats
from crowdveil.campaign.state import select_so_far
from crowdveil.errors import CrowdveilError, StoreError
from crowdveil.server.child_process import tell, wake_at_each_line
from crowdveil.server.services import read_plan
from crowdveil.store import (
    Campaign,
    RoundRow,
    Store,
    StoredEstimate,
    claim_round,
    close_round,
    closed_rounds,
    get_campaign,
    list_campaigns,
    open_round,
    open_store,
    reported,
    reports_of,
    rounds_of,
    save_estimate,
    save_selection,
    set_state,
)

DATABASE = "CROWDVEIL_DATABASE"
"""The environment variable that names the database: an argument would show its password to everyone here."""
CLAIM_S, RENEW_S = 15, 5
IDLE_S, BUSY_S = 1.0, 0.1
"""Seconds between two looks, when nothing was heard and when reports come in."""
LOOKING_SHARE = 0.05
"""Counting a large round's reports takes at most this share of the time."""
TRY_AGAIN_S = 60.0
"""After something went wrong with a campaign that no retry at once would mend."""


@dataclass(frozen=True)
class SchedulerEvent:
    """What was done, for logs and metrics."""

    event: str
    campaign: str
    round: int | None = None
    seconds: float | None = None
    reason: str | None = None


class Scheduler:
    """Goes through all campaigns, again and again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._not_before: dict[str, float] = {}

    def step(self, now: int) -> list[SchedulerEvent]:
        """Do what is due; a campaign that fails does not hold up the others."""
        happened: list[SchedulerEvent] = []
        for campaign in list_campaigns(self._store):
            if campaign.state in ("draft", "finished") or monotonic() < self._not_before.get(campaign.id, 0.0):
                continue
            try:
                happened += self._advance(campaign, now)
            except StoreError:
                raise
            except Exception as error:  # whatever it is: a process that ends here would hold up all campaigns
                found = get_campaign(self._store, campaign.id)
                if found is not None and found.state != campaign.state:
                    continue  # closed or finished meanwhile: the next look sees that, and has other work to do
                self._not_before[campaign.id] = monotonic() + TRY_AGAIN_S
                reason = str(error) if isinstance(error, CrowdveilError) else f"{type(error).__name__}: {error}"
                happened.append(SchedulerEvent("campaign-failed", campaign.id, reason=reason))
        return happened

    def _advance(self, campaign: Campaign, now: int) -> Iterator[SchedulerEvent]:
        if campaign.state == "closed":
            yield self._select(campaign)
            return
        rounds = rounds_of(self._store, campaign.id)
        if rounds and rounds[-1].state == "open":
            if not self._due(campaign, rounds[-1], now):
                return
            close_round(self._store, campaign.id, rounds[-1].number)
            yield SchedulerEvent("round-closed", campaign.id, rounds[-1].number)
        if campaign.state == "paused":
            return
        closed = sum(one.state != "opening" for one in rounds)
        if closed == read_plan(campaign.plan).rounds:
            yield self._select(set_state(self._store, campaign.id, "closed"))
        else:
            yield from self._open(campaign, closed, now)

    def _due(self, campaign: Campaign, current: RoundRow, now: int) -> bool:
        if current.deadline is not None and current.deadline <= now:
            return True
        if current.size is None:
            return False
        began = monotonic()
        full = reported(self._store, campaign.id, current.number) >= current.size
        ended = monotonic()
        self._not_before[campaign.id] = ended + (ended - began) / LOOKING_SHARE
        return full

    def _open(self, campaign: Campaign, number: int, now: int) -> Iterator[SchedulerEvent]:
        with self._claimed(campaign.id, number, now) as mine:
            if not mine:
                return
            began = monotonic()
            new = read_plan(campaign.plan)
            state = resume(plan_from_wire(new, campaign.seed), closed_rounds(self._store, campaign.id))
            policy = next_policy(state)
            self._keep_estimate(campaign.id, advance(state, RoundOpened(policy)))
            took_s = monotonic() - began
            deadline = None if new.deadline_s is None else now + round(took_s) + new.deadline_s
            size = round_seats(new, state.plan, number)
            open_round(self._store, campaign.id, number, policy, size=size, deadline=deadline)
            yield SchedulerEvent("round-opened", campaign.id, number, took_s)

    def _select(self, campaign: Campaign) -> SchedulerEvent:
        began = monotonic()
        state = resume(plan_from_wire(read_plan(campaign.plan), campaign.seed), closed_rounds(self._store, campaign.id))
        self._keep_estimate(campaign.id, state)
        save_selection(self._store, campaign.id, select_so_far(state, reports_of(self._store, campaign.id)))
        return SchedulerEvent("selected", campaign.id, seconds=monotonic() - began)

    def _keep_estimate(self, campaign: str, state: State) -> None:
        if state.closed:
            learnt = StoredEstimate(tuple(state.prior.tolist()), expected_coverage(state))
            save_estimate(self._store, campaign, len(state.closed) - 1, learnt)

    @contextmanager
    def _claimed(self, campaign: str, number: int, now: int) -> Iterator[bool]:
        """Whether the round's policy is ours to make; the claim is kept up for as long as that takes."""
        until = now + CLAIM_S
        if not claim_round(self._store, campaign, number, now=now, until=until):
            yield False
            return
        done = threading.Event()

        def renew() -> None:
            mine = until
            while not done.wait(RENEW_S):
                try:
                    claim_round(self._store, campaign, number, now=mine, until=mine + RENEW_S)
                    mine += RENEW_S
                except CrowdveilError:
                    return  # closed meanwhile, or no database: who opens the round will notice

        renewing = threading.Thread(target=renew, daemon=True)
        renewing.start()
        try:
            yield True
        finally:
            done.set()
            renewing.join()


def step(store: Store, now: int) -> list[SchedulerEvent]:
    """One look at all campaigns, for those who drive a server by hand."""
    return Scheduler(store).step(now)


def main() -> None:
    """Conduct until the server ends."""
    wake = threading.Event()
    wake_at_each_line(wake)
    with threadpool_limits(1, user_api="blas"), open_store(os.environ[DATABASE]) as store:
        conductor = Scheduler(store)
        while True:
            heard = wake.wait(IDLE_S)
            wake.clear()
            try:
                for one in conductor.step(int(time())):
                    tell(json.dumps(asdict(one)).encode())
                    wake.set()  # one step may have made the next one due
            except StoreError as error:
                tell(json.dumps(asdict(SchedulerEvent("store-unavailable", "", reason=str(error)))).encode())
                threading.Event().wait(IDLE_S)
            if heard:
                threading.Event().wait(BUSY_S)


if __name__ == "__main__":
    try:
        main()
    except StoreError as error:
        tell(json.dumps(asdict(SchedulerEvent("store-unavailable", "", reason=str(error)))).encode())
        sys.exit(1)
