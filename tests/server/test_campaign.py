"""A campaign from its plan to the selection, over the real routes."""

from __future__ import annotations

import csv
import io
import random
from math import log
from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import RoundClosed, RoundOpened, State, advance, begin, next_policy, resume, select
from crowdveil.campaign.from_wire import plan_from_wire
from crowdveil.campaign.selection import Reports, Selection
from crowdveil.campaign.state import select_so_far
from crowdveil.draw import draw
from crowdveil.errors import ServerRefused
from crowdveil.prior import Round, count_symbols
from crowdveil.server.scheduler import CLAIM_S, Scheduler
from crowdveil.store import claim_round, open_store
from crowdveil.vocabulary import NULL
from crowdveil.wire import Announcement, AuditRecord, CampaignList, Invites, ParticipantStatus, Preview, Seat, Upload
from tests.server.hall import AREA, NAME, TARGETS, Hall, kind_of, plan

PLACES = [5, 5, NULL, 0, 1, 5, 15, 5, 9, NULL, 5, 6]
"""Where twelve people would report."""


def join_all(hall: Hall, folder: Path, places: list[int]) -> list[str]:
    """Everyone joins; the conductor looks when a round is full. What each ledger says."""
    states: list[str] = []
    for number, place in enumerate(places):
        device = hall.device(folder / str(number), seed=number)
        where = {} if place == NULL else {place: 1.0}
        try:
            states.append(device.join(NAME, where).state)
        except ServerRefused:  # no seat
            hall.step()
            states.append(device.join(NAME, where).state)
    hall.step()
    return states


def played(new_seed: int, places: list[int]) -> tuple[Selection, list[int | None]]:
    """The same campaign without server, store or device: the pure state machine, and the same dice."""
    state = begin(plan_from_wire(plan(), new_seed))
    rows, symbols = [], []
    for number, group in enumerate(np.split(np.arange(len(places)), np.cumsum(state.plan.round_users())[:-1])):
        policy = next_policy(state)
        certificate = cv.certify(policy)
        state = advance(state, RoundOpened(policy))
        sent = []
        for who in group.tolist():
            symbol = draw(policy, max(places[who], 0), certificate, random.Random(who).getrandbits)
            symbols.append(None if places[who] == NULL else symbol)
            if places[who] != NULL:
                rows.append((who, number, symbol))
                sent.append(symbol)
        state = advance(state, RoundClosed(count_symbols(policy, sent, len(group) - len(sent))))
    return select(state, Reports(*(np.array(column) for column in zip(*rows, strict=True)))), symbols


def test_a_campaign_runs_by_itself_and_selects_whom_the_pure_one_selects(hall: Hall, tmp_path: Path) -> None:
    hall.start()
    assert join_all(hall, tmp_path, PLACES) == ["acknowledged"] * 12
    view = hall.view()
    assert (view.state, view.selected) == ("finished", 3)
    assert [(one.state, one.seated, one.accepted, one.refused) for one in view.rounds] == [("closed", 6, 6, {})] * 2
    assert view.estimate is not None
    assert len(view.estimate) == len(AREA)
    assert view.expected_coverage is not None
    record = AuditRecord.from_bytes(hall.operate("GET", f"/campaigns/{NAME}/record").content)
    pure, symbols = played(7, PLACES)
    assert [symbol for _, _, symbol in record.rows] == symbols
    assert list(record.selection.participants) == pure.participants.tolist()
    assert list(record.selection.chances) == pure.chances.tolist()
    assert (record.selection.hits, record.selection.short) == (pure.hits, pure.short)


def test_the_selection_is_exported_and_each_device_learns_how_it_stands(hall: Hall, tmp_path: Path) -> None:
    hall.start()
    before = hall.operate("GET", f"/campaigns/{NAME}/selection")
    assert kind_of(before) == "wrong-state"
    join_all(hall, tmp_path, PLACES)
    answer = hall.operate("GET", f"/campaigns/{NAME}/selection")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["rank"] for row in rows] == ["0", "1", "2"]
    chosen = {int(row["participant"]) for row in rows}
    for number in range(12):
        status = hall.device(tmp_path / str(number)).status(NAME)
        assert (status.participant, status.state) == (number, "selected" if number in chosen else "not-selected")
        assert status.offer == ("A coffee" if number in chosen else None)


