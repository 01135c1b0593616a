"""Decide claims by intervals: a claim holds, does not hold, or there are too few seeds to decide.

A claim is about a number d, mostly a difference of two methods, and a bound. With the 95 % interval of d over n
independent values:

    holds                     the whole interval lies on the claimed side of the bound
    does not hold             the whole interval lies on the other side
    too few seeds to decide   the bound lies within the interval, or there are fewer than `MIN_VALUES` values

Methods meet the same users in the same order under the same seed, and the same targets under the same draw. So
differences are paired: they are taken value by value, which removes what both have in common, and the interval is that
of the differences. Very few values may be alike by chance, which makes an interval far too narrow, because coverages
of a few people have few possible values: then nothing is decided, whatever the interval. Of several settings a claim
holds throughout if it holds in each, and does not if it fails in one.

**Ratios.** For a ratio of means a/b, value i contributes a/b + (a_i - a)/b - (a/b)(b_i - b)/b, the linear part of the
ratio at the means: the mean of these is a/b, and their spread gives its interval (the delta method).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.plots.report import FAILS, HOLDS, UNDECIDED, Verdict
from crowdveil.simulate.records import Record, interval

MIN_VALUES = 5


class Interval(NamedTuple):
    """A number with its 95 % interval, and how many independent values it comes from."""

    value: float
    low: float
    high: float
    n: int

    def above(self, bound: float) -> Verdict:
        """Decide whether the number is above a bound."""
        if self.n < MIN_VALUES:
            return UNDECIDED
        return HOLDS if self.low > bound else FAILS if self.high <= bound else UNDECIDED

    def at_most(self, bound: float) -> Verdict:
        """Decide whether the number is at most a bound."""
        return {HOLDS: FAILS, FAILS: HOLDS}.get(self.above(bound), UNDECIDED)

    def within(self, centre: float, reach: float) -> Verdict:
        """Decide whether the number lies within a reach of another."""
        if self.n < MIN_VALUES:
            return UNDECIDED
        if self.low >= centre - reach and self.high <= centre + reach:
            return HOLDS
        return FAILS if self.low > centre + reach or self.high < centre - reach else UNDECIDED

    @property
    def points(self) -> str:
        """Write the number as percentage points."""
        return f"{100 * self.value:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f})"


def of_record(record: Record) -> Interval:
    """Return a record's number and interval."""
    return Interval(record.value, record.ci_low, record.ci_high, record.n)


def of_values(values: Sequence[float] | FloatArray) -> Interval:
    """Return the mean of independent values, with its interval."""
    return Interval(*interval(list(values), least=-np.inf), len(values))


def difference(one: Record, other: Record, times: float = 1.0) -> Interval:
    """Return by how much one record exceeds another (or a multiple of it), value by value."""
    mine, theirs = paired_values(one, other)
    return of_values(mine - times * theirs)


def ratio_values(one: Record, other: Record) -> FloatArray:
    """Return what each value contributes to the ratio of two means; see the module's text."""
    a, b = paired_values(one, other)
    if b.mean() == 0:
        raise InputError("ratio", float(b.mean()), "should not divide by a mean of 0")
    ratio = a.mean() / b.mean()
    return np.asarray(ratio + (a - a.mean() - ratio * (b - b.mean())) / b.mean())


def paired_values(one: Record, other: Record) -> tuple[FloatArray, FloatArray]:
    """Return the independent values behind two records, which have to be over the same seeds or draws."""
    mine, theirs = (np.asarray(record.extra["values"], dtype=np.float64) for record in (one, other))
    if mine.shape != theirs.shape:
        raise InputError("values", [len(mine), len(theirs)], "should be as many, to be compared in pairs")
    return mine, theirs


def throughout(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine the verdicts of several settings."""
    found = set(verdicts)
    return FAILS if FAILS in found else UNDECIDED if UNDECIDED in found else HOLDS


def exceptions(verdicts: dict[str, Verdict]) -> str:
    """Name the settings in which a claim fails, or is undecided while others are decided."""
    failed = [name for name, verdict in verdicts.items() if verdict == FAILS]
    undecided = [name for name, verdict in verdicts.items() if verdict == UNDECIDED]
    told = f" Not at {', '.join(failed)}." if failed else ""
    return told + (f" Undecided at {', '.join(undecided)}." if undecided and len(undecided) < len(verdicts) else "")
