"""Read a large CSV with DuckDB; say so where that cannot be done exactly as in Python."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from crowdveil.traces.layout import Rows
from crowdveil.traces.scan import CONFIG
from crowdveil.traces.table_scan import scan_rows
from crowdveil.traces.trace_files import MAGIC_BYTES, MAGIC_GZIP, MAGIC_XZ, reading
from crowdveil.traces.visit_builder import WRONG_FIELDS, VisitBuilder
from crowdveil.vocabulary import Progress

MAX_HEADING = 1 << 16
NUMBER_OF_FIELDS = ("TOO MANY COLUMNS", "MISSING COLUMNS")
"""The only reasons of DuckDB's to reject a row for which Python would too; of the others, Python decides."""
ERRORS = "SELECT DISTINCT line, error_type::VARCHAR, csv_line FROM reject_errors"


class NotForDuckDb(Exception):
    """The file has to be read in Python: its quotes, letters or compression are not what DuckDB reads alike."""


def scan_csv(
    builder: VisitBuilder, names: Sequence[str], *, progress: Progress | None = None
) -> Iterator[Rows | list[tuple[str, ...]]]:
    """Yield rows as numbers, and at the end, as columns of text, those that could not be read as such.

    Raises NotForDuckDb at any time; what was yielded before is then to be forgotten.
    """
    path = builder.path
    with reading(path), path.open("rb") as file:
        head = file.read(MAGIC_BYTES)
    if head == MAGIC_XZ:
        raise NotForDuckDb
    packed = head.startswith(MAGIC_GZIP)
    first = _first_line(path, packed)
    delimiter = max(",\t;", key=first.count)
    heading = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
    places = [builder.place(heading, name, "its first line reads") for name in names]
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(heading)))
    table = (
        f"read_csv(?, columns = {{{columns}}}, delim = '{delimiter}', skip = 1, header = false, auto_detect = false, "
        f"quote = '\"', escape = '\"', compression = '{'gzip' if packed else 'none'}', ignore_errors = true, "
        "store_rejects = true)"
    )
    texts = [f"coalesce(c{place}, '')" for place in places]
    size = path.stat().st_size
    try:
        with duckdb.connect(config=CONFIG) as connection:
            whole = str(path.resolve())
            name = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in whole)
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET allowed_paths = ?", [[whole, name]])
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            for rows in scan_rows(connection, table, [name], texts):
                yield rows
                if progress:
                    progress(int(size * max(0.0, float(connection.query_progress())) / 100), size)
            errors = connection.execute(ERRORS).fetchall()
            if any(kind not in NUMBER_OF_FIELDS for _, kind, _ in errors):
                raise NotForDuckDb
            # a second reading of the same file rejects the same rows again
            builder.drop(WRONG_FIELDS, len({line for line, _, text in errors if text.strip()}))
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except (duckdb.Error, UnicodeError):
        raise NotForDuckDb from None
    if progress:
        progress(size, size)


def _first_line(path: Path, packed: bool) -> str:
    """Return the heading, if it is one plain line of UTF-8."""
    with reading(path), gzip.open(path) if packed else path.open("rb") as file:
        line = file.readline(MAX_HEADING)
    try:
        text = line.decode("utf-8").removeprefix("\ufeff").rstrip("\r\n")
    except UnicodeDecodeError:
        raise NotForDuckDb from None
    if not line.endswith(b"\n") or text.count('"') % 2 or "\r" in text:
        raise NotForDuckDb
    return text
