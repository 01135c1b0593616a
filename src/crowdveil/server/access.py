"""Decide what an operator may do: one dependency for each kind of route, and nowhere else.

| may                                            | owner | planner                    | viewer           |
|------------------------------------------------|-------|----------------------------|------------------|
| see a campaign as counts, compute what to expect | all | own, and shared with them | the same          |
| create, edit drafts, start, pause, close, invite, select | all | own, and shared with them | no       |
| export who was selected, and the record        | all   | own, and shared with them  | no               |
| share and delete a campaign                    | all   | own                        | no               |
| see and revoke tokens                          | all   | own                        | own              |
| make tokens                                    | all   | own                        | no               |
| see, add, change and remove operators          | all   | no                         | no               |

A viewer exports neither the selection nor the record, because both have a row for every person.

The role is checked before the campaign, and a campaign that an operator does not see is found by the same query, and
answered with the same words, as one that does not exist.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, NamedTuple

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool

from crowdveil.server.rate_limit import is_loopback
from crowdveil.server.refusals import RequestRefused, refuse
from crowdveil.server.request_guard import address_of
from crowdveil.server.requests import Bearer, CampaignPath, ServicesOf
from crowdveil.server.services import Services
from crowdveil.server.tokens import known_token
from crowdveil.store import Campaign, ChangedBy, KnownToken, get_campaign, is_participant
from crowdveil.vocabulary import OperatorRole


class OnCampaign(NamedTuple):
    """A campaign, and the token of the operator who may do what was asked with it."""

    who: KnownToken
    campaign: Campaign


async def operator(request: Request, shown: Bearer, services: ServicesOf) -> KnownToken:
    """Return whose token came with the request, or refuse it."""
    found = await run_in_threadpool(known_token, services.store, shown)
    if found is None:  # only now: somebody else's wrong tokens never lock out who has the right one
        address = address_of(request.scope)
        if not services.failures.allows(address):
            raise refuse("too-many-requests", "too many wrong tokens came from this address; wait a minute")
        if not is_loopback(address):
            services.failures.count(address)
        participant = await run_in_threadpool(is_participant, services.store, shown)
        raise refuse("forbidden" if participant else "unauthorized")
    if found.has_expired(services.clock()):
        ended = datetime.fromtimestamp(found.expires or 0, UTC)
        raise refuse("unauthorized", f"this token expired on {ended:%Y-%m-%d at %H:%M} UTC; ask an owner for a new one")
    return found


AnyOperator = Annotated[KnownToken, Depends(operator)]


async def planner(who: AnyOperator) -> KnownToken:
    """Return an operator who may change something."""
    return _only(who, "owner", "planner")


async def owner(who: AnyOperator) -> KnownToken:
    """Return an operator who manages the others."""
    return _only(who, "owner")


PlannerOnly = Annotated[KnownToken, Depends(planner)]
OwnerOnly = Annotated[KnownToken, Depends(owner)]


async def seen(campaign: CampaignPath, who: AnyOperator, services: ServicesOf) -> OnCampaign:
    """Return a campaign that an operator may look at."""
    return await _find(services, campaign, who)


async def run(campaign: CampaignPath, who: PlannerOnly, services: ServicesOf) -> OnCampaign:
    """Return a campaign that an operator may change and export."""
    return await _find(services, campaign, who)


async def own(campaign: CampaignPath, who: PlannerOnly, services: ServicesOf) -> OnCampaign:
    """Return a campaign that an operator may share with others, or delete."""
    found = await _find(services, campaign, who)
    if who.role != "owner" and found.campaign.operator != who.operator:
        raise refuse("forbidden", f"campaign = {campaign!r}: only who created it, or an owner, may do this")
    return found


SeenCampaign = Annotated[OnCampaign, Depends(seen)]
RunCampaign = Annotated[OnCampaign, Depends(run)]
OwnCampaign = Annotated[OnCampaign, Depends(own)]


def sees(who: KnownToken) -> str | None:
    """Return whose campaigns to look for: an owner's are all (None)."""
    return None if who.role == "owner" else who.operator


def changed_by(services: Services, who: KnownToken) -> ChangedBy:
    """Return who changes something now, for the activity log."""
    return ChangedBy(who.operator, int(services.clock()))


def operator_not_found(name: str) -> RequestRefused:
    """Make the refusal for an operator who does not exist, or is not the business of whoever asks."""
    return refuse("not-found", f"operator = {name!r}: not found")


async def _find(services: Services, campaign: str, who: KnownToken) -> OnCampaign:
    found = await run_in_threadpool(get_campaign, services.store, campaign, seen_by=sees(who))
    if found is None:
        raise refuse("not-found", f"campaign = {campaign!r}: not found")
    return OnCampaign(who, found)


def _only(who: KnownToken, *roles: OperatorRole) -> KnownToken:
    if who.role not in roles:
        allowed = " and ".join(f"{one}s" for one in roles)
        raise refuse("forbidden", f"{who.operator!r} is {_A[who.role]}; only {allowed} may do this")
    return who


_A: dict[OperatorRole, str] = {"owner": "an owner", "planner": "a planner", "viewer": "a viewer"}
