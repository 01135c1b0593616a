"""Holds what devices were told against what the database says, once all is over.

acknowledged ⇒ stored, exactly once, the very symbol          (nothing lost)
stored ⇒ acknowledged, for everyone kept asking               (nothing invented)
a closed round's counts = what was acknowledged in it         (nothing counted twice, or not at all)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import create_engine, text

from crowdveil.store import NULL
from tests.faults.light_devices import LightDevice


class AcknowledgedReport(NamedTuple):
    """A report, as a device knows it or as it is stored."""

    participant: int
    round: int
    symbol: int
    digest: str


class Stored(NamedTuple):
    """What the database holds of a campaign."""

    state: str
    seats: list[tuple[str, int]]
    """Secret hash, participant."""
    reports: list[AcknowledgedReport]
    rounds: list[tuple[int, str, str, int]]
    """Number, state, counts, nulls."""
    selected: list[int]


def acknowledged(devices: Sequence[LightDevice], campaign: str) -> dict[str, AcknowledgedReport]:
    """What devices got receipts for, by secret hash."""
    found = {}
    for one in devices:
        if one.campaign == campaign and one.receipt is not None and one.report is not None:
            symbol = one.report.symbol_number
            stored = NULL if symbol is None else symbol
            found[one.secret_hash] = AcknowledgedReport(
                one.receipt.participant, one.receipt.round, stored, one.receipt.digest
            )
    return found


def read(database: str, campaign: str) -> Stored:
    """All of a campaign, straight from the tables."""
    engine = create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:

        def rows(statement: str) -> list[Any]:
            return [tuple(row) for row in connection.execute(text(statement), {"c": campaign})]

        found = Stored(
            rows("SELECT state FROM campaigns WHERE id = :c")[0][0],
            rows("SELECT secret_hash, number FROM participants WHERE campaign = :c"),
            [
                AcknowledgedReport(*row)
                for row in rows(
                    "SELECT participant, round, coalesce(symbol, -1), digest FROM reports WHERE campaign = :c"
                )
            ],
            rows("SELECT number, state, counts, nulls FROM rounds WHERE campaign = :c ORDER BY number"),
            [row[0] for row in rows("SELECT participant FROM selected WHERE campaign = :c ORDER BY selection, rank")],
        )
    engine.dispose()
    return found


def integrity(database: str) -> list[str]:
    """What SQLite itself finds wrong with its file."""
    if not database.startswith("sqlite"):
        return []
    engine = create_engine(database)
    with engine.connect() as connection:
        found = [str(row[0]) for row in connection.execute(text("PRAGMA integrity_check"))]
    engine.dispose()
    return [] if found == ["ok"] else found


def verify(told: Mapping[str, AcknowledgedReport], stored: Stored) -> list[str]:
    """Everything that is not as promised."""
    faults = []
    seats: dict[str, list[int]] = {}
    for secret_hash, participant in stored.seats:
        seats.setdefault(secret_hash, []).append(participant)
    by_participant: dict[int, list[AcknowledgedReport]] = {}
    for report in stored.reports:
        by_participant.setdefault(report.participant, []).append(report)
    for secret_hash, report in told.items():
        kept = [one for number in seats.get(secret_hash, []) for one in by_participant.get(number, [])]
        if not kept:
            faults.append(f"lost: {report} was acknowledged and is not there")
        elif len(kept) > 1:
            faults.append(f"twice: {report} is there as {kept}")
        elif kept[0] != report:
            faults.append(f"changed: {report} was acknowledged, {kept[0]} is there")
    if len(stored.reports) > len(told):
        faults.append(f"{len(stored.reports) - len(told)} reports are stored that nobody was told of")
    return faults + _counts(told, stored)


def _counts(told: Mapping[str, AcknowledgedReport], stored: Stored) -> list[str]:
    expected: dict[int, Counter[int]] = {}
    for report in told.values():
        expected.setdefault(report.round, Counter())[report.symbol] += 1
    faults = []
    for number, state, counts, nulls in stored.rounds:
        if state != "closed":
            faults.append(f"round {number} is {state}")
            continue
        counted = Counter({symbol: times for symbol, times in enumerate(json.loads(counts)) if times})
        counted[NULL] += nulls
        if +counted != +expected.get(number, Counter()):
            more, fewer = counted - expected.get(number, Counter()), expected.get(number, Counter()) - counted
            faults.append(f"round {number}: {more.total()} counted that were not acknowledged, {fewer.total()} not")
    return faults
