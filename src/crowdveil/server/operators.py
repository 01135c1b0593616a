"""What an operator does: create, preview, start, watch, pause, close, invite, export."""

from __future__ import annotations

import csv
import io
import secrets
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.campaign.from_wire import plan_from_wire
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.server.areas import make_area, shape_of
from crowdveil.server.logs import log
from crowdveil.server.refusals import refuse, refuse_input
from crowdveil.server.requests import BEARER, CampaignPath, OperatorName, ServicesOf, body_of, problems, read, send
from crowdveil.server.services import Services, read_plan
from crowdveil.server.views import audit_record, campaign_view, selection_rows
from crowdveil.store import (
    Campaign,
    add_invites,
    close_round,
    create_campaign,
    estimates_of,
    get_campaign,
    list_campaigns,
    rounds_of,
    set_state,
)
from crowdveil.vocabulary import CampaignState
from crowdveil.wire import (
    PROTOCOL,
    AreaRequest,
    AreaShape,
    AuditRecord,
    CampaignList,
    CampaignPlan,
    CampaignSummary,
    CampaignView,
    Estimates,
    InviteRequest,
    Invites,
    Preview,
    ProblemKind,
    RoundEstimate,
    SelectionRow,
    StateChange,
    secret_digest,
)

routes = APIRouter(prefix="/v1/operator", tags=["operators"])
SEED_BITS = 53
"""A seed is a number that every language's JSON reads exactly."""
CLOSING_ATTEMPTS = 5
"""The conductor may open the next round while the campaign is being closed."""
WHO: tuple[ProblemKind, ...] = ("unauthorized", "forbidden")


@routes.get("/campaigns", response_model=CampaignList, openapi_extra=BEARER, responses=problems(*WHO))
async def campaigns(_: OperatorName, services: ServicesOf) -> Response:
    """All campaigns, the oldest first."""
    found = await run_in_threadpool(list_campaigns, services.store)
    rows = (
        CampaignSummary(campaign=one.id, name=read_plan(one.plan).name, state=one.state, created=one.created)
        for one in found
    )
    return send(CampaignList(protocol=PROTOCOL, campaigns=tuple(rows)))


@routes.put(
    "/campaigns/{campaign}",
    response_model=CampaignView,
    openapi_extra={**body_of(CampaignPlan), **BEARER},
    responses=problems(*WHO, "malformed", "wrong-state", "unsupported-media-type"),
)
async def create(campaign: CampaignPath, request: Request, who: OperatorName, services: ServicesOf) -> Response:
    """Keep a campaign as a draft. Sending the same again changes nothing; what is there is never replaced."""
    new = await read(request, CampaignPlan)
    made = await run_in_threadpool(_create, services, campaign, new)
    log().info("campaign-created", extra={"campaign": campaign, "operator": who})
    return send(made)


@routes.get(
    "/campaigns/{campaign}",
    response_model=CampaignView,
    openapi_extra=BEARER,
    responses=problems(*WHO, "not-found"),
)
async def view(campaign: CampaignPath, _: OperatorName, services: ServicesOf) -> Response:
    """A campaign, round by round, and what was learnt."""
    return send(await run_in_threadpool(lambda: campaign_view(services.store, _found(services, campaign))))


@routes.put(
    "/campaigns/{campaign}/state",
    response_model=CampaignView,
    openapi_extra={**body_of(StateChange), **BEARER},
    responses=problems(*WHO, "malformed", "not-found", "wrong-state", "unsupported-media-type"),
)
async def change(campaign: CampaignPath, request: Request, who: OperatorName, services: ServicesOf) -> Response:
    """Start a campaign or go on with it (open), pause it, or close it, which counts its open round and selects."""
    asked = await read(request, StateChange)
    changed = await run_in_threadpool(_change, services, campaign, asked.state)
    services.forget(campaign)
    services.wake()
    log().info("campaign-changed", extra={"campaign": campaign, "state": asked.state, "operator": who})
    return send(changed)


@routes.post(
    "/campaigns/{campaign}/invites",
    response_model=Invites,
    openapi_extra={**body_of(InviteRequest), **BEARER},
    responses=problems(*WHO, "malformed", "not-found", "unsupported-media-type"),
)
async def invite(campaign: CampaignPath, request: Request, who: OperatorName, services: ServicesOf) -> Response:
    """New invites, each for one device; shown this once."""
    asked = await read(request, InviteRequest)
    fresh = tuple(secrets.token_urlsafe(16) for _ in range(asked.count))
    await run_in_threadpool(_found, services, campaign)
    await run_in_threadpool(add_invites, services.store, campaign, [secret_digest(one) for one in fresh])
    log().info("invites-made", extra={"campaign": campaign, "count": asked.count, "operator": who})
    return send(Invites(protocol=PROTOCOL, invites=fresh))


@routes.post(
    "/preview",
    response_model=Preview,
    openapi_extra={**body_of(CampaignPlan), **BEARER},
    responses=problems(*WHO, "malformed", "unsupported-media-type"),
)
async def preview(
    request: Request, _: OperatorName, services: ServicesOf, curves: Annotated[Literal["yes", "no"], Query()] = "yes"
) -> Response:
    """What a campaign would be worth; nothing is kept. Without its curves it is there many times sooner."""
    new = await read(request, CampaignPlan)
    await run_in_threadpool(_checked, new)
    return send(await services.previews.of(new, request.is_disconnected, curves=curves == "yes"))


