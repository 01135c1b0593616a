"""Store campaigns and their states.

draft ──→ open ⇄ paused
            └──┬──┘
            closed ──→ finished      (by `save_selection`, or of a panel by `finish_panel`)

The plan of a draft may be replaced. Drafts and finished campaigns may be deleted (`deletion`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from crowdveil.errors import InputError
from crowdveil.store import schema
from crowdveil.store.activity import ChangedBy, write_activity
from crowdveil.store.database import Store
from crowdveil.store.visible import visible
from crowdveil.vocabulary import ActivityAction, CampaignState

BEFORE: dict[CampaignState, tuple[CampaignState, ...]] = {
    "open": ("draft", "paused"),
    "paused": ("open",),
    "closed": ("open", "paused"),
}
"""The states from which an operator may change to each state."""
LOGGED: dict[CampaignState, ActivityAction] = {
    "open": "campaign-started",
    "paused": "campaign-paused",
    "closed": "campaign-closed",
}


class Campaign(NamedTuple):
    """A campaign as it is stored; the store does not read the plan."""

    id: str
    plan: str
    """The campaign plan as JSON, exactly as it was sent."""
    terms: str
    """The announced terms as JSON; they never change once the campaign was started."""
    state: CampaignState
    enrolment: Literal["open", "invite"]
    offer: str
    seed: str
    """256 bits in hex; `terms` has its hash, the audit record the seed itself."""
    created: int
    """Seconds since 1970 (UTC)."""
    panel: bool
    """Whether the reports serve any number of selections."""
    operator: str | None = None
    """Who created it; None once that operator was removed."""
    failure: str | None = None
    """Why the last step that was due could not be done; None once it was."""
    finished: int | None = None
    """When it was finished, in seconds since 1970 (UTC); None before."""


_COLUMNS = [schema.campaigns.c[name] for name in Campaign._fields]


def signing_key(store: Store, new: str) -> str:
    """Return the private key of this database's server; where there is none yet, it is `new` from now on."""
    table = schema.signing_keys
    with store.writing() as connection:
        connection.execute(store.insert(table).values(id=1, private_key=new).on_conflict_do_nothing())
        found: str = connection.execute(select(table.c.private_key)).scalar_one()
        return found


def create_campaign(
    store: Store,
    campaign: str,
    plan: str,
    *,
    terms: str,
    offer: str,
    seed: str,
    created: int,
    enrolment: Literal["open", "invite"] = "open",
    panel: bool = False,
    operator: str | None = None,
) -> Campaign:
    """Store a new campaign as a draft, for the operator who creates it."""
    new = Campaign(campaign, plan, terms, "draft", enrolment, offer, seed, created, panel, operator)
    with store.writing() as connection:
        existing = connection.execute(select(schema.campaigns.c.id).where(schema.campaigns.c.id == campaign)).first()
        if existing is not None:
            raise InputError("campaign", campaign, "is already used by another campaign; choose another id")
        retired = select(schema.retired_campaigns.c.id).where(schema.retired_campaigns.c.id == campaign)
        if connection.execute(retired).first() is not None:
            expected = "belonged to a campaign that was deleted, whose answers phones remember; choose another id"
            raise InputError("campaign", campaign, expected)
        connection.execute(insert(schema.campaigns).values(new._asdict()))
        if operator is not None:
            write_activity(connection, ChangedBy(operator, created), "campaign-created", campaign)
    return new


def replace_plan(
    store: Store,
    campaign: str,
    plan: str,
    *,
    terms: str,
    offer: str,
    seed: str,
    enrolment: Literal["open", "invite"],
    panel: bool,
    by: ChangedBy,
) -> tuple[Campaign, int]:
    """Replace the plan of a draft, and return how many invites were deleted: they name the old terms.

    The plan that it has changes nothing. Other terms delete all invites, and the same terms none.
    """
    table, invites = schema.campaigns, schema.invites
    with store.writing() as connection:
        now = lock_campaign(connection, campaign)
        if now.state != "draft":
            raise InputError("state", now.state, "should be draft: once a campaign was started, its plan is fixed")
        if now.plan == plan:
            return now, 0
        deleted = 0
        if now.terms != terms:
            mine = invites.c.campaign == campaign
            first = select(func.count()).select_from(invites).where(mine, invites.c.round == 0)
            deleted = connection.execute(first).scalar_one()  # to a panel there is one for each round
            connection.execute(delete(invites).where(mine))
        new = now._replace(plan=plan, terms=terms, offer=offer, seed=seed, enrolment=enrolment, panel=panel)
        connection.execute(update(table).where(table.c.id == campaign).values(new._asdict()))
        write_activity(connection, by, "plan-replaced", campaign, f"{deleted:,} invites deleted" if deleted else "")
        return new, deleted


