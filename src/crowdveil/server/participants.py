"""What a device asks for: a seat, that its one report is stored, and how it stands."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.server.commit_queue import Sent
from crowdveil.server.refusals import refuse
from crowdveil.server.requests import (
    BEARER,
    CAMPAIGN,
    Bearer,
    CampaignPath,
    ServicesOf,
    bearer,
    body_of,
    campaign_of,
    problems,
    read,
    send,
    services_of,
    stranger,
)
from crowdveil.server.services import Services
from crowdveil.store import NoSeat, SeatClaim, get_campaign, participant_state, seats_of
from crowdveil.vocabulary import ParticipantState
from crowdveil.wire import PROTOCOL, ParticipantStatus, Receipt, Report, Seat, SeatRequest, secret_digest

routes = APIRouter(prefix="/v1/campaigns", tags=["participants"])
# Everyone takes a seat and reports, so these two read the request themselves: FastAPI's dependencies and parameters
# would cost as much as the rest of it.

NO_SEAT: dict[NoSeat, str] = {
    "not-found": "there is no such campaign, or it has not started",
    "wrong-state": "the campaign is over",
}


@routes.post(
    "/{campaign}/seats",
    response_model=Seat,
    openapi_extra={**CAMPAIGN, **body_of(SeatRequest)},
    responses=problems(
        "malformed", "not-found", "wrong-state", "no-seat", "bad-invite", "paused", "unsupported-media-type"
    ),
)
async def take_seat(request: Request) -> Response:
    """A seat in the open round; for a secret that has one, that one again."""
    services, campaign = await services_of(request), campaign_of(request)
    asked = await read(request, SeatRequest)
    invite = None if asked.invite is None else secret_digest(asked.invite)
    found = await services.commit_queue.take_seat(SeatClaim(campaign, asked.secret_digest, invite))
    if isinstance(found, str):
        draft = found == "wrong-state" and await run_in_threadpool(services.announcement, campaign) is None
        kind: NoSeat = "not-found" if draft else found
        raise refuse(kind, NO_SEAT.get(kind))
    return send(
        Seat(
            protocol=PROTOCOL,
            campaign=campaign,
            participant=found.participant,
            round=found.round,
            policy_hash=found.policy_hash,
        )
    )


@routes.put(
    "/{campaign}/report",
    response_model=Receipt,
    openapi_extra={**CAMPAIGN, **body_of(Report), **BEARER},
    responses=problems(
        "malformed",
        "unauthorized",
        "forbidden",
        "unknown-participant",
        "report-conflict",
        "round-closed",
        "wrong-round",
        "wrong-policy",
        "wrong-symbol",
        "paused",
        "unsupported-media-type",
    ),
)
async def report(request: Request) -> Response:
    """Store one report for good. The same one again gets the same receipt; another one is refused."""
    services, campaign, secret_hash = await services_of(request), campaign_of(request), await bearer(request)
    upload = await read(request, Report)
    if upload.symbol_number is None and not await run_in_threadpool(services.takes_null, campaign):
        raise refuse("wrong-symbol", "this campaign protects NULL: draw a symbol from the policy's row for it")
    filed = await services.commit_queue.file(Sent(campaign, secret_hash, upload))
    if filed.outcome == "accepted" or filed.outcome == "repeated":
        return send(Receipt.of(campaign, filed.participant, upload))
    if filed.outcome == "unknown-participant":
        raise await stranger(services, secret_hash)
    raise refuse(filed.outcome)


@routes.get(
    "/{campaign}/status",
    response_model=ParticipantStatus,
    openapi_extra=BEARER,
    responses=problems("unauthorized", "forbidden", "unknown-participant"),
)
async def status(campaign: CampaignPath, secret_hash: Bearer, services: ServicesOf) -> Response:
    """How a participant stands; always of the same length."""
    found = await run_in_threadpool(_standing, services, campaign, secret_hash)
    if found is None:
        raise await stranger(services, secret_hash)
    return send(ParticipantStatus.of(campaign, *found))


def _standing(services: Services, campaign: str, secret_hash: str) -> tuple[int, ParticipantState, str] | None:
    seat = seats_of(services.store, campaign, [secret_hash]).get(secret_hash)
    kept = get_campaign(services.store, campaign)
    if seat is None or kept is None:
        return None
    state = participant_state(services.store, campaign, seat.participant)
    assert state is not None, "participants are never removed"
    return seat.participant, state, kept.offer
