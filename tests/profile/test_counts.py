"""Visits per user, cell and period."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.area import Grid
from crowdveil.errors import InputError
from crowdveil.profile import Counts, Periods, count_visits
from crowdveil.traces.visits import Visits
from tests.profile.people import SQUARES, START, counts_of, crowds, visits_at

WEEKS = Periods(START, 3)


def test_visits_are_counted_by_user_cell_and_week() -> None:
    times = ["2012-04-03T09:00-04:00", "2012-04-04T09:00-04:00", "2012-04-17T09:00-04:00", "2012-04-11T09:00-04:00"]
    counts = count_visits(visits_at(times, user=[0, 0, 0, 1], users=3), SQUARES, WEEKS)
    (middle,) = SQUARES.locate([40.71], [-73.985]).tolist()
    assert counts.user.tolist() == [0, 0, 1]
    assert counts.cell.tolist() == [middle] * 3
    assert counts.period.tolist() == [0, 2, 1]
    assert counts.visits.tolist() == [2, 1, 1]
    assert (counts.users, counts.cells, dict(counts.left_out)) == (3, len(SQUARES), {})


def test_weeks_are_counted_on_the_users_own_clock() -> None:
    late = "2012-04-09T22:00-04:00"  # the next week has begun in Greenwich, not in New York
    early = "2012-04-10T03:00+09:00"  # in Tokyo it has begun, in Greenwich not yet
    for time, week in ((late, 0), (early, 1)):
        assert count_visits(visits_at([time]), SQUARES, WEEKS).period.tolist() == [week]


def test_what_is_not_counted_is_said_once_for_each_visit() -> None:
    inside, outside = (40.71, -73.985), (41.5, -73.985)
    days = {
        "2012-04-03": inside,
        "2012-04-07": inside,
        "2013-01-02": inside,
        "2013-01-03": outside,
        "2012-04-08": outside,
    }
    visits = visits_at([f"{day}T12:00-04:00" for day in days])
    latitude = np.array([place[0] for _, place in sorted(days.items())])
    moved = Visits(visits.users, visits.user, visits.utc_s, visits.offset_s, latitude, visits.longitude)
    counts = count_visits(moved, SQUARES, Periods(START, 3, weekdays_only=True))
    assert dict(counts.left_out) == {"outside of the area": 2, "on a weekend": 1, "outside of the periods": 1}
    assert int(counts.visits.sum()) + sum(counts.left_out.values()) == len(visits)
    assert repr(counts) == "Counts(1 visits of 1 users in 9 cells, 3 periods, 4 left out)"


def test_no_visits_are_counts_of_nothing() -> None:
    counts = count_visits(visits_at([], users=2), SQUARES, WEEKS)
    assert (len(counts), counts.users) == (0, 2)
    assert [len(column) for column in counts.pairs(range(3))] == [0, 0, 0, 0]
    assert counts.empty_periods(range(1, 3)) == (1, 2)
    assert len(count_visits(visits_at([], users=0), SQUARES, WEEKS)) == 0


@settings(max_examples=50)
@given(st.randoms(use_true_random=False))
def test_the_order_of_visits_changes_nothing(chance: object) -> None:
    shuffle = np.random.default_rng(chance.randrange(2**32))  # type: ignore[attr-defined]
    user, when = shuffle.integers(0, 3, 60), shuffle.integers(1333425600, 1333425600 + 25 * 86400, 60)
    lat, lon = shuffle.uniform(40.69, 40.73, 60), shuffle.uniform(-74.01, -73.96, 60)
    zone = shuffle.choice([-18000, -14400, 0, 32400], 60)
    order = shuffle.permutation(60)
    one, two = (
        count_visits(Visits(("a", "b", "c"), user[o], when[o], zone[o], lat[o], lon[o]), SQUARES, WEEKS)
        for o in (np.arange(60), order)
    )
    for name in ("user", "cell", "period", "visits"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert one.left_out == two.left_out


@given(crowds(), st.integers(0, 6), st.integers(1, 8))
def test_sums_over_periods_are_those_of_a_plain_loop(rows: list[tuple[int, int, int]], first: int, length: int) -> None:
    part = range(first, min(first + length, 8))
    expected: dict[tuple[int, int], list[int]] = {}
    for user, cell, period in sorted(rows):
        if period in part:
            expected.setdefault((user, cell), []).append(period)
    pairs = counts_of(rows).pairs(part)
    assert list(zip(pairs.user.tolist(), pairs.cell.tolist(), strict=True)) == list(expected)
    assert pairs.visits.tolist() == [len(found) for found in expected.values()]
    assert pairs.periods.tolist() == [len(set(found)) for found in expected.values()]


def test_more_users_than_cells_are_not_mixed_up() -> None:
    counts = counts_of([(0, 1, 0), (0, 1, 1), (2, 0, 0), (4, 0, 1), (4, 1, 1), (4, 1, 1)], users=5, cells=2)
    assert [column.tolist() for column in counts.pairs(range(2))] == [
        [0, 2, 4, 4],
        [1, 0, 0, 1],
        [2, 1, 1, 2],
        [2, 1, 1, 1],
    ]
    assert counts.first_of_pairs().tolist() == [0, 2, 3, 4]


def test_periods_at_any_of_some_cells_count_once() -> None:
    rows = [(0, 0, 1), (0, 1, 1), (0, 1, 2), (0, 3, 3), (1, 1, 0), (1, 1, 4), (1, 1, 4), (2, 3, 2)]
    counts = counts_of(rows, users=4)
    assert counts.periods_at([0, 1], range(1, 5)).tolist() == [2, 1, 0, 0]
    assert counts.periods_at([3], range(8)).tolist() == [1, 0, 1, 0]
    assert counts.periods_at([2], range(8)).tolist() == [0, 0, 0, 0]


def test_periods_without_anybody_are_named() -> None:
    assert counts_of([(0, 0, 1), (1, 0, 3)], periods=5).empty_periods(range(5)) == (0, 2, 4)


def test_some_periods_of_counts_are_periods_of_them() -> None:
    counts = counts_of([(0, 0, 1)])
    for wrong in (counts.during, counts.pairs, counts.empty_periods):
        with pytest.raises(InputError, match=r"^part = range\(5, 9\)"):
            wrong(range(5, 9))


def test_counts_cannot_be_changed() -> None:
    counts = counts_of([(0, 0, 1)])
    with pytest.raises(ValueError, match="read-only"):
        counts.visits[0] = 7


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0, 0], [1, 1], [0, 0], [1, 1]), "each triple once"),
        (([1, 0], [1, 1], [0, 0], [1, 1]), "sorted by user"),
        (([0], [1], [0], [0]), "visits = 0"),
        (([0], [1], [0], [1.5]), "whole numbers"),
        (([0], [9], [0], [1]), "cell = 9"),
        (([0], [1], [0, 1], [1]), "^period = "),
        (([2], [1], [0], [1]), "^user = 2"),
        (([0], [4], [0], [1]), "^cell = 4"),
        (([0], [1], [3], [1]), "^period = 3"),
        (([0], [1], [0], [1, 1]), "^visits = "),
        (([[0]], [[1]], [[0]], [[1]]), "^user = .*one entry for each"),
    ],
)
def test_rows_that_are_not_counts_are_refused(columns: tuple[list[int], ...], message: str) -> None:
    user, cell, period, visits = (np.array(column) for column in columns)
    with pytest.raises(InputError, match=message):
        Counts(2, 4, WEEKS, user, cell, period, visits)


def test_numbers_of_visits_are_one_column_of_whole_numbers() -> None:
    one = np.array([0])
    with pytest.raises(InputError, match=r"^visits = .*: should be whole numbers$"):
        Counts(2, 4, WEEKS, one, one, one, [[1], [1, 2]])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^visits = .*: should be whole numbers$"):
        Counts(2, 4, WEEKS, one, one, one, np.array([1.0]))
    assert Counts(2, 4, WEEKS, one, one, one, np.array([2], dtype=np.uint8)).visits.tolist() == [2]


def test_there_may_be_no_users_but_there_is_a_cell() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert repr(Counts(0, 1, WEEKS, nothing, nothing, nothing, nothing)) == (
        "Counts(0 visits of 0 users in 1 cells, 3 periods)"
    )
    for users, cells in ((-1, 4), (3, 0)):
        with pytest.raises(InputError, match="at least 0 users and 1 cell"):
            Counts(users, cells, WEEKS, nothing, nothing, nothing, nothing)


def test_more_users_and_cells_than_can_be_numbered_are_refused() -> None:
    nothing = np.empty(0, dtype=np.int64)
    with pytest.raises(InputError, match="product below"):
        Counts(2**40, 10**6, Periods(START, 1000), nothing, nothing, nothing, nothing)
    with pytest.raises(InputError, match=r"^users, cells, periods = \[1099511627776, 1048576, 4\]: .* below 2\^62"):
        Counts(2**40, 2**20, Periods(START, 4), nothing, nothing, nothing, nothing)
    assert len(Counts(2**40, 2**20, Periods(START, 3), nothing, nothing, nothing, nothing)) == 0


def test_a_crowd_of_200_000_takes_memory_for_its_visits_only() -> None:
    """A dense users x cells x periods would be 200,000 · 10,000 · 45 numbers: 720 GB."""
    crowd, generator = 200_000, np.random.default_rng(7)
    area = Grid.from_bounds(40.0, -75.0, 40.9, -73.9)
    size, when = 2 * crowd, generator.integers(0, 45 * 7 * 86400, 2 * crowd) + 1333425600
    visits = Visits(
        tuple(map(str, range(crowd))),
        np.tile(np.arange(crowd), 2),
        when,
        np.zeros(size, dtype=np.int64),
        generator.uniform(40.0, 40.9, size),
        generator.uniform(-75.0, -73.9, size),
    )
    counts = count_visits(visits, area, Periods(START, 45))
    assert len(area) > 9_000
    assert int(counts.visits.sum()) + sum(counts.left_out.values()) == size
