"""Guard every request: rate limits and body sizes before the routes, security headers and error answers after them.

The guard is around the direct routes and the web framework alike.

The routes of participants, and only they, may be used by pages of any origin: a participant's page need not come from
the server that it reports to. No cookies and no credentials are involved; a device's secret is in a header that the
page sets itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

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


RawHeaders: TypeAlias = list[tuple[bytes, bytes]]


class CompleteHeaders(RawHeaders):
    """Headers of an answer that `complete_headers` has made, so that the guard need not add any."""

    rendered: bytes
    """All of them as they are sent, so that they are joined only once."""
    length: int = 0
    """The content-length, if it is among them."""

    def __init__(self, headers: RawHeaders, rendered: bytes | None = None) -> None:
        super().__init__(headers)
        self.rendered = b"".join([b"%b: %b\r\n" % one for one in headers]) if rendered is None else rendered

    def with_length(self, length: int) -> CompleteHeaders:
        """Return these headers and the content-length."""
        sized = CompleteHeaders([*self, (b"content-length", b"%d" % length)], self.rendered + LENGTH % length)
        sized.length = length
        return sized

    def with_etag(self, etag: str) -> CompleteHeaders:
        """Return these headers and an ETag of a quoted hash."""
        return CompleteHeaders([*self, (b"etag", etag.encode("ascii"))])


LENGTH = b"content-length: %d\r\n"


def complete_headers(own: Mapping[str, str], *, cross_origin: bool) -> CompleteHeaders:
    """Return an answer's own headers with those of every answer, on the participants' routes with `cross_origin`."""
    common = {"cache-control": "no-store", **HEADERS, **(CROSS_ORIGIN if cross_origin else {})}
    return CompleteHeaders([(name.encode(), value.encode()) for name, value in (common | dict(own)).items()])


COMMON = complete_headers({}, cross_origin=False)
COMMON_CROSS_ORIGIN = complete_headers({}, cross_origin=True)


class RequestGuard:
    """ASGI middleware around everything that answers requests."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._limiter = RateLimiter(settings.requests_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if type(message.get("headers")) is not CompleteHeaders:
                    _add_headers(message, scope["path"].startswith(PARTICIPANT))
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
            self._metrics.count_request(route, _known_method(scope["method"]), status)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = address_of(scope)
        if not is_loopback(address) and not self._limiter.take(address):
            raise refuse("too-many-requests")
        if scope["method"] == "OPTIONS" and scope["path"].startswith(PARTICIPANT):
            await Response(status_code=204, headers=PREFLIGHT)(scope, receive, send)
            return
        operator = scope["path"].startswith(OPERATOR)
        limit = self._settings.operator_body_bytes if operator else self._settings.body_bytes
        for name, announced in scope["headers"]:
            if name == b"content-length" and announced.isdigit() and int(announced) > limit:
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


def _add_headers(message: Message, cross_origin: bool) -> None:
    given = list(message.get("headers", ()))
    names = {name.lower() for name, _ in given}
    common = COMMON_CROSS_ORIGIN if cross_origin else COMMON
    message["headers"] = given + [one for one in common if one[0] not in names]


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
