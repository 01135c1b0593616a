"""Call logs and tables by column names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crowdveil.errors import FileFormatError, InputError
from crowdveil.traces import read_calls, read_table, read_towers
from crowdveil.traces.trace_files import BATCH_BYTES
from tests.traces.files import write


def test_calls_are_visits_at_their_towers_and_unknown_towers_are_counted(tmp_path: Path) -> None:
    towers = write(tmp_path / "towers.csv", "461,14.75,-17.45", "454,14.71,-17.44")
    calls = write(tmp_path / "calls.csv", "1,2013-01-07 13:10:00,461", "1,2013-01-07 17:20:00,454", "2,2013-01-07,9")
    visits = read_calls(calls, towers, zone="Africa/Dakar")
    assert visits.users == ("1",)
    assert visits.utc_s.tolist() == [1_357_564_200, 1_357_579_200]
    assert visits.latitude.tolist() == [14.75, 14.71]
    assert dict(visits.dropped) == {"unknown tower": 1}


def test_headings_name_the_columns_of_towers_in_any_order_and_call_times_are_local(tmp_path: Path) -> None:
    towers = write(tmp_path / "SITE_ARR_LONLAT.CSV", "site_id,arr_id,lon,lat", "1,2,-17.52,14.74")
    calls = write(tmp_path / "calls.tsv", "user\ttime\ttower", "7\t2013-07-07 13:00:00\t1")
    visits = read_calls(calls, towers, zone="Europe/Berlin")
    assert (visits.latitude[0], visits.longitude[0]) == (14.74, -17.52)
    assert visits.local_s.tolist() == [1_373_202_000]
    assert visits.offset_s.tolist() == [7200]
    assert not visits.dropped


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ((), "contains no tower"),
        (("id,lat", "1,2"), "first line reads id, lat"),
        (("1,2",), "row 1 has 2 fields"),
        (("a,-122.4,37.7",), "tower 'a' at -122.4, 37.7 should be a position in degrees .are latitude and longitude"),
        (("a,x,37.7",), "should be a position in degrees"),
        (("a,1,2", "a,1,3"), "two positions"),
    ],
)
def test_a_bad_tower_file_is_an_error(tmp_path: Path, lines: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(FileFormatError, match=complaint):
        read_towers(write(tmp_path / "towers.csv", *lines))


def test_a_table_is_read_by_column_names_with_quotes_and_any_usual_delimiter(tmp_path: Path) -> None:
    for mark in ",;\t":
        line = mark.join(['"An\nna"', "2024-07-04T10:00:00+02:00", f'"a {mark} b"', "48.1", "11.5"])
        path = write(tmp_path / "t.csv", mark.join(["\ufeffwho", "when", "note", "y", "x"]), line, encoding="utf-8")
        visits = read_table(path, user="who", time="when", latitude="y", longitude="x")
        assert visits.users == ("An\nna",)
        assert (visits.utc_s[0], visits.offset_s[0]) == (1_720_080_000, 7200)


@pytest.mark.parametrize(
    ("time", "options", "utc_s", "offset_s"),
    [
        ("2024-07-04 08:00:00", {}, 1_720_080_000, 0),
        ("2024-07-04T08:00:00Z", {"zone": "Europe/Berlin"}, 1_720_080_000, 7200),
        ("2024-07-04T10:00", {"zone": "Europe/Berlin", "clock": "local"}, 1_720_080_000, 7200),
        ("2024-07-04T08:00:00Z", {"zone": "Europe/Berlin", "clock": "local"}, 1_720_080_000, 7200),
        ("2024-03-31T03:00:00", {"zone": "Europe/Berlin", "clock": "local"}, 1_711_846_800, 7200),
        ("2024-03-10T03:30:00", {"zone": "America/New_York", "clock": "local"}, 1_710_055_800, -14_400),
        ("1720080000", {"zone": "Europe/Berlin"}, 1_720_080_000, 7200),
        ("1720080000.9", {}, 1_720_080_000, 0),
        ("1720080000123", {}, 1_720_080_000, 0),
        ("2024-07-04 08:00:00", {"offset_minutes": "offset"}, 1_720_080_000, -5400),
    ],
)
def test_times_are_understood(tmp_path: Path, time: str, options: dict[str, Any], utc_s: int, offset_s: int) -> None:
    path = write(tmp_path / "t.csv", "user,time,latitude,longitude,offset", f"a,{time},48,11,-90")
    visits = read_table(path, **options)
    assert (visits.utc_s[0], visits.offset_s[0]) == (utc_s, offset_s)


def test_bad_rows_of_a_table_are_counted(tmp_path: Path) -> None:
    rows = [
        "a,2024-07-04,48,11",
        "a,2024-02-30,48,11",
        "a,nan,48,11",
        "a,inf,48,11",
        "a,-5,48,11",
        ",,,",
        "a,1e9,48",
        "",
    ]
    visits = read_table(write(tmp_path / "t.csv", "user,time,latitude,longitude", *rows))
    assert len(visits) == 1
    assert dict(visits.dropped) == {
        "unreadable time": 3,
        "time not between 1970 and 2100": 1,
        "no user": 1,
        "wrong number of fields": 1,
    }


def test_enormous_numbers_are_counted_without_a_warning(tmp_path: Path) -> None:
    rows = ["a,0,48,11,60", "a,0,48,11,1e308", "a,1e308,48,11,0", "a,0,1e308,-inf,0"]
    path = write(tmp_path / "t.csv", "user,time,latitude,longitude,offset", *rows)
    reasons = {"unreadable UTC offset": 1, "unreadable time": 1, "unreadable position": 1}
    assert dict(read_table(path, offset_minutes="offset").dropped) == reasons


def test_a_field_longer_than_any_sound_one_is_counted_and_reading_goes_on(tmp_path: Path) -> None:
    good = "a,2024-07-04,48,11"
    rows = [good, "b" * 200_000 + ",2024-07-04,48,11", good]
    visits = read_table(write(tmp_path / "t.csv", "user,time,latitude,longitude", *rows))
    assert len(visits) == 2
    assert dict(visits.dropped) == {"broken quoting": 1}


def test_rows_across_batches_are_all_read(tmp_path: Path) -> None:
    count = 3 * BATCH_BYTES // 20
    rows = (f"u{i % 7},{1_700_000_000 + i},48.1,11.5" for i in range(count))
    visits = read_table(write(tmp_path / "t.csv", "user,time,latitude,longitude", *rows))
    assert len(visits) == count
    assert not visits.dropped
    assert sorted(visits.utc_s.tolist()) == list(range(1_700_000_000, 1_700_000_000 + count))


def test_a_missing_or_doubled_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "user,time,lat,lat", "a,0,1,2")
    with pytest.raises(FileFormatError, match="no column 'latitude'; its first line reads: user, time, lat, lat"):
        read_table(path)
    with pytest.raises(FileFormatError, match="2 columns 'lat'"):
        read_table(path, latitude="lat", longitude="lat")
    with pytest.raises(FileFormatError, match="contains no rows"):
        read_table(write(tmp_path / "e.csv"))


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with pytest.raises(InputError, match="together with offset_minutes"):
        read_table(path, zone="UTC", offset_minutes="o")
    with pytest.raises(InputError, match="give the time zone"):
        read_table(path, clock="local")
    with pytest.raises(InputError, match="'utc' or 'local'"):
        read_table(path, clock="mine")  # type: ignore[arg-type]
