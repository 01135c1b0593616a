"""Compare profiling of many fixes with hand-written DuckDB, polars and scikit-mobility."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import date
from math import cos, radians, sin, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import polars as pl

from benchmarks.cases import Timing
from benchmarks.line import Line
from benchmarks.peers.environment import AbsentError, ask
from crowdveil import Grid
from crowdveil.area.plane import ECCENTRICITY_SQUARED, SEMI_MAJOR_M
from crowdveil.batch import (
    COLUMN_NAMES,
    BatchJob,
    BatchResult,
    PeriodRange,
    ProfileSettings,
    find_inputs,
    open_engine,
    run,
    save_fixes,
)
from crowdveil.traces import CitySettings, SyntheticCity

WEEKS, TRAIN = 45, 40
USERS, SLOW_USERS = 40_000, 400
RUNS = 3
MONDAY = date(2024, 1, 1)
DELTA = 0.7


def grid() -> Grid:
    """1 km squares over the synthetic city."""
    return Grid.from_bounds(47.92, 10.88, 48.08, 11.12, cell_km=1.0)


def profiling() -> Iterator[Line]:
    """Profiling against DuckDB by hand, polars and scikit-mobility."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        fixes = folder / "fixes.parquet"
        rows = save_fixes(SyntheticCity(7, USERS, CitySettings(WEEKS)), fixes)
        mine, theirs, in_polars = ([] for _ in range(3))
        for number in range(RUNS):  # in turns: what else the machine does hits all of them
            theirs.append(_seconds(by_hand, fixes, folder / f"hand-{number}"))
            mine.append(_seconds(ours, fixes, folder / f"ours-{number}"))
            in_polars.append(_seconds(by_polars, fixes, folder / f"polars-{number}"))
        agree = _totals(folder / "ours-0"), _totals(folder / "hand-0"), _totals(folder / "polars-0")
        timing, hand, polars = (Timing.of(one) for one in (mine, theirs, in_polars))
        same = "same" if _equal(*agree) else f"DIFFERENT: {agree}"
        what = f"profile {rows / 1e6:.1f} M fixes of {USERS:,} users"
        yield Line(
            f"{what}: times as long as hand-written DuckDB SQL",
            str(timing),
            str(hand),
            timing.median / hand.median,
            1.5,
            "at most",
            note=f"visits and profiles are the {same}",
            unequal="ours also checks every row for eleven faults, counts these, and writes what a rerun needs",
            figures={"rows": rows, "ours": mine, "theirs": theirs},
        )
        yield Line(
            f"{what}: polars, lazily",
            str(timing),
            str(polars),
            polars.median / timing.median,
            note=f"visits and profiles are the {same}",
            unequal="polars without the checks and counts of faults; its lottery among places is its own",
            why="a single pass without checks, all in memory; ours spills what does not fit",
            figures={"rows": rows, "theirs": in_polars},
        )
        yield _beside_skmob(folder, rows / timing.median)


def _seconds(algorithm: Callable[[Path, Path], object], fixes: Path, out: Path) -> float:
    start = time.perf_counter()
    algorithm(fixes, out)
    return time.perf_counter() - start


def _totals(folder: Path) -> tuple[int, int, int, float]:
    """Rows and visits, pairs and the sum of probabilities that one way wrote."""
    read = duckdb.connect().execute
    counted = "SELECT count(*), sum(visits)::BIGINT FROM read_parquet(?) WHERE cell IS NOT NULL"
    rows, total = read(counted, [f"{folder}/visits/*.parquet"]).fetchall()[0]
    summed = "SELECT count(*), sum(probability) FROM read_parquet(?)"
    pairs, probability = read(summed, [f"{folder}/profile/*.parquet"]).fetchall()[0]
    return rows, total, pairs, probability


def _equal(*found: tuple[int, int, int, float]) -> bool:
    return all(one[:3] == found[0][:3] and abs(one[3] - found[0][3]) < 1e-6 for one in found)


# --- the ways --------------------------------------------------------------------------------------------------


