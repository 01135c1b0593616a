"""Store participants: one seat for each secret, in the round that was open when they asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Insert, Select, bindparam, func, select

from crowdveil.errors import InputError
from crowdveil.store import schema
from crowdveil.store.campaigns import lock_campaign
from crowdveil.store.database import Store, chunks
from crowdveil.store.list_parameters import insert_rows, values_of

_participants = schema.participants

NoSeat = Literal["not-found", "wrong-state", "paused", "no-seat", "bad-invite"]
"""Why there is no seat: unknown campaign; not started or over; paused; round full or none open; invite not valid."""


class StoredSeat(NamedTuple):
    """A participant's place in a round; it never changes."""

    participant: int
    round: int
    policy_hash: str


class SeatClaim(NamedTuple):
    """A request for a seat."""

    campaign: str
    secret_hash: str
    invite_hash: str | None = None


def add_invites(store: Store, campaign: str, invite_hashes: Iterable[str]) -> None:
    """Add invites, each for one device; those that exist already stay."""
    rows = [{"campaign": campaign, "invite_hash": one} for one in sorted(set(invite_hashes))]
    with store.writing() as connection:
        lock_campaign(connection, campaign)
        if rows:
            connection.execute(store.insert(schema.invites).on_conflict_do_nothing(), rows)


def take_seat(store: Store, campaign: str, secret_hash: str, invite_hash: str | None = None) -> StoredSeat | NoSeat:
    """Give a seat in the open round; a secret that has a seat gets the same one."""
    return take_seats(store, [SeatClaim(campaign, secret_hash, invite_hash)])[0]


def take_seats(store: Store, claims: Sequence[SeatClaim]) -> list[StoredSeat | NoSeat]:
    """Give many seats in one commit, and return the results in the order of the claims."""
    results: list[StoredSeat | NoSeat] = ["not-found"] * len(claims)
    indices: dict[str, list[int]] = {}
    for index, claim in enumerate(claims):
        indices.setdefault(claim.campaign, []).append(index)
    with store.writing() as connection:
        for campaign in sorted(indices):  # a fixed lock order prevents deadlock
            of_campaign = [claims[index] for index in indices[campaign]]
            try:
                found = _take_seats(connection, campaign, of_campaign)
            except InputError:  # the campaign does not exist
                continue
            for index, result in zip(indices[campaign], found, strict=True):
                results[index] = result
    return results


def seats_of(store: Store, campaign: str, secret_hashes: Sequence[str]) -> dict[str, StoredSeat]:
    """Return the seats of secrets, by secret; secrets without a seat are left out."""
    with store.reading() as connection:
        return _seats(connection, campaign, secret_hashes)


def is_participant(store: Store, secret_hash: str) -> bool:
    """Return whether a secret has a seat in any campaign."""
    with store.reading() as connection:
        found = select(_participants.c.number).where(_participants.c.secret_hash == secret_hash).limit(1)
        return connection.execute(found).first() is not None


def _take_seats(connection: Connection, campaign: str, claims: list[SeatClaim]) -> list[StoredSeat | NoSeat]:
    row = lock_campaign(connection, campaign)
    seats = _seats(connection, campaign, [one.secret_hash for one in claims])
    closed: NoSeat | None = None if row.state == "open" else "paused" if row.state == "paused" else "wrong-state"
    invites = _unused_invites(connection, campaign, claims) if row.enrolment == "invite" else None
    rounds = schema.rounds.c
    current = connection.execute(
        select(rounds.number, rounds.policy_hash, rounds.size, rounds.first_participant).where(
            rounds.campaign == campaign, rounds.state == "open"
        )
    ).first()
    last = connection.execute(
        select(func.max(_participants.c.number)).where(_participants.c.campaign == campaign)
    ).scalar()
    next_number = 0 if last is None else last + 1
    rows, results = [], []
    for one in claims:
        result: StoredSeat | NoSeat
        if one.secret_hash in seats:
            result = seats[one.secret_hash]
        elif closed is not None:
            result = closed
        elif invites is not None and one.invite_hash not in invites:
            result = "bad-invite"
        elif current is None or (current.size is not None and next_number >= current.first_participant + current.size):
            result = "no-seat"
        else:
            result = seats[one.secret_hash] = StoredSeat(next_number, current.number, current.policy_hash)
            used = None
            if invites is not None:
                used = one.invite_hash
                invites.discard(str(used))
            rows.append(
                {
                    "campaign": campaign,
                    "number": next_number,
                    "secret_hash": one.secret_hash,
                    "invite_hash": used,
                    "round": current.number,
                }
            )
            next_number += 1
        results.append(result)
    if rows:
        connection.execute(_insert(connection.dialect.name), {"rows": rows})
    return results


def _seats(connection: Connection, campaign: str, secret_hashes: Sequence[str]) -> dict[str, StoredSeat]:
    parameters = {"campaign": campaign, "secrets": list(secret_hashes)}
    found = connection.execute(_seats_by_secret(connection.dialect.name), parameters)
    return {secret: StoredSeat(*seat) for secret, *seat in found if seat[0] is not None}


@cache
def _seats_by_secret(dialect: str) -> Select[Any]:
    rounds = schema.rounds.c
    secret = values_of(dialect, _participants.c.secret_hash.type, "secrets")
    campaign = bindparam("campaign", type_=_participants.c.campaign.type)
    seat = (_participants.c.secret_hash == secret) & (_participants.c.campaign == campaign)
    policy = seat & (rounds.campaign == _participants.c.campaign) & (rounds.number == _participants.c.round)
    return select(
        secret,
        select(_participants.c.number).where(seat).scalar_subquery(),
        select(_participants.c.round).where(seat).scalar_subquery(),
        select(rounds.policy_hash).where(policy).scalar_subquery(),
    )


@cache
def _insert(dialect: str) -> Insert:
    return insert_rows(dialect, _participants, ["campaign", "number", "secret_hash", "invite_hash", "round"])


def _unused_invites(connection: Connection, campaign: str, claims: list[SeatClaim]) -> set[str]:
    issued, used = (
        select(table.c.invite_hash).where(table.c.campaign == campaign) for table in (schema.invites, _participants)
    )
    unused: set[str] = set()
    for chunk in chunks([one.invite_hash for one in claims if one.invite_hash is not None]):
        unused |= set(connection.execute(issued.where(schema.invites.c.invite_hash.in_(chunk))).scalars())
        unused -= set(connection.execute(used.where(_participants.c.invite_hash.in_(chunk))).scalars())
    return unused
