"""Files of every kind: what is broken is counted or named in one line, before or after the work begins."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crowdveil.area import Points
from crowdveil.batch import ColumnNames, Engine, find_inputs
from crowdveil.batch.headings import Heading
from crowdveil.errors import CrowdveilError, FileFormatError, InputError
from tests.batch.batches import NOON, SQUARES, batch, same, write_csv, write_parquet

HEAD = "user,time,latitude,longitude\n"
ROW = f"a,{NOON},48.15,11.55\n"
PRIOR = ("cell", "users", "latitude", "longitude")


def written(path: Path, text: str | bytes) -> Path:
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", HEAD + ROW + "\n\n" + ROW + "\n"),
        ("t.csv", HEAD + ROW + "a,b\n" + ROW + "x\n" + ROW.strip() + ",9\n" + ROW.strip() + ",8,9\n   \n"),
        (
            "t.csv",
            HEAD + f'"a ""x"", y",{NOON},"48.15","11.55"\n"two\nlines",{NOON},48.15,11.55\na"b,{NOON},48.15,11.55\n',
        ),
        ("t.csv", "\ufeff" + HEAD + ROW),
        ("t.csv", '\ufeff"user","time","latitude","longitude"\n' + ROW),
        ("t.csv", (HEAD + ROW + ROW).replace("\n", "\r\n")),
        ("t.csv", (HEAD + ROW).replace(",", ";")),
        ("t.tsv", (HEAD + ROW).replace(",", "\t")),
        ("t.csv.gz", HEAD + ROW * 3),
        ("t", HEAD + ROW + ROW.strip()),
        ("it's [a] *?.csv", HEAD + ROW),
        ("t.csv", "more,longitude,latitude , time, user\nx,11.55,48.15," + f"{NOON},b\n"),
        ("t.csv", f",{HEAD}0,{ROW}1,{ROW}"),
        ("t.csv", HEAD.replace("\n", ",\n") + ROW.replace("\n", ",\n")),
        ("t.csv", HEAD.replace("\n", ",Alt,alt,alt,_broken_row\n") + ROW.replace("\n", ",1,2,3,4\n")),
    ],
)
def test_csv_of_every_make_is_read_as_the_readers_do(tmp_path: Path, duck: Engine, name: str, text: str) -> None:
    same(written(tmp_path / name, text), SQUARES, tmp_path / "out", engine=duck)


def test_rows_that_are_not_utf_8_are_counted_as_that(tmp_path: Path, duck: Engine) -> None:
    path = written(tmp_path / "t.csv", HEAD.encode() + ROW.encode() + f"\xe9,{NOON},48.15,11.55\n".encode("latin-1"))
    assert batch(path, SQUARES, tmp_path / "out", engine=duck).left_out == {"not in UTF-8": 1}


def test_a_quote_that_does_not_end_is_refused_because_it_would_take_others_along(tmp_path: Path, duck: Engine) -> None:
    path = written(tmp_path / "t.csv", HEAD + ROW + f'"open,{NOON},48.15,11.55\n' + 1000 * ROW)
    with pytest.raises(FileFormatError, match=r"t\.csv: line 3 opens a quote that does not end there; mend or remove"):
        batch(path, SQUARES, tmp_path / "out", engine=duck)


def test_packed_files_that_are_damaged_inside_are_refused(tmp_path: Path, duck: Engine) -> None:
    rows = "".join(f"{number},{NOON},48.15,11.55\n" for number in range(999))
    packed = bytearray(gzip.compress((HEAD + rows).encode()))
    packed[len(packed) // 2] ^= 1
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed)
    with pytest.raises(FileFormatError, match=r"t\.csv\.gz: the compressed data is damaged or cut off"):
        batch(path, SQUARES, tmp_path / "out", engine=duck)


def test_uuids_are_names_and_the_largest_numbers_are_no_times(tmp_path: Path, duck: Engine) -> None:
    names = pa.array([bytes(range(16)), bytes(16)], pa.uuid())
    times = pa.array([1_720_000_000, 2**64 - 1], pa.uint64())
    place = {"latitude": [48.15] * 2, "longitude": [11.55] * 2}
    path = write_parquet(tmp_path / "t.parquet", user=names, time=times, **place)
    found = batch(path, SQUARES, tmp_path / "out", engine=duck)
    assert (found.found.users, found.left_out) == (1, {"unreadable time": 1})
    binary = write_parquet(tmp_path / "b.parquet", user=names.storage, time=times, **place)
    with pytest.raises(FileFormatError, match=r"its column 'user' is of type .*; should be text or whole numbers"):
        find_inputs([str(binary)], ColumnNames())


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"t.csv": b""}, "t.csv: has no heading; expected the columns user, time"),
        ({"t.csv": HEAD.encode()}, "no rows"),
        ({"t.csv": b"user,time,lat,longitude\n"}, "t.csv: has no column 'latitude'; its columns are: user, time, lat"),
        ({"t.csv": b"user,user,time,latitude,longitude\n"}, "has the column 'user' 2 times"),
        ({"t.csv": b"User,user,time,latitude,longitude\n"}, "User, user, which differ in case at most"),
        ({"t.csv": HEAD.encode(), "u.csv": b"user;time;latitude;longitude\n"}, "u.csv: its first line is not that of"),
        ({"t.csv": HEAD.encode(), "u.csv": b"time,user,latitude,longitude\n"}, "u.csv: its first line is not that of"),
        ({"t.csv": b"\xfd7zXZ\x00"}, "t.csv: is packed with xz"),
        ({"t.csv.gz": b"\x1f\x8bxxxx"}, "t.csv.gz: "),
        ({"t.parquet": b""}, "t.parquet: cannot be read as Parquet"),
        ({"t.parquet": b"nonsense, all of it"}, "t.parquet: cannot be read as Parquet"),
        ({"t.parquet": b"PAR1" + b"x" * 50 + b"PAR1"}, "t.parquet: cannot be read as Parquet"),
        ({"t.txt": b""}, "no file matches"),
        ({"t.csv": b'{"a":"' + b"x" * 200_000}, "t.csv: its first line is no heading"),
        ({"t.csv": b"x" * 1_100_000}, "t.csv: its first line has more than 1,048,576 bytes; expected CSV whose first"),
        (
            {"t.csv": b"\x7fELF\0\0\1\n"},
            "t.csv: is no text; expected CSV whose first line names",
        ),
        ({"t.csv": (HEAD + ROW).encode("utf-16")}, "t.csv: is text in UTF-16; save it as UTF-8"),
        (
            {"t.csv": (HEAD + ROW).replace("\n", "\r").encode()},
            "t.csv: its lines end in CR alone; they should",
        ),
        ({"t.csv": HEAD.encode(), "u.csv": gzip.compress(HEAD.encode())}, "u.csv: is packed with gzip, which engines"),
        ({"t.csv": gzip.compress(HEAD.encode())}, "it should be called t.csv.gz"),
        ({"t.csv.GZ": gzip.compress(HEAD.encode())}, "it should be called t.csv.gz"),
        ({"t?.csv.gz": gzip.compress(HEAD.encode())}, "does not see behind a question mark; rename it without"),
        ({"t.csv.gz": HEAD.encode()}, "is not packed, though its name ends in .gz; it should be called t.csv"),
        ({"t.csv": b"\x28\xb5\x2f\xfdxxx"}, "t.csv: is packed with zstd"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, duck: Engine, files: dict[str, bytes], said: str) -> None:
    (tmp_path / "in").mkdir()
    for name, content in files.items():
        (tmp_path / "in" / name).write_bytes(content)
    with pytest.raises(CrowdveilError) as caught:
        batch(tmp_path / "in", SQUARES, tmp_path / "out", engine=duck)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"user": [1.5]}, "its column 'user' is of type float64; should be text or whole numbers"),
        ({"user": [b"x"]}, "its column 'user' is of type binary; should be text or whole numbers"),
        ({"time": [True]}, "its column 'time' is of type boolean; should be text, numbers or timestamps"),
        ({"time": pa.array([1], pa.time32("s"))}, "its column 'time' is of type time"),
        ({"latitude": [[1.0]]}, "its column 'latitude' is of type array<float64>; should be numbers, or text"),
        ({"longitude": [True]}, "its column 'longitude' is of type boolean; should be numbers, or text"),
    ],
)
def test_a_column_of_the_wrong_type_is_named(tmp_path: Path, columns: dict[str, Any], said: str) -> None:
    path = write_parquet(tmp_path / "t.parquet", **columns)
    with pytest.raises(FileFormatError) as caught:
        find_inputs([str(path)], ColumnNames())
    assert str(caught.value).startswith(f"{path}: {said}")


def test_files_of_different_types_or_kinds_are_refused(tmp_path: Path) -> None:
    write_parquet(tmp_path / "1.parquet")
    write_parquet(tmp_path / "2.parquet", time=["2024-07-04"])
    with pytest.raises(FileFormatError, match=r"2\.parquet: its column 'time' is of type string, that of .*1\.parquet"):
        find_inputs([str(tmp_path)], ColumnNames())
    written(tmp_path / "3.csv", HEAD + ROW)
    with pytest.raises(FileFormatError, match=r"3\.csv: is no Parquet, others are"):
        find_inputs([f"{tmp_path}/[13].*"], ColumnNames())
    with pytest.raises(FileFormatError, match="has no column 'lat'; its columns are: user, time, latitude, longitude"):
        find_inputs([f"{tmp_path}/1.parquet"], ColumnNames(latitude="lat"))


@pytest.mark.parametrize("place", [0.2, 0.5, 0.7])
def test_damage_in_the_middle_or_a_lost_end_is_named(tmp_path: Path, duck: Engine, place: float) -> None:
    names = [f"user {n * 7919 % 100_003}" for n in range(20_000)]
    write_parquet(tmp_path / "1.parquet", user=names[:1])
    path = write_parquet(tmp_path / "2.parquet", user=names)
    content = bytearray(path.read_bytes())
    at = int(len(content) * place)
    path.write_bytes(content[:at])
    with pytest.raises(FileFormatError, match=r"2\.parquet: cannot be read as Parquet; is it damaged or cut off"):
        batch(tmp_path, SQUARES, tmp_path / "out", engine=duck)
    content[at : at + 400] = b"\xff" * 400
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        batch([tmp_path / "1.parquet", path], SQUARES, tmp_path / "out", engine=duck)
    assert str(caught.value).startswith(f"{path}: cannot be read to its end; is it damaged?")
    assert "\n" not in str(caught.value)


def test_a_folder_a_pattern_and_a_name_given_twice_are_one_set_of_files(tmp_path: Path, duck: Engine) -> None:
    for number in range(3):
        write_csv(tmp_path / f"{number}.csv", [(f"user {number}", NOON, 48.15, 11.55)])
    done = batch([tmp_path, tmp_path / "1.csv", f"{tmp_path}/*.csv"], SQUARES, tmp_path / "out", engine=duck)
    assert [row[0] for row in done.places] == ["user 0", "user 1", "user 2"]


def test_an_area_without_degrees_is_refused(tmp_path: Path, duck: Engine) -> None:
    with pytest.raises(InputError, match="area = 'points': has no latitude and longitude"):
        batch(write_csv(tmp_path / "t.csv", []), Points(np.array([[0, 0], [1000, 0]])), tmp_path / "out", engine=duck)


def test_addresses_are_one_part_and_those_of_this_machine_are_files(tmp_path: Path) -> None:
    stored = find_inputs(["hdfs://store/1.parquet", "hdfs://store/2.parquet"], ColumnNames())
    assert stored.parts(1) == [("hdfs://store/1.parquet", "hdfs://store/2.parquet")]
    path = write_parquet(tmp_path / "1.parquet")
    assert find_inputs([f"file://{tmp_path}/*.parquet"], ColumnNames()).paths == (str(path),)
    with pytest.raises(InputError, match="should have three slashes, such as file:///data"):
        find_inputs(["file://1.parquet"], ColumnNames())
    with pytest.raises(InputError, match="addresses should be of Parquet; fetch CSV first"):
        find_inputs(["s3://store/1.tsv.gz"], ColumnNames())


def test_every_pattern_has_to_match(tmp_path: Path) -> None:
    write_parquet(tmp_path / "1.parquet")
    with pytest.raises(FileFormatError, match=r"^\S+/\*\.csv: no file matches"):
        find_inputs([str(tmp_path), f"{tmp_path}/*.csv"], ColumnNames())
    for empty in ("", " "):
        with pytest.raises(InputError, match=r"traces = .*: should name a file, a folder or a pattern"):
            find_inputs([empty], ColumnNames())


@pytest.mark.parametrize("out", ["", "profiled"])
def test_results_below_the_traces_are_not_taken_for_traces(tmp_path: Path, duck: Engine, out: str) -> None:
    write_parquet(tmp_path / "visits.parquet")
    for pattern in (tmp_path, f"{tmp_path}/**/*"):
        batch(pattern, SQUARES, tmp_path / out, engine=duck)
        assert find_inputs([str(pattern)], ColumnNames(), tmp_path / out).paths == (str(tmp_path / "visits.parquet"),)
    assert len(find_inputs([str(tmp_path / out / "prior.csv")], ColumnNames(*PRIOR), tmp_path / out).paths) == 1


def test_a_column_that_engines_add_is_not_read(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "1.parquet", _broken_row=["x"])
    with pytest.raises(FileFormatError, match="its column '_broken_row' has a meaning of its own here; rename it"):
        find_inputs([str(path)], ColumnNames())


def test_columns_that_are_not_read_have_names_of_no_column_that_is() -> None:
    column_names = ColumnNames(user="Unused1")
    names = Heading(",", ("", "Unused1", "time", "latitude", "longitude", "")).for_engine(column_names)
    assert names == ("unused_0", "Unused1", "time", "latitude", "longitude", "unused_5")
