"""Make the instances that are measured: square cities of 1 km cells with uneven, seeded priors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np

from crowdveil import Area
from crowdveil.arrays import FloatArray

EPSILON_PER_KM = float(np.log(4))
BETA = 0.06


@dataclass(frozen=True)
class Case:
    """One instance of the problem."""

    area: Area
    prior: FloatArray
    targets: list[int]

    @property
    def distances(self) -> FloatArray:
        """ε·d between all cells; for small areas only."""
        return EPSILON_PER_KM * self.area.distances_km(np.arange(len(self.area)))


def city(side: int, targets: int, cell_km: float = 1.0, seed: int = 0) -> Case:
    """A square of side x side cells; a tenth of them empty."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    area = Area.from_points_km(np.column_stack([x.ravel(), y.ravel()]) * cell_km)
    prior = generator.gamma(0.5, size=len(area))
    prior[generator.random(len(area)) < 0.1] = 0.0
    prior /= prior.sum()
    return Case(area, prior, sorted(generator.choice(len(area), targets, replace=False).tolist()))


@dataclass(frozen=True)
class Timing:
    """Median and spread of some runs, in seconds."""

    median: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, seconds: list[float]) -> Timing:
        """From the seconds of each run."""
        return cls(median(seconds), min(seconds), max(seconds), len(seconds))

    def shared_by(self, jobs: int) -> Timing:
        """Seconds of one of several equal jobs that were run together."""
        return Timing(self.median / jobs, self.low / jobs, self.high / jobs, self.runs)

    def __str__(self) -> str:
        if self.runs == 1:
            return f"{self.median:.3g} s (1 run)"
        return f"{self.median:.3g} s ({self.low:.3g}-{self.high:.3g}, {self.runs} runs)"


def timed(function: Callable[[], object], runs: int) -> Timing:
    """Run something several times."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return Timing.of(seconds)
