"""Measure how near the pooled estimate comes to the truth as reports arrive, beside the paper's and qif's estimates.

Twelve distributions of people over a town of 12 x 12 km, six numbers of reports, six rounds of a campaign in the
protected form, some seeds. `python -m tests.prior.more_reports [DISTRIBUTION ...]` prints the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from math import log
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.prior import START_NULL_SHARE, Round, divergence, round_update_with_null
from crowdveil.vocabulary import Algorithm
from tests.reference.iterative_bayesian_update import iterative_bayesian_update
from tests.town import people_around, square_town
from tests.traces.files import SHARED

SIDE, ROUNDS = 12, 6
SIZES = (50, 500, 5_000, 50_000, 500_000, 5_000_000)
SEEDS = range(3)
REGULAR, OUTSIDE = 0.3, 0.2
"""Share of regular visitors among those inside, and of people outside."""


def _shares(weights: Any) -> FloatArray:
    return np.asarray(weights / weights.sum())


def _rough(deviation: float) -> FloatArray:
    return _shares(np.exp(deviation * np.random.default_rng(0).standard_normal(SIDE**2)))


def _line() -> FloatArray:
    row, column = np.divmod(np.arange(SIDE**2), SIDE)
    return _shares(0.02 + (row == column))


def _visits(name: str, zone: str | None = None) -> FloatArray | None:
    """Shares of check-ins in 12 x 12 km of New York; None if the data set is not there."""
    path = SHARED / name
    if not path.exists():
        return None
    visits = cv.read_traces(path, zone=zone)
    cells = cv.Grid.from_bounds(40.68, -74.03, 40.7875, -73.889, cell_km=1.0).locate(visits.latitude, visits.longitude)
    return _shares(np.bincount(cells[cells >= 0], minlength=SIDE**2)[: SIDE**2].astype(float))


DISTRIBUTIONS: dict[str, Callable[[], FloatArray | None]] = {
    "uniform": lambda: np.full(SIDE**2, 1 / SIDE**2),
    "bumps of 1 km": lambda: people_around(square_town(SIDE), 3, centres=4, width_km=1.0),
    "bumps of 2 km": lambda: people_around(square_town(SIDE), 3, centres=4, width_km=2.0),
    "bumps of 4 km": lambda: people_around(square_town(SIDE), 3, centres=4, width_km=4.0),
    "rough 0.5": lambda: _rough(0.5),
    "rough 1": lambda: _rough(1.0),
    "rough 2": lambda: _rough(2.0),
    "spikes": lambda: _shares(0.002 + (np.random.default_rng(1).random(SIDE**2) < 0.05)),
    "line": _line,
    "step": lambda: _shares(np.where(np.arange(SIDE**2) % SIDE < SIDE // 2, 1.0, 0.1)),
    "New York": lambda: _visits("dataset_TSMC2014_NYC.txt.xz"),
    "Gowalla": lambda: _visits("gowalla_new_york.txt.gz", zone="America/New_York"),
}


@cache
def distribution(name: str) -> FloatArray | None:
    return DISTRIBUTIONS[name]()


class Measured(NamedTuple):
    """KL divergences of the truth from estimates, in nats, one row for each seed."""

    ours: FloatArray
    """After each round; shape (seeds, rounds)."""
    update: FloatArray
    """The paper's update, from the same rounds; shape (seeds,), as those below."""
    algorithm2: FloatArray
    """The paper's update, in a campaign of Algorithm 2."""
    bayesian: FloatArray
    """The iterative Bayesian update, from the same rounds."""

    @property
    def rise(self) -> float:
        """The largest rise from any round to a later one, beyond two standard errors; 0 if there is none."""
        pairs = [(early, late) for late in range(ROUNDS) for early in range(late)]
        return max(_beyond_noise(self.ours[:, late] - self.ours[:, early]) for early, late in pairs)

    def behind(self, other: FloatArray) -> float:
        """By how much, beyond two standard errors, the other's last estimate is nearer; 0 if it is not."""
        return _beyond_noise(self.ours[:, -1] - other)


