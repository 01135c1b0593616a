"""The device: what it sends, when, how often, and what it says about it first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, timedelta
from math import ceil, log
from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.client import (
    Device,
    DeviceSettings,
    ExcludedPlace,
    HttpReply,
    HttpRequest,
    InviteLink,
    Ledger,
    PrivacyLimits,
    ReportKey,
    RetryPolicy,
    Spent,
)
from crowdveil.client.explain import Explanation, largest_belief
from crowdveil.client.information import information
from crowdveil.errors import CampaignRefused, NotPrivateError, OwnerDeclined, ServerRefused, ServerUnreachable
from crowdveil.profile.place import Place
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import NULL
from crowdveil.wire import PROTOCOL, ParticipantStatus, Receipt, Report, RoundNotice, Withdrawal, new_private_key
from tests.client.fake_server import (
    AREA,
    CLEAR,
    LN4,
    LN8,
    LN64,
    NOISE,
    FakeServer,
    clear_policy,
    flat_policy,
    new_device,
    no_answer,
    problem,
    small_policy,
    three_grades,
)

HOME = {8: 0.9}


@pytest.fixture
def server() -> FakeServer:
    return FakeServer(small_policy())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def test_a_device_joins_once_and_keeps_the_receipt(path: Path, server: FakeServer) -> None:
    server.url = "https://crowd.example.org"
    device = new_device(path, server)
    entry = device.join("noise", HOME)
    (body,) = server.bodies("/report")
    assert entry.state == "acknowledged"
    assert (entry.name, entry.offer, entry.server) == ("Noise map", "A coffee", server.url)
    assert len(entry.secret) == 43  # 256 bits
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
    retry_policy = RetryPolicy()
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
    assert device.ledger.spent() == Spent(LN4, LN64, 0, 1)


def test_a_receipt_for_another_report_acknowledges_nothing(path: Path, server: FakeServer) -> None:
    def other() -> HttpReply:
        (seat,) = server.seats.values()
        return HttpReply(200, body=Receipt.of("noise", seat.participant, Report.of(seat, 31)).to_bytes())

    server.interfere = flaky([other, lambda: HttpReply(200, body=b"<html>welcome</html>")])
    device = new_device(path, server, random_bits=lambda _: 0)
    for _ in range(2):
        with pytest.raises(CampaignRefused, match=r"another report|is not valid"):
            device.join("noise", HOME)
        entry = device.ledger.entry(NOISE)
        assert entry is not None
        assert entry.state == "drawn"
    assert device.join("noise", HOME).state == "acknowledged"
    assert len(set(server.bodies("/report"))) == 1


@pytest.mark.parametrize("make", [small_policy, clear_policy])
def test_requests_reveal_neither_the_place_nor_whether_there_is_one(
    tmp_path: Path, make: Callable[[], cv.Policy]
) -> None:
    server, seen = FakeServer(make()), []
    for number, where in enumerate([{0: 1.0}, {35: 1.0}, {3: 0.8, 4: 0.7, 22: 0.9}, {3: 0.1}, {}]):
        server.requests.clear()
        waits: list[float] = []
        rolled: list[int] = []
        clock = iter([5.0, 5.3 + 0.1 * number])

        def bits(count: int, rolled: list[int] = rolled) -> int:
            rolled.append(count)
            return 7

        device = new_device(
            tmp_path / str(number),
            server,
            DeviceSettings(),
            CLEAR,
            sleep=waits.append,
            monotonic=lambda clock=clock: next(clock),
            random_bits=bits,
        )
        entry = device.join("noise", where)
        assert (entry.symbol == NULL) == (number > 2 and make is clear_policy)
        sizes = [
            (r.method, r.path, sorted((k, len(v)) for k, v in r.headers.items()), len(r.body)) for r in server.requests
        ]
        seen.append((sizes, rolled, [round(5.3 + 0.1 * number + wait, 9) for wait in waits]))
    assert all(one == seen[0] for one in seen)
    assert seen[0][2] == [6.0]


def test_the_limit_on_all_reports_stops_the_next_one_before_anything_is_asked(path: Path, server: FakeServer) -> None:
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
    assert "ε per km: 4.15888 of 4.15888 is permanently used; 0 is left" in device.summary().figures
    assert "ε₀: 12.4766 of 12.4766 is permanently used; 0 is left" in device.summary().figures


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
    bits = information(policy)
    assert 0.3 < bits.at_most_bits < 2
    for said in (
        "Campaign 'Noise map', round 1 of 3, asks for one answer.\n",
        "around 0.0133, 0.0224, which you visit regularly. The place itself stays on your phone.",
        "Your phone will answer at random. In about ",
        " of cases it names a place other than yours. From your place the most likely answer is",
        f"On average the answer tells no more than {ceil(10 * bits.at_most_bits) / 10:.1f} yes-or-no questions would.",
        "chance that this is your part of the map, rather than a neighbouring one 1 km away, can be at most 31 % sure "
        "after your answer.",
        "chance that you are ever in this area, or that you never are, can be at most 88 % sure after your answer.",
        "About how regularly you visit your place, they can be at most 88 % sure.",
        "A place outside the map's edge counts as not being in the area, however near it is.",
        "If you regularly visit several places, your phone picked one of them at random, once.",
        "The organiser's record keeps your answer with the round, a random participant number, and a code",
    ):
        assert said in told_first.text
    assert "After this answer your limit allows 2 more campaigns like this one." in told_first.text
    assert not any(jargon in told_first.text for jargon in ("ε", "NULL", "symbol", "cell", policy.hash))
    assert "at most 4 times as likely" in told_first.figures
    assert (
        "A belief of 10% becomes, after this answer, at most 30.8% within 1 km, at most 64.0% within 2 km.\n"
    ) in told_first.figures
    assert "Two places on either side of a border count as a whole cell apart." in told_first.figures
    assert "all your answers together" not in told_first.figures
    assert "Private at ε = 1.38629" in told_first.figures
    assert f"\nPolicy, the same for everyone: {policy.hash}.\nTerms: " in told_first.figures
    assert f"'hit' {policy.hit[8]:.2%}" in told_first.figures
    assert f"Information in expectation: at most {bits.at_most_bits:.2f} bits, whatever the prior" in told_first.figures
    assert "never more than 2ε₀ = 8.31777" in told_first.figures
    device.join("noise", HOME)
    with pytest.raises(OwnerDeclined):
        device.join("second", HOME, agree=decline)
    assert "and at most 64 % sure after all your answers on maps like this one together" in told[1].text
    assert "and almost sure after all your answers together" in told[1].text
    assert "after all your answers together, at most 64.0% within 1 km" in told[1].figures
    assert "Σ ε₀ = 8.31777 for all your answers together" in told[1].figures


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
    for name, day, where, expected in (
        ("every week", date(2024, 3, 11), visits, Place(8, 0)),
        ("every week but the last", date(2024, 3, 12), visits, Place(8, 1)),
        ("no visits", date(2024, 3, 12), visits.where(np.zeros(10, dtype=bool)), Place(NULL)),
        ("few visits", date(2024, 3, 12), visits.where(np.arange(10) == 0), Place(8, 1)),
        ("within a year", date(2025, 2, 12), visits, Place(8, 1)),
    ):
        device = new_device(path.with_name(name), server, today=lambda day=day: day)
        assert device.place(device.check_campaign("noise"), where) == expected
    device = new_device(path, server, today=lambda: date(2025, 3, 12))
    with pytest.raises(cv.InputError, match="visits = '10 visits': none lies in the 364 days from 2024-03-13"):
        device.place(device.check_campaign("noise"), visits)
    device = new_device(path, server, today=lambda: date(2024, 3, 12))
    crowd = Visits(("me", "you"), [0, 1], weeks[:2], [0, 0], [0.0, 0.0], [0.0, 0.0])  # type: ignore[arg-type]
    with pytest.raises(cv.InputError, match="only those of the device"):
        device.join("noise", crowd)
    with pytest.raises(cv.InputError, match=r"^profile = 36: cells of this area are 0 to 35"):
        device.join("noise", {36: 1.0})
    assert device.ledger.entries() == {}


def test_a_campaign_may_publish_constants_of_the_prediction(path: Path, server: FakeServer) -> None:
    latitude, longitude = (float(axis[8]) for axis in AREA.centres())
    weeks = 1_704_067_200 - 7 * 86_400 * np.arange(4)
    columns = (np.zeros(4, dtype=np.int64), np.full(4, latitude), np.full(4, longitude))
    visits = Visits(("me",), columns[0], weeks, *columns)
    for name, constants, limits, grade in (
        ("its own", None, PrivacyLimits(), 1),
        ("everyone comes", [3.0, *[0.0] * 6], PrivacyLimits(), 0),
        ("nobody comes", [-3.0, *[0.0] * 6], PrivacyLimits(), 1),
        ("beyond what the owner allows", [3.0, *[0.0] * 6], PrivacyLimits(delta=0.5), 1),
    ):
        server.terms["profile_constants"] = constants
        device = new_device(path.with_name(name), server, limits=limits, today=lambda: date(2024, 1, 8))
        assert device.place(device.check_campaign("noise"), visits) == Place(8, grade)


@pytest.mark.parametrize(
    ("where", "often"), [({8: 0.6}, "regularly"), ({8: 0.5}, "occasionally"), ({8: 0.2}, "now and then")]
)
def test_each_of_three_grades_is_named_and_the_loss_between_all_of_them_told(
    path: Path, where: dict[int, float], often: str
) -> None:
    device = new_device(path, FakeServer(three_grades()))
    checked = device.check_campaign("noise")
    told = device.explain(checked, device.place(checked, where))
    assert f"which you visit {often}. The place itself stays on your phone." in told.text
    assert "About how regularly you visit your place, they can be at most 88 % sure." in told.text
    assert "ε₁ = 2.07944 for how regularly, times 2 between the most and the least regular" in told.figures


def stacked_policy() -> cv.Policy:
    """A symbol for each target, which are not sorted, and for one other place."""
    return cv.panel_policy(
        AREA,
        [22, 14, 3],
        targets=[22, 14],
        epsilon_per_km=LN4,
        null_epsilon=LN64,
        grade_epsilon=LN8,
        grades=3,
    )


PLACES: tuple[dict[int, float], ...] = ({22: 0.9}, {14: 0.9}, {3: 0.1}, {})


def test_a_device_takes_part_under_a_policy_with_a_symbol_for_each_target(path: Path) -> None:
    told: list[Explanation] = []

    def agree(explanation: Explanation) -> bool:
        told.append(explanation)
        return True

    policy = stacked_policy()
    sent = set()
    for number, where in enumerate(PLACES):
        server = FakeServer(policy)
        device = new_device(path.with_name(f"{number}"), server)
        entry = device.join("noise", where, agree=agree)
        assert entry.state == "acknowledged"
        assert entry.symbol_name in policy.symbols
        sent |= {(request.method, request.path, len(request.body or b"")) for request in server.requests}
    assert len(sent) == 4, "announcement, policy, seat, report, of the same sizes for all"
    assert 'the most likely answer is "near the target in part 22 of the map" (' in told[0].text
    assert "of cases it names a place other than yours." in told[1].text
    assert "of cases it names a place. The most likely answer is" in told[3].text


def test_a_policy_for_the_same_targets_in_another_order_is_refused(path: Path) -> None:
    server = FakeServer(stacked_policy())
    server.terms["targets"] = [14, 22]
    with pytest.raises(NotPrivateError) as caught:
        new_device(path, server).check_campaign("noise")
    assert "The policy is for targets = (22, 14), but (14, 22) was announced." in caught.value.figures


def test_three_grades_cost_what_the_step_from_the_first_to_the_last_may_tell(path: Path) -> None:
    server = FakeServer(three_grades())
    device = new_device(path, server)
    for number in range(3):
        device.join(f"c{number}", HOME)
    spent = device.ledger.spent()
    assert spent.null_epsilon == pytest.approx(3 * 2 * LN8)
    with pytest.raises(CampaignRefused, match=r"answered 3 campaigns, the most your limit allows"):
        device.join("c3", HOME)


def test_a_target_that_its_owner_may_visit_is_reported_before_a_frequent_place(path: Path) -> None:
    server = FakeServer(three_grades())
    server.terms["rule"] = "target-aware"
    for number, (where, expected) in enumerate(
        (
            ({8: 0.9, 22: 0.3, 14: 0.25}, Place(22, 1)),
            ({8: 0.9, 22: 0.2}, Place(8, 0)),
            ({8: 0.15, 22: 0.1}, Place(8, 2)),
            ({22: 0.1}, Place(22, 2)),
        )
    ):
        device = new_device(path.with_name(str(number)), server)
        assert device.place(device.check_campaign("noise"), where) == expected


@pytest.mark.parametrize("days_ago", [364, 365])
def test_the_last_52_weeks_count(path: Path, server: FakeServer, days_ago: int) -> None:
    latitude, longitude = (float(axis[8]) for axis in AREA.centres())
    noon_s = 1_704_067_200 + 12 * 3600
    visit = Visits(("me",), [0], [noon_s], [0], [latitude], [longitude])  # type: ignore[arg-type]
    device = new_device(path, server, today=lambda: date(2024, 1, 1) + timedelta(days=days_ago))
    checked = device.check_campaign("noise")
    if days_ago == 364:
        assert device.place(checked, visit) == Place(8, 1)
        return
    with pytest.raises(cv.InputError, match="Nothing was picked or kept"):
        device.place(checked, visit)
    assert device.pick_place(checked, {8: 0.9}) == (Place(8, 0), False)
    assert device.pick_place(checked, visit) == (Place(8, 0), True)
    assert not device.explain(checked, Place(8, 0)).kept
    assert device.explain(checked, Place(8, 0), kept=True).kept


def test_a_campaign_by_the_day_counts_days(path: Path, server: FakeServer) -> None:
    """Visits on each of the last ten days are regular by the day; by the week they would be two of 26."""
    latitude, longitude = (float(axis[8]) for axis in AREA.centres())
    days = np.arange(10) * 86_400 + 1_704_067_200
    visits = Visits(("me",), [0] * 10, days, [0] * 10, [latitude] * 10, [longitude] * 10)  # type: ignore[arg-type]
    server.terms["period"] = "day"
    device = new_device(path, server, today=lambda: date(2024, 1, 11))
    assert device.place(device.check_campaign("noise"), visits) == Place(8, 0)


@pytest.mark.parametrize("number", [0, 11])
def test_the_place_is_picked_by_the_devices_own_chance(path: Path, server: FakeServer, number: int) -> None:
    device = new_device(path, server, random_below=lambda _: number)
    assert device.place(device.check_campaign("noise"), dict.fromkeys(range(8, 20), 0.9)) == Place(8 + number)


@pytest.mark.parametrize(("interval_s", "asked_at"), [(1.0, 9.25), (2.0, 9.25), (0.5, 8.75), (5.0, 10.25)])
def test_a_seat_is_asked_for_at_whole_intervals_after_the_policy_came(
    path: Path, server: FakeServer, interval_s: float, asked_at: float
) -> None:
    waits: list[float] = []
    clock = iter([5.25, 8.75])
    settings = DeviceSettings(seat_interval_s=interval_s)
    new_device(path, server, settings, sleep=waits.append, monotonic=lambda: next(clock)).join("noise", HOME)
    assert [8.75 + wait for wait in waits] == [asked_at]


def test_a_device_shown_another_policy_than_its_seat_names_draws_nothing(path: Path, server: FakeServer) -> None:
    def single_out(request: HttpRequest, reply: HttpReply) -> HttpReply:
        changed = reply.body.replace(b'"round":0', b'"round":1')
        return HttpReply(200, body=changed) if request.method == "POST" else reply

    server.interfere = single_out
    device = new_device(path, server)
    with pytest.raises(CampaignRefused, match="other conditions than it announced to everyone"):
        device.join("noise", HOME)
    assert device.ledger.spent() == Spent()
    assert len(server.bodies("/policy")) == 3
    assert server.bodies("/report") == []


def test_a_device_whose_round_ended_while_it_looked_looks_again(path: Path, server: FakeServer) -> None:
    def advance(request: HttpRequest, reply: HttpReply) -> HttpReply:
        if request.path.endswith("/policy"):
            server.round = 1
        return reply

    server.interfere = advance
    assert new_device(path, server).join("noise", HOME).round == 1


@pytest.mark.parametrize("state", ["draft", "paused", "closed", "finished"])
def test_a_campaign_that_is_not_open_is_not_joined(path: Path, server: FakeServer, state: str) -> None:
    server.state, server.round = state, None
    with pytest.raises(CampaignRefused, match=f"is {state} and has no open round"):
        new_device(path, server).join("noise", HOME)


def test_a_paused_campaign_is_not_joined_even_while_it_has_a_round(path: Path, server: FakeServer) -> None:
    server.state = "paused"
    with pytest.raises(CampaignRefused, match="is paused and has no open round"):
        new_device(path, server).join("noise", HOME)


def test_the_address_of_the_server_is_that_of_the_transport_or_as_it_was_given(path: Path, server: FakeServer) -> None:
    class Nameless:
        def send(self, request: HttpRequest) -> HttpReply:
            return server.send(request)

    server.url = "https://transport.example.org"
    for name, transport, given, expected in (
        ("transport", server, None, "https://transport.example.org"),
        ("given", server, "https://given.example.org", "https://given.example.org"),
        ("neither", Nameless(), None, ""),
    ):
        Ledger.create(path.with_name(name))
        device = Device(DeviceSettings(seat_interval_s=0), path.with_name(name), transport, server=given)
        assert device.server == expected


def test_a_policy_can_be_read_once_for_many_devices(path: Path, server: FakeServer) -> None:
    policy, read = cv.Policy.from_bytes(server.policy_bytes), []

    def known(content: bytes) -> cv.Policy:
        read.append(content)
        return policy

    assert new_device(path, server, read_policy=known).check_campaign("noise").policy is policy
    assert read == [server.policy_bytes]


def test_a_device_asks_for_its_status_with_its_secret(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    with pytest.raises(cv.InputError, match="this device has not joined it on this server"):
        device.status("noise")
    with pytest.raises(OwnerDeclined):
        device.join("noise", HOME, agree=lambda _: False)
    device.join("noise", HOME)
    assert device.status("noise").state == "reported"
    forgotten, server.seats = server.seats, {}
    with pytest.raises(ServerRefused, match="participant is unknown"):
        device.status("noise")
    server.seats = forgotten
    device.leave("noise")
    with pytest.raises(CampaignRefused, match="You left campaign noise, so you cannot be selected in it"):
        device.status("noise")


def test_a_device_without_a_seat_is_told_so(path: Path, server: FakeServer) -> None:
    server.interfere = lambda request, reply: problem("no-seat") if request.method == "POST" else reply
    device = new_device(path, server)
    with pytest.raises(cv.CrowdveilError):
        device.join("noise", HOME)
    server.seats.clear()
    with pytest.raises(CampaignRefused, match="You have not answered campaign noise yet: this phone has no seat in it"):
        device.status("noise")


def test_an_offer_for_one_person_alone_is_refused(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    device.join("noise", HOME)

    def selected(offer: str) -> None:
        status = ParticipantStatus.of("noise", 0, "selected", offer, selections=1, chosen=[0])
        server.interfere = lambda _, __: HttpReply(200, body=status.to_bytes())

    selected("A coffee")
    assert device.status("noise").offer == "A coffee"
    selected("For you: https://evil.example.org/?you")
    with pytest.raises(CampaignRefused, match="another offer than it announced to everyone") as refusal:
        device.status("noise")
    assert refusal.value.figures == "It announced 'A coffee'."


def test_each_campaign_has_a_secret_of_its_own(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    device.join("one", HOME)
    device.join("two", HOME)
    assert len(server.seats) == 2


def test_nothing_is_joined_without_a_ledger(path: Path, server: FakeServer) -> None:
    with pytest.raises(cv.FileFormatError, match="whole limit spent"):
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
    with pytest.raises(cv.FileFormatError, match="not found"):
        device.join("second", HOME)


@pytest.mark.parametrize("where", [{22: 0.9}, {22: 0.3}, {}])
def test_a_device_draws_from_its_place_and_grade_or_from_outside(tmp_path: Path, where: dict[int, float]) -> None:
    policy = small_policy()
    place = Place(22, int(where == {22: 0.3})) if where else Place(NULL)
    for number in (0, 1 << 52, (1 << 53) - 1):

        def random_bits(_: int, number: int = number) -> int:
            return number

        server = FakeServer(policy)
        device = new_device(tmp_path / str(number), server, random_bits=random_bits)
        entry = device.join("noise", where)
        expected = cv.draw(policy, place.cell, cv.certify(policy), random_bits, grade=place.grade)
        assert entry.symbol == expected >= 0
        assert entry.symbol_name == policy.symbol_name(expected)
        assert device.ledger.spent() == Spent(LN4, LN64, 0, 1)
        (body,) = server.bodies("/report")
        assert Report.from_bytes(body).symbol_number == expected
        assert b"null" not in body


def test_without_grades_only_a_frequent_place_is_reported(tmp_path: Path) -> None:
    for name, policy in (("protected", small_policy(grade_epsilon=None)), ("clear", clear_policy())):
        device = new_device(tmp_path / name, FakeServer(policy), limits=CLEAR)
        assert device.place(device.check_campaign("one"), {8: 0.4}) == Place(NULL)
        assert device.place(device.check_campaign("two"), {8: 0.6}) == Place(8)


def test_the_clear_form_says_so_and_is_charged_and_counted(tmp_path: Path) -> None:
    server = FakeServer(clear_policy())
    device = new_device(tmp_path / "ledger", server, limits=PrivacyLimits(clear_reports=1))
    told: list[Explanation] = []

    def agree(explanation: Explanation) -> bool:
        told.append(explanation)
        return True

    entry = device.join("noise", {8: 0.1}, agree=agree)
    assert (entry.symbol, entry.symbol_name) == (NULL, "outside")
    assert "You do not regularly visit anywhere in this area.\nYour phone will say so openly." in told[0].text
    assert "The organiser will learn whether you regularly visit anywhere in this area." in told[0].text
    assert "NULL is sent in the clear" in told[0].figures
    assert device.ledger.spent() == Spent(LN4, 0.0, 1, 1)
    with pytest.raises(CampaignRefused, match="asks openly"):
        device.join("second", HOME)


# --- the place is picked once -------------------------------------------------------------------------------------


def test_saying_no_and_asking_again_does_not_choose_anew(path: Path, server: FakeServer) -> None:
    many = dict.fromkeys(range(30), 0.9)
    shown: list[str] = []

    def decline(explanation: Explanation) -> bool:
        shown.append(explanation.text.splitlines()[1])
        return False

    for _ in range(8):
        with pytest.raises(OwnerDeclined):
            new_device(path, server).join("noise", many, agree=decline)
    assert len(set(shown)) == 1
    with pytest.raises(OwnerDeclined):
        new_device(path, server).join("noise", {35: 1.0}, agree=decline)
    assert len(set(shown)) == 1


def test_whoever_excluded_all_places_is_told_so_and_nothing_about_a_place(path: Path, server: FakeServer) -> None:
    latitude, longitude = (float(axis[8]) for axis in AREA.centres())
    device = new_device(path, server)
    checked = device.check_campaign("noise")
    assert "You do not appear to have been in this area." in device.explain(checked, Place(NULL)).text
    assert "your part of the map" not in device.explain(checked, Place(NULL)).text
    device.exclude(ExcludedPlace(latitude, longitude, 0.1))
    told = device.explain(checked, device.place(checked, {8: 0.9})).text
    assert "You excluded all your places in this area. Your phone answers as if you were never here." in told
    assert not any(said in told for said in ("regularly", "several places", "do not appear"))
    clear = FakeServer(clear_policy())
    other = new_device(path.with_name("clear.ledger"), clear, limits=PrivacyLimits(clear_reports=1))
    other.exclude(ExcludedPlace(latitude, longitude, 0.1))
    checked = other.check_campaign("noise")
    told = other.explain(checked, other.place(checked, {8: 0.9})).text
    assert "Your phone answers as if you regularly visited nowhere here.\nYour phone will say so openly." in told


def test_an_excluded_place_is_never_reported(path: Path, server: FakeServer) -> None:
    latitude, longitude = (float(axis[8]) for axis in AREA.centres())
    device = new_device(path, server)
    assert device.place(device.check_campaign("noise"), {8: 0.9, 9: 0.6}) in (Place(8), Place(9))
    device.exclude(ExcludedPlace(latitude + 0.003, longitude, 0.1))
    assert device.place(device.check_campaign("noise"), {8: 0.9, 9: 0.6}) == Place(9)
    assert device.place(device.check_campaign("other"), {8: 0.9}) == Place(NULL)
    device.exclude(ExcludedPlace(latitude, longitude, 1.1))
    assert device.place(device.check_campaign("more"), {8: 0.9, 7: 0.9, 9: 0.9, 2: 0.9, 14: 0.9, 20: 0.3}) == Place(
        20, 1
    )


def test_visits_to_an_excluded_place_are_dropped_before_the_profile_is_made(path: Path, server: FakeServer) -> None:
    latitude, longitude = (float(axis[8]) for axis in AREA.centres())
    weeks = np.arange(10) * 7 * 86_400 + 1_704_067_200
    visits = Visits(("me",), [0] * 10, weeks, [0] * 10, [latitude] * 10, [longitude] * 10)  # type: ignore[arg-type]
    device = new_device(path, server, today=lambda: date(2024, 3, 12))
    device.exclude(ExcludedPlace(latitude, longitude))
    assert device.place(device.check_campaign("noise"), visits) == Place(NULL)


# --- leaving ------------------------------------------------------------------------------------------------------


def test_leaving_has_the_server_forget_and_the_device_never_answers_again(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    with pytest.raises(cv.InputError, match="this device has not joined it on this server"):
        device.leave("noise")
    device.join("noise", HOME)
    assert device.leave("noise").state == "withdrawn"
    assert (server.seats, server.reports) == ({}, {})
    before = len(server.requests)
    assert device.leave("noise").state == "withdrawn"
    with pytest.raises(CampaignRefused, match="You left campaign noise"):
        device.join("noise", HOME)
    assert len(server.requests) == before
    assert device.ledger.spent().reports == 1
    assert "noise: left; the server has deleted the answer" in device.summary().text


def test_leaving_after_a_lost_confirmation_is_repeated(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    device.join("noise", HOME)
    server.interfere = lambda request, reply: no_answer() if request.method == "DELETE" else reply
    with pytest.raises(ServerUnreachable):
        device.leave("noise")
    server.interfere = lambda _, reply: reply
    assert device.leave("noise").state == "withdrawn"


def test_whoever_never_heard_of_the_seat_can_leave_it(path: Path, server: FakeServer) -> None:
    """The confirmation names a participant that this device does not know itself by."""
    new_device(path.with_name("other"), server).join("noise", HOME)
    server.interfere = lambda request, reply: no_answer() if request.method == "POST" else reply
    device = new_device(path, server)
    with pytest.raises(ServerUnreachable):
        device.join("noise", HOME)
    assert [seat.participant for seat in server.seats.values()] == [0, 1]
    assert device.leave("noise").state == "withdrawn"
    assert len(server.seats) == 1


def test_it_is_too_late_to_leave_when_the_round_is_closed(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    device.join("noise", HOME)
    server.interfere = lambda request, reply: problem("round-closed") if request.method == "DELETE" else reply
    with pytest.raises(CampaignRefused, match="stays in the organiser's record, so that the selection can be checked"):
        device.leave("noise")
    entry = device.ledger.entry(NOISE)
    assert entry is not None
    assert entry.state == "acknowledged"


def test_a_confirmation_for_another_participant_is_refused(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    device.join("noise", HOME)

    for right, wrong in ((b'"participant":0', b'"participant":1'), (b'"campaign":"noise"', b'"campaign":"other"')):
        confirmed = Withdrawal(protocol=PROTOCOL, campaign="noise", participant=0).to_bytes()
        changed = confirmed.replace(right, wrong)
        assert changed != confirmed
        server.interfere = lambda request, reply, changed=changed: (  # type: ignore[misc]
            HttpReply(200, body=changed) if request.method == "DELETE" else reply
        )
        with pytest.raises(CampaignRefused, match="is for another participant"):
            device.leave("noise")


# --- who is on the other side -------------------------------------------------------------------------------------


def link_to(server: FakeServer, campaign: str = "noise", **changed: str) -> InviteLink:
    terms = server.terms_of(campaign)
    fields = {"key": terms.server_key, "terms_hash": terms.hash, "policy_hash": server.policy_hash, **changed}
    return InviteLink("https://crowd.example.org", campaign, "card", **fields)


def test_a_device_with_a_link_joins_what_the_link_names(path: Path, server: FakeServer) -> None:
    assert new_device(path, server).join("noise", HOME, link=link_to(server)).state == "acknowledged"
    assert b'"invite":"card"' in server.bodies("/seats")[0]


@pytest.mark.parametrize(
    ("what", "told"),
    [("key", "server's key"), ("terms_hash", "hash of the terms"), ("policy_hash", "policy")],
)
def test_a_device_with_a_link_refuses_any_other_key_terms_or_policy(
    path: Path, server: FakeServer, what: str, told: str
) -> None:
    device = new_device(path, server)
    with pytest.raises(CampaignRefused, match=f"not the campaign that your invite link names: the {told} differs"):
        device.join("noise", HOME, link=link_to(server, **{what: "b" * 64}))
    assert {request.method for request in server.requests} == {"GET"}
    assert device.ledger.entries() == {}


def test_a_link_need_not_name_the_policy(path: Path, server: FakeServer) -> None:
    link = replace(link_to(server), policy_hash=None)
    assert new_device(path, server).join("noise", HOME, link=link).state == "acknowledged"


def test_a_device_that_comes_back_compares_with_its_link_again(path: Path, server: FakeServer) -> None:
    server.interfere = flaky([no_answer] * 4)
    with pytest.raises(ServerUnreachable):
        new_device(path, server).join("noise", HOME, link=link_to(server))
    with pytest.raises(CampaignRefused, match="your invite link names: the policy differs"):
        new_device(path, server).join("noise", HOME, link=link_to(server, policy_hash="d" * 64))
    assert len(server.bodies("/report")) == 4


def test_a_link_to_another_campaign_or_server_is_refused(path: Path, server: FakeServer) -> None:
    with pytest.raises(cv.InputError, match=r"link = 'other at https://crowd\.example\.org': should be for noise at"):
        new_device(path, server).join("noise", HOME, link=link_to(server, "other"))
    server.url = "https://evil.example.org"
    with pytest.raises(cv.InputError, match="should be for noise at https://evil"):
        new_device(path, server).join("noise", HOME, link=link_to(server))


def test_an_announcement_that_is_not_signed_is_refused(path: Path, server: FakeServer) -> None:
    server.private_key = new_private_key()
    device = new_device(path, server)
    with pytest.raises(CampaignRefused, match="The server did not sign what it announces"):
        device.join("noise", HOME)
    assert device.ledger.entries() == {}


def test_terms_that_change_between_look_and_seat_are_refused(path: Path, server: FakeServer) -> None:
    def change(request: HttpRequest, reply: HttpReply) -> HttpReply:
        if request.path.endswith("/policy"):
            server.terms["offer"] = "Two coffees"
        return reply

    server.interfere = change
    device = new_device(path, server)
    with pytest.raises(CampaignRefused, match="other conditions than it announced"):
        device.join("noise", HOME)
    with pytest.raises(CampaignRefused, match="that you were shown when you joined: the hash of the terms differs"):
        device.join("noise", HOME)
    assert server.bodies("/report") == []
    assert device.ledger.spent() == Spent()


def test_terms_that_change_after_the_owner_was_shown_them_are_refused(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    with pytest.raises(OwnerDeclined):
        device.join("noise", HOME, agree=lambda _: False)
    server.terms["delta"] = 0.6
    with pytest.raises(CampaignRefused, match="are not those that you were shown before"):
        device.join("noise", HOME)
    assert {request.method for request in server.requests} == {"GET"}


def test_two_notices_of_one_round_are_a_split_view(path: Path, server: FakeServer) -> None:
    def second_look(request: HttpRequest, reply: HttpReply) -> HttpReply:
        if request.method == "POST":
            return HttpReply(200, body=reply.body.replace(b'"round":0', b'"round":2'))
        return reply

    looks = iter([(0, server.policy_hash), (1, "c" * 64), (1, "d" * 64)])
    announcement = server.announcement

    def announce(campaign: str) -> object:
        server.round, server.policy_hash = next(looks)
        return announcement(campaign)

    server.interfere = second_look
    server.announcement = announce  # type: ignore[method-assign,assignment]
    device = new_device(path, server, check=lambda policy, *_: cv.certify(policy))
    with pytest.raises(CampaignRefused, match="signed two different announcements for the same round") as refusal:
        device.join("noise", HOME)
    assert "policies cccccccccccc and dddddddddddd." in refusal.value.figures
    assert device.ledger.spent() == Spent()


def test_the_same_campaign_on_another_server_gets_a_secret_and_a_report_of_its_own(path: Path) -> None:
    here, there = (FakeServer(flat_policy(), key) for key in (new_private_key(), new_private_key()))
    here.url, there.url = "https://here.org", "https://there.org"
    one, two = new_device(path, here), new_device(path, there)
    here.interfere = flaky([no_answer] * 4)
    with pytest.raises(ServerUnreachable):
        one.join("noise", HOME)
    two.join("noise", HOME)
    assert set(here.seats).isdisjoint(there.seats)
    assert set(here.bodies("/report")).isdisjoint(there.bodies("/report"))
    assert two.ledger.spent().reports == 2


def test_a_server_that_replays_anothers_announcement_gets_neither_secret_nor_report(path: Path) -> None:
    key = new_private_key()
    honest, evil = FakeServer(flat_policy(), key), FakeServer(flat_policy(), key)
    honest.url, evil.url = "https://honest.org", "https://evil.org"
    honest.interfere = flaky([no_answer] * 4)
    with pytest.raises(ServerUnreachable):
        new_device(path, honest).join("noise", HOME)
    with pytest.raises(CampaignRefused, match="on a server at another address"):
        new_device(path, evil).join("noise", HOME)
    assert {request.method for request in evil.requests} == {"GET"}
    assert all("authorization" not in request.headers for request in evil.requests)


def test_a_server_with_another_key_at_the_same_address_is_refused(path: Path) -> None:
    honest, evil = (FakeServer(flat_policy(), key) for key in (new_private_key(), new_private_key()))
    honest.interfere = flaky([no_answer] * 4)
    with pytest.raises(ServerUnreachable):
        new_device(path, honest).join("noise", HOME)
    with pytest.raises(CampaignRefused, match="that you were shown when you joined: the server's key differs"):
        new_device(path, evil).join("noise", HOME)
    assert {request.method for request in evil.requests} == {"GET"}


def test_a_receipt_of_an_earlier_report_is_not_taken_for_this_one(path: Path) -> None:
    server = FakeServer(flat_policy())
    device = new_device(path, server)
    device.join("one", HOME)
    (digest,) = server.reports
    (seat,) = server.seats.values()
    replayed = Receipt.of("one", seat.participant, Report.from_bytes(server.reports[digest][0])).to_bytes()
    server.interfere = lambda request, reply: HttpReply(200, body=replayed) if request.method == "PUT" else reply
    with pytest.raises(CampaignRefused, match="is for another report than yours"):
        device.join("two", HOME)
    entry = device.ledger.entry(ReportKey(NOISE.server_key, "two"))
    assert entry is not None
    assert entry.state == "drawn"


def test_a_retired_ledger_neither_looks_nor_sends(path: Path, server: FakeServer) -> None:
    server.interfere = flaky([no_answer] * 4)
    device = new_device(path, server)
    with pytest.raises(ServerUnreachable):
        device.join("noise", HOME)
    device.ledger.export(path.with_name("moved"))
    server.requests.clear()
    for campaign in ("noise", "other"):
        with pytest.raises(cv.FileFormatError, match="moved to another device"):
            device.join(campaign, HOME)
    assert server.requests == []
    phone = Ledger.import_(path.with_name("moved"), path.with_name("phone"))
    assert new_device(phone.path, server).join("noise", HOME).state == "acknowledged"
    assert len(set(server.bodies("/report"))) == 1


def test_a_notice_is_kept_to_compare_it_with_others(path: Path, server: FakeServer) -> None:
    device = new_device(path, server)
    device.join("noise", HOME)
    ((key, notice),) = device.ledger.notices()
    assert key == NOISE.server_key
    assert notice == RoundNotice.of(server.terms_of("noise"), 0, server.policy_hash, server.private_key)
