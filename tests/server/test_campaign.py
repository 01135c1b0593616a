"""A campaign from its plan to the selection, over the real routes."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import (
    RoundClosed,
    RoundOpened,
    State,
    advance,
    begin,
    forecast,
    next_policy,
    preview_state,
    select,
)
from crowdveil.campaign.audit import check_record
from crowdveil.campaign.from_wire import plan_from_wire
from crowdveil.campaign.selection import Reports, Selection
from crowdveil.campaign.state import select_so_far
from crowdveil.draw import draw
from crowdveil.prior import count_symbols
from crowdveil.server.previews import Previews
from crowdveil.server.scheduler import CLAIM_S, Scheduler
from crowdveil.store import Store, claim_round, open_store
from crowdveil.vocabulary import NULL
from crowdveil.wire import (
    Announcement,
    AuditRecord,
    CampaignList,
    CampaignPlan,
    Estimates,
    Invites,
    ParticipantStatus,
    Preview,
    Seat,
    Withdrawal,
    find_split,
    secret_digest,
)
from tests.server.harness import AREA, CLEAR, NAME, NEVER_S, SEED, TARGETS, ServerHarness, kind_of, plan
from tests.town import square_town

PLACES = [5, 5, NULL, 0, 1, 5, 15, 5, 9, NULL, 5, 6]
"""Where twelve people would report."""
GRADES = [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1]
"""Whether they are regular visitors (0) or occasional ones (1)."""


def join_all(server: ServerHarness, places: list[int], grades: list[int]) -> None:
    """Let everyone take part; the scheduler looks when a round is full."""
    for number, (place, grade) in enumerate(zip(places, grades, strict=True)):
        bits = random.Random(number).getrandbits
        answer = server.take_part(f"device-{number}", place, bits, grade)
        if answer.status_code != 200:
            assert kind_of(answer) == "no-seat"
            server.step()
            answer = server.take_part(f"device-{number}", place, bits, grade)
        assert answer.status_code == 200, answer.text
    server.step()


def record_of(server: ServerHarness) -> AuditRecord:
    return AuditRecord.from_bytes(server.operate("GET", f"/campaigns/{NAME}/record").content)


def played(new: CampaignPlan, places: list[int], grades: list[int]) -> tuple[Selection, dict[str, int | None]]:
    """The same campaign without server or store: the pure state machine with the same random bits, by commitment."""
    state = begin(plan_from_wire(new, SEED))
    rows: list[tuple[int, int, int]] = []
    symbols: dict[str, int | None] = {}
    for number, group in enumerate(np.split(np.arange(len(places)), np.cumsum(state.plan.round_users())[:-1])):
        policy = next_policy(state)
        certificate = cv.certify(policy)
        state = advance(state, RoundOpened(policy))
        sent = []
        for who in group.tolist():
            commitment = secret_digest(f"device-{who}")
            if places[who] == NULL and new.null_epsilon is None:
                symbols[commitment] = None
                continue
            symbol = draw(policy, places[who], certificate, random.Random(who).getrandbits, grade=grades[who])
            symbols[commitment] = symbol
            rows.append((who, number, symbol))
            sent.append(symbol)
        state = advance(state, RoundClosed(count_symbols(policy, sent, len(group) - len(sent))))
    tickets = tuple(secret_digest(f"device-{row[0]}") for row in rows)
    columns = np.array(rows)
    return select(state, Reports(columns[:, 0], columns[:, 1], columns[:, 2], tickets)), symbols


COVERS: dict[str, dict[str, Any]] = {
    "any": {},
    "each": {"targets": (9, 5), "wanted": None, "numbers": (2, 2), "target_names": ("Zoo", "Café")},
    "numbers": {"targets": (9, 5, 0), "wanted": None, "numbers": (1, 3, 2)},
}


@pytest.mark.parametrize("cover", COVERS)
@pytest.mark.parametrize("form", ["protected", "clear"])
def test_a_campaign_on_the_server_selects_whom_the_pure_state_machine_selects(
    server: ServerHarness, form: str, cover: str
) -> None:
    new = plan(**COVERS[cover]) if form == "protected" else plan(**CLEAR, **COVERS[cover])
    assert new.cover == cover
    grades = GRADES if form == "protected" else [0] * 12
    server.start(new)
    join_all(server, PLACES, grades)
    view = server.view()
    assert (view.state, view.selected) == ("finished", new.people_wanted)
    assert [(one.state, one.seated, one.accepted, one.refused) for one in view.rounds] == [("closed", 6, 6, {})] * 2
    assert view.estimate is not None
    assert len(view.estimate) == len(AREA)
    assert view.expected_coverage is not None
    record = record_of(server)
    pure, symbols = played(new, PLACES, grades)
    assert {commitment: symbol for _, commitment, _, symbol in record.rows} == symbols
    number_of = {commitment: participant for participant, commitment, _, _ in record.rows}
    told = dict(zip(record.selections[0].participants, record.selections[0].chances, strict=True))
    told_targets = dict(zip(record.selections[0].participants, record.selections[0].targets, strict=True))
    chosen = [number_of[secret_digest(f"device-{who}")] for who in pure.participants.tolist()]
    assert set(told) == set(chosen)
    assert told_targets == dict(zip(chosen, pure.targets.tolist(), strict=True))
    assert list(record.selections[0].chances) == pure.chances.tolist()
    assert list(record.selections[0].targets) == pure.targets.tolist()
    assert list(record.selections[0].chosen) == pure.chosen
    assert record.selections[0].missing == pure.missing
    assert check_record(record).reproduced
    assert view.expectation is not None
    assert (view.expectation.cover, view.expectation.numbers) == (cover, new.numbers)
    assert [one.selected for one in view.expectation.places] == np.bincount(
        pure.targets, minlength=len(new.targets)
    ).tolist()
    for one in Estimates.from_bytes(server.operate("GET", f"/campaigns/{NAME}/estimates").content).rounds:
        assert sum(one.prior) == pytest.approx(1)
        assert sum(one.grade_shares) + one.outside_share == pytest.approx(1)
        assert len(one.grade_shares) == (3 if form == "protected" else 1)


def test_the_selection_is_exported_and_each_device_learns_whether_it_was_selected(server: ServerHarness) -> None:
    server.start()
    before = server.operate("GET", f"/campaigns/{NAME}/selections/0")
    assert kind_of(before) == "wrong-state"
    join_all(server, PLACES, GRADES)
    answer = server.operate("GET", f"/campaigns/{NAME}/selections/0")
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert list(rows[0]) == ["place", "name", "latitude", "longitude", "participant", "chance", "chosen"]
    latitude, longitude = AREA.centres()
    for row in rows:
        cell = TARGETS[int(row["place"]) - 1]
        assert (float(row["latitude"]), float(row["longitude"])) == pytest.approx(
            (latitude[cell], longitude[cell]), abs=1e-6
        )
        assert row["name"] == ""
        assert row["chosen"] in ("symbol", "filled")
    chances = [float(row["chance"]) for row in rows]
    assert chances == sorted(chances, reverse=True)
    assert len(rows) == 3
    chosen = {int(row["participant"]) for row in rows}
    for number in range(12):
        answer = server.ask("GET", f"/v1/campaigns/{NAME}/status", authorization=f"Bearer device-{number}")
        status = ParticipantStatus.from_bytes(answer.content)
        assert status.state == ("selected" if status.participant in chosen else "not-selected")
        assert status.offer == ("A coffee" if status.participant in chosen else None)


def test_the_export_of_a_selection_for_each_target_goes_place_by_place_with_names(server: ServerHarness) -> None:
    server.start(plan(**COVERS["each"], target_coordinates=((0.02, 0.01), (0.0125, 0.0135))))
    join_all(server, PLACES, GRADES)
    rows = list(csv.DictReader(io.StringIO(server.operate("GET", f"/campaigns/{NAME}/selections/0").text)))
    assert [(row["place"], row["name"]) for row in rows] == [("1", "Zoo")] * 2 + [("2", "Café")] * 2
    assert [(row["latitude"], row["longitude"]) for row in rows[1:3]] == [("0.02", "0.01"), ("0.0125", "0.0135")]
    chosen = record_of(server).selections[0]
    assert [int(row["participant"]) for row in rows] == list(chosen.participants)
    assert [row["chosen"] for row in rows] == list(chosen.chosen)
    assert server.announcement().terms.target_names == ("Zoo", "Café")


def test_an_announcement_names_the_open_round_and_a_draft_is_not_announced(server: ServerHarness) -> None:
    assert server.operate("PUT", f"/campaigns/{NAME}", plan().to_bytes()).status_code == 200
    assert kind_of(server.ask("GET", f"/v1/campaigns/{NAME}")) == "not-found"
    assert kind_of(server.take_seat("me")) == "not-found"
    server.change("open")
    told = Announcement.from_bytes(server.ask("GET", f"/v1/campaigns/{NAME}").content)
    assert (told.state, told.notice) == ("open", None)
    assert kind_of(server.take_seat("me")) == "no-seat"
    server.step()
    told = Announcement.from_bytes(server.ask("GET", f"/v1/campaigns/{NAME}").content)
    assert told.notice is not None
    assert (told.notice.round, told.notice.policy_hash) == (0, server.view().rounds[0].policy_hash)
    assert told.terms.targets == TARGETS


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


@pytest.fixture(scope="module")
def previewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHarness]:
    """A server on one database: previews do not use it, and their processes take seconds to start."""
    with limited(tmp_path_factory.mktemp("previews"), Previews(NEVER_S, NEVER_S)) as server:
        yield server


def test_a_preview_gives_the_expected_coverage_and_stores_nothing(previewer: ServerHarness) -> None:
    answer = previewer.operate("POST", "/preview", plan().to_bytes())
    assert answer.status_code == 200, answer.text
    shown = Preview.from_bytes(answer.content)
    policy = next_policy(begin(plan_from_wire(plan(), SEED)))
    assert shown.expected_coverage == pytest.approx(forecast(preview_state(plan_from_wire(plan(), SEED))).coverage)
    assert list(shown.hit_probability) == pytest.approx(policy.hit[: len(AREA)].tolist())
    assert shown.private_from_epsilon_per_km <= plan().epsilon_per_km
    worth = [point.expected_coverage for point in shown.by_epsilon]
    assert all(low < 1.02 * high for low, high in pairwise(worth))
    # Half of the people are inside, a third of them of each grade.
    assert shown.by_chance == pytest.approx(np.mean(cv.chances_of_grades((0.5, 0.2))) / len(AREA) / 2)
    assert worth[0] > shown.by_chance
    less = [point.expected_coverage for point in shown.by_wanted]
    assert all(low < 1.02 * high for high, low in pairwise(less))
    assert CampaignList.from_bytes(previewer.operate("GET", "/campaigns").content).campaigns == ()


def test_a_preview_says_how_many_are_expected_where_and_what_others_would_bring(
    previewer: ServerHarness,
) -> None:
    new = plan(users=400, **COVERS["numbers"])
    shown = Preview.from_bytes(previewer.operate("POST", "/preview", new.to_bytes()).content)
    assert [one.wanted for one in shown.expectation.places] == [1, 3, 2]
    for place in shown.expectation.places:
        assert place.visitors.low <= place.visitors.people <= place.visitors.high
        assert place.selected == pytest.approx(place.wanted)
        assert place.by_symbol <= place.selected
    assert [(one.cover, one.numbers) for one in shown.covers] == [
        ("any", None),
        ("each", (2, 2, 2)),
        ("numbers", (1, 3, 2)),
    ]
    assert shown.covers[2] == shown.expectation
    assert [point.wanted for point in shown.by_wanted] == [3, 4, 6, 12, 24]
    quick = Preview.from_bytes(previewer.operate("POST", "/preview?curves=no", new.to_bytes()).content)
    assert quick.covers == ()
    few = plan(users=200, **COVERS["numbers"])
    said = Preview.from_bytes(previewer.operate("POST", "/preview?curves=no", few.to_bytes()).content).advice
    assert any(one.startswith("Place 2 cannot have its 3 people") for one in said)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"numbers": (1, 2)}, "numbers"),
        ({"numbers": (1, 2), "wanted": None}, "numbers"),
        ({"numbers": (13,), "wanted": None}, "numbers[0]"),
        ({"numbers": (0,), "wanted": None}, "numbers.0"),
        ({"wanted": None}, "wanted, share and numbers"),
        ({"target_names": ("a", "b")}, "target_names"),
        ({"numbers": (3,), "wanted": None, "algorithm": "algorithm-2"}, "numbers"),
    ],
)
def test_numbers_and_names_that_do_not_fit_the_targets_are_refused(
    server: ServerHarness, changes: dict[str, Any], field: str
) -> None:
    body = {**plan().model_dump(mode="json"), **changes}
    answer = server.operate("PUT", f"/campaigns/{NAME}", json.dumps(body).encode())
    assert kind_of(answer) in ("malformed", "invalid")
    assert field in answer.json()["detail"]


def test_a_preview_that_takes_too_long_says_so_and_what_would_be_faster(tmp_path: Path) -> None:
    with limited(tmp_path, Previews(timeout_s=0)) as server:
        answer = server.operate("POST", "/preview", plan().to_bytes())
    assert kind_of(answer) == "invalid"
    assert answer.json()["detail"].startswith("targets = 1: should be fewer, or the cells larger; the preview took")


def test_curves_that_take_too_long_are_cut_short_but_for_the_chosen_point(tmp_path: Path) -> None:
    with limited(tmp_path, Previews(timeout_s=NEVER_S, curves_s=0)) as server:
        shown = Preview.from_bytes(server.operate("POST", "/preview", plan().to_bytes()).content)
    assert [point.epsilon_per_km for point in shown.by_epsilon] == [plan().epsilon_per_km]
    assert [point.wanted for point in shown.by_wanted] == [plan().people_wanted]
    assert [one.cover for one in shown.covers] == ["any", "each"]


def test_a_large_preview_delays_no_small_one_and_is_stopped_when_nobody_waits_for_it(tmp_path: Path) -> None:
    with limited(tmp_path, Previews(NEVER_S, NEVER_S)) as server:
        targets = tuple(range(0, 400, 6))
        large = plan(
            area=square_town(20).describe(), targets=targets, wanted=None, numbers=(7,) * len(targets), users=670
        )
        waiting = server.preview_later(large)  # the targets compete for everyone: this takes half a minute
        shown = server.operate("POST", "/preview?curves=no", plan().to_bytes())
        assert shown.status_code == 200
        assert not waiting.done()
        waiting.cancel()
        assert server.operate("POST", "/preview?curves=no", plan(users=13).to_bytes()).status_code == 200


@contextmanager
def limited(folder: Path, previews: Previews) -> Iterator[ServerHarness]:
    """A server whose previews have these limits."""
    with open_store(f"sqlite:///{folder}/server.sqlite") as store, ServerHarness(store, previews=previews) as server:
        yield server


def test_two_schedulers_on_one_database_do_every_step_once(url: str, server: ServerHarness) -> None:
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
    state = begin(plan_from_wire(plan(algorithm="algorithm-2", rounds=1, users=400, wanted=3, **CLEAR), SEED))
    policy = next_policy(state)
    state = advance(state, RoundOpened(policy))
    state = advance(state, RoundClosed(count_symbols(policy, [0] * 400)))
    everyone = Reports(np.arange(400), np.zeros(400, dtype=np.int64), np.zeros(400, dtype=np.int64))
    assert set(select(state, everyone).participants.tolist()) == {0, 1, 2}
    chosen = select_so_far(state, everyone)
    assert min(chosen.participants.tolist()) > 10
    backwards = Reports(np.arange(400)[::-1], everyone.round, everyone.symbol)
    assert select_so_far(state, backwards).participants.tolist() == chosen.participants.tolist()


def test_a_status_is_as_long_for_everyone(server: ServerHarness) -> None:
    server.start(plan(**CLEAR))
    sizes = set()
    assert server.take_seat("seated").status_code == 200
    assert server.report("null", None).status_code == 200
    path = f"/v1/campaigns/{NAME}/status"
    for secret in ("seated", "null"):
        answer = server.ask("GET", path, authorization=f"Bearer {secret}", accept_encoding="gzip")
        ParticipantStatus.from_bytes(answer.content)
        sizes.add((answer.headers["content-length"], answer.headers.get("content-encoding")))
    assert sizes == {("4096", None)}


def test_where_being_outside_is_protected_nobody_says_it_openly(server: ServerHarness) -> None:
    server.start()
    assert kind_of(server.report("stranger", None)) == "wrong-symbol"
    assert server.report("stranger", 1).status_code == 200


def test_a_preview_counts_what_protection_costs(previewer: ServerHarness) -> None:
    shown, clear = (
        Preview.from_bytes(previewer.operate("POST", "/preview?curves=no", one.to_bytes()).content)
        for one in (plan(), plan(**CLEAR))
    )
    assert shown.by_chance < shown.expected_coverage < clear.expected_coverage
    assert len(shown.hit_probability) == len(AREA)


# --- what participants can compare ------------------------------------------------------------------------------


def test_every_round_has_a_notice_that_the_server_signed(server: ServerHarness) -> None:
    server.start()
    terms = server.announcement().terms
    assert server.view().server_key == terms.server_key
    assert server.view().terms_hash == terms.hash
    assert terms.seed_hash == secret_digest(SEED)
    join_all(server, PLACES, GRADES)
    record = record_of(server)
    assert record.terms == terms
    assert [notice.round for notice in record.notices] == [0, 1]
    for notice, view in zip(record.notices, server.view().rounds, strict=True):
        notice.verify(terms.server_key)
        assert notice.policy_hash == view.policy_hash
    assert find_split(record.notices, terms.server_key) is None


def test_a_server_keeps_its_key_and_all_processes_share_it(url: str, store: Store) -> None:
    with ServerHarness(store) as server:
        server.start()
        first = server.announcement()
    with open_store(url) as again, ServerHarness(again) as server:
        assert server.announcement() == first
        assert server.operate("PUT", "/campaigns/tea", plan().to_bytes()).json()["server_key"] == first.terms.server_key


def test_a_seat_names_the_terms_and_a_random_number(server: ServerHarness) -> None:
    server.start()
    seats = [Seat.from_bytes(server.take_seat(f"device-{number}").content) for number in range(6)]
    assert {seat.terms_hash for seat in seats} == {server.announcement().terms.hash}
    assert len({seat.participant for seat in seats}) == 6
    assert max(seat.participant for seat in seats) > 2**40


def test_invites_name_what_a_link_needs(server: ServerHarness) -> None:
    server.start(plan(enrolment="invite"))
    server.start(plan(enrolment="invite", rounds=1), "once")
    for name in (NAME, "once"):
        answer = server.operate("POST", f"/campaigns/{name}/invites", b'{"protocol":1,"count":2}')
        invites, announced = Invites.from_bytes(answer.content), server.announcement(name)
        assert announced.notice is not None
        assert (invites.server_key, invites.terms_hash) == (announced.terms.server_key, announced.terms.hash)
        assert invites.policy_hash == (announced.notice.policy_hash if name == "once" else None)


# --- leaving ----------------------------------------------------------------------------------------------------


def test_whoever_leaves_before_the_close_is_forgotten(server: ServerHarness) -> None:
    server.start()
    assert server.report("me", 1).status_code == 200
    number = Seat.from_bytes(server.take_seat("me").content).participant
    answer = server.withdraw("me")
    assert Withdrawal.from_bytes(answer.content) == Withdrawal(protocol=1, campaign=NAME, participant=number)
    assert (server.view().rounds[0].seated, server.view().rounds[0].accepted) == (0, 0)
    assert kind_of(server.withdraw("me")) == "unknown-participant"
    assert kind_of(server.ask("GET", f"/v1/campaigns/{NAME}/status", authorization="Bearer me")) == (
        "unknown-participant"
    )
    assert server.change("closed").status_code == 200
    server.step()
    assert record_of(server).rows == ()


def test_whoever_leaves_after_the_close_is_told_what_stays(server: ServerHarness) -> None:
    server.start(plan(deadline_s=60))
    assert server.report("me", 1).status_code == 200
    server.step(120)
    answer = server.withdraw("me")
    assert kind_of(answer) == "round-closed"
    assert "what stays is a random number" in answer.json()["detail"]
    assert server.change("closed").status_code == 200
    server.step()
    assert len(record_of(server).rows) == 1


# --- what every default device would refuse ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epsilon_per_km": 20.0}, "could learn more about your place"),
        ({"area": cv.Grid.from_bounds(0, 0, 0.01, 0.01, cell_km=0.1).describe()}, "finer than your limit"),
        ({"null_epsilon": None, "grade_epsilon": None}, "asks openly"),
        ({"null_epsilon": 5.0}, "whether you are ever in this area"),
        ({"grade_epsilon": 5.0}, "how regularly"),
        ({"delta": 0.1}, "cannot tell from chance"),
        ({"lower_deltas": (1e-9,)}, "cannot tell from chance"),
        ({"area": square_town(3).describe()}, "too few to hide among"),
    ],
)
def test_a_campaign_that_every_default_device_would_refuse_is_refused_in_the_same_words(
    server: ServerHarness, changes: dict[str, Any], said: str
) -> None:
    refused = server.operate("PUT", f"/campaigns/{NAME}", plan(**changes).to_bytes())
    assert kind_of(refused) == "invalid"
    assert said in refused.json()["detail"]
    assert "beyond_default_limits" in refused.json()["detail"]
    assert server.operate("GET", "/campaigns").json()["campaigns"] == []
    allowed = plan(**changes, beyond_default_limits=True)
    assert server.operate("PUT", f"/campaigns/{NAME}", allowed.to_bytes()).status_code == 200
