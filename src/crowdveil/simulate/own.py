"""A world from anyone's traces: a grid laid over them, periods from their first day on, the half-life they suggest."""

from __future__ import annotations

import math
from datetime import date, timedelta

from crowdveil.area import Area
from crowdveil.errors import InputError
from crowdveil.profile import Counts, HalfLifeChoice, Periods, Split, choose_half_life, count_visits
from crowdveil.profile.periods import DAY_S, EPOCH, MAX_PERIODS
from crowdveil.profile.profile import check_delta
from crowdveil.simulate.dataset import Dataset
from crowdveil.traces import Visits
from crowdveil.vocabulary import DEFAULT_DELTA

VALIDATION = 5
"""Training periods that choose the half-life, at most; never more than a quarter of them."""


def cut_periods(
    visits: Visits,
    *,
    days: int = 7,
    weekdays_only: bool = False,
    start: date | None = None,
    train: int | None = None,
    test: int | None = None,
) -> tuple[Periods, Split]:
    """The full periods from a date on, the first local one unless given; the last tenth tests unless told otherwise."""
    local_day = visits.local_s // DAY_S
    last = EPOCH + timedelta(days=int(local_day.max()))
    first = start or EPOCH + timedelta(days=int(local_day.min()))
    while start is None and weekdays_only and days == 1 and first.weekday() >= 5:
        first += timedelta(days=1)
    if days == 7:
        full = ((last - first).days + 1) // 7
    else:
        full = int(Periods(first, MAX_PERIODS, days, weekdays_only).number(visits.local_s).max()) + 1
    if full < 2:
        what = f"{max(full, 0)} full {'week' if days == 7 else 'day'}{'s' * (full < 1)} from {first} to {last}"
        raise InputError("periods", what, "should be at least 2: one to learn from, one to test on")
    testing = max(1, round(full / 10)) if test is None else test
    if train is None and testing >= full:
        raise InputError("test", testing, f"should leave a period to learn from: at most {full - 1} of {full}")
    split = Periods(first, full, days, weekdays_only).split(full - testing if train is None else train, testing)
    return Periods(first, split.test.stop, days, weekdays_only), split


def dataset_from_visits(
    name: str, title: str, visits: Visits, area: Area, periods: Periods, split: Split, delta: float = DEFAULT_DELTA
) -> Dataset:
    """Count and profile; the half-life is infinite, and has no scores, where the training can choose none."""
    check_delta(delta)
    counts = count_visits(visits, area, periods)
    kept = int(counts.visits.sum())
    if kept == 0:
        why = ", ".join(f"{reason}: {number:,}" for reason, number in counts.left_out.items())
        raise InputError("data", f"{len(visits):,} visits", f"none lies in the area and the periods ({why})")
    chosen = _half_life(counts, split, delta)
    return Dataset(name, title, area, counts, split, chosen, len(visits), len(visits) - kept)


def _half_life(counts: Counts, split: Split, delta: float) -> HalfLifeChoice:
    validation = max(1, min(VALIDATION, round(len(split.train) / 4)))
    try:
        return choose_half_life(counts, split.train, validation=validation, delta=delta)
    except InputError:  # too short a training, no visit at its end, or no frequent place: a profile may still have one
        return HalfLifeChoice(math.inf, (), split.train, range(0))
