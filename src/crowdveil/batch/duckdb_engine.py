"""DuckDB, embedded: as many threads as there are cores, and what does not fit into memory is spilled to disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa

from crowdveil.batch.engine import ShareDone, one_query_per_step, reporting_progress, size_of, with_signature
from crowdveil.batch.fixes import Expression
from crowdveil.errors import EngineError, FileFormatError
from crowdveil.traces.visit_builder import WRONG_FIELDS

POLL_S = 0.2
REASONS = {
    "INVALID ENCODING": "not in UTF-8",
    "LINE SIZE OVER MAXIMUM": "line of more than 2 MB",
}
"""Of DuckDB's errors; the others are columns too many or too few, or letters after a quote: `WRONG_FIELDS`."""
CSV_BUFFER = 8 << 20
"""Each thread holds some; DuckDB's own of 32 MB would not fit beside a group-by where memory is short."""
BYTES_PER_THREAD = 125_000_000
"""What a thread wants, by DuckDB's own advice; with less in all, one thread still spills and finishes."""


class DuckDbEngine:
    """A database in memory that knows no tables of its own."""

    name = "duckdb"

    def __init__(self, *, memory: str | None = None, threads: int | None = None, spill: Path | None = None) -> None:
        if memory is not None:
            few = max(1, int(size_of(memory, 1000.0)) // BYTES_PER_THREAD)
            threads = threads or min(os.cpu_count() or 1, few)
        with _told():
            self._ibis = ibis.duckdb.connect(
                # The order of rows means nothing here, and keeping it takes memory.
                preserve_insertion_order=False,
                autoinstall_known_extensions=False,
                allow_persistent_secrets=False,
                **({} if memory is None else {"memory_limit": memory}),
                **({} if threads is None else {"threads": threads}),
                **({} if spill is None else {"temp_directory": str(spill)}),
            )
            self._ibis.raw_sql("SET TimeZone = 'UTC'")
            self._ibis.raw_sql("SET enable_progress_bar = false")

    def read_parquet(self, paths: Sequence[str]) -> Expression:
        """Open Parquet files as a table."""
        with _told():
            return self._ibis.read_parquet(list(map(_plain, paths)), hive_partitioning=False, union_by_name=True)

    def read_csv(self, paths: Sequence[str], delimiter: str, columns: Sequence[str]) -> Expression:
        """Open CSV files as a table; rows with another number of fields are set aside, see `rejected`."""
        with _told():
            return self._ibis.read_csv(
                list(map(_plain, paths)),
                columns=dict.fromkeys(columns, "VARCHAR"),
                auto_detect=False,
                header=True,
                delim=delimiter,
                quote='"',
                escape='"',
                ignore_errors=True,
                store_rejects=True,
                buffer_size=CSV_BUFFER,
            )

    def rejected(self) -> dict[str, int]:
        """Return how many rows of CSV were set aside since the last call, by reason.

        A quote that does not end takes the lines after it along, up to a buffer full; how many, nobody can say. A file
        that has one is refused.
        """
        with _told():
            endless = self._ibis.con.execute(
                "SELECT file_path, line FROM reject_errors JOIN reject_scans USING (scan_id, file_id) "
                "WHERE error_type = 'UNQUOTED VALUE' AND contains(csv_line, chr(10)) ORDER BY line LIMIT 1"
            ).fetchone()
            # one error for each row, the first by its name: a row with several goes once
            errors = self._ibis.con.execute(
                "SELECT error, count(*) FROM (SELECT min(error_type::VARCHAR) AS error FROM reject_errors "
                "GROUP BY scan_id, file_id, line) GROUP BY error"
            ).fetchall()
            self._ibis.raw_sql("DELETE FROM reject_errors")
        if endless is not None:
            path, line = endless
            what = f"line {line} opens a quote that does not end there; mend or remove that line"
            raise FileFormatError(f"{path}: {what}")
        reasons: Counter[str] = Counter()
        for error, rows in errors:
            reasons[REASONS.get(error, WRONG_FIELDS)] += rows
        return dict(reasons)

    def write(self, table: Expression, folder: Path, progress: ShareDone) -> None:
        """Evaluate an expression into one Parquet file in a new folder."""
        folder.mkdir()
        with _told(), reporting_progress(self._share_done, progress, POLL_S), one_query_per_step():
            self._ibis.to_parquet(table, folder / "part-0.parquet")

    def column_function(
        self, name: str, function: Callable[..., Any], inputs: Sequence[str], output: str
    ) -> Callable[..., Expression]:
        """Make a function of columns; it is called with a few thousand rows at a time, one thread at a time."""

        def on_arrow(*columns: pa.ChunkedArray) -> pa.Array:
            return pa.array(function(*(column.to_numpy() for column in columns)))

        signature = (tuple(inputs), output)
        made: Callable[..., Expression] = ibis.udf.scalar.pyarrow(signature=signature)(
            with_signature(on_arrow, name, inputs)
        )
        return made

    def rows(self, table: Expression) -> list[dict[str, Any]]:
        """Evaluate a small result."""
        with _told():
            return list(self._ibis.to_pyarrow(table).to_pylist())

    def close(self) -> None:
        """Close the database."""
        self._ibis.disconnect()

    def _share_done(self) -> float:
        return max(0.0, float(self._ibis.con.query_progress())) / 100


def _plain(path: str) -> str:
    """Put special characters in brackets, because DuckDB reads a name as a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None
    except duckdb.OutOfMemoryException:
        raise EngineError("DuckDB ran out of memory: give it more memory, or fewer threads") from None
    except duckdb.Error as error:
        raise EngineError(f"DuckDB: {str(error).partition(chr(10))[0][:300]}") from None