def test_an_announcement_names_the_open_round_and_a_draft_is_not_announced(hall: Hall) -> None:
    assert hall.operate("PUT", f"/campaigns/{NAME}", plan().to_bytes()).status_code == 200
    assert kind_of(hall.ask("GET", f"/v1/campaigns/{NAME}")) == "not-found"
    assert kind_of(hall.enrol("me")) == "not-found"
    hall.change("open")
    told = Announcement.from_bytes(hall.ask("GET", f"/v1/campaigns/{NAME}").content)
    assert (told.state, told.round, told.policy_hash) == ("open", None, None)
    assert kind_of(hall.enrol("me")) == "no-seat"
    hall.step()
    told = Announcement.from_bytes(hall.ask("GET", f"/v1/campaigns/{NAME}").content)
    assert (told.round, told.policy_hash) == (0, hall.view().rounds[0].policy_hash)
    assert told.targets == TARGETS


def test_everyone_gets_the_same_policy_and_may_keep_it_for_good(hall: Hall) -> None:
    hall.start()
    path = f"/v1/campaigns/{NAME}/rounds/0/policy"
    answer = hall.ask("GET", path)
    policy = cv.Policy.from_bytes(answer.content)
    assert answer.headers["etag"] == f'"{policy.hash}"'
    assert "immutable" in answer.headers["cache-control"]
    assert hall.ask("GET", path, if_none_match=answer.headers["etag"]).status_code == 304
    assert hall.ask("GET", path).content == answer.content
    assert kind_of(hall.ask("GET", f"/v1/campaigns/{NAME}/rounds/1/policy")) == "not-found"


def test_a_round_closes_at_its_deadline_with_what_has_come(hall: Hall) -> None:
    hall.start(plan(deadline_s=60))
    assert hall.report("one", 0).status_code == 200
    assert hall.enrol("two").status_code == 200
    assert hall.step(59) == []
    happened = hall.step(61)
    assert [(one.event, one.round) for one in happened] == [("round-closed", 0), ("round-opened", 1)]
    assert kind_of(hall.report("two", 0)) == "round-closed"
    assert hall.view().rounds[0].refused == {"round-closed": 1}
    assert [one.event for one in hall.step(100)] == ["round-closed", "selected"]
    assert hall.view().selected == 1


def test_a_campaign_that_is_closed_early_selects_from_what_there_is(hall: Hall) -> None:
    hall.start()
    assert hall.report("one", 0).status_code == 200
    assert hall.change("closed").json()["rounds"][0]["state"] == "closed"
    assert [one.event for one in hall.step()] == ["selected"]
    assert (hall.view().state, hall.view().selected) == ("finished", 1)
    assert kind_of(hall.change("open")) == "wrong-state"


def test_a_campaign_that_is_closed_before_its_first_round_selects_nobody(hall: Hall) -> None:
    assert hall.operate("PUT", f"/campaigns/{NAME}", plan().to_bytes()).status_code == 200
    assert kind_of(hall.change("closed")) == "wrong-state"
    hall.change("open")
    hall.change("closed")
    hall.step()
    assert (hall.view().state, hall.view().selected) == ("finished", 0)
    assert hall.operate("GET", f"/campaigns/{NAME}/record").status_code == 200


def test_a_pause_asks_devices_to_come_back_and_opens_no_round(hall: Hall) -> None:
    hall.start(plan(users=2, wanted=1))
    assert hall.enrol("one").status_code == 200
    hall.change("paused")
    answer = hall.report("one", 0)
    assert kind_of(answer) == "paused"
    assert int(answer.headers["retry-after"]) > 0
    assert kind_of(hall.enrol("two")) == "paused"
    hall.change("open")
    assert hall.report("one", 0).status_code == 200
    hall.change("paused")
    assert [one.event for one in hall.step()] == ["round-closed"]
    assert hall.step() == []
    hall.change("open")
    assert [one.event for one in hall.step()] == ["round-opened"]


