"""Predict next week's visits of pairs of user and cell, on two data sets of the same city: MATH 16's tables.

Constants are fitted on training weeks alone, on the same data or on the other. AUC is that of the first test week; the
best 5, 10 and 20 people of each of the 20 densest cells are chosen by the profile of the training weeks, and counted
over all test weeks; calibration predicts each test week from all weeks before it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from crowdveil.area import Grid
from crowdveil.profile import (
    Counts,
    LogisticConstants,
    Periods,
    Profile,
    count_visits,
    fit_logistic,
    logistic,
    poisson,
    recency,
    roc,
    shipped_constants,
)
from crowdveil.profile.calibration import largest_error, next_period_calibration
from crowdveil.profile.counts import Pairs
from crowdveil.traces import read_foursquare, read_snap

DATA = Path(__file__).parents[3] / "shared" / "data"
AREA = Grid.from_bounds(40.65, -74.03, 40.82, -73.90, cell_km=1.0)

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (DATA / "gowalla_new_york.txt.gz").exists(), reason="the check-ins are not in shared/data"),
    pytest.mark.xdist_group("new-york"),
]


class Found(NamedTuple):
    """How well a profile predicts."""

    auc: float
    best: tuple[float, float, float]
    calibration: float


@cache
def people(name: str) -> tuple[Counts, int]:
    """Return the counts, and how many weeks to learn from."""
    if name == "foursquare":
        return count_visits(
            read_foursquare(DATA / "dataset_TSMC2014_NYC.txt.xz"), AREA, Periods(date(2012, 4, 3), 45)
        ), 40
    visits = read_snap(DATA / "gowalla_new_york.txt.gz", zone="America/New_York")
    return count_visits(visits, AREA, Periods(date(2010, 5, 1), 22)), 18


def measured(name: str, make: Callable[[Counts, range], Profile]) -> Found:
    counts, weeks = people(name)
    train, test = range(weeks), range(weeks, len(counts.periods))
    profile = make(counts, train)
    visits: Pairs = counts.pairs(train)
    busiest = np.argsort(-np.bincount(visits.cell, visits.visits, minlength=counts.cells), kind="stable")[:20]
    best = []
    for many in (5, 10, 20):
        shares = []
        for cell in busiest.tolist():
            rows = np.flatnonzero(profile.cell == cell)
            chosen = profile.user[rows[np.argsort(-profile.probability[rows], kind="stable")[:many]]]
            shares.append(counts.periods_at([cell], test)[chosen].sum() / (many * len(test)))
        best.append(float(np.mean(shares)))
    tenths = next_period_calibration(lambda part: make(counts, part), counts, test)
    error = largest_error(tenths)
    assert error is not None
    found = Found(roc(profile, counts, range(weeks, weeks + 1), "trained").auc, (best[0], best[1], best[2]), error)
    print(f"{name}: {profile.method}: AUC {found.auc:.4f}, best {best}, calibration {error:.3f}")  # noqa: T201
    return found


def by(constants: LogisticConstants) -> Callable[[Counts, range], Profile]:
    return lambda counts, part: logistic(counts, part, constants)


def fitted_on(name: str) -> LogisticConstants:
    counts, weeks = people(name)
    return fit_logistic(counts, range(weeks))


@pytest.mark.parametrize(
    ("name", "auc", "best"),
    [("foursquare", 0.868, (0.71, 0.62, 0.51)), ("gowalla", 0.875, (0.58, 0.46, 0.34))],
)
def test_constants_fitted_on_the_same_training_weeks(name: str, auc: float, best: tuple[float, ...]) -> None:
    found = measured(name, by(fitted_on(name)))
    assert found.auc >= auc
    assert all(mine >= least for mine, least in zip(found.best, best, strict=True))
    assert found.calibration < 0.05


def test_the_shipped_constants_are_those_of_gowalla_and_carry_over_to_foursquare() -> None:
    shipped = shipped_constants("week")
    assert fitted_on("gowalla").values == pytest.approx(shipped.values, abs=5e-4)
    found = measured("foursquare", by(shipped))
    assert found.auc >= 0.86
    assert all(mine >= least for mine, least in zip(found.best, (0.71, 0.62, 0.50), strict=True))
    assert found.calibration < 0.10


@pytest.mark.parametrize("name", ["foursquare", "gowalla"])
def test_the_shipped_constants_are_never_worse_than_recency_or_poisson(name: str) -> None:
    ours = measured(name, by(shipped_constants("week")))
    for other in (measured(name, lambda counts, part: recency(counts, part, 4)), measured(name, poisson)):
        assert ours.auc > other.auc
        assert all(mine >= theirs for mine, theirs in zip(ours.best, other.best, strict=True))
        assert ours.calibration < other.calibration