def get_campaign(store: Store, campaign: str, *, seen_by: str | None = None) -> Campaign | None:
    """Return a campaign, or None if it does not exist, or the operator named by `seen_by` does not see it."""
    id_column = schema.campaigns.c.id
    with store.reading() as connection:
        rows = select(*_COLUMNS).where(id_column == campaign, visible(id_column, seen_by))
        row = connection.execute(rows).first()
        return None if row is None else Campaign(*row)


def list_campaigns(store: Store, *, seen_by: str | None = None) -> list[Campaign]:
    """Return all campaigns, or those that an operator sees, oldest first."""
    order = (schema.campaigns.c.created, schema.campaigns.c.id)
    rows = select(*_COLUMNS).where(visible(schema.campaigns.c.id, seen_by)).order_by(*order)
    with store.reading() as connection:
        return [Campaign(*row) for row in connection.execute(rows)]


def set_state(store: Store, campaign: str, state: CampaignState, by: ChangedBy | None = None) -> Campaign:
    """Open, pause or close a campaign; its current state is accepted and changes nothing.

    `by` is the operator who does it, and None for the scheduler.
    """
    if state not in BEFORE:
        raise InputError("state", state, f"should be one of {', '.join(BEFORE)}")
    with store.writing() as connection:
        now = lock_campaign(connection, campaign)
        if now.state == state:
            return now
        if now.state not in BEFORE[state]:
            raise InputError("state", now.state, f"should be {' or '.join(BEFORE[state])} before it can become {state}")
        if state == "closed":
            _check_no_open_round(connection, campaign)
        table = schema.campaigns
        connection.execute(update(table).where(table.c.id == campaign).values(state=state))
        if by is not None:
            write_activity(connection, by, LOGGED[state], campaign, f"was {now.state}")
        return now._replace(state=state)


def set_failure(store: Store, campaign: str, failure: str | None) -> None:
    """Record why the step that is due could not be done, or that it was."""
    table = schema.campaigns
    with store.writing() as connection:
        connection.execute(update(table).where(table.c.id == campaign).values(failure=failure))


def finish_panel(store: Store, campaign: str, *, at: int) -> Campaign:
    """Finish a closed panel: nobody answers any more; selections from its answers go on. The first time counts."""
    with store.writing() as connection:
        now = lock_campaign(connection, campaign)
        if not now.panel or now.state not in ("closed", "finished"):
            raise InputError("state", now.state, "should be closed, and the campaign a panel")
        if now.state == "finished":
            return now
        table = schema.campaigns
        connection.execute(update(table).where(table.c.id == campaign).values(state="finished", finished=at))
        return now._replace(state="finished", finished=at)


def lock_campaign(connection: Connection, campaign: str) -> Campaign:
    """Return a campaign, locked until the transaction ends against state changes, new rounds and new seats.

    Reports do not wait for this lock (FOR NO KEY UPDATE). SQLite has a single lock, which every writer holds already.
    """
    where = select(*_COLUMNS).where(schema.campaigns.c.id == campaign).with_for_update(key_share=True)
    row = connection.execute(where).first()
    if row is None:
        raise InputError("campaign", campaign, "was not found")
    return Campaign(*row)


def _check_no_open_round(connection: Connection, campaign: str) -> None:
    """Delete a round whose policy is still being made; refuse if a round with participants is open."""
    table = schema.rounds
    mine = table.c.campaign == campaign
    connection.execute(delete(table).where(mine, table.c.state == "opening"))
    number = connection.execute(select(table.c.number).where(mine, table.c.state == "open")).scalar()
    if number is not None:
        raise InputError("round", number, "is still open; should be closed before the campaign")
