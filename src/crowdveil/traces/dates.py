"""Find the days in which most visits lie, and the few dates far from them that clocks got wrong.

One visit dated 1970 would stretch a data set by decades. Days with visits are therefore cut wherever no visit was made
for `MIN_GAP_DAYS`, and from both ends whole pieces are left out for as long as all of them together hold at most
`MAX_OUTLYING_SHARE` of the visits. What is left is *usual*. A gap in the middle of a history, or an early piece that
holds more than that share, stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from crowdveil.arrays import IntArray

DAY_S = 86_400
EPOCH = date(1970, 1, 1)
MIN_GAP_DAYS = 56
"""A wrong clock is seldom wrong by less than eight weeks, and people are seldom all silent for so long."""
MAX_OUTLYING_SHARE = 0.01
"""Of all visits, at both ends together."""
MIN_TO_JUDGE = 20
"""With fewer visits, one in a hundred is none: two visits in two years are a short history, not a wrong clock."""
ROLLOVER_DAYS = 1024 * 7
"""GPS counts weeks in ten bits; a receiver that missed a rollover is wrong by exactly so many days."""


@dataclass(frozen=True)
class DayRange:
    """Days from the first to the last, both included, as numbers since 1970."""

    first: int
    last: int

    def __str__(self) -> str:
        return show_day(self.first) if self.first == self.last else f"{show_day(self.first)} to {show_day(self.last)}"


def usual_days(days: IntArray, visits: IntArray | None = None) -> DayRange:
    """Find the range of days without the few that lie far from all others.

    Args:
        days: The day of each visit, as a number since 1970; or each day once, with `visits`.
        visits: How many visits each of the days has (default: one).

    >>> usual_days(np.array([0] + list(range(14_000, 14_100))))
    DayRange(first=14000, last=14099)
    """
    days = np.asarray(days, dtype=np.int64)
    offset = int(days.min())
    weights = None if visits is None else np.asarray(visits, dtype=np.float64)
    per_day = np.bincount(days - offset, weights)
    there = np.flatnonzero(per_day)
    pieces = np.split(there, np.flatnonzero(np.diff(there) > MIN_GAP_DAYS) + 1)
    held = [float(per_day[piece].sum()) for piece in pieces]
    total = sum(held)
    left = max(1.0, MAX_OUTLYING_SHARE * total) if total >= MIN_TO_JUDGE else 0.0
    first, last = 0, len(pieces) - 1
    while first < last and min(held[first], held[last]) <= left:
        # the smaller end goes first, so that a wrong date at one end does not spare one at the other
        if held[first] <= held[last]:
            left -= held[first]
            first += 1
        else:
            left -= held[last]
            last -= 1
    return DayRange(offset + int(pieces[first][0]), offset + int(pieces[last][-1]))


def outlying_pieces(days: IntArray, usual: DayRange) -> list[DayRange]:
    """List the ranges of days outside of the usual ones, cut where more than a week passed without a visit."""
    there = np.unique(days[(days < usual.first) | (days > usual.last)])
    if not len(there):
        return []
    cuts = np.flatnonzero(np.diff(there) > 7) + 1
    return [DayRange(int(piece[0]), int(piece[-1])) for piece in np.split(there, cuts)]


def clock_fault(piece: DayRange, usual: DayRange) -> str | None:
    """Name the fault of a device's clock that explains some outlying days, if one is known."""
    first = EPOCH + timedelta(days=piece.first)
    if usual.first <= piece.first + ROLLOVER_DAYS and piece.last + ROLLOVER_DAYS <= usual.last:
        return "GPS receivers that count 1,024 weeks too few"
    if first.year == 1970:
        return "clocks that were never set (1970)"
    if first.year == 1980 and first.month == 1:
        return "GPS receivers without a fix (January 1980)"
    if first.month == first.day == 1:
        return f"clocks that were reset to {first}"
    return None


def show_day(number: int) -> str:
    """Write a day, given as a number since 1970."""
    return (EPOCH + timedelta(days=number)).isoformat()
