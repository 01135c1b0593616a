"""DuckDB and Spark give the same: every row of visits, profile and places, and the prior, probabilities to 1e-12."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.batch import (
    COLUMN_NAMES,
    BatchJob,
    ColumnNames,
    Engine,
    PeriodRange,
    ProfileSettings,
    find_inputs,
    run,
    save_fixes,
)
from crowdveil.errors import FileFormatError
from crowdveil.traces import CitySettings, SyntheticCity, read_cabspotting, read_foursquare
from tests.batch.batches import HEADING, NOON, SQUARES, write_csv, write_parquet
from tests.batch.odd_rows import odd_rows
from tests.spark.sides import agree, say, scratch
from tests.traces.files import real

TYPES = [pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.date32(), pa.decimal128(18, 3)]
NEW_YORK_BOX = 40.65, -74.03, 40.82, -73.90


def job(
    path: Path,
    area: Area,
    column_names: ColumnNames = COLUMN_NAMES,
    period_range: PeriodRange | None = None,
    profile_settings: ProfileSettings | None = None,
) -> BatchJob:
    return BatchJob(
        find_inputs([str(path)], column_names),
        column_names,
        area,
        period_range or PeriodRange(),
        profile_settings or ProfileSettings(),
    )


@pytest.mark.parametrize(
    "profile_settings",
    [ProfileSettings("recency", 4), ProfileSettings("frequency", delta=0.3)],
    ids=lambda one: one.method,
)
def test_new_york(tmp_path: Path, spark: Engine, duck: Engine, profile_settings: ProfileSettings) -> None:
    save_fixes([read_foursquare(real("dataset_TSMC2014_NYC.txt.xz"))], tmp_path / "t.parquet")
    period_range = PeriodRange(start=date(2012, 4, 3), count=45, train=40)
    asked = job(
        tmp_path / "t.parquet",
        Grid.from_bounds(*NEW_YORK_BOX),
        period_range=period_range,
        profile_settings=profile_settings,
    )
    agree(f"New York, {profile_settings.method}", asked, duck, spark, tmp_path)


@pytest.mark.parametrize("kind", ["hexagons", "towers", "some squares"])
def test_new_york_in_other_cells(tmp_path: Path, spark: Engine, duck: Engine, kind: str) -> None:
    visits = read_foursquare(real("dataset_TSMC2014_NYC.txt.xz"))
    save_fixes([visits.where(visits.user < 200)], tmp_path / "t.parquet")
    area: Area = Grid.from_bounds(*NEW_YORK_BOX).subset(range(0, 200, 2))
    if kind == "hexagons":
        area = Hexagons.from_bounds(*NEW_YORK_BOX)
    elif kind == "towers":
        south, west, north, east = NEW_YORK_BOX
        generator = np.random.default_rng(1)
        area = Towers.from_positions(generator.uniform(south, north, 80), generator.uniform(west, east, 80), reach_km=2)
    profile_settings = ProfileSettings("poisson", delta=0.02, rule="target-aware", targets=(3, 17, 30))
    asked = job(
        tmp_path / "t.parquet",
        area,
        period_range=PeriodRange(days=1, weekdays_only=True),
        profile_settings=profile_settings,
    )
    agree(f"New York, {kind}", asked, duck, spark, tmp_path)


def test_san_francisco(tmp_path: Path, spark: Engine, duck: Engine) -> None:
    visits = read_cabspotting(real("cabspotting_5min.csv.xz"))
    save_fixes([visits], tmp_path / "t.parquet")
    area = Grid.from_bounds(37.70, -122.52, 37.82, -122.36, cell_km=0.5)
    asked = job(
        tmp_path / "t.parquet",
        area,
        period_range=PeriodRange(days=1),
        profile_settings=ProfileSettings("poisson", delta=0.5),
    )
    agree("San Francisco", asked, duck, spark, tmp_path)


@pytest.mark.parametrize("zone", [None, "Australia/Lord_Howe"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_odd_rows(tmp_path: Path, spark: Engine, duck: Engine, zone: str | None, kind: str) -> None:
    # a line break inside of quotes is one that Spark's reader of CSV does not know
    rows = [row for row in odd_rows() if "\n" not in str(row[0]) or kind == "parquet"]
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        write_csv(path, [*rows, ("short", NOON), ("long", NOON, 48.15, 11.55, 1), ("long", NOON, 48.15, 11.55, 1, 2)])
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + b"\r\n\r\n")
    else:
        columns = ([str(value) for value in column] for column in zip(*rows, strict=True))
        write_parquet(path, **dict(zip(HEADING, columns, strict=True)))
    agree(
        f"odd rows, {kind}, {zone}",
        job(path, SQUARES, ColumnNames(zone=zone), PeriodRange(days=1)),
        duck,
        spark,
        tmp_path,
    )


@pytest.mark.parametrize("clock", ["utc", "local"])
@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_times_of_every_type(tmp_path: Path, spark: Engine, duck: Engine, kind: pa.DataType, clock: str) -> None:
    scale = {"timestamp[us]": 10**6, "timestamp[ms, tz=UTC]": 1000}.get(str(kind), 1)
    times = [19_908, 19_909, None] if pa.types.is_date(kind) else [NOON * scale, NOON * scale + scale - 1, -1, None]
    path = write_parquet(tmp_path / "t.parquet", time=pa.array(times, kind), user=[str(n) for n in range(len(times))])
    column_names = ColumnNames(zone="Asia/Kathmandu", clock="local" if clock == "local" else "utc")
    agree(f"{kind}, {clock}", job(path, SQUARES, column_names, PeriodRange(days=1)), duck, spark, tmp_path)


def test_spark_says_that_it_reads_no_nanoseconds(tmp_path: Path, spark: Engine) -> None:
    path = write_parquet(tmp_path / "t.parquet", time=pa.array([NOON * 10**9], pa.timestamp("ns")))
    with pytest.raises(FileFormatError, match=r"t\.parquet: holds timestamps in nanoseconds, which Spark cannot read"):
        run(job(path, SQUARES, ColumnNames()), spark, tmp_path, lambda *_: None)


def test_a_million_users_with_one_fix_and_one_user_with_ten_million(
    tmp_path: Path, spark: Engine, duck: Engine
) -> None:
    many, day = 1_000_000, date(2024, 7, 1)
    with scratch(tmp_path / "large") as folder:
        for name, users, fixes in (("many", many, 1), ("one", 1, 10 * many)):
            path = folder / f"{name}.parquet"
            rows = users * fixes
            columns = {"user": np.arange(rows, dtype=np.int32) % users, "time": np.full(rows, NOON)}
            write_parquet(path, **columns, latitude=np.full(rows, 48.15), longitude=np.full(rows, 11.55))
            asked = job(path, SQUARES, ColumnNames(), PeriodRange(start=day, count=1), ProfileSettings("frequency"))
            agree(f"{users:,} users with {fixes:,} fixes each", asked, duck, spark, _made(folder / name))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_fifty_million_fixes(tmp_path: Path, spark: Engine, duck: Engine) -> None:
    area = Grid.from_bounds(47.93, 10.90, 48.07, 11.10)
    with scratch(tmp_path / "large") as folder:
        rows = save_fixes(SyntheticCity(6, 200_000, CitySettings(45)), folder / "t.parquet")
        say(f"50 million: {rows:,} synthetic fixes, {(folder / 't.parquet').stat().st_size / 1e9:.2f} GB")
        assert rows > 50_000_000
        asked = job(folder / "t.parquet", area, period_range=PeriodRange(start=date(2024, 1, 1), count=45, train=40))
        agree("50 million", asked, duck, spark, folder)
