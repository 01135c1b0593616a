"""Read traces in any format that this project knows, recognised by their content where it can be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from crowdveil.errors import FileFormatError, InputError
from crowdveil.traces.cabspotting import read_cabspotting
from crowdveil.traces.calls import read_calls
from crowdveil.traces.clock import Clock
from crowdveil.traces.foursquare import MONTHS, read_foursquare
from crowdveil.traces.geolife import read_geolife
from crowdveil.traces.gpx import read_gpx
from crowdveil.traces.several_files import find_trace_files, merge_visits
from crowdveil.traces.snap import read_snap
from crowdveil.traces.table import read_table
from crowdveil.traces.timeline import read_timeline
from crowdveil.traces.trace_files import is_parquet, is_text, line_batches, reading
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

TraceFormat: TypeAlias = Literal["table", "foursquare", "geolife", "cabspotting", "snap", "calls", "gpx", "timeline"]
"""The formats that can be read; `docs/reference/traces.md` describes each."""
TRACE_FORMATS: tuple[TraceFormat, ...] = get_args(TraceFormat)

COLUMNS = {"user": "user", "time": "time", "latitude": "latitude", "longitude": "longitude"}
"""The usual names of a table's columns."""
CABSPOTTING_COLUMNS = {"user", "utc", "lat", "lon", "occupied"}
START_CHARACTERS = 65_536
"""How much of a file's beginning decides its format."""


def read_traces(
    path: str | Path | Sequence[str | Path],
    *,
    format: TraceFormat | None = None,  # noqa: A002
    zone: str | None = None,
    user: str | None = None,
    time: str | None = None,
    latitude: str | None = None,
    longitude: str | None = None,
    offset_minutes: str | None = None,
    clock: Clock | None = None,
    towers: str | Path | None = None,
    progress: Progress | None = None,
) -> Visits:
    """Read visits from files or folders of any known format.

    Args:
        path: The file (plain, .gz or .xz), a folder (of tables, or of geolife or cabspotting), a pattern such as
            "exports/*.csv", or a list of these. Users of one name in several files are one person.
        format: "table" (CSV or Parquet by the names of columns), "foursquare", "geolife", "cabspotting", "snap",
            "calls", "gpx" or "timeline" (default: recognised by the content).
        zone: The time zone of all users, such as "Europe/Berlin" (default: what the format states, else UTC).
        user: For tables: the column of the user (default: "user").
        time: For tables: the column of the time, ISO or Unix (default: "time").
        latitude: For tables: the column of the latitude in degrees (default: "latitude").
        longitude: For tables: the column of the longitude in degrees (default: "longitude").
        offset_minutes: For tables: the column of local time minus UTC, in minutes.
        clock: For tables: what a time without offset means, "utc" or "local" (the clock of `zone`). It has to be said
            where there are such times and a zone is given; without a zone they are UTC.
        towers: For calls: the file with the positions of the towers (id, latitude, longitude).
        progress: Called with what is done and the total, in bytes of a file or files of a folder.

    Rows that cannot be used are counted by reason in `visits.dropped`. Rows that several files have are still there:
    `inspect_visits`, and so `compare`, leaves them out.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "visits.csv"
    ...     _ = file.write_text("user,time,latitude,longitude\\nann,2024-03-04T08:00:00Z,48.1,11.5\\n")
    ...     read_traces(file, zone="Europe/Berlin")
    Visits(1 of 1 users)
    """
    patterns = _named_paths(path)
    if format is not None and format not in TRACE_FORMATS:
        raise InputError("format", format, f"should be one of {', '.join(TRACE_FORMATS)}")
    files = find_trace_files(patterns)
    sizes = [one.stat().st_size if one.is_file() else 0 for one in files]
    parts = []
    for number, file in enumerate(files):
        report = progress
        if progress is not None and len(files) > 1:
            report = partial(_report_part, progress, sum(sizes[:number]), sizes[number], sum(sizes))
        parts.append(
            _read_one(
                file,
                format,
                zone,
                {"user": user, "time": time, "latitude": latitude, "longitude": longitude},
                offset_minutes,
                clock,
                towers,
                report,
            )
        )
    return merge_visits(parts)


def _named_paths(path: object) -> list[str | Path]:
    named = path if isinstance(path, list | tuple) else [path]
    if named and all(isinstance(one, str | PathLike) for one in named):
        return list(named)
    shown = type(path).__name__ if named else path
    raise InputError("path", shown, "should be files or folders; for a frame use Visits.from_frame")


def _report_part(progress: Progress, before: int, size: int, every: int, done: int, total: int) -> None:
    """Report the bytes of one file of several."""
    progress(before + round(size * done / max(1, total)), every)


