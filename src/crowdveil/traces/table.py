"""Any CSV by the names of its columns. The delimiter (comma, tab or semicolon) is read off the heading."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crowdveil.errors import FileFormatError, InputError
from crowdveil.traces.clock import Clock, open_zone, read_times, utc_and_offset
from crowdveil.traces.gather import Gather, to_floats
from crowdveil.traces.open_any import Progress, csv_batches
from crowdveil.traces.visits import Visits


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
    """Read a CSV with a heading, plain, .gz or .xz.

    Times are ISO or Unix (seconds, or milliseconds by their size). `clock` says what an ISO time without offset means.
    Local time comes from the column `offset_minutes` or from the time zone `zone`; without either, from the offsets in
    the ISO times; without those it is UTC.
    """
    if clock not in ("utc", "local"):
        raise InputError("clock", clock, "should be 'utc' or 'local'")
    if clock == "local" and zone is None:
        raise InputError("clock", clock, "needs a zone: whose local time is it?")
    if zone is not None and offset_minutes is not None:
        raise InputError("zone", zone, "should not be given together with offset_minutes; they may disagree")
    names = [user, time, latitude, longitude] + ([offset_minutes] if offset_minutes is not None else [])
    gather = Gather(Path(path), f"a CSV with the columns {', '.join(names)}")
    wall = open_zone(zone) if zone is not None else None
    heading: list[str] | None = None
    for rows in csv_batches(gather.path, gather, progress=progress):
        if heading is None and rows:
            heading = [name.strip() for name in rows.pop(0)]
            places = [_place(gather.path, heading, name) for name in names]
        if heading is None:
            continue
        columns = gather.columns(rows, len(heading))
        who, when, *numbers = (columns[place] for place in places)
        utc_s, offset_s = utc_and_offset(*read_times(when), wall, clock)
        if offset_minutes is not None:
            offset_s = 60 * to_floats(numbers[2])
        gather.add(who, utc_s, offset_s, to_floats(numbers[0]), to_floats(numbers[1]))
    return gather.visits()


def _place(path: Path, heading: Sequence[str], name: str) -> int:
    found = [place for place, column in enumerate(heading) if column == name]
    if len(found) != 1:
        shown = ", ".join(heading)[:200]
        what = "no column" if not found else f"{len(found)} columns"
        raise FileFormatError(f"{path}: has {what} {name!r}; its first line reads: {shown}")
    return found[0]
