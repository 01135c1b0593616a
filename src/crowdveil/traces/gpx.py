"""Read GPX tracks, routes and waypoints of one device: points with `lat`, `lon` and a `<time>`."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, iterparse

from crowdveil.errors import FileFormatError
from crowdveil.traces.clock import open_zone, read_iso, utc_and_offset
from crowdveil.traces.trace_files import read_bytes
from crowdveil.traces.visit_builder import VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

EXPECTED = 'a GPX file with points such as <trkpt lat="48.1" lon="11.5"><time>2024-03-04T08:00:00Z</time></trkpt>'
POINTS = ("trkpt", "rtept", "wpt")


def read_gpx(
    path: str | Path, *, user: str = "device", zone: str | None = None, progress: Progress | None = None
) -> Visits:
    """Read one GPX file (plain, .gz or .xz), whose only user is called `user`; GPX times are UTC."""
    builder = VisitBuilder(Path(path), EXPECTED)
    clock = open_zone(zone) if zone is not None else None
    data = read_bytes(builder.path)
    times: list[str] = []
    latitude: list[str] = []
    longitude: list[str] = []
    try:
        for _, element in iterparse(io.BytesIO(data)):
            if _local_name(element) in POINTS:
                times.append(_time(element))
                latitude.append(element.get("lat", ""))
                longitude.append(element.get("lon", ""))
                element.clear()
    except (ParseError, ValueError, LookupError) as error:
        # an unknown encoding is a LookupError, a multi-byte one a ValueError
        raise FileFormatError(f"{path}: is not well-formed XML ({error}); expected {EXPECTED}") from None
    utc_s, offset_s = utc_and_offset(*read_iso(times), clock)
    builder.add([user] * len(times), utc_s, offset_s, to_floats(latitude), to_floats(longitude))
    if progress:
        progress(len(data), len(data))
    return builder.visits()


def _local_name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _time(point: Element) -> str:
    return next((child.text or "" for child in point if _local_name(child) == "time"), "")
