"""Visits from data frames: the same as from a file of the same rows, or refused; never silently wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.errors import InputError
from crowdveil.traces import Visits, read_traces, synthetic_visits
from crowdveil.traces.frames import TOO_EARLY
from crowdveil.traces.visit_builder import (
    LATITUDE_RANGE,
    NO_USER,
    TIME_RANGE,
    UNREADABLE_POSITION,
    UNREADABLE_TIME,
)

LIBRARIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "lazy polars": lambda columns: pl.DataFrame(columns).lazy(),
}
EIGHT = datetime(2024, 3, 4, 8, tzinfo=UTC)
EIGHT_S = int(EIGHT.timestamp())


def frame(library: str = "pandas", **changed: Any) -> Any:
    columns: dict[str, Any] = {
        "user": ["ann", "bob", "ann"],
        "time": [EIGHT_S, EIGHT_S + 3600, EIGHT_S + 7200],
        "latitude": [48.1, 48.2, 48.3],
        "longitude": [11.5, 11.6, 11.7],
    }
    return LIBRARIES[library](columns | changed)


def same(one: Visits, other: Visits) -> bool:
    columns = ("user", "utc_s", "offset_s", "latitude", "longitude")
    equal = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)
    return equal and one.users == other.users and dict(one.dropped) == dict(other.dropped)


# --- the same from everywhere -----------------------------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_any_library_gives_the_same_visits(library: str) -> None:
    visits = Visits.from_frame(frame(library))
    assert visits.users == ("ann", "bob")
    assert visits.utc_s.tolist() == [EIGHT_S, EIGHT_S + 7200, EIGHT_S + 3600]
    assert visits.offset_s.tolist() == [0, 0, 0]
    assert visits.latitude.tolist() == [48.1, 48.3, 48.2]


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "7", " "]),
        st.datetimes(datetime(1975, 1, 1), datetime(2090, 1, 1)).map(lambda time: time.replace(microsecond=0)),
        st.floats(-100, 100) | st.none(),
        st.floats(-190, 190),
    ),
    min_size=1,
    max_size=8,
).filter(lambda rows: any(r[0].strip() and r[2] is not None and abs(r[2]) <= 90 and abs(r[3]) <= 180 for r in rows))


@settings(max_examples=40, deadline=None)
@given(rows=ROWS, zone=st.sampled_from([None, "Europe/Berlin"]))
def test_a_frame_and_a_csv_of_the_same_rows_give_the_same_visits_and_counts(
    rows: list[tuple[str, datetime, float | None, float]], zone: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    user, time, latitude, longitude = (list(column) for column in zip(*rows, strict=True))
    columns = {"user": user, "time": time, "latitude": latitude, "longitude": longitude}
    polars = pl.DataFrame(columns, schema_overrides={"latitude": pl.Float64})
    path = tmp_path_factory.mktemp("frames") / "visits.csv"
    polars.with_columns(pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:%SZ")).write_csv(path)
    try:
        from_file = read_traces(path, zone=zone, clock=None if zone is None else "utc")
    except ValueError:
        return  # every row was dropped, for (0, 0)
    pandas = pd.DataFrame({**columns, "latitude": np.array(latitude, dtype=float)})
    assert same(Visits.from_frame(pandas, zone=zone, clock="utc"), from_file)
    assert same(Visits.from_frame(polars, zone=zone, clock="utc"), from_file)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_visits_survive_the_way_into_a_frame_and_back(backend: Any) -> None:
    visits = synthetic_visits(1, users=5, weeks=2)
    again = Visits.from_frame(visits.to_frame(backend), offset_minutes="offset_minutes")
    columns = ("utc_s", "offset_s", "latitude", "longitude")
    for user in visits.users:
        mine, theirs = (one.user == one.users.index(user) for one in (visits, again))
        for name in columns:
            assert np.array_equal(getattr(visits, name)[mine], getattr(again, name)[theirs])


# --- times ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resolution", ["s", "ms", "us", "ns"])
def test_datetimes_of_any_resolution_are_the_same_instant(resolution: str) -> None:
    times = pd.to_datetime([EIGHT_S] * 3, unit="s", utc=True).as_unit(resolution)
    assert Visits.from_frame(frame(time=times)).utc_s.tolist() == [EIGHT_S] * 3


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_numbers_are_read_in_the_unit_that_is_given_or_that_only_fits(unit: Any, factor: int) -> None:
    times = [(EIGHT_S + 1) * factor - 1] * 3  # as a float, the last nanosecond of a second would be the next second
    assert Visits.from_frame(frame(time=times)).utc_s.tolist() == [EIGHT_S] * 3
    assert Visits.from_frame(frame(time=times), time_unit=unit).utc_s.tolist() == [EIGHT_S] * 3


def test_pandas_microseconds_are_never_read_as_seconds() -> None:
    stamps = pd.to_datetime(["2024-03-04T08:00:00"] * 3, utc=True)
    assert stamps.dtype == "datetime64[us, UTC]"
    assert Visits.from_frame(frame(time=stamps)).utc_s.tolist() == [EIGHT_S] * 3
    assert Visits.from_frame(frame(time=stamps.astype("int64"))).utc_s.tolist() == [EIGHT_S] * 3


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_columns_own_time_zone_is_kept(library: str) -> None:
    berlin = [datetime(2024, month, 4, 9, tzinfo=ZoneInfo("Europe/Berlin")) for month in (3, 7, 12)]
    if library == "pandas":
        times: Any = pd.DatetimeIndex(berlin)
    elif library == "polars":
        times = pl.Series(berlin).dt.convert_time_zone("Europe/Berlin")
    else:
        times = pa.array(berlin, pa.timestamp("us", "Europe/Berlin"))
    visits = Visits.from_frame(frame(library, user=["ann"] * 3, time=times))
    assert visits.offset_s.tolist() == [3600, 7200, 3600]
    assert visits.utc_s[0] == EIGHT_S


def test_a_fixed_offset_is_kept() -> None:
    times = pd.DatetimeIndex([datetime(2024, 3, 4, 2, 30, tzinfo=timezone(timedelta(hours=-5, minutes=-30)))] * 3)
    visits = Visits.from_frame(frame(time=times))
    assert visits.utc_s.tolist() == [EIGHT_S] * 3
    assert visits.offset_s.tolist() == [-19_800] * 3


def test_mixed_zones_each_keep_their_own() -> None:
    times = [datetime(2024, 3, 4, 9, tzinfo=ZoneInfo("Europe/Berlin")), EIGHT, "2024-03-04T17:00:00+09:00"]
    visits = Visits.from_frame(pd.DataFrame(frame(user=["ann"] * 3)).assign(time=pd.Series(times, dtype=object)))
    assert visits.utc_s.tolist() == [EIGHT_S] * 3
    assert sorted(visits.offset_s.tolist()) == [0, 3600, 32_400]


def test_a_zone_that_is_given_decides() -> None:
    visits = Visits.from_frame(frame(time=pd.to_datetime([EIGHT] * 3)), zone="Asia/Tokyo")
    assert visits.offset_s.tolist() == [32_400] * 3


NAIVE: dict[str, Any] = {
    "datetimes": [datetime(2024, 3, 4, 8)] * 3,
    "ISO text": ["2024-03-04 08:00:00"] * 3,
    "dates": [date(2024, 3, 4)] * 3,
    "one of several": ["2024-03-04T08:00:00Z", "2024-03-04T08:00:00", "2024-03-04T08:00:00Z"],
}


@pytest.mark.parametrize("kind", NAIVE)
def test_times_without_a_zone_need_a_word_about_it(kind: str) -> None:
    with pytest.raises(
        InputError, match=r"time \(column 'time'\) = '2024-03-04 0[08]:00:00': has no time zone; say clock"
    ):
        Visits.from_frame(frame(time=NAIVE[kind]))


def test_naive_times_are_utc_or_local_as_told() -> None:
    naive = frame(time=NAIVE["datetimes"])
    assert Visits.from_frame(naive, clock="utc", zone="Europe/Berlin").utc_s.tolist() == [EIGHT_S] * 3
    local = Visits.from_frame(naive, clock="local", zone="Europe/Berlin")
    assert local.utc_s.tolist() == [EIGHT_S - 3600] * 3
    assert local.offset_s.tolist() == [3600] * 3


@pytest.mark.parametrize(
    ("times", "options", "said"),
    [
        ([EIGHT_S] * 3, {"time_unit": "ms"}, "1970-01-20"),
        ([EIGHT_S] * 3, {"time_unit": "ns"}, "1970-01-01"),
        (pd.to_datetime([EIGHT_S] * 3, unit="us", utc=True), {}, "1970-01-01"),
        (["1970-01-01T00:28:31Z"] * 3, {}, "1970-01-01 00:28:31"),
    ],
)
def test_a_column_that_lands_in_1970_is_refused_as_a_wrong_unit(times: Any, options: Any, said: str) -> None:
    with pytest.raises(InputError, match="lies before 1971, like 3 of 3 rows: is the unit wrong") as error:
        Visits.from_frame(frame(time=times), **options)
    assert said in str(error.value)


@pytest.mark.parametrize("times", [[EIGHT_S, EIGHT_S * 1000, EIGHT_S], [1, 2, 3], [EIGHT_S, 0, EIGHT_S]])
def test_numbers_that_fit_no_single_unit_are_refused(times: list[int]) -> None:
    with pytest.raises(InputError, match="say time_unit='s'"):
        Visits.from_frame(frame(time=times))


def test_single_broken_times_are_dropped_and_counted() -> None:
    visits = Visits.from_frame(frame(time=[EIGHT_S, 0, EIGHT_S]), time_unit="s")
    assert (len(visits), dict(visits.dropped)) == (2, {TOO_EARLY: 1})
    late = Visits.from_frame(frame(time=[EIGHT_S, 5_000_000_000, EIGHT_S]), time_unit="s")
    assert dict(late.dropped) == {TIME_RANGE: 1}
    missing = Visits.from_frame(frame("polars", time=[EIGHT, None, EIGHT]))
    assert dict(missing.dropped) == {UNREADABLE_TIME: 1}


# --- rows that are dropped, columns that are refused --------------------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES)
def test_bad_rows_are_counted_under_the_readers_reasons(library: str) -> None:
    visits = Visits.from_frame(frame(library, user=["ann", None, "bob"]))
    assert dict(visits.dropped) == {NO_USER: 1}
    visits = Visits.from_frame(frame(library, latitude=[None, 91.0, 48.0]))
    assert dict(visits.dropped) == {UNREADABLE_POSITION: 1, LATITUDE_RANGE: 1}


def test_text_that_holds_numbers_is_read_and_other_text_is_dropped() -> None:
    visits = Visits.from_frame(frame(latitude=["48.1", "forty-eight", "48.3"]))
    assert visits.latitude.tolist() == [48.1, 48.3]
    assert dict(visits.dropped) == {UNREADABLE_POSITION: 1}


def test_nothing_usable_is_refused_with_the_reasons() -> None:
    with pytest.raises(InputError, match=r"frame = '3 rows': none of 3 rows can be used \(latitude out of range: 3\)"):
        Visits.from_frame(frame(latitude=[111.0, 112.0, 113.0], longitude=[48.0, 48.1, 48.2]))
    with pytest.raises(InputError, match="swapped"):
        Visits.from_frame(frame(latitude=[111.0, 112.0, 113.0], longitude=[48.0, 48.1, 48.2]))
    with pytest.raises(InputError, match="contains no rows"):
        Visits.from_frame(frame().iloc[:0])


@pytest.mark.parametrize(
    ("changed", "options", "said"),
    [
        ({}, {"time": "t"}, "time = 't': is not a column of the frame, which has user, time, latitude, longitude"),
        ({"user": [True, False, True]}, {}, "user (column 'user') = True: should be text or a whole number"),
        ({"user": [1.5, 2.0, 3.0]}, {}, "user (column 'user') = 1.5: should be text or a whole number"),
        ({"latitude": [True] * 3}, {}, "latitude (column 'latitude') = True: should be a number, not boolean"),
        ({"latitude": [EIGHT] * 3}, {}, "should be a number, not datetime"),
        ({"time": [True] * 3}, {}, "should be a datetime, ISO text or a number since 1970, not boolean"),
        ({"time": [timedelta(1)] * 3}, {}, "should be a datetime, ISO text or a number since 1970, not duration"),
        ({"time": [EIGHT] * 3}, {"time_unit": "s"}, "time_unit = 's': applies only to numbers"),
        ({}, {"time_unit": "m"}, "time_unit = 'm': should be one of s, ms, us, ns"),
        ({}, {"clock": "local"}, "clock = 'local': needs a zone"),
        ({}, {"zone": "Berlin"}, "zone = 'Berlin': should be a time zone name"),
        ({}, {"zone": "UTC", "offset_minutes": "o"}, "can't be combined with offset_minutes"),
    ],
)
def test_a_column_or_option_that_makes_no_sense_is_refused(
    changed: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as error:
        Visits.from_frame(frame(**changed), **options)
    assert said in str(error.value)


def test_what_is_no_frame_is_refused() -> None:
    values: list[Any] = [[1, 2], "visits.csv", {"user": []}, pd.Series([1])]
    for value in values:
        with pytest.raises(InputError, match=r"frame = '.*': should be a pandas or polars DataFrame"):
            Visits.from_frame(value)
    twice = pd.DataFrame([[1, 2]], columns=["user", "user"])
    with pytest.raises(InputError, match="should have each column once"):
        Visits.from_frame(twice)


def test_whole_numbers_and_missing_users_keep_their_names() -> None:
    visits = Visits.from_frame(frame(user=[7, None, 12]))
    assert visits.users == ("7", "12")
    assert dict(visits.dropped) == {NO_USER: 1}
    nullable = pd.DataFrame(frame()).assign(user=pd.array([7, None, 12], dtype="Int64"))
    assert Visits.from_frame(nullable).users == ("7", "12")
    category = pd.DataFrame(frame()).assign(user=pd.Categorical(["ann", "bob", "ann"]))
    assert Visits.from_frame(category).users == ("ann", "bob")


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(InputError, match="backend = 'excel': should be one of pandas, polars, pyarrow"):
        synthetic_visits(1, users=2, weeks=1).to_frame("excel")  # type: ignore[arg-type]


def test_without_any_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdveil.dataframes.find_spec", lambda _: None)
    visits = synthetic_visits(1, users=2, weeks=1)
    with pytest.raises(InputError, match="pip install pandas"):
        visits.to_frame()
    with pytest.raises(InputError, match="backend = 'polars': is not installed: pip install polars"):
        visits.to_frame("polars")


def test_reading_files_needs_no_path_object(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    frame().to_csv(path, index=False)
    assert same(read_traces(str(path)), Visits.from_frame(frame()))
