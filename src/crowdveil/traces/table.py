"""Read any CSV or Parquet file by the names of its columns.

The heading of a CSV tells its delimiter (comma, tab or semicolon). A Parquet file is recognised by its first bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from crowdveil.errors import InputError
from crowdveil.extras import require_extra
from crowdveil.traces.clock import Clock, open_zone, read_times, utc_and_offset
from crowdveil.traces.trace_files import csv_batches, is_parquet
from crowdveil.traces.visit_builder import VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress


def read_table(
    path: str | Path,
    *,
    user: str = "user",
    time: str = "time",
    latitude: str = "latitude",
    longitude: str = "longitude",
    offset_minutes: str | None = None,
    zone: str | None = None,
    clock: Clock = "utc",
    progress: Progress | None = None,
) -> Visits:
    """Read a CSV with a heading, plain, .gz or .xz, or a Parquet file.

    Times are ISO or Unix (seconds, or milliseconds by their size), in Parquet also timestamps. `clock` says what an ISO
    time without offset, or a timestamp without time zone, means.
    Local time comes from the column `offset_minutes` or from the time zone `zone`; without either, from the offsets in
    the ISO times; without those it is UTC.
    """
    if clock not in ("utc", "local"):
        raise InputError("clock", clock, "should be 'utc' or 'local'")
    if clock == "local" and zone is None:
        raise InputError("clock", clock, "needs a zone; give the time zone of these local times")
    if zone is not None and offset_minutes is not None:
        raise InputError("zone", zone, "should not be given together with offset_minutes; they may disagree")
    numbers = [latitude, longitude] + ([offset_minutes] if offset_minutes is not None else [])
    names = [user, time, *numbers]
    wall = open_zone(zone) if zone is not None else None
    if is_parquet(Path(path)):
        require_extra("reading Parquet", "batch")
        from crowdveil.traces.parquet import parquet_batches  # DuckDB takes a while to load; most files are CSV

        builder = VisitBuilder(Path(path), f"a Parquet file with the columns {', '.join(names)}")
        batches = parquet_batches(builder, user, time, numbers, progress=progress)
    else:
        builder = VisitBuilder(Path(path), f"a CSV with the columns {', '.join(names)}")
        batches = _csv_columns(builder, names, progress)
    for who, when, *rest in batches:
        utc_s, offset_s = utc_and_offset(*read_times(when), wall, clock)
        if offset_minutes is not None:
            offset_s = 60 * to_floats(rest[2])
        builder.add(who, utc_s, offset_s, to_floats(rest[0]), to_floats(rest[1]))
    return builder.visits()


def _csv_columns(
    builder: VisitBuilder, names: Sequence[str], progress: Progress | None
) -> Iterator[list[tuple[str, ...]]]:
    heading: list[str] | None = None
    for rows in csv_batches(builder.path, builder, progress=progress):
        if heading is None and rows:
            heading = [name.strip() for name in rows.pop(0)]
            places = [builder.place(heading, name, "its first line reads") for name in names]
        if heading is not None:
            columns = builder.columns(rows, len(heading))
            yield [columns[place] for place in places]
