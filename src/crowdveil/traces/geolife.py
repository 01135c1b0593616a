"""Read GeoLife trajectories: `000/Trajectory/20081023025304.plt` and so on, one folder per user.

Six lines of heading, then comma-separated: latitude, longitude, 0, altitude in feet, days since 1899-12-30, date, time.
Date and time are GMT. Local time is assumed to be that of `zone`: most users lived in Beijing, and the files do not
say who was abroad when.
"""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from crowdveil.traces.clock import open_zone, read_iso, utc_and_offset
from crowdveil.traces.trace_files import files_of, line_batches
from crowdveil.traces.visit_builder import VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

EXPECTED = (
    "a folder with USER/Trajectory/*.plt below it; after 6 lines of heading 7 comma-separated fields: "
    "latitude, longitude, 0, altitude, days, 2008-10-23, 02:53:04"
)
HEADING = 6


def read_geolife(path: str | Path, *, zone: str = "Asia/Shanghai", progress: Progress | None = None) -> Visits:
    """Read all users below a folder (`Geolife Trajectories 1.3`, its `Data`, or the folder of one user)."""
    builder = VisitBuilder(Path(path), EXPECTED)
    clock = open_zone(zone)
    # resolved, so that the folder of one user, given as ".", still has its name
    files = files_of(builder.path.resolve(), "*.plt", EXPECTED)
    for done, file in enumerate(files, start=1):
        name = (file.parent.parent if file.parent.name == "Trajectory" else file.parent).name
        lines = [line for batch in line_batches(file, encoding="latin-1") for line in batch]
        if len(lines) < HEADING:
            builder.drop("file without the heading")
        _add(builder, name, lines[HEADING:], clock)
        if progress:
            progress(done, len(files))
    return builder.visits()


def _add(builder: VisitBuilder, name: str, lines: list[str], clock: ZoneInfo) -> None:
    latitude, longitude, _, _, _, date, time = builder.columns([line.split(",") for line in lines], 7)
    utc_s, offset_s = utc_and_offset(*read_iso([f"{d}T{t}" for d, t in zip(date, time, strict=True)]), clock)
    builder.add([name] * len(latitude), utc_s, offset_s, to_floats(latitude), to_floats(longitude))
