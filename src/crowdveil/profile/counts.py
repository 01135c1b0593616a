"""Count visits per user, cell and period, in exact whole numbers: all that a profile is made from.

Only counts above zero are kept, sorted by user, cell and period, so that a million users with a few cells each take a
few columns of a few million numbers; nothing here has the size users x cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import OUTSIDE, Area
from crowdveil.arrays import IntArray, as_array, as_cells, frozen
from crowdveil.errors import InputError
from crowdveil.profile.periods import OUTSIDE_PERIODS, Periods
from crowdveil.traces.visits import Visits

MAX_KEY = 2**62
"""Users x cells x periods stay below this, so that a triple fits one 64-bit number."""


class Pairs(NamedTuple):
    """Users and cells with any visit in some periods, sorted by user and cell."""

    user: IntArray
    cell: IntArray
    visits: IntArray
    """Visits in all of these periods."""
    periods: IntArray
    """How many of these periods have a visit."""


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """How often each user was in each cell in each period; triples without a visit are not kept."""

    users: int
    cells: int
    periods: Periods
    user: IntArray
    cell: IntArray
    period: IntArray
    visits: IntArray
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many visits were not counted, by reason."""

    def __post_init__(self) -> None:
        if self.users < 0 or self.cells < 1:
            raise InputError("users, cells", [self.users, self.cells], "should be at least 0 users and 1 cell")
        _key_range(self.users, self.cells, len(self.periods))
        columns = {
            "user": as_cells("user", self.user, self.users),
            "cell": as_cells("cell", self.cell, self.cells),
            "period": as_cells("period", self.period, len(self.periods)),
            "visits": as_whole("visits", self.visits),
        }
        for name, column in columns.items():
            if column.shape != columns["user"].shape or column.ndim != 1:
                raise InputError(name, column.shape, f"should have one entry for each of {len(columns['user'])} rows")
        if (columns["visits"] < 1).any():
            raise InputError(
                "visits", int(columns["visits"].min()), "should be at least 1; leave out rows without a visit"
            )
        key = (columns["user"] * self.cells + columns["cell"]) * len(self.periods) + columns["period"]
        if (np.diff(key) <= 0).any():
            raise InputError("rows", len(key), "should be sorted by user, cell and period, each triple once")
        for name, column in columns.items():
            object.__setattr__(self, name, frozen(column))
        object.__setattr__(self, "left_out", MappingProxyType({k: int(v) for k, v in self.left_out.items() if v}))

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        lost = f", {sum(self.left_out.values()):,} left out" if self.left_out else ""
        kept = f"{int(self.visits.sum()):,} visits of {self.users:,} users in {self.cells:,} cells"
        return f"Counts({kept}, {len(self.periods)} periods{lost})"

    def during(self, part: range) -> Counts:
        """Keep only the visits of some periods; users, cells and period numbers stay."""
        self.periods.check("part", part)
        kept = (self.period >= part.start) & (self.period < part.stop)
        user, cell, period, visits = (c[kept] for c in (self.user, self.cell, self.period, self.visits))
        return Counts(self.users, self.cells, self.periods, user, cell, period, visits)

    def pairs(self, part: range) -> Pairs:
        """Sum the visits of each user in each cell over some periods."""
        rows = self.during(part)
        first = rows.first_of_pairs()
        visits = np.add.reduceat(rows.visits, first)
        return Pairs(rows.user[first], rows.cell[first], visits, np.diff(first, append=len(rows)))

    def first_of_pairs(self) -> IntArray:
        """Return the row at which each pair of user and cell begins."""
        key = self.user * self.cells + self.cell
        return np.flatnonzero(np.diff(key, prepend=-1)).astype(np.int64)

    def periods_at(self, cells: ArrayLike, part: range) -> IntArray:
        """Return, for each user, the number of periods with a visit to any of the given cells."""
        rows = self.during(part)
        there = np.isin(rows.cell, cells)
        once = np.unique(rows.user[there] * len(self.periods) + rows.period[there])
        return np.bincount(once // len(self.periods), minlength=self.users)

    def empty_periods(self, part: range) -> tuple[int, ...]:
        """List the periods without any visit: these are often gaps in the data."""
        self.periods.check("part", part)
        seen = np.bincount(self.period, minlength=len(self.periods))
        return tuple(period for period in part if seen[period] == 0)


def count_visits(visits: Visits, area: Area, periods: Periods) -> Counts:
    """Count the visits of each user in each cell and period.

    Visits that are not counted are in `left_out`, each under the first reason that applies: outside of the area, on a
    weekend that is left out, outside of the periods.
    """
    _key_range(len(visits.users), len(area), len(periods))
    cell = area.locate(visits.latitude, visits.longitude)
    local_s = visits.local_s
    period = periods.number(local_s)
    inside = cell != OUTSIDE
    rest = inside & periods.rest(local_s)
    late = inside & ~rest & (period == OUTSIDE_PERIODS)
    kept = inside & (period != OUTSIDE_PERIODS)
    key = (visits.user[kept] * len(area) + cell[kept]) * len(periods) + period[kept]
    triples, number = np.unique(key, return_counts=True)
    pair, when = np.divmod(triples, len(periods))
    who, where = np.divmod(pair, len(area))
    left_out = {
        "outside of the area": int(np.count_nonzero(~inside)),
        "on a weekend": int(np.count_nonzero(rest)),
        "outside of the periods": int(np.count_nonzero(late)),
    }
    return Counts(len(visits.users), len(area), periods, who, where, when, number, left_out)


def as_whole(field: str, values: object) -> IntArray:
    """Read whole numbers; an empty list is accepted."""
    array = as_array(field, values, "should be whole numbers")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(field, values, "should be whole numbers")
    return array.astype(np.int64)


def _key_range(users: int, cells: int, periods: int) -> None:
    if users * cells * periods >= MAX_KEY:
        size = [users, cells, periods]
        raise InputError(
            "users, cells, periods", size, "should have a product below 2^62; use larger cells or fewer periods"
        )
