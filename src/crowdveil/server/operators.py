"""Serve operators: create, edit, preview, start, watch, pause, close, invite, delete."""

from __future__ import annotations

import secrets
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.campaign.from_wire import NO_SEED, plan_from_wire
from crowdveil.campaign.next_policy import check_plan_size
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.server.access import (
    AnyOperator,
    OnCampaign,
    OwnCampaign,
    PlannerOnly,
    RunCampaign,
    SeenCampaign,
    changed_by,
    sees,
)
from crowdveil.server.areas import make_area, shape_of
from crowdveil.server.logs import log
from crowdveil.server.refusals import refuse, refuse_change, refuse_input
from crowdveil.server.requests import (
    BEARER,
    OPERATOR_PROBLEMS,
    CampaignPath,
    ServicesOf,
    body_of,
    problems,
    read,
    send,
)
from crowdveil.server.services import Services, read_plan
from crowdveil.server.terms import check_default_limits, make_terms, read_terms
from crowdveil.server.views import campaign_view
from crowdveil.store import (
    Campaign,
    ChangedBy,
    KnownToken,
    add_invites,
    close_round,
    create_campaign,
    delete_campaign,
    estimates_of,
    get_campaign,
    list_campaigns,
    replace_plan,
    rounds_of,
    set_state,
)
from crowdveil.vocabulary import CampaignState
from crowdveil.wire import (
    PROTOCOL,
    AreaRequest,
    AreaShape,
    CampaignList,
    CampaignPlan,
    CampaignSummary,
    CampaignView,
    Estimates,
    InviteRequest,
    Invites,
    Preview,
    ReplacedPlan,
    RoundEstimate,
    StateChange,
    Terms,
    secret_digest,
)
from crowdveil.wire.operator import INVITES_PER_PERSON

routes = APIRouter(prefix="/v1/operator", tags=["operators"])
SEED_BYTES = 32
CLOSING_ATTEMPTS = 5
"""Closing a campaign is tried again when the scheduler opens the next round at the same moment."""


@routes.get("/campaigns", response_model=CampaignList, openapi_extra=BEARER, responses=problems(*OPERATOR_PROBLEMS))
async def campaigns(who: AnyOperator, services: ServicesOf) -> Response:
    """List the campaigns that an operator sees, oldest first."""
    found = await run_in_threadpool(list_campaigns, services.store, seen_by=sees(who))
    rows = (
        CampaignSummary(
            campaign=one.id,
            name=read_plan(one.plan).name,
            state=one.state,
            panel=one.panel,
            created=one.created,
            operator=one.operator,
            failure=one.failure,
        )
        for one in found
    )
    return send(CampaignList(protocol=PROTOCOL, campaigns=tuple(rows)))


@routes.put(
    "/campaigns/{campaign}",
    response_model=CampaignView,
    openapi_extra={**body_of(CampaignPlan), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "wrong-state", "unsupported-media-type"),
)
async def create(campaign: CampaignPath, request: Request, who: PlannerOnly, services: ServicesOf) -> Response:
    """Store a campaign as a draft. The same request again changes nothing; an existing campaign is never replaced."""
    new = await read(request, CampaignPlan)
    created = await run_in_threadpool(_create, services, campaign, new, who)
    log().info("campaign-created", extra={"campaign": campaign, "operator": who.operator})
    return send(created)


@routes.get(
    "/campaigns/{campaign}",
    response_model=CampaignView,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found"),
)
async def view(on: SeenCampaign, services: ServicesOf) -> Response:
    """Show a campaign, its rounds and the current estimate."""
    return send(await run_in_threadpool(campaign_view, services, on.campaign, on.who.role))


@routes.put(
    "/campaigns/{campaign}/plan",
    response_model=ReplacedPlan,
    openapi_extra={**body_of(CampaignPlan), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "not-found", "wrong-state", "unsupported-media-type"),
)
async def edit(request: Request, on: RunCampaign, services: ServicesOf) -> Response:
    """Replace the plan of a draft; invites that name other terms are deleted. The same plan changes nothing."""
    new = await read(request, CampaignPlan)
    replaced = await run_in_threadpool(_edit, services, on, new)
    log().info("plan-replaced", extra={"campaign": on.campaign.id, "operator": on.who.operator})
    return send(replaced)


