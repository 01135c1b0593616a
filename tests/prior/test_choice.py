"""How smoothing is chosen: another candidate only where held-out reports clearly favour it."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.prior import pooled


def chosen(gain: list[float]) -> float:
    """The choice between candidate 0 and candidate 1, whose held-out reports gain this much."""
    scores = {0.0: np.zeros(len(gain)), 1.0: np.array(gain)}
    return pooled._best([0.0, 1.0], scores.__getitem__, np.ones((1, len(gain))))


def test_another_candidate_has_to_gain_two_standard_errors() -> None:
    """Half of 100 reports gain 1 more than the mean, half 1 less: the standard error of the sum is 10."""
    for total, better in ((19.9, 0.0), (20.1, 1.0), (22.1, 1.0), (0.0, 0.0), (-30.0, 0.0)):
        mean = total / 100
        assert chosen([mean + 1, mean - 1] * 50) == better
    assert pooled.MIN_STANDARD_ERRORS == 2.0


def test_the_usual_smoothing_is_tried_first_and_no_other_than_these() -> None:
    assert pooled.BANDWIDTHS == (0.75, 0.0, 1.5)
    assert pooled.STRENGTHS == (10.0, 40.0)
    assert (pooled.FOLDS, pooled.MANY_REPORTS) == (5, 20_000)


def test_every_report_is_held_out_once_or_only_a_fifth_where_there_are_many() -> None:
    few = np.array([7, 0, 13])
    assert pooled._folds(few).sum(axis=0).tolist() == few.tolist()
    assert pooled._folds(np.array([20_000])).shape == (5, 1)
    many = pooled._folds(np.array([20_001]))
    assert many.shape == (1, 1)
    assert many.sum() == pytest.approx(4000, abs=300)
