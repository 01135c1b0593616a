"""Parquet files by column names: what a CSV of the same rows gives, and an error for people from anything else."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.errors import CrowdveilError, FileFormatError
from crowdveil.traces import Visits, read_table
from crowdveil.traces.parquet import _opened
from crowdveil.traces.trace_files import BATCH_ROWS
from tests.traces.files import write

NAMES = ("user", "time", "latitude", "longitude")
PLAIN = {"user": "VARCHAR", "time": "BIGINT", "latitude": "DOUBLE", "longitude": "DOUBLE"}
ROW = ("a", 1_720_080_000, 48.1, 11.5)


def write_parquet(path: Path, *rows: Sequence[object], **types: str) -> Path:
    """Rows under columns of the given DuckDB types, PLAIN unless told otherwise."""
    columns = {**PLAIN, **types}
    with duckdb.connect() as connection:
        listed = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}" {kind}' for name, kind in columns.items())
        connection.execute(f"SET TimeZone = 'UTC'; CREATE TABLE rows ({listed})")
        if rows:
            connection.executemany(
                f"INSERT INTO rows VALUES ({', '.join('?' * len(columns))})", [list(r) for r in rows]
            )
        copy_out(connection, "FROM rows", path)
    return path


def copy_out(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection.execute(f"COPY ({query}) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")


def told(visits: Visits) -> tuple[object, ...]:
    """All that visits say, to compare."""
    columns = (visits.user, visits.utc_s, visits.offset_s, visits.latitude, visits.longitude)
    return visits.users, dict(visits.dropped), *(column.tolist() for column in columns)


@pytest.mark.parametrize(
    ("kind", "time", "options", "utc_s", "offset_s"),
    [
        ("BIGINT", 1_720_080_000, {"zone": "Europe/Berlin"}, 1_720_080_000, 7200),
        ("UINTEGER", 1_720_080_000, {}, 1_720_080_000, 0),
        ("BIGINT", 1_720_080_000_123, {}, 1_720_080_000, 0),
        ("DOUBLE", 1_720_080_000.9, {}, 1_720_080_000, 0),
        ("DECIMAL(18,3)", "1720080000.999", {}, 1_720_080_000, 0),
        ("VARCHAR", "2024-07-04T10:00:00+02:00", {}, 1_720_080_000, 7200),
        ("VARCHAR", "2024-07-04T10:00", {"zone": "Europe/Berlin", "clock": "local"}, 1_720_080_000, 7200),
        ("VARCHAR", "1720080000", {}, 1_720_080_000, 0),
        ("TIMESTAMP", "2024-07-04 08:00:00", {}, 1_720_080_000, 0),
        ("TIMESTAMP", "2024-07-04 08:00:00.999999", {}, 1_720_080_000, 0),
        ("TIMESTAMP", "2024-07-04 08:00:00", {"zone": "Europe/Berlin", "clock": "utc"}, 1_720_080_000, 7200),
        ("TIMESTAMP", "2024-07-04 10:00:00", {"zone": "Europe/Berlin", "clock": "local"}, 1_720_080_000, 7200),
        ("TIMESTAMP_S", "2024-07-04 08:00:00", {}, 1_720_080_000, 0),
        ("TIMESTAMP_MS", "2024-07-04 08:00:00.999", {}, 1_720_080_000, 0),
        ("TIMESTAMP_NS", "2024-07-04 08:00:00.999999999", {}, 1_720_080_000, 0),
        ("TIMESTAMPTZ", "2024-07-04 10:00:00.5+02", {}, 1_720_080_000, 0),
        ("TIMESTAMPTZ", "2024-07-04 10:00:00+02", {"zone": "Asia/Tokyo", "clock": "local"}, 1_720_080_000, 32_400),
        ("TIMESTAMPTZ_NS", "2024-07-04 08:00:00.999999999+00", {}, 1_720_080_000, 0),
        ("DATE", "2024-07-04", {}, 1_720_051_200, 0),
        ("DATE", "2024-07-04", {"zone": "Europe/Berlin", "clock": "local"}, 1_720_044_000, 7200),
        ("TIMESTAMP", "2024-07-04 08:00:00", {"offset_minutes": "offset"}, 1_720_080_000, -5400),
    ],
)
def test_every_kind_of_time_is_understood(
    tmp_path: Path, kind: str, time: object, options: dict[str, Any], utc_s: int, offset_s: int
) -> None:
    path = write_parquet(tmp_path / "t.parquet", ("a", time, 48, 11, -90), time=kind, offset="INTEGER")
    visits = read_table(path, **options)
    assert (visits.utc_s[0], visits.offset_s[0]) == (utc_s, offset_s)


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "TIMESTAMPTZ_NS", "DATE"])
def test_times_beyond_all_clocks_are_counted(tmp_path: Path, kind: str) -> None:
    times = ["2024-07-04", "infinity", "-infinity", None, "1969-12-31", "2200-01-01"]
    visits = read_table(write_parquet(tmp_path / "t.parquet", *(("a", time, 48, 11) for time in times), time=kind))
    assert visits.utc_s.tolist() == [1_720_051_200]
    assert dict(visits.dropped) == {"unreadable time": 3, "time not between 1970 and 2100": 2}


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "TIMESTAMPTZ_NS"])
@pytest.mark.parametrize("number", [-(2**63), 1 - 2**63, 2**63 - 2])
def test_the_first_and_last_of_all_timestamps_are_counted(tmp_path: Path, kind: str, number: int) -> None:
    time, known = "2024-07-04 08:00:00.123456", 1_720_080_000_123_456 * (1000 if kind.endswith("NS") else 1)
    path = write_parquet(tmp_path / "t.parquet", ("a", "2024-07-04", 48, 11), ("a", time, 48, 11), time=kind)
    content = path.read_bytes()
    old, new = (value.to_bytes(8, "little", signed=True) for value in (known, number))
    assert old in content
    path.write_bytes(content.replace(old, new))
    visits = read_table(path)
    assert visits.utc_s.tolist() == [1_720_051_200]
    assert sum(visits.dropped.values()) == 1


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ"])
def test_years_of_more_or_fewer_digits_are_no_times(tmp_path: Path, kind: str) -> None:
    times = ["2024-07-04", "12024-07-04", "290000-01-01", "0044-03-15 (BC)", "9999-12-31"]
    visits = read_table(write_parquet(tmp_path / "t.parquet", *(("a", time, 48, 11) for time in times), time=kind))
    assert dict(visits.dropped) == {"unreadable time": 3, "time not between 1970 and 2100": 1}


@pytest.mark.parametrize(
    ("kind", "users"),
    [
        ("VARCHAR", ("An\nna", " ö, 'x' ")),
        ("BIGINT", (-(2**63), 7)),
        ("UTINYINT", (0, 255)),
        ("UBIGINT", (0, 2**64 - 1)),
        ("UUID", ("6d3d0e4e-7b3a-4f0e-9f0e-2a1b3c4d5e6f", "00000000-0000-0000-0000-000000000001")),
    ],
)
def test_users_are_text_or_whole_numbers(tmp_path: Path, kind: str, users: tuple[object, ...]) -> None:
    path = write_parquet(tmp_path / "t.parquet", *((user, *ROW[1:]) for user in users), user=kind)
    assert read_table(path).users == tuple(str(user).strip() for user in users)


@pytest.mark.parametrize("kind", ["DOUBLE", "DECIMAL(9,6)", "VARCHAR", "SMALLINT"])
def test_numbers_of_any_type_are_positions(tmp_path: Path, kind: str) -> None:
    path = write_parquet(tmp_path / "t.parquet", ("a", 0, "48", "-11"), latitude=kind, longitude=kind)
    visits = read_table(path)
    assert (visits.latitude.tolist(), visits.longitude.tolist()) == ([48.0], [-11.0])


def test_bad_rows_and_missing_values_are_counted_under_their_first_fault(tmp_path: Path) -> None:
    rows = [
        (*ROW, 60),
        (None, None, None, None, None),
        ("  ", *ROW[1:], 60),
        ("a", None, 48.0, 11.0, 60),
        ("a", -5, 48.0, 11.0, 60),
        (*ROW, None),
        (*ROW, 10_000),
        ("a", 0, None, 11.0, 60),
        ("a", 0, 48.0, float("nan"), 60),
        ("a", 0, float("inf"), 11.0, 60),
        ("a", 0, 91.0, 11.0, 60),
        ("a", 0, 48.0, 181.0, 60),
        ("a", 0, 0.0, 0.0, 60),
    ]
    visits = read_table(write_parquet(tmp_path / "t.parquet", *rows, offset="INTEGER"), offset_minutes="offset")
    assert len(visits) == 1
    assert dict(visits.dropped) == {
        "no user": 2,
        "unreadable time": 1,
        "time not between 1970 and 2100": 1,
        "unreadable UTC offset": 2,
        "unreadable position": 3,
        "latitude out of range": 1,
        "longitude out of range": 1,
        "no fix (0, 0)": 1,
    }


def test_a_file_without_a_good_row_is_an_error_that_counts(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", ("a", 0, 116.3, 39.9), ("b", None, 116.3, 39.9))
    with pytest.raises(FileFormatError, match=r"none of 2 rows.*expected a Parquet file.*swapped\?"):
        read_table(path)
    with pytest.raises(
        FileFormatError, match="contains no rows; expected a Parquet file with the columns user, time, lat"
    ):
        read_table(write_parquet(tmp_path / "e.parquet"))


TEXTS = st.text(max_size=8) | st.sampled_from(
    ["", "48.1", "-11", "2024-07-04T10:00:00+02:00", "1720080000", "nan", "x"]
)
NUMBERS = st.floats() | st.floats(-200, 200) | st.just(48.1)


def outcome(path: Path) -> object:
    try:
        return told(read_table(path))
    except FileFormatError as error:
        return str(error).replace(str(path), "").replace("a Parquet file", "a CSV")


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(),
    user=st.sampled_from(["VARCHAR", "BIGINT"]),
    time=st.sampled_from(["VARCHAR", "BIGINT", "DOUBLE"]),
    place=st.sampled_from(["VARCHAR", "DOUBLE"]),
)
def test_a_csv_of_the_same_rows_gives_the_same_visits(data: st.DataObject, user: str, time: str, place: str) -> None:
    whole = st.integers(-(2**63), 2**63 - 1)
    values: dict[str, st.SearchStrategy[Any]] = {
        "VARCHAR": TEXTS,
        "BIGINT": whole | st.integers(0, 5_000_000_000),
        "DOUBLE": NUMBERS | st.floats(0, 5e9),
    }
    kinds = (user, time, place, place)
    rows = data.draw(st.lists(st.tuples(*(st.none() | values[kind] for kind in kinds)), max_size=6))
    with tempfile.TemporaryDirectory() as folder:
        flat = Path(folder) / "t.csv"
        with flat.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([NAMES, *rows])
        packed = write_parquet(Path(folder) / "t.parquet", *rows, **dict(zip(NAMES, kinds, strict=True)))
        assert outcome(packed) == outcome(flat)


def test_rows_across_batches_keep_their_order_and_progress_ends_at_the_size(tmp_path: Path) -> None:
    count = 3 * BATCH_ROWS + 5
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        rows = "'u' || (range * 7919 % 1000) AS \"user\", range AS time, 48 AS latitude, 11 AS longitude"
        copy_out(connection, f"SELECT {rows} FROM range({count})", path)
    steps: list[tuple[int, int]] = []
    visits = read_table(path, progress=lambda done, total: steps.append((done, total)))
    assert sorted(visits.utc_s.tolist()) == list(range(count))
    assert visits.users == tuple(f"u{i * 7919 % 1000}" for i in range(1000))
    size = path.stat().st_size
    assert steps == sorted(steps)
    assert len(steps) == 4
    assert steps[-1] == (size, size)


def test_parquet_is_recognised_by_its_first_bytes_whatever_its_name(tmp_path: Path) -> None:
    for name in ("t.csv", "t", "t.PARQUET", "it's; [a]*?.parquet", "we[i]rd*/t.parquet", "user=7/time=x/t.parquet"):
        assert told(read_table(write_parquet(tmp_path / name, ROW)))[0] == ("a",)
    (tmp_path / "link").symlink_to(tmp_path / "t.csv")
    assert read_table(tmp_path / "link").users == ("a",)


def test_a_name_that_looks_like_a_pattern_reads_no_other_file(tmp_path: Path) -> None:
    for name in ("x.parquet", "y.parquet"):
        write_parquet(tmp_path / name, ("other", *ROW[1:]))
    for name in ("[!a].parquet", "?.parquet", "*.parquet", "[xy].parquet"):
        assert read_table(write_parquet(tmp_path / name, ROW)).users == ("a",)


def test_columns_are_found_by_their_exact_names(tmp_path: Path) -> None:
    odd = 'la"; DROP TABLE x --'
    path = write_parquet(
        tmp_path / "t.parquet",
        ("a", 0, 48.0, 11.0, [{"user": 1}], 49.0, "b"),
        **{"nested": 'STRUCT("user" INTEGER)[]', odd: "DOUBLE", "usex": "VARCHAR"},
    )
    assert read_table(path, latitude=odd).latitude.tolist() == [49.0]
    # DuckDB writes no two names that differ in case alone; others do
    path.write_bytes(path.read_bytes().replace(b"usex", b"User"))
    assert read_table(path).users == ("a",)
    assert read_table(path, user="User").users == ("b",)
    path.write_bytes(path.read_bytes().replace(b"User", b"user"))
    with pytest.raises(FileFormatError, match="has 2 columns 'user'; its columns are: user, time, latitude"):
        read_table(path)


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", ROW)
    complaint = "has no column 'lat'; its columns are: user, time, latitude, longitude"
    with pytest.raises(FileFormatError, match=complaint):
        read_table(path, latitude="lat")
    with pytest.raises(FileFormatError, match="has no column 'User'"):
        read_table(path, user="User")


@pytest.mark.parametrize(
    ("column", "kind", "value", "right"),
    [
        ("user", "DOUBLE", 1.0, "text or whole numbers"),
        ("user", "BLOB", b"a", "text or whole numbers"),
        ("user", "BOOLEAN", True, "text or whole numbers"),
        ("time", "TIME", "10:00:00", "text, numbers or timestamps"),
        ("time", "TIMESTAMP[]", ["2024-07-04"], "text, numbers or timestamps"),
        ("latitude", "DOUBLE[]", [48.0], "numbers, or text that holds them"),
        ("latitude", "DECIMAL(9,6)[]", [48.0], "numbers, or text that holds them"),
        ("latitude", "STRUCT(y DOUBLE)", {"y": 48.0}, "numbers, or text that holds them"),
        ("longitude", "DATE", "2024-07-04", "numbers, or text that holds them"),
        ("longitude", "MAP(VARCHAR, DOUBLE)", {"x": 1.0}, "numbers, or text that holds them"),
    ],
)
def test_a_column_of_the_wrong_type_is_named(tmp_path: Path, column: str, kind: str, value: Any, right: str) -> None:
    row = [value if name == column else one for name, one in zip(NAMES, ROW, strict=True)]
    path = write_parquet(tmp_path / "t.parquet", row, **{column: kind})
    with pytest.raises(FileFormatError) as caught:
        read_table(path)
    assert str(caught.value) == f"{path}: its column '{column}' is of type {kind}; should be {right}"


def test_what_is_no_parquet_file_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="parquet: is empty; expected a Parquet file with the columns user"):
        read_table(write(tmp_path / "t.parquet"))
    with pytest.raises(FileFormatError, match="does not start with PAR1; expected a Parquet file"):
        read_table(write(tmp_path / "t.parquet", ",".join(NAMES), "a,0,48,11"))
    with pytest.raises(FileFormatError, match="not found"):
        read_table(tmp_path / "none.parquet")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(FileFormatError, match="is a folder, should be a file"):
        read_table(tmp_path / "folder.parquet")


def test_a_file_that_states_other_rows_than_it_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(tmp_path / "t.parquet", *[ROW] * 3)
    monkeypatch.setattr("crowdveil.traces.parquet.STATED_ROWS", "SELECT 4 FROM parquet_file_metadata(?)")
    with pytest.raises(FileFormatError, match="contains 3 rows but states 4; is it damaged or cut off"):
        read_table(path)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_damaged_file_gives_visits_or_an_error_for_people(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_parquet(Path(folder) / "t.parquet", *[ROW] * 50)
        content = bytearray(path.read_bytes())
        if data.draw(st.booleans(), "cut off"):
            content = content[: data.draw(st.integers(0, len(content) - 1), "length")]
        else:
            for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)))):
                content[place] = byte
        path.write_bytes(content)
        complaint, found = "", 0
        try:
            found = len(read_table(path))
        except CrowdveilError as error:
            complaint = str(error)
        assert found or str(path) in complaint
        assert "\n" not in complaint


@pytest.mark.parametrize("bytes_lost", [1, 4, 100])
def test_a_file_that_is_cut_off_is_an_error(tmp_path: Path, bytes_lost: int) -> None:
    path = write_parquet(tmp_path / "t.parquet", ROW)
    path.write_bytes(path.read_bytes()[:-bytes_lost])
    with pytest.raises(FileFormatError, match=r"cannot be read as Parquet; is it damaged or cut off\?"):
        read_table(path)


@pytest.mark.parametrize(
    "query",
    [
        "FROM read_parquet('{other}')",
        "FROM read_parquet('{folder}/*.parquet')",
        "FROM read_csv('{folder}/secret.csv')",
        "FROM read_parquet('http://localhost:1/t.parquet')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/new.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET autoload_known_extensions = true",
    ],
)
def test_the_database_reaches_nothing_but_its_one_file(tmp_path: Path, query: str) -> None:
    path, other = (write_parquet(tmp_path / name, ROW) for name in ("t.parquet", "o.parquet"))
    write(tmp_path / "secret.csv", "a,b", "1,2")
    with _opened(path) as (connection, name):
        assert len(connection.execute("FROM read_parquet(?)", [name]).fetchall()) == 1
        with pytest.raises(duckdb.Error, match=r"disabled|locked|[Pp]ermission"):
            connection.execute(query.format(other=other, folder=tmp_path)).fetchall()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["o.parquet", "secret.csv", "t.parquet"]
