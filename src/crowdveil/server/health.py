"""Serve health and metrics for monitoring."""

from __future__ import annotations

from fastapi import Response
from fastapi.concurrency import run_in_threadpool

from crowdveil.server.direct_routes import Answer, DirectRequest, DirectRouter
from crowdveil.server.metrics import CONTENT_TYPE
from crowdveil.server.request_guard import COMMON
from crowdveil.server.requests import ServicesOf, problems, send
from crowdveil.wire import PROTOCOL, Health

routes = DirectRouter(tags=["health"])


@routes.get("/healthz", response_model=Health, responses=problems())
async def health(services: ServicesOf) -> Response:
    """Check that a report could be stored now."""
    await run_in_threadpool(services.store.ping)
    return send(Health(protocol=PROTOCOL, status="ok"))


@routes.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "Counters for Prometheus", "content": {CONTENT_TYPE: {"schema": {"type": "string"}}}},
        **problems(),
    },
)
async def metrics(services: ServicesOf) -> Response:
    """Return counts and durations for Prometheus; no report, place or address."""
    text = await run_in_threadpool(services.metrics.text, services.store)
    return Response(text, headers={"content-type": CONTENT_TYPE})


@routes.direct("GET", "/v1/ping", status_code=204, response_class=Response, responses=problems())
async def ping(_: DirectRequest) -> Answer:
    """Answer without doing anything, to measure the cost of a request."""
    return PONG


PONG = Answer(204, b"", COMMON)
