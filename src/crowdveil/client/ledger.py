"""Record everything a device has ever reported, and its privacy loss: one SQLite file, written before anything is sent.

The file is a SQLite database, because three things must hold at once. A commit is on disk when it returns
(synchronous = EXTRA, which also syncs the folder, so that no old journal returns after a power cut). Two processes
exclude each other (BEGIN IMMEDIATE). And a second draw in a campaign is stopped by a constraint of the schema:

    event(number, campaign, kind, body, digest)        UNIQUE (campaign, kind)

Events are only added. Each digest covers the event and the digest before it, and `head` repeats the last one, so a row
that was changed, removed or cut off is detected and the file is refused. Anyone who can write the file can also compute
the digests: they detect damage and careless edits, not a deliberate change by the device's owner.

The loss is the sum of ε per km over all campaigns in which a symbol was drawn, whether or not it was acknowledged,
because it may have arrived. The clock is not part of the sum, so setting it back frees nothing; times are recorded for
people to read, and never decrease. A device that lost its ledger (after a reinstall, or from an old backup) cannot know
what it reported before. So a ledger is never created implicitly: `Ledger.create` asks what was already spent, and the
safe answer after a reinstall is the whole limit.

The place is not recorded: only the symbol that was drawn from it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from math import fsum, isfinite
from pathlib import Path

from crowdveil.client.events import EventKind, LedgerEntry, LedgerEvent, next_event, read_events
from crowdveil.client.explain import describe_use
from crowdveil.errors import FileFormatError, InputError, LimitReached

SCHEMA = """
CREATE TABLE event (
    number INTEGER PRIMARY KEY,
    campaign TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (campaign, kind)
) STRICT;
CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), number INTEGER NOT NULL, digest TEXT NOT NULL) STRICT;
"""
LOCK_SECONDS = 30.0
"""How long one process waits for another one that uses the ledger."""


def utc_now() -> str:
    """Return the current time in UTC, for people to read."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Ledger:
    """The ledger of one device; every call opens the file, checks all of it, and closes it."""

    def __init__(self, path: str | Path, clock: Callable[[], str] = utc_now) -> None:
        """Open an existing ledger, or say why it cannot be trusted."""
        self.path = Path(path)
        self._clock = clock
        self.entries()

    @classmethod
    def create(
        cls, path: str | Path, *, already_spent_epsilon_per_km: float = 0.0, clock: Callable[[], str] = utc_now
    ) -> Ledger:
        """Create a ledger; after a reinstall, give what may have been spent before (if unknown, the whole limit)."""
        spent = float(already_spent_epsilon_per_km)
        if not (isfinite(spent) and spent >= 0):
            raise InputError(
                "already_spent_epsilon_per_km", spent, "should be a finite number of at least 0; 0 for a new device"
            )
        target = Path(path)
        draft = target.with_name(f".{target.name}.{os.getpid()}.new")
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as error:
            raise FileFormatError(f"{path}: {error.strerror or error}") from None
        try:
            with closing(_connect(draft)) as connection:
                connection.executescript(SCHEMA)
                _lock(connection)
                body: dict[str, object] = {"already_spent_epsilon_per_km": spent}
                _append(connection, [], "", "created", body, clock())
                connection.execute("COMMIT")
            # Linking fails where a file exists, and the linked file is complete.
            os.link(draft, target)
            _sync_folder(target)
        except FileExistsError:
            raise FileFormatError(
                f"{path}: a ledger exists already; open it, because what it records stays spent"
            ) from None
        finally:
            draft.unlink()
        return cls(target, clock)

    # --- reading ----------------------------------------------------------------------------------------

    def entries(self) -> dict[str, LedgerEntry]:
        """Return what this device did in each campaign."""
        with self._transaction() as (_, events):
            return _entries(events)

    def entry(self, campaign: str) -> LedgerEntry | None:
        """Return what this device did in one campaign, or None if it never joined."""
        return self.entries().get(campaign)

    def spent_epsilon_per_km(self) -> float:
        """Return the loss so far: what was spent before this ledger, plus ε of every campaign with a drawn symbol."""
        with self._transaction() as (_, events):
            return _spent(events)

    def check_lifetime(self, epsilon_per_km: float, limit_epsilon_per_km: float) -> None:
        """Refuse a campaign that would take the sum of ε over all campaigns past the owner's limit."""
        with self._transaction() as (_, events):
            check_lifetime(_answered(events), _spent(events), epsilon_per_km, limit_epsilon_per_km)

    # --- recording -------------------------------------------------------------------------------------

    def begin(self, campaign: str, secret: Callable[[], str]) -> LedgerEntry:
        """Record the participant's secret in a campaign; it is made once, before it is first sent."""
        return self._once(campaign, "secret", lambda _: {"secret": secret()})

    def seat(self, campaign: str, body: dict[str, object]) -> LedgerEntry:
        """Record the seat that the server gave; the first one stays."""
        return self._once(campaign, "seat", lambda _: body)

    def draw_once(
        self, campaign: str, epsilon_per_km: float, lifetime_epsilon_per_km: float, draw: Callable[[], int]
    ) -> LedgerEntry:
        """Draw a symbol and record it in one transaction; if one is recorded already, return that one instead.

        `draw` is not called if the loss would exceed the limit. The caller learns the symbol only after the commit, so
        a device that is killed in between has sent nothing, and may draw again.
        """

        def body(events: list[LedgerEvent]) -> dict[str, object]:
            check_lifetime(_answered(events), _spent(events), epsilon_per_km, lifetime_epsilon_per_km)
            return {"epsilon_per_km": epsilon_per_km, "symbol": draw()}

        return self._once(campaign, "drawn", body)

    def acknowledge(self, campaign: str, receipt_digest: str) -> LedgerEntry:
        """Record that the server has stored the report."""
        return self._once(campaign, "acknowledged", lambda _: {"receipt_digest": receipt_digest})

    def refuse(self, campaign: str, reason: str) -> LedgerEntry:
        """Record that the server will never count the report; its loss stays counted, because the server saw it."""
        return self._once(campaign, "refused", lambda _: {"reason": reason})

    # --- the file ---------------------------------------------------------------------------------------

    def _once(
        self, campaign: str, kind: EventKind, body: Callable[[list[LedgerEvent]], dict[str, object]]
    ) -> LedgerEntry:
        if not campaign:
            raise InputError("campaign", campaign, "should be the campaign's id")
        with self._transaction() as (connection, events):
            if not any(event.campaign == campaign and event.kind == kind for event in events):
                events.append(_append(connection, events, campaign, kind, body(events), self._clock()))
            return _entries(events)[campaign]

    @contextmanager
    def _transaction(self) -> Iterator[tuple[sqlite3.Connection, list[LedgerEvent]]]:
        """Open the file, lock it and check every event; commit when the block ends, roll back if it raises."""
        _check_file(self.path)
        with closing(_connect(self.path)) as connection:
            try:
                _lock(connection)
                rows = connection.execute("SELECT number, campaign, kind, body, digest FROM event ORDER BY number")
                events = read_events(rows.fetchall(), connection.execute("SELECT number, digest FROM head").fetchall())
                yield connection, events
                connection.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                raise FileFormatError(f"{self.path}: the ledger is busy, damaged or truncated ({error})") from None
            except FileFormatError as error:
                raise FileFormatError(f"{self.path}: {error}") from None


