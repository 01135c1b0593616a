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
from crowdveil.wire import Announcement, AuditRecord, CampaignList, Invites, ParticipantStatus, Preview, Report, Seat
from tests.server.harness import AREA, NAME, TARGETS, ServerHarness, kind_of, plan

PLACES = [5, 5, NULL, 0, 1, 5, 15, 5, 9, NULL, 5, 6]
"""Where twelve people would report."""


def join_all(server: ServerHarness, folder: Path, places: list[int]) -> list[str]:
    """Everyone joins; the scheduler looks when a round is full. What each ledger says."""
    states: list[str] = []
    for number, place in enumerate(places):
        device = server.device(folder / str(number), seed=number)
        where = {} if place == NULL else {place: 1.0}
        try:
            states.append(device.join(NAME, where).state)
        except ServerRefused:  # no seat
            server.step()
            states.append(device.join(NAME, where).state)
    server.step()
    return states


def played(new_seed: int, places: list[int]) -> tuple[Selection, list[int | None]]:
    """The same campaign without server, store or device: the pure state machine, and the same rng."""
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


def test_a_campaign_on_the_server_selects_whom_the_pure_state_machine_selects(
    server: ServerHarness, tmp_path: Path
) -> None:
    server.start()
    assert join_all(server, tmp_path, PLACES) == ["acknowledged"] * 12
    view = server.view()
    assert (view.state, view.selected) == ("finished", 3)
    assert [(one.state, one.seated, one.accepted, one.refused) for one in view.rounds] == [("closed", 6, 6, {})] * 2
    assert view.estimate is not None
    assert len(view.estimate) == len(AREA)
    assert view.expected_coverage is not None
    record = AuditRecord.from_bytes(server.operate("GET", f"/campaigns/{NAME}/record").content)
    pure, symbols = played(7, PLACES)
    assert [symbol for _, _, symbol in record.rows] == symbols
    assert list(record.selection.participants) == pure.participants.tolist()
    assert list(record.selection.chances) == pure.chances.tolist()
    assert (record.selection.hits, record.selection.short) == (pure.hits, pure.short)


def test_the_selection_is_exported_and_each_device_learns_whether_it_was_selected(
    server: ServerHarness, tmp_path: Path
) -> None:
    server.start()
    before = server.operate("GET", f"/campaigns/{NAME}/selection")
    assert kind_of(before) == "wrong-state"
    join_all(server, tmp_path, PLACES)
    answer = server.operate("GET", f"/campaigns/{NAME}/selection")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["rank"] for row in rows] == ["0", "1", "2"]
    chosen = {int(row["participant"]) for row in rows}
    for number in range(12):
        status = server.device(tmp_path / str(number)).status(NAME)
        assert (status.participant, status.state) == (number, "selected" if number in chosen else "not-selected")
        assert status.offer == ("A coffee" if number in chosen else None)


def test_an_announcement_names_the_open_round_and_a_draft_is_not_announced(server: ServerHarness) -> None:
    assert server.operate("PUT", f"/campaigns/{NAME}", plan().to_bytes()).status_code == 200
    assert kind_of(server.ask("GET", f"/v1/campaigns/{NAME}")) == "not-found"
    assert kind_of(server.take_seat("me")) == "not-found"
    server.change("open")
    told = Announcement.from_bytes(server.ask("GET", f"/v1/campaigns/{NAME}").content)
    assert (told.state, told.round, told.policy_hash) == ("open", None, None)
    assert kind_of(server.take_seat("me")) == "no-seat"
    server.step()
    told = Announcement.from_bytes(server.ask("GET", f"/v1/campaigns/{NAME}").content)
    assert (told.round, told.policy_hash) == (0, server.view().rounds[0].policy_hash)
    assert told.targets == TARGETS


def test_everyone_gets_the_same_policy_and_may_cache_it(server: ServerHarness) -> None:
    server.start()
    path = f"/v1/campaigns/{NAME}/rounds/0/policy"
    answer = server.ask("GET", path)
    policy = cv.Policy.from_bytes(answer.content)
    assert answer.headers["etag"] == f'"{policy.hash}"'
    assert "immutable" in answer.headers["cache-control"]
    assert server.ask("GET", path, if_none_match=answer.headers["etag"]).status_code == 304
    assert server.ask("GET", path).content == answer.content
    assert kind_of(server.ask("GET", f"/v1/campaigns/{NAME}/rounds/1/policy")) == "not-found"


