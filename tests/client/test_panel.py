"""A device in a panel: it answers once, is used often, and answers anew only if its owner says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crowdveil.client import Device, HttpReply, HttpRequest, Ledger
from crowdveil.client.device_status import AnswerStatus, describe_use_of_answers
from crowdveil.client.explain import BEING_CHOSEN, ONCE, Explanation
from crowdveil.client.invite_link import InviteLink
from crowdveil.errors import CampaignRefused, InputError, InviteNeeded, NoOpenRound, OwnerDeclined, ServerUnreachable
from crowdveil.store import open_store
from crowdveil.wire import PROTOCOL, CampaignPlan, PanelRequest, ParticipantState, ParticipantStatus
from tests.client.fake_server import FakeServer, new_device, small_policy, without_waiting
from tests.server.harness import AREA, NAME, ServerHarness, plan

HISTORY = {5: 0.9}
DAY_S = 86_400
AT = "https://server"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerHarness]:
    with open_store(f"sqlite:///{tmp_path / 'server.sqlite'}") as store, ServerHarness(store) as opened:
        yield opened


def panel(rounds: int = 1) -> CampaignPlan:
    renewal_s = None if rounds == 1 else 90 * DAY_S
    places = tuple(range(len(AREA)))
    return plan(
        panel=True, targets=places, wanted=None, rounds=rounds, seed=None, renewal_s=renewal_s, deadline_s=DAY_S
    )


def device(path: Path, server: ServerHarness | FakeServer, clock: Callable[[], str] | None = None) -> Device:
    """A device whose clock is right, unless another one is given."""
    ledger, clock = path / "mine.ledger", clock or (lambda: time_at(server))
    if not ledger.exists():
        Ledger.create(ledger, clock=clock)
    return Device(without_waiting(), ledger, server, server=AT, sleep=lambda _: None, clock=clock)


def time_at(server: ServerHarness | FakeServer) -> str:
    """What time it is; a panel that is not a real one opens its rounds day by day."""
    seconds = server.now if isinstance(server, ServerHarness) else DAY_S * (server.round or 0)
    return in_seconds(seconds)


def in_seconds(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def select(server: ServerHarness, number: int) -> None:
    targets = tuple(sorted({5, number % len(AREA)}))
    body = PanelRequest(protocol=PROTOCOL, targets=targets, wanted=1)
    answer = server.operate("PUT", f"/campaigns/{NAME}/selections/{number}", body.to_bytes())
    assert answer.status_code == 200, answer.text


def test_fifty_two_selections_use_one_answer_and_the_ledger_has_one_charge(
    server: ServerHarness, tmp_path: Path
) -> None:
    server.start(panel())
    mine, told = device(tmp_path, server), list[Explanation]()

    def agree(explanation: Explanation) -> bool:
        told.append(explanation)
        return True

    mine.join(NAME, HISTORY, agree=agree)
    spent = mine.ledger.spent()
    server.step(DAY_S)
    for number in range(52):
        select(server, number)
    assert mine.join(NAME, HISTORY).state == "acknowledged"
    assert (mine.ledger.spent(), len(mine.ledger.entries())) == (spent, 1)
    status = mine.status(NAME)
    assert (status.answers[0].status.selections, status.state) == (52, "selected")
    assert ONCE in told[0].text
    assert "uses for any number of selections" in told[0].text
    assert "used 52 times" in describe_use_of_answers(status.answers)


def test_an_answer_is_renewed_only_in_a_later_round_with_the_owners_yes_and_a_charge_of_its_own(
    server: ServerHarness, tmp_path: Path
) -> None:
    server.start(panel(rounds=2))
    mine = device(tmp_path, server)
    first = mine.join(NAME, HISTORY)
    with pytest.raises(NoOpenRound, match="still in use"):
        mine.renew(NAME, HISTORY)
    server.step(DAY_S)
    with pytest.raises(NoOpenRound, match="nothing to renew"):
        mine.renew(NAME, HISTORY)
    server.step(90 * DAY_S)
    assert mine.join(NAME, HISTORY) == first
    with pytest.raises(OwnerDeclined):
        mine.renew(NAME, HISTORY, agree=lambda _: False)
    renewed = mine.renew(NAME, HISTORY)
    assert (renewed.key.report, renewed.state) == (1, "acknowledged")
    assert renewed.secret != first.secret
    assert renewed.participant != first.participant
    assert mine.ledger.spent().epsilon_per_km == pytest.approx(2 * panel().epsilon_per_km)
    assert mine.status(NAME).state == "reported"


def test_who_renewed_sees_what_became_of_each_answer(server: ServerHarness, tmp_path: Path) -> None:
    server.start(panel(rounds=2))
    mine = device(tmp_path, server)
    first = mine.join(NAME, HISTORY)
    server.step(DAY_S)
    for number in range(3):
        select(server, number)
    server.step(90 * DAY_S)
    renewed = mine.renew(NAME, HISTORY)
    status = mine.status(NAME)
    assert [(one.round, one.status.participant) for one in status.answers] == [
        (0, first.participant),
        (1, renewed.participant),
    ]
    assert (status.state, status.offer) == ("selected", panel().offer)
    assert status.answers[0].status.chosen == (0, 1, 2)
    assert status.answers[1].status.state == "reported"
    said = describe_use_of_answers(status.answers)
    assert "Your answer in round 1 was used 3 times; you were chosen by selections 1, 2, 3." in said
    assert "Your answer in round 2 was not used for a selection yet." in said
    assert said.count(BEING_CHOSEN) == 1


def test_a_renewal_without_a_seat_does_not_hide_the_answer_before_it(tmp_path: Path) -> None:
    server = panel_server()
    mine = answered_once(tmp_path, server)
    server.interfere = lambda request, reply: no_seat() if request.path.endswith("/seats") else reply
    with pytest.raises(ServerUnreachable):
        mine.renew(NAME, HISTORY)
    server.interfere = lambda _, reply: reply
    server.seats = dict(list(server.seats.items())[:1])
    assert [one.round for one in mine.status(NAME).answers] == [0]


def test_a_campaign_that_asks_once_cannot_be_renewed_nor_one_that_was_left(
    server: ServerHarness, tmp_path: Path
) -> None:
    server.start(plan(deadline_s=DAY_S))
    mine = device(tmp_path, server)
    mine.join(NAME, HISTORY)
    with pytest.raises(CampaignRefused, match="asks once"):
        mine.renew(NAME, HISTORY)
    mine.leave(NAME)
    with pytest.raises(CampaignRefused, match="You left"):
        mine.renew(NAME, HISTORY)


# --- renewals that are interrupted, and what a link says about them ---------------------------------------------


def panel_server() -> FakeServer:
    """A panel whose second round is open."""
    server = FakeServer(small_policy())
    server.terms |= {"panel": True, "renewal_s": DAY_S, "enrolment": "invite"}
    return server


def answered_once(path: Path, server: FakeServer) -> Device:
    mine = device(path, server)
    mine.join(NAME, HISTORY, invite="first")
    server.round = 1
    return mine


def link_to(server: FakeServer, **changes: str) -> InviteLink:
    terms = server.terms_of(NAME)
    said = InviteLink(AT, NAME, "card-of-the-link", terms.server_key, terms.hash, None)
    return replace(said, **changes)


def invites_of(server: FakeServer) -> list[str | None]:
    return [json.loads(body).get("invite") for body in server.bodies("/seats")]


@pytest.mark.parametrize("end", ["/seats", "/report"])
def test_an_interrupted_renewal_goes_on_with_the_same_draw_and_a_single_charge(tmp_path: Path, end: str) -> None:
    server = panel_server()
    mine = answered_once(tmp_path, server)

    def lost(request: HttpRequest, reply: HttpReply) -> HttpReply:
        if request.path.endswith(end):
            raise ServerUnreachable("the answer was lost")
        return reply

    server.interfere = lost
    with pytest.raises(ServerUnreachable):
        mine.renew(NAME, HISTORY, invite="second")
    server.interfere = lambda _, reply: reply
    renewed = mine.renew(NAME, HISTORY, invite="second")
    assert (renewed.key.report, renewed.state) == (1, "acknowledged")
    assert len(mine.ledger.entries()) == 2
    assert [len(set(bodies)) for bodies in server.reports.values()] == [1, 1]
    assert mine.ledger.spent().epsilon_per_km == pytest.approx(2 * server.terms["epsilon_per_km"])
    with pytest.raises(NoOpenRound):
        mine.renew(NAME, HISTORY)


def test_an_interrupted_renewal_asks_its_owner_again_and_picks_from_the_history_of_today(tmp_path: Path) -> None:
    server = panel_server()
    mine = answered_once(tmp_path, server)
    server.interfere = lambda request, reply: no_seat() if request.path.endswith("/seats") else reply
    with pytest.raises(ServerUnreachable):
        mine.renew(NAME, HISTORY)
    server.interfere = lambda _, reply: reply
    with pytest.raises(OwnerDeclined):
        mine.renew(NAME, HISTORY, agree=lambda _: False)
    with pytest.raises(CampaignRefused, match="server's key differs"):
        mine.renew(NAME, HISTORY, link=link_to(server, key="0" * 64))


def no_seat() -> HttpReply:
    raise ServerUnreachable("no seat")


def test_a_renewal_shows_the_invite_of_the_first_answer_where_no_other_is_given(tmp_path: Path) -> None:
    server = panel_server()
    mine = answered_once(tmp_path, server)
    assert mine.renew(NAME, HISTORY).state == "acknowledged"
    assert invites_of(server) == ["first", "first"]


def test_without_an_invite_a_device_says_that_one_is_needed_and_begins_nothing(tmp_path: Path) -> None:
    server = panel_server()
    mine = device(tmp_path, server)
    with pytest.raises(InviteNeeded, match="This campaign needs an invite link"):
        mine.join(NAME, HISTORY)
    assert invites_of(server) == []
    assert mine.ledger.entries() == {}


def test_a_renewal_shows_the_invite_or_else_the_links(tmp_path: Path) -> None:
    server = panel_server()
    answered_once(tmp_path, server).renew(NAME, HISTORY, link=link_to(server))
    assert invites_of(server) == ["first", "card-of-the-link"]
    server.round = 2
    device(tmp_path, server).renew(NAME, HISTORY, invite="mine", link=link_to(server))
    assert invites_of(server)[2:] == ["mine"]


def test_an_interrupted_renewal_shows_the_same_invites(tmp_path: Path) -> None:
    server = panel_server()
    mine = answered_once(tmp_path, server)
    server.interfere = lambda request, reply: no_seat() if request.path.endswith("/seats") else reply
    for _ in range(2):
        with pytest.raises(ServerUnreachable):
            mine.renew(NAME, HISTORY, link=link_to(server))
    with pytest.raises(ServerUnreachable):
        mine.renew(NAME, HISTORY, invite="second")
    assert set(invites_of(server)) == {"first", "card-of-the-link", "second"}


@pytest.mark.parametrize(
    ("field", "said"), [("key", "server's key differs"), ("terms_hash", "hash of the terms differs")]
)
def test_a_renewal_compares_the_panel_with_the_link(tmp_path: Path, field: str, said: str) -> None:
    server = panel_server()
    mine = answered_once(tmp_path, server)
    asked = len(server.bodies("/seats"))
    with pytest.raises(CampaignRefused, match=said):
        mine.renew(NAME, HISTORY, link=link_to(server, **{field: "0" * 64}))
    with pytest.raises(InputError, match="link"):
        mine.renew(NAME, HISTORY, link=link_to(server, campaign="another"))
    assert len(server.bodies("/seats")) == asked


def test_a_renewal_refuses_a_policy_that_the_link_does_not_name(tmp_path: Path) -> None:
    server = panel_server()
    mine = answered_once(tmp_path, server)
    with pytest.raises(CampaignRefused, match="the policy differs"):
        mine.renew(NAME, HISTORY, link=link_to(server, policy_hash="0" * 64))


# --- rounds that come too soon ------------------------------------------------------------------------------------

PERIOD_S = 90 * DAY_S


def test_a_panel_that_asks_again_sooner_than_announced_is_refused_and_nothing_is_drawn(tmp_path: Path) -> None:
    server, now = panel_server(), [0]
    server.terms["renewal_s"] = PERIOD_S
    mine = device(tmp_path, server, lambda: in_seconds(now[0]))
    mine.join(NAME, HISTORY, invite="first")
    asked = len(server.bodies("/seats"))
    for number, seconds in ((1, 0), (1, PERIOD_S - PERIOD_S // 10 - 1), (2, 2 * PERIOD_S - PERIOD_S // 10 - 1)):
        server.round, now[0] = number, seconds
        with pytest.raises(CampaignRefused, match="sooner than it announced") as refusal:
            mine.renew(NAME, HISTORY)
        assert "rounds are 7,776,000 seconds apart" in refusal.value.figures
    assert "it can from 1970-06-21 on" in str(refusal.value)
    assert (len(server.bodies("/seats")), mine.ledger.spent().reports) == (asked, 1)
    server.round, now[0] = 1, PERIOD_S - PERIOD_S // 10
    assert mine.renew(NAME, HISTORY).key.report == 1


def test_the_tenth_of_a_period_that_clocks_may_differ_by_does_not_add_up(tmp_path: Path) -> None:
    server, now = panel_server(), [0]
    server.terms["renewal_s"] = PERIOD_S
    mine = device(tmp_path, server, lambda: in_seconds(now[0]))
    mine.join(NAME, HISTORY, invite="first")
    server.round, now[0] = 1, PERIOD_S - PERIOD_S // 10
    mine.renew(NAME, HISTORY)
    server.round, now[0] = 2, 2 * now[0]
    with pytest.raises(CampaignRefused, match="sooner"):
        mine.renew(NAME, HISTORY)
    now[0] = 2 * PERIOD_S - PERIOD_S // 10
    assert mine.renew(NAME, HISTORY).key.report == 2


def test_a_renewal_that_was_interrupted_keeps_to_the_schedule_too(tmp_path: Path) -> None:
    """A seat in the second round was asked for in time; meanwhile the server opened the third."""
    server, now = panel_server(), [0]
    server.terms["renewal_s"] = PERIOD_S
    mine = device(tmp_path, server, lambda: in_seconds(now[0]))
    mine.join(NAME, HISTORY, invite="first")
    server.round, now[0] = 1, PERIOD_S
    server.interfere = lambda request, reply: no_seat() if request.path.endswith("/seats") else reply
    with pytest.raises(ServerUnreachable):
        mine.renew(NAME, HISTORY)
    server.interfere, server.round = lambda _, reply: reply, 2
    for answer in (mine.join, mine.renew):
        with pytest.raises(CampaignRefused, match="sooner"):
            answer(NAME, HISTORY)
    assert mine.ledger.spent().reports == 1


def test_the_draw_itself_keeps_to_the_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program with the same ledger may have drawn since the schedule was checked."""
    server = panel_server()
    server.terms["renewal_s"] = PERIOD_S
    mine = device(tmp_path, server, lambda: in_seconds(0))
    mine.join(NAME, HISTORY, invite="first")
    server.round = 1
    monkeypatch.setattr(Ledger, "check_round", lambda *_: None)
    with pytest.raises(CampaignRefused, match="sooner than it announced"):
        mine.renew(NAME, HISTORY)
    assert mine.ledger.spent().reports == 1


