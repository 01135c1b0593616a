"""Store selections, each once, and look up the state of each participant.

A campaign that is asked once has one selection, which finishes it. A panel has any number, made one after another: the
number of the next one is claimed with its insertion, under the campaign's lock, so that of two servers that select at
the same moment one is told to look again at who was chosen meanwhile.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Row, func, insert, select, update

from crowdveil.arrays import IntArray
from crowdveil.campaign.selection import Selection
from crowdveil.errors import InputError
from crowdveil.store import schema
from crowdveil.store.activity import ChangedBy, write_activity
from crowdveil.store.campaigns import lock_campaign
from crowdveil.store.database import Store
from crowdveil.vocabulary import ParticipantState

_campaigns, _selections, _selected = schema.campaigns, schema.selections, schema.selected


class StoredSelection(NamedTuple):
    """A selection without its people."""

    number: int
    request: str | None
    """What was asked of a panel, as JSON; None: what the plan asks for."""
    made: int
    """Seconds since 1970 (UTC)."""
    rounds: int
    """How many rounds were closed then."""
    people: int
    missing: tuple[int, ...]
    """How many fewer were selected than wanted, target by target or in all."""


class SelectedBy(NamedTuple):
    """What selections used a participant's report, and which of them chose the participant."""

    state: ParticipantState
    selections: int
    chosen: tuple[int, ...]


def save_selection(
    store: Store,
    campaign: str,
    selection: Selection,
    *,
    rounds: int,
    number: int = 0,
    request: str | None = None,
    made: int = 0,
    by: ChangedBy | None = None,
) -> StoredSelection:
    """Store a selection; if the same request is stored under the number already, return that one.

    Without a request it is the only one of a closed campaign, which it finishes.
    """
    with store.writing() as connection:
        row = lock_campaign(connection, campaign)
        stored = _header(connection, campaign, number)
        if stored is not None:
            if stored.request != request:
                raise InputError("number", number, "is the number of another selection already; take the next one")
            return stored
        if row.panel != (request is not None):
            raise InputError("request", request, "should be given for a panel, and only there")
        allowed = ("open", "paused", "closed", "finished") if row.panel else ("closed",)
        if row.state not in allowed:
            expected = f"should be {' or '.join(allowed)} when participants are selected"
            raise InputError("state", row.state, expected)
        made_before = _count(connection, campaign)
        if number != made_before:
            raise InputError("number", number, f"should be {made_before}, the next one")
        before = _header(connection, campaign, number - 1)
        if before is not None and (made < before.made or rounds < before.rounds):
            expected = f"should be at least {before.made} and {before.rounds}, as in the selection before"
            raise InputError("state", f"made at {made} from {rounds} rounds", expected)
        header = StoredSelection(number, request, made, rounds, len(selection), selection.missing)
        fields = header._asdict() | {"missing": json.dumps(selection.missing, separators=(",", ":"))}
        connection.execute(insert(_selections).values(campaign=campaign, **fields))
        _insert_people(connection, campaign, number, selection)
        if by is not None:
            detail = f"selection {number + 1}: {len(selection)} people"
            write_activity(connection, by, "selection-made", campaign, detail)
        if not row.panel:
            finished = {"state": "finished", "finished": made}
            connection.execute(update(_campaigns).where(_campaigns.c.id == campaign).values(finished))
    return header


def selections_of(store: Store, campaign: str) -> list[StoredSelection]:
    """Return all selections of a campaign, in the order in which they were made."""
    mine = select(_selections).where(_selections.c.campaign == campaign).order_by(_selections.c.number)
    with store.reading() as connection:
        return [_stored(row) for row in connection.execute(mine)]


def selection_of(store: Store, campaign: str, number: int = 0) -> Selection | None:
    """Return a selection with its people, or None if it was not made."""
    with store.reading() as connection:
        header = _header(connection, campaign, number)
        if header is None:
            return None
        columns = select(_selected.c.participant, _selected.c.target, _selected.c.chance, _selected.c.chosen)
        mine = columns.where(_selected.c.campaign == campaign, _selected.c.selection == number)
        rows = connection.execute(mine.order_by(_selected.c.rank)).all()
    return Selection(
        np.array([row.participant for row in rows], dtype=np.int64),
        np.array([row.chance for row in rows], dtype=np.float64),
        np.array([row.target for row in rows], dtype=np.int64),
        np.array([row.chosen == "symbol" for row in rows], dtype=bool),
        header.missing,
    )


