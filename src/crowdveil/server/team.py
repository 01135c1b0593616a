"""Serve operators: who they are, their tokens, with whom a campaign is shared, and the log of what was done."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.errors import InputError
from crowdveil.server.access import (
    AnyOperator,
    OwnCampaign,
    OwnerOnly,
    PlannerOnly,
    changed_by,
    operator_not_found,
    sees,
)
from crowdveil.server.logs import log
from crowdveil.server.refusals import refuse, refuse_input
from crowdveil.server.requests import (
    BEARER,
    OPERATOR_PROBLEMS,
    ServicesOf,
    body_of,
    problems,
    read,
    send,
)
from crowdveil.server.services import Services
from crowdveil.server.settings import DAY_S
from crowdveil.server.tokens import new_token
from crowdveil.server.views import campaign_view
from crowdveil.store import (
    MAX_TOKENS,
    KnownToken,
    add_token,
    list_activity,
    list_operators,
    put_operator,
    remove_operator,
    revoke_token,
    share_campaign,
    tokens_of,
    unshare_campaign,
)
from crowdveil.wire import (
    PROTOCOL,
    Activity,
    ActivityList,
    CampaignView,
    NewToken,
    OperatorList,
    OperatorView,
    RoleChange,
    SignedIn,
    TokenList,
    TokenRequest,
    TokenView,
    secret_digest,
)
from crowdveil.wire.message import CAMPAIGN_ID
from crowdveil.wire.team import MAX_ACTIVITY, TOKEN_ID

routes = APIRouter(prefix="/v1/operator", tags=["operators"])
NamePath = Annotated[str, Path(pattern=CAMPAIGN_ID, description="The operator's name")]
TokenPath = Annotated[str, Path(pattern=TOKEN_ID, description="The token's id")]
LAST_OWNER = "nobody else could sign in as an owner then; add another owner with a token first"


@routes.get("/me", response_model=SignedIn, openapi_extra=BEARER, responses=problems(*OPERATOR_PROBLEMS))
async def me(who: AnyOperator) -> Response:
    """Say who is signed in, in which role, and until when."""
    return send(SignedIn(protocol=PROTOCOL, name=who.operator, role=who.role, token=who.id, expires=who.expires))


# --- operators ------------------------------------------------------------------------------------------------


@routes.get("/operators", response_model=OperatorList, openapi_extra=BEARER, responses=problems(*OPERATOR_PROBLEMS))
async def operators(_: OwnerOnly, services: ServicesOf) -> Response:
    """List all operators."""
    return send(await run_in_threadpool(_operators, services))


@routes.put(
    "/operators/{name}",
    response_model=OperatorView,
    openapi_extra={**body_of(RoleChange), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "last-owner", "unsupported-media-type"),
)
async def put(name: NamePath, request: Request, who: OwnerOnly, services: ServicesOf) -> Response:
    """Add an operator, who has no token yet, or change the role of one."""
    asked = await read(request, RoleChange)
    refused = await run_in_threadpool(put_operator, services.store, name, asked.role, changed_by(services, who))
    _check(name, refused)
    log().info("operator-changed", extra={"name_of_operator": name, "role": asked.role, "operator": who.operator})
    found = await run_in_threadpool(_operators, services)
    for one in found.operators:
        if one.name == name:
            return send(one)
    raise operator_not_found(name)  # removed again meanwhile


@routes.delete(
    "/operators/{name}",
    status_code=204,
    response_class=Response,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found", "last-owner"),
)
async def remove(name: NamePath, who: OwnerOnly, services: ServicesOf) -> Response:
    """Remove an operator, whose tokens stop working; their campaigns stay, and owners see them."""
    _check(name, await run_in_threadpool(remove_operator, services.store, name, changed_by(services, who)))
    log().info("operator-removed", extra={"name_of_operator": name, "operator": who.operator})
    return Response(status_code=204)


# --- tokens ---------------------------------------------------------------------------------------------------


@routes.get(
    "/operators/{name}/tokens",
    response_model=TokenList,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found"),
)
async def tokens(name: NamePath, who: AnyOperator, services: ServicesOf) -> Response:
    """List the tokens of an operator by their ids; a token itself is never shown again."""
    _check_own(who, name)
    return send(await run_in_threadpool(_tokens, services, name))


@routes.post(
    "/operators/{name}/tokens",
    response_model=NewToken,
    openapi_extra={**body_of(TokenRequest), **BEARER},
    responses=problems(*OPERATOR_PROBLEMS, "malformed", "not-found", "unsupported-media-type"),
)
async def make_token(name: NamePath, request: Request, who: PlannerOnly, services: ServicesOf) -> Response:
    """Make a token for an operator; it is shown only this once.

    Only an owner can make one that is valid for longer than the token that asks.
    """
    _check_own(who, name)
    asked = await read(request, TokenRequest)
    made = await run_in_threadpool(_make_token, services, who, name, asked.days)
    log().info("token-made", extra={"name_of_operator": name, "token_id": made.id, "operator": who.operator})
    return send(made)


@routes.delete(
    "/tokens/{token}",
    status_code=204,
    response_class=Response,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found", "last-owner"),
)
async def revoke(token: TokenPath, who: AnyOperator, services: ServicesOf) -> Response:
    """Revoke a token, which stops working on all servers of the database."""
    refused = await run_in_threadpool(revoke_token, services.store, token, changed_by(services, who), of=sees(who))
    if refused == "not-found":
        raise refuse("not-found", f"token = {token!r}: not found")
    _check(who.operator, refused)
    log().info("token-revoked", extra={"token_id": token, "operator": who.operator})
    return Response(status_code=204)


# --- campaigns ------------------------------------------------------------------------------------------------


@routes.put(
    "/campaigns/{campaign}/shares/{name}",
    response_model=CampaignView,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found"),
)
async def share(name: NamePath, on: OwnCampaign, services: ServicesOf) -> Response:
    """Share a campaign with an operator: a planner runs it from then on, a viewer sees it."""
    by = changed_by(services, on.who)
    _check(name, await run_in_threadpool(share_campaign, services.store, on.campaign.id, name, by))
    return send(await run_in_threadpool(campaign_view, services, on.campaign))


@routes.delete(
    "/campaigns/{campaign}/shares/{name}",
    response_model=CampaignView,
    openapi_extra=BEARER,
    responses=problems(*OPERATOR_PROBLEMS, "not-found"),
)
async def unshare(name: NamePath, on: OwnCampaign, services: ServicesOf) -> Response:
    """Take back a share; changes nothing if there is none."""
    by = changed_by(services, on.who)
    await run_in_threadpool(unshare_campaign, services.store, on.campaign.id, name, by)
    return send(await run_in_threadpool(campaign_view, services, on.campaign))


# --- the log --------------------------------------------------------------------------------------------------


@routes.get("/activity", response_model=ActivityList, openapi_extra=BEARER, responses=problems(*OPERATOR_PROBLEMS))
async def activity(
    who: AnyOperator,
    services: ServicesOf,
    before: Annotated[int | None, Query(ge=1, lt=2**53, description="Only what has a smaller number")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_ACTIVITY, description="How many lines")] = 50,
) -> Response:
    """List what operators did, the newest first: all of it for owners, otherwise one's own and that on one's campaigns.

    Nothing in it is about single participants.
    """
    return send(await run_in_threadpool(_activity, services, who, before, limit))


# --- run in a thread ------------------------------------------------------------------------------------------


def _operators(services: Services) -> OperatorList:
    found = list_operators(services.store, services.clock())
    rows = (
        OperatorView(protocol=PROTOCOL, name=one.name, role=one.role, added=one.added, tokens=one.tokens)
        for one in found
    )
    return OperatorList(protocol=PROTOCOL, operators=tuple(rows))


def _tokens(services: Services, name: str) -> TokenList:
    found = tokens_of(services.store, name)
    if found is None:
        raise operator_not_found(name)
    rows = (TokenView(id=one.id, made=one.made, expires=one.expires) for one in found)
    return TokenList(protocol=PROTOCOL, operator=name, tokens=tuple(rows))


def _make_token(services: Services, who: KnownToken, name: str, days: int | None) -> NewToken:
    by = changed_by(services, who)
    expires = None if days is None else by.at + days * DAY_S
    if who.role != "owner" and who.expires is not None:
        if expires is not None and expires > who.expires:
            expected = (
                f"should be at most {(who.expires - by.at) / DAY_S:.1f}, or left out: your own token expires then"
            )
            raise refuse_input(InputError("days", days, f"{expected}; an owner can give you more time"))
        expires = expires or who.expires
    token = new_token()
    made = add_token(services.store, name, secret_digest(token), expires=expires, by=by)
    if made == "not-found":
        raise operator_not_found(name)
    if made == "too-many-tokens":
        expected = f"has {MAX_TOKENS} tokens already, the most there can be; revoke one first"
        raise refuse_input(InputError("operator", name, expected))
    return NewToken(protocol=PROTOCOL, operator=name, id=made.id, token=token, expires=made.expires)


def _activity(services: Services, who: KnownToken, before: int | None, limit: int) -> ActivityList:
    found = list_activity(services.store, at_most=limit + 1, before=before, seen_by=sees(who), since=who.added)
    rows = tuple(Activity(**one._asdict()) for one in found[:limit])
    return ActivityList(protocol=PROTOCOL, activity=rows, earlier=rows[-1].number if len(found) > limit else None)


def _check_own(who: KnownToken, name: str) -> None:
    """Refuse what is about another operator, as if there were none of that name, unless an owner asks."""
    if who.role != "owner" and who.operator != name:
        raise operator_not_found(name)


def _check(name: str, refused: Literal["not-found", "last-owner"] | None) -> None:
    if refused == "not-found":
        raise operator_not_found(name)
    if refused == "last-owner":
        raise refuse("last-owner", f"operator = {name!r}: {LAST_OWNER}")
