"""Read GeoLife trajectories: `000/Trajectory/20081023025304.plt` and so on, one folder per user.

Six lines of heading, then comma-separated: latitude, longitude, 0, altitude in feet, days since 1899-12-30, date, time.
Date and time are GMT. Local time is assumed to be that of `zone`: most users lived in Beijing, and the files do not
say who was abroad when.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from crowdveil.extras import has_extra
from crowdveil.traces.clock import open_zone, read_iso, utc_and_offset
from crowdveil.traces.layout import Layout
from crowdveil.traces.trace_files import files_of, line_batches
from crowdveil.traces.visit_builder import VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

EXPECTED = (
    "a folder with USER/Trajectory/*.plt below it; after 6 lines of heading 7 comma-separated fields: "
    "latitude, longitude, 0, altitude, days, 2008-10-23, 02:53:04"
)
HEADING = 6
LAYOUT = Layout(
    delimiter=",",
    skip=HEADING,
    columns={
        "latitude": "DOUBLE",
        "longitude": "DOUBLE",
        **dict.fromkeys(("zero", "altitude", "days", "date", "time"), "VARCHAR"),
    },
    utc_s="CASE WHEN date LIKE '____-__-__' AND time LIKE '__:__:__' AND time < '24' "
    "THEN epoch(try_cast(date AS DATE) + try_cast(time AS TIME)) END",
    text="concat_ws(',', latitude, longitude, zero, altitude, days, date, time)",
)
"""The rows for DuckDB."""


def read_geolife(path: str | Path, *, zone: str = "Asia/Shanghai", progress: Progress | None = None) -> Visits:
    """Read all users below a folder (`Geolife Trajectories 1.3`, its `Data`, or the folder of one user)."""
    builder = VisitBuilder(Path(path), EXPECTED)
    clock = open_zone(zone)
    # resolved, so that the folder of one user, given as ".", still has its name
    files = files_of(builder.path.resolve(), "*.plt", EXPECTED)
    if has_extra("batch"):
        _scan(builder, files, clock, progress)
    else:
        for done, file in enumerate(files, start=1):
            _read(builder, file, clock)
            if progress:
                progress(done, len(files))
    return builder.visits()


def _scan(builder: VisitBuilder, files: Sequence[Path], clock: ZoneInfo, progress: Progress | None) -> None:
    """Read the files with DuckDB, and in Python what it cannot read."""
    from crowdveil.traces.scan import scan_blocks  # DuckDB takes a while to load

    users = [_user(file) for file in files]
    names = list(dict.fromkeys(users))
    place = {name: number for number, name in enumerate(names)}
    of_file = np.array([place[user] for user in users], dtype=np.int64)
    for block in scan_blocks(builder.path.resolve(), files, LAYOUT):
        utc_s, offset_s = utc_and_offset(block.utc_s, np.zeros_like(block.utc_s), clock)
        builder.add_numbered(names, of_file[block.file], utc_s, offset_s, block.latitude, block.longitude)
        for number, lines in block.odd.items():
            _add(builder, users[number], [line for line in lines if line.strip()], clock)
        for number in block.whole:
            _read(builder, files[number], clock)
        if progress:
            progress(block.files_done, len(files))


def _user(file: Path) -> str:
    return (file.parent.parent if file.parent.name == "Trajectory" else file.parent).name


def _read(builder: VisitBuilder, file: Path, clock: ZoneInfo) -> None:
    lines = [line for batch in line_batches(file, encoding="latin-1") for line in batch]
    if len(lines) < HEADING:
        builder.drop("file without the heading")
    _add(builder, _user(file), lines[HEADING:], clock)


def _add(builder: VisitBuilder, name: str, lines: list[str], clock: ZoneInfo) -> None:
    # one comma too many at the end of a line is harmless, and DuckDB ignores it
    rows = [line.removesuffix(",").split(",") for line in lines]
    latitude, longitude, _, _, _, date, time = builder.columns(rows, 7)
    utc_s, offset_s = utc_and_offset(*read_iso([f"{d}T{t}" for d, t in zip(date, time, strict=True)]), clock)
    builder.add([name] * len(latitude), utc_s, offset_s, to_floats(latitude), to_floats(longitude))
