"""Store reports: each is accepted once or refused for a reason, and the first report of a participant stays.

It stays unless the participant withdraws while the round is open (`participants.withdraw`).

What stops a second report is the primary key of `schema.reports`: one row per campaign and participant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, bindparam, func, select
from sqlalchemy.sql.dml import ReturningInsert

from crowdveil.arrays import IntArray
from crowdveil.campaign.selection import Reports
from crowdveil.store import schema
from crowdveil.store.database import Store
from crowdveil.store.list_parameters import insert_rows, values_of
from crowdveil.vocabulary import NULL

_reports, _participants, _rounds = schema.reports, schema.participants, schema.rounds


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
    with store.writing() as connection:
        for campaign in sorted(indices):  # a fixed lock order prevents deadlock
            of_campaign = [reports[index] for index in indices[campaign]]
            seats = _seats(connection, campaign, of_campaign)
            found = _add(connection, campaign, of_campaign, seats)
            for index, outcome in zip(indices[campaign], found, strict=True):
                outcomes[index] = outcome
                seat = seats.rows.get(reports[index].participant)
                if seat is not None and outcome not in ("accepted", "repeated"):
                    refused[campaign, seat.round, outcome] += 1
        _count_refusals(store, connection, refused)
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


class _Statements(NamedTuple):
    """The statements of every commit, compiled once per database."""

    lock: Select[Any]
    """Selects the open round and locks it until the transaction ends, so that closing counts these reports."""
    seats: Select[Any]
    insert: ReturningInsert[Any]
    """Inserts reports of participants who have none, and returns those participants."""


@cache
def _statements(dialect: str) -> _Statements:
    campaign = bindparam("campaign", type_=_rounds.c.campaign.type)
    state = select(schema.campaigns.c.state).where(schema.campaigns.c.id == campaign).scalar_subquery()
    current = select(_rounds.c.number, state.label("state")).where(
        _rounds.c.campaign == campaign, _rounds.c.state == "open"
    )
    number = values_of(dialect, _participants.c.number.type, "numbers")
    seat = (_participants.c.campaign == campaign) & (_participants.c.number == number)
    policy = seat & (_rounds.c.campaign == _participants.c.campaign) & (_rounds.c.number == _participants.c.round)
    sent = (_reports.c.campaign == campaign) & (_reports.c.participant == number)
    seats = select(
        number,
        select(_participants.c.round).where(seat).scalar_subquery(),
        select(_rounds.c.policy_hash).where(policy).scalar_subquery(),
        select(_rounds.c.symbols).where(policy).scalar_subquery(),
        select(_reports.c.digest).where(sent).scalar_subquery(),
    )
    new = insert_rows(dialect, _reports, ["campaign", "participant", "round", "symbol", "digest"])
    once = new.on_conflict_do_nothing(index_elements=["campaign", "participant"])
    return _Statements(current.with_for_update(read=True), seats, once.returning(_reports.c.participant))


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


def _seats(connection: Connection, campaign: str, reports: list[StoredReport]) -> _Seats:
    statements = _statements(connection.dialect.name)
    current = connection.execute(statements.lock, {"campaign": campaign}).first()
    numbers = sorted({one.participant for one in reports})
    found = connection.execute(statements.seats, {"campaign": campaign, "numbers": numbers})
    rows = {number: _Seat(*seat) for number, *seat in found if seat[0] is not None}
    return _Seats(None, False, rows) if current is None else _Seats(current.number, current.state == "paused", rows)


def _add(connection: Connection, campaign: str, reports: list[StoredReport], seats: _Seats) -> list[ReportOutcome]:
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
    lost = _insert(connection, campaign, new)
    if lost:  # another process stored a report of the same participant first; that one stays
        now = _seats(connection, campaign, lost).rows
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


def _insert(connection: Connection, campaign: str, new: dict[int, StoredReport]) -> list[StoredReport]:
    """Insert reports, and return those whose participant has a stored report already."""
    if not new:
        return []
    rows = [
        {"campaign": campaign, "participant": number, "round": one.round, "symbol": one.symbol, "digest": one.digest}
        for number, one in sorted(new.items())  # a fixed lock order prevents deadlock
    ]
    inserted = set(connection.execute(_statements(connection.dialect.name).insert, {"rows": rows}).scalars())
    return [one for number, one in new.items() if number not in inserted]


def _count_refusals(store: Store, connection: Connection, refused: Counter[tuple[str, int, str]]) -> None:
    table = schema.refusals
    for (campaign, number, reason), times in sorted(refused.items()):
        row = store.insert(table).values(campaign=campaign, round=number, reason=reason, number=times)
        more = {"number": table.c.number + row.excluded.number}
        connection.execute(row.on_conflict_do_update(index_elements=["campaign", "round", "reason"], set_=more))
