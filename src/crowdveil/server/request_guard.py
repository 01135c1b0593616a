"""Guard every request: rate limits and body sizes before the routes, security headers and error answers after them.

The routes of participants, and only they, may be used by pages of any origin: a participant's page need not come from
the server that it reports to. No cookies and no credentials are involved; a device's secret is in a header that the
page sets itself.
"""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crowdveil.errors import StoreError
from crowdveil.server.logs import log
from crowdveil.server.metrics import Metrics
from crowdveil.server.rate_limit import RateLimiter, is_loopback
from crowdveil.server.refusals import RequestRefused, answer, refuse
from crowdveil.server.settings import ServerSettings

OPERATOR = "/v1/operator/"
PARTICIPANT = "/v1/campaigns/"
CROSS_ORIGIN = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "etag, retry-after",
    "cross-origin-resource-policy": "cross-origin",
}
PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, PUT, DELETE",
    "access-control-allow-headers": "authorization, content-type, if-none-match",
    "access-control-max-age": "86400",
}
HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class RequestGuard:
    """ASGI middleware around all routes."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._limiter = RateLimiter(settings.requests_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the routes, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0
        common = HEADERS | CROSS_ORIGIN if scope["path"].startswith(PARTICIPANT) else HEADERS

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in common.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self._pass(scope, receive, send_with_headers)
        except ClientDisconnect:
            return  # nobody is there to be answered
        except Exception as error:
            refused = _refusal(error)
            if status:  # the answer has begun: end the connection, and the device will retry
                raise
            await answer(refused)(scope, receive, send_with_headers)
        finally:
            route = getattr(scope.get("route"), "path_format", "none")
            self._metrics.requests.labels(route, _known_method(scope["method"]), str(status)).inc()

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = address_of(scope)
        if not is_loopback(address):
            if not self._limiter.allows(address):
                raise refuse("too-many-requests")
            self._limiter.count(address)
        if scope["method"] == "OPTIONS" and scope["path"].startswith(PARTICIPANT):
            await Response(status_code=204, headers=PREFLIGHT)(scope, receive, send)
            return
        operator = scope["path"].startswith(OPERATOR)
        limit = self._settings.operator_body_bytes if operator else self._settings.body_bytes
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdecimal() and int(announced) > limit:
            raise _too_large(limit)
        read = 0

        async def receive_within_limit() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > limit:
                raise _too_large(limit)
            return message

        await self._app(scope, receive_within_limit, send)


def address_of(scope: Scope) -> str:
    """Return the address of the client; used for rate limits only."""
    client = scope.get("client")
    return client[0] if client else ""


def _too_large(limit: int) -> RequestRefused:
    return refuse("too-large", f"the body of the request is larger than {limit:,} bytes")


def _refusal(error: Exception) -> RequestRefused:
    if isinstance(error, RequestRefused):
        return error
    if isinstance(error, StoreError):
        log().error("store-unavailable", extra={"reason": str(error)})
        return refuse("unavailable")
    log().error("internal", exc_info=error)
    return refuse("internal")


def _known_method(method: str) -> str:
    """Group unknown methods, so that invented ones do not create counters without bound."""
    return method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS") else "other"
