"""Serve devices: give seats, store one report of each, forget who withdraws, and tell whether they were selected."""

from __future__ import annotations

from fastapi import Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.server.commit_queue import ReportJob
from crowdveil.server.direct_routes import Answer, DirectRequest, DirectRouter, answer_with
from crowdveil.server.rate_limit import is_loopback
from crowdveil.server.refusals import refuse
from crowdveil.server.request_guard import address_of
from crowdveil.server.requests import (
    BEARER,
    CAMPAIGN,
    Bearer,
    CampaignPath,
    ServicesOf,
    body_of,
    check_campaign,
    problems,
    send,
    token_hash,
    unknown_secret,
)
from crowdveil.server.services import KnownTerms, Services
from crowdveil.store import NoSeat, SeatClaim, get_campaign, participant_state, seats_of, withdraw
from crowdveil.wire import PROTOCOL, ParticipantStatus, Receipt, Report, Seat, SeatRequest, Withdrawal, secret_digest

routes = DirectRouter(prefix="/v1/campaigns", tags=["participants"])

NO_SEAT: dict[NoSeat, str] = {
    "not-found": "the campaign was not found, or has not started yet",
    "wrong-state": "the campaign is over",
}
STAYS = (
    "the round is closed, and its counts, which contain your report, are used already; what stays is a random number, "
    "the hash of your device's secret, the round and the symbol: no name, no address, no time"
)


@routes.direct(
    "POST",
    "/{campaign}/seats",
    response_model=Seat,
    openapi_extra={**CAMPAIGN, **body_of(SeatRequest)},
    responses=problems(
        "malformed",
        "not-found",
        "wrong-state",
        "no-seat",
        "bad-invite",
        "too-many-seats",
        "paused",
        "unsupported-media-type",
    ),
)
async def take_seat(request: DirectRequest) -> Answer:
    """Give a seat in the open round; a secret that has a seat gets the same one again."""
    services, campaign = request.services, check_campaign(request.parameters[0])
    body = await request.read(SeatRequest)
    known = await _known_terms(services, campaign)
    address = address_of(request.scope)
    limited = known.terms.enrolment == "open" and not is_loopback(address)
    who = (campaign, address, body.secret_digest)
    if limited and not services.seat_limiter.allows(*who):
        await _check_seated(services, campaign, body.secret_digest)
    invite = None if body.invite is None else secret_digest(body.invite)
    found = await services.commit_queue.take_seat(SeatClaim(campaign, body.secret_digest, invite))
    if isinstance(found, str):
        raise refuse(found, NO_SEAT.get(found))
    if limited:
        services.seat_limiter.count(*who)
    return answer_with(
        Seat(
            protocol=PROTOCOL,
            campaign=campaign,
            participant=found.participant,
            round=found.round,
            policy_hash=found.policy_hash,
            terms_hash=known.hash,
        )
    )


@routes.direct(
    "PUT",
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
async def store_report(request: DirectRequest) -> Answer:
    """Store a report permanently. The same report again gets the same receipt; a different one is refused."""
    services, campaign = request.services, check_campaign(request.parameters[0])
    secret_hash = token_hash(request.header(b"authorization"))
    report = await request.read(Report)
    if report.symbol_number is None and (await _known_terms(services, campaign)).terms.null_epsilon is not None:
        raise refuse("wrong-symbol", "this campaign protects being outside; draw a symbol from the policy's last row")
    # Returns only after the commit: nothing is acknowledged that is not on disk.
    result = await services.commit_queue.store_report(ReportJob(campaign, secret_hash, report))
    if result.outcome == "accepted" or result.outcome == "repeated":
        return answer_with(Receipt.of(campaign, result.participant, report))
    if result.outcome == "unknown-participant":
        raise await unknown_secret(services, secret_hash)
    raise refuse(result.outcome)


@routes.delete(
    "/{campaign}/report",
    response_model=Withdrawal,
    openapi_extra=BEARER,
    responses=problems("unauthorized", "forbidden", "unknown-participant", "round-closed"),
)
async def withdraw_report(campaign: CampaignPath, secret_hash: Bearer, services: ServicesOf) -> Response:
    """Forget a participant, with the seat and the report, until the round is closed.

    The same request again is answered with unknown-participant: nothing is left by which to know who asks.
    """
    found = await run_in_threadpool(withdraw, services.store, campaign, secret_hash)
    if found == "unknown-participant":
        raise await unknown_secret(services, secret_hash)
    if found == "round-closed":
        raise refuse("round-closed", STAYS)
    assert isinstance(found, int)
    services.metrics.withdrawals.inc()
    return send(Withdrawal(protocol=PROTOCOL, campaign=campaign, participant=found))


@routes.direct(
    "GET",
    "/{campaign}/status",
    response_model=ParticipantStatus,
    openapi_extra={**CAMPAIGN, **BEARER},
    responses=problems("unauthorized", "forbidden", "unknown-participant"),
)
async def status(request: DirectRequest) -> Answer:
    """Tell a participant whether they were selected; every answer has the same size."""
    services, campaign = request.services, check_campaign(request.parameters[0])
    secret_hash = token_hash(request.header(b"authorization"))
    found = await run_in_threadpool(_status, services, campaign, secret_hash)
    if found is None:
        raise await unknown_secret(services, secret_hash)
    return answer_with(found)


def _status(services: Services, campaign: str, secret_hash: str) -> ParticipantStatus | None:
    seat = seats_of(services.store, campaign, [secret_hash]).get(secret_hash)
    stored = get_campaign(services.store, campaign)
    if seat is None or stored is None:
        return None
    found = participant_state(services.store, campaign, seat.participant)
    if found is None:  # withdrawn meanwhile
        return None
    state, selections, chosen = found
    return ParticipantStatus.of(campaign, seat.participant, state, stored.offer, selections=selections, chosen=chosen)


async def _known_terms(services: Services, campaign: str) -> KnownTerms:
    known = services.known_terms.get(campaign)  # without another thread, which would cost as much as a request
    if known is None:
        known = await run_in_threadpool(services.terms, campaign)
    if known is None:
        raise refuse("not-found", NO_SEAT["not-found"])
    return known


async def _check_seated(services: Services, campaign: str, secret_hash: str) -> None:
    """Refuse a new device where its address has taken all its seats; one that has a seat may ask again."""
    if not await run_in_threadpool(seats_of, services.store, campaign, [secret_hash]):
        raise refuse("too-many-seats")
