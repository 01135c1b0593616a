"""The half-life, chosen on the training periods only."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.errors import InputError
from crowdveil.profile import HalfLifeScore, choose_half_life, recency
from tests.profile.people import counts_of, crowds

MOVED = [(0, 0, t) for t in (0, 0, 1, 1, 2, 2)] + [(0, 1, t) for t in (3, 3, 3, 4, 5)]
"""Somebody who went to cell 0 until period 2, and to cell 1 since."""


def test_a_short_half_life_wins_when_people_move() -> None:
    choice = choose_half_life(counts_of(MOVED), range(6), [1, inf], validation=2, delta=0.5)
    # Teaching on 0..3: h = 1 weighs 1/8, 1/4, 1/2, 1: λ of cell 0 is 1.75/1.875, of cell 1 3/1.875.
    # h = ∞: λ is 6/4 and 3/4. Above δ = 0.5, that is λ > ln 2 = 0.69, both hold both places.
    assert choice.scores == (HalfLifeScore(1, 2, 2, 0.5), HalfLifeScore(inf, 2, 2, 0.5))
    assert choice.half_life_periods == inf  # of equal ones the longest
    stricter = choose_half_life(counts_of(MOVED), range(6), [inf, 1], validation=2, delta=0.65)
    # λ > 1.05: h = 1 keeps cell 1 alone, visited in both later periods; h = ∞ keeps cell 0 alone, never visited.
    assert stricter.scores == (HalfLifeScore(1, 1, 2, 1.0), HalfLifeScore(inf, 1, 0, 0.0))
    assert stricter.half_life_periods == 1
    assert (stricter.teaching, stricter.validation) == (range(4), range(4, 6))


@settings(max_examples=50)
@given(crowds(), crowds())
def test_what_happens_after_the_training_periods_cannot_change_the_choice(
    rows: list[tuple[int, int, int]], later: list[tuple[int, int, int]]
) -> None:
    base = [*[row for row in rows if row[2] < 6], *MOVED]
    future = [(user, cell, 6 + period % 2) for user, cell, period in later]
    one, two = (choose_half_life(counts_of(r), range(6), validation=2, delta=0.3) for r in (base, base + future))
    assert one == two


@given(crowds(1), st.permutations([1.0, 2.0, 4.0, inf]))
def test_neither_the_order_of_candidates_nor_repeats_matter(
    rows: list[tuple[int, int, int]], candidates: list[float]
) -> None:
    counts = counts_of([*rows, *MOVED])
    expected = choose_half_life(counts, range(8), [1, 2, 4, inf], validation=3, delta=0.3)
    assert choose_half_life(counts, range(8), candidates * 2, validation=3, delta=0.3) == expected
    rates = [score.visit_rate for score in expected.scores if score.visit_rate is not None]
    assert max(rates) in [s.visit_rate for s in expected.scores if s.half_life_periods == expected.half_life_periods]


def test_a_candidate_without_frequent_places_has_no_rate_and_cannot_win() -> None:
    rows = [(0, 0, 3), (0, 0, 3), (0, 1, 5)]
    choice = choose_half_life(counts_of(rows), range(6), [1, inf], validation=2, delta=0.5)
    assert choice.scores == (HalfLifeScore(1, 1, 0, 0.0), HalfLifeScore(inf, 0, 0, None))
    assert choice.half_life_periods == 1


def test_scores_are_visit_rates_of_the_places_a_plain_loop_finds() -> None:
    counts = counts_of(MOVED)
    profile = recency(counts, range(4), 2)
    frequent = [(u, c) for u in range(3) for c, p in profile.of(u).items() if p > 0.5]
    visits = sum((u, c, t) in MOVED for u, c in frequent for t in (4, 5))
    (score,) = choose_half_life(counts, range(6), [2], validation=2, delta=0.5).scores
    assert (score.places, score.visited) == (len(frequent), visits)


def test_scores_tell_apart_more_people_than_cells() -> None:
    # Person 0 goes to cell 1; person 2 went to cell 0 and then, like person 4, to cell 1.
    rows = [(0, 1, t) for t in range(6)] + [(2, 0, t) for t in range(4)] + [(u, 1, t) for u in (2, 4) for t in (4, 5)]
    counts = counts_of(rows * 2, users=5, cells=2)
    (score,) = choose_half_life(counts, range(6), [2], validation=2, delta=0.5).scores
    assert score == HalfLifeScore(2, 2, 2, 0.5)


def test_periods_before_the_training_periods_cannot_change_the_choice() -> None:
    early = [(1, 2, t) for t in (0, 0, 1, 1)]
    shifted = [(user, cell, t + 2) for user, cell, t in MOVED]
    one, two = (
        choose_half_life(counts_of(rows), range(2, 8), [1, inf], validation=2, delta=0.65)
        for rows in (shifted, early + shifted)
    )
    assert one == two
    assert (one.half_life_periods, one.teaching, one.validation) == (1, range(2, 6), range(6, 8))
    assert one.scores == choose_half_life(counts_of(MOVED), range(6), [1, inf], validation=2, delta=0.65).scores


def test_five_periods_validate_unless_told_otherwise_and_one_is_enough() -> None:
    counts = counts_of([(0, 0, t) for t in range(8) for _ in range(3)])
    assert choose_half_life(counts, range(8)).validation == range(3, 8)
    assert choose_half_life(counts, range(8), validation=1).validation == range(7, 8)
    assert choose_half_life(counts, range(8), validation=7).teaching == range(1)
    assert [score.half_life_periods for score in choose_half_life(counts, range(8)).scores] == [1, 2, 4, 8, 16, 32, inf]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (MOVED, {"delta": 0.999}, "without a frequent place"),
        (MOVED[:6], {}, "contains no visit"),
        ([], {}, "contains no visit"),
        (MOVED, {"validation": 6}, "validation = 6"),
        (MOVED, {"validation": 0}, "validation = 0"),
        (MOVED, {"validation": 2.5}, "validation = 2.5"),
        (MOVED, {"delta": 1.0}, "delta = 1.0"),
        (MOVED, {"candidates": []}, "one or more half-lives"),
        (MOVED, {"candidates": [2, -1]}, "half_life_periods = -1"),
    ],
)
def test_where_nothing_can_be_chosen_the_reason_is_said(
    rows: list[tuple[int, int, int]], options: dict[str, object], message: str
) -> None:
    arguments = {"candidates": [1, 4], "validation": 2, "delta": 0.5} | options
    with pytest.raises(InputError, match=message):
        choose_half_life(counts_of(rows), range(6), **arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^train = range\(0, 9\)"):
        choose_half_life(counts_of(rows), range(9), [1], validation=2)
