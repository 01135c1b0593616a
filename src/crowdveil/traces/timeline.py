"""Read Google Timeline exports of one device.

Four forms exist: the older `Records.json` and monthly files of `Semantic Location History`, and the newer files that
Android and iPhone write themselves.

    Records.json   {"locations": [{"latitudeE7": 481000000, "longitudeE7": 115000000, "timestamp": "..."}]}
    by months      {"timelineObjects": [{"placeVisit": {...}}, {"activitySegment": {...}}]}, places as in Records.json
    Android        {"semanticSegments": [...], "rawSignals": [...]}, places as "48.1°, 11.5°"
    iPhone         [segment, ...], places as "geo:48.1,11.5"

A segment gives its stay (at its start), the two ends of its journey, and every point of its path. Segments repeat raw
signals, so equal positions at equal times count once. Local time is the offset in each time, or the clock of `zone`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.errors import FileFormatError
from crowdveil.traces.clock import open_zone, read_times, utc_and_offset
from crowdveil.traces.trace_files import read_bytes
from crowdveil.traces.visit_builder import DUPLICATE, VisitBuilder, to_floats
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Progress

EXPECTED = (
    'a Google Timeline export: Records.json with "locations", a month with "timelineObjects", or the phone\'s own with '
    '"semanticSegments" or "rawSignals", or a list of segments'
)
PLACE = re.compile(r"(?:geo:)?\s*(-?[\d.]+)\s*°?\s*,\s*(-?[\d.]+)\s*°?\s*")
Fix: TypeAlias = tuple[str, float, str, str]
"""Time, seconds after it, latitude, longitude; empty where missing."""


def read_timeline(
    path: str | Path, *, user: str = "device", zone: str | None = None, progress: Progress | None = None
) -> Visits:
    """Read the export of one device, whose only user is called `user`."""
    builder = VisitBuilder(Path(path), EXPECTED)
    clock = open_zone(zone) if zone is not None else None
    data = read_bytes(builder.path)
    try:
        found = list(_fixes(json.loads(data)))
    except (ValueError, RecursionError):
        raise FileFormatError(f"{path}: is not JSON; expected {EXPECTED}") from None
    fixes = list(dict.fromkeys(found))
    builder.drop(DUPLICATE, len(found) - len(fixes))
    times, after_s, latitude, longitude = zip(*fixes, strict=True) if fixes else ((), (), (), ())
    seconds, stated = read_times(times)
    utc_s, offset_s = utc_and_offset(seconds + np.array(after_s, dtype=np.float64), stated, clock)
    builder.add([user] * len(fixes), utc_s, offset_s, _degrees(latitude), _degrees(longitude))
    if progress:
        progress(len(data), len(data))
    return builder.visits()


def _degrees(values: tuple[str, ...]) -> FloatArray:
    """Read degrees, given plainly or as whole 1e-7 degrees marked E7."""
    scale = np.array([1e7 if value.endswith("E7") else 1.0 for value in values], dtype=np.float64)
    degrees: FloatArray = to_floats([value.removesuffix("E7") for value in values]) / scale
    return degrees


def _fixes(data: Any) -> Iterator[Fix]:
    if isinstance(data, dict):
        for record in _list(data.get("locations")):
            yield _record(_dict(record))
        for month in _list(data.get("timelineObjects")):
            yield from _month(_dict(month))
        for signal in _list(data.get("rawSignals")):
            # wifi scans and activity records are signals without a position, not errors
            if "position" in _dict(signal):
                position = _dict(_dict(signal)["position"])
                yield _fix(position.get("timestamp"), position.get("LatLng", position.get("latLng")))
    segments = data.get("semanticSegments") if isinstance(data, dict) else data
    for segment in _list(segments):
        yield from _segment(_dict(segment))


def _record(record: dict[str, Any]) -> Fix:
    time = record.get("timestamp", record.get("timestampMs", ""))
    return _whole(time, record.get("latitudeE7", ""), record.get("longitudeE7", ""))


def _month(found: dict[str, Any]) -> Iterator[Fix]:
    """Yield the positions of a stay or a journey of a monthly file."""

    def at(time: str, of: dict[str, Any], place: str) -> Fix:
        duration, where = _dict(of.get("duration")), _dict(of.get(place))
        when = duration.get(f"{time}Timestamp", duration.get(f"{time}TimestampMs", ""))
        return _whole(when, where.get("latitudeE7", ""), where.get("longitudeE7", ""))

    if "placeVisit" in found:
        yield at("start", _dict(found["placeVisit"]), "location")
    if "activitySegment" in found:
        journey = _dict(found["activitySegment"])
        yield at("start", journey, "startLocation")
        yield at("end", journey, "endLocation")
        for point in map(_dict, _list(_dict(journey.get("simplifiedRawPath")).get("points"))):
            time = point.get("timestamp", point.get("timestampMs", ""))
            yield _whole(time, point.get("latE7", ""), point.get("lngE7", ""))


def _whole(time: Any, latitude: Any, longitude: Any) -> Fix:
    """Make a fix of whole 1e-7 degrees."""
    return str(time), 0.0, f"{latitude}E7", f"{longitude}E7"


def _segment(segment: dict[str, Any]) -> Iterator[Fix]:
    start, end = segment.get("startTime"), segment.get("endTime")
    if "visit" in segment:
        yield _fix(start, _dict(_dict(segment["visit"]).get("topCandidate")).get("placeLocation"))
    if "activity" in segment:
        activity = _dict(segment["activity"])
        yield _fix(start, activity.get("start"))
        yield _fix(end, activity.get("end"))
    for point in map(_dict, _list(segment.get("timelinePath"))):
        minutes = float(to_floats([str(point.get("durationMinutesOffsetFromStartTime", "0"))])[0])
        yield _fix(point.get("time", start), point.get("point"), 60 * minutes)


def _fix(time: Any, place: Any, after_s: float = 0.0) -> Fix:
    text = place.get("latLng", "") if isinstance(place, dict) else place
    match = PLACE.fullmatch(text.strip()) if isinstance(text, str) else None
    latitude, longitude = match.groups() if match else ("", "")
    return str(time), after_s, latitude, longitude


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
