"""Make a profile straight from visits: lay out the periods, count, choose the half-life, and estimate."""

from __future__ import annotations

import math
from datetime import date, timedelta
from typing import Literal, get_args

from crowdveil.area import Area
from crowdveil.errors import InputError
from crowdveil.profile.activity import without_thin_ends
from crowdveil.profile.counts import Counts, count_visits
from crowdveil.profile.half_life import HalfLifeChoice, choose_half_life
from crowdveil.profile.logistic import LogisticConstants, logistic
from crowdveil.profile.methods import frequency, poisson, recency
from crowdveil.profile.periods import DAY_S, EPOCH, MAX_PERIODS, Periods
from crowdveil.profile.profile import Profile, check_delta
from crowdveil.traces.dates import DayRange, usual_days
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import DEFAULT_DELTA, DEFAULT_PROFILE_METHOD, Period

ProfileMethod = Literal["frequency", "poisson", "recency", "logistic"]
"""How the probability of being in a cell is estimated; `recency` chooses its half-life by itself."""
PROFILE_METHODS: tuple[ProfileMethod, ...] = get_args(ProfileMethod)
DAYS: dict[Period, int] = {"week": 7, "day": 1}
"""Days in a period."""

MAX_VALIDATION = 5
"""Training periods that choose the half-life, at most; never more than a quarter of them."""


def full_periods(
    visits: Visits,
    *,
    period: Period = "week",
    weekdays_only: bool = False,
    start: date | None = None,
    at_least: int = 1,
    every_date: bool = False,
    thin_ends: bool = False,
) -> Periods:
    """Lay out every full week or day from a date on (default: the first usual local day with a visit).

    Dates far from all others, which come from wrong clocks, stretch nothing: see `traces.dates`.

    Args:
        visits: The visits that the periods should cover.
        period: "week" or "day".
        weekdays_only: Whether Saturdays and Sundays are left out.
        start: The first day.
        at_least: How many periods there have to be; fewer are an error.
        every_date: Whether dates far from all others count too.
        thin_ends: Whether periods at both ends in which hardly anyone was active are used too (see
            `profile.activity`). Those at the beginning always are where `start` is given.

    >>> import crowdveil as cv
    >>> visits = cv.synthetic_visits(1, users=20, weeks=4)
    >>> len(full_periods(visits))
    4
    """
    if period not in DAYS:
        raise InputError("period", period, f"should be one of {', '.join(DAYS)}")
    if start is not None and not isinstance(start, date):
        raise InputError("start", start, "should be a date, such as date(2024, 1, 31)")
    days = DAYS[period]
    if not len(visits):
        raise InputError("visits", 0, "should be at least one, or there are no periods")
    local_day = visits.local_s // DAY_S
    there = DayRange(int(local_day.min()), int(local_day.max())) if every_date else usual_days(local_day)
    last = EPOCH + timedelta(days=there.last)
    first = start or EPOCH + timedelta(days=there.first)
    while start is None and weekdays_only and days == 1 and first.weekday() >= 5:
        first += timedelta(days=1)
    if days == 7:
        count = ((last - first).days + 1) // 7
    else:
        number = Periods(first, MAX_PERIODS, days, weekdays_only).number(visits.local_s)
        count = int(number[local_day <= there.last].max()) + 1
    if count < at_least:
        found = f"{max(count, 0)} full {period}{'s' * (count != 1)} from {first} to {last}"
        why = ": one to learn from, one to test on" * (at_least == 2)
        hint = "; use days instead" * (days == 7 and (last - first).days + 1 >= 2 * at_least)
        raise InputError("periods", found, f"should be at least {at_least}{why}{hint}")
    periods = Periods(first, count, days, weekdays_only)
    return periods if thin_ends else without_thin_ends(visits, periods, at_least, from_start=start is None)


def suggest_half_life(counts: Counts, train: range, delta: float = DEFAULT_DELTA) -> HalfLifeChoice:
    """Choose the half-life on the last training periods; it is infinite, without scores, where they cannot choose."""
    validation = max(1, min(MAX_VALIDATION, round(len(train) / 4)))
    try:
        return choose_half_life(counts, train, validation=validation, delta=delta)
    except InputError:  # the training is too short, ends without a visit, or has no frequent place
        return HalfLifeChoice(math.inf, (), train, range(0))


def profile_visits(
    visits: Visits,
    area: Area,
    *,
    method: ProfileMethod = DEFAULT_PROFILE_METHOD,
    period: Period = "week",
    weekdays_only: bool = False,
    start: date | None = None,
    train: int | None = None,
    half_life_periods: float | None = None,
    constants: LogisticConstants | None = None,
    delta: float = DEFAULT_DELTA,
) -> Profile:
    """Estimate how likely each user is to be in each cell at least once in the next period.

    Args:
        visits: Who was where, when.
        area: The cells.
        method: "logistic" (calibrated; what devices use), "frequency" and "poisson" (the paper's), or "recency"
            (recent periods count more).
        period: "week" or "day".
        weekdays_only: Whether Saturdays and Sundays are left out.
        start: The first day (default: the first usual day with a visit, see `full_periods`).
        train: How many periods to learn from, the earliest first (default: all full ones, without thin ends).
        half_life_periods: For "recency": after so many periods a visit counts half (default: chosen from the data).
        constants: For "logistic": those of `fit_logistic` (default: the constants that devices use).
        delta: A place is frequent if its probability is above this; used to choose the half-life.

    >>> import crowdveil as cv
    >>> visits = cv.synthetic_visits(1, users=20, weeks=8)
    >>> profile = profile_visits(visits, cv.Grid.around(visits, cell_km=1.0), method="poisson")
    >>> profile.users
    20
    """
    if method not in PROFILE_METHODS:
        raise InputError("method", method, f"should be one of {', '.join(PROFILE_METHODS)}")
    if half_life_periods is not None and method != "recency":
        raise InputError("half_life_periods", half_life_periods, "applies only to the method 'recency'")
    if constants is not None and method != "logistic":
        raise InputError("constants", constants.values, "apply only to the method 'logistic'")
    check_delta(delta)
    periods = full_periods(visits, period=period, weekdays_only=weekdays_only, start=start, thin_ends=train is not None)
    learn_from = periods.check("train", range(len(periods) if train is None else train))
    counts = count_visits(visits, area, periods)
    if method == "logistic":
        return logistic(counts, learn_from, constants)
    if method == "frequency":
        return frequency(counts, learn_from)
    if method == "poisson":
        return poisson(counts, learn_from)
    if half_life_periods is None:
        half_life_periods = suggest_half_life(counts, learn_from, delta).half_life_periods
    return recency(counts, learn_from, half_life_periods)
