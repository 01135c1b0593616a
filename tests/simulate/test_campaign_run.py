"""A whole private campaign in one line, and the same by hand."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest

import crowdveil as cv
from tests.town import live, people_around, square_town

TOWN = square_town(6)
PLACES = live(people_around(TOWN, 2), 400, np.random.default_rng(3))
PLACES[::7] = cv.NULL
GRADES = np.random.default_rng(4).integers(0, 2, 400)
PLAN = cv.Plan(TOWN, (8,), log(4), users=400, wanted=20, rounds=3)


def test_one_line_runs_every_round_and_selects() -> None:
    result = cv.run_campaign(PLAN, PLACES, seed=1)
    assert result.state.finished
    assert len(result.reports) == 400  # also who is outside sends a symbol
    assert len(result.selection) == 20
    at_target = int((PLACES[result.selection.participants] == 8).sum())
    assert result.at_target == at_target
    by_chance = 20 * float((PLACES == 8).mean())
    assert at_target > by_chance
    assert f"20 selected of {len(result.reports)} reports, {at_target} of them at a target" in repr(result)


def test_the_loop_by_hand_gives_the_same_people() -> None:
    generator = np.random.default_rng(1)
    order = generator.permutation(PLAN.users)
    state = cv.begin(PLAN)
    who, rounds, sent = [], [], []
    for number, group in enumerate(np.split(order, np.cumsum(PLAN.round_users())[:-1])):
        policy = cv.next_policy(state)
        state = cv.advance(state, cv.RoundOpened(policy))
        symbols = cv.draw_many(policy, PLACES[group], cv.certify(policy), generator, GRADES[group])
        who.append(group)
        rounds.append(np.full(len(group), number))
        sent.append(symbols)
        state = cv.advance(state, cv.RoundClosed(cv.count_symbols(policy, symbols)))
    reports = cv.Reports(np.concatenate(who), np.concatenate(rounds), np.concatenate(sent))
    by_hand = cv.select(state, reports)
    in_one_line = cv.run_campaign(PLAN, PLACES, grades=GRADES, seed=1)
    assert by_hand.participants.tolist() == in_one_line.selection.participants.tolist()


def test_in_the_clear_form_who_is_outside_sends_no_symbol() -> None:
    plan = replace(PLAN, null_epsilon=None, grade_epsilon=None)
    result = cv.run_campaign(plan, PLACES, seed=1)
    assert len(result.reports) == int((PLACES != cv.NULL).sum())


@pytest.mark.parametrize(("grades", "said"), [([0, 1], "one entry for each of 400"), (np.full(400, 3), "grades")])
def test_grades_are_checked(grades: object, said: str) -> None:
    with pytest.raises(cv.InputError, match=said):
        cv.run_campaign(PLAN, PLACES, grades=grades)  # type: ignore[arg-type]


def test_a_seed_decides_everything_and_without_one_runs_differ() -> None:
    one, two = (cv.run_campaign(PLAN, PLACES, seed=5).reports for _ in range(2))
    assert one.symbol.tolist() == two.symbol.tolist()
    fresh = cv.run_campaign(PLAN, PLACES).reports
    assert fresh.participant.tolist() != cv.run_campaign(PLAN, PLACES).reports.participant.tolist()


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_frame_has_a_row_for_each_report_and_marks_the_selected(backend: str) -> None:
    result = cv.run_campaign(PLAN, PLACES, seed=1)
    frame = result.to_frame(backend)  # type: ignore[arg-type]
    columns = frame.to_pydict() if backend == "pyarrow" else {name: frame[name].to_list() for name in frame.columns}
    assert list(columns) == ["participant", "round", "symbol", "selected", "target", "chance"]
    assert sum(columns["selected"]) == 20
    chosen = {who for who, selected in zip(columns["participant"], columns["selected"], strict=True) if selected}
    assert chosen == set(result.selection.participants.tolist())
    assert "hit" in columns["symbol"]


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (PLACES[:-1], "should be as many as the plan's users, 400"),
        (np.full(400, 36), "places = 36: should be a cell from 0 to 35, or -1"),
        (np.full(400, -2), "places = -2: should be a cell"),
        (np.zeros(400), "should be one whole number for each user"),
        ([["a"]], "should be"),
    ],
)
def test_places_are_checked(places: object, said: str) -> None:
    with pytest.raises(cv.InputError, match=said):
        cv.run_campaign(PLAN, places, seed=1)  # type: ignore[arg-type]


def test_with_a_number_for_each_target_everyone_selected_has_one_of_them() -> None:
    plan = cv.Plan(TOWN, (7, 3), PLAN.epsilon_per_km, users=PLAN.users, numbers=(9, 4), rounds=2)
    result = cv.run_campaign(plan, PLACES, grades=GRADES, seed=1)
    assert [len(result.selection.at_target(target)) for target in (0, 1)] == [9, 4]
    assert result.selection.missing == (0, 0)
    columns = result.to_frame("pyarrow").to_pydict()
    assert sorted(cell for cell in columns["target"] if cell is not None) == [3] * 4 + [7] * 9
