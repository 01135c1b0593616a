"""Store reports: each is accepted once or refused for a reason, and the first report of a participant stays.

It stays unless the participant withdraws while the round is open (`participants.withdraw`).

What stops a second report is the primary key of `schema.reports`: one row per campaign and participant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from sqlalchemy import func, select

from crowdveil.arrays import IntArray
from crowdveil.campaign.selection import Reports
from crowdveil.store import schema
from crowdveil.store.database import Store
from crowdveil.store.driver import AS_JSON, DriverTransaction
from crowdveil.vocabulary import NULL

_reports, _participants = schema.reports, schema.participants


ReportOutcome = Literal[
    "accepted",
    "repeated",
    "report-conflict",
    "round-closed",
    "unknown-participant",
    "wrong-round",
    "wrong-policy",
    "wrong-symbol",
    "paused",
]
"""`accepted` and `repeated` (the same report is stored already) get a receipt; the others say why there is none."""


class StoredReport(NamedTuple):
    """A report with the number of its participant."""

    campaign: str
    participant: int
    round: int
    policy_hash: str
    symbol: int | None
    """None for NULL."""
    digest: str


class ReportRows(NamedTuple):
    """All reports of a campaign by participant number, including NULL."""

    commitment: list[str]
    """The hash of each participant's secret, which the lottery is about."""
    participant: IntArray
    round: IntArray
    symbol: IntArray


def add_reports(store: Store, reports: Sequence[StoredReport]) -> list[ReportOutcome]:
    """Store the reports of a batch in one commit, and return the outcome of each, in order.

    When this returns, everything that was accepted is on disk.
    """
    outcomes: list[ReportOutcome] = ["unknown-participant"] * len(reports)
    indices: dict[str, list[int]] = {}
    for index, report in enumerate(reports):
        indices.setdefault(report.campaign, []).append(index)
    refused: Counter[tuple[str, int, str]] = Counter()
    with store.writing_directly() as transaction:
        for campaign in sorted(indices):  # a fixed lock order prevents deadlock
            of_campaign = [reports[index] for index in indices[campaign]]
            seats = _seats(transaction, campaign, of_campaign)
            found = _add(transaction, campaign, of_campaign, seats)
            for index, outcome in zip(indices[campaign], found, strict=True):
                outcomes[index] = outcome
                seat = seats.rows.get(reports[index].participant)
                if seat is not None and outcome not in ("accepted", "repeated"):
                    refused[campaign, seat.round, outcome] += 1
        _count_refusals(transaction, refused)
    return outcomes


def report_rows(store: Store, campaign: str, rounds: int | None = None) -> ReportRows:
    """Return every report of a campaign, or of its first rounds; the symbol is `NULL` (-1) for NULL."""
    columns = select(
        _participants.c.secret_hash, _reports.c.participant, _reports.c.round, func.coalesce(_reports.c.symbol, NULL)
    )
    seat = (_participants.c.campaign == _reports.c.campaign) & (_participants.c.number == _reports.c.participant)
    mine = columns.join_from(_reports, _participants, seat).where(_reports.c.campaign == campaign)
    if rounds is not None:
        mine = mine.where(_reports.c.round < rounds)
    commitment: list[str] = []

    def numbers(rows: Iterable[Sequence[Any]]) -> Iterator[int]:
        for secret_hash, *row in rows:
            commitment.append(secret_hash)
            yield from row

    with store.reading() as connection:
        # Row by row into a flat array: a million rows as Python objects would take many times the memory.
        flat = np.fromiter(numbers(connection.execute(mine.order_by(_reports.c.participant))), dtype=np.int64)
    participant, number, symbol = flat.reshape(-1, 3).T
    return ReportRows(commitment, participant, number, symbol)


def reports_of(store: Store, campaign: str, rounds: int | None = None) -> Reports:
    """Return the reports with a symbol, by participant number: what a selection is made from."""
    rows = report_rows(store, campaign, rounds)
    sent = rows.symbol != NULL
    tickets = tuple(one for one, has_symbol in zip(rows.commitment, sent.tolist(), strict=True) if has_symbol)
    return Reports(rows.participant[sent], rows.round[sent], rows.symbol[sent], tickets)


LOCK_ROUND = """
    SELECT number, (SELECT state FROM campaigns WHERE id = :campaign) FROM rounds
    WHERE campaign = :campaign AND state = 'open'"""
