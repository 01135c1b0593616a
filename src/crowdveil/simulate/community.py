"""People and all that they do, for simulations of many campaigns: what is learnt before each, and who comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import InputError
from crowdveil.profile import Counts, LogisticConstants, Periods, Profile, logistic, recency
from crowdveil.profile.from_visits import suggest_half_life

PEOPLE_STREAM = 5_000
"""Sets the generator that draws people apart from all others."""


def without_gaps(counts: Counts) -> Counts:
    """Leave out the periods without any visit, and number the others anew.

    They are gaps in the data: nobody can be seen to come in them, and people who are not seen for weeks because nothing
    was recorded would be taken for people who stay away.
    """
    kept, period = np.unique(counts.period, return_inverse=True)
    if len(kept) == len(counts.periods):
        return counts
    periods = Periods(counts.periods.start, len(kept), counts.periods.days, counts.periods.weekdays_only)
    columns = (counts.user, counts.cell, period.astype(np.int64), counts.visits)
    return Counts(counts.users, counts.cells, periods, *columns, counts.left_out)


@dataclass(frozen=True, eq=False)
class Community:
    """People and all that they do; `weeks` are the periods with a campaign each, in which nothing is learnt yet."""

    area: Area
    counts: Counts
    weeks: range
    people: IntArray
    """The user that each person is like: each user once, or a sample with repetitions."""
    constants: LogisticConstants | None = None
    """Those of the profile `logistic`; None: the ones that devices use."""
    _profiles: dict[tuple[str, int], Profile] = field(default_factory=dict, repr=False)

    @classmethod
    def of_counts(cls, area: Area, counts: Counts, campaigns: int) -> Community:
        """Take every user once, and hold a campaign in each of the last periods."""
        if not 1 <= campaigns < len(counts.periods):
            expected = f"should leave a period to learn from: 1 to {len(counts.periods) - 1}"
            raise InputError("campaigns", campaigns, expected)
        weeks = range(len(counts.periods) - campaigns, len(counts.periods))
        return cls(area, counts, weeks, np.arange(counts.users))

    def resampled(self, size: int, seed: int) -> Community:
        """Draw so many people with replacement; two who are like the same user still draw their own symbols."""
        drawn = np.random.default_rng([seed, PEOPLE_STREAM]).choice(self.people, size)
        return replace(self, people=drawn)

    def busiest(self, number: int) -> tuple[int, ...]:
        """List the cells with the most visits before the first campaign, the busiest first."""
        rows = self.counts.during(range(self.weeks.start))
        visits = np.bincount(rows.cell, rows.visits, minlength=len(self.area))
        return tuple(np.argsort(-visits, kind="stable")[:number].tolist())

    def profile(self, method: str, week: int) -> Profile:
        """Predict visits from the weeks before one."""
        if (method, week) not in self._profiles:
            train = range(week)
            if method == "logistic":
                found = logistic(self.counts, train, self.constants)
            else:
                half_life = suggest_half_life(self.counts, range(self.weeks.start)).half_life_periods
                found = recency(self.counts, train, half_life)
            self._profiles[method, week] = found
        return self._profiles[method, week]

    def came(self, targets: Sequence[int], week: int) -> FloatArray:
        """Tell who was at any target in a week: 1 or 0 for each person."""
        there = self.counts.periods_at(list(targets), range(week, week + 1))
        return (there[self.people] > 0).astype(float)
