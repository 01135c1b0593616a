"""Read the columns of a Parquet file as text, so that the same code checks them as the fields of a CSV.

DuckDB reads the file, in a sandbox: no network, no extensions, no other file, nothing written to disk.
Neither the path nor the name of a column becomes part of a query: the path is a parameter, columns go by position.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from crowdveil.errors import FileFormatError
from crowdveil.traces.layout import Rows
from crowdveil.traces.table_scan import scan_rows
from crowdveil.traces.trace_files import BATCH_ROWS, MAGIC_PARQUET, reading
from crowdveil.traces.visit_builder import VisitBuilder
from crowdveil.vocabulary import Progress

TEXT = {"VARCHAR", "UUID"}
WHOLE = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG")} | {"INTEGER", "UINTEGER"}
NUMBER = WHOLE | {"FLOAT", "DOUBLE", "DECIMAL"}
ZONED = {"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"}
NAIVE = {"TIMESTAMP", "TIMESTAMP_NS", "DATE"}

USER = (TEXT | WHOLE, "text or whole numbers")
TIME = (TEXT | NUMBER | ZONED | NAIVE, "text, numbers or timestamps")
MEASURE = (TEXT | NUMBER, "numbers, or text that holds them")
"""What a column may hold, as types and in words."""

CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "allow_persistent_secrets": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "temp_directory": "",
}
STATED_ROWS = "SELECT num_rows FROM parquet_file_metadata(?)"


def scan_parquet(
    builder: VisitBuilder, user: str, time: str, numbers: Sequence[str], *, progress: Progress | None = None
) -> Iterator[Rows | list[tuple[str, ...]]]:
    """Yield rows as numbers, and at the end, as columns of text, those that could not be read as such."""
    path = builder.path
    _check_start(builder)
    with _opened(path, threads=os.cpu_count() or 1) as (connection, name):
        types = _types(connection, name)
        wanted = [(user, USER), (time, TIME), *((number, MEASURE) for number in numbers)]
        texts = [_as_text(builder, types, column, *right) for column, right in wanted]
        renamed = ", ".join(f"c{place}" for place in range(len(types)))
        table = f"read_parquet(?, hive_partitioning = false) AS file({renamed})"
        stated = connection.execute(STATED_ROWS, [name]).fetchall()[0][0]
        done, size = 0, path.stat().st_size
        for rows in scan_rows(connection, table, [name], texts):
            yield rows
            done += len(rows[0]) if isinstance(rows, list) else len(rows.of_name)
            if progress:
                progress(size * min(done, stated) // max(stated, 1), size)
        if done != stated:
            raise FileFormatError(f"{path}: contains {done:,} rows but states {stated:,}; is it damaged or cut off?")


def parquet_batches(
    builder: VisitBuilder, user: str, time: str, numbers: Sequence[str], *, progress: Progress | None = None
) -> Iterator[list[tuple[str, ...]]]:
    """Yield columns of text, a batch of rows at a time: user, time, numbers; NULL becomes empty text, as in a CSV."""
    path = builder.path
    _check_start(builder)
    with _opened(path) as (connection, name):
        types = _types(connection, name)
        wanted = [(user, USER), (time, TIME), *((number, MEASURE) for number in numbers)]
        texts = [_as_text(builder, types, column, *right) for column, right in wanted]
        renamed = ", ".join(f"c{place}" for place in range(len(types)))
        stated = connection.execute(STATED_ROWS, [name]).fetchall()[0][0]
        done, size = 0, path.stat().st_size
        connection.execute(
            f"SELECT {', '.join(texts)} FROM read_parquet(?, hive_partitioning = false) AS file({renamed})", [name]
        )
        while rows := connection.fetchmany(BATCH_ROWS):
            yield list(zip(*rows, strict=True))
            done += len(rows)
            if progress:
                progress(size * min(done, stated) // max(stated, 1), size)
        if done != stated:
            raise FileFormatError(f"{path}: contains {done:,} rows but states {stated:,}; is it damaged or cut off?")


def _check_start(builder: VisitBuilder) -> None:
    path = builder.path
    with reading(path), path.open("rb") as file:
        head = file.read(len(MAGIC_PARQUET))
    if head != MAGIC_PARQUET:
        why = "does not start with PAR1" if head else "is empty"
        raise FileFormatError(f"{path}: {why}; expected {builder.expected}")


@contextmanager
def _opened(path: Path, threads: int = 1) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """Open a database that can read only this file; yield it and the name by which it knows the file."""
    whole = str(path.resolve())
    # DuckDB reads a name as a pattern, which may match other files; special characters in brackets match themselves
    name = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in whole)
    try:
        with duckdb.connect(config={**CONFIG, "threads": threads}) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET enable_progress_bar = false")  # shown by default where Python is interactive
            connection.execute("SET allowed_paths = ?", [[whole, name]])
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection, name
    except (duckdb.Error, UnicodeError) as error:
        reason = str(error).partition("\n")[0][:300]
        raise FileFormatError(f"{path}: cannot be read as Parquet; is it damaged or cut off? ({reason})") from None


def _types(connection: duckdb.DuckDBPyConnection, name: str) -> list[tuple[str, str]]:
    """Return the name (as in the file; DuckDB renames those that differ only in case) and type of each column."""
    nodes = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [name]).fetchall()
    described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning = false)", [name])
    # the nodes form a tree; each is followed by all nodes below it
    names: list[str] = []
    below = 0
    for node, children in nodes[1:]:
        if below:
            below -= 1
        else:
            names.append(node)
        below += children or 0
    return list(zip(names, (row[1] for row in described.fetchall()), strict=True))


def _as_text(
    builder: VisitBuilder, types: Sequence[tuple[str, str]], name: str, allowed: set[str], in_words: str
) -> str:
    """Return the expression that converts a column to text, or raise an error that says what is wrong with it."""
    place = builder.place([column for column, _ in types], name, "its columns are")
    kind = types[place][1]
    # a DECIMAL states its width in round brackets; a list type ends in square ones
    if (kind.partition("(")[0] if kind.endswith(")") else kind) not in allowed:
        raise FileFormatError(f"{builder.path}: its column {name!r} is of type {kind[:80]}; should be {in_words}")
    column = f"c{place}"
    if kind == "TIMESTAMP":
        # to whole seconds first, because the smallest timestamp cannot be converted to text
        column = f"date_trunc('second', {column})"
    text = f"CAST({column} AS VARCHAR)"
    if kind in ZONED | NAIVE:
        # fractions of a second are dropped; the session's zone is UTC
        text = f"left({text}, 19)" + (" || 'Z'" if kind in ZONED else "")
    return f"coalesce({text}, '')"
