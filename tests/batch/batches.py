"""Batches run in a temporary folder, and the same from the code that runs on one phone."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.batch import (
    PART_BYTES,
    BatchJob,
    BatchResult,
    ColumnNames,
    Engine,
    PeriodRange,
    ProfileSettings,
    find_inputs,
    open_engine,
    run,
)
from crowdveil.batch.graph import user_hash
from crowdveil.profile import Periods, Profile, count_visits, frequency, logistic, poisson, recency
from crowdveil.profile.counts import Counts
from crowdveil.profile.logistic import TIME_SCALES
from crowdveil.profile.place import Place, choose_graded_place, choose_place
from crowdveil.traces import read_table
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import NULL

SQUARES = Grid.from_bounds(48.08, 11.48, 48.20, 11.66, cell_km=2)
SOME_SQUARES = SQUARES.subset([0, 3, 4, 5, 9, 10, 17, 22, 23, 24, 25, 30])
HEXAGONS = Hexagons.from_bounds(48.08, 11.48, 48.20, 11.66, resolution=7)
TOWERS = Towers.from_positions([48.10, 48.12, 48.15, 48.19], [11.50, 11.60, 11.55, 11.64], reach_km=6)

HEADING = ("user", "time", "latitude", "longitude")
NOON = 1_720_087_200
"""Thursday 2024-07-04 10:00 in UTC, noon in Berlin."""
SOUND = ("a", NOON, 48.15, 11.55)

Row = tuple[Any, ...]


class Batch(NamedTuple):
    """What a batch wrote, in order."""

    found: BatchResult
    visits: list[Row]
    profile: list[Row]
    places: list[Row]
    left_out: dict[str, int]


def rows_of(folder: Path, columns: str, where: str = "true") -> list[Row]:
    """Rows of a step's Parquet files, in the order of these columns."""
    with duckdb.connect() as connection:
        query = f"SELECT {columns} FROM read_parquet(?) WHERE {where} ORDER BY ALL"
        return connection.execute(query, [f"{folder}/*.parquet"]).fetchall()


def batch(
    traces: str | Path | Sequence[str | Path],
    area: Area,
    out: Path,
    *,
    column_names: ColumnNames | None = None,
    period_range: PeriodRange | None = None,
    profile_settings: ProfileSettings | None = None,
    part_bytes: int = PART_BYTES,
    distinct: bool = False,
    engine: Engine | None = None,
) -> Batch:
    """Run one into `out`, on a DuckDB of its own unless an engine is given."""
    patterns = [traces] if isinstance(traces, str | Path) else list(traces)
    column_names = column_names or ColumnNames()
    inputs = find_inputs([str(one) for one in patterns], column_names, out)
    job = BatchJob(
        inputs,
        column_names,
        area,
        period_range or PeriodRange(),
        profile_settings or ProfileSettings(),
        part_bytes,
        distinct,
    )
    opened = engine or open_engine("duckdb", threads=2)
    out.mkdir(exist_ok=True)
    try:
        found = run(job, opened, out, lambda *_: None)
    finally:
        if engine is None:
            opened.close()
    return Batch(
        found,
        rows_of(out / "visits", '"user", cell, period, visits', "left_out IS NULL"),
        rows_of(out / "profile", '"user", cell, visits, periods, probability'),
        rows_of(out / "places", '"user", cell, grade, frequent'),
        found.left_out,
    )


def read(path: Path, column_names: ColumnNames) -> Visits:
    """The same file by the reader of traces."""
    return read_table(path, **asdict(column_names))


def counted(visits: Visits, area: Area, periods: Periods) -> tuple[Counts, list[Row], dict[str, int]]:
    """Counts, as rows of names, and all that was dropped or left out."""
    counts = count_visits(visits, area, periods)
    columns = (counts.user, counts.cell, counts.period, counts.visits)
    rows = sorted((visits.users[user], *rest) for user, *rest in zip(*(c.tolist() for c in columns), strict=True))
    lost = Counter(dict(visits.dropped)) + Counter(dict(counts.left_out))
    return counts, rows, {reason: number for reason, number in lost.items() if number}


