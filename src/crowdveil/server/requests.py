"""Read requests: the body strictly, by the reader of its message, and the token.

FastAPI would parse bodies too, but less strictly than a device does (duplicate fields, NaN). So both sides use one
reader, and the schemas are added to the OpenAPI document by hand. What operators may do is decided in `access`.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.errors import InputError
from crowdveil.server.direct_routes import JSON, MessageType, check_json, read_message
from crowdveil.server.refusals import refuse, refuse_input
from crowdveil.server.services import Services
from crowdveil.server.tokens import operator_with
from crowdveil.wire import PROBLEM_MEDIA_TYPE, PROBLEMS, Message, Problem, ProblemKind, secret_digest
from crowdveil.wire.message import CAMPAIGN_ID, CAMPAIGN_ID_EXPECTED

MAX_TOKEN = 200

_campaign_id = re.compile(CAMPAIGN_ID.replace("$", r"\Z")).match
CampaignPath = Annotated[str, Path(pattern=CAMPAIGN_ID, description="The campaign's id")]
SelectionPath = Annotated[int, Path(ge=0, lt=2**31, description="Number of the selection, from 0")]


async def services_of(request: Request) -> Services:
    """Return what the routes share. A coroutine, because FastAPI would call a plain function in another thread."""
    services: Services = request.app.state.services
    return services


ServicesOf = Annotated[Services, Depends(services_of)]


def check_campaign(campaign: str) -> str:
    """Read a campaign's id like `CampaignPath` does, for the direct routes."""
    if not _campaign_id(campaign):
        raise refuse_input(InputError("campaign", campaign, CAMPAIGN_ID_EXPECTED))
    return campaign


async def read(request: Request, message: type[MessageType]) -> MessageType:
    """Read the body of a request as a message."""
    check_json(request.headers.get("content-type", ""))
    return read_message(await request.body(), message)


def send(message: Message) -> Response:
    """Make the HTTP response of a message."""
    return Response(message.to_bytes(), media_type=JSON)


def token_hash(authorization: str) -> str:
    """Return the hash of a bearer token, which stands in the header of this name."""
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not 0 < len(token) <= MAX_TOKEN or not token.isascii():
        raise refuse("unauthorized", "the authorization header should be: Bearer, a space, and the token")
    return secret_digest(token)


async def bearer(request: Request) -> str:
    """Return the hash of a request's bearer token."""
    return token_hash(request.headers.get("authorization", ""))


Bearer = Annotated[str, Depends(bearer)]


async def unknown_secret(services: Services, secret_hash: str) -> Exception:
    """Return the refusal for a secret without a seat; an operator's token is for another role."""
    found = await run_in_threadpool(operator_with, services.store, secret_hash, services.clock())
    return refuse("unknown-participant" if found is None else "forbidden")


# --- for the OpenAPI document ---------------------------------------------------------------------------------

OPERATOR_PROBLEMS: tuple[ProblemKind, ...] = ("unauthorized", "forbidden")
BEARER: dict[str, Any] = {"security": [{"bearer": []}]}


CAMPAIGN: dict[str, Any] = {
    "parameters": [
        {
            "name": "campaign",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": CAMPAIGN_ID, "title": "Campaign"},
            "description": "The campaign's id",
        }
    ]
}
"""The path parameter that `check_campaign` reads."""


ROUND: dict[str, Any] = {
    "parameters": [
        {
            "name": "number",
            "in": "path",
            "required": True,
            "schema": {"type": "integer", "minimum": 0, "exclusiveMaximum": 2**31, "title": "Number"},
            "description": "Number of the round, from 0",
        }
    ]
}


def body_of(message: type[Message]) -> dict[str, Any]:
    """Describe the request body."""
    schema = {"$ref": f"#/components/schemas/{message.__name__}"}
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def problems(*kinds: ProblemKind) -> dict[int | str, dict[str, Any]]:
    """Describe the problems that a route may answer with, including those of every route."""
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    titles: dict[int, list[str]] = {}
    for kind in dict.fromkeys((*kinds, "invalid", "too-large", "too-many-requests", "internal", "unavailable")):
        titles.setdefault(PROBLEMS[kind].status, []).append(f"{kind}: {PROBLEMS[kind].title}")
    return {
        status: {"description": "; ".join(sorted(lines)), "content": {PROBLEM_MEDIA_TYPE: {"schema": schema}}}
        for status, lines in sorted(titles.items())
    }
