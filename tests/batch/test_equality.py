"""A batch gives what the code on a phone gives: visits, profiles, places, and the counts of what is lost."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.batch import COLUMN_NAMES, ColumnNames, Engine, PeriodRange, ProfileSettings, open_engine, save_fixes
from crowdveil.traces import synthetic_visits
from tests.batch.batches import (
    HEXAGONS,
    NOON,
    SOME_SQUARES,
    SQUARES,
    TOWERS,
    same,
    write_csv,
    write_parquet,
)
from tests.batch.odd_rows import odd_rows
from tests.profile.people import needs_new_york, new_york_visits

AREAS: dict[str, Area] = {"squares": SQUARES, "some": SOME_SQUARES, "hexagons": HEXAGONS, "towers": TOWERS}
ZONES = [
    "Europe/Berlin",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/Havana",
    "Pacific/Apia",
]
"""Summer time north and south, one of half an hour, quarters of an hour, changes at midnight, a day left out."""


def moments(zone: str) -> list[int]:
    """UTC seconds around every midnight and change of clock there, for some years."""
    place, found = ZoneInfo(zone), []
    day = datetime(2010, 12, 25, tzinfo=UTC)
    while day.year < 2013:
        offset = day.astimezone(place).utcoffset()
        assert offset is not None
        midnight = int(day.timestamp() - offset.total_seconds())
        found += [midnight + s for s in (-3601, -3600, -1800, -1, 0, 1, 1799, 1800, 3599, 3600)]
        day += timedelta(days=1)
    return found


@pytest.mark.parametrize("clock", ["utc", "local"])
@pytest.mark.parametrize("zone", ZONES)
def test_days_begin_at_the_zones_own_midnight(tmp_path: Path, duck: Engine, zone: str, clock: Any) -> None:
    times = moments(zone)
    texts = [datetime.fromtimestamp(s, UTC).strftime("%Y-%m-%dT%H:%M:%S") for s in times]
    path = write_csv(tmp_path / "t.csv", [("a", text, 48.15, 11.55) for text in texts])
    column_names = ColumnNames(zone=zone, clock=clock)
    period_range = PeriodRange(days=1, start=date(2011, 1, 3), count=500, weekdays_only=zone == "Pacific/Apia")
    same(path, SQUARES, tmp_path / "out", column_names=column_names, period_range=period_range, engine=duck)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_odd_rows_are_judged_as_the_readers_judge_them(tmp_path: Path, duck: Engine, zone: str | None) -> None:
    path = write_csv(tmp_path / "t.csv", odd_rows())
    done = same(
        path,
        SQUARES,
        tmp_path / "out",
        column_names=ColumnNames(zone=zone),
        period_range=PeriodRange(days=1),
        engine=duck,
    )
    assert len(done.left_out) > 7
    text = {
        name: [None if v is None else str(v) for v in column]
        for name, column in zip(("user", "time", "latitude", "longitude"), zip(*odd_rows(), strict=True), strict=True)
    }
    packed = write_parquet(tmp_path / "t.parquet", **text)
    again = same(
        packed,
        SQUARES,
        tmp_path / "out2",
        column_names=ColumnNames(zone=zone),
        period_range=PeriodRange(days=1),
        engine=duck,
    )
    assert (again.visits, again.left_out) == (done.visits, done.left_out)


def test_offsets_of_a_column_are_judged_too(tmp_path: Path, duck: Engine) -> None:
    offsets = [
        "60",
        "-210",
        "345",
        "1080",
        "1080.008",
        "-1080",
        "1080.1",
        "x",
        "",
        "2000",
        "0.4",
        "60.0001",
        "nan",
        "-720",
    ]
    rows = [
        (str(n), NOON + hour * 3600, 48.15, 11.55, offset) for n, offset in enumerate(offsets) for hour in range(24)
    ]
    path = write_csv(tmp_path / "t.csv", rows, ("user", "time", "latitude", "longitude", "offset"))
    same(
        path,
        SQUARES,
        tmp_path / "out",
        column_names=ColumnNames(offset_minutes="offset"),
        period_range=PeriodRange(days=1),
        engine=duck,
    )


MICROSECONDS = [NOON * 10**6, NOON * 10**6 + 999_999, -1, -(10**15), 4_102_444_800 * 10**6, 4_102_444_799_999_999, None]


@pytest.mark.parametrize(
    ("kind", "times"),
    [
        (pa.int64(), [NOON, NOON * 1000 + 999, -1, None, 2**63 - 1, -(2**63)]),
        (pa.uint32(), [NOON, 0, None]),
        (pa.float64(), [NOON + 0.9, float("nan"), float("inf"), -0.5, None, 1.72e12]),
        (pa.decimal128(18, 3), [NOON, None]),
        (pa.timestamp("s"), [NOON, -1, None, 2**33]),
        (pa.timestamp("ms", "Europe/Berlin"), [NOON * 1000 + 999, -1, None]),
        (pa.timestamp("us"), MICROSECONDS),
        (pa.timestamp("us", "UTC"), MICROSECONDS),
        (pa.timestamp("ns"), [NOON * 10**9 + 999_999_999, -(10**9), None]),
        (pa.date32(), [19_908, -1, 0, None, 47_482]),
        (pa.large_string(), ["2024-07-04T10:00:00+02:00", "2024-07-04", None, "x"]),
        (pa.dictionary(pa.int32(), pa.string()), ["2024-07-04T10:00:00+02:00", "1720087200", None]),
    ],
    ids=str,
)
def test_times_of_every_type_mean_the_same(tmp_path: Path, duck: Engine, kind: Any, times: list[Any]) -> None:
    path = write_parquet(tmp_path / "t.parquet", time=pa.array(times, kind), user=[str(n) for n in range(len(times))])
    column_names = ColumnNames(zone="Asia/Kathmandu", clock="local")
    same(path, SQUARES, tmp_path / "out", column_names=column_names, period_range=PeriodRange(days=1), engine=duck)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.int64(), pa.large_string(), pa.string()], ids=str)
def test_users_are_text_or_whole_numbers(tmp_path: Path, duck: Engine, kind: Any) -> None:
    users = [1, 0, 127] if pa.types.is_integer(kind) else ["b", " b", "\x7f"]
    same(write_parquet(tmp_path / "t.parquet", user=pa.array(users, kind)), SQUARES, tmp_path / "out", engine=duck)


CHOICES = [
    ProfileSettings("frequency", delta=0.2, seed=3),
    ProfileSettings("poisson", delta=0.3),
    ProfileSettings("recency", 2.5, delta=0.3, seed=-7),
    ProfileSettings("recency", float("inf"), delta=0.1, rule="target-aware", targets=(3, 4, 9)),
    ProfileSettings("poisson", delta=0.1, rule="target-aware", targets=tuple(range(4))),
]


@pytest.mark.parametrize(
    "profile_settings", CHOICES, ids=lambda profile_settings: f"{profile_settings.method}, {profile_settings.rule}"
)
@pytest.mark.parametrize("name", ["some", "hexagons"])
def test_profiles_and_places_are_those_of_the_formulas(
    tmp_path: Path, duck: Engine, profile_settings: ProfileSettings, name: str
) -> None:
    visits = synthetic_visits(np.random.default_rng(4), users=60, weeks=8, latitude=48.14, longitude=11.57)
    save_fixes([visits], tmp_path / "t.parquet")
    if max(profile_settings.targets, default=0) < len(AREAS[name]):
        same(
            tmp_path / "t.parquet", AREAS[name], tmp_path / "out", column_names=COLUMN_NAMES,
            period_range=PeriodRange(train=6), profile_settings=profile_settings,
            visits=visits, engine=duck,
        )  # fmt: skip


DAYS = st.integers(0, 40)
FIX = st.tuples(
    st.sampled_from(["a", "b", "c d", "é"]),
    DAYS,
    st.integers(0, 86_399),
    st.floats(48.07, 48.21),
    st.floats(11.47, 11.67),
    st.sampled_from(["", "Z", "+02:00", "-0930", "+05:45", "unix", "milliseconds", "noon"]),
)


def told(day: int, second: int, form: str) -> str:
    utc_s = NOON // 86_400 * 86_400 + day * 86_400 + second
    if form in ("unix", "milliseconds"):
        return str(utc_s * (1000 if form == "milliseconds" else 1))
    when = datetime.fromtimestamp(utc_s, UTC)
    return when.strftime("%Y-%m-%d") if form == "noon" else when.strftime("%Y-%m-%d %H:%M:%S") + form


@pytest.mark.long
@settings(max_examples=10)
@given(
    fixes=st.lists(FIX, min_size=1, max_size=60),
    area=st.sampled_from(sorted(AREAS)),
    zone=st.sampled_from([None, *ZONES]),
    days=st.sampled_from([1, 7]),
    weekdays_only=st.booleans(),
    start=st.sampled_from([None, date(2024, 7, 4), date(2024, 7, 12)]),
    count=st.sampled_from([None, 1, 4]),
    profile_settings=st.sampled_from(CHOICES[:3]),
)
def test_any_small_trace_in_mixed_forms_of_time(
    fixes: list[Any], area: str, zone: str | None, days: int, weekdays_only: bool, start: date | None,
    count: int | None, profile_settings: ProfileSettings,
) -> None:  # fmt: skip
    rows = [(user, told(day, second, form), lat, lon) for user, day, second, lat, lon, form in fixes]
    rows += sure(AREAS[area])
    with tempfile.TemporaryDirectory() as folder:
        path = write_csv(Path(folder) / "t.csv", rows)
        period_range = PeriodRange(days, weekdays_only, start, count)
        engine = open_engine("duckdb", threads=1)
        try:
            same(
                path,
                AREAS[area],
                Path(folder) / "out",
                column_names=ColumnNames(zone=zone),
                period_range=period_range,
                profile_settings=profile_settings,
                engine=engine,
            )
        finally:
            engine.close()


def sure(area: Area) -> list[tuple[str, str, float, float]]:
    """Fixes of which one is counted whatever else was drawn: on either day to start from, in every zone."""
    latitude, longitude = area.centres()
    return [("sure", f"2024-07-{day}T06:00:00Z", float(latitude[2]), float(longitude[2])) for day in ("04", "12")]


@pytest.mark.long
@needs_new_york
@pytest.mark.parametrize("kind", ["squares", "some squares", "hexagons", "towers"])
def test_new_york(tmp_path: Path, duck: Engine, kind: str) -> None:
    visits = new_york_visits()
    box = 40.65, -74.03, 40.82, -73.90
    area: Area = Grid.from_bounds(*box)
    if kind == "some squares":
        area = area.subset(range(0, len(area), 2))
    elif kind == "hexagons":
        area = Hexagons.from_bounds(*box)
    elif kind == "towers":
        generator = np.random.default_rng(1)
        area = Towers.from_positions(
            generator.uniform(box[0], box[2], 80), generator.uniform(box[1], box[3], 80), reach_km=2
        )
    save_fixes([visits], tmp_path / "t.parquet")
    period_range = (
        PeriodRange(7, start=date(2012, 4, 3), count=45, train=40)
        if kind == "squares"
        else PeriodRange(1, weekdays_only=True)
    )
    profile_settings = (
        ProfileSettings("recency", 4) if kind == "squares" else ProfileSettings("poisson", delta=0.05, seed=2)
    )
    done = same(
        tmp_path / "t.parquet", area, tmp_path / "out", column_names=COLUMN_NAMES,
        period_range=period_range, profile_settings=profile_settings,
        visits=replace(visits, dropped={}), engine=duck,
    )  # fmt: skip
    assert done.found.users == 1083
