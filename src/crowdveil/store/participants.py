"""Store participants: one seat for each secret, in the round that was open when they asked.

Whoever withdraws before the round is closed is forgotten, together with the report.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, delete, func, select, update

from crowdveil.errors import InputError
from crowdveil.store import schema
from crowdveil.store.activity import ChangedBy, write_activity
from crowdveil.store.campaigns import lock_campaign
from crowdveil.store.database import Store
from crowdveil.store.driver import AS_JSON, DriverTransaction

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
    terms: str | None = None,
    by: ChangedBy | None = None,
) -> int | None:
    """Add invites, each for one device; those that exist already stay.

    If there would be more than `at_most` in all, add none and return how many exist. Used invites are deleted; the
    participants who used them count instead. An invite to a panel holds once in each of its `rounds`. If `terms` are
    given, which the invites will name, those of the campaign should still be the same.
    """
    hashes = sorted(set(invite_hashes))
    rows = [{"campaign": campaign, "round": number, "invite_hash": one} for number in range(rounds) for one in hashes]
    with store.writing() as connection:
        now = lock_campaign(connection, campaign)
        if terms is not None and now.terms != terms:
            raise InputError("plan", campaign, "was replaced by another operator just now; make the invites again")
        exist = 0 if at_most is None else _invites_so_far(connection, campaign, now.panel)
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
    with store.writing_directly() as transaction:
        for campaign in sorted(indices):  # a fixed lock order prevents deadlock
            of_campaign = [claims[index] for index in indices[campaign]]
            found = _take_seats(transaction, campaign, of_campaign)
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
        mine = (_participants.c.campaign == campaign) & (_participants.c.secret_hash == secret_hash)
        seat = connection.execute(select(_participants.c.number, _participants.c.round).where(mine)).first()
        if seat is None:
            return "unknown-participant"
        # Excludes transactions that add reports: none of them may find the seat and then miss it.
        at = (_rounds.c.campaign == campaign) & (_rounds.c.number == seat.round)
        state = connection.execute(select(_rounds.c.state).where(at).with_for_update(key_share=True)).scalar_one()
        if state != "open":
            return "round-closed"
        mine = (_participants.c.campaign == campaign) & (_participants.c.number == seat.number)
        connection.execute(delete(_participants).where(mine))  # the report goes with it
        at = (_counts.c.campaign == campaign) & (_counts.c.round == seat.round)
        connection.execute(update(_counts).where(at).values(seated=_counts.c.seated - 1))
        number: int = seat.number
        return number


def seats_of(store: Store, campaign: str, secret_hashes: Sequence[str]) -> dict[str, StoredSeat]:
    """Return the seats of secrets, by secret; secrets without a seat are left out."""
    with store.reading_directly() as transaction:
        return _seats(transaction, campaign, secret_hashes)


def is_participant(store: Store, secret_hash: str) -> bool:
    """Return whether a secret has a seat in any campaign."""
    with store.reading() as connection:
        found = select(_participants.c.number).where(_participants.c.secret_hash == secret_hash).limit(1)
        return connection.execute(found).first() is not None


_CAMPAIGN = "SELECT state, enrolment, panel FROM campaigns WHERE id = :campaign"
_LOCK_CAMPAIGN = {"sqlite": _CAMPAIGN, "postgresql": f"{_CAMPAIGN} FOR NO KEY UPDATE"}
"""Locks a campaign like `campaigns.lock_campaign`, without reading its plan and terms."""
_OPEN = """
    SELECT rounds.number, rounds.policy_hash, rounds.size, seat_counts.seated FROM rounds
    JOIN seat_counts ON seat_counts.campaign = rounds.campaign AND seat_counts.round = rounds.number
    WHERE rounds.campaign = :campaign AND rounds.state = 'open'"""
_OPEN_ROUND = {"sqlite": _OPEN, "postgresql": _OPEN}
_SEATS = {
    "sqlite": f"""{AS_JSON}json_array(seat.secret_hash, seat.number, seat.round, rounds.policy_hash))
        FROM json_each(:secrets) AS one
        CROSS JOIN participants AS seat ON seat.secret_hash = one.value AND seat.campaign = :campaign
        CROSS JOIN rounds ON rounds.campaign = seat.campaign AND rounds.number = seat.round""",
    # LATERAL and OFFSET 0: for a join with a table that has no statistics yet, PostgreSQL would read the whole table.
    "postgresql": """
        SELECT one.secret, seat.number, seat.round,
            (SELECT policy_hash FROM rounds WHERE rounds.campaign = :campaign AND rounds.number = seat.round)
        FROM unnest(CAST(:secrets AS varchar[])) AS one(secret)
        CROSS JOIN LATERAL (SELECT number, round FROM participants
            WHERE secret_hash = one.secret AND campaign = :campaign OFFSET 0) AS seat""",
}
_COLUMNS = "INSERT INTO participants (campaign, number, secret_hash, round)"
_INSERT = {
    "sqlite": f"{_COLUMNS} SELECT :campaign, value ->> 0, value ->> 1, :round FROM json_each(:rows)",
    "postgresql": f"""{_COLUMNS}
        SELECT :campaign, number, secret, :round
        FROM unnest(CAST(:numbers AS bigint[]), CAST(:secrets AS varchar[])) AS one(number, secret)""",
}
_COUNT = "UPDATE seat_counts SET seated = seated + :more WHERE campaign = :campaign AND round = :round"
_COUNT_SEATS = {"sqlite": _COUNT, "postgresql": _COUNT}
_OF_INVITES = "FROM invites WHERE campaign = :campaign AND round = :round AND invite_hash"
_AMONG = {
    "sqlite": "IN (SELECT value FROM json_each(:hashes))",
    "postgresql": "= ANY(CAST(:hashes AS varchar[]))",
}
_UNUSED_INVITES = {dialect: f"SELECT invite_hash {_OF_INVITES} {among}" for dialect, among in _AMONG.items()}
_USE_INVITES = {dialect: f"DELETE {_OF_INVITES} {among}" for dialect, among in _AMONG.items()}


def _take_seats(transaction: DriverTransaction, campaign: str, claims: list[SeatClaim]) -> list[StoredSeat | NoSeat]:
    found = transaction.rows(_LOCK_CAMPAIGN, {"campaign": campaign})
    if not found:
        return ["not-found"] * len(claims)
    state, enrolment, panel = found[0]
    seats = _seats(transaction, campaign, [one.secret_hash for one in claims])
    closed: NoSeat | None = None if state == "open" else "paused" if state == "paused" else "wrong-state"
    current = transaction.rows(_OPEN_ROUND, {"campaign": campaign})
    number, policy_hash, size, seated = current[0] if current else (0, "", 0, 0)  # no round is open: no seat is free
    invited_to = number if panel else 0
    invites = _unused_invites(transaction, campaign, invited_to, claims) if enrolment == "invite" else None
    rows: list[tuple[int, str]] = []
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
        elif size is not None and seated + len(rows) >= size:
            result = "no-seat"
        else:
            new = StoredSeat(new_number(), number, policy_hash)
            result = seats[one.secret_hash] = new
            if invites is not None:
                used.append(str(one.invite_hash))
                invites.discard(used[-1])
            rows.append((new.participant, one.secret_hash))
        results.append(result)
    if rows:
        _insert(transaction, campaign, number, rows)
    if used:
        transaction.change(_USE_INVITES, {"campaign": campaign, "round": invited_to, "hashes": used})
    return results


def _insert(transaction: DriverTransaction, campaign: str, number: int, rows: list[tuple[int, str]]) -> None:
    rows.sort()  # by number, not in the order of the claims: where rows lie in the file tells nothing then
    given: dict[str, Any] = {"campaign": campaign, "round": number}
    if transaction.dialect == "sqlite":
        transaction.change(_INSERT, {**given, "rows": rows})
    else:
        numbers, secret_hashes = zip(*rows, strict=True)
        transaction.change(_INSERT, {**given, "numbers": list(numbers), "secrets": list(secret_hashes)})
    transaction.change(_COUNT_SEATS, {**given, "more": len(rows)})


def _seats(transaction: DriverTransaction, campaign: str, secret_hashes: Sequence[str]) -> dict[str, StoredSeat]:
    found = transaction.rows(_SEATS, {"campaign": campaign, "secrets": list(secret_hashes)})
    return {secret: StoredSeat(*seat) for secret, *seat in found}


def _unused_invites(transaction: DriverTransaction, campaign: str, number: int, claims: list[SeatClaim]) -> set[str]:
    shown = [one.invite_hash for one in claims if one.invite_hash is not None]
    found = transaction.rows(_UNUSED_INVITES, {"campaign": campaign, "round": number, "hashes": shown})
    return {invite_hash for (invite_hash,) in found}


def _invites_so_far(connection: Connection, campaign: str, panel: bool) -> int:
    """Count the invites, used or not; of a panel those to the first round, since each holds in every round."""
    found = 0
    for table in (schema.invites, _participants):
        mine = select(func.count()).where(table.c.campaign == campaign)
        found += connection.scalar(mine.where(table.c.round == 0) if panel else mine) or 0
    return found
