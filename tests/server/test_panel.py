"""A panel: everyone answers once, and the operator selects as often as needed."""

from __future__ import annotations

import csv
import io
import random
from typing import Any

import numpy as np
import pytest

from crowdveil.campaign.audit import _read, check_record, repeat_selection
from crowdveil.campaign.from_wire import request_from_wire, selection_message
from crowdveil.campaign.state import resume, select_from_panel
from crowdveil.store import get_campaign
from crowdveil.wire import (
    MAX_SELECTIONS,
    PROTOCOL,
    AuditRecord,
    AuditSelection,
    CampaignPlan,
    Expectation,
    PanelRequest,
    ParticipantStatus,
    SelectionList,
    SelectionView,
    secret_digest,
    selection_seed,
)
from tests.server.harness import AREA, NAME, ServerHarness, kind_of, plan
from tests.town import square_town

PLACES = [5, 5, 9, 0, 1, 5, 15, 5, 9, 3, 5, 6]
"""The cells that twelve people report."""
DAY_S = 86_400


def panel(**changes: Any) -> CampaignPlan:
    given: dict[str, Any] = {"panel": True, "targets": tuple(range(len(AREA))), "wanted": None, "rounds": 1}
    return plan(**{**given, "seed": None, **changes})


def asked(**changes: Any) -> PanelRequest:
    given: dict[str, Any] = {"protocol": PROTOCOL, "targets": (5,), "wanted": 2, **changes}
    return PanelRequest.model_validate(given)


def answer_all(server: ServerHarness, name: str = "device") -> None:
    for number, place in enumerate(PLACES):
        answer = server.take_part(f"{name}-{number}", place, random.Random(number).getrandbits)
        assert answer.status_code == 200, answer.text
    server.step()


def ask(server: ServerHarness, number: int, request: PanelRequest) -> SelectionView:
    answer = server.operate("PUT", f"/campaigns/{NAME}/selections/{number}", request.to_bytes())
    assert answer.status_code == 200, answer.text
    return SelectionView.from_bytes(answer.content)


def people(server: ServerHarness, number: int) -> list[dict[str, str]]:
    text = server.operate("GET", f"/campaigns/{NAME}/selections/{number}").text
    return list(csv.DictReader(io.StringIO(text)))


def record_of(server: ServerHarness) -> AuditRecord:
    return AuditRecord.from_bytes(server.operate("GET", f"/campaigns/{NAME}/record").content)


def status(server: ServerHarness, secret: str) -> ParticipantStatus:
    answer = server.ask("GET", f"/v1/campaigns/{NAME}/status", authorization=f"Bearer {secret}")
    return ParticipantStatus.from_bytes(answer.content)


def test_a_panel_answers_any_number_of_selections_and_the_audit_repeats_each(server: ServerHarness) -> None:
    server.start(panel())
    answer_all(server)
    assert server.view().state == "open"
    requests = [
        asked(),
        asked(targets=(9, 5), wanted=None, numbers=(2, 3), target_names=("Zoo", "Café")),
        asked(targets=(0, 1, 15), wanted=4),
    ]
    for number, request in enumerate(requests):
        made = ask(server, number, request)
        assert (made.number, made.request, made.rounds) == (number, request, 1)
        assert made.selected + sum(made.missing) == (request.wanted or 5)
    listed = SelectionList.from_bytes(server.operate("GET", f"/campaigns/{NAME}/selections").content)
    assert [one.request for one in listed.selections] == requests
    assert [row["name"] for row in people(server, 1)] == ["Zoo"] * 2 + ["Café"] * 3
    record = record_of(server)
    assert check_record(record).reproduced
    for number, told in enumerate(record.selections):
        assert tuple(repeat_selection(record, number).participants.tolist()) == told.participants


def test_a_request_sent_again_selects_nobody_twice_and_another_one_under_its_number_is_refused(
    server: ServerHarness,
) -> None:
    server.start(panel())
    answer_all(server)
    assert ask(server, 0, asked()) == ask(server, 0, asked())
    assert server.view().selections == 1
    path = f"/campaigns/{NAME}/selections"
    other = server.operate("PUT", f"{path}/0", asked(targets=(9,)).to_bytes())
    assert kind_of(other) == "wrong-state"
    assert kind_of(server.operate("PUT", f"{path}/2", asked().to_bytes())) == "wrong-state"
    assert kind_of(server.operate("PUT", f"{path}/1000", asked().to_bytes())) == "wrong-state"
    assert kind_of(server.operate("GET", f"{path}/1")) == "wrong-state"


