"""Periods that choose themselves: no wrong date stretches them, and thin ends are cut off."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from crowdveil.errors import InputError
from crowdveil.profile import Periods, full_periods
from crowdveil.profile.activity import active_users, describe_thin_ends, lively_range, seen_in, start_of
from crowdveil.traces import Visits, synthetic_visits
from tests.profile.people import visits_at

DAY_S = 86_400
VISITS = synthetic_visits(np.random.default_rng(2), users=60, weeks=12)


def with_ends(before: int, after: int) -> Visits:
    """The city, with one user who was there for some weeks before and after all others."""
    first, last = int(VISITS.utc_s.min()), int(VISITS.utc_s.max())
    lonely = np.array([first - 7 * DAY_S * n for n in range(1, before + 1)])
    lonely = np.concatenate([lonely, [last + 7 * DAY_S * n for n in range(1, after + 1)]]).astype(np.int64)
    return Visits(
        VISITS.users,
        np.concatenate([VISITS.user, np.zeros(len(lonely), int)]),
        np.concatenate([VISITS.utc_s, lonely]),
        np.concatenate([VISITS.offset_s, np.full(len(lonely), 3600)]),
        np.concatenate([VISITS.latitude, np.full(len(lonely), 48.0)]),
        np.concatenate([VISITS.longitude, np.full(len(lonely), 11.0)]),
    )


def test_active_users_are_counted_as_one_would_by_hand() -> None:
    periods = Periods(date(2024, 1, 8), 5)
    number = periods.number(VISITS.local_s)
    assert active_users(VISITS, periods).tolist() == [len({*VISITS.user[number == n].tolist()}) for n in range(5)]


def test_everyone_counts_once_in_each_period_also_with_a_single_visit() -> None:
    days = [3, 3, 3, 5, 12, 3, 24]
    visits = visits_at([f"2012-04-{day:02}T12:00+00:00" for day in days], user=[0, 1, 2, 2, 2, 4, 4], users=5)
    assert active_users(visits, Periods(date(2012, 4, 3), 3)).tolist() == [4, 1, 0]
    assert active_users(visits, Periods(date(2012, 4, 3), 5)).tolist() == [4, 1, 0, 1, 0]


def test_someone_is_seen_in_some_periods_by_any_visit_in_them() -> None:
    days = [2, 3, 9, 10, 16, 17, 17]
    visits = visits_at([f"2012-04-{day:02}T12:00+00:00" for day in days], user=[0, 1, 2, 3, 4, 5, 1], users=7)
    weeks = Periods(date(2012, 4, 3), 3)
    expected = {
        range(1): [1, 2],
        range(1, 2): [3, 4],
        range(2, 3): [1, 5],
        range(2): [1, 2, 3, 4],
        range(3): [1, 2, 3, 4, 5],
    }
    for part, users in expected.items():
        assert seen_in(visits, weeks, part).tolist() == [user in users for user in range(7)]


def test_one_wrong_date_does_not_stretch_the_periods() -> None:
    utc_s = VISITS.utc_s.copy()
    utc_s[3] = 946_684_800  # 2000-01-01
    visits = Visits(VISITS.users, VISITS.user, utc_s, VISITS.offset_s, VISITS.latitude, VISITS.longitude)
    assert full_periods(visits) == full_periods(VISITS)
    assert len(full_periods(visits, every_date=True, thin_ends=True)) > 1_250


def test_thin_ends_are_cut_off_and_said_with_figures() -> None:
    visits = with_ends(4, 3)
    every, used = full_periods(visits, thin_ends=True), full_periods(visits)
    assert (len(every), len(used)) == (19, 12)
    assert used.start == start_of(every, 4)
    told = describe_thin_ends(visits, every, used)
    assert told is not None
    assert told.startswith("Of 19 weeks, 4 at the start and 3 at the end are not used: at most 1 people were active")
    assert describe_thin_ends(VISITS, used, used) is None


def test_what_is_not_used_is_said_in_days_and_weeks_with_the_usual_number_of_people() -> None:
    active = [1, 2, 8, 10, 11, 1, 1]
    days = [day for day, people in enumerate(active) for _ in range(people)]
    people = [person for number in active for person in range(number)]
    start = date(2012, 4, 3)
    for length, unit in ((1, "days"), (7, "weeks")):
        times = [f"{start + timedelta(days=length * day)}T12:00+00:00" for day in days]
        visits = visits_at(times, people, users=11)
        every, used = Periods(start, 7, length), Periods(start + timedelta(days=2 * length), 3, length)
        assert describe_thin_ends(visits, every, used) == (
            f"Of 7 {unit}, 2 at the start and 2 at the end are not used: at most 2 people were active in any of them, "
            "against 10 in a usual one. To use them, set the start and how many to learn from and to test on."
        )
        only_end = describe_thin_ends(visits, every, Periods(start, 5, length))
        assert only_end is not None
        assert only_end.startswith(f"Of 7 {unit}, 2 at the end are not used: at most 1 people were active")


def test_a_start_that_is_given_is_kept_and_only_the_end_is_cut() -> None:
    visits = with_ends(4, 3)
    begin = full_periods(visits, thin_ends=True).start
    assert full_periods(visits, start=begin) == Periods(begin, 16)


def test_the_ends_of_a_single_users_history_are_not_thin() -> None:
    alone = VISITS.where(VISITS.user == int(np.bincount(VISITS.user).argmax()))
    assert full_periods(alone) == full_periods(alone, thin_ends=True)


@pytest.mark.parametrize(
    ("active", "expected"),
    [
        ([1, 2, 100, 90, 80, 3], range(2, 5)),
        ([6, 100, 0, 0, 100, 6], range(6)),
        ([0, 0, 0], range(3)),
        ([0, 1, 1, 0], range(1, 3)),
        ([3, *[0] * 30, 100, 100], range(31, 33)),  # a busy period is one of those with anyone
        ([50, *[100] * 7, 1_000, 10_000, 49], range(10)),  # of ten in eleven, 1,000 is the busy one
    ],
)
def test_a_period_is_thin_below_a_twentieth_of_a_busy_one(active: list[int], expected: range) -> None:
    assert lively_range(np.array(active)) == expected


@pytest.mark.parametrize("weekdays_only", [True, False])
@pytest.mark.parametrize("days", [1, 7])
def test_the_start_of_a_period_is_its_first_day(days: int, weekdays_only: bool) -> None:
    periods = Periods(date(2024, 1, 4), 30, days, weekdays_only)
    for number in range(30):
        first = start_of(periods, number)
        assert periods.number([(first - date(1970, 1, 1)).days * DAY_S])[0] == number


def test_visits_in_one_week_say_that_days_would_do() -> None:
    week = VISITS.where(VISITS.local_s < VISITS.local_s.min() // DAY_S * DAY_S + 6 * DAY_S)
    with pytest.raises(InputError, match=r"0 full weeks from .*one to learn from, one to test on; use days instead"):
        full_periods(week, at_least=2)
    assert len(full_periods(week, period="day", at_least=2)) == 6
    with pytest.raises(InputError, match="visits = 0"):
        full_periods(week.where(np.zeros(len(week), dtype=bool)))
