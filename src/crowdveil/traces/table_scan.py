"""Read the columns of a large table with DuckDB as numbers, and give back as text the rows that it cannot read.

Every column is taken as text first, so that a CSV and a Parquet file are judged alike. A row whose time is ISO of a
usual layout (2024-07-04T08:00:00, alone or followed by Z or +02:00) or a Unix time, and whose numbers can be read,
becomes numbers on all cores; `table` judges all others in Python, by the same rules as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import numpy as np

from crowdveil.traces.clock import MILLISECONDS_FROM
from crowdveil.traces.layout import Rows
from crowdveil.traces.visit_builder import MAX_NUMBER

FETCH_ROWS = 1 << 18
ISO_S = "CASE WHEN t[12:13] < '24' THEN epoch(try_cast(t[1:19] AS TIMESTAMP)) END"
"""DuckDB knows an hour 24, Python does not."""
IS_ISO = " OR ".join(f"t LIKE '____-__-__{between}__:__:__{end}'" for end in ("Z", "") for between in "T ")
IS_ISO_OFFSET = "regexp_matches(t, '^....-..-..[T ]..:..:..[+-]([01][0-9]|2[0-3]):[0-5][0-9]$')"
OFFSET_S = (
    "(CASE t[20] WHEN '-' THEN -1 ELSE 1 END * (3600 * try_cast(t[21:22] AS INT) + 60 * try_cast(t[24:25] AS INT)))"
)
UNIX = "try_cast(t AS DOUBLE)"
UNIX_S = (
    f"CASE WHEN abs({UNIX}) > {MAX_NUMBER!r} THEN NULL WHEN abs({UNIX}) >= {MILLISECONDS_FROM!r} THEN {UNIX} / 1000 "
    f"ELSE {UNIX} END"
)
SECONDS = (
    f"CASE WHEN t[5] <> '-' THEN {UNIX_S} WHEN {IS_ISO} THEN {ISO_S} "
    f"WHEN {IS_ISO_OFFSET} THEN ({ISO_S}) - {OFFSET_S} END"
)
STATED = f"CASE WHEN t[5] <> '-' OR strlen(t) = 20 THEN 0.0 WHEN strlen(t) > 20 THEN {OFFSET_S} END"
"""Of times that could be read, which have 19 letters, 20 with Z, or 25 with an offset."""


def scan_rows(
    connection: duckdb.DuckDBPyConnection, table: str, parameters: Sequence[object], texts: Sequence[str]
) -> Iterator[Rows | list[tuple[str, ...]]]:
    """Yield the rows that DuckDB can read; then, if there are others, these as columns of text.

    Args:
        connection: An open database.
        table: What stands after FROM.
        parameters: What its question marks stand for.
        texts: Expressions that give user, time and numbers as text, empty where missing.
    """
    wanted = ", ".join(["u", "seconds", "stated", *_names(texts)])
    reader = connection.sql(f"SELECT {wanted} FROM ({_judged(table, texts)})", params=list(parameters))
    others = 0
    for batch in reader.to_arrow_reader(FETCH_ROWS):
        user = batch.column(0).dictionary_encode()
        of_name = user.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        seconds, stated, *numbers = (
            np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64) for column in batch.columns[1:]
        )
        readable = np.logical_and.reduce([np.abs(column) <= MAX_NUMBER for column in (seconds, *numbers)])
        if not readable.all():
            others += int((~readable).sum())
            of_name, seconds, stated = of_name[readable], seconds[readable], stated[readable]
            numbers = [column[readable] for column in numbers]
        yield Rows(user.dictionary.to_pylist(), of_name, seconds, stated, numbers)
    if others:
        # read again, because columns of text take longer to fetch than all numbers
        as_text = ", ".join(["u", "t", *(f"{name}_text" for name in _names(texts))])
        sql = f"SELECT {as_text} FROM ({_judged(table, texts)}) WHERE NOT ({_readable(texts)})"
        yield list(zip(*connection.execute(sql, list(parameters)).fetchall(), strict=True))


def _names(texts: Sequence[str]) -> list[str]:
    return [f"n{place}" for place in range(len(texts) - 2)]


def _judged(table: str, texts: Sequence[str]) -> str:
    user, time, *numbers = texts
    named = [
        f"{user} AS u",
        f"{time} AS t",
        *(f"{one} AS {n}_text" for n, one in zip(_names(texts), numbers, strict=True)),
    ]
    cast = [f"try_cast({name}_text AS DOUBLE) AS {name}" for name in _names(texts)]
    inner = f"SELECT {', '.join(named)} FROM {table}"
    read = f"SELECT *, {', '.join(cast)} FROM ({inner})"
    return f"SELECT *, {SECONDS} AS seconds, {STATED} AS stated FROM ({read})"


def _readable(texts: Sequence[str]) -> str:
    known = [f"coalesce(abs({name}) <= {MAX_NUMBER!r}, false)" for name in ("seconds", *_names(texts))]
    return " AND ".join(known)
