"""Say which campaigns an operator sees: those they created, and those that were shared with them."""

from __future__ import annotations

from sqlalchemy import ColumnElement, select, true

from crowdveil.store import schema

_campaigns, _shares = schema.campaigns, schema.campaign_shares


def visible(campaign: ColumnElement[str], operator: str | None) -> ColumnElement[bool]:
    """Return the condition that an operator sees a campaign, by the column of its id; None is an owner, who sees all.

    One condition of the query that looks for the campaign: one that is not theirs takes as long as one that is nowhere.
    """
    if operator is None:
        return true()
    created = select(_campaigns.c.id).where(_campaigns.c.operator == operator)
    shared = select(_shares.c.campaign).where(_shares.c.operator == operator)
    return campaign.in_(created.union_all(shared))
