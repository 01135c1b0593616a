"""`crowdveil crowd`: many real devices, from a made-up city or from traces; what becomes of each is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from crowdveil.client import DeviceSettings, HttpReply, HttpRequest, Ledger, RetryPolicy
from crowdveil.client import fleet as players
from crowdveil.client import round_waiter as door
from crowdveil.client.fleet import Fleet, FleetTotals, run_fleet
from crowdveil.client.privacy_limits import check_policy
from crowdveil.wire import Announcement
from tests.cli.helpers import Run, refused
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
        return self.info["round"] is None or len(self.seats) >= self._seats * (self.info["round"] + 1)

    def announced(self) -> Announcement:
        """Looking at a full round closes it."""
        with self._lock:
            if self.info["round"] is not None and self._full():
                last = self.info["round"] + 1 == self._rounds
                now = {"round": None, "policy_hash": None, "state": "finished"} if last else {}
                self.info |= now or {"round": self.info["round"] + 1}
            return Announcement.from_bytes(self._info("noise"))


def run_crowd(
    server: FakeServer, folder: Path, announced: Callable[[], Announcement], people: list[Any]
) -> FleetTotals:
    folder.mkdir(exist_ok=True)
    settings = DeviceSettings(retry_policy=RetryPolicy(attempts=1), seat_interval_s=0)
    return run_fleet(Fleet("noise", people, folder, settings, concurrency=4), announced, lambda: nullcontext(server))


def test_who_finds_no_seat_waits_for_the_next_round_until_the_campaign_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "LOOK_S", 0.001)
    server = Rounds(seats=5, rounds=3)
    totals = run_crowd(server, tmp_path, server.announced, [HOME, NOWHERE] * 9)
    assert (totals.acknowledged, totals.unseated, totals.refused) == (15, 3, {})
    assert totals.done == 18
    assert sorted(totals.device_of) == list(range(15))
    assert len(set(totals.device_of.values())) == 15
    assert totals.nulls == sum(device % 2 for device in totals.device_of.values())
    assert all(len(bodies) == 1 for bodies in server.reports.values())


def test_every_device_has_its_own_ledger_and_says_nothing_twice(tmp_path: Path) -> None:
    server = Rounds(seats=9, rounds=1)
    info = server.announced()
    first = run_crowd(server, tmp_path, lambda: info, [HOME] * 6)
    assert first.acknowledged == 6
    assert len(list(tmp_path.iterdir())) == 6
    before = len(server.requests)
    assert run_crowd(server, tmp_path, lambda: info, [HOME] * 6).acknowledged == 6
    assert len(server.requests) == before
    assert all(Ledger(path).spent_epsilon_per_km() > 0 for path in tmp_path.iterdir())


def test_refusals_are_counted_by_reason(tmp_path: Path) -> None:
    server = Rounds(seats=9, rounds=1)
    info = server.announced()
    server.interfere = lambda request, reply: problem("round-closed") if request.path.endswith("/report") else reply
    assert run_crowd(server, tmp_path / "late", lambda: info, [HOME] * 3).refused == {"round-closed": 3}
    server.interfere = lambda request, reply: no_answer() if request.path.endswith("/policy") else reply
    assert run_crowd(server, tmp_path / "dead", lambda: info, [HOME] * 3).refused == {"no answer": 3}
    server.info["epsilon_per_km"] = 9.0
    ((reason, count),) = run_crowd(server, tmp_path / "greedy", lambda: info, [HOME] * 3).refused.items()
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

    monkeypatch.setattr(players, "check_policy", watched)
    server = Rounds(seats=9, rounds=1)
    info = server.announced()
    assert run_crowd(server, tmp_path / "one", lambda: info, [HOME] * 5).acknowledged == 5
    assert checked == [server.info["policy_hash"]]
    server.info["policy_hash"] = "0" * 64
    ((reason, count),) = run_crowd(server, tmp_path / "two", lambda: info, [HOME] * 3).refused.items()
    assert count == 3
    assert "announced to everyone" in reason
    assert len(checked) == 4  # a refusal is not kept, so that it is never taken for a certificate


def test_an_error_of_the_announcement_ends_the_crowd(tmp_path: Path) -> None:
    def broken() -> Announcement:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_crowd(Rounds(seats=1, rounds=1), tmp_path, broken, [HOME] * 9)


def test_a_crowd_from_traces_joins_with_ledgers_that_stay(run: Run, campaign: str) -> None:
    people = [
        f"u{number},2024-0{1 + day // 28}-{1 + day % 28:02}T12:00:00Z,40.72,-73.975\n"
        for number in range(5)
        for day in range(84)
    ]
    Path("visits.csv").write_text("user,time,latitude,longitude\n" + "".join(people))
    refused(run("crowd", campaign, "--data", "visits.csv", "--devices", "9"), "devices = 9", "5 people")
    joined = run("crowd", campaign, "--data", "visits.csv", "--ledgers", "ledgers")
    assert joined.exit_code == 0, joined.stderr
    assert "acknowledged: 5, of which 0 have no place to report" in joined.stdout
    assert len(list(Path("ledgers").iterdir())) == 5


def test_a_crowd_somewhere_else_is_told_so(run: Run, campaign: str) -> None:
    Path("visits.csv").write_text(
        "user,time,latitude,longitude\n" + "".join(f"u,2024-01-{day:02}T12:00:00Z,48.1,11.5\n" for day in range(1, 29))
    )
    refused(run("crowd", campaign, "--data", "visits.csv"), "no visit lies in it", "48.1000")


def test_bad_options_and_campaigns_are_one_line(run: Run, campaign: str) -> None:
    for options, said in (
        (["--devices", "0"], "devices = 0"),
        (["--concurrency", "0"], "concurrency = 0"),
        (["--seed", "-1"], "seed = -1"),
        (["--invites", "nowhere.txt"], "nowhere.txt"),
        (["--ledgers", "area.json"], "ledgers = 'area.json'"),
    ):
        refused(run("crowd", campaign, "--devices", "3", *options), said)
    refused(run("crowd", "nowhere"), "not-found")
    run("campaign", "close", campaign)
    refused(run("crowd", campaign, "--devices", "3"), "nobody can join any more")


def test_a_crowd_of_which_nobody_gets_through_fails(run: Run, campaign: str) -> None:
    none = run("crowd", campaign, "--devices", "3", "--most-epsilon-per-km", "1")
    assert none.exit_code == 1
    assert "acknowledged: 0" in none.stdout
    assert "refused 3 times: This campaign could learn more about your place" in none.stdout
