"""Open the database, migrate it, and run transactions.

SQLite: write-ahead log with synchronous = FULL, so a commit is on disk when it returns. A transaction that writes takes
the lock when it begins (BEGIN IMMEDIATE) and waits for it; one that only reads never waits.

PostgreSQL: writers run at READ COMMITTED whatever the server's default is; rows that decide are locked explicitly.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, Table, create_engine, event, make_url, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from crowdveil.errors import InputError, MissingExtraError, StoreError
from crowdveil.store.driver import DriverTransaction

BUSY_MS = 10_000
"""How long SQLite waits for another process that writes, in milliseconds."""
CHECKPOINT_PAGES = 16_000
"""Pages of SQLite's write-ahead log (64 MB) before they are moved into the file, which holds up a commit meanwhile.

Secrets and numbers are random, so each report changes pages of its own; the longer it takes until they are moved, the
more of them were changed several times. SQLite's default, 1,000, is reached with every few commits.
"""
CACHE_KB = 16_000
"""Size of a connection's cache on SQLite; with its default, 2 MB, pages would be read again for each report."""
POOL = 10
MIGRATION_LOCK = 0x63726F77
"""Key of the advisory lock on PostgreSQL; any number that no other program locks in this database."""
EXPECTED = "should be sqlite:///relative/path, sqlite:////absolute/path or postgresql://user@host/database"


class Store:
    """A migrated database; made by `open_store`, used through the functions of this package."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reader = engine.execution_options(reading=True)
        if engine.dialect.name == "postgresql":
            self._reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._idle: list[Any] = []
        """Connections of the driver that no transaction uses at the moment."""
        self.where = engine.url.render_as_string(hide_password=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._close_idle()
        self._engine.dispose()

    def ping(self) -> None:
        """Raise StoreError unless the database answers and can be written to.

        Commits a row without changing it, because a full disk is noticed only by a write.
        """
        with self.writing() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = version_num"))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run a transaction that sees one state of the database and changes nothing."""
        with self._translated(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run a transaction that is on disk when the block ends; if the block raises, nothing is stored."""
        with self._translated(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing_directly(self) -> Iterator[DriverTransaction]:
        """Run a transaction like `writing`, on the driver's own cursor: for the few statements of every report."""
        with self._directly("BEGIN IMMEDIATE") as transaction:
            yield transaction

    @contextmanager
    def reading_directly(self) -> Iterator[DriverTransaction]:
        """Run a transaction of a single query on the driver's own cursor."""
        with self._directly("BEGIN") as transaction:
            yield transaction

    @contextmanager
    def _directly(self, begin: str) -> Iterator[DriverTransaction]:
        dialect = self._engine.dialect
        with self._translated():
            connection = self._take_connection()
            try:
                transaction = DriverTransaction(connection, dialect.name)
                if dialect.name == "sqlite":
                    connection.execute(begin)
                yield transaction
                connection.commit()
            except BaseException:
                self._close_idle()  # if the database was restarted, none of them would work
                with suppress(dialect.loaded_dbapi.Error):
                    connection.rollback()
                with suppress(dialect.loaded_dbapi.Error):
                    connection.close()
                raise
            self._idle.append(connection)

    def _take_connection(self) -> Any:
        with suppress(IndexError):
            return self._idle.pop()
        pooled = self._engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()  # the pool would check and reset it each time
        return connection

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                with suppress(self._engine.dialect.loaded_dbapi.Error):
                    self._idle.pop().close()

    def insert(self, table: Table) -> sqlite.Insert | postgresql.Insert:
        """Return an INSERT that supports ON CONFLICT, for the database in use."""
        if self._engine.dialect.name == "sqlite":
            return sqlite.insert(table)
        return postgresql.insert(table)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, PoolTimeoutError, self._engine.dialect.loaded_dbapi.Error) as error:
            if _is_read_only(error):  # SQLite opened the file for reading, and the connection would stay like that
                self._engine.dispose()
            raise StoreError(f"{self.where}: {_reason(error)}") from error


def open_store(url: str) -> Store:
    """Open a database and migrate it; create it if it does not exist."""
    engine = _engine(url)
    store = Store(engine)
    try:
        with store.writing() as connection:
            _upgrade(connection)
        store.ping()
    except CommandError as error:
        store.close()
        raise StoreError(
            f"{store.where}: was made by a newer version of crowdveil; upgrade this one ({error})"
        ) from None
    except StoreError:
        store.close()
        raise
    return store


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
                hide_parameters=True,  # error messages must not bring symbols into the logs
                connect_args={
                    "prepare_threshold": None
                },  # a plan made while a table is empty would be reused when it is full
            )
        except ModuleNotFoundError:
            raise MissingExtraError("PostgreSQL", "server") from None
    raise InputError("url", _without_password(url), EXPECTED)


def _sqlite(name: str | None, parsed: Any) -> Engine:
    if name in (None, "", ":memory:"):
        raise InputError(
            "url", str(parsed), "should name a file, such as sqlite:///path; reports must outlive the program"
        )
    folder = Path(str(name).removeprefix("file:").partition("?")[0]).parent
    if not folder.is_dir():
        raise StoreError(f"{parsed}: the folder {folder} does not exist; create it first")
    if "mode=ro" not in str(name):
        _for_its_owner_alone(Path(str(name).removeprefix("file:").partition("?")[0]))
    engine = create_engine(parsed, pool_size=POOL, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _for_its_owner_alone(path: Path) -> None:
    """Let nobody else read the database, whatever the umask; SQLite gives its other files the mode of this one.

    What cannot be done here is left to SQLite, which says what is wrong.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    for one in (path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))):
        with suppress(OSError):
            one.chmod(0o600)


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # `_begin_sqlite` begins transactions, not the driver
    cursor = connection.cursor()
    _write_ahead(cursor)
    for pragma in (
        f"busy_timeout = {BUSY_MS}",
        f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
        f"cache_size = -{CACHE_KB}",
        "synchronous = FULL",
        "foreign_keys = ON",
        "secure_delete = ON",  # what a participant withdrew is overwritten, not only released
        "recursive_triggers = ON",  # otherwise INSERT OR REPLACE deletes a row without firing its trigger
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    """Switch to the write-ahead log; retry instead of waiting, because two processes at once would deadlock."""
    cursor.execute("PRAGMA busy_timeout = 0")
    give_up = monotonic() + BUSY_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # The low byte, because SQLITE_BUSY_RECOVERY (another process recovers from a crash) counts as busy too.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > give_up:
                raise
            sleep(0.01)


def _begin_sqlite(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _upgrade(connection: Connection) -> None:
    """Apply missing migrations in the caller's transaction: a migration and its record are committed together."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _is_read_only(error: Exception) -> bool:
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_READONLY


def _reason(error: Exception) -> str:
    """Return the message of the database, on one line."""
    words = str(error.orig) if isinstance(error, DBAPIError) else str(error)
    return " ".join(words.split())


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if rest else url
