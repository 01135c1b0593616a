"""Store participants: one seat for each secret, in the round that was open when they asked.

Whoever withdraws before the round is closed is forgotten, together with the report.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Insert, Select, bindparam, delete, func, select, update

from crowdveil.errors import InputError
from crowdveil.store import schema
from crowdveil.store.activity import ChangedBy, write_activity
from crowdveil.store.campaigns import lock_campaign
from crowdveil.store.database import Store, chunks
from crowdveil.store.list_parameters import insert_rows, values_of

_participants, _counts, _rounds = schema.participants, schema.seat_counts, schema.rounds
NUMBERS = 2**53
"""Participants have random numbers below this, which the JSON of every language reads exactly.

Among a million participants of a campaign two get the same number with a probability of 1 in 18,000. The commit then
fails, and the devices ask again.
"""

NoSeat = Literal["not-found", "wrong-state", "paused", "no-seat", "bad-invite"]
"""Why there is no seat: unknown campaign; not started or over; paused; round full or none open; invite not valid."""


NotWithdrawn = Literal["unknown-participant", "round-closed"]
"""Why nobody can be forgotten: the secret has no seat; its round is closed, and its counts contain the report."""


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


def new_number() -> int:
    """Return a random number for a participant."""
    return secrets.randbelow(NUMBERS)


def add_invites(
    store: Store,
    campaign: str,
    invite_hashes: Iterable[str],
    *,
    at_most: int | None = None,
    rounds: int = 1,
    by: ChangedBy | None = None,
) -> int | None:
    """Add invites, each for one device; those that exist already stay.

    If there would be more than `at_most` in all, add none and return how many exist. Used invites are deleted; the
    participants who used them count instead. An invite to a panel holds once in each of its `rounds`.
    """
    hashes = sorted(set(invite_hashes))
    rows = [{"campaign": campaign, "round": number, "invite_hash": one} for number in range(rounds) for one in hashes]
    with store.writing() as connection:
        panel = lock_campaign(connection, campaign).panel
        exist = 0 if at_most is None else _invites_so_far(connection, campaign, panel)
        if at_most is not None and exist + len(hashes) > at_most:
            return exist
        if rows:
            connection.execute(store.insert(schema.invites).on_conflict_do_nothing(), rows)
        if by is not None:
            write_activity(connection, by, "invites-made", campaign, f"{len(hashes):,} invites")
    return None


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


def withdraw(store: Store, campaign: str, secret_hash: str) -> int | NotWithdrawn:
    """Forget a participant, with the seat and the report, while the round is open; return the participant's number.

    The seat is free again. The invite stays used, because nothing says which one it was.
    """
    with store.writing() as connection:
        try:
            lock_campaign(connection, campaign)
        except InputError:
            return "unknown-participant"
        seat = _seats(connection, campaign, [secret_hash]).get(secret_hash)
        if seat is None:
            return "unknown-participant"
        # Excludes transactions that add reports: none of them may find the seat and then miss it.
        at = (_rounds.c.campaign == campaign) & (_rounds.c.number == seat.round)
        state = connection.execute(select(_rounds.c.state).where(at).with_for_update(key_share=True)).scalar_one()
        if state != "open":
            return "round-closed"
        mine = (_participants.c.campaign == campaign) & (_participants.c.number == seat.participant)
        connection.execute(delete(_participants).where(mine))  # the report goes with it
        _count_seats(connection, campaign, seat.round, -1)
        return seat.participant


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
    current = connection.execute(
        select(_rounds.c.number, _rounds.c.policy_hash, _rounds.c.size, _counts.c.seated)
        .join(_counts, (_counts.c.campaign == _rounds.c.campaign) & (_counts.c.round == _rounds.c.number))
        .where(_rounds.c.campaign == campaign, _rounds.c.state == "open")
    ).first()
    invited_to = current.number if row.panel and current is not None else 0
    invites = _unused_invites(connection, campaign, invited_to, claims) if row.enrolment == "invite" else None
    rows: list[dict[str, str | int]] = []
    used: list[str] = []
    results: list[StoredSeat | NoSeat] = []
    for one in claims:
        result: StoredSeat | NoSeat
        if one.secret_hash in seats:
            result = seats[one.secret_hash]
        elif closed is not None:
            result = closed
        elif invites is not None and one.invite_hash not in invites:
            result = "bad-invite"
        elif current is None or (current.size is not None and current.seated + len(rows) >= current.size):
            result = "no-seat"
        else:
            number = new_number()
            result = seats[one.secret_hash] = StoredSeat(number, current.number, current.policy_hash)
            if invites is not None:
                used.append(str(one.invite_hash))
                invites.discard(used[-1])
            rows.append(
                {"campaign": campaign, "number": number, "secret_hash": one.secret_hash, "round": current.number}
            )
        results.append(result)
    if current is not None and rows:
        # In the order of their numbers, not of the claims: where rows lie in the file tells nothing then.
        rows.sort(key=lambda row: row["number"])
        connection.execute(_insert(connection.dialect.name), {"rows": rows})
        _count_seats(connection, campaign, current.number, len(rows))
    for chunk in chunks(used):
        table = schema.invites
        mine = (table.c.campaign == campaign) & (table.c.round == invited_to)
        connection.execute(delete(table).where(mine, table.c.invite_hash.in_(chunk)))
    return results


def _count_seats(connection: Connection, campaign: str, number: int, change: int) -> None:
    at = (_counts.c.campaign == campaign) & (_counts.c.round == number)
    connection.execute(update(_counts).where(at).values(seated=_counts.c.seated + change))


def _seats(connection: Connection, campaign: str, secret_hashes: Sequence[str]) -> dict[str, StoredSeat]:
    parameters = {"campaign": campaign, "secrets": list(secret_hashes)}
    found = connection.execute(_seats_by_secret(connection.dialect.name), parameters)
    return {secret: StoredSeat(*seat) for secret, *seat in found if seat[0] is not None}


@cache
def _seats_by_secret(dialect: str) -> Select[Any]:
    rounds = _rounds.c
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
    return insert_rows(dialect, _participants, ["campaign", "number", "secret_hash", "round"])


def _invites_so_far(connection: Connection, campaign: str, panel: bool) -> int:
    """Count the invites, used or not; of a panel those to the first round, since each holds in every round."""
    found = 0
    for table in (schema.invites, _participants):
        mine = select(func.count()).where(table.c.campaign == campaign)
        found += connection.scalar(mine.where(table.c.round == 0) if panel else mine) or 0
    return found


def _unused_invites(connection: Connection, campaign: str, number: int, claims: list[SeatClaim]) -> set[str]:
    table = schema.invites
    mine = select(table.c.invite_hash).where(table.c.campaign == campaign, table.c.round == number)
    unused: set[str] = set()
    for chunk in chunks([one.invite_hash for one in claims if one.invite_hash is not None]):
        unused |= set(connection.execute(mine.where(table.c.invite_hash.in_(chunk))).scalars())
    return unused