def _read_one(
    path: Path,
    format: TraceFormat | None,  # noqa: A002
    zone: str | None,
    columns: Mapping[str, str | None],
    offset_minutes: str | None,
    clock: Clock | None,
    towers: str | Path | None,
    progress: Progress | None,
) -> Visits:
    for_tables = {**columns, "offset_minutes": offset_minutes, "clock": clock}
    kind = format or recognise_format(path, columns=columns, towers=towers)
    if kind != "table":
        _refuse(for_tables, f"applies only to tables; {path.name} is read as {kind}")
    if kind == "calls" and towers is None:
        raise InputError("towers", None, "call logs need the file with the positions of the towers")
    if kind != "calls":
        _refuse({"towers": towers}, f"applies only to call logs; {path.name} is read as {kind}")
    named = {} if zone is None else {"zone": zone}
    readers: dict[TraceFormat, Callable[[], Visits]] = {
        "table": lambda: read_table(
            path,
            **{name: columns[name] or usual for name, usual in COLUMNS.items()},
            offset_minutes=offset_minutes,
            zone=zone,
            clock=clock,
            progress=progress,
        ),
        "foursquare": lambda: read_foursquare(path, zone=zone, progress=progress),
        "geolife": lambda: read_geolife(path, **named, progress=progress),
        "cabspotting": lambda: read_cabspotting(path, **named, progress=progress),
        "snap": lambda: read_snap(path, zone=zone, progress=progress),
        "calls": lambda: read_calls(path, towers or "", **named, progress=progress),
        "gpx": lambda: read_gpx(path, zone=zone, progress=progress),
        "timeline": lambda: read_timeline(path, zone=zone, progress=progress),
    }
    try:
        return readers[kind]()
    except FileFormatError as error:
        if format is not None or "has no column" not in str(error):
            raise
        if not is_text(Path(path)):
            raise FileFormatError(f"{path}: is not text, nor a packed or Parquet file of traces") from None
        others = ", ".join(one for one in TRACE_FORMATS if one != "table")
        raise FileFormatError(f"{error} (name the columns, or the format if it is one of {others})") from None


def recognise_format(
    path: str | Path, *, columns: Mapping[str, str | None] | None = None, towers: str | Path | None = None
) -> TraceFormat:
    """Tell the format of a file or folder by its content; what looks like no other format is a table.

    Args:
        path: The file or folder.
        columns: Names of a table's columns; a file for which one is given is a table.
        towers: The positions of towers; a file for which they are given is a call log.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "walk.xml"
    ...     _ = file.write_text("<?xml version='1.0'?><gpx></gpx>")
    ...     recognise_format(file)
    'gpx'
    """
    path = Path(path)
    if path.is_dir():
        return _recognise_folder(path)
    if towers is not None:
        return "calls"
    if any((columns or {}).values()) or is_parquet(path):
        return "table"
    batches = line_batches(path, encoding="utf-8")
    lines = [line.removeprefix("\ufeff") for batch in islice(batches, 1) for line in batch]
    if not lines:
        return "table"
    start = "\n".join(lines)[:START_CHARACTERS].lstrip()
    if start.startswith("<"):
        if "<gpx" not in start.lower():
            raise FileFormatError(f"{path}: is XML but not GPX; {_known()}")
        return "gpx"
    if start.startswith(("{", "[")):
        return "timeline"
    return _recognise_lines(lines)


def _recognise_folder(path: Path) -> TraceFormat:
    with reading(path):
        if next(path.rglob("*.plt"), None) is not None:
            return "geolife"
        if next(path.rglob("new_*.txt"), None) is not None:
            return "cabspotting"
    what = "holds neither tables (.csv, .tsv, .parquet) nor *.plt (geolife) nor new_*.txt (cabspotting)"
    raise FileFormatError(f"{path}: {what}; {_known()}")


def _recognise_lines(lines: list[str]) -> TraceFormat:
    # several lines, because the first one may be damaged
    for fields in (line.split("\t") for line in lines[:20]):
        if len(fields) == 8 and fields[7][4:7] in MONTHS:
            return "foursquare"
        if len(fields) == 5 and _is_iso(fields[1]):
            return "snap"
    if {name.strip() for name in lines[0].split(",")} >= CABSPOTTING_COLUMNS:
        return "cabspotting"
    return "table"


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True


def _refuse(given: Mapping[str, object], why: str) -> None:
    for field, value in given.items():
        if value is not None:
            raise InputError(field, str(value), why)


def _known() -> str:
    return f"the formats are {', '.join(TRACE_FORMATS)}"