def check_lifetime(
    answered: int, spent_epsilon_per_km: float, epsilon_per_km: float, limit_epsilon_per_km: float
) -> None:
    """Refuse a campaign that would take the sum of ε over all campaigns past the owner's limit."""
    if fsum([spent_epsilon_per_km, epsilon_per_km]) <= limit_epsilon_per_km:
        return
    used = describe_use(answered, spent_epsilon_per_km, limit_epsilon_per_km)
    if spent_epsilon_per_km < limit_epsilon_per_km:
        used = f"This campaign would take you past your limit. {used} Your phone did not answer."
    raise LimitReached(
        used,
        f"The limit for all campaigns together is ε = {limit_epsilon_per_km:.6g} per km; {spent_epsilon_per_km:.6g} is "
        f"permanently used, and this campaign would add {epsilon_per_km:.6g}.",
    )


def _entries(events: list[LedgerEvent]) -> dict[str, LedgerEntry]:
    found: dict[str, LedgerEntry] = {}
    for event in events[1:]:
        found[event.campaign] = found.get(event.campaign, LedgerEntry(event.campaign)).after(event)
    return found


def _spent(events: list[LedgerEvent]) -> float:
    """Sum with correct rounding, so that three times ln 4 is exactly the double 3 ln 4 of the default limit."""
    losses = [events[0].number_in("already_spent_epsilon_per_km")]
    return fsum(losses + [event.number_in("epsilon_per_km") for event in events if event.kind == "drawn"])


def _answered(events: list[LedgerEvent]) -> int:
    return sum(event.kind == "drawn" for event in events)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)


def _lock(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("BEGIN IMMEDIATE")


def _append(
    connection: sqlite3.Connection,
    events: list[LedgerEvent],
    campaign: str,
    kind: EventKind,
    body: dict[str, object],
    now: str,
) -> LedgerEvent:
    event = next_event(events, campaign, kind, body, now)
    connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", event.row())
    connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?)", (event.number, event.digest))
    return event


def _check_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise FileFormatError(
            f"{path}: {error.strerror or error}. For a new device, create one with Ledger.create; after a "
            "reinstall, state there what was already spent"
        ) from None
    if os.name == "posix" and mode & 0o077:
        raise FileFormatError(f"{path}: other users can read or write it (mode {mode & 0o777:o}); run chmod 600 on it")


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