def test_nobody_is_chosen_more_often_than_allowed_and_others_come_first(server: ServerHarness) -> None:
    server.start(panel())
    answer_all(server)
    chosen: list[list[str]] = []
    for number in range(6):
        made = ask(server, number, asked(wanted=2, at_most=1))
        assert made.missing == (0,)
        chosen.append([row["participant"] for row in people(server, number)])
    assert len({who for group in chosen for who in group}) == 12
    assert ask(server, 6, asked(wanted=2, at_most=1)).missing == (2,)
    server.now += 30 * DAY_S
    again = ask(server, 7, asked(wanted=2, at_most=1, within_s=7 * DAY_S))
    assert again.missing == (0,)
    assert check_record(record_of(server)).reproduced


def test_a_clock_that_is_set_back_does_not_spoil_the_record(server: ServerHarness) -> None:
    server.start(panel())
    answer_all(server)
    ask(server, 0, asked())
    server.now -= 5 * DAY_S
    ask(server, 1, asked(at_most=1, within_s=DAY_S))
    record = record_of(server)
    assert record.selections[0].made == record.selections[1].made
    assert check_record(record).reproduced


def rewritten(record: AuditRecord, requests: list[tuple[PanelRequest, int, int]], seed: str) -> AuditRecord:
    """Another history of the same panel, as its operator can compute it: what was asked, when, from how many rounds."""
    done: list[AuditSelection] = []
    read = _read(record)
    for number, (request, made, rounds) in enumerate(requests):
        own = selection_seed(seed, number, MAX_SELECTIONS)
        found = select_from_panel(
            resume(read.plan, read.rounds[:rounds]),
            read.reports.in_order(np.flatnonzero(read.reports.round < rounds)),
            request_from_wire(request),
            seed=own,
            made=made,
            earlier=[(one.made, np.array(one.participants)) for one in done],
        )
        done.append(selection_message(found, request=request, made=made, rounds=rounds, seed=own))
    return record.model_copy(update={"selections": tuple(done)})


def test_the_audit_refuses_selections_that_go_back_in_time_or_in_rounds_or_leave_one_out(
    server: ServerHarness,
) -> None:
    server.start(panel(rounds=2, renewal_s=30 * DAY_S, deadline_s=DAY_S))
    answer_all(server)
    server.step(31 * DAY_S)
    answer_all(server, "renewed")
    for number in range(3):
        ask(server, number, asked())
    record, campaign = record_of(server), get_campaign(server.store, NAME)
    assert campaign is not None
    seed, made = campaign.seed, record.selections[0].made
    one = asked(wanted=12, at_most=1, within_s=DAY_S)

    def failures(history: AuditRecord) -> list[str]:
        return [one.text for one in check_record(history).findings if one.verdict == "failure"]

    assert failures(record) == []
    assert failures(rewritten(record, [(one, made, 1), (one, made, 2), (one, made + 1, 2)], seed)) == []
    back = failures(rewritten(record, [(one, made, 2), (one, made - 365 * DAY_S, 2)], seed))
    assert [f"earlier than the selection before it, at {made}" in text for text in back] == [True]
    rounds = failures(rewritten(record, [(one, made, 2), (one, made, 1), (one, made, 2)], seed))
    assert rounds == ["selection 2: used 1 closed rounds, fewer than the selection before it, 2"]
    for left_out in range(2):
        kept = tuple(told for number, told in enumerate(record.selections) if number != left_out)
        assert "the seed of selection" in failures(record.model_copy(update={"selections": kept}))[0]


def test_a_device_sees_which_selections_used_its_answer_and_the_ledger_has_one_charge(server: ServerHarness) -> None:
    server.start(panel())
    answer_all(server)
    before = status(server, "device-0")
    assert (before.state, before.selections, before.chosen) == ("reported", 0, ())
    for number in range(3):
        ask(server, number, asked(wanted=4))
    record = record_of(server)
    number_of = {commitment: participant for participant, commitment, _, _ in record.rows}
    for who in range(12):
        found = status(server, f"device-{who}")
        mine = number_of[secret_digest(f"device-{who}")]
        by = tuple(n for n, told in enumerate(record.selections) if mine in told.participants)
        assert (found.selections, found.chosen) == (3, by)
        assert found.state == ("selected" if by else "reported")