def test_a_round_closes_at_its_deadline_with_the_reports_so_far(server: ServerHarness) -> None:
    server.start(plan(deadline_s=60))
    assert server.report("one", 0).status_code == 200
    assert server.take_seat("two").status_code == 200
    assert server.step(59) == []
    happened = server.step(61)
    assert [(one.event, one.round) for one in happened] == [("round-closed", 0), ("round-opened", 1)]
    assert kind_of(server.report("two", 0)) == "round-closed"
    assert server.view().rounds[0].refused == {"round-closed": 1}
    assert [one.event for one in server.step(100)] == ["round-closed", "selected"]
    assert server.view().selected == 1


def test_a_campaign_that_is_closed_early_selects_from_the_reports_so_far(server: ServerHarness) -> None:
    server.start()
    assert server.report("one", 0).status_code == 200
    assert server.change("closed").json()["rounds"][0]["state"] == "closed"
    assert [one.event for one in server.step()] == ["selected"]
    assert (server.view().state, server.view().selected) == ("finished", 1)
    assert kind_of(server.change("open")) == "wrong-state"


def test_a_campaign_that_is_closed_before_its_first_round_selects_nobody(server: ServerHarness) -> None:
    assert server.operate("PUT", f"/campaigns/{NAME}", plan().to_bytes()).status_code == 200
    assert kind_of(server.change("closed")) == "wrong-state"
    server.change("open")
    server.change("closed")
    server.step()
    assert (server.view().state, server.view().selected) == ("finished", 0)
    assert server.operate("GET", f"/campaigns/{NAME}/record").status_code == 200


def test_a_pause_asks_devices_to_come_back_and_opens_no_round(server: ServerHarness) -> None:
    server.start(plan(users=2, wanted=1))
    assert server.take_seat("one").status_code == 200
    server.change("paused")
    answer = server.report("one", 0)
    assert kind_of(answer) == "paused"
    assert int(answer.headers["retry-after"]) > 0
    assert kind_of(server.take_seat("two")) == "paused"
    server.change("open")
    assert server.report("one", 0).status_code == 200
    server.change("paused")
    assert [one.event for one in server.step()] == ["round-closed"]
    assert server.step() == []
    server.change("open")
    assert [one.event for one in server.step()] == ["round-opened"]


def test_invites_let_one_device_in_each(server: ServerHarness) -> None:
    server.start(plan(enrolment="invite"))
    answer = server.operate("POST", f"/campaigns/{NAME}/invites", b'{"protocol":1,"count":2}')
    first, second = Invites.from_bytes(answer.content).invites
    assert kind_of(server.take_seat("one")) == "bad-invite"
    assert kind_of(server.take_seat("one", invite="guessed")) == "bad-invite"
    assert server.take_seat("one", invite=first).status_code == 200
    assert server.take_seat("one", invite=first).status_code == 200
    assert kind_of(server.take_seat("two", invite=first)) == "bad-invite"
    assert server.take_seat("two", invite=second).status_code == 200


def test_creating_again_changes_nothing_and_another_plan_is_refused(server: ServerHarness) -> None:
    body = plan(seed=None).to_bytes()
    assert server.operate("PUT", f"/campaigns/{NAME}", body).status_code == 200
    assert server.operate("PUT", f"/campaigns/{NAME}", body).status_code == 200
    other = server.operate("PUT", f"/campaigns/{NAME}", plan(users=13).to_bytes())
    assert kind_of(other) == "wrong-state"
    listed = CampaignList.from_bytes(server.operate("GET", "/campaigns").content)
    assert [(one.campaign, one.state) for one in listed.campaigns] == [(NAME, "draft")]


def test_a_preview_gives_the_expected_coverage_and_stores_nothing(server: ServerHarness) -> None:
    answer = server.operate("POST", "/preview", plan().to_bytes())
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
    assert CampaignList.from_bytes(server.operate("GET", "/campaigns").content).campaigns == ()


