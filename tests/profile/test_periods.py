"""Periods of local time."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.errors import InputError
from crowdveil.profile import OUTSIDE_PERIODS, Periods
from tests.profile.people import utc_s, visits_at

DAYS = st.dates(date(2012, 1, 1), date(2013, 12, 31))


def test_weeks_begin_on_the_start_date_at_local_midnight() -> None:
    weeks = Periods(date(2012, 4, 3), 2)
    times = [
        "2012-04-02T23:59:59",
        "2012-04-03",
        "2012-04-09T23:59:59",
        "2012-04-10",
        "2012-04-16T23:59:59",
        "2012-04-17",
    ]
    assert weeks.number([utc_s(t) for t in times]).tolist() == [-1, 0, 0, 1, 1, -1]
    assert OUTSIDE_PERIODS == -1


def test_the_same_moment_belongs_to_different_days_in_different_time_zones() -> None:
    visits = visits_at(["2012-04-04T01:00+09:00", "2012-04-03T12:00-04:00", "2012-04-03T16:00+00:00"])
    assert len(set(visits.utc_s.tolist())) == 1
    assert sorted(Periods(date(2012, 4, 3), 2, days=1).number(visits.local_s).tolist()) == [0, 0, 1]


@pytest.mark.parametrize(("day", "hours"), [(date(2012, 3, 11), 23), (date(2012, 11, 4), 25)], ids=["short", "long"])
def test_the_day_on_which_clocks_change_holds_all_of_its_hours_and_no_others(day: date, hours: int) -> None:
    zone = ZoneInfo("America/New_York")
    first = int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())
    moments = [datetime.fromtimestamp(first + 1800 * step, zone) for step in range(-2, 2 * hours + 2)]
    number = Periods(day, 1, days=1).number(visits_at([m.isoformat() for m in moments]).local_s)
    assert number.tolist() == [-1] * 2 + [0] * (2 * hours) + [-1] * 2


def test_weekdays_are_numbered_without_a_gap_over_the_weekend() -> None:
    days = Periods(date(2012, 4, 5), 4, days=1, weekdays_only=True)  # a Thursday
    times = [utc_s(f"2012-04-{day:02}T12:00") for day in range(4, 12)]
    assert days.number(times).tolist() == [-1, 0, 1, -1, -1, 2, 3, -1]
    assert days.rest(times).tolist() == [False, False, False, True, True, False, False, False]


def test_weeks_of_weekdays_keep_their_seven_days_and_lose_the_weekend() -> None:
    weeks = Periods(date(2012, 4, 3), 2, weekdays_only=True)
    times = [utc_s(f"2012-04-{day:02}T12:00") for day in (3, 6, 7, 8, 9, 10)]
    assert weeks.number(times).tolist() == [0, 0, -1, -1, 0, 1]


@given(DAYS, DAYS, st.sampled_from([1, 7]), st.booleans())
def test_numbers_are_those_of_counting_days_one_by_one(start: date, day: date, days: int, weekdays_only: bool) -> None:
    if weekdays_only and days == 1 and start.weekday() >= 5:
        start += timedelta(days=2)
    periods = Periods(start, 500, days=days, weekdays_only=weekdays_only)
    expected = -1
    if day >= start and not (weekdays_only and day.weekday() >= 5):
        between = [start + timedelta(days=k) for k in range((day - start).days)]
        skipped = sum(d.weekday() >= 5 for d in between) if weekdays_only and days == 1 else 0
        expected = (len(between) - skipped) // days
        expected = expected if expected < 500 else -1
    assert periods.number([utc_s(f"{day}T08:00")]).tolist() == [expected]


def test_times_beyond_all_calendars_are_outside() -> None:
    far = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    for weekdays_only in (False, True):
        assert Periods(date(2012, 4, 3), 5, 1, weekdays_only).number(far).tolist() == [-1, -1]


def test_a_split_teaches_on_the_first_periods_and_tests_on_the_next() -> None:
    assert Periods(date(2012, 4, 3), 45).split(40, 5) == (range(40), range(40, 45))
    assert Periods(date(2012, 4, 3), 2).split(1, 1) == (range(1), range(1, 2))
    assert len(Periods(date(2012, 4, 3), 45)) == 45
    assert len(Periods(date(2012, 4, 3), 100_000, days=1)) == 100_000


def test_a_start_with_a_time_of_day_is_the_same_as_its_date() -> None:
    assert Periods(datetime(2012, 4, 3, 17), 2) == Periods(date(2012, 4, 3), 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Periods("2012-04-03", 2), "start = '2012-04-03': should be a date"),  # type: ignore[arg-type]
        (lambda: Periods(date(2012, 4, 3), 0), "count = 0"),
        (lambda: Periods(date(2012, 4, 3), 100_001), "count = 100001: .* from 1 to 100,000"),
        (lambda: Periods(date(2012, 4, 3), 2.5), "count = 2.5"),  # type: ignore[arg-type]
        (lambda: Periods(date(2012, 4, 3), 2, days=3), r"days = 3: should be 1 \(days\) or 7"),
        (lambda: Periods(date(2012, 4, 7), 2, days=1, weekdays_only=True), "should be a weekday"),
        (lambda: Periods(date(2012, 4, 3), 5).split(4, 2), "at most 5, the number of periods"),
        (lambda: Periods(date(2012, 4, 3), 5).split(0, 2), "train = 0"),
        (lambda: Periods(date(2012, 4, 3), 5).split(2, 0), "test = 0"),
        (lambda: Periods(date(2012, 4, 3), 5).check("train", range(2, 2)), "one or more consecutive"),
        (lambda: Periods(date(2012, 4, 3), 5).check("train", range(0, 4, 2)), "one or more consecutive"),
        (lambda: Periods(date(2012, 4, 3), 5).check("train", range(6)), "within the 5 periods"),
    ],
)
def test_what_cannot_be_periods_is_refused_with_what_would_be_right(wrong: object, message: str) -> None:
    assert callable(wrong)
    with pytest.raises(InputError, match=message):
        wrong()
