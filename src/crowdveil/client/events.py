"""Define the events of a ledger, chained by digests, and the entry that they give for one report.

    created, limits                     the owner's limits, and what was spent before the ledger began
    secret, seat, drawn                 the steps of one report; its charge and its symbol are in `drawn`
    acknowledged, refused, withdrawn    what became of it
    retired, imported                   the ledger was moved to another device, or came from one

The text of a body is stored and hashed as it was written, so that programs in other languages, which write real numbers
differently, check the same chain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from crowdveil.codec import canonical_json, parse_json
from crowdveil.errors import CrowdveilError, FileFormatError
from crowdveil.limits import Charge, Lattice, PrivacyLimits, Spent
from crowdveil.wire import RoundNotice

EventKind = Literal[
    "created",
    "limits",
    "secret",
    "seat",
    "drawn",
    "acknowledged",
    "refused",
    "withdrawn",
    "retired",
    "imported",
]
EntryState = Literal["joining", "drawn", "acknowledged", "refused", "withdrawn"]


class ReportKey(NamedTuple):
    """What a report is known by; the same campaign id on a server with another key is another campaign."""

    server_key: str
    campaign: str
    report: int = 0
    """Number of the report in the campaign."""


THE_DEVICE = ReportKey("", "")
"""The key of events that are about the device, not about a report."""


@dataclass(frozen=True)
class LedgerEvent:
    """One event of the ledger."""

    number: int
    key: ReportKey
    kind: EventKind
    text: str
    """The body as it was written."""
    digest: str
    body: Mapping[str, Any]

    @property
    def at(self) -> str:
        """Return when the event was recorded, in UTC."""
        return str(self.body.get("at", ""))

    def row(self) -> tuple[int, str, str, int, str, str, str]:
        """Return the event as a row of the table."""
        return self.number, *self.key, self.kind, self.text, self.digest

    @property
    def charge(self) -> Charge:
        """Return what the report of this event cost."""
        return Charge(self.body["epsilon_per_km"], self.body["null_epsilon"], self.body["clear"])

    @property
    def lattice(self) -> Lattice:
        """Return the map that the report of this event was drawn on."""
        return Lattice.from_dict(self.body["lattice"])

    @property
    def limits(self) -> PrivacyLimits:
        """Return the limits that this event sets."""
        return PrivacyLimits.from_dict(self.body["limits"])

    @property
    def already_spent(self) -> Spent:
        """Return what was spent before the ledger began."""
        return Spent(**self.body["already_spent"])


@dataclass(frozen=True)
class LedgerEntry:
    """What this device did in one campaign."""

    key: ReportKey
    name: str = ""
    """The campaign's name, for people to read."""
    offer: str = ""
    """What was offered to everyone when this device joined."""
    server: str = ""
    """The address at which the secret was first used; it is never sent to another one."""
    terms_hash: str = ""
    secret: str = ""
    invite: str = ""
    """The invite with which the seat was taken, to show it again when a panel asks again; empty if none was needed."""
    participant: int = -1
    round: int = -1
    policy_hash: str = ""
    charge: Charge | None = None
    symbol: int | None = None
    """None until a symbol is drawn; it never changes after that."""
    symbol_name: str = ""
    state: EntryState = "joining"
    receipt_digest: str = ""
    reason: str = ""
    at: str = ""
    """When the last event was recorded; for people to read."""
    notice: RoundNotice | None = None
    """The signed notice under which the symbol was drawn."""

    @property
    def campaign(self) -> str:
        """Return the campaign's id."""
        return self.key.campaign

    def after(self, event: LedgerEvent) -> LedgerEntry:
        """Return the entry after one more event."""
        state = event.kind if event.kind in get_args(EntryState) else self.state
        known = {name: value for name, value in event.body.items() if name in LedgerEntry.__dataclass_fields__}
        if event.kind == "drawn":
            known |= {"charge": event.charge, "notice": RoundNotice.model_validate(event.body["notice"])}
        return replace(self, **{**known, "state": state, "at": event.at})

    def __repr__(self) -> str:
        return f"LedgerEntry({self.campaign}: {self.state}, {self.charge or 'nothing charged'}, {self.at})"


def next_event(
    events: Sequence[LedgerEvent], key: ReportKey, kind: EventKind, body: Mapping[str, object], now: str
) -> LedgerEvent:
    """Make the next event; its time is never before that of the last one, whatever the clock says."""
    number = len(events)
    timed = {**body, "at": not_before(events, now)}
    text = canonical_json(timed)
    before = events[-1].digest if events else ""
    return LedgerEvent(number, key, kind, text, _digest(before, number, key, kind, text), timed)


def not_before(events: Sequence[LedgerEvent], now: str) -> str:
    """Return the time, or that of the last event if the clock was set back since."""
    return max(now, events[-1].at) if events else now


def read_events(rows: Sequence[Sequence[Any]], head: Sequence[Any]) -> list[LedgerEvent]:
    """Check the chain from the first event to the head, or say where it is broken."""
    events: list[LedgerEvent] = []
    before = ""
    for expected, (number, server_key, campaign, report, kind, text, digest) in enumerate(rows):
        key = ReportKey(server_key, campaign, report)
        if number != expected or _digest(before, number, key, kind, text) != digest:
            raise FileFormatError(f"the ledger was altered at event {expected}; this device does not take part with it")
        events.append(LedgerEvent(number, key, kind, text, digest, parse_json(text, "ledger")))
        before = digest
    if not events or events[0].kind != "created" or list(head) != [len(events) - 1, before]:
        raise FileFormatError("the ledger was truncated; this device does not take part with it")
    for event in events:
        _check_body(event)
    return events


def entries_of(events: Sequence[LedgerEvent]) -> dict[ReportKey, LedgerEntry]:
    """Return what the device did for each report."""
    found: dict[ReportKey, LedgerEntry] = {}
    for event in events:
        if event.key != THE_DEVICE:
            found[event.key] = found.get(event.key, LedgerEntry(event.key)).after(event)
    return found


def _check_body(event: LedgerEvent) -> None:
    """Refuse an event without what the sums are made of."""
    try:
        if event.kind not in get_args(EventKind):
            raise FileFormatError(f"kind = {event.kind!r} is not known")
        if event.kind == "drawn":
            charge = event.charge
            Spent(charge.epsilon_per_km, charge.null_epsilon)
            _ = event.lattice, RoundNotice.model_validate(event.body["notice"]), event.body["symbol"]
        if event.kind in ("created", "limits"):
            _ = event.limits
        if event.kind == "created":
            _ = event.already_spent
    except (CrowdveilError, KeyError, TypeError, ValueError) as error:
        raise FileFormatError(
            f"the ledger was altered, or comes from another version: event {event.number} cannot be read ({error})"
        ) from None


def _digest(before: str, number: int, key: ReportKey, kind: str, text: str) -> str:
    return hashlib.sha256(canonical_json([before, number, *key, kind, text]).encode()).hexdigest()
