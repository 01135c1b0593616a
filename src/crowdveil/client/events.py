"""The events a ledger is made of, chained by digests, and what they add up to for one campaign."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal, get_args

from crowdveil.codec import canonical_json, parse_json
from crowdveil.errors import FileFormatError

EventKind = Literal["created", "secret", "seat", "drawn", "acknowledged", "refused"]
EntryState = Literal["joining", "drawn", "acknowledged", "refused"]


@dataclass(frozen=True)
class LedgerEvent:
    """One line of the ledger."""

    number: int
    campaign: str
    kind: EventKind
    body: dict[str, Any]
    digest: str

    @property
    def at(self) -> str:
        """When it was taken down, for people."""
        return str(self.body.get("at", ""))

    def row(self) -> tuple[int, str, str, str, str]:
        """As the table keeps it."""
        return self.number, self.campaign, self.kind, canonical_json(self.body), self.digest

    def number_in(self, field: str) -> float:
        """A finite number of the body, at least 0."""
        value = self.body.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not (isfinite(value) and value >= 0):
            raise FileFormatError(f"the ledger was altered: event {self.number} has {field} = {value!r}")
        return float(value)


@dataclass(frozen=True)
class LedgerEntry:
    """What this device did in one campaign."""

    campaign: str
    secret: str = ""
    participant: int = -1
    round: int = -1
    policy_hash: str = ""
    epsilon_per_km: float = 0.0
    symbol: int | None = None
    """None until drawn; then for good."""
    state: EntryState = "joining"
    receipt_digest: str = ""
    reason: str = ""
    at: str = ""
    """When the last thing happened; informative only."""

    def after(self, event: LedgerEvent) -> LedgerEntry:
        """The entry once one more event is known."""
        state = event.kind if event.kind in get_args(EntryState) else self.state
        known = {name: value for name, value in event.body.items() if name in LedgerEntry.__dataclass_fields__}
        return replace(self, **{**known, "state": state, "at": event.at})

    def __repr__(self) -> str:
        return f"Entry({self.campaign}: {self.state}, ε = {self.epsilon_per_km:.6g} per km, {self.at})"


def next_event(
    events: Sequence[LedgerEvent], campaign: str, kind: EventKind, body: dict[str, object], now: str
) -> LedgerEvent:
    """The event that follows; its time is never before the last one's, whatever the clock says."""
    number = len(events)
    told = {**body, "at": max(now, events[-1].at) if events else now}
    before = events[-1].digest if events else ""
    return LedgerEvent(number, campaign, kind, told, _digest(before, number, campaign, kind, canonical_json(told)))


def read_events(rows: Sequence[tuple[Any, ...]], head: Sequence[tuple[Any, ...]]) -> list[LedgerEvent]:
    """Check the chain from the first event to the head, or say where it breaks."""
    events: list[LedgerEvent] = []
    before = ""
    for expected, (number, campaign, kind, text, digest) in enumerate(rows):
        if number != expected or _digest(before, number, campaign, kind, text) != digest:
            raise FileFormatError(f"the ledger was altered at event {expected}; nothing is said on its word")
        events.append(LedgerEvent(number, campaign, kind, parse_json(text, "ledger"), digest))
        before = digest
    if not events or events[0].kind != "created" or list(head) != [(len(events) - 1, before)]:
        raise FileFormatError("the ledger was cut short; nothing is said on its word")
    return events


def _digest(before: str, number: int, campaign: str, kind: str, text: str) -> str:
    return hashlib.sha256(canonical_json([before, number, campaign, kind, text]).encode()).hexdigest()
