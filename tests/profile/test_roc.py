"""ROC curves and AUC."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from crowdveil.errors import InputError
from crowdveil.profile import Counts, Profile, frequency, poisson, roc
from tests.profile.people import counts_of, crowds

Rows = list[tuple[int, int, int]]
Scored = Literal["all", "trained"]


def profile_of(probabilities: dict[tuple[int, int], float], users: int = 3, cells: int = 4) -> Profile:
    pairs = sorted(probabilities)
    user, cell = (np.array([pair[k] for pair in pairs], dtype=np.int64) for k in (0, 1))
    return Profile(users, cells, user, cell, np.array([probabilities[pair] for pair in pairs]))


def slow_auc(profile: Profile, counts: Counts, test: range, pairs: Scored) -> float | None:
    """Every positive against every negative."""
    happened = set(zip(counts.user.tolist(), counts.cell.tolist(), counts.period.tolist(), strict=True))
    high: list[float] = []
    low: list[float] = []
    for user, cell, period in product(range(counts.users), range(counts.cells), test):
        kept = profile.of(user)
        if pairs == "trained" and cell not in kept:
            continue
        (high if (user, cell, period) in happened else low).append(kept.get(cell, 0.0))
    if not high or not low:
        return None
    return sum(1.0 if h > n else 0.5 if h == n else 0.0 for h in high for n in low) / (len(high) * len(low))


def test_a_curve_by_hand() -> None:
    profile = profile_of({(0, 0): 0.9, (0, 1): 0.5, (1, 0): 0.5}, users=2, cells=2)
    counts = counts_of([(0, 0, 6), (1, 0, 6), (1, 1, 6)], users=2, cells=2)
    curve = roc(profile, counts, range(6, 7))
    # score 0.9: one positive; 0.5: one positive, one negative; 0 (not in the profile): one positive
    assert curve.threshold.tolist() == [np.inf, 0.9, 0.5, 0.0]
    assert curve.true_positive_rate.tolist() == [0, 1 / 3, 2 / 3, 1]
    assert curve.false_positive_rate.tolist() == [0, 0, 1, 1]
    assert (curve.positives, curve.negatives) == (3, 1)
    assert curve.auc == (1 + 0.5 + 0) / 3
    assert repr(curve) == "Roc(given, all pairs: AUC 0.5000, 3 of 4 scored are visited)"
    trained = roc(profile, counts, range(6, 7), "trained")
    assert (trained.positives, trained.negatives, trained.auc) == (2, 1, 0.75)
    assert trained.threshold.tolist() == [np.inf, 0.9, 0.5]


def test_each_test_period_is_a_trial_of_its_own() -> None:
    profile = profile_of({(0, 0): 0.9}, users=1, cells=2)
    curve = roc(profile, counts_of([(0, 0, 6), (0, 0, 6)], users=1, cells=2), range(6, 8))
    assert (curve.positives, curve.negatives) == (1, 3)
    assert curve.auc == (2 * 1 + 1 * 0.5) / 3


def test_a_perfect_profile_has_area_1_an_inverted_one_0_and_a_constant_one_a_half() -> None:
    counts = counts_of([(0, 0, 7), (1, 1, 7)], users=2, cells=2)
    test = range(7, 8)
    assert roc(profile_of({(0, 0): 0.9, (1, 1): 0.8}, 2, 2), counts, test).auc == 1.0
    assert roc(profile_of({(0, 1): 0.9, (1, 0): 0.8}, 2, 2), counts, test).auc == 0.0
    assert roc(profile_of(dict.fromkeys(product(range(2), range(2)), 0.3), 2, 2), counts, test).auc == 0.5
    assert roc(profile_of({}, 2, 2), counts, test).auc == 0.5


@given(crowds(), st.sampled_from(["all", "trained"]), st.booleans())
def test_the_area_is_that_of_comparing_every_positive_with_every_negative(
    rows: Rows, pairs: Scored, by_frequency: bool
) -> None:
    counts, test = counts_of(rows), range(5, 8)
    profile = (frequency if by_frequency else poisson)(counts, range(5))
    expected = slow_auc(profile, counts, test, pairs)
    if expected is None:
        with pytest.raises(InputError, match="should contain both"):
            roc(profile, counts, test, pairs)
        return
    curve = roc(profile, counts, test, pairs)
    assert curve.auc == pytest.approx(expected, abs=1e-15)
    drawn = np.trapezoid(curve.true_positive_rate, curve.false_positive_rate)
    assert drawn == pytest.approx(curve.auc, abs=1e-12)
    for rate in (curve.true_positive_rate, curve.false_positive_rate):
        assert (np.diff(rate) >= 0).all()
        assert (rate[0], rate[-1]) == (0, 1)
    assert (np.diff(curve.threshold) < 0).all()


@given(crowds(1))
def test_only_the_order_of_probabilities_matters(rows: Rows) -> None:
    counts, test = counts_of(rows), range(5, 8)
    assume(any(period >= 5 for _, _, period in rows))
    profile = frequency(counts, range(5))
    squared = Profile(3, 4, profile.user, profile.cell, profile.probability**2 / 2, train=profile.train)
    assert roc(squared, counts, test).auc == roc(profile, counts, test).auc


def test_test_periods_without_data_are_refused_not_nan() -> None:
    counts = counts_of([(0, 0, 1)])
    with pytest.raises(InputError, match=r"0 of 24 scored are visited.*is there data in these periods"):
        roc(poisson(counts, range(4)), counts, range(4, 6))
    with pytest.raises(InputError, match="0 of 0"):
        roc(profile_of({}), counts_of([]), range(4, 6), "trained")


def test_periods_that_were_learnt_from_cannot_be_tested_on() -> None:
    counts = counts_of([(0, 0, 1), (0, 0, 5)])
    with pytest.raises(InputError, match="after the training periods"):
        roc(poisson(counts, range(5)), counts, range(4, 6))
    with pytest.raises(InputError, match=r"^test = range\(5, 9\)"):
        roc(poisson(counts, range(5)), counts, range(5, 9))


def test_a_profile_of_other_users_or_cells_is_refused() -> None:
    with pytest.raises(InputError, match="the 3 users and 4 cells"):
        roc(profile_of({(0, 0): 0.5}, users=2), counts_of([(0, 0, 5)]), range(5, 6))
    with pytest.raises(InputError, match="pairs = 'some'"):
        roc(profile_of({(0, 0): 0.5}), counts_of([(0, 0, 5)]), range(5, 6), "some")  # type: ignore[arg-type]
