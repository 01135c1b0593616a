"""A data set: people and their visits, cut into cells and periods, to learn from and to test on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.profile import (
    Counts,
    HalfLifeChoice,
    Profile,
    Split,
    frequency,
    poisson,
    recency,
)
from crowdveil.profile.place import choose_places
from crowdveil.vocabulary import Rule

PROFILES = ("frequency", "poisson", "recency")


@dataclass(frozen=True, eq=False)
class Dataset:
    """One city at one position of its grid."""

    name: str
    title: str
    area: Area
    counts: Counts
    split: Split
    half_life: HalfLifeChoice
    visits_read: int
    visits_dropped: int

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """Every profiling method on the training periods."""
        return {
            "frequency": frequency(self.counts, self.split.train),
            "poisson": poisson(self.counts, self.split.train),
            "recency": recency(self.counts, self.split.train, self.half_life.half_life_periods),
        }

    @cached_property
    def densest(self) -> IntArray:
        """Cells by their visits in the training periods, the busiest first; of equal ones the lower number."""
        rows = self.counts.during(self.split.train)
        visits = np.bincount(rows.cell, rows.visits, minlength=len(self.area))
        return np.argsort(-visits, kind="stable")

    def places(
        self, profile: str, rule: Rule, delta: float, targets: tuple[int, ...], generator: np.random.Generator
    ) -> IntArray:
        """The one place that each user reports, or NULL."""
        return choose_places(self.profiles[profile], delta, rule, generator, targets)

    def coverage(self, targets: tuple[int, ...]) -> FloatArray:
        """For each user the share of test periods with a visit to any target."""
        return self.counts.periods_at(targets, self.split.test) / len(self.split.test)
