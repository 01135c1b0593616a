"""Read call logs in the style of D4D: who called when through which tower, and a file of the towers' positions.

A row of the calls has user, time and tower id, separated by comma, tab or semicolon, with or without a heading. Times
are ISO, on the local clock of `zone` unless they state an offset, or Unix. Towers: either a heading that names the
columns (`NAMES` below, in any order, others ignored), or no heading and id, latitude, longitude.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crowdveil.errors import FileFormatError
from crowdveil.traces.clock import open_zone, read_times, utc_and_offset
from crowdveil.traces.trace_files import csv_batches
from crowdveil.traces.visit_builder import UNKNOWN_TOWER, VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

EXPECTED = "3 fields: user, time, tower id (towers as in the tower file)"
EXPECTED_TOWERS = "tower positions: id, latitude, longitude, or a heading that names them"
NAMES = (
    ("id", "site_id", "tower_id", "tower", "antenna", "antenna_id"),
    ("lat", "latitude"),
    ("lon", "lng", "longitude"),
)


def read_calls(path: str | Path, towers: str | Path, *, zone: str = "UTC", progress: Progress | None = None) -> Visits:
    """Read a call log; each call is a visit at its tower. Calls through towers without a position are dropped."""
    wall = open_zone(zone)
    positions = read_towers(towers)
    number = {name: row for row, name in enumerate(positions)}
    degrees = np.array(list(positions.values()))
    builder = VisitBuilder(Path(path), EXPECTED)
    first = True
    for rows in csv_batches(builder.path, builder, progress=progress):
        if first and rows and len(rows[0]) == 3 and np.isnan(read_times([rows[0][1]])[0][0]):
            rows.pop(0)  # the heading
        first = first and not rows
        user, time, tower = builder.columns(rows, 3)
        at = np.array([number.get(name.strip(), -1) for name in tower], dtype=np.int64)
        known = at >= 0
        builder.drop(UNKNOWN_TOWER, int((~known).sum()))
        chosen = np.flatnonzero(known).tolist()
        utc_s, offset_s = utc_and_offset(*read_times([time[i] for i in chosen]), wall, "local")
        builder.add([user[i] for i in chosen], utc_s, offset_s, degrees[at[known], 0], degrees[at[known], 1])
    return builder.visits()


def read_towers(path: str | Path) -> dict[str, tuple[float, float]]:
    """Read latitude and longitude by tower id; a file with any error is refused, because calls depend on it."""
    path = Path(path)
    builder = VisitBuilder(path, EXPECTED_TOWERS)
    rows = [row for batch in csv_batches(path, builder) for row in batch]
    places = [0, 1, 2]
    lowered = [name.strip().lower() for name in rows[0]] if rows else []
    if any(name in lowered for name in NAMES[1]):
        found = [[lowered.index(name) for name in names if name in lowered] for names in NAMES]
        if not all(found):
            raise FileFormatError(
                f"{path}: its first line reads {', '.join(lowered)[:200]}; expected {EXPECTED_TOWERS}"
            )
        places = [one[0] for one in found]
        rows = rows[1:]
    positions: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows, start=1):
        if len(row) <= max(places):
            raise FileFormatError(f"{path}: row {number} has {len(row)} fields; expected {EXPECTED_TOWERS}")
        name, (latitude, longitude) = row[places[0]].strip(), to_floats([row[places[1]], row[places[2]]]).tolist()
        if not (abs(latitude) <= 90 and abs(longitude) <= 180):
            hint = " (are latitude and longitude swapped?)" if abs(longitude) <= 90 < abs(latitude) <= 180 else ""
            shown = f"{row[places[1]]}, {row[places[2]]}"[:80]
            raise FileFormatError(f"{path}: tower {name[:40]!r} at {shown} should be a position in degrees{hint}")
        if positions.setdefault(name, (latitude, longitude)) != (latitude, longitude):
            raise FileFormatError(f"{path}: tower {name[:40]!r} has two positions; each should have one")
    if not positions or builder.dropped.total():
        raise FileFormatError(f"{path}: contains no tower that can be read; expected {EXPECTED_TOWERS}")
    return positions
