"""Count who is active in each period, and cut off periods at both ends in which hardly anyone is.

Data sets often begin and end thinly: a pilot with three people, a phone that was never handed back. A profile that is
tested on such a period says nothing. A period is *thin* if fewer people are active in it than `THIN_SHARE` of those in
a busy one (the 90th percentile of all periods with anyone). Only the ends are cut; a gap in the middle stays.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np

from crowdveil.arrays import BoolArray, IntArray
from crowdveil.profile.periods import OUTSIDE_PERIODS, Periods
from crowdveil.traces.visits import Visits

THIN_SHARE = 0.05
BUSY_QUANTILE = 0.9


def active_users(visits: Visits, periods: Periods) -> IntArray:
    """Count the users with any visit in each period.

    >>> import crowdveil as cv
    >>> from datetime import date
    >>> visits = cv.synthetic_visits(1, users=20, weeks=4)
    >>> len(active_users(visits, Periods(date(2024, 1, 1), 4)))
    4
    """
    number = periods.number(visits.local_s)
    # visits are sorted by user and time, so that most repetitions stand side by side
    fresh = np.ones(len(visits), dtype=bool)
    fresh[1:] = (np.diff(visits.user) != 0) | (np.diff(number) != 0)
    fresh &= number != OUTSIDE_PERIODS
    once = np.unique(visits.user[fresh] * len(periods) + number[fresh])
    return np.bincount(once % len(periods), minlength=len(periods))


def seen_in(visits: Visits, periods: Periods, part: range) -> BoolArray:
    """Tell which users have any visit, inside or outside of any area, in some periods."""
    number = periods.number(visits.local_s)
    there = (number >= part.start) & (number < part.stop)
    seen: BoolArray = np.bincount(visits.user[there], minlength=len(visits.users)) > 0
    return seen


def lively_range(active: IntArray) -> range:
    """Find the periods without the thin ones at both ends, given how many people are active in each.

    >>> lively_range(np.array([1, 0, 40, 50, 0, 55, 2, 1]))
    range(2, 6)
    """
    if not active.any():
        return range(len(active))
    busy = float(np.quantile(active[active > 0], BUSY_QUANTILE))
    lively = np.flatnonzero(active >= max(1.0, THIN_SHARE * busy))
    return range(int(lively[0]), int(lively[-1]) + 1)


def without_thin_ends(visits: Visits, periods: Periods, at_least: int, *, from_start: bool) -> Periods:
    """Cut off thin periods at both ends, or only at the last one, unless fewer than `at_least` would be left."""
    lively = lively_range(active_users(visits, periods))
    lively = lively if from_start else range(lively.stop)
    if len(lively) < at_least or len(lively) == len(periods):
        return periods
    return replace(periods, start=start_of(periods, lively.start), count=len(lively))


def describe_thin_ends(visits: Visits, every: Periods, used: Periods) -> str | None:
    """Say which periods at the ends are not used, with figures; None if all are."""
    if every == used:
        return None
    active = active_users(visits, every)
    before = next(number for number in range(len(every)) if start_of(every, number) == used.start)
    after = len(every) - before - len(used)
    unit = "week" if every.days == 7 else "day"
    rest = np.concatenate([active[:before], active[before + len(used) :]])
    ends = " and ".join(f"{number} at the {end}" for number, end in ((before, "start"), (after, "end")) if number)
    typical = int(np.median(active[before : before + len(used)]))
    return (
        f"Of {len(every)} {unit}s, {ends} are not used: at most {int(rest.max()):,} people were active in any of them, "
        f"against {typical:,} in a usual one. To use them, set the start and how many to learn from and to test on."
    )


def start_of(periods: Periods, number: int) -> date:
    """Return the first day of a period."""
    if periods.days == 1 and periods.weekdays_only:
        weekday = periods.start.weekday() + number
        return periods.start + timedelta(days=weekday // 5 * 7 + weekday % 5 - periods.start.weekday())
    return periods.start + timedelta(days=number * periods.days)
