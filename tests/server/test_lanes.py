"""Campaigns are advanced side by side: whoever is quick does not wait for whoever is slow."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic

import pytest

from crowdveil.campaign import State, next_policy
from crowdveil.policy.policy import Policy
from crowdveil.server.lanes import KEPT_FREE, LANES, SLOW_S, Lanes
from crowdveil.server.scheduler import Scheduler
from crowdveil.store import get_campaign, open_store
from tests.server.harness import NAME, ServerHarness, plan

PATIENCE_S = 60.0


class Work:
    """Campaigns that are advanced until they are let go; those that need not wait are done at once."""

    def __init__(self, waiting: Callable[[str], bool]) -> None:
        self.wake, self.go, self.began = threading.Event(), threading.Event(), threading.Semaphore(0)
        self.times: Counter[str] = Counter()
        self.now = 0.0
        self._waiting = waiting
        self.lanes = Lanes(self._advance, self.wake, lambda: self.now)

    def _advance(self, name: str) -> bool:
        self.times[name] += 1
        self.began.release()
        if self._waiting(name):
            assert self.go.wait(PATIENCE_S)
        return False

    def wait_until_idle(self) -> None:
        late = monotonic() + PATIENCE_S
        while self.lanes._running:
            assert monotonic() < late
            threading.Event().wait(0.01)

    def wait_for(self, number: int) -> None:
        """Wait until so many more have begun."""
        for _ in range(number):
            assert self.began.acquire(timeout=PATIENCE_S)


def test_two_hundred_quick_ones_pass_one_that_is_slow() -> None:
    work = Work(lambda name: name == "slow")
    work.lanes.offer(["slow", *map(str, range(200))])
    work.wait_for(201)
    assert not work.go.is_set()
    assert set(work.times.values()) == {1}
    work.go.set()


def test_whoever_is_offered_again_while_it_runs_is_not_run_twice_at_once_and_wakes_the_scheduler_afterwards() -> None:
    work = Work(lambda _: True)
    work.lanes.offer(["one"])
    work.wait_for(1)
    work.lanes.offer(["one"])
    assert work.times["one"] == 1
    assert not work.wake.is_set()
    work.go.set()
    assert work.wake.wait(PATIENCE_S)
    work.lanes.offer(["one"])
    work.wait_for(1)
    assert work.times["one"] == 2


def test_campaigns_known_to_be_slow_leave_lanes_to_the_others() -> None:
    work = Work(lambda name: name.startswith("slow"))
    slow = [f"slow {number}" for number in range(LANES)]
    for name in slow:  # each is seen to be slow once
        work.go.clear()
        work.lanes.offer([name])
        work.wait_for(1)
        work.now += 2 * SLOW_S
        work.go.set()
        work.wait_until_idle()
    work.go.clear()
    work.lanes.offer(slow)
    work.wait_for(LANES - KEPT_FREE)
    work.lanes.offer(["quick"])
    work.wait_for(1)
    assert work.times["quick"] == 1
    assert sum(count == 2 for count in work.times.values()) == LANES - KEPT_FREE
    work.wake.clear()
    work.go.set()
    assert work.wake.wait(PATIENCE_S)  # the others may be offered again


def test_a_step_that_breaks_off_frees_its_lane() -> None:
    failing = threading.Event()

    def advance(_: str) -> bool:
        failing.set()
        raise RuntimeError

    lanes = Lanes(advance, threading.Event())
    for _ in range(LANES + 1):
        failing.clear()
        for _ in range(1000):
            lanes.offer(["one"])
            if failing.wait(0.01):
                break
        assert failing.is_set()


def test_a_small_campaign_is_open_while_the_policy_of_another_is_being_made(
    server: ServerHarness, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    making, go = threading.Event(), threading.Event()

    def slowly(state: State) -> Policy:
        if state.plan.users == 12:
            making.set()
            assert go.wait(PATIENCE_S)
        return next_policy(state)

    monkeypatch.setattr("crowdveil.server.scheduler.next_policy", slowly)
    for name, users in ((NAME, 12), ("small", 8)):
        server.operate("PUT", f"/campaigns/{name}", plan(users=users).to_bytes())
        server.change("open", name)
    with open_store(url) as store:
        scheduler = Scheduler(store)

        def advance(name: str) -> bool:
            campaign = get_campaign(store, name)
            assert campaign is not None
            return bool(scheduler.advance(campaign, server.now))

        wake = threading.Event()
        lanes = Lanes(advance, wake)
        lanes.offer([NAME])
        assert making.wait(PATIENCE_S)
        lanes.offer([campaign.id for campaign in scheduler.pending(server.now)])
        assert wake.wait(PATIENCE_S)
        announced = server.ask("GET", "/v1/campaigns/small").json()
        assert announced["notice"]["round"] == 0
        assert server.ask("GET", f"/v1/campaigns/{NAME}").json()["notice"] is None
        wake.clear()
        go.set()
        assert wake.wait(PATIENCE_S)
        assert server.ask("GET", f"/v1/campaigns/{NAME}").json()["notice"]["round"] == 0
