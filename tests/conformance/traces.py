"""Files as phones export them, and the visits that the Python readers find in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from crowdveil.errors import CrowdveilError
from crowdveil.traces import read_gpx, read_table, read_timeline
from crowdveil.traces.visits import Visits

Case = dict[str, Any]

RECORDS = {
    "locations": [
        {"latitudeE7": 481000000, "longitudeE7": 115000000, "timestamp": "2024-03-04T08:00:00.123Z", "source": "WIFI"},
        {"latitudeE7": 481000000, "longitudeE7": 115000000, "timestamp": "2024-03-04T08:00:00.123Z", "source": "GPS"},
        {
            "latitudeE7": 481500000,
            "longitudeE7": 115600000,
            "timestampMs": "1709539200000",
            "activity": [{"a": [1, "]}"]}],
        },
        {"latitudeE7": 4815000000, "longitudeE7": 115600000, "timestampMs": "1709539200000"},
        {"latitudeE7": 0, "longitudeE7": 0, "timestamp": "2024-03-04T08:00:00Z"},
        {"longitudeE7": 115600000, "timestamp": "2024-03-04T08:00:00Z"},
        {"latitudeE7": 481500000, "longitudeE7": 115600000, "timestamp": "yesterday"},
        {"latitudeE7": 481500000, "longitudeE7": 115600000},
        {"latitudeE7": 481500000, "longitudeE7": 115600000, "timestamp": "1969-03-04T08:00:00Z"},
        7,
    ],
    "more": {"locations": [{"latitudeE7": 1}]},
}
MONTH = {
    "timelineObjects": [
        {
            "placeVisit": {
                "location": {"latitudeE7": 481000000, "longitudeE7": 115000000, "name": "Home"},
                "duration": {"startTimestamp": "2021-03-04T08:00:00.123Z", "endTimestamp": "2021-03-04T09:00:00Z"},
                "childVisits": [{"location": {"latitudeE7": 1, "longitudeE7": 1}}],
            }
        },
        {
            "activitySegment": {
                "startLocation": {"latitudeE7": 481000000, "longitudeE7": 115000000},
                "endLocation": {"latitudeE7": 482000000, "longitudeE7": 116000000},
                "duration": {"startTimestampMs": "1614848400000", "endTimestampMs": "1614852000000"},
                "waypointPath": {"waypoints": [{"latE7": 481000000, "lngE7": 115000000}]},
                "simplifiedRawPath": {
                    "points": [
                        {"latE7": 481500000, "lngE7": 115500000, "timestampMs": "1614850000000"},
                        {"latE7": 481600000, "lngE7": 115600000, "timestamp": "2021-03-04T09:40:00Z"},
                        {"latE7": 481600000, "lngE7": 115600000},
                        7,
                    ]
                },
            }
        },
        {"placeVisit": {"duration": {"startTimestamp": "2021-03-04T08:00:00Z"}}},
        {"placeVisit": 7, "activitySegment": None},
        {"else": {}},
        "text",
    ]
}
SEGMENTS = [
    {
        "startTime": "2024-03-30T23:30:00.000+01:00",
        "endTime": "2024-03-31T04:30:00.000+02:00",
        "visit": {"topCandidate": {"placeLocation": {"latLng": "48.1°, 11.5°"}}},
    },
    {
        "startTime": "2024-03-31T04:30:00+02:00",
        "endTime": "2024-03-31T05:00:00+02:00",
        "activity": {"start": {"latLng": "48.1°, 11.5°"}, "end": {"latLng": "48.2°,11.6°"}},
    },
    {
        "startTime": "2024-03-31T05:00:00+02:00",
        "timelinePath": [
            {"point": "48.2°, 11.6°", "time": "2024-03-31T05:10:00+02:00"},
            {"point": "geo:48.25,11.61", "durationMinutesOffsetFromStartTime": "17"},
            {"point": "nowhere", "durationMinutesOffsetFromStartTime": "18"},
        ],
    },
    {
        "startTime": "2024-04-01T05:00:00-07:00",
        "visit": {"topCandidate": {"placeLocation": "geo:37.700000,-122.400000"}},
    },
    {"startTime": "2024-04-01T05:00:00-07:00", "visit": {}},
]
SIGNALS = [
    {"position": {"LatLng": "48.1°, 11.5°", "timestamp": "2024-03-30T23:30:00.000+01:00"}},
    {"position": {"latLng": "48.11°, -11.5°", "timestamp": "2024-03-30T23:31:00Z"}},
    {"wifiScan": {"deliveryTime": "2024-03-30T23:31:00Z"}},
]
GPX = """<?xml version="1.0" encoding="UTF-8"?>
<!-- <trkpt lat="1" lon="1"><time>2024-03-04T08:00:00Z</time></trkpt> -->
<gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1"><metadata><time>2020-01-01T00:00:00Z</time></metadata>
<wpt lat="48.1" lon='11.5'><name>a &gt; b</name><time>2024-03-04T08:00:00Z</time></wpt>
<trk><name><![CDATA[<trkpt lat="2" lon="2">]]></name><trkseg>
<trkpt lat="48.10" lon="11.50"><ele>500</ele><time> 2024-03-31T00:59:59.999Z </time></trkpt>
<trkpt lon="11.51" lat="48.11"><extensions><time>2021-01-01T00:00:00Z</time></extensions></trkpt>
<trkpt lat="48.12" lon="11.52"><time>2024-03-31T02:30:00+02:00</time></trkpt>
<trkpt lat="148.12" lon="11.52"><time>20240331T023000Z</time></trkpt>
<trkpt lat="48.13" lon="11.53"/>
</trkseg></trk><rte><rtept lat="-33.9" lon="151.2"><time>2024-10-27T00:30:00</time></rtept></rte></gpx>
"""
CSV = """user;time;latitude;longitude;note
me;2024-03-30 23:59:59;48.1;11.5;"a ""quoted""
note; with a line break"
me;2024-10-27T00:30:00+02:00;48.2;11.6;
 me ;1709539200;48.25;11.65;x
