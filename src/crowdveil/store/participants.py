"""Participants: one seat for each secret, in the round that was open when they came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Insert, Select, bindparam, func, select

from crowdveil.errors import InputError
from crowdveil.store import schema
from crowdveil.store.campaigns import lock_campaign
from crowdveil.store.database import Store, parts
from crowdveil.store.list_parameters import each, insert_rows

_people = schema.participants

NoSeat = Literal["not-found", "wrong-state", "paused", "no-seat", "bad-invite"]
"""Why there is no seat: no such campaign, not started or over, paused, round full or none open, invite not good."""


class StoredSeat(NamedTuple):
    """Where a participant belongs; it never changes."""

    participant: int
    round: int
    policy_hash: str


class SeatClaim(NamedTuple):
    """Somebody asks for a seat."""

    campaign: str
    secret_hash: str
    invite_hash: str | None = None


def add_invites(store: Store, campaign: str, invite_hashes: Iterable[str]) -> None:
    """Let so many more in; each invite seats one device. Those that are there stay."""
    rows = [{"campaign": campaign, "invite_hash": one} for one in sorted(set(invite_hashes))]
    with store.writing() as connection:
        lock_campaign(connection, campaign)
        if rows:
            connection.execute(store.insert(schema.invites).on_conflict_do_nothing(), rows)


def take_seat(store: Store, campaign: str, secret_hash: str, invite_hash: str | None = None) -> StoredSeat | NoSeat:
    """A seat in the open round; for a secret that has one, that one."""
    return take_seats(store, [SeatClaim(campaign, secret_hash, invite_hash)])[0]


def take_seats(store: Store, requests: Sequence[SeatClaim]) -> list[StoredSeat | NoSeat]:
    """Answer many requests, in order, in one transaction: many seats for one wait on the disk."""
    answers: list[StoredSeat | NoSeat] = ["not-found"] * len(requests)
    places: dict[str, list[int]] = {}
    for place, request in enumerate(requests):
        places.setdefault(request.campaign, []).append(place)
    with store.writing() as connection:
        for campaign in sorted(places):  # everyone locks in the same order: nobody waits in a circle
            mine = [requests[place] for place in places[campaign]]
            try:
                found = _enrol(connection, campaign, mine)
            except InputError:  # no such campaign
                continue
            for place, answer in zip(places[campaign], found, strict=True):
                answers[place] = answer
    return answers


def seats_of(store: Store, campaign: str, secret_hashes: Sequence[str]) -> dict[str, StoredSeat]:
    """The seats that belong to secrets, by secret; those without one are left out."""
    with store.reading() as connection:
        return _seats(connection, campaign, secret_hashes)


def is_participant(store: Store, secret_hash: str) -> bool:
    """Whether a secret has a seat in any campaign."""
    with store.reading() as connection:
        found = select(_people.c.number).where(_people.c.secret_hash == secret_hash).limit(1)
        return connection.execute(found).first() is not None


def _enrol(connection: Connection, campaign: str, requests: list[SeatClaim]) -> list[StoredSeat | NoSeat]:
    row = lock_campaign(connection, campaign)
    seats = _seats(connection, campaign, [one.secret_hash for one in requests])
    closed: NoSeat | None = None if row.state == "open" else "paused" if row.state == "paused" else "wrong-state"
    invites = _unused_invites(connection, campaign, requests) if row.enrolment == "invite" else None
    rounds = schema.rounds.c
    current = connection.execute(
        select(rounds.number, rounds.policy_hash, rounds.size, rounds.first_participant).where(
            rounds.campaign == campaign, rounds.state == "open"
        )
    ).first()
    last = connection.execute(select(func.max(_people.c.number)).where(_people.c.campaign == campaign)).scalar()
    following = 0 if last is None else last + 1
    rows, answers = [], []
    for one in requests:
        answer: StoredSeat | NoSeat
        if one.secret_hash in seats:
            answer = seats[one.secret_hash]
        elif closed is not None:
            answer = closed
        elif invites is not None and one.invite_hash not in invites:
            answer = "bad-invite"
        elif current is None or (current.size is not None and following >= current.first_participant + current.size):
            answer = "no-seat"
        else:
            answer = seats[one.secret_hash] = StoredSeat(following, current.number, current.policy_hash)
            used = None
            if invites is not None:
                used = one.invite_hash
                invites.discard(str(used))
            rows.append(
                {
                    "campaign": campaign,
                    "number": following,
                    "secret_hash": one.secret_hash,
                    "invite_hash": used,
                    "round": current.number,
                }
            )
            following += 1
        answers.append(answer)
    if rows:
        connection.execute(_insert(connection.dialect.name), {"rows": rows})
    return answers


def _seats(connection: Connection, campaign: str, secret_hashes: Sequence[str]) -> dict[str, StoredSeat]:
    asked = {"campaign": campaign, "secrets": list(secret_hashes)}
    found = connection.execute(_seats_by_secret(connection.dialect.name), asked)
    return {secret: StoredSeat(*seat) for secret, *seat in found if seat[0] is not None}


@cache
def _seats_by_secret(dialect: str) -> Select[Any]:
    rounds = schema.rounds.c
    secret = each(dialect, _people.c.secret_hash.type, "secrets")
    campaign = bindparam("campaign", type_=_people.c.campaign.type)
    seat = (_people.c.secret_hash == secret) & (_people.c.campaign == campaign)
    policy = seat & (rounds.campaign == _people.c.campaign) & (rounds.number == _people.c.round)
    return select(
        secret,
        select(_people.c.number).where(seat).scalar_subquery(),
        select(_people.c.round).where(seat).scalar_subquery(),
        select(rounds.policy_hash).where(policy).scalar_subquery(),
    )


@cache
def _insert(dialect: str) -> Insert:
    return insert_rows(dialect, _people, ["campaign", "number", "secret_hash", "invite_hash", "round"])


def _unused_invites(connection: Connection, campaign: str, requests: list[SeatClaim]) -> set[str]:
    sent, used = (
        select(table.c.invite_hash).where(table.c.campaign == campaign) for table in (schema.invites, _people)
    )
    good: set[str] = set()
    for part in parts([one.invite_hash for one in requests if one.invite_hash is not None]):
        good |= set(connection.execute(sent.where(schema.invites.c.invite_hash.in_(part))).scalars())
        good -= set(connection.execute(used.where(_people.c.invite_hash.in_(part))).scalars())
    return good
