"""The database itself: how it is opened, brought up to date, and used in transactions.

SQLite: write-ahead log with synchronous = FULL, so a commit is on disk when it returns. A transaction that writes takes
the lock when it begins (BEGIN IMMEDIATE) and waits for it; one that only reads never waits.

PostgreSQL: writers at READ COMMITTED whatever the server's default; what matters is locked row by row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self, TypeVar

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, Table, create_engine, event, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from crowdveil.errors import InputError, MissingExtraError, StoreError

Value = TypeVar("Value")

BUSY_MS = 10_000
"""How long SQLite waits for another process that writes."""
POOL = 10
MIGRATION_LOCK = 0x63726F77
"""Any number that nobody else locks in this PostgreSQL database."""
PART = 5_000
"""Values of one IN list; SQLite allows 32,766 in a statement, PostgreSQL 65,535."""
EXPECTED = "should be sqlite:///relative/path, sqlite:////absolute/path or postgresql://user@host/database"


class Store:
    """A database that is up to date; made by `open_store`, used through this package's functions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reader = engine.execution_options(reading=True)
        if engine.dialect.name == "postgresql":
            self._reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self.where = engine.url.render_as_string(hide_password=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def ping(self) -> None:
        """Raise StoreError unless the database answers and can be written to.

        Commits, though it changes nothing: a full disk is noticed when something is written to it, and not before.
        """
        with self.writing() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = version_num"))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and changes nothing."""
        with self._translated(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is on disk when the block ends, or has left nothing when it raises."""
        with self._translated(), self._engine.begin() as connection:
            yield connection

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """An INSERT that knows ON CONFLICT; both databases spell it alike."""
        if self._engine.dialect.name == "sqlite":
            return sqlite.insert(table)
        return postgresql.insert(table)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, PoolTimeoutError) as error:
            raise StoreError(f"{self.where}: {_reason(error)}") from error


def open_store(url: str) -> Store:
    """Open a database and bring it up to date, making it first where there is none."""
    engine = _engine(url)
    store = Store(engine)
    try:
        with store.writing() as connection:
            _upgrade(connection)
        store.ping()
    except CommandError as error:
        store.close()
        raise StoreError(f"{store.where}: was made by a newer crowdveil; upgrade this one ({error})") from None
    except StoreError:
        store.close()
        raise
    return store


def parts(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Cut a long list of values into pieces that a statement may carry."""
    return (values[start : start + PART] for start in range(0, len(values), PART))


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.drivername in ("postgresql", "postgres"):
            parsed = parsed.set(drivername="postgresql+psycopg")
        kind = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError):
        raise InputError("url", _without_password(url), EXPECTED) from None
    if kind == "sqlite":
        return _sqlite(parsed.database, parsed)
    if kind == "postgresql":
        try:
            return create_engine(
                parsed,
                isolation_level="READ COMMITTED",
                pool_size=POOL,
                pool_pre_ping=True,
                hide_parameters=True,  # symbols must not get into logs by way of an error message
                connect_args={"prepare_threshold": None},  # a plan made for an empty table would be kept as it fills
            )
        except ModuleNotFoundError:
            raise MissingExtraError("PostgreSQL", "server") from None
    raise InputError("url", _without_password(url), EXPECTED)


def _sqlite(name: str | None, parsed: Any) -> Engine:
    if name in (None, "", ":memory:"):
        raise InputError("url", str(parsed), "a report must outlive the program: name a file, sqlite:///path")
    folder = Path(str(name).removeprefix("file:").partition("?")[0]).parent
    if not folder.is_dir():
        raise StoreError(f"{parsed}: there is no folder {folder}; make it first")
    engine = create_engine(parsed, pool_size=POOL, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where `_begin_sqlite` says, not where the driver guesses
    cursor = connection.cursor()
    _write_ahead(cursor)
    for pragma in (
        f"busy_timeout = {BUSY_MS}",
        "synchronous = FULL",
        "foreign_keys = ON",
        "recursive_triggers = ON",  # or INSERT OR REPLACE deletes a row without asking its trigger
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    """Switch to the write-ahead log. Two who do so at the same moment would wait for each other: here we try again."""
    cursor.execute("PRAGMA busy_timeout = 0")
    give_up = monotonic() + BUSY_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # The low byte: SQLITE_BUSY_RECOVERY, while another one tidies up after a crash, is a kind of SQLITE_BUSY.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > give_up:
                raise
            sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _upgrade(connection: Connection) -> None:
    """Apply what is missing, in the caller's transaction: migrations and their records stand or fall together."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _reason(error: Exception) -> str:
    """The database's own words, on one line."""
    words = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return " ".join(words.split())


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if rest else url
