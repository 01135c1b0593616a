"""Which periods there are when nobody says so, and which of several places a user reports."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.batch import Engine, PeriodRange, ProfileSettings
from crowdveil.batch.graph import user_hash
from crowdveil.errors import InputError
from crowdveil.profile import Periods
from tests.batch.batches import NOON, SQUARES, batch, write_parquet

DAYS = st.dates(date(1970, 1, 5), date(2099, 12, 20))


@given(first=DAYS, more=st.integers(0, 1000), days=st.sampled_from([1, 7]), weekdays_only=st.booleans())
def test_periods_reach_from_the_first_visit_to_the_last(first: date, more: int, days: int, weekdays_only: bool) -> None:
    last = min(first + timedelta(days=more), date(2099, 12, 31))
    ends = np.array([(day - date(1970, 1, 1)).days * 86_400 for day in (first, last)])
    if weekdays_only and (first.weekday() > 4 or last.weekday() > 4):
        return
    period_range = PeriodRange(days, weekdays_only)
    found = period_range.found(*period_range.counting().number(ends).tolist())
    assert found.number(ends).tolist() == [0, len(found) - 1]
    assert found.start.weekday() == 0 if days == 7 else found.start == first
    assert found == Periods(found.start, len(found), days, weekdays_only)


def test_a_start_or_a_number_that_is_given_stays() -> None:
    assert PeriodRange(start=date(2024, 7, 4)).found(3, 9) == Periods(date(2024, 7, 4), 10)
    assert PeriodRange(start=date(2024, 7, 4), count=5).found(3, 4) == Periods(date(2024, 7, 4), 5)
    assert len(PeriodRange(count=5).found(3, 90)) == 5
    with pytest.raises(InputError, match="periods = 0: should be a whole number of periods"):
        PeriodRange(count=0)
    with pytest.raises(InputError, match="train = 0: should be a whole number of periods"):
        PeriodRange(train=0)
    with pytest.raises(InputError, match="train = 6: should be at most 5, the number of periods"):
        PeriodRange(count=5, train=6)


def test_a_date_far_from_all_others_does_not_stretch_the_periods(tmp_path: Path, duck: Engine) -> None:
    days = [*range(NOON, NOON + 60 * 86_400, 14_400), 946_684_800, 946_684_801, NOON + 5_000 * 86_400]
    users = [f"user {n % 7}" for n in range(len(days))]
    path = write_parquet(tmp_path / "t.parquet", user=users, time=days)
    for number, start in enumerate((None, date(2024, 7, 1))):
        done = batch(path, SQUARES, tmp_path / f"out {number}", period_range=PeriodRange(start=start), engine=duck)
        assert done.found.periods == Periods(date(2024, 7, 1), 10)
        early = 2 if start is None else 0  # before a start that is given, nothing is looked at
        told = {"date far from all others": 1 + early, "outside of the periods": 2 - early}
        assert done.left_out == {reason: rows for reason, rows in told.items() if rows}
        assert len(done.found.outlying) == 1 + early // 2
        assert done.found.rows == len(days) - 3
    every = batch(path, SQUARES, tmp_path / "every", period_range=PeriodRange(every_date=True), engine=duck)
    assert len(every.found.periods) > 1_900
    assert every.left_out == {}


def test_files_that_overlap_count_once_on_request(tmp_path: Path, duck: Engine) -> None:
    for name, first in (("a", 0), ("b", 40)):
        times = [NOON + 3_600 * hour for hour in range(first, first + 60)]
        write_parquet(tmp_path / f"{name}.parquet", user=["ann"] * 60, time=times)
    write_parquet(tmp_path / "c.parquet", user=["", "", "bob"], time=[NOON, NOON, NOON])
    files = sorted(tmp_path.glob("*.parquet"))
    twice = batch(files, SQUARES, tmp_path / "twice", engine=duck, part_bytes=1)
    once = batch(files, SQUARES, tmp_path / "once", engine=duck, part_bytes=1, distinct=True)
    assert (twice.found.rows, once.found.rows) == (121, 101)
    assert once.left_out == {"no user": 2, "same user, time and place again": 20}
    assert [row[:3] for row in once.visits] == [row[:3] for row in twice.visits]


def test_each_of_several_places_is_drawn_equally_often(tmp_path: Path, duck: Engine) -> None:
    """Chi-square of 3 places over 20,000 users, under a fixed seed: 2 degrees of freedom, 13.8 is 1 in 1000."""
    users, places = 20_000, [0, 4, 7]
    latitude, longitude = SQUARES.centres()
    where = np.tile(places, users)
    path = write_parquet(
        tmp_path / "t.parquet",
        user=[f"user {n // 3}" for n in range(3 * users)],
        latitude=latitude[where],
        longitude=longitude[where],
    )
    drawn: dict[int, dict[str, int]] = {}
    for seed in (0, 1):
        done = batch(
            path, SQUARES, tmp_path / "out", profile_settings=ProfileSettings("frequency", seed=seed), engine=duck
        )
        counts = done.found.reporters_at[places]
        assert counts.sum() == users
        assert ((counts - users / 3) ** 2 / (users / 3)).sum() < 13.8
        drawn[seed] = {row[0]: row[3] for row in done.places}
        assert drawn[seed] == {user: places[user_hash(seed, user) % 3] for user in drawn[seed]}
    same = sum(drawn[0][user] == drawn[1][user] for user in drawn[0]) / users
    assert same == pytest.approx(1 / 3, abs=0.02)
    # 5 % more for one place would be seen
    skewed = np.array([users / 3 * 1.05, users / 3 * 0.975, users / 3 * 0.975])
    assert ((skewed - users / 3) ** 2 / (users / 3)).sum() > 13.8
