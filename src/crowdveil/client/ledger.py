"""What this device has ever said, and what it has cost: one SQLite file, written before anything is sent.

SQLite and not a file of lines, because three things have to hold at once: a commit is on the disk when it returns
(synchronous=EXTRA: FULL, and the folder is synced too, so that no journal comes back after a power cut), two processes
exclude each other (BEGIN IMMEDIATE), and "drawn once" is a constraint of the schema, not a path through the code:

    event(number, campaign, kind, body, digest)        UNIQUE (campaign, kind)

Events are only ever added. Each digest covers the event and the digest before it, and `head` repeats the last one, so a
row that was changed, removed or cut off is found, and the file refused. Whoever may write the file may also compute the
digests: they find damage and clumsy edits, not the device's owner.

The loss is the sum of ε per km over all campaigns in which a symbol was drawn, whether or not it was acknowledged: it
may have arrived. No clock enters the sum, so turning it back frees nothing; times are kept for people, and never run
backwards. A device that lost its ledger (a reinstall, an old backup) cannot know what it said before. So none is made
in passing: `Ledger.create` asks what was already spent, and the careful answer after a reinstall is the whole cap.

The place is not in here: only the symbol that was drawn from it.
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
from crowdveil.errors import CampaignRefused, FileFormatError, InputError

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
"""How long one process waits for another that is drawing or writing."""


def utc_now() -> str:
    """The time as people read it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Ledger:
    """The ledger of one device; every call opens the file, checks all of it, and closes it."""

    def __init__(self, path: str | Path, clock: Callable[[], str] = utc_now) -> None:
        """Open a ledger that exists, or say why it cannot be trusted."""
        self.path = Path(path)
        self._clock = clock
        self.entries()

    @classmethod
    def create(
        cls, path: str | Path, *, already_spent_epsilon_per_km: float = 0.0, clock: Callable[[], str] = utc_now
    ) -> Ledger:
        """Begin a ledger; after a reinstall, say what may have been spent before (if unknown, the whole cap)."""
        spent = float(already_spent_epsilon_per_km)
        if not (isfinite(spent) and spent >= 0):
            raise InputError("already_spent_epsilon_per_km", spent, "should be a finite number, 0 for a new device")
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
            # A link is refused where a file exists, and is there whole or not at all.
            os.link(draft, target)
            _sync_folder(target)
        except FileExistsError:
            raise FileFormatError(f"{path}: there is a ledger already; open it, what it counts stays spent") from None
        finally:
            draft.unlink()
        return cls(target, clock)

    # --- what it says -----------------------------------------------------------------------------------

    def entries(self) -> dict[str, LedgerEntry]:
        """What was said in each campaign."""
        with self._transaction() as (_, events):
            return _entries(events)

    def entry(self, campaign: str) -> LedgerEntry | None:
        """What was said in one campaign, or None if it was never joined."""
        return self.entries().get(campaign)

    def spent_epsilon_per_km(self) -> float:
        """The loss so far: what was spent before this ledger, and ε of every campaign with a drawn symbol."""
        with self._transaction() as (_, events):
            return _spent(events)

    # --- what it takes down -----------------------------------------------------------------------------

    def begin(self, campaign: str, secret: Callable[[], str]) -> LedgerEntry:
        """The participant's secret in a campaign: made once, before it is first sent."""
        return self._once(campaign, "secret", lambda _: {"secret": secret()})

    def seat(self, campaign: str, body: dict[str, object]) -> LedgerEntry:
        """The seat the server gave: the first one stays."""
        return self._once(campaign, "seat", lambda _: body)

    def draw_once(
        self, campaign: str, epsilon_per_km: float, lifetime_epsilon_per_km: float, draw: Callable[[], int]
    ) -> LedgerEntry:
        """Draw and store in one step, under the lock; a symbol that is already there is returned instead.

        `draw` is not called when the loss would pass the cap. A symbol is known to the caller only after the commit:
        a device that dies in between has said nothing, and may draw anew.
        """

        def body(events: list[LedgerEvent]) -> dict[str, object]:
            check_lifetime(_spent(events), epsilon_per_km, lifetime_epsilon_per_km)
            return {"epsilon_per_km": epsilon_per_km, "symbol": draw()}

        return self._once(campaign, "drawn", body)

    def acknowledge(self, campaign: str, receipt_digest: str) -> LedgerEntry:
        """Take down that the server has the report."""
        return self._once(campaign, "acknowledged", lambda _: {"receipt_digest": receipt_digest})

    def refuse(self, campaign: str, reason: str) -> LedgerEntry:
        """Take down that the server will never count the report; its loss stays counted, because it was seen."""
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
        """The one way to the file: locked, checked from the first event to the last, committed or left as it was."""
        _check_file(self.path)
        with closing(_connect(self.path)) as connection:
            try:
                _lock(connection)
                rows = connection.execute("SELECT number, campaign, kind, body, digest FROM event ORDER BY number")
                events = read_events(rows.fetchall(), connection.execute("SELECT number, digest FROM head").fetchall())
                yield connection, events
                connection.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                raise FileFormatError(f"{self.path}: the ledger is busy, damaged or cut short ({error})") from None
            except FileFormatError as error:
                raise FileFormatError(f"{self.path}: {error}") from None


def check_lifetime(spent_epsilon_per_km: float, epsilon_per_km: float, cap_epsilon_per_km: float) -> None:
    """Refuse a campaign that would take the sum over all campaigns past the cap."""
    after = fsum([spent_epsilon_per_km, epsilon_per_km])
    if not after <= cap_epsilon_per_km:
        raise CampaignRefused(
            f"the lifetime cap is ε = {cap_epsilon_per_km:.6g} per km; {spent_epsilon_per_km:.6g} are spent and this "
            f"campaign would add {epsilon_per_km:.6g}. Nothing is drawn; no later date frees what was spent"
        )


def _entries(events: list[LedgerEvent]) -> dict[str, LedgerEntry]:
    found: dict[str, LedgerEntry] = {}
    for event in events[1:]:
        found[event.campaign] = found.get(event.campaign, LedgerEntry(event.campaign)).after(event)
    return found


def _spent(events: list[LedgerEvent]) -> float:
    """Correctly rounded, so that three times ln 4 is the double nearest to 3 ln 4 and not one beside it."""
    losses = [events[0].number_in("already_spent_epsilon_per_km")]
    return fsum(losses + [event.number_in("epsilon_per_km") for event in events if event.kind == "drawn"])


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
            f"{path}: {error.strerror or error}. A new device begins with Ledger.create; one that had a ledger before "
            "should say there what was already spent"
        ) from None
    if os.name == "posix" and mode & 0o077:
        raise FileFormatError(f"{path}: others may read or write it (mode {mode & 0o777:o}); chmod 600 it")


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
