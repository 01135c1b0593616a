"""The device: what it sends, when, how often, and what it says about it first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from math import inf, log
from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.client import Device, DeviceSettings, HttpReply, HttpRequest, PrivacyLimits, RetryPolicy
from crowdveil.client.explain import Explanation, largest_belief
from crowdveil.errors import CampaignRefused, OwnerDeclined, ServerRefused, ServerUnreachable
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import NULL
from crowdveil.wire import Receipt, Report
from tests.client.fake_server import AREA, LN4, FakeServer, flat_policy, new_device, no_answer, problem, small_policy

HOME = {8: 0.9}


@pytest.fixture
def server() -> FakeServer:
    return FakeServer(small_policy())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def test_a_device_joins_once_and_keeps_the_receipt(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    entry = device.join("noise", HOME)
    (body,) = server.bodies("/report")
    assert entry.state == "acknowledged"
    assert entry.receipt_digest == Report.from_bytes(body).digest
    assert Report.from_bytes(body).symbol_number == entry.symbol
    before = len(server.requests)
    assert device.join("noise", {3: 1.0}) == entry
    assert len(server.requests) == before


def test_everything_is_checked_before_the_server_hears_of_the_device(path: Path, server: FakeServer) -> None:
    new_device(path, server).join("noise", HOME)
    assert [(request.method, request.path) for request in server.requests] == [
        ("GET", "/v1/campaigns/noise"),
        ("GET", "/v1/campaigns/noise/rounds/0/policy"),
        ("POST", "/v1/campaigns/noise/seats"),
        ("PUT", "/v1/campaigns/noise/report"),
    ]


def flaky(replies: Iterable[Callable[[], HttpReply] | None]) -> Callable[[HttpRequest, HttpReply], HttpReply]:
    """Replace the answers to reports, one after the other; None leaves one unchanged."""
    waiting = iter(replies)

    def interfere(request: HttpRequest, reply: HttpReply) -> HttpReply:
        spoil = next(waiting, None) if request.path.endswith("/report") else None
        return reply if spoil is None else spoil()

    return interfere


def test_a_retry_sends_identical_bytes(path: Path, server: FakeServer) -> None:
    portal = HttpReply(302, body=b"<html>please log in</html>")
    server.interfere = flaky([no_answer, lambda: problem("unavailable"), lambda: problem("too-many-requests")])
    assert new_device(path, server).join("noise", HOME).state == "acknowledged"
    assert len(server.bodies("/report")) == 4
    server.interfere = flaky([lambda: portal, lambda: problem("paused")])
    assert new_device(path, server).join("other", HOME).state == "acknowledged"
    assert len(server.bodies("/report")) == 7
    assert [len(set(bodies)) for bodies in server.reports.values()] == [1, 1]


def test_a_device_that_gave_up_sends_the_same_value_when_it_comes_back(path: Path) -> None:
    server = FakeServer(flat_policy())
    server.interfere = flaky([no_answer] * 4)
    with pytest.raises(ServerUnreachable, match="keeps its answer and will send the same one"):
        new_device(path, server).join("noise", HOME)
    assert new_device(path, server).join("noise", {30: 1.0}).state == "acknowledged"
    assert len(server.bodies("/report")) == 5
    assert len(set(server.bodies("/report"))) == 1


def test_waits_double_with_jitter_and_heed_the_server() -> None:
    retry_policy = RetryPolicy(first_wait_s=0.5, longest_wait_s=60.0)
    assert [retry_policy.wait_s(attempt, 0.0, 1.0) for attempt in range(9)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert retry_policy.wait_s(3, 0.0, 0.25) == 1.0
    assert retry_policy.wait_s(0, 7.0, 0.0) == 7.0
    assert retry_policy.wait_s(0, 10_000.0, 0.0) == 60.0


def test_a_report_that_the_server_refuses_is_final_and_still_counts(path: Path, server: FakeServer) -> None:
    server.interfere = flaky([lambda: problem("round-closed")])
    device = new_device(path, server)
    with pytest.raises(ServerRefused, match="round is closed"):
        device.join("noise", HOME)
    with pytest.raises(CampaignRefused, match="round is closed"):
        device.join("noise", HOME)
    assert len(server.bodies("/report")) == 1
    assert device.ledger.spent_epsilon_per_km() == LN4


def test_a_receipt_for_another_report_acknowledges_nothing(path: Path, server: FakeServer) -> None:
    def other() -> HttpReply:
        (seat,) = server.seats.values()
        return HttpReply(200, body=Receipt.of("noise", seat.participant, Report.of(seat, 31)).to_bytes())

    server.interfere = flaky([other, lambda: HttpReply(200, body=b"<html>welcome</html>")])
    device = new_device(path, server, random_bits=lambda _: 0)
    for _ in range(2):
        with pytest.raises(CampaignRefused, match=r"another report|is not valid"):
            device.join("noise", HOME)
        entry = device.ledger.entry("noise")
        assert entry is not None
        assert entry.state == "drawn"
    assert device.join("noise", HOME).state == "acknowledged"
    assert len(set(server.bodies("/report"))) == 1


def test_requests_reveal_neither_the_place_nor_whether_there_is_one(tmp_path: Path, server: FakeServer) -> None:
    seen = []
    for number, where in enumerate([{0: 1.0}, {35: 1.0}, {3: 0.8, 4: 0.7, 22: 0.9}, {}]):
        server.requests.clear()
        waits: list[float] = []
        clock = iter([5.0, 5.3 + 0.1 * number])
        settings = DeviceSettings(seat_interval_s=1.0)
        path = tmp_path / str(number)
        device = new_device(path, server, settings, sleep=waits.append, monotonic=lambda clock=clock: next(clock))
        entry = device.join("noise", where)
        assert (entry.symbol == NULL) == (where == {})
        sizes = [
            (r.method, r.path, sorted((k, len(v)) for k, v in r.headers.items()), len(r.body)) for r in server.requests
        ]
        seen.append((sizes, [round(5.3 + 0.1 * number + wait, 9) for wait in waits]))
    assert all(one == seen[0] for one in seen)
    assert seen[0][1] == [6.0]


def test_a_device_without_a_place_draws_as_many_random_bits(tmp_path: Path, server: FakeServer) -> None:
    rolled: dict[str, list[int]] = {"at home": [], "nowhere": []}
    for name, where in (("at home", HOME), ("nowhere", {})):

        def bits(count: int, name: str = name) -> int:
            rolled[name].append(count)
            return 7

        new_device(tmp_path / name, server, random_bits=bits).join("noise", where)
    assert rolled["at home"] == rolled["nowhere"]


def test_the_lifetime_limit_stops_the_next_campaign_before_anything_is_asked(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    for number in range(3):
        device.join(f"c{number}", HOME)
    server.requests.clear()
    with pytest.raises(
        CampaignRefused,
        match=r"answered 3 campaigns, the most your limit allows\. This phone will not answer more unless",
    ):
        device.join("c3", HOME)
    assert [request.method for request in server.requests] == ["GET"]
    assert device.summary().text.startswith("You have answered 3 campaigns, the most your limit allows.")
    assert device.summary().text.count(": answered") == 3
    assert "ε = 4.15888 of 4.15888 per km is permanently used; 0 is left" in device.summary().figures


def test_a_device_explains_before_it_says_anything_and_its_owner_may_decline(path: Path, server: FakeServer) -> None:
    told: list[Explanation] = []

    def decline(explanation: Explanation) -> bool:
        told.append(explanation)
        return False

    device = new_device(path, server)
    with pytest.raises(OwnerDeclined, match="You declined to answer campaign noise"):
        device.join("noise", HOME, agree=decline)
    assert {request.method for request in server.requests} == {"GET"}
    assert device.ledger.entries() == {}
    (told_first,) = told
    policy = cv.Policy.from_bytes(server.policy_bytes)
    assert (
        "Someone who thinks there is a 10 % chance that this is your place, compared with places within 500 m, "
        "can be at most 19 % sure after your answer."
    ) in told_first.text
    assert "After this answer your limit allows 2 more campaigns like this one." in told_first.text
    assert not any(jargon in told_first.text for jargon in ("ε", "NULL", "symbol", "cell", policy.hash))
    assert "at most 4 times as likely" in told_first.figures
    assert (
        "A belief of 10% becomes, after this answer, at most 18.2% within 0.5 km, at most 30.8%" in told_first.figures
    )
    assert "all your answers together" not in told_first.figures
    assert "Private at ε = 1.38629" in told_first.figures
    assert policy.hash in told_first.figures
    assert f"'hit' {policy.hit[8]:.2%}" in told_first.figures
    device.join("noise", HOME)
    with pytest.raises(OwnerDeclined):
        device.join("second", HOME, agree=decline)
    assert "at most 19 % sure after your answer, and at most 31 % sure after all your answers together" in told[1].text
    with pytest.raises(OwnerDeclined):
        device.join("second", {}, agree=decline)
    assert "You do not regularly visit anywhere in this area, and your phone will say so." in told[2].text
    assert "after all your answers together, at most 30.8% within 0.5 km" in told[2].figures


def test_what_anyone_can_believe_after_a_reply_is_bounded_and_the_bound_is_met() -> None:
    assert largest_belief(0.1, log(4), 1.0) == pytest.approx(0.4 / 1.3)
    assert largest_belief(0.1, 1e6, 1e6) == 1.0
    area = cv.Area.from_points_km([[0, 0], [1, 0]])
    table = np.array([[4, 1], [1, 4]]) / 5
    assert cv.certify_table(area, table, log(4) + 1e-9).ok
    assert 0.1 * table[0, 0] / (0.1 * table[0, 0] + 0.9 * table[1, 0]) == pytest.approx(0.4 / 1.3)


def test_a_device_makes_its_profile_from_its_own_visits(path: Path, server: FakeServer) -> None:
    latitude, longitude = (float(axis[8]) for axis in AREA.centres())
    monday_s = 1_704_067_200
    weeks = np.arange(10) * 7 * 86_400 + monday_s
    visits = Visits(("me",), [0] * 10, weeks, [0] * 10, [latitude] * 10, [longitude] * 10)  # type: ignore[arg-type]
    today = date(2024, 3, 12)
    device = new_device(path, server, today=lambda: today)
    assert device.place(device.check_campaign("noise"), visits) == 8
    assert device.place(device.check_campaign("noise"), visits.where(np.zeros(10, dtype=bool))) == NULL
    long_ago = new_device(path, server, today=lambda: date(2025, 3, 12))
    assert long_ago.place(long_ago.check_campaign("noise"), visits) == NULL
    crowd = Visits(("me", "you"), [0, 1], weeks[:2], [0, 0], [0.0, 0.0], [0.0, 0.0])  # type: ignore[arg-type]
    with pytest.raises(cv.InputError, match="only those of the device"):
        device.join("noise", crowd)
    with pytest.raises(cv.InputError, match="cells of this area are 0 to 35"):
        device.join("noise", {36: 1.0})


def test_a_device_shown_another_policy_than_its_seat_names_draws_nothing(path: Path, server: FakeServer) -> None:
    def single_out(request: HttpRequest, reply: HttpReply) -> HttpReply:
        return (
            HttpReply(200, body=reply.body.replace(b'"round":0', b'"round":1')) if request.method == "POST" else reply
        )

    server.interfere = single_out
    device = new_device(path, server)
    with pytest.raises(CampaignRefused, match="other conditions than it announced to everyone"):
        device.join("noise", HOME)
    assert device.ledger.spent_epsilon_per_km() == 0
    assert server.bodies("/report") == []


def test_a_device_whose_round_ended_while_it_looked_looks_again(path: Path, server: FakeServer) -> None:
    def advance(request: HttpRequest, reply: HttpReply) -> HttpReply:
        if request.path.endswith("/policy"):
            server.info["round"] = 1
        return reply

    server.interfere = advance
    assert new_device(path, server).join("noise", HOME).round == 1


@pytest.mark.parametrize("state", ["draft", "paused", "closed", "finished"])
def test_a_campaign_that_is_not_open_is_not_joined(path: Path, server: FakeServer, state: str) -> None:
    server.info |= {"state": state, "round": None, "policy_hash": None}
    with pytest.raises(CampaignRefused, match=f"is {state} and has no open round"):
        new_device(path, server).join("noise", HOME)


def test_a_device_asks_for_its_status_with_its_secret(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    with pytest.raises(cv.InputError, match="that this device has joined"):
        device.status("noise")
    device.join("noise", HOME)
    assert device.status("noise").state == "reported"


def test_each_campaign_has_a_secret_of_its_own(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    device.join("one", HOME)
    device.join("two", HOME)
    assert len(server.seats) == 2


def test_nothing_is_joined_without_a_ledger(path: Path, server: FakeServer) -> None:
    with pytest.raises(cv.FileFormatError, match="already spent"):
        Device(DeviceSettings(), path, server)


def test_two_runs_of_one_device_that_cross_send_one_value(path: Path) -> None:
    server = FakeServer(flat_policy())
    first, second = new_device(path, server), new_device(path, server)

    def meanwhile(request: HttpRequest, reply: HttpReply) -> HttpReply:
        if request.method == "POST":
            server.interfere = lambda _, reply: reply
            second.join("noise", {30: 1.0})
        return reply

    server.interfere = meanwhile
    assert first.join("noise", HOME) == second.join("noise", HOME)
    assert len(server.seats) == 1
    assert len(set(server.bodies("/report"))) == 1


def test_a_ledger_that_vanishes_while_the_device_runs_stops_it(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    device.join("noise", HOME)
    path.unlink()
    with pytest.raises(cv.FileFormatError, match="No such file"):
        device.join("second", HOME)


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "1", True])
@pytest.mark.parametrize("name", ["epsilon_per_km", "lifetime_epsilon_per_km", "cell_km", "gap_km", "min_cells"])
def test_limits_are_finite_numbers_above_zero(name: str, value: object) -> None:
    with pytest.raises(cv.InputError, match=name):
        PrivacyLimits(**{name: value})  # type: ignore[arg-type]


def test_the_limit_about_having_a_place_may_be_infinite_but_not_otherwise_invalid() -> None:
    assert PrivacyLimits().null_epsilon == inf
    for wrong in (0, -1.0, float("nan"), -inf, "1", True):
        with pytest.raises(cv.InputError, match="null_epsilon"):
            PrivacyLimits(null_epsilon=wrong)  # type: ignore[arg-type]


def test_where_null_is_protected_a_report_without_a_place_is_a_symbol_like_any_other(tmp_path: Path) -> None:
    policy = small_policy(null_epsilon=log(16))
    for number in (0, (1 << 53) - 1):
        server = FakeServer(policy)

        def random_bits(_: int, number: int = number) -> int:
            return number

        device = new_device(tmp_path / str(number), server, random_bits=random_bits)
        entry = device.join("noise", {})
        expected = cv.draw(policy, NULL, cv.certify(policy), random_bits)
        assert entry.symbol == expected >= 0
        assert device.ledger.entry("noise") == entry
        (body,) = server.bodies("/report")
        assert Report.from_bytes(body).symbol_number == expected
        assert b"null" not in body


def test_without_a_place_a_protected_campaign_uses_the_same_randomness_and_requests(tmp_path: Path) -> None:
    server = FakeServer(small_policy(null_epsilon=log(16)))
    seen = []
    for number, where in enumerate([{0: 1.0}, {22: 0.9}, {}]):
        server.requests.clear()
        asked: list[int] = []

        def random_bits(bits: int, asked: list[int] = asked) -> int:
            asked.append(bits)
            return 1

        new_device(tmp_path / str(number), server, random_bits=random_bits).join("noise", where)
        seen.append((asked, [(r.method, r.path, len(r.body)) for r in server.requests]))
    assert seen[0] == seen[1] == seen[2]


def test_the_device_explains_what_a_report_reveals_about_having_a_place_at_all(tmp_path: Path) -> None:
    protected = new_device(tmp_path / "protected", FakeServer(small_policy(null_epsilon=log(4))))
    checked = protected.check_campaign("noise")
    for cell in (8, NULL):
        told = protected.explain(checked, cell)
        assert "regularly visit somewhere in this area, or that you do not, can be at most 31 % sure" in told.text
        assert "ε₀ = 1.38629 for having a frequent place in this area at all" in told.figures
        assert "at most 30.8%" in told.figures  # 0.1 · 4 / (0.9 + 0.1 · 4)
        assert "in the clear" not in told.figures
        assert "Having no place is protected at ε₀" in told.figures
    assert (
        "You do not regularly visit anywhere in this area. Your phone will answer at random all the same." in told.text
    )
    clear = new_device(tmp_path / "clear", FakeServer(small_policy()))
    checked = clear.check_campaign("noise")
    for cell in (8, NULL):
        assert "will learn whether you regularly visit anywhere in this area" in clear.explain(checked, cell).text
        assert "NULL is sent in the clear" in clear.explain(checked, cell).figures
