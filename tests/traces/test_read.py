"""One function reads every format, and tells it by the content."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from crowdveil.errors import FileFormatError, InputError
from crowdveil.traces import TRACE_FORMATS, TraceFormat, read_traces, recognise_format
from tests.traces.files import SQUARE, write
from tests.traces.test_fixes import HEADING, POINT

TABLE = ("user,time,latitude,longitude", "ann,2024-03-04T08:00:00Z,48.1,11.5")
MARKED = "\ufeff" + TABLE[0]
GPX = '<?xml version="1.0"?><gpx><wpt lat="48.1" lon="11.5"><time>2024-03-04T08:00:00Z</time></wpt></gpx>'
RECORDS = '{"locations": [{"latitudeE7": 481000000, "longitudeE7": 115000000, "timestamp": "2024-03-04T08:00:00Z"}]}'


def parquet(path: Path) -> Path:
    columns = {"user": ["ann"], "time": ["2024-03-04T08:00:00Z"], "latitude": [48.1], "longitude": [11.5]}
    pl.DataFrame(columns).write_parquet(path)
    return path


def towers(folder: Path) -> Path:
    return write(folder / "towers.csv", "id,lat,lon", "t1,48.1,11.5")


WRITTEN: dict[str, tuple[TraceFormat, Callable[[Path], Path]]] = {
    "CSV": ("table", lambda folder: write(folder / "a", *TABLE)),
    "CSV with semicolons": ("table", lambda folder: write(folder / "a", *(row.replace(",", ";") for row in TABLE))),
    "CSV after a byte order mark": ("table", lambda folder: write(folder / "a", MARKED, TABLE[1], encoding="utf-8")),
    "Parquet": ("table", lambda folder: parquet(folder / "a")),
    "Foursquare": ("foursquare", lambda folder: write(folder / "a", SQUARE)),
    "Foursquare after a damaged line": ("foursquare", lambda folder: write(folder / "a", "470\t49", SQUARE)),
    "SNAP": ("snap", lambda folder: write(folder / "a", "0\t2010-10-19T23:55:27Z\t30.2\t-97.7\t22847")),
    "GPX": ("gpx", lambda folder: write(folder / "a", GPX)),
    "Timeline": ("timeline", lambda folder: write(folder / "a", RECORDS)),
    "GeoLife": ("geolife", lambda folder: write(folder / "000/Trajectory/a.plt", *HEADING, POINT).parents[2]),
    "Cabspotting": ("cabspotting", lambda folder: write(folder / "new_a.txt", "37.7 -122.3 0 1213084687").parent),
    "Cabspotting, thinned": (
        "cabspotting",
        lambda folder: write(folder / "a", "user,utc,lat,lon,occupied", "a,1213084687,37.7,-122.3,0"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRITTEN)
def test_the_content_tells_the_format_whatever_the_name(kind: str, tmp_path: Path) -> None:
    expected, make = WRITTEN[kind]
    path = make(tmp_path)
    assert recognise_format(path) == expected
    assert len(read_traces(path)) == 1
    assert len(read_traces(path, format=expected)) == 1


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_packed_files_are_told_too(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "walk"
    path.write_bytes(pack(GPX.encode()))
    assert recognise_format(path) == "gpx"


def test_call_logs_are_told_by_their_towers(tmp_path: Path) -> None:
    path = write(tmp_path / "calls.csv", "ann,2024-03-04T08:00:00,t1")
    assert len(read_traces(path, towers=towers(tmp_path), zone="Europe/Berlin")) == 1
    with pytest.raises(InputError, match="towers = None: call logs need"):
        read_traces(path, format="calls")


def test_a_table_may_have_other_names_a_zone_and_a_local_clock(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,t,lat,lon,shift", "ann,2024-03-04T08:00:00,48.1,11.5,60")
    columns = {"user": "id", "time": "t", "latitude": "lat", "longitude": "lon"}
    utc = read_traces(path, **columns)  # type: ignore[arg-type]
    local = read_traces(path, **columns, zone="Europe/Berlin", clock="local")  # type: ignore[arg-type]
    shifted = read_traces(path, **columns, offset_minutes="shift")  # type: ignore[arg-type]
    assert utc.utc_s[0] - local.utc_s[0] == 3600
    assert shifted.offset_s.tolist() == local.offset_s.tolist() == [3600]


def test_a_table_with_unknown_columns_lists_them_and_the_formats(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,t,lat,lon", "ann,2024-03-04T08:00:00Z,48.1,11.5")
    with pytest.raises(FileFormatError) as error:
        read_traces(path)
    said = str(error.value)
    assert "has no column 'user'; its first line reads: id, t, lat, lon" in said
    assert all(kind in said for kind in TRACE_FORMATS if kind != "table")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("page.html", "<html><body></body></html>", "is XML but not GPX; the formats are table, foursquare"),
        ("empty.csv", "", "contains no rows"),
        ("other.json", '{"a": 1}', "Timeline"),
    ],
)
def test_what_is_in_no_format_is_told(name: str, content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FileFormatError, match=said):
        read_traces(path)


def test_a_folder_of_something_else_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(
        FileFormatError, match=r"neither tables .* nor \*.plt \(geolife\) nor new_\*.txt \(cabspotting\); the formats"
    ):
        read_traces(tmp_path)
    with pytest.raises(FileFormatError, match="not found"):
        read_traces(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"format": "shapefile"}, "format = 'shapefile': should be one of table, foursquare"),
        ({"format": "gpx", "user": "id"}, "user = 'id': applies only to tables; a is read as gpx"),
        ({"format": "gpx", "clock": "utc"}, "clock = 'utc': applies only to tables"),
        ({"format": "gpx", "towers": "t.csv"}, "towers = 't.csv': applies only to call logs"),
    ],
)
def test_options_that_do_not_apply_are_refused(options: dict[str, str], said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a", GPX)
    with pytest.raises(InputError) as error:
        read_traces(path, **options)  # type: ignore[arg-type]
    assert said in str(error.value)


# --- several files, and clocks ------------------------------------------------------------------------------------

ROW = "{user},2024-07-04{between}{hour:02}:00:00{end},48.1,11.5\n"


def table(path: Path, *rows: tuple[str, int], between: str = "T", end: str = "Z") -> Path:
    lines = [ROW.format(user=user, hour=hour, between=between, end=end) for user, hour in rows]
    path.parent.mkdir(exist_ok=True)
    path.write_text("user,time,latitude,longitude\n" + "".join(lines), encoding="utf-8")
    return path


def test_several_files_a_folder_and_a_pattern_are_read_as_one(tmp_path: Path) -> None:
    one = table(tmp_path / "t" / "one.csv", ("ann", 8), ("bob", 9), ("", 9))
    two = table(tmp_path / "t" / "two.tsv", ("cem", 8), ("ann", 10))
    for source in ([one, two], tmp_path / "t", str(tmp_path / "t" / "*.?sv"), [one, tmp_path / "t"]):
        visits = read_traces(source)
        assert visits.users == ("ann", "bob", "cem")
        assert visits.user.tolist() == [0, 0, 1, 2]
        assert visits.file is not None
        assert visits.file.tolist() == [0, 1, 0, 1]
        assert dict(visits.dropped) == {"no user": 1}
    assert read_traces(one).file is None
    with pytest.raises(FileFormatError, match=r"\*.xml: no file matches"):
        read_traces(str(tmp_path / "*.xml"))
    with pytest.raises(InputError, match="should be files or folders"):
        read_traces([])


def test_progress_over_several_files_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    files = [table(tmp_path / f"{number}.csv", ("ann", number)) for number in range(3)]
    told: list[tuple[int, int]] = []
    read_traces(files, progress=lambda *now: told.append(now))
    size = files[0].stat().st_size
    assert told[0] == (size, 3 * size)
    assert told[-1] == (3 * size, 3 * size)
    assert told == sorted(told)


@pytest.mark.parametrize("between", ["T", " "])
def test_times_without_an_offset_and_a_zone_ask_for_the_clock(tmp_path: Path, between: str) -> None:
    path = table(tmp_path / "a.csv", ("ann", 8), between=between, end="")
    said = "clock = None: times in .*a.csv, such as 2024-07-04 08:00:00, state no offset from UTC; say 'local' if"
    with pytest.raises(InputError, match=f"{said} clocks in Europe/Berlin showed them, 'utc' if they are UTC"):
        read_traces(path, zone="Europe/Berlin")
    utc, local = (read_traces(path, zone="Europe/Berlin", clock=clock) for clock in ("utc", "local"))
    assert utc.utc_s[0] - local.utc_s[0] == 2 * 3600
    assert read_traces(path).utc_s[0] == utc.utc_s[0]
    assert len(read_traces(table(path, ("ann", 8)), zone="Europe/Berlin")) == 1
