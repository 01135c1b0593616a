"""How a request is read: its body strictly, by the message's own reader, and its token by role.

FastAPI would parse bodies too, but not as strictly as a device does (fields given twice, NaN); so one reader serves
both sides, and the schema is named to the OpenAPI document by hand.
"""

from __future__ import annotations

import hmac
import re
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.errors import InputError
from crowdveil.server.rate_limit import is_loopback
from crowdveil.server.refusals import refuse, refuse_input
from crowdveil.server.request_guard import address_of
from crowdveil.server.services import Services
from crowdveil.store import is_participant, operators
from crowdveil.wire import PROBLEM_MEDIA_TYPE, PROBLEMS, Message, Problem, ProblemKind, secret_digest

JSON = "application/json"
MAX_TOKEN = 200
One = TypeVar("One", bound=Message)

CAMPAIGN_ID = r"^[a-z0-9][a-z0-9-]{0,62}$"
_campaign_id = re.compile(CAMPAIGN_ID.replace("$", r"\Z")).match
CampaignPath = Annotated[str, Path(pattern=CAMPAIGN_ID, description="The campaign's id")]
RoundPath = Annotated[int, Path(ge=0, lt=2**31, description="Number of the round, from 0")]


async def services_of(request: Request) -> Services:
    """What the routes work with. Not a plain function: FastAPI would call that in another thread."""
    services: Services = request.app.state.services
    return services


ServicesOf = Annotated[Services, Depends(services_of)]


def campaign_of(request: Request) -> str:
    """What `CampaignPath` gives, for the routes that everyone asks: through FastAPI it takes a tenth of a request."""
    campaign: str = request.path_params["campaign"]
    if not _campaign_id(campaign):
        raise refuse_input(InputError("campaign", campaign, f"should match pattern {CAMPAIGN_ID}"))
    return campaign


async def read(request: Request, message: type[One]) -> One:
    """The request's body as a message."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise refuse("unsupported-media-type", f"content-type = {kind!r}: should be {JSON}")
    try:
        return message.from_bytes(await request.body())
    except InputError as error:
        raise refuse_input(error, "malformed" if error.field == "body" else "invalid") from None


def send(message: Message) -> Response:
    """A message as an answer."""
    return Response(message.to_bytes(), media_type=JSON)


async def bearer(request: Request) -> str:
    """The hash of the token that a request carries."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not 0 < len(token) <= MAX_TOKEN or not token.isascii():
        raise refuse("unauthorized", "the header authorization should be: Bearer, a space, and the token")
    return secret_digest(token)


Bearer = Annotated[str, Depends(bearer)]


async def operator(request: Request, shown: Bearer, services: ServicesOf) -> str:
    """The operator's name. Hashes are compared in constant time, and all of them whatever the first ones say."""
    address = address_of(request.scope)
    if not services.failures.allows(address):
        raise refuse("too-many-requests", "too many wrong tokens from this address; wait a minute")
    name = await operator_with(services, shown)
    if name is None:
        if not is_loopback(address):
            services.failures.count(address)
        participant = await run_in_threadpool(is_participant, services.store, shown)
        raise refuse("forbidden" if participant else "unauthorized")
    return name


async def operator_with(services: Services, token_hash: str) -> str | None:
    """Whose token it is, or None."""
    known = await run_in_threadpool(operators, services.store)
    found = [name for name, kept in known.items() if hmac.compare_digest(kept, token_hash)]
    return found[0] if found else None


OperatorName = Annotated[str, Depends(operator)]


async def stranger(services: Services, secret_hash: str) -> Exception:
    """Why a secret without a seat is refused: an operator's token is for another role."""
    mine = await operator_with(services, secret_hash)
    return refuse("unknown-participant" if mine is None else "forbidden")


# --- what the OpenAPI document says ---------------------------------------------------------------------------

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
"""The campaign in the address, where `campaign_of` reads it."""


def body_of(message: type[Message]) -> dict[str, Any]:
    """The request body, for the OpenAPI document."""
    schema = {"$ref": f"#/components/schemas/{message.__name__}"}
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def problems(*kinds: ProblemKind) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may answer with, besides those that every route may."""
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    titles: dict[int, list[str]] = {}
    for kind in dict.fromkeys((*kinds, "invalid", "too-large", "too-many-requests", "internal", "unavailable")):
        titles.setdefault(PROBLEMS[kind].status, []).append(f"{kind}: {PROBLEMS[kind].title}")
    return {
        status: {"description": "; ".join(sorted(lines)), "content": {PROBLEM_MEDIA_TYPE: {"schema": schema}}}
        for status, lines in sorted(titles.items())
    }
