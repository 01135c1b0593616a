"""Folders and files of GPS fixes: GeoLife, Cabspotting, GPX, Google Timeline."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from crowdveil.errors import FileFormatError
from crowdveil.traces import read_cabspotting, read_geolife, read_gpx, read_timeline
from tests.traces.files import write

HEADING = ("Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3", "0,2,255,My Track,0,0,2,8421376", "0")
POINT = "39.984702,116.318417,0,492,39744.1201851852,2008-10-23,02:53:04"


def test_geolife_folders_are_users_and_times_are_gmt(tmp_path: Path) -> None:
    write(tmp_path / "Data" / "000" / "Trajectory" / "a.plt", *HEADING, POINT, POINT.replace("39.98", "400.16"))
    write(tmp_path / "Data" / "001" / "Trajectory" / "b.plt", *HEADING, POINT, "1,2")
    write(tmp_path / "Data" / "001" / "labels.txt", "not a trajectory")
    calls: list[tuple[int, int]] = []
    visits = read_geolife(tmp_path, progress=lambda done, total: calls.append((done, total)))
    assert visits.users == ("000", "001")
    assert visits.utc_s.tolist() == [1_224_730_384] * 2
    assert visits.offset_s.tolist() == [8 * 3600] * 2
    assert dict(visits.dropped) == {"latitude out of range": 1, "wrong number of fields": 1}
    assert calls[-1] == (2, 2)
    assert read_geolife(tmp_path / "Data" / "001", zone="UTC").users == ("001",)


ODD_LINES = (
    POINT.replace("02:53:04", "02:53:04.75"),
    POINT.replace("02:53:04", "25:53:04"),
    POINT.replace("02:53:04", "24:00:00"),
    POINT.replace("2008-10-23", "2008/10/23"),
    POINT.replace("2008-10-23", "2008-02-30"),
    POINT.replace("2008-10-23", "1899-12-30"),
    POINT.replace("39.984702", "north"),
    POINT.replace("39.984702", ""),
    POINT.replace("39.984702", "nan"),
    POINT.replace("39.984702", "1e400"),
    POINT.replace("39.984702", " 39.5 "),
    POINT.replace("39.984702", "3_9.5"),
    POINT.replace("39.984702", '"39.5"'),
    POINT.replace("116.318417", "216.318417"),
    "0,0,0,492,39744.1201851852,2008-10-23,02:53:04",
    POINT + ",",
    "39.98,116.3,0",
    "",
    "  ",
    "é" * 30,
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_duckdb_and_python_read_the_same_rows_and_drop_others_for_the_same_reasons(
    tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each odd line in a file of its own and all in one, among sound ones; also files that are packed or not text."""
    later = POINT.replace("02:53:04", "02:53:09")
    bodies = [(POINT, line, later) for line in ODD_LINES] + [(POINT, *ODD_LINES, later), (), ODD_LINES[:1]]
    for number, body in enumerate(bodies):
        path = tmp_path / f"{number % 3:03}" / "Trajectory" / f"[{number}]*.plt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(end.join([*HEADING, *body, ""]).encode("latin-1"))
    (tmp_path / "000" / "Trajectory" / "short.plt").write_text("Geolife")
    packed = gzip.compress(end.join([*HEADING, POINT]).encode())
    (tmp_path / "001" / "Trajectory" / "packed.plt").write_bytes(packed)
    (tmp_path / "002" / "Trajectory" / "binary.plt").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "002" / "Trajectory" / "mixed.plt").write_text("\n".join([*HEADING, POINT + "\r", later + "\r"]))
    monkeypatch.setattr("crowdveil.traces.scan.GROUP_BYTES", 2_000)
    fast = read_geolife(tmp_path)
    monkeypatch.setattr("crowdveil.traces.geolife.has_extra", lambda _: False)
    slow = read_geolife(tmp_path)
    assert dict(fast.dropped) == dict(slow.dropped)
    assert fast.users == slow.users
    names = ("user", "utc_s", "offset_s", "latitude", "longitude")
    read, again = (sorted(zip(*(getattr(one, name).tolist() for name in names), strict=True)) for one in (fast, slow))
    assert read == again


def test_a_cut_off_plt_file_is_counted(tmp_path: Path) -> None:
    write(tmp_path / "000" / "Trajectory" / "a.plt", *HEADING, POINT)
    write(tmp_path / "000" / "Trajectory" / "b.plt", *HEADING[:3])
    assert dict(read_geolife(tmp_path).dropped) == {"file without the heading": 1}


@pytest.mark.parametrize("read", [read_geolife, read_cabspotting])
def test_a_folder_without_traces_says_what_was_looked_for(tmp_path: Path, read: Any) -> None:
    with pytest.raises(FileFormatError, match=r"contains no .*; expected a folder"):
        read(tmp_path)
    with pytest.raises(FileFormatError, match="not found"):
        read(tmp_path / "none")


def test_cabs_are_read_from_the_published_folder(tmp_path: Path) -> None:
    write(tmp_path / "new_abboip.txt", "37.75134 -122.39488 0 1213084687", "37.75136 -122.39527 0 1213084659")
    write(tmp_path / "new_enyenewl.txt", "37.75 -122.4 1 1213084687", "37.75 -122.4")
    write(tmp_path / "_cabs.txt", '<cab id="abboip" updates="2"/>')
    visits = read_cabspotting(tmp_path)
    assert visits.users == ("abboip", "enyenewl")
    assert visits.utc_s.tolist() == [1213084659, 1213084687, 1213084687]
    assert set(visits.offset_s.tolist()) == {-7 * 3600}
    assert dict(visits.dropped) == {"wrong number of fields": 1}


