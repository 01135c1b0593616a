"""Campaigns and those who run them.

draft ──→ open ⇄ paused
            └──┬──┘
            closed ──→ finished      (by `save_selection` alone)
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from crowdveil.errors import InputError
from crowdveil.store import schema
from crowdveil.store.database import Store
from crowdveil.vocabulary import CampaignState

BEFORE: dict[CampaignState, tuple[CampaignState, ...]] = {
    "open": ("draft", "paused"),
    "paused": ("open",),
    "closed": ("open", "paused"),
}
"""From which states an operator gets where."""


class Campaign(NamedTuple):
    """A campaign as it is kept; what the plan says is the caller's business."""

    id: str
    plan: str
    """JSON, exactly as it was given."""
    state: CampaignState
    enrolment: Literal["open", "invite"]
    offer: str
    seed: int
    created: int
    """Seconds since 1970 (UTC)."""


_COLUMNS = [schema.campaigns.c[name] for name in Campaign._fields]


def add_operator(store: Store, name: str, token_hash: str) -> None:
    """Let someone run campaigns; a name that is there gets the new token."""
    row = store.insert(schema.operators).values(name=name, token_hash=token_hash)
    with store.writing() as connection:
        connection.execute(row.on_conflict_do_update(index_elements=["name"], set_={"token_hash": token_hash}))


def operators(store: Store) -> dict[str, str]:
    """Hash of each operator's token, by name; compare in constant time."""
    with store.reading() as connection:
        found = connection.execute(select(schema.operators.c.name, schema.operators.c.token_hash))
        return {row.name: row.token_hash for row in found}


def create_campaign(
    store: Store,
    campaign: str,
    plan: str,
    *,
    offer: str,
    seed: int,
    created: int,
    enrolment: Literal["open", "invite"] = "open",
) -> Campaign:
    """Keep a new campaign, as a draft."""
    made = Campaign(campaign, plan, "draft", enrolment, offer, seed, created)
    with store.writing() as connection:
        there = connection.execute(select(schema.campaigns.c.id).where(schema.campaigns.c.id == campaign)).first()
        if there is not None:
            raise InputError("campaign", campaign, "is taken; choose another name")
        connection.execute(insert(schema.campaigns).values(made._asdict()))
    return made


def get_campaign(store: Store, campaign: str) -> Campaign | None:
    """A campaign, or None."""
    with store.reading() as connection:
        row = connection.execute(select(*_COLUMNS).where(schema.campaigns.c.id == campaign)).first()
        return None if row is None else Campaign(*row)


def list_campaigns(store: Store) -> list[Campaign]:
    """All campaigns, the oldest first."""
    order = (schema.campaigns.c.created, schema.campaigns.c.id)
    with store.reading() as connection:
        return [Campaign(*row) for row in connection.execute(select(*_COLUMNS).order_by(*order))]


def set_state(store: Store, campaign: str, state: CampaignState) -> Campaign:
    """Open, pause or close a campaign; asking for the state it is in changes nothing."""
    if state not in BEFORE:
        raise InputError("state", state, f"should be one of {', '.join(BEFORE)}")
    with store.writing() as connection:
        now = lock_campaign(connection, campaign)
        if now.state == state:
            return now
        if now.state not in BEFORE[state]:
            raise InputError("state", now.state, f"a campaign becomes {state} when it is {' or '.join(BEFORE[state])}")
        if state == "closed":
            _leave_no_round(connection, campaign)
        table = schema.campaigns
        connection.execute(update(table).where(table.c.id == campaign).values(state=state))
        return now._replace(state=state)


def lock_campaign(connection: Connection, campaign: str) -> Campaign:
    """A campaign, which nobody else changes, opens a round of, or seats someone in until this transaction ends.

    Reports do not wait for this lock (FOR NO KEY UPDATE); SQLite has one lock for everything, which is held already.
    """
    where = select(*_COLUMNS).where(schema.campaigns.c.id == campaign).with_for_update(key_share=True)
    row = connection.execute(where).first()
    if row is None:
        raise InputError("campaign", campaign, "there is no such campaign")
    return Campaign(*row)


def _leave_no_round(connection: Connection, campaign: str) -> None:
    """A policy that is still being made is no longer wanted; a round with participants must be closed and counted."""
    table = schema.rounds
    mine = table.c.campaign == campaign
    connection.execute(delete(table).where(mine, table.c.state == "opening"))
    number = connection.execute(select(table.c.number).where(mine, table.c.state == "open")).scalar()
    if number is not None:
        raise InputError("round", number, "is still open; close it before the campaign")