def test_a_status_counts_only_selections_that_used_this_answer(server: ServerHarness) -> None:
    """An answer is used until a later round has answers; a renewal that nobody answered does not end its use."""
    server.start(panel(rounds=3, renewal_s=30 * DAY_S, deadline_s=DAY_S))
    answer_all(server)
    ask(server, 0, asked(wanted=12))
    server.step(31 * DAY_S)
    server.step(DAY_S)  # the second round is closed without an answer
    ask(server, 1, asked(wanted=12))
    server.step(30 * DAY_S)
    ask(server, 2, asked(wanted=12))
    answer_all(server, "renewed")
    for number in range(3, 7):
        ask(server, number, asked(wanted=12))
    first, renewed = status(server, "device-0"), status(server, "renewed-0")
    assert (first.selections, first.chosen) == (3, (0, 1, 2))
    assert (renewed.selections, renewed.chosen) == (4, (3, 4, 5, 6))


def test_what_to_expect_can_be_asked_before_and_after_people_answer(server: ServerHarness) -> None:
    path = f"/campaigns/{NAME}/expectation"
    server.start(panel())
    request = asked(targets=(5, 9), wanted=None, numbers=(2, 2))
    before = Expectation.from_bytes(server.operate("POST", path, request.to_bytes()).content)
    assert [one.wanted for one in before.places] == [2, 2]
    answer_all(server)
    after = Expectation.from_bytes(server.operate("POST", path, request.to_bytes()).content)
    assert after.visitors.people > 0
    assert after != before
    assert server.view().selections == 0


def test_an_open_round_is_not_used_and_a_renewal_replaces_the_answers_once_it_is_closed(server: ServerHarness) -> None:
    server.start(panel(rounds=2, renewal_s=30 * DAY_S, deadline_s=DAY_S))
    early = server.operate("PUT", f"/campaigns/{NAME}/selections/0", asked().to_bytes())
    assert kind_of(early) == "wrong-state"
    assert "0 of 12 people have answered so far" in early.text
    assert "once round 1 is closed: when all have answered, or on 2023-11-15 at 22:13 UTC at the latest" in early.text
    answer_all(server)
    first = {row["participant"] for _ in [ask(server, 0, asked(wanted=12))] for row in people(server, 0)}
    assert [one.event for one in server.step(29 * DAY_S)] == []
    assert [one.event for one in server.step(DAY_S + 60)] == ["round-opened"]
    ask(server, 1, asked(wanted=12))
    assert {row["participant"] for row in people(server, 1)} == first
    answer_all(server, "renewed")
    made = ask(server, 2, asked(wanted=12))
    assert made.rounds == 2
    assert {row["participant"] for row in people(server, 2)}.isdisjoint(first)
    assert check_record(record_of(server)).reproduced


def test_a_renewal_that_nobody_answers_leaves_the_answers_before_it_in_use(server: ServerHarness) -> None:
    server.start(panel(rounds=2, renewal_s=30 * DAY_S, deadline_s=DAY_S))
    answer_all(server)
    server.step(30 * DAY_S + 60)
    assert [one.event for one in server.step(DAY_S)] == ["round-closed"]
    assert ask(server, 0, asked(wanted=3)).selected == 3
    assert check_record(record_of(server)).reproduced


@pytest.mark.parametrize("request_changes", [{"wanted": 13}, {"wanted": None, "numbers": (9, 4), "targets": (5, 9)}])
def test_no_more_people_are_selected_than_have_answered(server: ServerHarness, request_changes: dict[str, Any]) -> None:
    server.start(panel())
    answer_all(server)
    for method, path in (("PUT", "selections/0"), ("POST", "expectation")):
        body = asked(**request_changes).to_bytes()
        refused = server.operate(method, f"/campaigns/{NAME}/{path}", body)
        assert kind_of(refused) == "invalid"
        assert "13 people" in refused.text
        assert "at most 12 in all" in refused.text


