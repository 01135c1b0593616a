"""Store rounds: claimed while a policy is being made, open while reports arrive, closed once with their counts."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, and_, func, select, update

from crowdveil.errors import InputError
from crowdveil.policy.policy import Policy
from crowdveil.prior import Round
from crowdveil.store import schema
from crowdveil.store.campaigns import lock_campaign
from crowdveil.store.database import Store

_rounds = schema.rounds


class RoundRow(NamedTuple):
    """A round as it is stored, without the bytes of its policy."""

    number: int
    state: Literal["opening", "open", "closed"]
    policy_hash: str | None
    size: int | None
    """Number of seats; None for no limit."""
    opened: int | None
    """When the round was opened, in seconds since 1970 (UTC); None before."""
    deadline: int | None
    """When the round should be closed at the latest, in seconds since 1970 (UTC)."""
    notice: str | None
    """The signed notice of the policy as JSON; None until the round was opened."""


class RoundProgress(NamedTuple):
    """Seats and reports of a round."""

    number: int
    seated: int
    accepted: int
    """Number of reports stored, including NULL."""
    refused: dict[str, int]
    """Number of refused reports of seated participants, by reason."""


class StoredEstimate(NamedTuple):
    """The estimate of where people are."""

    prior: tuple[float, ...]
    """π: of the people in the area, the share in each cell."""
    grade_shares: tuple[float, ...]
    """Of all people, the share at each grade, regular visitors first."""
    outside_share: float
    """Of all people, the share outside the area, or without a place in the clear form."""
    expected_coverage: float | None
    """Of those who are or will be selected, the share expected at a target under this estimate; None for a panel."""
    expectation: str | None
    """People expected at each place, as JSON; None for a panel, of which each selection asks for other places."""


_COLUMNS = [_rounds.c[name] for name in RoundRow._fields]


def claim_round(store: Store, campaign: str, number: int, *, now: int, until: int) -> bool:
    """Claim the right to make the policy of a round until a time; return whether that succeeded.

    A claim that has expired can be taken over. Claims only avoid duplicate work: the first call of `open_round` wins,
    with or without a claim.
    """
    row = store.insert(_rounds).values(campaign=campaign, number=number, state="opening", claimed_until=until)
    claim = row.on_conflict_do_update(
        index_elements=["campaign", "number"],
        set_={"claimed_until": until},
        where=(_rounds.c.state == "opening") & (_rounds.c.claimed_until <= now),
    ).returning(_rounds.c.number)
    with store.writing() as connection:
        _check_next(connection, campaign, number)
        return connection.execute(claim).first() is not None


def open_round(
    store: Store,
    campaign: str,
    number: int,
    policy: Policy,
    *,
    notice: str,
    size: int | None = None,
    opened: int = 0,
    deadline: int | None = None,
) -> RoundRow:
    """Publish the policy of a round with its notice and accept reports; if the round is open already, return it.

    The first call wins. So a round has one notice, even if several servers have signed one each.
    """
    fields = {
        "state": "open",
        "claimed_until": None,
        "policy": policy.to_bytes(),
        "policy_hash": policy.hash,
        "symbols": policy.symbol_count,
        "size": size,
        "opened": opened,
        "deadline": deadline,
        "notice": notice,
    }
    with store.writing() as connection:
        _check_next(connection, campaign, number)
        row = store.insert(_rounds).values(campaign=campaign, number=number, **fields)
        connection.execute(
            row.on_conflict_do_update(
                index_elements=["campaign", "number"], set_=fields, where=_rounds.c.state == "opening"
            )
        )
        none_yet = store.insert(schema.seat_counts).values(campaign=campaign, round=number, seated=0)
        connection.execute(none_yet.on_conflict_do_nothing())
        stored = connection.execute(select(*_COLUMNS).where(_at(campaign, number))).one()
        return RoundRow(*stored)


def close_round(store: Store, campaign: str, number: int) -> Round:
    """Close a round and count its reports; closing it again returns the same counts."""
    with store.writing() as connection:
        # The lock comes first: transactions that add reports finish before it, and their reports are counted.
        found = select(_rounds).where(_at(campaign, number)).with_for_update(key_share=True)
        row = connection.execute(found).first()
        if row is None or row.state == "opening":
            raise InputError("round", number, f"is not open in campaign {campaign!r}")
        if row.state == "closed":
            return _round(row.policy, row.counts, row.nulls)
        counts, nulls = _count(connection, campaign, number, row.symbols)
        closed = connection.execute(
            update(_rounds)
            .where(_at(campaign, number), _rounds.c.state == "open")
            .values(state="closed", counts=json.dumps(counts, separators=(",", ":")), nulls=nulls)
        )
        assert closed.rowcount == 1, "the round was locked"
    return Round(Policy.from_bytes(row.policy), np.array(counts, dtype=np.int64), nulls)


def rounds_of(store: Store, campaign: str) -> list[RoundRow]:
    """Return all rounds of a campaign, in order; the last one may be opening or open."""
    mine = select(*_COLUMNS).where(_rounds.c.campaign == campaign).order_by(_rounds.c.number)
    with store.reading() as connection:
        return [RoundRow(*row) for row in connection.execute(mine)]


def policy_bytes(store: Store, campaign: str, number: int) -> bytes | None:
    """Return the bytes of a round's policy, or None if the round was not opened."""
    with store.reading() as connection:
        found: bytes | None = connection.execute(select(_rounds.c.policy).where(_at(campaign, number))).scalar()
        return found


