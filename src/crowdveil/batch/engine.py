"""Define what an engine must do, and its names: `duckdb`, `spark`, `spark://HOST:PORT`, `spark://local[4]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from inspect import Parameter, Signature
from pathlib import Path
from threading import Event, Thread
from typing import Any, Protocol, TypeAlias

import ibis

from crowdveil.batch.fixes import Expression
from crowdveil.errors import InputError

ShareDone: TypeAlias = Callable[[float], None]
"""Called now and then with the share of a step that is done, 0 to 1."""

MakeColumnFunction: TypeAlias = Callable[[str, Callable[..., Any], Sequence[str], str], Callable[..., Expression]]
"""Makes a function of expressions from (name, a function of numpy columns, their types, its own type)."""

MIN_MEMORY_MB = 10
"""With less, DuckDB does not read the first file."""
MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])i?B", re.IGNORECASE)


@contextmanager
def one_query_per_step() -> Iterator[None]:
    """Let ibis write each step as a query of its own; otherwise it repeats an expression wherever it is used."""
    before = ibis.options.sql.fuse_selects
    ibis.options.sql.fuse_selects = False
    try:
        yield
    finally:
        ibis.options.sql.fuse_selects = before


class Engine(Protocol):
    """Reads tables, evaluates expressions over them, writes Parquet."""

    name: str

    def read_parquet(self, paths: Sequence[str]) -> Expression:
        """Open Parquet files as a table."""

    def read_csv(self, paths: Sequence[str], delimiter: str, columns: Sequence[str]) -> Expression:
        """Open CSV files with this heading as a table; every column is text.

        Rows with another number of fields are either in the table, in a column `BROKEN_ROW`, or set aside.
        """

    def rejected(self) -> dict[str, int]:
        """Return how many rows of CSV were set aside since the last call, by reason."""

    def write(self, table: Expression, folder: Path, progress: ShareDone) -> None:
        """Evaluate an expression into Parquet files in a folder that does not exist yet."""

    def column_function(
        self, name: str, function: Callable[..., Any], inputs: Sequence[str], output: str
    ) -> Callable[..., Expression]:
        """Make a function of whole numpy columns, without NULL in them, into one that expressions can call."""

    def rows(self, table: Expression) -> list[dict[str, Any]]:
        """Evaluate a small result."""

    def close(self) -> None:
        """Release all resources."""


@contextmanager
def reporting_progress(share: Callable[[], float], progress: ShareDone, every_s: float) -> Iterator[None]:
    """Report from another thread, while a query runs, which share of it is done."""
    over = Event()

    def watch() -> None:
        with suppress(Exception):  # if the engine has died, the query itself raises the error
            while not over.wait(every_s):
                progress(share())

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def with_signature(function: Callable[..., Any], name: str, inputs: Sequence[str]) -> Callable[..., Any]:
    """Give a function a name and as many named parameters as there are inputs; ibis reads these from it."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    function.__name__ = name
    function.__signature__ = Signature([Parameter(f"column_{n}", kind) for n in range(len(inputs))])  # type: ignore[attr-defined]
    return function


def size_of(memory: str, thousand: float) -> float:
    """Return the bytes of a size such as 4GB, for an engine whose kilobyte has 1000 or 1024 bytes."""
    found = MEMORY.fullmatch(memory)
    if found is None:
        raise InputError("memory", memory, "should be a size, such as 4GB or 500MB")
    return float(found[1]) * thousand ** ("KMGT".index(found[2].upper()) + 1)


def check_memory(memory: str | None) -> None:
    """Refuse a size with which no engine can work; None leaves the choice to the engine."""
    if memory is not None and size_of(memory, 1000.0) < MIN_MEMORY_MB * 1_000_000:
        raise InputError("memory", memory, f"should be at least {MIN_MEMORY_MB}MB")
