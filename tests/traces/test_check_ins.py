"""Foursquare and SNAP check-ins."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from crowdveil.errors import FileFormatError, InputError
from crowdveil.traces import count_odd_offsets, read_foursquare, read_snap
from tests.traces.files import SQUARE, SQUARE_UTC_S, real, write

GOWALLA = "0\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847"


def test_a_foursquare_line_is_read_field_by_field(tmp_path: Path) -> None:
    visits = read_foursquare(write(tmp_path / "nyc.txt", SQUARE))
    assert visits.users == ("470",)
    assert visits.utc_s.tolist() == [SQUARE_UTC_S]
    assert visits.offset_s.tolist() == [-240 * 60]
    assert (visits.latitude[0], visits.longitude[0]) == (40.719810, -74.002581)
    assert not visits.dropped


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_packed_file_reads_as_the_plain_one_whatever_its_name(tmp_path: Path, pack: object) -> None:
    assert callable(pack)
    path = tmp_path / "nyc.txt"
    path.write_bytes(pack((SQUARE + "\r\n\r\n").encode("latin-1")))
    assert len(read_foursquare(path)) == 1


def test_every_bad_row_is_counted_under_one_reason(tmp_path: Path) -> None:
    def changed(field: int, value: str) -> str:
        fields = SQUARE.split("\t")
        fields[field] = value
        return "\t".join(fields)

    lines = [
        SQUARE,
        SQUARE,
        changed(0, " "),
        changed(4, "north"),
        changed(4, "-122.4"),
        changed(5, "181"),
        changed(6, "soon"),
        changed(7, "Tue Foo 03 18:00:09 +0000 2012"),
        changed(7, "Tue Apr 03 18:00:09 +0000 1912"),
        SQUARE.replace("40.719810", "0").replace("-74.002581", "0.0"),
        "470\tshort",
    ]
    visits = read_foursquare(write(tmp_path / "nyc.txt", *lines))
    assert dict(visits.dropped) == {
        "exact duplicate": 1,
        "no user": 1,
        "unreadable position": 1,
        "latitude out of range": 1,
        "longitude out of range": 1,
        "unreadable UTC offset": 1,
        "unreadable time": 1,
        "time not between 1970 and 2100": 1,
        "no fix (0, 0)": 1,
        "wrong number of fields": 1,
    }
    assert len(visits) + sum(visits.dropped.values()) == len(lines)


def test_users_without_a_sound_row_are_no_users(tmp_path: Path) -> None:
    bad = SQUARE.replace("470", "471").replace("40.7", "140.7")
    assert read_foursquare(write(tmp_path / "nyc.txt", bad, SQUARE)).users == ("470",)


def test_a_file_in_which_all_rows_are_swapped_says_so(tmp_path: Path) -> None:
    swapped = SQUARE.replace("40.719810\t-74.002581", "-122.4\t37.7")
    with pytest.raises(FileFormatError, match=r"none of 1 rows.*latitude out of range: 1.*swapped\?"):
        read_foursquare(write(tmp_path / "sf.txt", swapped))


@pytest.mark.parametrize("content", [b"", b"\n \n", b"hello\nworld\n"])
def test_a_file_without_check_ins_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "nyc.txt"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"nyc\.txt: .*expected 8 tab-separated fields"):
        read_foursquare(path)


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"none\.txt: not found"):
        read_foursquare(tmp_path / "none.txt")
    with pytest.raises(FileFormatError, match="is a folder, should be a file"):
        read_foursquare(tmp_path)
    for pack in (gzip.compress, lzma.compress):
        cut = tmp_path / "cut"
        cut.write_bytes(pack(SQUARE.encode("latin-1") * 100)[:-20])
        with pytest.raises(FileFormatError, match="damaged or cut off"):
            read_foursquare(cut)


def test_a_zone_replaces_the_offsets_of_visitors_phones(tmp_path: Path) -> None:
    tokyo = SQUARE.replace("-240", "540").replace("470", "990")
    path = write(tmp_path / "nyc.txt", SQUARE, tokyo)
    assert count_odd_offsets(read_foursquare(path), "America/New_York") == 1
    visits = read_foursquare(path, zone="America/New_York")
    assert visits.offset_s.tolist() == [-14400, -14400]
    assert count_odd_offsets(visits, "America/New_York") == 0
    for wrong in ("New York", "America", "../etc/passwd", ""):
        with pytest.raises(InputError, match="Europe/Berlin"):
            read_foursquare(path, zone=wrong)


@pytest.mark.long
def test_new_york_has_the_published_rows_and_users() -> None:
    calls: list[tuple[int, int]] = []
    path = real("dataset_TSMC2014_NYC.txt.xz")
    visits = read_foursquare(path, progress=lambda done, total: calls.append((done, total)))
    assert len(visits) + sum(visits.dropped.values()) == 227_428
    assert dict(visits.dropped) == {"exact duplicate": 250}
    assert len(visits.users) == 1_083
    # one of the 456 odd rows is among the duplicates
    assert count_odd_offsets(visits, "America/New_York") == 455
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (path.stat().st_size, path.stat().st_size)


def test_gowalla_and_brightkite_lines_are_read(tmp_path: Path) -> None:
    nowhere = "7\t2008-03-14T22:12:53Z\t0.0\t0.0\t00000000000000000000000000000000"
    empty = "9\t\t\t\t"
    visits = read_snap(write(tmp_path / "totalCheckins.txt", GOWALLA, nowhere, empty), zone="America/Chicago")
    assert visits.users == ("0",)
    assert visits.utc_s.tolist() == [1_287_532_527]
    assert visits.offset_s.tolist() == [-5 * 3600]
    assert dict(visits.dropped) == {"no fix (0, 0)": 1, "unreadable time": 1}
