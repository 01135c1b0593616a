"""Read check-ins of Gowalla and Brightkite as published by SNAP: tab-separated.

    user  2010-10-19T23:55:27Z  latitude  longitude  location id

The files do not state local time. `zone` applies to all users; without it local time is UTC. Brightkite writes (0, 0)
for an unknown position; such rows are dropped as "no fix (0, 0)".
"""

from __future__ import annotations

from pathlib import Path

from crowdveil.traces.clock import open_zone, read_iso, utc_and_offset
from crowdveil.traces.trace_files import line_batches
from crowdveil.traces.visit_builder import VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

EXPECTED = "5 tab-separated fields: user, time such as 2010-10-19T23:55:27Z, latitude, longitude, location id"


def read_snap(path: str | Path, *, zone: str | None = None, progress: Progress | None = None) -> Visits:
    """Read Gowalla or Brightkite check-ins."""
    builder = VisitBuilder(Path(path), EXPECTED)
    clock = open_zone(zone) if zone is not None else None
    for lines in line_batches(builder.path, encoding="utf-8", progress=progress):
        rows = [line.split("\t") for line in lines]
        user, time, latitude, longitude, _ = builder.columns(rows, 5)
        utc_s, offset_s = utc_and_offset(*read_iso(time), clock)
        builder.add(user, utc_s, offset_s, to_floats(latitude), to_floats(longitude))
    return builder.visits()
