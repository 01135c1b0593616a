"""Serve what is public: a campaign's announcement and the policy of a round, the same bytes for everyone."""

from __future__ import annotations

from fastapi import Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.errors import InputError
from crowdveil.server.direct_routes import JSON, Answer, DirectRequest, DirectRouter
from crowdveil.server.refusals import refuse, refuse_input
from crowdveil.server.request_guard import complete_headers
from crowdveil.server.requests import CAMPAIGN, ROUND, check_campaign, problems
from crowdveil.wire import POLICY_MEDIA_TYPE, Announcement, policy_etag

routes = DirectRouter(prefix="/v1/campaigns", tags=["campaigns"])

MAX_ROUND = 2**31 - 1
ANNOUNCED = complete_headers({"content-type": JSON, "cache-control": "no-cache"}, cross_origin=True)
UNCHANGING = {"cache-control": "public, max-age=31536000, immutable"}
POLICY = complete_headers({"content-type": POLICY_MEDIA_TYPE, **UNCHANGING}, cross_origin=True)
NOT_MODIFIED = complete_headers(UNCHANGING, cross_origin=True)


@routes.direct(
    "GET", "/{campaign}", response_model=Announcement, openapi_extra=CAMPAIGN, responses=problems("not-found")
)
async def campaign(request: DirectRequest) -> Answer:
    """Announce a campaign: its area, targets, privacy parameters and open round."""
    services, name = request.services, check_campaign(request.parameters[0])
    announced = services.cached_announcement(name) or await run_in_threadpool(services.announcement, name)
    if announced is None:
        raise refuse("not-found", f"campaign = {name!r}: not found, or not started yet")
    return Answer(200, announced, ANNOUNCED)


@routes.direct(
    "GET",
    "/{campaign}/rounds/{number}/policy",
    openapi_extra={"parameters": [*CAMPAIGN["parameters"], *ROUND["parameters"]]},
    responses={
        200: {
            "description": "The policy in its compact form",
            "content": {POLICY_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
            "headers": {"ETag": {"schema": {"type": "string"}, "description": "The policy's hash, quoted"}},
        },
        304: {"description": "The policy is unchanged; policies never change"},
        **problems("not-found"),
    },
    response_class=Response,
)
async def policy(request: DirectRequest) -> Answer:
    """Return the policy of a round that was opened."""
    services, name, number = request.services, check_campaign(request.parameters[0]), _round(request.parameters[1])
    found = services.cached_policy(name, number) or await run_in_threadpool(services.policy, name, number)
    if found is None:
        raise refuse("not-found", f"round = {number} of campaign {name!r}: has no policy yet")
    data, policy_hash = found
    etag = policy_etag(policy_hash)
    if etag in request.header(b"if-none-match"):
        return Answer(304, b"", NOT_MODIFIED.with_etag(etag))
    return Answer(200, data, POLICY.with_etag(etag))


def _round(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_ROUND)) else -1
    if not 0 <= number <= MAX_ROUND:
        raise refuse_input(InputError("number", text, f"should be a whole number from 0 to {MAX_ROUND:,}"))
    return number
