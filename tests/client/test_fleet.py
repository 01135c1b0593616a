"""Many devices on one machine: each with its own ledger; what becomes of each is counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import crowdveil as cv
from crowdveil.client import DeviceSettings, HttpReply, HttpRequest, Ledger, RetryPolicy, fleet, round_waiter
from crowdveil.client.fleet import Fleet, FleetTotals, run_fleet
from crowdveil.limits import check_policy
from crowdveil.wire import Announcement
from tests.client.fake_server import FakeServer, no_answer, problem, small_policy

HOME, NOWHERE = {8: 0.9}, {8: 0.1}


class Rounds(FakeServer):
    """A server with so many seats in each of some rounds."""

    def __init__(self, seats: int, rounds: int) -> None:
        super().__init__(small_policy())
        self._lock = threading.Lock()
        self._seats = seats
        self._rounds = rounds

    def send(self, request: HttpRequest) -> HttpReply:
        with self._lock:
            if request.path.endswith("/seats") and self._full():
                return problem("no-seat")
            return super().send(request)

    def _full(self) -> bool:
        return self.round is None or len(self.seats) >= self._seats * (self.round + 1)

    def announced(self) -> Announcement:
        """Looking at a full round closes it."""
        with self._lock:
            if self.round is not None and self._full():
                last = self.round + 1 == self._rounds
                self.round, self.state = (None, "finished") if last else (self.round + 1, "open")
            return self.announcement("noise")


def run_devices(
    server: FakeServer, folder: Path, announced: Callable[[], Announcement], people: list[Any]
) -> FleetTotals:
    folder.mkdir(exist_ok=True)
    settings = DeviceSettings(retry_policy=RetryPolicy(attempts=1), seat_interval_s=0)
    return run_fleet(Fleet("noise", people, folder, settings, concurrency=4), announced, lambda: nullcontext(server))


def test_who_finds_no_seat_waits_for_the_next_round_until_the_campaign_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_waiter, "LOOK_S", 0.001)
    server = Rounds(seats=5, rounds=3)
    totals = run_devices(server, tmp_path, server.announced, [HOME, NOWHERE] * 9)
    assert (totals.acknowledged, totals.unseated, totals.refused) == (15, 3, {})
    assert totals.done == 18
    assert sorted(totals.device_of) == list(range(15))
    assert len(set(totals.device_of.values())) == 15
    assert totals.nulls == 0
    assert all(len(bodies) == 1 for bodies in server.reports.values())


def test_every_device_has_its_own_ledger_and_says_nothing_twice(tmp_path: Path) -> None:
    server = Rounds(seats=9, rounds=1)
    info = server.announced()
    first = run_devices(server, tmp_path, lambda: info, [HOME] * 6)
    assert first.acknowledged == 6
    assert len(list(tmp_path.iterdir())) == 6
    before = len(server.requests)
    assert run_devices(server, tmp_path, lambda: info, [HOME] * 6).acknowledged == 6
    assert len(server.requests) == before
    assert all(Ledger(path).spent().reports == 1 for path in tmp_path.iterdir())


def test_refusals_are_counted_by_reason(tmp_path: Path) -> None:
    server = Rounds(seats=9, rounds=1)
    info = server.announced()
    server.interfere = lambda request, reply: problem("round-closed") if request.path.endswith("/report") else reply
    assert run_devices(server, tmp_path / "late", lambda: info, [HOME] * 3).refused == {"round-closed": 3}
    server.interfere = lambda request, reply: no_answer() if request.path.endswith("/policy") else reply
    assert run_devices(server, tmp_path / "dead", lambda: info, [HOME] * 3).refused == {"no answer": 3}
    server.terms["epsilon_per_km"] = 9.0
    ((reason, count),) = run_devices(server, tmp_path / "greedy", lambda: info, [HOME] * 3).refused.items()
    assert count == 3
    assert "more about your place than your limit allows" in reason


def test_a_policy_is_certified_once_for_all_and_another_one_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[str] = []
    check = check_policy

    def watched(policy: Any, *rest: Any) -> Any:
        checked.append(policy.hash)
        return check(policy, *rest)

    monkeypatch.setattr(fleet, "check_policy", watched)
    server = Rounds(seats=9, rounds=1)
    info = server.announced()
    assert run_devices(server, tmp_path / "one", lambda: info, [HOME] * 5).acknowledged == 5
    assert checked == [server.policy_hash]
    server.policy_hash = "0" * 64
    ((reason, count),) = run_devices(server, tmp_path / "two", lambda: info, [HOME] * 3).refused.items()
    assert count == 3
    assert "announced to everyone" in reason
    assert len(checked) == 4  # a refusal is not kept, so that it is never taken for a certificate


def test_an_error_of_the_announcement_ends_the_fleet(tmp_path: Path) -> None:
    def broken() -> Announcement:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_devices(Rounds(seats=1, rounds=1), tmp_path, broken, [HOME] * 9)


def test_a_fleet_needs_an_invite_for_every_device(tmp_path: Path) -> None:
    with pytest.raises(cv.InputError, match="invites = '1': should be one for each of 2"):
        Fleet("noise", [HOME, HOME], tmp_path, DeviceSettings(), invites=["one"])