def _beyond_noise(more: FloatArray) -> float:
    return max(0.0, float(more.mean() - 2 * more.std(ddof=1) / np.sqrt(len(more))))


def measure(true: FloatArray, reports: int, seeds: Sequence[int] = SEEDS) -> Measured:
    rows = [_one(true, reports, seed) for seed in seeds]
    ours, update, algorithm2, bayesian = (np.array(column) for column in zip(*rows, strict=True))
    return Measured(ours, update, algorithm2, bayesian)


def _one(true: FloatArray, reports: int, seed: int) -> tuple[list[float], float, float, float]:
    closed, ours = _campaign(true, reports, seed, "crowdveil")
    prior, null_share = np.full((2, len(true)), 0.5 / len(true)), START_NULL_SHARE
    start = closed[0].policy.input_prior(prior, null_share)
    for one in closed:
        prior, null_share = round_update_with_null(prior, null_share, one)
    with threadpool_limits(1, user_api="blas"):
        bayesian = iterative_bayesian_update(closed, start)[:-1].reshape(2, -1).sum(axis=0)
    _, printed = _campaign(true, reports, seed, "algorithm-2")
    return ours, divergence(true, prior.sum(axis=0)), printed[-1], divergence(true, _shares(bayesian))


def _campaign(true: FloatArray, reports: int, seed: int, algorithm: Algorithm) -> tuple[list[Round], list[float]]:
    """Return the rounds, and the divergence of the cells' estimate after each."""
    generator = np.random.default_rng([seed, reports])
    inputs = np.concatenate([(1 - OUTSIDE) * REGULAR * true, (1 - OUTSIDE) * (1 - REGULAR) * true, [OUTSIDE]])
    target = int(np.argsort(-true, kind="stable")[5])
    wanted = max(1, reports // 20)
    plan = cv.Plan(
        square_town(SIDE),
        (target,),
        log(4),
        reports,
        wanted,
        ROUNDS,
        algorithm=algorithm,
        grade_epsilon=log(64),
        grade_chances=(1.0, 0.0),
    )
    state = cv.begin(plan)
    found: list[float] = []
    for number in range(ROUNDS):
        policy = cv.next_policy(state)
        chances = inputs @ policy.table()
        here = reports // ROUNDS + (number < reports % ROUNDS)
        counts = generator.multinomial(here, chances / chances.sum())
        state = cv.advance(cv.advance(state, cv.RoundOpened(policy)), cv.RoundClosed(Round(policy, counts)))
        found.append(divergence(true, state.cell_prior))
    return list(state.closed), found


HEADING = (
    f"{'distribution':14} {'reports':>9} {'start':>6}  {'ours, round by round':41}  "
    f"{'update':>6} {'alg. 2':>6} {'qif':>6}  rise  behind"
)


def row(name: str, reports: int, true: FloatArray, found: Measured) -> str:
    start = divergence(true, np.full(len(true), 1 / len(true)))
    others = (found.update, found.algorithm2, found.bayesian)
    rounds = " ".join(f"{kl:6.3f}" for kl in found.ours.mean(axis=0))
    finals = " ".join(f"{other.mean():6.3f}" for other in others)
    behind = " ".join(f"{found.behind(other):.3f}" for other in others)
    return f"{name:14} {reports:9,} {start:6.3f}  {rounds}  {finals}  {found.rise:.3f}  {behind}"


if __name__ == "__main__":
    sys.stdout.write(HEADING + "\n")
    for name in sys.argv[1:] or DISTRIBUTIONS:
        true = distribution(name)
        if true is None:
            sys.stdout.write(f"{name}: the data set is not in {SHARED}\n")
            continue
        for reports in SIZES:
            sys.stdout.write(row(name, reports, true, measure(true, reports)) + "\n")
            sys.stdout.flush()
