"""Store the selection of a campaign, once, and look up the state of each participant."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection, insert, select, update

from crowdveil.campaign.selection import Selection
from crowdveil.errors import InputError
from crowdveil.store import schema
from crowdveil.store.campaigns import lock_campaign
from crowdveil.store.database import Store
from crowdveil.vocabulary import ParticipantState

_campaigns, _chosen = schema.campaigns, schema.selections


def save_selection(store: Store, campaign: str, selection: Selection) -> Selection:
    """Store the selection of a closed campaign, which finishes it; if one is stored already, return that one."""
    with store.writing() as connection:
        row = lock_campaign(connection, campaign)
        if row.state == "finished":
            return _read(connection, campaign)
        if row.state != "closed":
            raise InputError("state", row.state, "should be closed before participants are selected")
        rows = [
            {"campaign": campaign, "rank": rank, "participant": who, "chance": chance}
            for rank, (who, chance) in enumerate(
                zip(selection.participants.tolist(), selection.chances.tolist(), strict=True)
            )
        ]
        if rows:
            connection.execute(insert(_chosen), rows)
        finished = {"state": "finished", "hits": selection.hits, "short": selection.short}
        connection.execute(update(_campaigns).where(_campaigns.c.id == campaign).values(finished))
    return selection


def selection_of(store: Store, campaign: str) -> Selection | None:
    """Return the selection of a finished campaign, or None."""
    with store.reading() as connection:
        state = connection.execute(select(_campaigns.c.state).where(_campaigns.c.id == campaign)).scalar()
        return _read(connection, campaign) if state == "finished" else None


def participant_state(store: Store, campaign: str, participant: int) -> ParticipantState | None:
    """Return whether a participant is seated, has reported or was selected; None for an unknown one."""
    people, reports = schema.participants.c, schema.reports.c
    with store.reading() as connection:
        state = connection.execute(
            select(_campaigns.c.state)
            .join(schema.participants, people.campaign == _campaigns.c.id)
            .where(_campaigns.c.id == campaign, people.number == participant)
        ).scalar()
        if state is None:
            return None
        if state == "finished":
            chosen = select(_chosen.c.rank).where(_chosen.c.campaign == campaign, _chosen.c.participant == participant)
            return "not-selected" if connection.execute(chosen).first() is None else "selected"
        sent = select(reports.round).where(reports.campaign == campaign, reports.participant == participant)
        return "seated" if connection.execute(sent).first() is None else "reported"


def _read(connection: Connection, campaign: str) -> Selection:
    hits, short = connection.execute(
        select(_campaigns.c.hits, _campaigns.c.short).where(_campaigns.c.id == campaign)
    ).one()
    columns = select(_chosen.c.participant, _chosen.c.chance).where(_chosen.c.campaign == campaign)
    rows = connection.execute(columns.order_by(_chosen.c.rank)).all()
    return Selection(
        np.array([row.participant for row in rows], dtype=np.int64),
        np.array([row.chance for row in rows], dtype=np.float64),
        hits,
        short,
    )