def closed_rounds(store: Store, campaign: str) -> list[Round]:
    """Return the closed rounds with policies and counts, in order; a campaign's state is rebuilt from them."""
    columns = select(_rounds.c.policy, _rounds.c.counts, _rounds.c.nulls)
    mine = columns.where(_rounds.c.campaign == campaign, _rounds.c.state == "closed").order_by(_rounds.c.number)
    with store.reading() as connection:
        found = connection.execute(mine).all()
    return [_round(*row) for row in found]


def round_progress(store: Store, campaign: str) -> list[RoundProgress]:
    """Count the seats, reports and refusals of every round."""
    refusals = schema.refusals
    with store.reading() as connection:
        numbers = connection.execute(
            select(_rounds.c.number).where(_rounds.c.campaign == campaign).order_by(_rounds.c.number)
        ).scalars()
        rows = [RoundProgress(number, 0, 0, {}) for number in numbers]
        counts, reports = schema.seat_counts.c, schema.reports.c
        taken = select(counts.round, counts.seated).where(counts.campaign == campaign)
        stored = select(reports.round, func.count()).where(reports.campaign == campaign).group_by(reports.round)
        seated: dict[int, int] = dict(connection.execute(taken).all())
        accepted: dict[int, int] = dict(connection.execute(stored).all())
        for refused in connection.execute(select(refusals).where(refusals.c.campaign == campaign)):
            rows[refused.round].refused[refused.reason] = refused.number
    return [one._replace(seated=seated.get(one.number, 0), accepted=accepted.get(one.number, 0)) for one in rows]


def count_reports(store: Store, campaign: str, number: int) -> int:
    """Count the reports of a round, including NULL."""
    reports = schema.reports.c
    mine = select(func.count()).where(reports.round == number, reports.campaign == campaign)
    with store.reading() as connection:
        return connection.execute(mine).scalar_one()


def save_estimate(store: Store, campaign: str, number: int, estimate: StoredEstimate) -> None:
    """Store the estimate after a closed round; it follows from the counts, so the first one stays."""
    values = {
        "campaign": campaign,
        "round": number,
        "prior": json.dumps(estimate.prior, separators=(",", ":")),
        "grade_shares": json.dumps(estimate.grade_shares, separators=(",", ":")),
        "outside_share": estimate.outside_share,
        "expected_coverage": estimate.expected_coverage,
        "expectation": estimate.expectation,
    }
    with store.writing() as connection:
        connection.execute(store.insert(schema.estimates).values(values).on_conflict_do_nothing())


def estimates_of(store: Store, campaign: str) -> dict[int, StoredEstimate]:
    """Return the estimate after each round."""
    table = schema.estimates
    mine = select(table).where(table.c.campaign == campaign).order_by(table.c.round)
    with store.reading() as connection:
        return {row.round: _estimate(row) for row in connection.execute(mine)}


def last_estimate(store: Store, campaign: str) -> StoredEstimate | None:
    """Return the latest estimate, or None before the first round was closed."""
    table = schema.estimates
    latest = select(table).where(table.c.campaign == campaign).order_by(table.c.round.desc()).limit(1)
    with store.reading() as connection:
        row = connection.execute(latest).first()
        return None if row is None else _estimate(row)


def _estimate(row: Row[Any]) -> StoredEstimate:
    shares = tuple(json.loads(row.grade_shares))
    prior = tuple(json.loads(row.prior))
    return StoredEstimate(prior, shares, row.outside_share, row.expected_coverage, row.expectation)


def _at(campaign: str, number: int) -> ColumnElement[bool]:
    return and_(_rounds.c.campaign == campaign, _rounds.c.number == number)


def _check_next(connection: Connection, campaign: str, number: int) -> None:
    """Refuse a round out of turn; a round that exists already is left to the caller."""
    state = lock_campaign(connection, campaign).state
    if state not in ("open", "paused"):
        raise InputError("state", state, "should be open or paused; only then can a round be opened")
    mine = select(func.count()).where(_rounds.c.campaign == campaign, _rounds.c.state == "closed")
    closed = connection.execute(mine).scalar_one()
    if not 0 <= number <= closed:
        raise InputError("round", number, f"should be at most {closed}, the number of closed rounds")


def _count(connection: Connection, campaign: str, number: int, symbols: int) -> tuple[list[int], int]:
    reports = schema.reports.c
    counted = select(reports.symbol, func.count()).where(reports.campaign == campaign, reports.round == number)
    counts, nulls = [0] * symbols, 0
    for symbol, times in connection.execute(counted.group_by(reports.symbol)):
        if symbol is None:
            nulls = times
        else:
            counts[symbol] = times
    return counts, nulls


def _round(policy: bytes, counts: str, nulls: int) -> Round:
    return Round(Policy.from_bytes(policy), np.array(json.loads(counts), dtype=np.int64), nulls)