def test_what_to_expect_comes_with_advice(server: ServerHarness) -> None:
    server.start(panel())
    answer_all(server)
    body = asked(targets=(5, 12), wanted=None, numbers=(2, 9), target_names=("Zoo", "Bank")).to_bytes()
    found = server.operate("POST", f"/campaigns/{NAME}/expectation", body)
    said = Expectation.from_bytes(found.content).advice
    assert [one.partition(")")[0] + ")" for one in said] == ["Place 1 (Zoo)", "Place 2 (Bank)"]


def test_an_invite_to_a_panel_holds_once_in_every_round(server: ServerHarness) -> None:
    server.start(panel(rounds=2, renewal_s=30 * DAY_S, deadline_s=DAY_S, enrolment="invite"))
    body = f'{{"count":1,"protocol":{PROTOCOL}}}'.encode()
    [card] = server.operate("POST", f"/campaigns/{NAME}/invites", body).json()["invites"]
    assert server.take_seat("first", invite=card).status_code == 200
    assert kind_of(server.take_seat("second", invite=card)) == "bad-invite"
    server.step(DAY_S)
    server.step(30 * DAY_S)
    assert server.take_seat("renewed", invite=card).status_code == 200
    assert kind_of(server.take_seat("again", invite=card)) == "bad-invite"


def test_a_closed_panel_is_finished_takes_no_more_answers_and_still_selects(server: ServerHarness) -> None:
    server.start(panel())
    answer_all(server)
    ask(server, 0, asked())
    assert server.change("closed").status_code == 200
    assert [one.event for one in server.step()] == ["finished"]
    assert server.view().state == "finished"
    assert kind_of(server.take_seat("late")) == "wrong-state"
    assert ask(server, 1, asked(wanted=12)).selected == 12
    assert {status(server, f"device-{who}").state for who in range(12)} == {"selected"}
    assert check_record(record_of(server)).reproduced


@pytest.mark.parametrize(
    ("request_changes", "what"),
    [
        ({"targets": (9,)}, "with other_cells"),
        ({"targets": (99,)}, "targets"),
        ({"targets": (5,), "numbers": (1, 2), "wanted": None}, "numbers"),
        ({"wanted": None}, "one of wanted and numbers"),
        ({"within_s": 10}, "at_most"),
    ],
)
def test_what_a_panel_cannot_be_asked_is_said(
    server: ServerHarness, request_changes: dict[str, Any], what: str
) -> None:
    server.start(panel(targets=(5, 0)))
    answer_all(server)
    body = PanelRequest.model_construct(**{**asked().model_dump(), **request_changes}).to_bytes()
    for method, path in (("PUT", "selections/0"), ("POST", "expectation")):
        answer = server.operate(method, f"/campaigns/{NAME}/{path}", body)
        assert kind_of(answer) == "invalid"
        assert what in answer.text
    if request_changes == {"targets": (9,)}:
        assert ask(server, 0, asked(targets=(9,), other_cells=True)).selected == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"wanted": 3},
        {"renewal_s": 9},
        {"rounds": 2, "renewal_s": 5, "deadline_s": 6},
        {"rounds": 2},
        {"seed": "5eed" * 16},
        {"panel": False, "wanted": 2, "renewal_s": 5},
    ],
)
def test_plans_that_no_panel_can_have_are_refused(server: ServerHarness, changes: dict[str, Any]) -> None:
    body = CampaignPlan.model_construct(**{**panel().model_dump(), **changes}).to_bytes()
    assert kind_of(server.operate("PUT", f"/campaigns/{NAME}", body)) == "invalid"


def test_a_panel_with_more_places_than_a_policy_can_have_is_refused_at_once(server: ServerHarness) -> None:
    large = square_town(73)
    body = panel(area=large.describe(), targets=tuple(range(len(large)))).to_bytes()
    refused = server.operate("PUT", f"/campaigns/{NAME}", body)
    assert kind_of(refused) == "invalid"
    assert "5,329 places" in refused.text
    assert "at most " in refused.text
    assert "--targets" in refused.text


def test_a_campaign_that_is_asked_once_is_no_panel(server: ServerHarness) -> None:
    server.start()
    answer = server.operate("PUT", f"/campaigns/{NAME}/selections/0", asked().to_bytes())
    assert kind_of(answer) == "wrong-state"
    assert "is no panel" in answer.text
