"""Log what operators change, in the transaction of the change; rows are added and never changed.

Of participants the log has only how many: no number, no secret, no place.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, and_, insert, or_, select

from crowdveil.store import schema
from crowdveil.store.database import Store
from crowdveil.store.visible import visible
from crowdveil.vocabulary import ActivityAction

_activity, _campaigns = schema.activity, schema.campaigns


class ChangedBy(NamedTuple):
    """Who changes something, and when."""

    operator: str
    at: int
    """Seconds since 1970 (UTC)."""


class StoredActivity(NamedTuple):
    """One line of the log."""

    number: int
    at: int
    operator: str
    action: ActivityAction
    campaign: str | None
    detail: str


def write_activity(
    connection: Connection, by: ChangedBy, action: ActivityAction, campaign: str | None = None, detail: str = ""
) -> None:
    """Add a line to the log, in the caller's transaction."""
    row = {"at": by.at, "operator": by.operator, "action": action, "campaign": campaign, "detail": detail}
    connection.execute(insert(_activity).values(row))


def log_export(store: Store, by: ChangedBy, action: ActivityAction, campaign: str, detail: str = "") -> None:
    """Log that something was exported; whoever exports calls this first, so that nothing leaves unlogged."""
    with store.writing() as connection:
        write_activity(connection, by, action, campaign, detail)


def list_activity(
    store: Store, *, at_most: int, before: int | None = None, seen_by: str | None = None, since: int = 0
) -> list[StoredActivity]:
    """Return lines of the log, the newest first, from the one before a number on.

    Who is named in `seen_by` sees what they did themselves, from the time `since` on (an earlier operator may have had
    the same name), and what was done in campaigns that they may see, from their creation on (an earlier draft may have
    had the same id).
    """
    rows = select(*(_activity.c[name] for name in StoredActivity._fields))
    if before is not None:
        rows = rows.where(_activity.c.number < before)
    if seen_by is not None:
        own = and_(_activity.c.operator == seen_by, _activity.c.at >= since)
        created = select(_campaigns.c.created).where(_campaigns.c.id == _activity.c.campaign).scalar_subquery()
        theirs = and_(visible(_activity.c.campaign, seen_by), _activity.c.at >= created)
        rows = rows.where(or_(own, theirs))
    with store.reading() as connection:
        found = connection.execute(rows.order_by(_activity.c.number.desc()).limit(at_most))
        return [StoredActivity(*row) for row in found]
