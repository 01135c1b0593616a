"""From visits to a profile in one step: which periods there are, and what each option changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from math import inf
from typing import Any

import numpy as np
import pytest

from crowdveil.area import Grid
from crowdveil.errors import InputError
from crowdveil.profile import (
    Counts,
    LogisticConstants,
    Periods,
    Profile,
    ProfileMethod,
    choose_half_life,
    count_visits,
    frequency,
    full_periods,
    logistic,
    poisson,
    profile_visits,
    recency,
)
from crowdveil.profile.from_visits import suggest_half_life
from crowdveil.traces import Visits, synthetic_visits
from tests.profile.people import SQUARES, counts_of, visits_at

MONDAY = date(2012, 4, 2)
CITY = synthetic_visits(5, users=40, weeks=8)
AREA = Grid.around(CITY)
WEEKS = Periods(date(2024, 1, 1), 8)


def on(*days: int, users: Sequence[int] | None = None) -> Visits:
    """One visit at noon on some days, 0 being a Monday; all of one user if not said otherwise."""
    times = [f"{MONDAY + timedelta(days=day)}T12:00+00:00" for day in days]
    return visits_at(times, users, 1 + max(users or [0]))


# --- which periods there are --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "weeks"), [(6, 1), (7, 1), (12, 1), (13, 2), (20, 3)])
def test_a_week_is_full_when_its_seventh_day_is_there(last: int, weeks: int) -> None:
    assert full_periods(on(0, last)) == Periods(MONDAY, weeks)


def test_days_go_from_the_first_to_the_last_with_a_visit() -> None:
    assert full_periods(on(1, 2, 5, 9), period="day") == Periods(date(2012, 4, 3), 9, days=1)
    assert full_periods(on(1, 9), period="day", start=date(2012, 4, 8)) == Periods(date(2012, 4, 8), 4, days=1)
    assert full_periods(on(5), period="day") == Periods(date(2012, 4, 7), 1, days=1)


@pytest.mark.parametrize("first", [5, 6])
def test_without_weekends_days_begin_on_the_next_monday_and_weeks_where_they_are(first: int) -> None:
    visits, monday = on(first, 7, 18), MONDAY + timedelta(days=7)
    for thin_ends in (False, True):
        days = full_periods(visits, period="day", weekdays_only=True, thin_ends=thin_ends)
        assert days == Periods(monday, 10, 1, weekdays_only=True)
    assert full_periods(visits, weekdays_only=True) == Periods(
        MONDAY + timedelta(days=first), (18 - first + 1) // 7, weekdays_only=True
    )
    with pytest.raises(InputError, match="should be a weekday"):
        full_periods(visits, period="day", weekdays_only=True, start=MONDAY + timedelta(days=first))


def test_a_visit_with_a_wrong_date_makes_no_further_days() -> None:
    visits = on(*range(25), 900)
    assert full_periods(visits, period="day") == Periods(MONDAY, 25, days=1)
    assert full_periods(visits, period="day", every_date=True, thin_ends=True) == Periods(MONDAY, 901, days=1)


@pytest.mark.parametrize(
    ("days", "options", "said"),
    [
        ((0, 5), {}, "0 full weeks from 2012-04-02 to 2012-04-07': should be at least 1; use days instead"),
        ((0, 1), {}, "0 full weeks from 2012-04-02 to 2012-04-03': should be at least 1; use days instead"),
        ((0,), {}, "0 full weeks from 2012-04-02 to 2012-04-02': should be at least 1"),
        (
            (0, 3),
            {"at_least": 2},
            "to 2012-04-05': should be at least 2: one to learn from, one to test on; use days instead",
        ),
        ((0, 2), {"at_least": 2}, "to 2012-04-04': should be at least 2: one to learn from, one to test on"),
        ((0, 6), {"at_least": 3}, "1 full week from 2012-04-02 to 2012-04-08': should be at least 3; use days instead"),
        (
            (0, 13),
            {"at_least": 3},
            "2 full weeks from 2012-04-02 to 2012-04-15': should be at least 3; use days instead",
        ),
        (
            (0, 1, 2),
            {"period": "day", "at_least": 5},
            "3 full days from 2012-04-02 to 2012-04-04': should be at least 5",
        ),
        ((0,), {"start": date(2012, 6, 1)}, "0 full weeks from 2012-06-01 to 2012-04-02': should be at least 1"),
    ],
)
def test_too_few_periods_say_how_many_there_are_and_whether_days_would_do(
    days: tuple[int, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        full_periods(on(*days), **options)
    assert str(refused.value).endswith(said)


def test_thin_ends_are_kept_where_too_few_periods_would_be_left() -> None:
    # 30 people in the third week, one of them in each of the others.
    days, users = [0, 7, *[14] * 30, 21, 27], [0, 0, *range(30), 0, 0]
    assert full_periods(on(*days, users=users)) == Periods(date(2012, 4, 16), 1)
    assert full_periods(on(*days, users=users), at_least=2) == Periods(MONDAY, 4)


# --- the half-life ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("periods", "validation"), [(2, 1), (4, 1), (8, 2), (16, 4), (20, 5), (24, 5), (40, 5)])
def test_a_quarter_of_the_training_periods_choose_the_half_life_and_at_most_five(periods: int, validation: int) -> None:
    counts = counts_of([(0, 1, period) for period in range(periods) for _ in range(3)], periods=periods)
    found = suggest_half_life(counts, range(periods))
    assert found.validation == range(periods - validation, periods)
    assert found == choose_half_life(counts, range(periods), validation=validation)


def test_a_half_life_that_the_training_periods_cannot_choose_is_infinite() -> None:
    counts = counts_of([(0, 1, period) for period in range(4)])
    assert suggest_half_life(counts, range(4), delta=0.99) == (inf, (), range(4), range(0))
    assert suggest_half_life(counts, range(1)) == (inf, (), range(1), range(0))
    assert suggest_half_life(counts, range(4), delta=0.5).scores != ()


# --- profiles -----------------------------------------------------------------------------------------------------


def same(one: Profile, other: Profile) -> bool:
    """Tell whether two profiles have the same rows, and were made in the same way."""
    columns = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("user", "cell", "probability"))
    return columns and repr(one) == repr(other) and one.train == other.train


@pytest.mark.parametrize(
    ("method", "make"), [("frequency", frequency), ("poisson", poisson), ("logistic", logistic)], ids=lambda one: one
)
def test_a_profile_is_what_the_parts_give(method: ProfileMethod, make: Callable[[Counts, range], Profile]) -> None:
    counts = count_visits(CITY, AREA, WEEKS)
    assert same(profile_visits(CITY, AREA, method=method), make(counts, range(8)))
    assert same(profile_visits(CITY, AREA, method=method, train=5), make(counts, range(5)))
    days = count_visits(CITY, AREA, full_periods(CITY, period="day", weekdays_only=True))
    ours = profile_visits(CITY, AREA, method=method, period="day", weekdays_only=True)
    assert same(ours, make(days, range(len(days.periods))))


def test_devices_predict_by_the_logistic_profile_and_so_does_this() -> None:
    assert same(profile_visits(CITY, AREA), profile_visits(CITY, AREA, method="logistic"))
    constants = LogisticConstants("week", (0.5,) * 7)
    ours = profile_visits(CITY, AREA, constants=constants)
    assert same(ours, logistic(count_visits(CITY, AREA, WEEKS), range(8), constants))


def test_recency_takes_the_half_life_that_is_given_or_chooses_one_for_the_threshold() -> None:
    counts = count_visits(CITY, AREA, WEEKS)
    ours = profile_visits(CITY, AREA, method="recency", half_life_periods=3.0)
    assert same(ours, recency(counts, range(8), 3.0))
    chosen = {delta: suggest_half_life(counts, range(8), delta).half_life_periods for delta in (0.5, 0.97)}
    assert chosen[0.5] != chosen[0.97]
    assert same(profile_visits(CITY, AREA, method="recency"), recency(counts, range(8), chosen[0.5]))
    stricter = profile_visits(CITY, AREA, method="recency", delta=0.97)
    assert same(stricter, recency(counts, range(8), chosen[0.97]))


def test_the_first_day_may_be_given_and_thin_ends_stay_where_the_training_periods_are() -> None:
    later = date(2024, 1, 15)
    ours = profile_visits(CITY, AREA, method="poisson", start=later)
    assert same(ours, poisson(count_visits(CITY, AREA, Periods(later, 6)), range(6)))
    # 30 people in the third week, and one of them in each of the first two.
    visits = on(0, 7, *[14] * 30, 20, users=[0, 0, *range(30), 0])
    assert profile_visits(visits, SQUARES, method="frequency").train == range(1)
    assert profile_visits(visits, SQUARES, method="frequency", train=3).of(0) == pytest.approx(
        profile_visits(visits, SQUARES, method="frequency", train=2).of(0)
    )
    assert profile_visits(visits, SQUARES, method="frequency", train=3).of(29) != {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "mean"}, "method = 'mean': should be one of frequency, poisson, recency, logistic"),
        ({"method": "poisson", "half_life_periods": 3.0}, "applies only to the method 'recency'"),
        ({"half_life_periods": 3.0}, "applies only to the method 'recency'"),
        ({"method": "recency", "constants": LogisticConstants("week", (0.0,) * 7)}, "apply only to .* 'logistic'"),
        ({"train": 9}, r"train = range\(0, 9\)"),
        ({"train": 0}, r"train = range\(0, 0\)"),
        ({"period": "month"}, "period = 'month': should be one of week, day"),
        ({"start": "2024-01-01"}, "start = '2024-01-01': should be a date"),
        ({"delta": 1.0}, "delta = 1.0"),
    ],
)
def test_what_cannot_be_profiled_says_what_would_be_right(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        profile_visits(CITY, AREA, **options)
