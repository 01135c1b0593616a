"""The application: routes, errors, what starts and stops with the server, and an OpenAPI document that is true."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from time import time
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from crowdveil.server import campaigns, operations, operators, participants
from crowdveil.server.commit_queue import CommitQueue
from crowdveil.server.metrics import Metrics
from crowdveil.server.pages import add_pages, check_tiles
from crowdveil.server.previews import Previews
from crowdveil.server.rate_limit import RateLimiter
from crowdveil.server.refusals import RequestRefused, answer, refuse, refuse_input
from crowdveil.server.request_guard import RequestGuard
from crowdveil.server.services import Services
from crowdveil.server.settings import ServerSettings
from crowdveil.store import Store
from crowdveil.wire import first_error, json_schemas


def create_app(
    store: Store,
    settings: ServerSettings | None = None,
    *,
    metrics: Metrics | None = None,
    wake: Callable[[], None] = lambda: None,
    tile_url: str | None = None,
    clock: Callable[[], float] = time,
) -> FastAPI:
    """The server without its conductor; `run.serve` adds it, and `conductor.step` does its work by hand."""
    chosen, counted = settings or ServerSettings(), metrics or Metrics()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        commit_queue = CommitQueue(store, chosen, counted, wake)
        services = Services(
            store=store,
            settings=chosen,
            metrics=counted,
            commit_queue=commit_queue,
            previews=Previews(),
            failures=RateLimiter(chosen.failures_per_minute),
            wake=wake,
            clock=clock,
        )
        app.state.services = services
        commit_queue.start()
        try:
            yield
        finally:
            await commit_queue.stop()
            await services.previews.stop()

    app = FastAPI(
        title="crowdveil",
        version=version("crowdveil"),
        description="Chooses the crowd that will cover your places, without learning where anyone is.",
        lifespan=life,
        docs_url=None,  # both pages load from other hosts
        redoc_url=None,
        redirect_slashes=False,
    )
    add_pages(app, None if tile_url is None else check_tiles(tile_url))
    for room in (campaigns, participants, operators, operations):
        app.include_router(room.routes)
    app.add_middleware(RequestGuard, settings=chosen, metrics=counted)
    app.add_exception_handler(RequestRefused, _refused)
    app.add_exception_handler(RequestValidationError, _does_not_fit)
    app.add_exception_handler(HTTPException, _not_routed)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


# --- what goes wrong ------------------------------------------------------------------------------------------


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    return answer(error)


async def _does_not_fit(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return answer(refuse_input(first_error([{**error.errors()[0], "loc": error.errors()[0]["loc"][1:]}])))


async def _not_routed(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    refused = refuse("method-not-allowed" if error.status_code == 405 else "not-found")
    return answer(RequestRefused(refused.problem, {**refused.headers, **(error.headers or {})}))


# --- the OpenAPI document -------------------------------------------------------------------------------------


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        document["components"] = {
            "schemas": json_schemas(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        }
        app.openapi_schema = json.loads(json.dumps(document))
    return app.openapi_schema
