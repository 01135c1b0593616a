"""Record everything a device has ever reported, and what it cost: one file, written before anything is sent.

Events are only added. Each digest covers the event and the digest before it, and the head repeats the last one, so a
row that was changed, removed or cut off is detected and the file is refused. Anyone who can write the file can also
compute the digests: they detect damage and careless edits, not a deliberate change by the device's owner.

Every report is charged on both accounts (`limits.charge`), whatever it says and whether or not it was acknowledged or
withdrawn, because it may have arrived. Sums run over the whole ledger or, if the owner chose so, over the last twelve
months. Times never decrease, so setting the clock back frees nothing. The owner's limits are kept here, not typed at
every call. A device that lost its ledger (after a reinstall, or from an old backup) cannot know what it reported
before. So a ledger is never created implicitly: `Ledger.create` asks what was already spent, and the safe answer after
a reinstall is the whole limit (`Spent.whole_limit`).

The place of a report is picked once, and kept only until a symbol was drawn from it. After that only the symbol is
known, even to the device.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from crowdveil.client.events import (
    THE_DEVICE,
    EventKind,
    LedgerEntry,
    LedgerEvent,
    ReportKey,
    entries_of,
    next_event,
    not_before,
)
from crowdveil.client.excluded import ExcludedPlace
from crowdveil.client.ledger_file import create_file, file_number, store_event, transaction
from crowdveil.client.ledger_transfer import PendingPlace, TransferredLedger, write_transfer
from crowdveil.errors import CampaignRefused, FileFormatError, InputError
from crowdveil.limits import Charge, Lattice, PrivacyLimits, Spent, check_lattice, check_totals
from crowdveil.profile.place import Place
from crowdveil.wire import RoundNotice

TWELVE_MONTHS = timedelta(days=366)
"""No twelve months are longer."""
EARLY_SHARE = 10
"""A panel may ask again earlier than planned by one of so many parts of its period: clocks differ."""
MAX_WAIT_S = 100 * 366 * 86_400
"""Longer periods count as a century, so that a date can be named."""


@dataclass(frozen=True)
class DrawTerms:
    """What is recorded with a symbol when it is drawn."""

    charge: Charge
    lattice: Lattice
    notice: RoundNotice
    renewal_s: int | None = None
    """Of a panel: seconds from one round to the next, as its owner agreed."""


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
        cls,
        path: str | Path,
        *,
        limits: PrivacyLimits | None = None,
        already_spent: Spent | None = None,
        clock: Callable[[], str] = utc_now,
    ) -> Ledger:
        """Create a ledger with the owner's limits; after a reinstall, give what may have been spent before.

        If that is unknown, give `Spent.whole_limit(limits)`.
        """
        spent = already_spent or Spent()
        body = {"limits": (limits or PrivacyLimits()).as_dict(), "already_spent": spent.as_dict()}
        event = next_event([], THE_DEVICE, "created", body, clock())
        return cls._of_events(Path(path), [event], (), (), clock)

    @classmethod
    def import_(
        cls, file: str | Path, path: str | Path, *, keep_limits: bool = False, clock: Callable[[], str] = utc_now
    ) -> Ledger:
        """Continue, on this device, a ledger that another device exported; that one no longer answers.

        A file from someone else could bring limits that allow anything. So limits that are looser than the defaults are
        set back to the defaults, unless the owner says `keep_limits`.
        """
        moved = TransferredLedger.read(file)
        events = [*moved.events, next_event(moved.events, THE_DEVICE, "imported", {}, clock())]
        limits = _limits(events)
        stricter = limits.stricter(PrivacyLimits())
        if not keep_limits and stricter != limits:
            events.append(next_event(events, THE_DEVICE, "limits", {"limits": stricter.as_dict()}, clock()))
        return cls._of_events(Path(path), events, moved.pending, moved.excluded, clock)

    @classmethod
    def _of_events(
        cls,
        path: Path,
        events: Sequence[LedgerEvent],
        pending: Sequence[PendingPlace],
        excluded: Sequence[ExcludedPlace],
        clock: Callable[[], str],
    ) -> Ledger:
        def fill(connection: sqlite3.Connection, file: str) -> None:
            for event in events:
                store_event(connection, event, file)
            connection.executemany("INSERT INTO pending VALUES (?, ?, ?, ?, ?, ?)", [one.row() for one in pending])
            rows = [(number, *astuple(place)) for number, place in enumerate(excluded)]
            connection.executemany("INSERT INTO excluded VALUES (?, ?, ?, ?)", rows)

        create_file(path, fill)
        return cls(path, clock)

    # --- reading ----------------------------------------------------------------------------------------

    def entries(self) -> dict[ReportKey, LedgerEntry]:
        """Return what this device did for each report."""
        with transaction(self.path) as (_, events):
            return entries_of(events)

    def entry(self, key: ReportKey) -> LedgerEntry | None:
        """Return what this device did for one report, or None if it never began."""
        return self.entries().get(key)

    def find(self, campaign: str, server: str) -> LedgerEntry | None:
        """Return what this device did in a campaign on the server at an address: the report with the greatest number.

        If the server's key changed, it is the one under the last key.
        """
        found = [one for one in self.entries().values() if (one.campaign, one.server) == (campaign, server)]
        under_last_key = [one for one in found if one.key.server_key == found[-1].key.server_key]
        return max(under_last_key, key=lambda one: one.key.report, default=None)

    def limits(self) -> PrivacyLimits:
        """Return the owner's limits."""
        with transaction(self.path) as (_, events):
            return _limits(events)

    def spent(self) -> Spent:
        """Return what counts against the owner's limits: all reports, or those of the last twelve months."""
        with transaction(self.path) as (_, events):
            return self._counted(events)

    def spent_ever(self) -> Spent:
        """Return what all reports cost that this ledger knows of, however long ago."""
        with transaction(self.path) as (_, events):
            return events[0].already_spent.plus(event.charge for event in events if event.kind == "drawn")

    def check(self, charge: Charge, lattice: Lattice) -> None:
        """Refuse a report that would exceed the owner's limits, or whose map does not fit those of earlier reports."""
        with transaction(self.path) as (_, events):
            self._check(events, charge, lattice)

    def check_round(self, key: ReportKey, renewal_s: int | None) -> None:
        """Refuse a round of a panel before the one that this device has begun, or sooner than the announced schedule.

        A later answer may be drawn when as many periods have passed since an earlier one as there are rounds between
        them, less a tenth of one period. That holds for every earlier answer, so tenths do not add up.
        """
        with transaction(self.path) as (_, events):
            self._check_round(events, key, renewal_s)

    def notices(self) -> list[tuple[str, RoundNotice]]:
        """Return the server's key and the signed notice of every report that was drawn."""
        entries = self.entries().values()
        return [(one.key.server_key, one.notice) for one in entries if one.notice is not None]

    @property
    def retired(self) -> bool:
        """Whether this ledger was moved to another device."""
        with transaction(self.path) as (_, events):
            return _moved_at(events) is not None

    def check_active(self) -> None:
        """Refuse a ledger that was moved to another device."""
        with transaction(self.path) as (_, events):
            _check_active(events)

    # --- recording -------------------------------------------------------------------------------------

    def change_limits(self, limits: PrivacyLimits) -> None:
        """Record other limits; they hold from the next report on."""
        with self._changing() as (connection, events):
            self._append(connection, events, THE_DEVICE, "limits", {"limits": limits.as_dict()})

    def begin(self, key: ReportKey, secret: Callable[[], str], about: Mapping[str, object]) -> LedgerEntry:
        """Record the participant's secret for a report; it is made once, before it is first sent.

        `about` says to whom, and for what: the campaign's name and offer, the server's address and the terms' hash.
        """
        return self._once(key, "secret", lambda _: {**about, "secret": secret()})

    def seat(self, key: ReportKey, body: Mapping[str, object]) -> LedgerEntry:
        """Record the seat that the server gave; the first one stays."""
        return self._once(key, "seat", lambda _: body)

    def draw_once(self, key: ReportKey, terms: DrawTerms, draw: Callable[[], tuple[int, str]]) -> LedgerEntry:
        """Draw a symbol and record it in one transaction; if one is recorded already, return that one instead.

        `draw` gives the symbol and its name. It is not called if the report would exceed a limit. The caller learns the
        symbol only after the commit, so a device that is killed in between has sent nothing, and may draw again. The
        place from which it was drawn is forgotten in the same transaction.
        """

        def body(events: list[LedgerEvent]) -> dict[str, object]:
            self._check(events, terms.charge, terms.lattice)
            self._check_round(events, key, terms.renewal_s)
            symbol, name = draw()
            return {
                "epsilon_per_km": terms.charge.epsilon_per_km,
                "null_epsilon": terms.charge.null_epsilon,
                "clear": terms.charge.clear,
                "lattice": terms.lattice.as_dict(),
                "notice": terms.notice.model_dump(),
                "symbol": symbol,
                "symbol_name": name,
            }

        return self._once(key, "drawn", body, "DELETE FROM pending WHERE (server_key, campaign, report) = (?, ?, ?)")

    def acknowledge(self, key: ReportKey, receipt_digest: str) -> LedgerEntry:
        """Record that the server has stored the report."""
        return self._once(key, "acknowledged", lambda _: {"receipt_digest": receipt_digest})

    def refuse(self, key: ReportKey, reason: str) -> LedgerEntry:
        """Record that the server will never count the report; its charge stays, because the server saw it."""
        return self._once(key, "refused", lambda _: {"reason": reason})

    def withdraw(self, key: ReportKey) -> LedgerEntry:
        """Record that the owner left and the server has forgotten the report; its charge stays."""
        return self._once(key, "withdrawn", lambda _: {})

    # --- places ----------------------------------------------------------------------------------------

    def keep_place(self, key: ReportKey, terms_hash: str, excluded: set[int], pick: Callable[[], Place]) -> Place:
        """Pick the place of a report and record it; if one is recorded already, return that one.

        Declining and asking again therefore gives the same place. Only if its cell was excluded since, another one is
        picked.
        """
        with self._changing() as (connection, _):
            found = connection.execute(
                "SELECT terms_hash, cell, grade FROM pending WHERE (server_key, campaign, report) = (?, ?, ?)", key
            ).fetchone()
            if found is not None and found[0] != terms_hash:
                raise CampaignRefused(
                    f"The conditions of campaign {key.campaign} are not those that you were shown before. This phone "
                    "does not take part.",
                    f"The terms had the hash {found[0][:12]} then, and have {terms_hash[:12]} now.",
                )
            if found is not None and found[1] not in excluded:
                return Place(found[1], found[2])
            place = pick()
            connection.execute("INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?, ?, ?)", (*key, terms_hash, *place))
            return place

    def exclude(self, place: ExcludedPlace) -> None:
        """Never report from this place."""
        with self._changing() as (connection, _):
            row = (place.latitude, place.longitude, place.radius_km)
            connection.execute("INSERT INTO excluded (latitude, longitude, radius_km) VALUES (?, ?, ?)", row)

    def excluded(self) -> dict[int, ExcludedPlace]:
        """Return the places that are never reported, by number."""
        with transaction(self.path) as (connection, _):
            return _excluded(connection)

    def include_again(self, number: int) -> ExcludedPlace:
        """Allow reports from an excluded place again."""
        with self._changing() as (connection, _):
            known = _excluded(connection)
            if number not in known:
                raise InputError("place", number, f"should be one of the excluded places: {sorted(known) or 'none'}")
            connection.execute("DELETE FROM excluded WHERE number = ?", (number,))
            return known[number]

    # --- moving to another device ----------------------------------------------------------------------

    def export(self, file: str | Path) -> None:
        """Write all of the ledger to a file for another device; this one no longer answers.

        The file appears only after this ledger is marked as moved, so that at no moment two ledgers can be used. After
        an interruption in between, export again: a ledger that was moved can still be exported, unchanged.
        """

        def retire() -> TransferredLedger:
            with transaction(self.path) as (connection, events):
                if _moved_at(events) is None:
                    self._append(connection, events, THE_DEVICE, "retired", {})
                rows = connection.execute("SELECT * FROM pending ORDER BY server_key, campaign, report").fetchall()
                pending = [PendingPlace(ReportKey(*row[:3]), row[3], Place(*row[4:])) for row in rows]
                return TransferredLedger(events, pending, list(_excluded(connection).values()))

        write_transfer(Path(file), retire)

    # --- the file ---------------------------------------------------------------------------------------

    def _check(self, events: Sequence[LedgerEvent], charge: Charge, lattice: Lattice) -> None:
        _check_active(events)
        limits = _limits(events)
        check_totals(self._counted(events), charge, limits)
        check_lattice(lattice, [event.lattice for event in events if event.kind == "drawn"], limits)

    def _check_round(self, events: Sequence[LedgerEvent], key: ReportKey, renewal_s: int | None) -> None:
        _check_order(events, key)
        if renewal_s is None:
            return
        now = datetime.fromisoformat(not_before(events, self._clock()))
        for event in events:
            if event.kind != "drawn" or event.key[:2] != key[:2] or event.key.report >= key.report:
                continue
            wait_s = (key.report - event.key.report) * renewal_s - renewal_s // EARLY_SHARE
            due = datetime.fromisoformat(event.at) + timedelta(seconds=min(wait_s, MAX_WAIT_S))
            if now < due:
                raise CampaignRefused(
                    "This panel asks for a new answer sooner than it announced when you joined. Your phone did not "
                    f"answer; it can from {due.date()} on.",
                    f"The answer of round {event.key.report + 1} was drawn at {event.at}, and rounds are {renewal_s:,} "
                    f"seconds apart; one of round {key.report + 1} can be drawn from "
                    f"{due.isoformat(timespec='seconds')} on.",
                )

    def _counted(self, events: Sequence[LedgerEvent]) -> Spent:
        since = ""
        if _limits(events).span == "twelve-months":
            now = datetime.fromisoformat(not_before(events, self._clock()))
            since = (now - TWELVE_MONTHS).isoformat(timespec="seconds")
        before = events[0].already_spent if events[0].at >= since else Spent()
        return before.plus(event.charge for event in events if event.kind == "drawn" and event.at >= since)

    def _once(
        self,
        key: ReportKey,
        kind: EventKind,
        body: Callable[[list[LedgerEvent]], Mapping[str, object]],
        also: str | None = None,
    ) -> LedgerEntry:
        if not key.campaign or not key.server_key:
            raise InputError("key", key, "should name the server's key and the campaign's id")
        with self._changing() as (connection, events):
            if not any(event.key == key and event.kind == kind for event in events):
                self._append(connection, events, key, kind, body(events))
                if also is not None:
                    connection.execute(also, key)
            return entries_of(events)[key]

    @contextmanager
    def _changing(self) -> Iterator[tuple[sqlite3.Connection, list[LedgerEvent]]]:
        with transaction(self.path) as (connection, events):
            _check_active(events)
            yield connection, events

    def _append(
        self,
        connection: sqlite3.Connection,
        events: list[LedgerEvent],
        key: ReportKey,
        kind: EventKind,
        body: Mapping[str, object],
    ) -> None:
        event = next_event(events, key, kind, body, self._clock())
        store_event(connection, event, file_number(self.path))
        events.append(event)