@routes.post(
    "/area",
    response_model=AreaShape,
    openapi_extra={**body_of(AreaRequest), **BEARER},
    responses=problems(*WHO, "malformed", "unsupported-media-type"),
)
async def area(request: Request, _: OperatorName) -> Response:
    """An area from a few numbers, and the corners of its cells; nothing is kept."""
    asked = await read(request, AreaRequest)
    return send(await run_in_threadpool(_shape, asked))


@routes.get(
    "/campaigns/{campaign}/estimates",
    response_model=Estimates,
    openapi_extra=BEARER,
    responses=problems(*WHO, "not-found"),
)
async def estimates(campaign: CampaignPath, _: OperatorName, services: ServicesOf) -> Response:
    """What was learnt of where people are, round by round."""
    await run_in_threadpool(_found, services, campaign)
    found = await run_in_threadpool(estimates_of, services.store, campaign)
    rows = (
        RoundEstimate(round=number, prior=one.prior, expected_coverage=one.expected_coverage)
        for number, one in found.items()
    )
    return send(Estimates(protocol=PROTOCOL, rounds=tuple(rows)))


@routes.get(
    "/campaigns/{campaign}/selection",
    response_class=Response,
    openapi_extra=BEARER,
    responses={
        200: {"description": "Who was selected, best first", "content": {"text/csv": {"schema": {"type": "string"}}}},
        **problems(*WHO, "not-found", "wrong-state"),
    },
)
async def selection(campaign: CampaignPath, _: OperatorName, services: ServicesOf) -> Response:
    """The selection as CSV; its columns are the fields of `SelectionRow`."""
    rows = await run_in_threadpool(lambda: selection_rows(services.store, _finished(services, campaign)))
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(SelectionRow.model_fields)
    lines.writerows([*dict(row).values()] for row in rows)
    headers = {"content-disposition": f'attachment; filename="{campaign}-selection.csv"'}
    return Response(text.getvalue(), media_type="text/csv", headers=headers)


@routes.get(
    "/campaigns/{campaign}/record",
    response_model=AuditRecord,
    openapi_extra=BEARER,
    responses=problems(*WHO, "not-found", "wrong-state"),
)
async def record(campaign: CampaignPath, _: OperatorName, services: ServicesOf) -> Response:
    """The whole record, from which anyone repeats the selection bit for bit."""
    return send(await run_in_threadpool(lambda: audit_record(services.store, _finished(services, campaign))))


# --- the steps, in a thread -----------------------------------------------------------------------------------


def _checked(new: CampaignPlan) -> None:
    try:
        plan_from_wire(new, new.seed or 0)
    except InputError as error:
        raise refuse_input(error) from None
    except CrowdveilError as error:
        raise refuse("invalid", str(error)) from None


def _shape(asked: AreaRequest) -> AreaShape:
    try:
        return shape_of(make_area(asked))
    except InputError as error:
        raise refuse_input(error) from None
    except CrowdveilError as error:
        raise refuse("invalid", str(error)) from None


def _create(services: Services, campaign: str, new: CampaignPlan) -> CampaignView:
    _checked(new)
    text = new.to_bytes().decode("ascii")
    seed = secrets.randbits(SEED_BITS) if new.seed is None else new.seed
    created = int(services.clock())
    try:
        kept = create_campaign(
            services.store,
            campaign,
            text,
            offer=new.offer,
            seed=seed,
            created=created,
            enrolment=new.enrolment,
        )
    except InputError as error:
        there = get_campaign(services.store, campaign)
        if there is None or there.plan != text:
            raise refuse_input(error, "wrong-state") from None
        kept = there
    return campaign_view(services.store, kept)


def _change(services: Services, campaign: str, state: CampaignState) -> CampaignView:
    _found(services, campaign)
    for attempt in range(CLOSING_ATTEMPTS):
        try:
            if state == "closed":
                _close_rounds(services, campaign)
            return campaign_view(services.store, set_state(services.store, campaign, state))
        except InputError as error:
            if error.field != "round" or attempt + 1 == CLOSING_ATTEMPTS:
                raise refuse_input(error, "wrong-state") from None
    raise AssertionError("the last attempt returns or raises")


def _close_rounds(services: Services, campaign: str) -> None:
    for one in rounds_of(services.store, campaign):
        if one.state == "open":
            close_round(services.store, campaign, one.number)


def _found(services: Services, campaign: str) -> Campaign:
    found = get_campaign(services.store, campaign)
    if found is None:
        raise refuse("not-found", f"campaign = {campaign!r}: there is no such campaign")
    return found


def _finished(services: Services, campaign: str) -> Campaign:
    found = _found(services, campaign)
    if found.state != "finished":
        expected = "the selection is there once the campaign is finished"
        raise refuse_input(InputError("state", found.state, expected), "wrong-state")
    return found