@routes.delete(
    "/campaigns/{campaign}",
    status_code=204,
    response_class=Response,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found", "wrong-state"),
)
async def delete(on: OwnCampaign, services: ServicesOf) -> Response:
    """Delete a draft, whose id is free then, or a finished campaign with all that is stored of it, whose id is not."""
    await run_in_threadpool(_delete, services, on)
    services.forget(on.campaign.id)
    log().info("campaign-deleted", extra={"campaign": on.campaign.id, "operator": on.who.operator})
    return Response(status_code=204)


@routes.put(
    "/campaigns/{campaign}/state",
    response_model=CampaignView,
    openapi_extra={**body_of(StateChange), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "not-found", "wrong-state", "unsupported-media-type"),
)
async def change_state(request: Request, on: RunCampaign, services: ServicesOf) -> Response:
    """Start or resume a campaign (open), pause it, or close it, which counts its open round and selects."""
    body, campaign = await read(request, StateChange), on.campaign.id
    changed = await run_in_threadpool(_change_state, services, campaign, body.state, changed_by(services, on.who))
    services.drop_announcement(campaign)
    services.wake()
    log().info("campaign-state-changed", extra={"campaign": campaign, "state": body.state, "operator": on.who.operator})
    return send(changed)


@routes.post(
    "/campaigns/{campaign}/invites",
    response_model=Invites,
    openapi_extra={**body_of(InviteRequest), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "not-found", "wrong-state", "unsupported-media-type"),
)
async def invite(request: Request, on: RunCampaign, services: ServicesOf) -> Response:
    """Make invites, each for one device; they cannot be shown again."""
    body = await read(request, InviteRequest)
    invites = tuple(secrets.token_urlsafe(16) for _ in range(body.count))
    await run_in_threadpool(_add_invites, services, on.campaign, invites, changed_by(services, on.who))
    log().info("invites-created", extra={"campaign": on.campaign.id, "count": body.count, "operator": on.who.operator})
    terms = read_terms(on.campaign.terms)
    policy_hash = await run_in_threadpool(_only_policy, services, on.campaign)
    return send(
        Invites(
            protocol=PROTOCOL,
            invites=invites,
            server_key=terms.server_key,
            terms_hash=terms.hash,
            policy_hash=policy_hash,
        )
    )


@routes.post(
    "/preview",
    response_model=Preview,
    openapi_extra={**body_of(CampaignPlan), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "unsupported-media-type"),
)
async def preview(
    request: Request, _: AnyOperator, services: ServicesOf, curves: Annotated[Literal["yes", "no"], Query()] = "yes"
) -> Response:
    """Compute what to expect of a campaign; nothing is stored. Without the curves it is many times faster."""
    new = await read(request, CampaignPlan)
    await run_in_threadpool(_check_plan, new)
    if new.panel:
        expected = "has no selection of its own; create the panel, and ask what to expect of a selection"
        raise refuse_input(InputError("panel", True, expected))
    return send(await services.previews.of(new, request.is_disconnected, curves=curves == "yes"))


@routes.post(
    "/area",
    response_model=AreaShape,
    openapi_extra={**body_of(AreaRequest), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "unsupported-media-type"),
)
async def area(request: Request, _: AnyOperator) -> Response:
    """Make an area, with the corners of its cells for a map; nothing is stored."""
    body = await read(request, AreaRequest)
    return send(await run_in_threadpool(_shape, body))


@routes.get(
    "/campaigns/{campaign}/estimates",
    response_model=Estimates,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found"),
)
async def estimates(on: SeenCampaign, services: ServicesOf) -> Response:
    """Return the estimates of where people are, round by round."""
    found = await run_in_threadpool(estimates_of, services.store, on.campaign.id)
    rows = (
        RoundEstimate(
            round=number,
            prior=one.prior,
            grade_shares=one.grade_shares,
            outside_share=one.outside_share,
            expected_coverage=one.expected_coverage,
        )
        for number, one in found.items()
    )
    return send(Estimates(protocol=PROTOCOL, rounds=tuple(rows)))


# --- run in a thread ------------------------------------------------------------------------------------------


