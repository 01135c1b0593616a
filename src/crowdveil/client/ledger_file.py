"""Open the file of a ledger: SQLite, locked, checked from the first event to the last.

The file is a SQLite database, because three things must hold at once. A commit is on disk when it returns
(synchronous = EXTRA, which also syncs the folder, so that no old journal returns after a power cut). Two processes
exclude each other (BEGIN IMMEDIATE). And a second draw for a report is stopped by a constraint of the schema:

    event(number, server_key, campaign, report, kind, body, digest)
    UNIQUE (server_key, campaign, report, kind), except for events about the device itself

The head also holds the number that the file system gave to the file. A copy of the file has another one, and is
refused: two devices with copies of one ledger would each spend what is left. A backup that is written over the
original, or that gets the number of a deleted file again, is not noticed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from crowdveil.client.events import LedgerEvent, read_events
from crowdveil.errors import FileFormatError

VERSION = 1
"""Of the schema, and of exported ledgers."""
SCHEMA = f"""
CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    server_key TEXT NOT NULL,
    campaign TEXT NOT NULL,
    report INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX once ON event (server_key, campaign, report, kind) WHERE campaign <> '';
CREATE TABLE head (
    only INTEGER PRIMARY KEY CHECK (only = 1), number INTEGER NOT NULL, digest TEXT NOT NULL, file TEXT NOT NULL
) STRICT;
CREATE TABLE pending (
    server_key TEXT NOT NULL,
    campaign TEXT NOT NULL,
    report INTEGER NOT NULL,
    terms_hash TEXT NOT NULL,
    cell INTEGER NOT NULL,
    grade INTEGER NOT NULL,
    PRIMARY KEY (server_key, campaign, report)
) STRICT;
CREATE TABLE excluded (
    number INTEGER PRIMARY KEY, latitude REAL NOT NULL, longitude REAL NOT NULL, radius_km REAL NOT NULL
) STRICT;
PRAGMA user_version = {VERSION};
"""
SQLITE = b"SQLite format 3\0"
"""How the file of every ledger begins."""
LOCK_SECONDS = 30.0
"""How long one process waits for another one that uses the ledger."""
LOST = (
    "A device that lost its ledger cannot know what it answered before. Create a new one that starts with the whole "
    "limit spent, or that states what was spent"
)


def create_file(path: Path, fill: Callable[[sqlite3.Connection, str], None]) -> None:
    """Make a new file, complete before anyone can see it; an existing one is never replaced.

    `fill` is given the connection and the number of the new file.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None
    try:
        with closing(_connect(draft)) as connection:
            connection.executescript(SCHEMA)
            _lock(connection)
            fill(connection, file_number(draft))
            connection.execute("COMMIT")
        # Linking fails where a file exists, and the linked file is complete.
        os.link(draft, path)
        sync_folder(path)
    except FileExistsError:
        raise FileFormatError(
            f"{path}: a ledger exists already; it is not replaced, because what it records stays spent"
        ) from None
    except sqlite3.DatabaseError as error:
        raise FileFormatError(f"{path}: cannot be written ({error})") from None
    finally:
        draft.unlink()


@contextmanager
def transaction(path: Path) -> Iterator[tuple[sqlite3.Connection, list[LedgerEvent]]]:
    """Open the file, lock it and check every event; commit when the block ends, roll back if it raises."""
    _check_file(path)
    with closing(_connect(path)) as connection:
        try:
            _lock(connection)
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != VERSION:
                raise FileFormatError(
                    f"the ledger was truncated, or written by another version (its version is {version}, this "
                    f"program's {VERSION}). {LOST}"
                )
            (page_size,) = connection.execute("PRAGMA page_size").fetchone()
            (pages,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            # SQLite fills the last page with zeros where a file was cut off in the middle of it.
            if pages != "ok" or path.stat().st_size % page_size:
                raise FileFormatError(f"the ledger is damaged or truncated. {LOST}")
            rows = connection.execute(
                "SELECT number, server_key, campaign, report, kind, body, digest FROM event ORDER BY number"
            ).fetchall()
            head = connection.execute("SELECT number, digest FROM head").fetchone() or ()
            events = read_events(rows, head)
            (file,) = connection.execute("SELECT file FROM head").fetchone()
            if file != file_number(path):
                raise FileFormatError(
                    "the ledger is a copy, which could be older than the original. Use the original, or move it with "
                    f"export and import. {LOST}"
                )
            yield connection, events
            connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise FileFormatError(
                f"{path}: the ledger is busy, damaged or truncated, or cannot be written ({error})"
            ) from None
        except FileFormatError as error:
            raise FileFormatError(f"{path}: {error}") from None


def store_event(connection: sqlite3.Connection, event: LedgerEvent, file: str) -> None:
    """Add an event and move the head to it."""
    connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", event.row())
    connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?, ?)", (event.number, event.digest, file))


def file_number(path: Path) -> str:
    """Return the number that the file system gave to a file; it stays when the file is renamed."""
    return str(path.stat().st_ino)


def sync_folder(path: Path) -> None:
    """Wait until the name of a new file is on the disk."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)


def _lock(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("BEGIN IMMEDIATE")


def _check_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
        with path.open("rb") as file:
            start = file.read(len(SQLITE))
    except FileNotFoundError:
        raise FileFormatError(f"{path}: not found. A new device creates a ledger. {LOST}") from None
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None
    if start != SQLITE:
        raise FileFormatError(f"{path}: is not a ledger, or was damaged or truncated. {LOST}")
    if os.name == "posix" and mode & 0o077:
        raise FileFormatError(f"{path}: other users can read or write it (mode {mode & 0o777:o}); run chmod 600 on it")