me;1709539200000;48.25;11.65;x

me;2024-02-30T00:00:00Z;48.25;11.65;x
me;2024-02-29;48.25;11.65;x
me;2024-02-29T07:08Z;48.25;  11.65 ;x
;2024-02-29T07:08Z;48.25;11.65;x
me;2024-02-29T07:08Z;48.25;11.65
me;2024-02-29T07:08Z;inf;11.65;x
me;2024-02-29T07:08Z;48.25;1165;x
me;2024-02-29T24:00:00Z;48.25;11.65;x
"""


def trace_cases(out: Path) -> Iterator[Case]:
    """Each file, in UTC, on the clock it states, and on that of a city."""
    table = partial(read_table, clock="utc")  # as the page takes times that state no offset
    files: list[tuple[str, str, Callable[..., Visits]]] = [
        ("records.json", json.dumps(RECORDS, indent=1), read_timeline),
        (
            "android.json",
            json.dumps({"semanticSegments": SEGMENTS, "rawSignals": SIGNALS}, ensure_ascii=False),
            read_timeline,
        ),
        ("iphone.json", json.dumps(SEGMENTS), read_timeline),
        ("2021_MARCH.json", json.dumps(MONTH), read_timeline),
        ("nothing.json", '{"locations": []}', read_timeline),
        ("cut.json", json.dumps(RECORDS)[:-40], read_timeline),
        ("track.gpx", GPX, read_gpx),
        ("cut.gpx", GPX[:-30], read_gpx),
        ("fixes.csv", CSV, table),
        ("comma.csv", "time,latitude,longitude,user\r\n2024-01-01T00:00:00Z,48.0,11.0,me\r\n", table),
        ("columns.csv", "when,lat,lon,user\n1,2,3,me\n", table),
    ]
    for name, text, reader in files:
        path = out / f"trace-{name}"
        path.write_text(text, encoding="utf-8", newline="")
        for zone in (None, "Europe/Berlin", "Asia/Kathmandu"):
            yield {"name": name, "text": text, "zone": zone, "visits": _read(reader, path, zone)}
        path.unlink()


def _read(reader: Callable[..., Visits], path: Path, zone: str | None) -> Case | None:
    try:
        visits = reader(path, zone=zone)
    except CrowdveilError:
        return None
    columns = (visits.utc_s, visits.offset_s, visits.latitude, visits.longitude)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {"rows": sorted(list(row) for row in rows), "dropped": dict(visits.dropped)}
