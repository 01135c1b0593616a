"""Define the periods, days or weeks on the user's own clock, in which visits are counted.

Period k of whole days D from a start date s holds the local days

    s + kD, ..., s + kD + D - 1,        k = 0 .. count - 1.

A visit belongs to the day that its user's clock showed: local time is UTC plus the offset kept with the visit. So a
visit just after midnight counts for the new day in every time zone, and the hour that summer time repeats or skips
stays within its own day.

With `weekdays_only`, Saturdays and Sundays belong to no period. Periods of a day are then numbered without them, so
that the number of a Monday follows that of the Friday before; periods of a week then have five days.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import BoolArray, IntArray
from crowdveil.errors import InputError

OUTSIDE_PERIODS = -1
"""What `number` returns for a time in no period."""

DAY_S = 86_400
EPOCH = date(1970, 1, 1)
MAX_PERIODS = 100_000


class Split(NamedTuple):
    """Periods to learn from, and the ones right after them to test on."""

    train: range
    test: range


@dataclass(frozen=True)
class Periods:
    """Consecutive days (`days=1`) or weeks (`days=7`) of local time from a start date."""

    start: date
    count: int
    days: int = 7
    weekdays_only: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.start, date):
            raise InputError("start", self.start, "should be a date, such as date(2012, 4, 3)")
        if self.days not in (1, 7):
            raise InputError("days", self.days, "should be 1 (days) or 7 (weeks)")
        if not is_whole(self.count) or not 1 <= self.count <= MAX_PERIODS:
            raise InputError("count", self.count, f"should be a whole number of periods from 1 to {MAX_PERIODS:,}")
        # A datetime is a date too; only its day counts, so that equal periods are equal values.
        object.__setattr__(self, "start", date(self.start.year, self.start.month, self.start.day))
        if self.weekdays_only and self.days == 1 and self.start.weekday() >= 5:
            raise InputError("start", self.start.isoformat(), "should be a weekday, because weekends are left out")

    def __len__(self) -> int:
        return self.count

    def number(self, local_s: ArrayLike) -> IntArray:
        """Return the period of each local time (seconds since 1970 on the user's clock), or -1 outside all periods."""
        day = self._day(local_s)
        if self.weekdays_only and self.days == 1:
            # Five numbers for each whole week, then the weekdays before this one in its own week.
            weekday = self.start.weekday() + day
            number = weekday // 7 * 5 + np.minimum(weekday % 7, 5) - self.start.weekday()
        else:
            number = day // self.days
        inside = (day >= 0) & (number < self.count) & ~self.rest(local_s)
        return np.where(inside, number, OUTSIDE_PERIODS).astype(np.int64)

    def rest(self, local_s: ArrayLike) -> BoolArray:
        """Tell whether each local time lies on a weekend that is left out."""
        day = self._day(local_s)
        if not self.weekdays_only:
            return np.zeros(day.shape, dtype=bool)
        weekend: BoolArray = (self.start.weekday() + day) % 7 >= 5
        return weekend

    def _day(self, local_s: ArrayLike) -> IntArray:
        """Return the days since the start date; negative before it."""
        day: IntArray = np.floor_divide(np.asarray(local_s, dtype=np.int64), DAY_S)
        first: IntArray = day - (self.start - EPOCH).days
        return first

    def split(self, train: int, test: int) -> Split:
        """Take the first `train` periods to learn from and the next `test` to test on."""
        for name, length in (("train", train), ("test", test)):
            if not is_whole(length) or length < 1:
                raise InputError(name, length, "should be a whole number of periods, at least 1")
        if train + test > self.count:
            raise InputError("train + test", train + test, f"should be at most {self.count}, the number of periods")
        return Split(range(train), range(train, train + test))

    def check(self, field: str, part: range) -> range:
        """Return a range of consecutive periods, or raise an error that says what is wrong with it."""
        if not isinstance(part, range) or part.step != 1 or len(part) == 0:
            raise InputError(field, part, "should be a range of one or more consecutive periods, such as range(0, 40)")
        if part.start < 0 or part.stop > self.count:
            raise InputError(field, part, f"should lie within the {self.count} periods, range(0, {self.count})")
        return part


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