def test_invites_let_one_device_in_each(hall: Hall) -> None:
    hall.start(plan(enrolment="invite"))
    answer = hall.operate("POST", f"/campaigns/{NAME}/invites", b'{"protocol":1,"count":2}')
    first, second = Invites.from_bytes(answer.content).invites
    assert kind_of(hall.enrol("one")) == "bad-invite"
    assert kind_of(hall.enrol("one", invite="guessed")) == "bad-invite"
    assert hall.enrol("one", invite=first).status_code == 200
    assert hall.enrol("one", invite=first).status_code == 200
    assert kind_of(hall.enrol("two", invite=first)) == "bad-invite"
    assert hall.enrol("two", invite=second).status_code == 200


def test_creating_again_changes_nothing_and_another_plan_is_refused(hall: Hall) -> None:
    body = plan(seed=None).to_bytes()
    assert hall.operate("PUT", f"/campaigns/{NAME}", body).status_code == 200
    assert hall.operate("PUT", f"/campaigns/{NAME}", body).status_code == 200
    other = hall.operate("PUT", f"/campaigns/{NAME}", plan(users=13).to_bytes())
    assert kind_of(other) == "wrong-state"
    listed = CampaignList.from_bytes(hall.operate("GET", "/campaigns").content)
    assert [(one.campaign, one.state) for one in listed.campaigns] == [(NAME, "draft")]


def test_a_preview_says_what_a_campaign_is_worth_and_keeps_nothing(hall: Hall) -> None:
    answer = hall.operate("POST", "/preview", plan().to_bytes())
    assert answer.status_code == 200, answer.text
    shown = Preview.from_bytes(answer.content)
    policy = next_policy(begin(plan_from_wire(plan(), 7)))
    assert shown.expected_coverage == pytest.approx(policy.value)
    assert list(shown.hit_probability) == pytest.approx(policy.hit.tolist())
    assert shown.private_from_epsilon_per_km <= plan().epsilon_per_km
    worth = [point.expected_coverage for point in shown.by_epsilon]
    assert worth == sorted(worth)
    assert worth[0] > shown.by_chance == 1 / len(AREA)
    less = [point.expected_coverage for point in shown.by_wanted]
    assert less == sorted(less, reverse=True)
    assert CampaignList.from_bytes(hall.operate("GET", "/campaigns").content).campaigns == ()


