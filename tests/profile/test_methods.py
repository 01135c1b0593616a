"""Frequency, Poisson and recency."""

from __future__ import annotations

from math import exp, inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.errors import InputError
from crowdveil.profile import frequency, poisson, recency
from tests.profile.people import counts_of, crowds

ALL = range(8)
Rows = list[tuple[int, int, int]]
BY_HAND: Rows = [(0, 1, 0), (0, 1, 0), (0, 1, 2), (0, 1, 3), (2, 3, 1)]
"""User 0 in cell 1: visits 2, 0, 1, 1 in the first four periods; user 2 in cell 3: one in period 1; user 1 nowhere."""


def test_frequency_is_the_share_of_periods_with_a_visit() -> None:
    profile = frequency(counts_of(BY_HAND), range(4))
    assert profile.of(0) == {1: 3 / 4}
    assert profile.of(2) == {3: 1 / 4}


def test_the_papers_example_five_days_of_seven() -> None:
    rows = [(0, 0, day) for day in (0, 1, 2, 4, 6)]
    assert frequency(counts_of(rows), range(7)).of(0) == {0: 5 / 7}


def test_poisson_turns_the_mean_number_of_visits_into_a_chance_of_any() -> None:
    profile = poisson(counts_of(BY_HAND), range(4))
    assert profile.of(0)[1] == pytest.approx(1 - exp(-1.0), rel=1e-15)
    assert profile.of(2)[3] == pytest.approx(1 - exp(-0.25), rel=1e-15)


def test_recency_halves_the_weight_of_a_visit_every_half_life() -> None:
    profile = recency(counts_of(BY_HAND), range(4), half_life_periods=1)
    # weights 1/8, 1/4, 1/2, 1 from the oldest to the latest period
    assert profile.of(0)[1] == pytest.approx(1 - exp(-(2 / 8 + 1 / 2 + 1) / (15 / 8)), rel=1e-15)
    assert profile.of(2)[3] == pytest.approx(1 - exp(-(1 / 4) / (15 / 8)), rel=1e-15)
    two = recency(counts_of(BY_HAND), range(4), half_life_periods=2)
    root = 2**-0.5
    assert two.of(2)[3] == pytest.approx(1 - exp(-(1 / 2) / (1 + root + 1 / 2 + root / 2)), rel=1e-14)


def test_training_periods_may_begin_later_than_the_first() -> None:
    profile = frequency(counts_of(BY_HAND), range(2, 4))
    assert (profile.of(0), profile.of(2)) == ({1: 1.0}, {})
    assert recency(counts_of(BY_HAND), range(2, 4), 1).of(0)[1] == pytest.approx(1 - exp(-1.0), rel=1e-15)


def test_a_user_without_visits_has_an_empty_profile() -> None:
    for profile in (frequency(counts_of(BY_HAND), ALL), poisson(counts_of([]), ALL), recency(counts_of([]), ALL, 4)):
        assert profile.of(1) == {}
        assert profile.at([1, 1], [0, 3]).tolist() == [0, 0]


def test_a_profile_says_how_it_was_made() -> None:
    profile = recency(counts_of(BY_HAND), range(4), half_life_periods=4)
    assert (profile.method, dict(profile.parameters), profile.train) == (
        "recency",
        {"half_life_periods": 4.0},
        range(4),
    )
    assert repr(profile) == "Profile(recency, half_life_periods = 4: 2 pairs of 3 users and 4 cells)"
    for make, name in ((poisson, "poisson"), (frequency, "frequency")):
        made = make(counts_of(BY_HAND), range(4))
        assert (made.method, dict(made.parameters), made.train) == (name, {}, range(4))


def test_any_pairs_can_be_looked_up_at_once() -> None:
    profile = frequency(counts_of(BY_HAND), range(4))
    assert profile.at(np.arange(3)[:, None], [1, 3]).tolist() == [[0.75, 0], [0, 0], [0, 0.25]]


@given(crowds(), st.floats(1e-300, 1e300) | st.just(inf))
def test_probabilities_lie_between_0_and_1_whatever_the_half_life(rows: Rows, half_life: float) -> None:
    counts = counts_of(rows * 50)
    for profile in (frequency(counts, ALL), poisson(counts, ALL), recency(counts, ALL, half_life)):
        assert ((profile.probability >= 0) & (profile.probability <= 1)).all()
        assert not profile.probability.flags.writeable


@given(crowds())
def test_recency_with_an_infinite_half_life_is_poisson_to_the_last_bit(rows: Rows) -> None:
    counts = counts_of(rows)
    assert np.array_equal(recency(counts, ALL, inf).probability, poisson(counts, ALL).probability)


@given(crowds())
def test_recency_with_a_very_short_half_life_sees_the_latest_period_only(rows: Rows) -> None:
    counts = counts_of(rows)
    latest, short = poisson(counts, range(7, 8)), recency(counts, ALL, 1e-4)
    assert short.at(short.user, short.cell).tolist() == latest.at(short.user, short.cell).tolist()


@given(crowds(1), st.data())
def test_one_more_visit_never_lowers_a_probability(rows: Rows, data: st.DataObject) -> None:
    more = [*rows, data.draw(st.sampled_from(rows)), data.draw(crowds(1))[0]]
    user, cell = np.divmod(np.arange(12), 4)
    for make in (frequency, poisson, lambda counts, train: recency(counts, train, 3.0)):
        fewer, later = (make(counts_of(r), ALL).at(user, cell) for r in (rows, more))
        assert (later >= fewer).all()


@given(crowds())
def test_methods_are_those_of_a_plain_loop(rows: Rows) -> None:
    counts, train = counts_of(rows), range(1, 7)
    weight = {period: 2 ** (-(6 - period) / 2.5) for period in train}
    for user in range(3):
        for cell in range(4):
            found = [period for u, c, period in rows if (u, c) == (user, cell) and period in train]
            rate = sum(weight[period] for period in found) / sum(weight.values())
            assert frequency(counts, train).at([user], [cell])[0] == len(set(found)) / 6
            assert poisson(counts, train).at([user], [cell])[0] == pytest.approx(1 - exp(-len(found) / 6), abs=1e-15)
            assert recency(counts, train, 2.5).at([user], [cell])[0] == pytest.approx(1 - exp(-rate), abs=1e-14)


def test_small_rates_keep_their_digits() -> None:
    profile = recency(counts_of([(0, 0, 0)]), range(8), half_life_periods=0.1)
    assert profile.of(0)[0] == pytest.approx(2.0**-70 / (1 / (1 - 2.0**-10)), rel=1e-12, abs=0)


def test_a_half_life_too_short_for_a_double_sees_the_latest_period_without_a_warning() -> None:
    counts = counts_of([(0, 0, 0), (0, 0, 7), (1, 0, 6)])
    with np.errstate(over="raise"):
        profile = recency(counts, ALL, 5e-324)
    assert profile.of(0)[0] == pytest.approx(1 - exp(-1), rel=1e-15)
    assert profile.of(1)[0] == 0


@pytest.mark.parametrize("half_life", [0, -1, nan, -inf, "four", None])
def test_a_half_life_is_a_number_above_0(half_life: float) -> None:
    with pytest.raises(InputError, match="half_life_periods"):
        recency(counts_of(BY_HAND), ALL, half_life)


@pytest.mark.parametrize("train", [range(0), range(9), range(-1, 3), range(0, 8, 2)])
def test_training_periods_have_to_be_periods(train: range) -> None:
    with pytest.raises(InputError, match="range"):
        poisson(counts_of(BY_HAND), train)
