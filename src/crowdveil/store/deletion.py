"""Delete campaigns: drafts, and finished ones with everything that came of them; the activity log stays.

Devices remember their answers by the campaign's id and the number of the round. So the id of a campaign that was
started is retired, and the id of a draft is free again. The database lets rows of a campaign go only once its id is
retired, and retires it only once the campaign is finished.
"""

from __future__ import annotations

from sqlalchemy import Connection, Table, delete, insert, select

from crowdveil.errors import InputError
from crowdveil.store import schema
from crowdveil.store.activity import ChangedBy, write_activity
from crowdveil.store.campaigns import lock_campaign
from crowdveil.store.database import Store
from crowdveil.vocabulary import CampaignState

HOW_TO_DELETE: dict[CampaignState, str] = {
    "open": "should be draft or finished; close the campaign first",
    "paused": "should be draft or finished; close the campaign first",
    "closed": "should be draft or finished; it will be finished in a moment",
}
"""What would be right, in each state in which a campaign is not deleted."""
_TABLES: tuple[Table, ...] = (
    schema.selected,
    schema.selections,
    schema.participants,  # the reports go with them
    schema.seat_counts,
    schema.refusals,
    schema.estimates,
    schema.rounds,
    schema.invites,
    schema.campaign_shares,
)
"""All that is stored of a campaign, each table before those that it refers to."""


def delete_campaign(store: Store, campaign: str, by: ChangedBy | None = None) -> None:
    """Delete a draft or a finished campaign, and all that is stored of it; what operators did stays in the log.

    `by` is the operator who does it, and None for the scheduler.
    """
    with store.writing() as connection:
        now = lock_campaign(connection, campaign)
        if now.state in HOW_TO_DELETE:
            raise InputError("state", now.state, HOW_TO_DELETE[now.state])
        if now.state == "finished":
            _lock_rounds(connection, campaign)
            connection.execute(insert(schema.retired_campaigns).values(id=campaign))
        for table in _TABLES:
            connection.execute(delete(table).where(table.c.campaign == campaign))
        connection.execute(delete(schema.campaigns).where(schema.campaigns.c.id == campaign))
        if by is not None:
            write_activity(connection, by, "campaign-deleted", campaign, f"was {now.state}")


def _lock_rounds(connection: Connection, campaign: str) -> None:
    """Wait for transactions that count refusals in a round; those that come later find no seat there."""
    rounds = schema.rounds.c
    connection.execute(
        select(rounds.number).where(rounds.campaign == campaign).order_by(rounds.number).with_for_update()
    )
