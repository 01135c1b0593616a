"""What a batch asks of an engine, and how one is named: `duckdb`, `spark`, `spark://HOST:PORT`, `spark://local[4]`."""

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

Fraction: TypeAlias = Callable[[float], None]
"""Called now and then with the share of a step that is done, 0 to 1."""

Columnwise: TypeAlias = Callable[[str, Callable[..., Any], Sequence[str], str], Callable[..., Expression]]
"""(name, a function of numpy columns, their types, its own type) → the same on expressions."""

MIN_MEMORY_MB = 10
"""With less, DuckDB does not read the first file."""
MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])i?B", re.IGNORECASE)


@contextmanager
def stepwise() -> Iterator[None]:
    """Let ibis write each step as a query of its own; merged into one, an expression stands wherever it is used."""
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
        """A table of Parquet files."""

    def read_csv(self, paths: Sequence[str], delimiter: str, columns: Sequence[str]) -> Expression:
        """A table of CSV files with this heading; every column is text.

        Rows with another number of fields are either in the table, in a column `BROKEN_ROW`, or set aside.
        """

    def rejected(self) -> dict[str, int]:
        """How many rows of CSV were set aside since this was last asked, by reason."""

    def write(self, table: Expression, folder: Path, progress: Fraction) -> None:
        """Evaluate an expression into Parquet files in a folder that is not there yet."""

    def columnwise(
        self, name: str, function: Callable[..., Any], inputs: Sequence[str], output: str
    ) -> Callable[..., Expression]:
        """Make a function of whole numpy columns, without NULL in them, one that expressions can call."""

    def rows(self, table: Expression) -> list[dict[str, Any]]:
        """Evaluate a small result."""

    def close(self) -> None:
        """Let go of everything."""


@contextmanager
def watched(share: Callable[[], float], progress: Fraction, every_s: float) -> Iterator[None]:
    """While a query runs, ask from another thread how far it is."""
    over = Event()

    def watch() -> None:
        with suppress(Exception):  # of an engine that is gone the query itself tells
            while not over.wait(every_s):
                progress(share())

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def declared(function: Callable[..., Any], name: str, inputs: Sequence[str]) -> Callable[..., Any]:
    """The function with a name and as many named parameters as there are inputs, which ibis reads off it."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    function.__name__ = name
    function.__signature__ = Signature([Parameter(f"column_{n}", kind) for n in range(len(inputs))])  # type: ignore[attr-defined]
    return function


def size_of(memory: str, thousand: float) -> float:
    """Bytes of a size such as 4GB, for an engine to which a kilobyte is 1000 or 1024 of them."""
    found = MEMORY.fullmatch(memory)
    if found is None:
        raise InputError("memory", memory, "should be a size, such as 4GB or 500MB")
    return float(found[1]) * thousand ** ("KMGT".index(found[2].upper()) + 1)


def check_memory(memory: str | None) -> None:
    """Refuse a size with which no engine can work; None leaves the choice to the engine."""
    if memory is not None and size_of(memory, 1000.0) < MIN_MEMORY_MB * 1_000_000:
        raise InputError("memory", memory, f"should be at least {MIN_MEMORY_MB}MB")