def test_a_preview_that_takes_too_long_says_so_and_what_would_be_faster(
    server: ServerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdveil.server.previews.TIMEOUT_S", 0)
    answer = server.operate("POST", "/preview", plan().to_bytes())
    assert kind_of(answer) == "invalid"
    assert answer.json()["detail"].startswith("targets = 1: should be fewer, or the cells larger; the preview took")


def test_two_schedulers_on_one_database_do_every_step_once(url: str, server: ServerHarness, tmp_path: Path) -> None:
    server.start()
    with open_store(url) as second:
        both = [Scheduler(server.store), Scheduler(second)]
        for number in range(6):
            assert server.report(f"a{number}", 0).status_code == 200
        happened = [one.event for scheduler in both for one in scheduler.step(server.now)]
        assert happened == ["round-closed", "round-opened"]


def test_another_scheduler_makes_the_policy_when_a_claim_expires(server: ServerHarness) -> None:
    assert server.operate("PUT", f"/campaigns/{NAME}", plan().to_bytes()).status_code == 200
    server.change("open")
    assert claim_round(server.store, NAME, 0, now=server.now, until=server.now + CLAIM_S)
    assert server.step() == []
    assert [one.event for one in server.step(CLAIM_S + 1)] == ["round-opened"]


@pytest.mark.parametrize("error", [cv.InputError("prior", "?", "cannot be solved"), OverflowError("too large")])
def test_one_campaign_that_fails_does_not_delay_the_others(
    server: ServerHarness, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail_once(state: object) -> cv.Policy:
        monkeypatch.undo()
        raise error

    for name in ("first", "second"):
        server.operate("PUT", f"/campaigns/{name}", plan().to_bytes())
        server.change("open", name)
    monkeypatch.setattr("crowdveil.server.scheduler.next_policy", fail_once)
    assert [(one.event, one.campaign) for one in server.step()] == [
        ("campaign-failed", "first"),
        ("round-opened", "second"),
    ]


def test_a_campaign_that_is_closed_while_its_policy_is_made_is_selected_from_at_once(
    server: ServerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def close_meanwhile(state: State) -> cv.Policy:
        monkeypatch.undo()
        assert server.change("closed").status_code == 200
        return next_policy(state)

    server.operate("PUT", f"/campaigns/{NAME}", plan().to_bytes())
    server.change("open")
    scheduler = Scheduler(server.store)
    monkeypatch.setattr("crowdveil.server.scheduler.next_policy", close_meanwhile)
    assert scheduler.step(server.now) == []
    assert [one.event for one in scheduler.step(server.now)] == ["selected"]


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


def test_a_status_is_as_long_for_everyone(server: ServerHarness, tmp_path: Path) -> None:
    server.start()
    sizes = set()
    assert server.take_seat("seated").status_code == 200
    assert server.report("null", None).status_code == 200
    path = f"/v1/campaigns/{NAME}/status"
    for secret in ("seated", "null"):
        answer = server.ask("GET", path, authorization=f"Bearer {secret}", accept_encoding="gzip")
        ParticipantStatus.from_bytes(answer.content)
        sizes.add((answer.headers["content-length"], answer.headers.get("content-encoding")))
    assert sizes == {("4096", None)}


def test_where_null_is_protected_nobody_sends_it_and_the_selection_is_the_same(
    server: ServerHarness, tmp_path: Path
) -> None:
    new = plan(null_epsilon=log(16))
    server.start(new)
    seat = server.take_seat("stranger")
    answer = server.send_report("stranger", Report.of(Seat.from_bytes(seat.content), None))
    assert kind_of(answer) == "wrong-symbol"
    assert server.report("stranger", 1).status_code == 200
    assert join_all(server, tmp_path, PLACES[:11]) == ["acknowledged"] * 11
    record = AuditRecord.from_bytes(server.operate("GET", f"/campaigns/{NAME}/record").content)
    assert [one.nulls for one in record.rounds] == [0, 0]
    assert len(record.rows) == 12
    rounds = [Round(cv.Policy.from_bytes(one.policy_bytes), np.array(one.counts), 0) for one in record.rounds]
    columns = (np.array(column) for column in zip(*record.rows, strict=True))
    pure = select_so_far(resume(plan_from_wire(new, record.seed), rounds), Reports(*columns))
    assert list(record.selection.participants) == pure.participants.tolist()
    shown = Preview.from_bytes(server.operate("POST", "/preview", new.to_bytes()).content)
    clear = Preview.from_bytes(server.operate("POST", "/preview", plan().to_bytes()).content)
    assert shown.by_chance < shown.expected_coverage < clear.expected_coverage