def test_a_schedule_of_centuries_is_refused_with_a_date(tmp_path: Path) -> None:
    server = panel_server()
    server.terms["renewal_s"] = 2**53 - 1
    mine = device(tmp_path, server, lambda: in_seconds(0))
    mine.join(NAME, HISTORY, invite="first")
    server.round = 1
    with pytest.raises(CampaignRefused, match="from 2070-"):
        mine.renew(NAME, HISTORY)


# --- rounds that come out of order ------------------------------------------------------------------------------


def begun_in_the_second_round(path: Path, server: FakeServer) -> Device:
    """A device that asked for a seat in the second round and was given none."""
    server.round = 1
    mine = device(path, server)
    server.interfere = lambda request, reply: no_seat() if request.path.endswith("/seats") else reply
    with pytest.raises(ServerUnreachable):
        mine.join(NAME, HISTORY, invite="first")
    server.interfere = lambda _, reply: reply
    return mine


def test_a_panel_that_goes_back_a_round_is_refused_and_nothing_is_sent(tmp_path: Path) -> None:
    server = panel_server()
    mine = begun_in_the_second_round(tmp_path, server)
    server.round, asked = 0, len(server.bodies("/seats"))
    for answer in (mine.join, mine.renew):
        with pytest.raises(CampaignRefused, match="went back to a round before the one") as refusal:
            answer(NAME, HISTORY)
        assert refusal.value.figures == "Round 1 is announced; round 2 is begun."
    assert (len(server.bodies("/seats")), mine.ledger.spent().reports) == (asked, 0)
    server.round = 1
    assert mine.join(NAME, HISTORY).key.report == 1