def ours(fixes: Path, out: Path) -> BatchResult:
    """`crowdveil profile`, without its command line."""
    out.mkdir()
    job = BatchJob(
        find_inputs([str(fixes)], COLUMN_NAMES),
        COLUMN_NAMES,
        grid(),
        PeriodRange(start=MONDAY, count=WEEKS, train=TRAIN),
        ProfileSettings(method="poisson", delta=DELTA, lower_deltas=()),  # what the others do by hand
    )
    engine = open_engine("duckdb", spill=out / ".spill")
    try:
        return run(job, engine, out, lambda _step, _share: None)
    finally:
        engine.close()


def by_hand(fixes: Path, out: Path) -> None:
    """What somebody would write who knows DuckDB well and needs it once."""
    for name in ("visits", "profile", "places"):
        (out / name).mkdir(parents=True)
    area, plane = grid(), _plane()
    first_x, first_y = area.first_centre_m
    sql = f"""
        SET preserve_insertion_order = false; SET enable_progress_bar = false;
        COPY (
            WITH angles AS (
                SELECT "user", time + CAST(60 * offset_minutes AS BIGINT) AS local_s, sin(radians(latitude)) AS s,
                    cos(radians(latitude)) AS c, radians(longitude) - {plane["longitude"]!r} AS turn
                FROM read_parquet('{fixes}') WHERE "user" IS NOT NULL AND time >= 0
                    AND latitude BETWEEN -90 AND 90 AND longitude BETWEEN -180 AND 180
            ), curved AS (
                SELECT *, {SEMI_MAJOR_M!r} / sqrt(1 - {ECCENTRICITY_SQUARED!r} * s * s) AS n FROM angles
            ), squares AS (
                SELECT "user", local_s // 86400 - {(MONDAY - date(1970, 1, 1)).days} AS day,
                    floor((n * c * sin(turn) - ({first_x})) / {area.cell_m} + 0.5) AS col,
                    floor(({plane["cos"]!r} * (n * {plane["flat"]!r} * s - {plane["up"]!r}) - {plane["sin"]!r}
                        * (n * c * cos(turn) - {plane["out"]!r}) - ({first_y})) / {area.cell_m} + 0.5) AS row
                FROM curved
            )
            SELECT "user", CAST(row * {area.columns} + col AS BIGINT) AS cell, day // 7 AS period, count(*) AS visits
            FROM squares WHERE col BETWEEN 0 AND {area.columns - 1} AND row BETWEEN 0 AND {area.rows - 1}
                AND day BETWEEN 0 AND {7 * WEEKS - 1}
            GROUP BY ALL
        ) TO '{out}/visits/one.parquet';
        COPY (
            SELECT "user", cell, sum(visits)::BIGINT AS visits, count(*) AS periods,
                1 - exp(-(sum(visits)::DOUBLE / {TRAIN}.0)) AS probability
            FROM read_parquet('{out}/visits/one.parquet') WHERE period < {TRAIN} GROUP BY ALL
        ) TO '{out}/profile/one.parquet';
        COPY (
            WITH frequent AS (
                SELECT "user", cell, row_number() OVER (PARTITION BY "user" ORDER BY cell) - 1 AS number,
                    count(*) OVER (PARTITION BY "user") AS places
                FROM read_parquet('{out}/profile/one.parquet') WHERE probability > {DELTA}
            )
            SELECT u."user", f.cell FROM (SELECT DISTINCT "user" FROM read_parquet('{out}/visits/one.parquet')) u
            LEFT JOIN (SELECT * FROM frequent WHERE number = hash("user") % places::UBIGINT) f USING ("user")
        ) TO '{out}/places/one.parquet';
    """
    with duckdb.connect() as connection:
        for one in filter(str.strip, sql.split(";")):
            connection.execute(one)
        connection.execute(f"SELECT cell, count(*) FROM read_parquet('{out}/places/one.parquet') GROUP BY 1").fetchall()