def profiled(counts: Counts, train: range, profile_settings: ProfileSettings) -> Profile:
    """The profile that the in-process code makes."""
    if profile_settings.method == "recency":
        assert profile_settings.half_life_periods is not None
        return recency(counts, train, profile_settings.half_life_periods)
    methods = {"frequency": frequency, "poisson": poisson, "logistic": logistic}
    return methods[profile_settings.method](counts, train)


def same(
    path: Path,
    area: Area,
    out: Path,
    *,
    column_names: ColumnNames | None = None,
    period_range: PeriodRange | None = None,
    profile_settings: ProfileSettings | None = None,
    visits: Visits | None = None,
    engine: Engine | None = None,
) -> Batch:
    """Run a batch, and assert that it is what reading, counting and profiling in memory give, step by step."""
    column_names, profile_settings = column_names or ColumnNames(), profile_settings or ProfileSettings()
    done = batch(
        path,
        area,
        out,
        column_names=column_names,
        period_range=period_range,
        profile_settings=profile_settings,
        engine=engine,
    )
    if visits is None:
        visits = read(path, column_names)
    counts, rows, lost = counted(visits, area, done.found.periods)
    assert done.visits == rows
    assert done.left_out == lost
    assert done.found.rows == counts.visits.sum()
    assert done.found.users == len(visits.users)
    profile = profiled(counts, done.found.train, profile_settings)
    columns = (profile.user.tolist(), profile.cell.tolist(), profile.probability.tolist())
    expected = sorted((visits.users[user], cell, p) for user, cell, p in zip(*columns, strict=True))
    assert [row[:2] for row in done.profile] == [row[:2] for row in expected]
    assert max((abs(row[4] - one[2]) for row, one in zip(done.profile, expected, strict=True)), default=0) <= 1e-12
    learnt_from = done.found.train
    if profile_settings.method == "logistic":
        history = TIME_SCALES["day" if counts.periods.days == 1 else "week"].history
        learnt_from = range(max(learnt_from.start, learnt_from.stop - history), learnt_from.stop)
    assert sum(row[2] for row in done.profile) == counts.during(learnt_from).visits.sum()
    chosen, expected_places = {}, []
    for user, name in enumerate(visits.users):
        (cell, grade), frequent = _place(profile.of(user), name, profile_settings)
        chosen[name] = cell
        placed = (None, None) if cell == NULL else (cell, grade)
        expected_places.append((name, *placed, None if frequent == NULL else frequent))
    assert done.places == sorted(expected_places)
    assert done.found.frequent == sum(row[3] is not None for row in expected_places)
    reporters_at = np.zeros(len(area), dtype=np.int64)
    np.add.at(reporters_at, [cell for cell in chosen.values() if cell != NULL], 1)
    assert done.found.reporters_at.tolist() == reporters_at.tolist()
    assert done.found.prior.tolist() == (reporters_at / max(1, reporters_at.sum())).tolist()
    return done


def _place(profile: dict[int, float], user: str, profile_settings: ProfileSettings) -> tuple[Place, int]:
    """The place with its grade, and the frequent place."""
    drawn = user_hash(profile_settings.seed, user)
    rule, targets = profile_settings.rule, list(profile_settings.targets) or None
    return (
        choose_graded_place(profile, profile_settings.thresholds, rule, targets, lambda places: drawn % places),
        choose_place(profile, profile_settings.delta, rule, targets, lambda places: drawn % places),
    )


def write_csv(
    path: Path, rows: Sequence[Sequence[object]], heading: Sequence[str] = HEADING, delimiter: str = ","
) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([heading, *rows])
    return path


def write_parquet(path: Path, **columns: Any) -> Path:
    """Columns by their names, as Arrow takes them; those of `HEADING` have sound rows unless given."""
    rows = max((len(column) for column in columns.values()), default=1)
    sound = {name: [value] * rows for name, value in zip(HEADING, SOUND, strict=True) if name not in columns}
    pq.write_table(pa.table({**sound, **columns}), path)
    return path
