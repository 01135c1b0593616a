"""Large tables are read by DuckDB, and give what the reader in Python gives."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import duckdb
import pytest

from crowdveil.errors import FileFormatError
from crowdveil.traces import Visits, read_table
from tests.batch.odd_rows import odd_rows

HEADING = ("user", "time", "latitude", "longitude")
SOUND = [
    ("ann", "2024-07-04T08:00:00Z", "48.1", "11.5"),
    ("bob", "2024-07-04 08:00:00", "-48.1", "1.15e1"),
    ("ann", "2024-07-04T10:00:00+02:00", "48.2", "11.5"),
    ("ann", "2024-07-04T03:30:00-04:30", "48.2", "11.5"),
    ("ann", "2024-07-04T10:00:00+25:00", "48.2", "11.5"),
    ("bob", "1720080000", "48.1", "11.5"),
    ("bob", "1720080000.75", "48.1", "11.5"),
    ("bob", "1720080000123", "48.1", "11.5"),
    ("cy", "2024-02-30T08:00:00", "48.1", "11.5"),
    ("cy", "2024-07-04T08:00:61Z", "48.1", "11.5"),
    ("cy", "2024/07/04T08:00:00", "48.1", "11.5"),
    ("cy", "1720080000", "1e999", "11.5"),
    ("", "1720080000", "48.1", "11.5"),
    (" dee ", "1720080000", "48.1", "11.5"),
    ("dee", "1720080000", "48.1", ""),
    ('a "quoted", name', "1720080000", "48.1", "11.5"),
    ("ünï", "1720080000", "48.1", "11.5"),
]


def as_rows(visits: Visits) -> list[tuple[Any, ...]]:
    columns = (visits.user, visits.utc_s, visits.offset_s, visits.latitude, visits.longitude)
    return sorted((visits.users[user], *rest) for user, *rest in zip(*(c.tolist() for c in columns), strict=True))


def both(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Visits, Visits]:
    """The file read in Python, and read by DuckDB."""
    slow = read_table(path, **options)
    monkeypatch.setattr("crowdveil.traces.table.LARGE_BYTES", 0)
    return slow, read_table(path, **options)


@pytest.mark.parametrize(
    "options", [{}, {"zone": "Europe/Berlin", "clock": "utc"}, {"zone": "Europe/Berlin", "clock": "local"}]
)
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet"])
def test_who_reads_a_table_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, options: dict[str, Any]
) -> None:
    rows = SOUND + [tuple(map(str, row)) for row in odd_rows()]
    path = tmp_path / f"[visits]*.{kind}"
    plain = tmp_path / "plain"
    with plain.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t" if kind == "tsv" else ",").writerows(
            [HEADING, *rows, ("cut", "off"), ("x",) * 6]
        )
    if kind == "parquet":
        with duckdb.connect() as connection:
            names = ", ".join(f"'{name}': 'VARCHAR'" for name in HEADING)
            text = "header = true, auto_detect = false, quote = '\"', ignore_errors = true"
            read = f"read_csv('{plain}', columns = {{{names}}}, {text})"
            connection.execute(f"COPY (SELECT * FROM {read}) TO '{tmp_path}/t.parquet'")
        (tmp_path / "t.parquet").rename(path)
    else:
        path.write_bytes(gzip.compress(plain.read_bytes()) if kind == "csv.gz" else plain.read_bytes())
    slow, fast = both(path, monkeypatch, **options)
    assert as_rows(fast) == as_rows(slow)
    assert dict(fast.dropped) == dict(slow.dropped)


def test_a_column_of_offsets_is_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    rows = [*((*row, str(60 * number)) for number, row in enumerate(SOUND)), (*SOUND[0], "x")]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([(*HEADING, "offset"), *rows])
    slow, fast = both(path, monkeypatch, offset_minutes="offset")
    assert as_rows(fast) == as_rows(slow)
    assert dict(fast.dropped) == dict(slow.dropped)


@pytest.mark.parametrize(
    "body",
    [
        b"ann,1720080000,48.1,11.5\nann,1720080001,48.1,11.5\xff\nb\xe9,1720080000,48.1,11.5\n",
        b'"ann,1720080000,48.1,11.5\n',
    ],
    ids=["not UTF-8", "a quote that does not end"],
)
def test_what_duckdb_reads_differently_is_read_in_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"user,time,latitude,longitude\nann,1720080009,48.1,11.5\n" + body)
    slow, fast = both(path, monkeypatch)
    assert as_rows(fast) == as_rows(slow)
    assert dict(fast.dropped) == dict(slow.dropped)


def test_a_missing_column_and_a_file_without_rows_are_the_same_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdveil.traces.table.LARGE_BYTES", 0)
    path = tmp_path / "t.csv"
    path.write_text("user,time,lat,longitude\nann,1720080009,48.1,11.5\n")
    with pytest.raises(FileFormatError, match=r"has no column 'latitude'; its first line reads: user, time, lat"):
        read_table(path)
    path.write_text("user,time,latitude,longitude\n")
    with pytest.raises(FileFormatError, match="contains no rows"):
        read_table(path)
    with pytest.raises(FileFormatError, match="not found"):
        read_table(tmp_path / "none.csv")