_LOCK_ROUND = {"sqlite": LOCK_ROUND, "postgresql": f"{LOCK_ROUND} FOR SHARE"}
"""Selects the open round and locks it until the transaction ends, so that closing counts these reports."""
_SEATS = {
    "sqlite": f"""{AS_JSON}
        json_array(seat.number, seat.round, rounds.policy_hash, rounds.symbols, reports.digest))
        FROM json_each(:numbers) AS one
        CROSS JOIN participants AS seat ON seat.campaign = :campaign AND seat.number = one.value
        CROSS JOIN rounds ON rounds.campaign = seat.campaign AND rounds.number = seat.round
        LEFT JOIN reports ON reports.campaign = seat.campaign AND reports.participant = seat.number""",
    # LATERAL and OFFSET 0: for a join with a table that has no statistics yet, PostgreSQL would read the whole table.
    "postgresql": """
        SELECT one.number, seat.round, rounds.policy_hash, rounds.symbols,
            (SELECT digest FROM reports WHERE reports.campaign = :campaign AND reports.participant = one.number)
        FROM unnest(CAST(:numbers AS bigint[])) AS one(number)
        CROSS JOIN LATERAL (SELECT round FROM participants
            WHERE participants.campaign = :campaign AND participants.number = one.number OFFSET 0) AS seat
        JOIN rounds ON rounds.campaign = :campaign AND rounds.number = seat.round""",
}
_COLUMNS = "INSERT INTO reports (campaign, participant, round, symbol, digest)"
_ONCE = "ON CONFLICT (campaign, participant) DO NOTHING"
_INSERT = {
    # Without WHERE, SQLite parses ON CONFLICT as the ON of a join.
    "sqlite": f"""{_COLUMNS}
        SELECT :campaign, value ->> 0, value ->> 1, value ->> 2, value ->> 3
        FROM json_each(:rows) WHERE true {_ONCE}""",
    "postgresql": f"""{_COLUMNS}
        SELECT :campaign, participant, round, symbol, digest FROM unnest(
            CAST(:participants AS bigint[]), CAST(:rounds AS integer[]), CAST(:symbols AS integer[]),
            CAST(:digests AS varchar[])) AS one(participant, round, symbol, digest) {_ONCE}""",
}
_REFUSED = """
    INSERT INTO refusals (campaign, round, reason, number) VALUES (:campaign, :round, :reason, :times)
    ON CONFLICT (campaign, round, reason) DO UPDATE SET number = refusals.number + excluded.number"""
_COUNT_REFUSALS = {"sqlite": _REFUSED, "postgresql": _REFUSED}


class _Seat(NamedTuple):
    """A participant's seat, and the digest of the stored report, if there is one."""

    round: int
    policy_hash: str
    symbols: int
    digest: str | None


class _Seats(NamedTuple):
    """What decides about the reports of a campaign, read under the lock that keeps its round open."""

    open_round: int | None
    paused: bool
    rows: dict[int, _Seat]


def _seats(transaction: DriverTransaction, campaign: str, reports: list[StoredReport]) -> _Seats:
    current = transaction.rows(_LOCK_ROUND, {"campaign": campaign})
    numbers = sorted({one.participant for one in reports})
    found = transaction.rows(_SEATS, {"campaign": campaign, "numbers": numbers})
    rows = {number: _Seat(*seat) for number, *seat in found}
    if not current:
        return _Seats(None, False, rows)
    number, state = current[0]
    return _Seats(number, state == "paused", rows)


def _add(
    transaction: DriverTransaction, campaign: str, reports: list[StoredReport], seats: _Seats
) -> list[ReportOutcome]:
    stored = {number: row.digest for number, row in seats.rows.items() if row.digest is not None}
    outcomes: list[ReportOutcome] = []
    new: dict[int, StoredReport] = {}
    for one in reports:
        if one.participant in stored:
            outcomes.append("repeated" if stored[one.participant] == one.digest else "report-conflict")
            continue
        outcome = _first_outcome(one, seats)
        if outcome == "accepted":
            new[one.participant] = one
            stored[one.participant] = one.digest
        outcomes.append(outcome)
    lost = _insert(transaction, campaign, new)
    if lost:  # another process stored a report of the same participant first; that one stays
        now = _seats(transaction, campaign, lost).rows
        for index, one in enumerate(reports):
            if one.participant in now and outcomes[index] in ("accepted", "repeated", "report-conflict"):
                outcomes[index] = "repeated" if now[one.participant].digest == one.digest else "report-conflict"
    return outcomes


def _first_outcome(one: StoredReport, seats: _Seats) -> ReportOutcome:
    """Decide about the first report of a participant."""
    seat = seats.rows.get(one.participant)
    if seat is None:
        return "unknown-participant"
    if one.round != seat.round:
        return "wrong-round"
    if one.policy_hash != seat.policy_hash:
        return "wrong-policy"
    if one.symbol is not None and not 0 <= one.symbol < seat.symbols:
        return "wrong-symbol"
    if seat.round != seats.open_round:
        return "round-closed"
    return "paused" if seats.paused else "accepted"


def _insert(transaction: DriverTransaction, campaign: str, new: dict[int, StoredReport]) -> list[StoredReport]:
    """Insert reports; if some participants have a stored report already, return all, otherwise none."""
    if not new:
        return []
    rows = [(number, one.round, one.symbol, one.digest) for number, one in sorted(new.items())]  # no deadlock
    given: dict[str, Any] = {"campaign": campaign}
    if transaction.dialect == "sqlite":
        given["rows"] = rows
    else:
        names = ("participants", "rounds", "symbols", "digests")
        given |= {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return [] if transaction.change(_INSERT, given) == len(rows) else list(new.values())


def _count_refusals(transaction: DriverTransaction, refused: Counter[tuple[str, int, str]]) -> None:
    for (campaign, number, reason), times in sorted(refused.items()):
        given = {"campaign": campaign, "round": number, "reason": reason, "times": times}
        transaction.change(_COUNT_REFUSALS, given)
