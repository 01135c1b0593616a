"""Read traces of San Francisco cabs (Cabspotting, CRAWDAD epfl/mobility).

A folder of `new_NAME.txt`, newest fix first: latitude, longitude, occupied (0 or 1), Unix time, separated by blanks. Or
one CSV with the columns user, utc, lat, lon, occupied: the same fixes, thinned to one in five minutes. Times are UTC;
local time is that of `zone`. Whether the cab was occupied is ignored.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crowdveil.traces.clock import open_zone, utc_and_offset
from crowdveil.traces.table import read_table
from crowdveil.traces.trace_files import files_of, line_batches
from crowdveil.traces.visit_builder import VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

EXPECTED = (
    "a folder of new_*.txt with lines 'latitude longitude occupied unixtime', or a CSV: user,utc,lat,lon,occupied"
)


def read_cabspotting(
    path: str | Path, *, zone: str = "America/Los_Angeles", progress: Progress | None = None
) -> Visits:
    """Read the folder as published, or the thinned CSV (plain, .gz or .xz)."""
    builder = VisitBuilder(Path(path), EXPECTED)
    if not builder.path.is_dir():
        return read_table(path, time="utc", latitude="lat", longitude="lon", zone=zone, clock="utc", progress=progress)
    clock = open_zone(zone)
    files = files_of(builder.path, "new_*.txt", EXPECTED)
    for done, file in enumerate(files, start=1):
        for lines in line_batches(file, encoding="latin-1"):
            latitude, longitude, _, time = builder.columns([line.split() for line in lines], 4)
            unix_s = to_floats(time)
            utc_s, offset_s = utc_and_offset(unix_s, np.zeros_like(unix_s), clock)
            names = [file.stem.removeprefix("new_")] * len(latitude)
            builder.add(names, utc_s, offset_s, to_floats(latitude), to_floats(longitude))
        if progress:
            progress(done, len(files))
    return builder.visits()
