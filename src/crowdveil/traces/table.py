"""Read any CSV or Parquet file by the names of its columns.

The heading of a CSV tells its delimiter (comma, tab or semicolon). A Parquet file is recognised by its first bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.extras import has_extra, require_extra
from crowdveil.traces.clock import Clock, open_zone, read_times, show_seconds, utc_and_offset
from crowdveil.traces.layout import Rows
from crowdveil.traces.trace_files import csv_batches, is_parquet
from crowdveil.traces.visit_builder import VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

LARGE_BYTES = 8_000_000
"""From this size on, DuckDB reads a file where it is installed; a smaller one is read before DuckDB is loaded."""


def read_table(
    path: str | Path,
    *,
    user: str = "user",
    time: str = "time",
    latitude: str = "latitude",
    longitude: str = "longitude",
    offset_minutes: str | None = None,
    zone: str | None = None,
    clock: Clock | None = None,
    progress: Progress | None = None,
) -> Visits:
    """Read a CSV with a heading, plain, .gz or .xz, or a Parquet file.

    Times are ISO or Unix (seconds, or milliseconds by their size), in Parquet also timestamps. `clock` says what an ISO
    time without offset, or a timestamp without time zone, means: "utc", or "local" time of `zone`. Where a zone is
    given and there are such times, it has to be said.
    Local time comes from the column `offset_minutes` or from the time zone `zone`; without either, from the offsets in
    the ISO times; without those it is UTC.
    """
    if clock not in (None, "utc", "local"):
        raise InputError("clock", clock, "should be 'utc' or 'local'")
    if clock == "local" and zone is None:
        raise InputError("clock", clock, "needs a zone; give the time zone of these local times")
    if zone is not None and offset_minutes is not None:
        raise InputError("zone", zone, "should not be given together with offset_minutes; they may disagree")
    numbers = [latitude, longitude] + ([offset_minutes] if offset_minutes is not None else [])
    names = [user, time, *numbers]
    wall = open_zone(zone) if zone is not None else None
    parquet = is_parquet(Path(path))
    kind = "Parquet file" if parquet else "CSV"

    def collect(parts: Callable[[VisitBuilder], Iterator[Rows | list[tuple[str, ...]]]]) -> Visits:
        builder = VisitBuilder(Path(path), f"a {kind} with the columns {', '.join(names)}")
        for part in parts(builder):
            _add(builder, part, wall, clock, offset_minutes is not None)
        return builder.visits()

    large = Path(path).stat().st_size >= LARGE_BYTES
    if parquet:
        require_extra("reading Parquet", "batch")
        from crowdveil.traces.parquet import parquet_batches, scan_parquet  # DuckDB takes a while to load

        read = scan_parquet if large else parquet_batches
        return collect(lambda builder: read(builder, user, time, numbers, progress=progress))
    if large and has_extra("batch"):
        from crowdveil.traces.csv_scan import NotForDuckDb, scan_csv

        try:
            return collect(lambda builder: scan_csv(builder, names, progress=progress))
        except NotForDuckDb:
            pass
    return collect(lambda builder: _csv_columns(builder, names, progress))


def _add(
    builder: VisitBuilder,
    part: Rows | list[tuple[str, ...]],
    wall: ZoneInfo | None,
    clock: Clock | None,
    has_offsets: bool,
) -> None:
    """Add rows that were read as numbers, or columns of text: user, time, latitude, longitude and perhaps offsets."""
    if not part:
        return
    if isinstance(part, list):
        who, when, *texts = part
        seconds, stated = read_times(when)
        numbers = [to_floats(column) for column in texts]
    else:
        seconds, stated, numbers = part.seconds, part.stated, part.numbers
    if wall is not None and clock is None:
        _refuse_unknown_clock(builder.path, wall, seconds, stated)
    utc_s, offset_s = utc_and_offset(seconds, stated, wall, clock or "utc")
    if has_offsets:
        offset_s = 60 * numbers[2]
    if isinstance(part, list):
        builder.add(who, utc_s, offset_s, numbers[0], numbers[1])
    else:
        builder.add_numbered(part.names, part.of_name, utc_s, offset_s, numbers[0], numbers[1])


def _refuse_unknown_clock(path: Path, wall: ZoneInfo, seconds: FloatArray, stated: FloatArray) -> None:
    without = np.isfinite(seconds) & np.isnan(stated)
    if without.any():
        first = show_seconds(float(seconds[without][0]))
        what = (
            f"times in {path}, such as {first}, state no offset from UTC; say 'local' if clocks in {wall.key} "
            "showed them, 'utc' if they are UTC"
        )
        raise InputError("clock", None, what)


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
