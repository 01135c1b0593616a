"""Verdicts by intervals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdveil.errors import InputError
from crowdveil.paper.verdicts import MIN_VALUES, Interval, difference, of_values, ratio_values, throughout
from crowdveil.plots.report import FAILS, HOLDS, UNDECIDED
from crowdveil.simulate.records import Record, interval
from tests.plots.made_up import record


def with_values(*values: float) -> Record:
    mean, low, high = interval(values)
    return replace(record(value=mean), ci_low=low, ci_high=high, n=len(values), extra={"values": list(values)})


def test_a_claim_is_decided_only_where_the_whole_interval_lies_on_one_side() -> None:
    assert Interval(0.3, 0.1, 0.5, 9).above(0.0) == HOLDS
    assert Interval(0.3, 0.1, 0.5, 9).above(0.6) == FAILS
    assert Interval(0.3, 0.1, 0.5, 9).above(0.2) == UNDECIDED
    assert Interval(0.3, 0.1, 0.5, 9).at_most(0.0) == FAILS
    assert Interval(0.3, 0.1, 0.5, 9).at_most(0.6) == HOLDS
    assert Interval(0.3, 0.1, 0.5, 9).at_most(0.2) == UNDECIDED
    assert Interval(0.3, 0.1, 0.5, 9).within(0.3, 0.25) == HOLDS
    assert Interval(0.3, 0.1, 0.5, 9).within(0.9, 0.1) == FAILS
    assert Interval(0.3, 0.1, 0.5, 9).within(0.3, 0.1) == UNDECIDED


@pytest.mark.parametrize("n", range(1, MIN_VALUES))
def test_very_few_seeds_decide_nothing_even_where_they_agree(n: int) -> None:
    same = of_values([0.4] * n)
    assert [same.low, same.high] == pytest.approx([0.4, 0.4])
    assert [same.above(0.0), same.at_most(0.0), same.within(0.4, 0.1)] == [UNDECIDED] * 3


def test_what_never_differs_is_not_above() -> None:
    one = with_values(0.1, 0.5, 0.3, 0.2, 0.6)
    assert difference(one, one).above(0.0) == FAILS


def test_pairs_decide_what_two_separate_intervals_would_not() -> None:
    """Seeds differ far more than methods do; within each seed one method is always a little better."""
    base = np.linspace(0.1, 0.9, 9)
    ours, theirs = with_values(*(base + 0.03 + 0.01 * np.sin(base))), with_values(*base)
    assert ours.ci_low < theirs.ci_high
    assert difference(ours, theirs).above(0.0) == HOLDS
    assert difference(theirs, ours).above(0.0) == FAILS
    shuffled = with_values(*base[[4, 0, 7, 2, 8, 1, 6, 3, 5]])
    assert difference(ours, shuffled).above(0.0) == UNDECIDED


def test_a_multiple_is_compared_value_by_value() -> None:
    theirs = with_values(0.1, 0.2, 0.3, 0.2, 0.1, 0.3)
    ours = with_values(*(2 * value + 0.001 * n for n, value in enumerate((0.1, 0.2, 0.3, 0.2, 0.1, 0.3))))
    assert difference(ours, theirs, 1.6).above(0.0) == HOLDS
    assert difference(ours, theirs, 2.4).above(0.0) == FAILS


def test_values_of_different_seeds_are_not_paired() -> None:
    with pytest.raises(InputError, match="compared in pairs"):
        difference(with_values(0.1, 0.2), with_values(0.1, 0.2, 0.3))


def test_the_spread_of_a_ratio_is_that_of_repeated_experiments() -> None:
    """The standard error from one experiment agrees with the spread of the ratio over two thousand of them."""
    generator = np.random.default_rng(1)
    means, errors = [], []
    for _ in range(2_000):
        base = generator.normal(1.0, 0.2, 50)
        ours, theirs = with_values(*(2 * base + generator.normal(0, 0.3, 50))), with_values(*base)
        values = ratio_values(ours, theirs)
        assert values.mean() == pytest.approx(ours.value / theirs.value)
        means.append(values.mean())
        errors.append(values.std(ddof=1) / np.sqrt(50))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.08)


def test_one_setting_that_fails_decides_and_one_that_is_open_leaves_it_open() -> None:
    assert throughout([HOLDS, HOLDS]) == HOLDS
    assert throughout([HOLDS, UNDECIDED]) == UNDECIDED
    assert throughout([HOLDS, UNDECIDED, FAILS]) == FAILS