def test_the_answer_that_counts_is_that_of_the_greatest_round_however_they_were_begun(tmp_path: Path) -> None:
    """A ledger from before rounds had to come in order."""
    server = panel_server()
    mine = begun_in_the_second_round(tmp_path, server)
    key = mine.ledger.find(NAME, AT)
    assert key is not None
    about = {"name": "", "offer": "", "server": AT, "terms_hash": key.terms_hash}
    mine.ledger.begin(key.key._replace(report=0), lambda: "an earlier secret", about)
    found = mine.ledger.find(NAME, AT)
    assert found is not None
    assert found.key.report == 1
    assert mine.leave(NAME).key.report == 1


def test_only_a_panel_says_that_one_answers_once(tmp_path: Path) -> None:
    server, told = FakeServer(small_policy()), list[Explanation]()

    def agree(explanation: Explanation) -> bool:
        told.append(explanation)
        return True

    new_device(tmp_path / "mine.ledger", server).join(NAME, HISTORY, agree=agree)
    assert ONCE not in told[0].text


@pytest.mark.parametrize(
    ("selections", "chosen", "said"),
    [
        (0, (), "was not used for a selection yet"),
        (1, (), "was used once; you were not chosen"),
        (3, (2,), "was used 3 times; you were chosen by selection 3."),
        (9, (0, 8), "chosen by selections 1, 9."),
    ],
)
def test_what_an_answer_was_used_for_is_said(selections: int, chosen: tuple[int, ...], said: str) -> None:
    state: ParticipantState = "selected" if chosen else "reported"
    status = ParticipantStatus.of(NAME, 4, state, "Tea", selections=selections, chosen=chosen)
    assert said in describe_use_of_answers([AnswerStatus(0, status)])
