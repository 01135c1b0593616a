"""Serve what is public: a campaign's announcement and the policy of a round, the same bytes for everyone."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.server.refusals import refuse
from crowdveil.server.requests import JSON, CampaignPath, RoundPath, ServicesOf, problems
from crowdveil.wire import POLICY_MEDIA_TYPE, Announcement, policy_etag

routes = APIRouter(prefix="/v1/campaigns", tags=["campaigns"])


@routes.get("/{campaign}", response_model=Announcement, responses=problems("not-found"))
async def campaign(campaign: CampaignPath, services: ServicesOf) -> Response:
    """Announce a campaign: its area, targets, privacy parameters and open round."""
    announced = await run_in_threadpool(services.announcement, campaign)
    if announced is None:
        raise refuse("not-found", f"campaign = {campaign!r}: not found, or not started yet")
    return Response(announced, media_type=JSON, headers={"cache-control": "no-cache"})


@routes.get(
    "/{campaign}/rounds/{number}/policy",
    response_class=Response,
    responses={
        200: {
            "description": "The policy in its compact form",
            "content": {POLICY_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
            "headers": {"ETag": {"schema": {"type": "string"}, "description": "The policy's hash, quoted"}},
        },
        304: {"description": "The policy is unchanged; policies never change"},
        **problems("not-found"),
    },
)
async def policy(campaign: CampaignPath, number: RoundPath, request: Request, services: ServicesOf) -> Response:
    """Return the policy of a round that was opened."""
    found = await run_in_threadpool(services.policy, campaign, number)
    if found is None:
        raise refuse("not-found", f"round = {number} of campaign {campaign!r}: has no policy yet")
    data, policy_hash = found
    headers = {"etag": policy_etag(policy_hash), "cache-control": "public, max-age=31536000, immutable"}
    if policy_etag(policy_hash) in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(data, media_type=POLICY_MEDIA_TYPE, headers=headers)
