"""Build the application: routes, error handlers, what starts and stops with the server, and the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from itertools import chain
from time import time
from typing import Any

from crowdveil.extras import require_extra

require_extra("the server", "server")  # before the modules below import its libraries

# ruff: noqa: E402
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from crowdveil.server import campaigns, health, operators, participants, selections, team
from crowdveil.server.commit_queue import CommitQueue
from crowdveil.server.direct_routes import DirectRouter, DirectRoutes
from crowdveil.server.metrics import Metrics
from crowdveil.server.pages import add_pages, check_tiles
from crowdveil.server.previews import Previews
from crowdveil.server.rate_limit import RateLimiter
from crowdveil.server.refusals import RequestRefused, answer, refuse, refuse_input
from crowdveil.server.request_guard import RequestGuard
from crowdveil.server.seat_limit import SeatLimiter
from crowdveil.server.services import Services
from crowdveil.server.settings import ServerSettings
from crowdveil.store import Store, signing_key
from crowdveil.wire import first_error, json_schemas, new_private_key, public_key

ERROR = "crowdveil.error"
"""Where a request's scope keeps an error of the web framework's routes."""


def create_app(
    store: Store,
    settings: ServerSettings | None = None,
    *,
    metrics: Metrics | None = None,
    wake: Callable[[], None] = lambda: None,
    tile_url: str | None = None,
    clock: Callable[[], float] = time,
    previews: Previews | None = None,
) -> FastAPI:
    """Build the server without its scheduler, which `run.serve` starts; `scheduler.step` does one step of it."""
    settings, metrics = settings or ServerSettings(), metrics or Metrics()
    previews = previews or Previews()
    server_key = public_key(signing_key(store, new_private_key()))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        commit_queue = CommitQueue(store, settings, metrics, wake)
        services = Services(
            store=store,
            settings=settings,
            metrics=metrics,
            commit_queue=commit_queue,
            previews=previews,
            failures=RateLimiter(settings.failures_per_minute),
            seat_limiter=SeatLimiter(settings.seats_per_address),
            server_key=server_key,
            wake=wake,
            clock=clock,
        )
        app.state.services = direct.services = services
        commit_queue.start()
        try:
            yield
        finally:
            await commit_queue.stop()
            await services.previews.stop()

    app = _Application(
        title="crowdveil",
        version=version("crowdveil"),
        description="Choose the crowd that will cover your places, without learning where anyone is.",
        lifespan=lifespan,
        docs_url=None,  # both pages would load files from other hosts
        redoc_url=None,
        redirect_slashes=False,
    )
    modules = (campaigns, participants, operators, selections, team, health)
    add_pages(app, None if tile_url is None else check_tiles(tile_url))
    for module in modules:
        app.include_router(module.routes)
    routers = [one.routes for one in modules]
    described = [router.direct_routes for router in routers if isinstance(router, DirectRouter)]
    direct = DirectRoutes(app.routed, chain.from_iterable(described))
    app.add_middleware(_KeepErrors)
    app.guard = RequestGuard(direct, settings, metrics)
    app.add_exception_handler(RequestRefused, _refused)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _no_route)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


class _Application(FastAPI):
    """The guard, then the direct routes, then everything that the web framework does."""

    guard: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the guard, which is around everything else."""
        await self.guard(scope, receive, send)

    async def routed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer by the routes of the web framework, whose errors are the guard's to answer."""
        await super().__call__(scope, receive, send)
        error = scope.get(ERROR)
        if error is not None:
            raise error


class _KeepErrors:
    """Keep an error for the guard; the web framework would answer it in a way of its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            if scope["type"] != "http":
                raise
            scope[ERROR] = error


# --- errors --------------------------------------------------------------------------------------------------


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    return answer(error)


async def _not_valid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return answer(refuse_input(first_error([{**error.errors()[0], "loc": error.errors()[0]["loc"][1:]}])))


async def _no_route(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    refused = refuse("method-not-allowed" if error.status_code == 405 else "not-found")
    return answer(RequestRefused(refused.problem, {**refused.headers, **(error.headers or {})}))


# --- the OpenAPI document -------------------------------------------------------------------------------------


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        document["components"] = {
            "schemas": json_schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        }
        app.openapi_schema = json.loads(json.dumps(document))
    return app.openapi_schema