def by_polars(fixes: Path, out: Path) -> None:
    """The same, lazily, in polars."""
    for name in ("visits", "profile", "places"):
        (out / name).mkdir(parents=True)
    area, plane = grid(), _plane()
    s, c, turn = (pl.col(name) for name in ("s", "c", "turn"))
    n = SEMI_MAJOR_M / (1 - ECCENTRICITY_SQUARED * s * s).sqrt()
    y = plane["cos"] * (n * plane["flat"] * s - plane["up"]) - plane["sin"] * (n * c * turn.cos() - plane["out"])
    squares = (
        pl.scan_parquet(fixes)
        .filter(pl.col("latitude").is_between(-90, 90), pl.col("longitude").is_between(-180, 180), pl.col("time") >= 0)
        .select(
            "user",
            s=pl.col("latitude").radians().sin(),
            c=pl.col("latitude").radians().cos(),
            turn=pl.col("longitude").radians() - plane["longitude"],
            day=(pl.col("time") + (60 * pl.col("offset_minutes")).cast(pl.Int64)) // 86_400
            - (MONDAY - date(1970, 1, 1)).days,
        )
        .select(
            "user",
            "day",
            column=((n * c * turn.sin() - area.first_centre_m[0]) / area.cell_m + 0.5).floor().cast(pl.Int64),
            row=((y - area.first_centre_m[1]) / area.cell_m + 0.5).floor().cast(pl.Int64),
        )
        .filter(
            pl.col("column").is_between(0, area.columns - 1),
            pl.col("row").is_between(0, area.rows - 1),
            pl.col("day").is_between(0, 7 * WEEKS - 1),
        )
    )
    visits = (
        squares.group_by("user", cell=pl.col("row") * area.columns + pl.col("column"), period=pl.col("day") // 7)
        .agg(visits=pl.len().cast(pl.Int64))
        .collect()
    )
    visits.write_parquet(out / "visits" / "one.parquet")
    profile = (
        visits.filter(pl.col("period") < TRAIN)
        .group_by("user", "cell")
        .agg(pl.col("visits").sum(), periods=pl.len())
        .with_columns(probability=1 - (-(pl.col("visits") / TRAIN)).exp())
    )
    profile.write_parquet(out / "profile" / "one.parquet")
    frequent = profile.filter(pl.col("probability") > DELTA).sort("user", "cell")
    number = pl.int_range(pl.len()).over("user")
    chosen = frequent.filter(number == pl.col("user").hash(1) % pl.len().over("user")).select("user", "cell")
    places = visits.select("user").unique().join(chosen, on="user", how="left")
    places.write_parquet(out / "places" / "one.parquet")
    places.group_by("cell").len()


def _plane() -> dict[str, float]:
    """What of the projection is the same for every fix."""
    origin = grid().origin
    latitude = radians(origin.latitude_e7 / 1e7)
    prime = SEMI_MAJOR_M / sqrt(1 - ECCENTRICITY_SQUARED * sin(latitude) ** 2)
    flat = 1 - ECCENTRICITY_SQUARED
    return {
        "longitude": radians(origin.longitude_e7 / 1e7),
        "sin": sin(latitude),
        "cos": cos(latitude),
        "flat": flat,
        "up": prime * flat * sin(latitude),
        "out": prime * cos(latitude),
    }


# --- a peer of its own environment --------------------------------------------------------------------------------


def _beside_skmob(folder: Path, fixes_per_s: float) -> Line:
    what = "profile, fixes a second: scikit-mobility"
    (few,) = SyntheticCity(7, SLOW_USERS, CitySettings(WEEKS))
    try:
        found = ask(
            "skmob", user=few.user, time=few.utc_s + few.offset_s, latitude=few.latitude, longitude=few.longitude,
            start=np.datetime64(MONDAY).astype("datetime64[s]").astype(np.int64), box=[47.92, 10.88, 48.08, 11.12],
        )  # fmt: skip
    except AbsentError as error:
        return Line.without_peer(what, "scikit-mobility", str(error))
    theirs = Timing.of(found["seconds"].tolist())
    few_fixes = folder / "few.parquet"
    save_fixes([few], few_fixes)
    mine = Timing.of([_seconds(ours, few_fixes, folder / f"few-{n}") for n in range(RUNS)])
    return Line(
        what,
        f"{len(few) / mine.median:,.0f}/s of the same fixes, {fixes_per_s:,.0f}/s of many",
        f"{len(few) / theirs.median:,.0f}/s",
        theirs.median / mine.median,
        note=f"{len(few):,} fixes; it finds {int(found['pairs']):,} pairs of user and tile",
        unequal="it maps fixes to squares of Web Mercator by a spatial join, in memory; then pandas counts; it stops "
        "at the probabilities. Ours reads and writes files, and goes on to places and the prior",
        figures={"fixes": len(few), "ours": mine.median, "theirs": theirs.median},
    )
