"""Rounds: claimed while a policy is being made, open while reports come in, closed once, with their counts."""

from __future__ import annotations

import json
from typing import Literal, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, Table, and_, func, select, update

from crowdveil.errors import InputError
from crowdveil.policy.policy import Policy
from crowdveil.prior import Round
from crowdveil.store import schema
from crowdveil.store.campaigns import lock_campaign
from crowdveil.store.database import Store

_rounds = schema.rounds


class RoundRow(NamedTuple):
    """A round as it is kept, without the policy's bytes."""

    number: int
    state: Literal["opening", "open", "closed"]
    policy_hash: str | None
    size: int | None
    """Seats; None for as many as come."""
    deadline: int | None
    """When it should be closed at the latest, in seconds since 1970; the caller has the clock."""


class RoundProgress(NamedTuple):
    """How far a round has come."""

    number: int
    seated: int
    accepted: int
    """Reports stored, NULL among them."""
    refused: dict[str, int]
    """Reports of seated participants that were refused, by reason."""


class StoredEstimate(NamedTuple):
    """What was learnt of where people are."""

    prior: tuple[float, ...]
    """π, a share for each cell."""
    expected_coverage: float
    """What the last policy is worth under it."""


_COLUMNS = [_rounds.c[name] for name in RoundRow._fields]


def claim_round(store: Store, campaign: str, number: int, *, now: int, until: int) -> bool:
    """Whether the caller is the one to make this round's policy, until a time; a claim that ran out can be taken over.

    Only saves work: whoever calls `open_round` first wins, with or without a claim.
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
    store: Store, campaign: str, number: int, policy: Policy, *, size: int | None = None, deadline: int | None = None
) -> RoundRow:
    """Publish a round's policy and accept reports. If somebody else was first, theirs stays and is returned."""
    fields = {
        "state": "open",
        "claimed_until": None,
        "policy": policy.to_bytes(),
        "policy_hash": policy.hash,
        "symbols": policy.symbol_count,
        "size": size,
        "deadline": deadline,
    }
    with store.writing() as connection:
        _check_next(connection, campaign, number)
        people = schema.participants.c
        seated = connection.execute(select(func.max(people.number)).where(people.campaign == campaign)).scalar()
        fields["first_participant"] = 0 if seated is None else seated + 1
        row = store.insert(_rounds).values(campaign=campaign, number=number, **fields)
        connection.execute(
            row.on_conflict_do_update(
                index_elements=["campaign", "number"], set_=fields, where=_rounds.c.state == "opening"
            )
        )
        stored = connection.execute(select(*_COLUMNS).where(_at(campaign, number))).one()
        return RoundRow(*stored)


def close_round(store: Store, campaign: str, number: int) -> Round:
    """Accept no more reports and count those that came; closing again gives the same counts."""
    with store.writing() as connection:
        # The lock first: whoever is adding reports finishes, and what they added is counted.
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
    """All rounds of a campaign, in order; the last one may still be opening or open."""
    mine = select(*_COLUMNS).where(_rounds.c.campaign == campaign).order_by(_rounds.c.number)
    with store.reading() as connection:
        return [RoundRow(*row) for row in connection.execute(mine)]


def policy_bytes(store: Store, campaign: str, number: int) -> bytes | None:
    """What `Policy.to_bytes` gave, for a round that was opened."""
    with store.reading() as connection:
        found: bytes | None = connection.execute(select(_rounds.c.policy).where(_at(campaign, number))).scalar()
        return found


def closed_rounds(store: Store, campaign: str) -> list[Round]:
    """The closed rounds with policies and counts, in order: what a campaign's state is rebuilt from."""
    columns = select(_rounds.c.policy, _rounds.c.counts, _rounds.c.nulls)
    mine = columns.where(_rounds.c.campaign == campaign, _rounds.c.state == "closed").order_by(_rounds.c.number)
    with store.reading() as connection:
        found = connection.execute(mine).all()
    return [_round(*row) for row in found]


def progress(store: Store, campaign: str) -> list[RoundProgress]:
    """Seats, reports and refusals of every round, counted from the rows."""
    refusals = schema.refusals
    with store.reading() as connection:
        numbers = connection.execute(
            select(_rounds.c.number).where(_rounds.c.campaign == campaign).order_by(_rounds.c.number)
        ).scalars()
        rows = [RoundProgress(number, 0, 0, {}) for number in numbers]
        seated = _per_round(connection, schema.participants, campaign)
        accepted = _per_round(connection, schema.reports, campaign)
        for refused in connection.execute(select(refusals).where(refusals.c.campaign == campaign)):
            rows[refused.round].refused[refused.reason] = refused.number
    return [one._replace(seated=seated.get(one.number, 0), accepted=accepted.get(one.number, 0)) for one in rows]


def reported(store: Store, campaign: str, number: int) -> int:
    """How many reports a round has, NULL among them."""
    reports = schema.reports.c
    mine = select(func.count()).where(reports.round == number, reports.campaign == campaign)
    with store.reading() as connection:
        return connection.execute(mine).scalar_one()


def save_estimate(store: Store, campaign: str, number: int, estimate: StoredEstimate) -> None:
    """Keep what was learnt once a round was closed; derived from its counts, so the first one stays."""
    values = {
        "campaign": campaign,
        "round": number,
        "prior": json.dumps(estimate.prior, separators=(",", ":")),
        "expected_coverage": estimate.expected_coverage,
    }
    with store.writing() as connection:
        connection.execute(store.insert(schema.estimates).values(values).on_conflict_do_nothing())


def estimates_of(store: Store, campaign: str) -> dict[int, StoredEstimate]:
    """What was learnt after each round."""
    table = schema.estimates.c
    mine = select(table.round, table.prior, table.expected_coverage).where(table.campaign == campaign)
    with store.reading() as connection:
        rows = connection.execute(mine.order_by(table.round)).all()
    return {row.round: StoredEstimate(tuple(json.loads(row.prior)), row.expected_coverage) for row in rows}


def last_estimate(store: Store, campaign: str) -> StoredEstimate | None:
    """What was learnt so far, or None before the first round was closed."""
    table = schema.estimates.c
    latest = select(table.prior, table.expected_coverage).where(table.campaign == campaign)
    with store.reading() as connection:
        row = connection.execute(latest.order_by(table.round.desc()).limit(1)).first()
        return None if row is None else StoredEstimate(tuple(json.loads(row.prior)), row.expected_coverage)


def _at(campaign: str, number: int) -> ColumnElement[bool]:
    return and_(_rounds.c.campaign == campaign, _rounds.c.number == number)


def _per_round(connection: Connection, table: Table, campaign: str) -> dict[int, int]:
    counted = select(table.c.round, func.count()).where(table.c.campaign == campaign).group_by(table.c.round)
    return dict(connection.execute(counted).all())


def _check_next(connection: Connection, campaign: str, number: int) -> None:
    """Refuse a round out of turn; one that is there already is left to the caller."""
    state = lock_campaign(connection, campaign).state
    if state not in ("open", "paused"):
        raise InputError("state", state, "a round opens while its campaign is open")
    mine = select(func.count()).where(_rounds.c.campaign == campaign, _rounds.c.state == "closed")
    closed = connection.execute(mine).scalar_one()
    if not 0 <= number <= closed:
        raise InputError("round", number, f"is not the next; {closed} rounds are closed")


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