def people_chosen(store: Store, campaign: str) -> list[tuple[int, IntArray]]:
    """Return when each selection was made, and whom it chose, in the order in which they were made."""
    columns = select(_selected.c.selection, _selected.c.participant).where(_selected.c.campaign == campaign)
    times = [one.made for one in selections_of(store, campaign)]
    with store.reading() as connection:
        rows = connection.execute(columns.order_by(_selected.c.selection, _selected.c.rank))
        flat = np.fromiter((value for row in rows for value in row), dtype=np.int64).reshape(-1, 2)
    return [(made, flat[flat[:, 0] == number, 1]) for number, made in enumerate(times)]


def participant_state(store: Store, campaign: str, participant: int) -> SelectedBy | None:
    """Return whether a participant is seated, has reported or was selected, and by what; None for an unknown one."""
    people, reports = schema.participants.c, schema.reports.c
    with store.reading() as connection:
        found = connection.execute(
            select(_campaigns.c.state, _campaigns.c.panel, people.round)
            .join(schema.participants, people.campaign == _campaigns.c.id)
            .where(_campaigns.c.id == campaign, people.number == participant)
        ).first()
        if found is None:
            return None
        sent = select(reports.round).where(reports.campaign == campaign, reports.participant == participant)
        if connection.execute(sent).first() is None:
            return SelectedBy("not-selected" if found.state == "finished" else "seated", 0, ())
        mine = (_selections.c.campaign == campaign) & (_selections.c.rounds > found.round)
        renewed = _renewed_in(connection, campaign, found.round) if found.panel else None
        if renewed is not None:
            mine &= _selections.c.rounds <= renewed
        used = connection.execute(select(func.count()).select_from(_selections).where(mine)).scalar_one()
        chosen = select(_selected.c.selection).where(
            _selected.c.campaign == campaign, _selected.c.participant == participant
        )
        numbers = tuple(connection.execute(chosen.order_by(_selected.c.selection)).scalars())
        if numbers:
            return SelectedBy("selected", used, numbers)
        over = found.state == "finished" and not found.panel  # a panel's answers can always be used again
        return SelectedBy("not-selected" if over else "reported", used, ())


def _renewed_in(connection: Connection, campaign: str, number: int) -> int | None:
    """Return the first closed round after one in which anyone reported, from which on its answers are used instead."""
    rounds = schema.rounds.c
    later = select(rounds.number, rounds.counts, rounds.nulls).where(
        rounds.campaign == campaign, rounds.number > number, rounds.state == "closed"
    )
    for one in connection.execute(later.order_by(rounds.number)):
        if one.nulls or any(json.loads(one.counts)):
            return int(one.number)
    return None


def _insert_people(connection: Connection, campaign: str, number: int, selection: Selection) -> None:
    columns = (selection.participants, selection.targets, selection.chances)
    people = zip(*(one.tolist() for one in columns), selection.chosen, strict=True)
    rows = [
        {
            "campaign": campaign,
            "selection": number,
            "rank": rank,
            "participant": who,
            "target": target,
            "chance": chance,
            "chosen": how,
        }
        for rank, (who, target, chance, how) in enumerate(people)
    ]
    if rows:
        connection.execute(insert(_selected), rows)


def _header(connection: Connection, campaign: str, number: int) -> StoredSelection | None:
    where = (_selections.c.campaign == campaign) & (_selections.c.number == number)
    row = connection.execute(select(_selections).where(where)).first()
    return None if row is None else _stored(row)


def _count(connection: Connection, campaign: str) -> int:
    mine = select(func.count()).select_from(_selections).where(_selections.c.campaign == campaign)
    return connection.execute(mine).scalar_one()


def _stored(row: Row[Any]) -> StoredSelection:
    missing = tuple(json.loads(row.missing))
    return StoredSelection(row.number, row.request, row.made, row.rounds, row.people, missing)