def test_a_preview_that_takes_too_long_says_so_and_what_would_be_faster(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdveil.server.previews.PATIENCE_S", 0)
    answer = hall.operate("POST", "/preview", plan().to_bytes())
    assert kind_of(answer) == "invalid"
    assert answer.json()["detail"].startswith("targets = 1: should be fewer, or the cells larger: the preview took")


def test_two_conductors_on_one_database_do_every_step_once(url: str, hall: Hall, tmp_path: Path) -> None:
    hall.start()
    with open_store(url) as second:
        both = [Scheduler(hall.store), Scheduler(second)]
        for number in range(6):
            assert hall.report(f"a{number}", 0).status_code == 200
        happened = [one.event for conductor in both for one in conductor.step(hall.now)]
        assert happened == ["round-closed", "round-opened"]


def test_a_policy_whose_maker_died_is_made_by_another_when_the_claim_runs_out(hall: Hall) -> None:
    assert hall.operate("PUT", f"/campaigns/{NAME}", plan().to_bytes()).status_code == 200
    hall.change("open")
    assert claim_round(hall.store, NAME, 0, now=hall.now, until=hall.now + CLAIM_S)
    assert hall.step() == []
    assert [one.event for one in hall.step(CLAIM_S + 1)] == ["round-opened"]


@pytest.mark.parametrize("error", [cv.InputError("prior", "?", "cannot be solved"), OverflowError("too large")])
def test_one_campaign_that_fails_does_not_hold_up_the_others(
    hall: Hall, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail_once(state: object) -> cv.Policy:
        monkeypatch.undo()
        raise error

    for name in ("first", "second"):
        hall.operate("PUT", f"/campaigns/{name}", plan().to_bytes())
        hall.change("open", name)
    monkeypatch.setattr("crowdveil.server.scheduler.next_policy", fail_once)
    assert [(one.event, one.campaign) for one in hall.step()] == [
        ("campaign-failed", "first"),
        ("round-opened", "second"),
    ]


def test_a_campaign_that_is_closed_while_its_policy_is_made_is_selected_from_at_once(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close_meanwhile(state: State) -> cv.Policy:
        monkeypatch.undo()
        assert hall.change("closed").status_code == 200
        return next_policy(state)

    hall.operate("PUT", f"/campaigns/{NAME}", plan().to_bytes())
    hall.change("open")
    conductor = Scheduler(hall.store)
    monkeypatch.setattr("crowdveil.server.scheduler.next_policy", close_meanwhile)
    assert conductor.step(hall.now) == []
    assert [one.event for one in conductor.step(hall.now)] == ["selected"]


def test_being_early_helps_nobody_even_by_the_papers_algorithm() -> None:
    state = begin(plan_from_wire(plan(algorithm="algorithm-2", rounds=1, users=400, wanted=3), 7))
    policy = next_policy(state)
    state = advance(state, RoundOpened(policy))
    state = advance(state, RoundClosed(count_symbols(policy, [0] * 400)))
    everyone = Reports(np.arange(400), np.zeros(400, dtype=np.int64), np.zeros(400, dtype=np.int64))
    assert set(select(state, everyone).participants.tolist()) == {0, 1, 2}
    chosen = select_so_far(state, everyone)
    assert min(chosen.participants.tolist()) > 10
    backwards = Reports(np.arange(400)[::-1], everyone.round, everyone.symbol)
    assert select_so_far(state, backwards).participants.tolist() == chosen.participants.tolist()


def test_a_status_is_as_long_for_everyone(hall: Hall, tmp_path: Path) -> None:
    hall.start()
    sizes = set()
    assert hall.enrol("seated").status_code == 200
    assert hall.report("null", None).status_code == 200
    path = f"/v1/campaigns/{NAME}/status"
    for secret in ("seated", "null"):
        answer = hall.ask("GET", path, authorization=f"Bearer {secret}", accept_encoding="gzip")
        ParticipantStatus.from_bytes(answer.content)
        sizes.add((answer.headers["content-length"], answer.headers.get("content-encoding")))
    assert sizes == {("4096", None)}


def test_where_null_is_protected_nobody_says_it_and_the_pure_campaign_selects_the_same(
    hall: Hall, tmp_path: Path
) -> None:
    new = plan(null_epsilon=log(16))
    hall.start(new)
    seat = hall.enrol("stranger")
    answer = hall.upload("stranger", Upload.of(Seat.from_bytes(seat.content), None))
    assert kind_of(answer) == "wrong-symbol"
    assert hall.report("stranger", 1).status_code == 200
    assert join_all(hall, tmp_path, PLACES[:11]) == ["acknowledged"] * 11
    record = AuditRecord.from_bytes(hall.operate("GET", f"/campaigns/{NAME}/record").content)
    assert [one.nulls for one in record.rounds] == [0, 0]
    assert len(record.rows) == 12
    rounds = [Round(cv.Policy.from_bytes(one.policy_bytes), np.array(one.counts), 0) for one in record.rounds]
    columns = (np.array(column) for column in zip(*record.rows, strict=True))
    pure = select_so_far(resume(plan_from_wire(new, record.seed), rounds), Reports(*columns))
    assert list(record.selection.participants) == pure.participants.tolist()
    shown = Preview.from_bytes(hall.operate("POST", "/preview", new.to_bytes()).content)
    clear = Preview.from_bytes(hall.operate("POST", "/preview", plan().to_bytes()).content)
    assert shown.by_chance < shown.expected_coverage < clear.expected_coverage
