"""A data set: people and their visits, counted by cell and period, to learn from and to test on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

import numpy as np

from crowdveil.area import Area
from crowdveil.area.extent import box_of
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import InputError
from crowdveil.profile import (
    Counts,
    HalfLifeChoice,
    LogisticConstants,
    Periods,
    Profile,
    Split,
    count_visits,
    frequency,
    logistic,
    poisson,
    recency,
)
from crowdveil.profile.from_visits import full_periods, suggest_half_life
from crowdveil.profile.place import choose_graded_places, choose_places
from crowdveil.profile.profile import check_delta
from crowdveil.traces.summary import describe_visits
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import DEFAULT_DELTA, Period, Rule


@dataclass(frozen=True, eq=False)
class Dataset:
    """The visits of a crowd over one area, with training and test periods."""

    name: str
    """For records."""
    title: str
    """For people."""
    area: Area
    counts: Counts
    split: Split
    half_life: HalfLifeChoice
    visits_read: int
    visits_dropped: int
    facts: Mapping[str, str] = field(default_factory=dict)
    """What was read, in words, for reports."""
    constants: LogisticConstants | None = None
    """Those of the profile `logistic`; None: the ones that devices use."""

    @classmethod
    def from_visits(
        cls,
        visits: Visits,
        area: Area,
        periods: Periods,
        split: Split,
        *,
        delta: float = DEFAULT_DELTA,
        name: str = "visits",
        title: str | None = None,
    ) -> Dataset:
        """Count the visits, and choose the half-life of the profile `recency` on the training periods.

        The half-life is infinite, and has no scores, where the training periods cannot choose one.
        """
        check_delta(delta)
        counts = count_visits(visits, area, periods)
        kept = int(counts.visits.sum())
        if kept == 0:
            why = ", ".join(f"{reason}: {number:,}" for reason, number in counts.left_out.items())
            raise InputError("data", f"{len(visits):,} visits", f"none lies in the area and the periods ({why})")
        title = name if title is None else title
        facts = describe_visits(visits, title) | {"where": str(box_of(area))}
        half_life = suggest_half_life(counts, split.train, delta)
        return cls(name, title, area, counts, split, half_life, len(visits), len(visits) - kept, facts)

    @cached_property
    def profiles(self) -> dict[str, Profile]:
        """Every profile that can be made of the training periods, by its method."""
        return {
            "frequency": frequency(self.counts, self.split.train),
            "poisson": poisson(self.counts, self.split.train),
            "recency": recency(self.counts, self.split.train, self.half_life.half_life_periods),
            "logistic": logistic(self.counts, self.split.train, self.constants),
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
        """Choose the one place that each user reports, or NULL."""
        return choose_places(self.profiles[profile], delta, rule, generator, targets)

    def graded_places(
        self,
        profile: str,
        rule: Rule,
        thresholds: tuple[float, ...],
        targets: tuple[int, ...],
        generator: np.random.Generator,
    ) -> tuple[IntArray, IntArray]:
        """Choose the place, or NULL, and the grade that each user reports in the protected form."""
        return choose_graded_places(self.profiles[profile], thresholds, rule, generator, targets)

    def coverage(self, targets: tuple[int, ...]) -> FloatArray:
        """For each user, the share of test periods with a visit to any target."""
        return self.counts.periods_at(targets, self.split.test) / len(self.split.test)

    def coverage_by_target(self, targets: tuple[int, ...]) -> FloatArray:
        """For each user and each target, the share of test periods with a visit to it: shape (users, targets)."""
        return np.column_stack([self.coverage((target,)) for target in targets])


def split_periods(
    visits: Visits,
    *,
    period: Period = "week",
    weekdays_only: bool = False,
    start: date | None = None,
    train: int | None = None,
    test: int | None = None,
    every_date: bool = False,
) -> tuple[Periods, Split]:
    """Divide the full periods of some visits into those to learn from and those to test on.

    Args:
        visits: The visits that the periods should cover.
        period: "week" or "day".
        weekdays_only: Whether Saturdays and Sundays are left out.
        start: The first day (default: the first usual day with a visit, see `full_periods`).
        train: How many periods to learn from (default: all but those to test on, and without thin ends).
        test: How many periods to test on (default: the last tenth, at least one).
        every_date: Whether dates far from all others count too.

    >>> import crowdveil as cv
    >>> periods, split = split_periods(cv.synthetic_visits(1, users=20, weeks=10))
    >>> len(split.train), len(split.test)
    (9, 1)
    """
    full = full_periods(
        visits,
        period=period,
        weekdays_only=weekdays_only,
        start=start,
        at_least=2,
        every_date=every_date,
        thin_ends=train is not None,
    )
    count = len(full)
    testing = max(1, round(count / 10)) if test is None else test
    if train is None and testing >= count:
        raise InputError("test", testing, f"should leave a period to learn from: at most {count - 1} of {count}")
    split = full.split(count - testing if train is None else train, testing)
    return Periods(full.start, split.test.stop, full.days, weekdays_only), split