def _limits(events: Sequence[LedgerEvent]) -> PrivacyLimits:
    return next(event for event in reversed(events) if event.kind in ("created", "limits")).limits


def _moved_at(events: Sequence[LedgerEvent]) -> str | None:
    last = next((event for event in reversed(events) if event.kind in ("retired", "imported")), None)
    return last.at if last is not None and last.kind == "retired" else None


def _check_active(events: Sequence[LedgerEvent]) -> None:
    moved_at = _moved_at(events)
    if moved_at is not None:
        raise FileFormatError(
            f"this ledger was moved to another device ({moved_at}) and no longer answers; import what was exported"
        )


def _check_order(events: Sequence[LedgerEvent], key: ReportKey) -> None:
    latest = max((event.key.report for event in events if event.key[:2] == key[:2]), default=key.report)
    if key.report < latest:
        raise CampaignRefused(
            "This panel went back to a round before the one that your phone has begun to answer. Your phone did not "
            "answer.",
            f"Round {key.report + 1} is announced; round {latest + 1} is begun.",
        )


def _excluded(connection: sqlite3.Connection) -> dict[int, ExcludedPlace]:
    rows = connection.execute("SELECT number, latitude, longitude, radius_km FROM excluded ORDER BY number").fetchall()
    return {number: ExcludedPlace(*place) for number, *place in rows}