def _add_invites(services: Services, campaign: Campaign, invites: tuple[str, ...], by: ChangedBy) -> None:
    plan = read_plan(campaign.plan)
    at_most = INVITES_PER_PERSON * plan.users
    hashes = [secret_digest(one) for one in invites]
    rounds = plan.rounds if plan.panel else 1
    try:
        exist = add_invites(
            services.store, campaign.id, hashes, at_most=at_most, rounds=rounds, terms=campaign.terms, by=by
        )
    except InputError as error:
        raise refuse_change(error) from None
    if exist is not None:
        expected = (
            f"should be at most {max(0, at_most - exist):,}: {INVITES_PER_PERSON} for each person who may take part, "
            f"of which {exist:,} exist"
        )
        raise refuse_input(InputError("count", len(invites), expected))


def _check_plan(new: CampaignPlan) -> None:
    try:
        check_plan_size(plan_from_wire(new, new.seed or NO_SEED))
    except InputError as error:
        raise refuse_input(error) from None
    except CrowdveilError as error:
        raise refuse("invalid", str(error)) from None


def _shape(request: AreaRequest) -> AreaShape:
    try:
        return shape_of(make_area(request))
    except InputError as error:
        raise refuse_input(error) from None
    except CrowdveilError as error:
        raise refuse("invalid", str(error)) from None


def _create(services: Services, campaign: str, new: CampaignPlan, who: KnownToken) -> CampaignView:
    text = new.to_bytes().decode("ascii")
    seed = secrets.token_hex(SEED_BYTES) if new.seed is None else new.seed
    created = int(services.clock())
    terms = _checked_terms(services, campaign, new, seed)
    try:
        stored = create_campaign(
            services.store,
            campaign,
            text,
            terms=terms.to_bytes().decode("ascii"),
            offer=new.offer,
            seed=seed,
            created=created,
            enrolment=new.enrolment,
            panel=new.panel,
            operator=who.operator,
        )
    except InputError as error:
        existing = get_campaign(services.store, campaign, seen_by=sees(who))
        if existing is None or existing.plan != text:
            raise refuse_input(error, "wrong-state") from None
        stored = existing
    return campaign_view(services, stored)


def _edit(services: Services, on: OnCampaign, new: CampaignPlan) -> ReplacedPlan:
    old = on.campaign
    # A seed that the operator named is known to the operator, and gone with the plan that named it.
    seed = new.seed or (old.seed if read_plan(old.plan).seed is None else secrets.token_hex(SEED_BYTES))
    terms = _checked_terms(services, old.id, new, seed)
    try:
        stored, deleted = replace_plan(
            services.store,
            old.id,
            new.to_bytes().decode("ascii"),
            terms=terms.to_bytes().decode("ascii"),
            offer=new.offer,
            seed=seed,
            enrolment=new.enrolment,
            panel=new.panel,
            by=changed_by(services, on.who),
        )
    except InputError as error:
        raise refuse_change(error) from None
    return ReplacedPlan(protocol=PROTOCOL, campaign=campaign_view(services, stored), invites_deleted=deleted)


def _checked_terms(services: Services, campaign: str, new: CampaignPlan, seed: str) -> Terms:
    """Return the terms of a plan that the server can run, and that devices with the default limits may accept."""
    _check_plan(new)
    terms = make_terms(campaign, new, server_key=services.server_key, seed=seed)
    if not new.beyond_default_limits:
        check_default_limits(terms)
    return terms


def _delete(services: Services, on: OnCampaign) -> None:
    try:
        delete_campaign(services.store, on.campaign.id, changed_by(services, on.who))
    except InputError as error:
        raise refuse_change(error) from None


def _change_state(services: Services, campaign: str, state: CampaignState, by: ChangedBy) -> CampaignView:
    for attempt in range(CLOSING_ATTEMPTS):
        try:
            if state == "closed":
                _close_rounds(services, campaign)
            return campaign_view(services, set_state(services.store, campaign, state, by))
        except InputError as error:
            if error.field != "round" or attempt + 1 == CLOSING_ATTEMPTS:
                raise refuse_change(error) from None
    raise AssertionError("the last attempt returns or raises")


def _close_rounds(services: Services, campaign: str) -> None:
    for one in rounds_of(services.store, campaign):
        if one.state == "open":
            close_round(services.store, campaign, one.number)


def _only_policy(services: Services, campaign: Campaign) -> str | None:
    """Return the hash of the policy of a campaign with one round, once it is open: an invite link can name it."""
    rounds = rounds_of(services.store, campaign.id)
    return rounds[0].policy_hash if rounds and read_plan(campaign.plan).rounds == 1 else None
