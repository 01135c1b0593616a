"""Read Foursquare check-ins of New York and Tokyo (TSMC2014): tab-separated, latin-1.

    user  venue  category id  category  latitude  longitude  UTC offset in minutes  Tue Apr 03 18:00:09 +0000 2012

*Exact duplicates* (the whole line) are the same check-in sent twice; the first is kept.

*Odd offsets*: 456 rows of New York have UTC offsets that New York never uses; 407 of these are Tokyo's. They belong to
21 users, all with positions in New York, many in hotels and airports: probably phones of visitors that kept their home
time. Position and UTC are plausible, so these rows are kept. `offset_s` is what the file states, unless `zone` names
the city's own time zone; `count_odd_offsets` counts them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crowdveil.traces.clock import open_zone, read_iso, zone_offsets
from crowdveil.traces.trace_files import line_batches
from crowdveil.traces.visit_builder import DUPLICATE, VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

EXPECTED = (
    "8 tab-separated fields: user, venue, category id, category, latitude, longitude, "
    "UTC offset in minutes, time such as 'Tue Apr 03 18:00:09 +0000 2012'"
)
NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTHS = {name: f"{number:02}" for number, name in enumerate(NAMES, start=1)}


def read_foursquare(path: str | Path, *, zone: str | None = None, progress: Progress | None = None) -> Visits:
    """Read TSMC2014 check-ins; `zone` (such as 'America/New_York') replaces the file's offsets by that clock's."""
    builder = VisitBuilder(Path(path), EXPECTED)
    clock = open_zone(zone) if zone is not None else None
    seen: set[str] = set()
    for lines in line_batches(builder.path, encoding="latin-1", progress=progress):
        fresh = [line for line in dict.fromkeys(lines) if line not in seen]
        seen.update(fresh)
        builder.drop(DUPLICATE, len(lines) - len(fresh))
        rows = [line.split("\t") for line in fresh]
        user, _, _, _, latitude, longitude, minutes, time = builder.columns(rows, 8)
        utc_s, _ = read_iso([_as_iso(text) for text in time])
        offset_s = 60 * to_floats(minutes) if clock is None else np.nan_to_num(zone_offsets(clock, utc_s))
        builder.add(user, utc_s, offset_s, to_floats(latitude), to_floats(longitude))
    return builder.visits()


def count_odd_offsets(visits: Visits, zone: str) -> int:
    """Count visits whose offset the clock of `zone` never showed during the whole period."""
    offsets = zone_offsets(open_zone(zone), visits.utc_s.astype(np.float64))
    return int((~np.isin(visits.offset_s, np.unique(offsets).astype(np.int64))).sum())


def _as_iso(text: str) -> str:
    """Rewrite a time as ISO; `strptime` expects day and month names in the machine's language, and is slower."""
    offset = "Z" if text[20:25] == "+0000" else text[20:25]
    return f"{text[26:].strip()}-{MONTHS.get(text[4:7], '')}-{text[8:10]}T{text[11:19]}{offset}"
