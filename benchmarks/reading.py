"""Compare reading of many fixes with DuckDB's own reader of CSV, on a folder of GeoLife's layout."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np

from benchmarks.cases import Timing
from benchmarks.geolife_folder import Sizes, write_folder
from benchmarks.line import Line
from crowdveil.traces import read_geolife

SIZES = Sizes(users=60)
"""A third of the real data set: 8 million points in 6,180 files."""
RUNS = 3
COLUMNS = (
    "{'lat': 'DOUBLE', 'lon': 'DOUBLE', 'zero': 'VARCHAR', 'alt': 'VARCHAR', 'days': 'VARCHAR', 'date': 'DATE', "
    "'time': 'TIME'}"
)


def reading() -> Iterator[Line]:
    """Reading a folder of GeoLife's layout against DuckDB's reader of CSV."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_folder(folder, SIZES)
        mine, theirs = [], []
        for _ in range(RUNS):  # in turns: what else the machine does hits both
            seconds, columns = _timed(lambda: by_duckdb(folder))
            theirs.append(seconds)
            seconds, visits = _timed(lambda: read_geolife(folder))
            mine.append(seconds)
        timing, peer = Timing.of(mine), Timing.of(theirs)
        same = len(visits) == len(columns["utc_s"]) and np.isclose(visits.latitude.sum(), columns["lat"].sum())
        yield Line(
            f"read {SIZES.points / 1e6:.1f} M fixes of GeoLife's layout: times as long as DuckDB's reader of CSV",
            str(timing),
            str(peer),
            timing.median / peer.median,
            2.0,
            "at most",
            note=f"points and the sum of latitudes are the {'same' if same else 'DIFFERENT'}",
            unequal="ours also checks every row for nine faults, counts these, finds users and local time, and sorts",
            figures={"points": SIZES.points, "ours": mine, "theirs": theirs},
        )


def by_duckdb(folder: Path) -> dict[str, Any]:
    """What somebody would write who knows DuckDB well: numbers of files, times and positions as arrays."""
    files = sorted(map(str, folder.rglob("*.plt")))
    sql = (
        "SELECT file_index, epoch(date + time)::BIGINT AS utc_s, lat, lon FROM read_csv(?, auto_detect = false, "
        f"header = false, skip = 6, delim = ',', columns = {COLUMNS})"
    )
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        columns: dict[str, Any] = connection.execute(sql, [files]).fetchnumpy()
    return columns


def _timed(read: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = read()
    return time.perf_counter() - start, found
