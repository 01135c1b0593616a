"""Measure whether a profile means what it says: where it says 0.6, do 6 of 10 come?

Every pair of user and cell with a training visit is a prediction for each test period. Predictions are sorted into
tenths by what they say, and in each tenth the mean of what was said is compared with the share that came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from crowdveil.arrays import IntArray
from crowdveil.errors import InputError
from crowdveil.profile.counts import Counts
from crowdveil.profile.profile import Profile

TENTHS = 10
MIN_PREDICTIONS = 100
"""In a tenth with fewer predictions, chance alone moves the share by 0.05 and more."""


class CalibrationTenth(NamedTuple):
    """The predictions from one tenth of the probabilities."""

    low: float
    """The tenth begins here, and ends 0.1 later."""
    predictions: int
    said: float
    """The mean probability."""
    came: float
    """The share of predictions with a visit."""

    @property
    def error(self) -> float:
        """How far what came is from what was said."""
        return abs(self.came - self.said)


def calibration(profile: Profile, counts: Counts, test: range) -> list[CalibrationTenth]:
    """Compare a profile with what happened in test periods, tenth by tenth; tenths without predictions are left out."""
    counts.periods.check("test", test)
    if test.start < profile.train.stop:
        raise InputError("test", test, f"should start after the training periods, {profile.train}")
    visited, tenth = periods_visited(profile, counts, test), tenths_of(profile)
    pairs = np.bincount(tenth)
    said = np.bincount(tenth, profile.probability)
    came = np.bincount(tenth, visited)
    return [
        CalibrationTenth(
            number / TENTHS,
            int(pairs[number]) * len(test),
            float(said[number] / pairs[number]),
            float(came[number] / (pairs[number] * len(test))),
        )
        for number in np.flatnonzero(pairs).tolist()
    ]


def next_period_calibration(make: Callable[[range], Profile], counts: Counts, test: range) -> list[CalibrationTenth]:
    """Compare each test period with the profile made from all periods before it, and add up the predictions.

    A profile predicts the next period. Several periods later fewer people come, whatever the method.
    """
    counts.periods.check("test", test)
    found: dict[float, list[CalibrationTenth]] = {}
    for period in test:
        for one in calibration(make(range(period)), counts, range(period, period + 1)):
            found.setdefault(one.low, []).append(one)
    return [_together(found[low]) for low in sorted(found)]


def _together(parts: list[CalibrationTenth]) -> CalibrationTenth:
    total = sum(one.predictions for one in parts)
    said = sum(one.predictions * one.said for one in parts) / total
    came = sum(one.predictions * one.came for one in parts) / total
    return CalibrationTenth(parts[0].low, total, said, came)


def periods_visited(profile: Profile, counts: Counts, test: range) -> IntArray:
    """Count, for each pair of the profile, the test periods with a visit."""
    happened = counts.pairs(test)
    visited = np.zeros(len(profile), dtype=np.int64)
    key, later = profile.user * counts.cells + profile.cell, happened.user * counts.cells + happened.cell
    _, mine, theirs = np.intersect1d(key, later, assume_unique=True, return_indices=True)
    visited[mine] = happened.periods[theirs]
    return visited


def tenths_of(profile: Profile) -> IntArray:
    """Return the tenth, from 0 to 9, that the probability of each pair lies in."""
    return np.minimum((profile.probability * TENTHS).astype(np.int64), TENTHS - 1)


def largest_error(tenths: list[CalibrationTenth], at_least: int = MIN_PREDICTIONS) -> float | None:
    """Return the largest error of the tenths with enough predictions; None where there are none."""
    return max((one.error for one in tenths if one.predictions >= at_least), default=None)