def test_gpx_points_are_read_whatever_the_namespace_and_points_without_time_are_counted(tmp_path: Path) -> None:
    path = write(
        tmp_path / "walk.gpx",
        '<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>',
        '<trkpt lat="48.1" lon="11.5"><ele>500</ele><time>2024-07-04T08:00:00Z</time></trkpt>',
        '<trkpt lat="48.2" lon="11.5"/></trkseg></trk>',
        '<wpt lat="91" lon="0"><time>2024-07-04T08:00:00Z</time></wpt></gpx>',
    )
    visits = read_gpx(path, user="me", zone="Europe/Berlin")
    assert visits.users == ("me",)
    assert visits.utc_s.tolist() == [1_720_080_000]
    assert visits.offset_s.tolist() == [7200]
    assert dict(visits.dropped) == {"unreadable time": 1, "latitude out of range": 1}


@pytest.mark.parametrize("text", ["", "<gpx><trk>", '<?xml version="1.0" encoding="x"?><a/>', "<gpx/>", "lat,lon"])
def test_what_is_no_gpx_is_one_clear_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileFormatError, match=r"walk\.gpx: .*expected a GPX file"):
        read_gpx(write(tmp_path / "walk.gpx", text))


def timeline(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_older_timeline_records_are_read(tmp_path: Path) -> None:
    place = {"latitudeE7": 481_000_000, "longitudeE7": 115_000_000}
    records = [
        {**place, "timestamp": "2024-07-04T08:00:00.123Z"},
        {**place, "timestampMs": "1720080060000"},
        {"latitudeE7": 481_000_000, "timestamp": "2024-07-04T08:00:00Z"},
        "?",
    ]
    visits = read_timeline(timeline(tmp_path / "Records.json", {"locations": records}), zone="Europe/Berlin")
    assert visits.utc_s.tolist() == [1_720_080_000, 1_720_080_060]
    assert visits.offset_s.tolist() == [7200, 7200]
    assert (visits.latitude[0], visits.longitude[0]) == (48.1, 11.5)
    assert dict(visits.dropped) == {"unreadable position": 1, "unreadable time": 1}


def test_timelines_written_by_android_phones_are_read_and_what_they_repeat_counts_once(tmp_path: Path) -> None:
    data = {
        "semanticSegments": [
            {
                "startTime": "2024-07-04T10:00:00.000+02:00",
                "endTime": "2024-07-04T11:00:00.000+02:00",
                "visit": {"topCandidate": {"placeLocation": {"latLng": "48.1°, 11.5°"}}},
            },
            {
                "startTime": "2024-07-04T11:00:00.000+02:00",
                "endTime": "2024-07-04T11:30:00.000+02:00",
                "activity": {"start": {"latLng": "48.1°, 11.5°"}, "end": {"latLng": "-48.2°, 11.6°"}},
                "timelinePath": [{"point": "48.15°, 11.55°", "time": "2024-07-04T11:15:00.000+02:00"}],
            },
        ],
        "rawSignals": [
            {"position": {"LatLng": "48.15°, 11.55°", "timestamp": "2024-07-04T11:15:00.000+02:00"}},
            {"position": {"LatLng": "somewhere", "timestamp": "2024-07-04T11:15:00.000+02:00"}},
            {"wifiScan": {}},
        ],
    }
    visits = read_timeline(timeline(tmp_path / "Timeline.json", data))
    assert (visits.utc_s - 1_720_080_000).tolist() == [0, 3600, 4500, 5400]
    assert visits.latitude.tolist() == [48.1, 48.1, 48.15, -48.2]
    assert set(visits.offset_s.tolist()) == {7200}
    assert dict(visits.dropped) == {"exact duplicate": 1, "unreadable position": 1}


def test_stays_journeys_and_paths_of_a_monthly_timeline_are_read(tmp_path: Path) -> None:
    home, work = ({"latitudeE7": north, "longitudeE7": 115000000} for north in (481000000, 482000000))
    day = {"startTimestamp": "2021-03-04T08:00:00Z", "endTimestamp": "2021-03-04T09:00:00Z"}
    path = {"points": [{"latE7": 481500000, "lngE7": 115000000, "timestampMs": "1614846600000"}]}
    objects = [
        {"placeVisit": {"location": home, "duration": day}},
        {"activitySegment": {"startLocation": home, "endLocation": work, "duration": day, "simplifiedRawPath": path}},
        {"placeVisit": {"duration": day}},
    ]
    visits = read_timeline(timeline(tmp_path / "2021_MARCH.json", {"timelineObjects": objects}))
    assert visits.latitude.tolist() == [48.1, 48.15, 48.2]
    assert visits.utc_s.tolist() == [1_614_844_800, 1_614_846_600, 1_614_848_400]
    assert visits.dropped == {"exact duplicate": 1, "unreadable position": 1}


def test_timelines_written_by_iphones_are_read(tmp_path: Path) -> None:
    start = "2024-07-04T10:00:00.000+02:00"
    data = [
        {"startTime": start, "visit": {"topCandidate": {"placeLocation": "geo:48.1,11.5"}}},
        {"startTime": start, "timelinePath": [{"point": "geo:48.2,11.5", "durationMinutesOffsetFromStartTime": "12"}]},
    ]
    visits = read_timeline(timeline(tmp_path / "location-history.json", data))
    assert (visits.utc_s - 1_720_080_000).tolist() == [0, 720]


@pytest.mark.parametrize("text", ["", "[" * 100_000, "{}", "[1, 2]", "7", '{"locations": {}}', "9" * 5000])
def test_what_is_no_timeline_is_one_clear_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileFormatError, match=r"t\.json: .*expected a Google Timeline export"):
        read_timeline(write(tmp_path / "t.json", text))
