"""Answer the busiest requests without the web framework, which would take several times as long as the answer itself.

A `DirectRouter` describes its routes to FastAPI, for the OpenAPI document, and keeps their handlers. `DirectRoutes`
stands between the request guard and the framework: it calls the handler of a request that matches one of them, and
passes on all others. The guard is around both, so no path leads past it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from fastapi import APIRouter
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from crowdveil.errors import InputError
from crowdveil.server.refusals import refuse, refuse_input
from crowdveil.server.request_guard import CompleteHeaders, complete_headers
from crowdveil.server.services import Services
from crowdveil.wire import Message

JSON = "application/json"
MessageType = TypeVar("MessageType", bound=Message)


class Answer(NamedTuple):
    """The response to a request."""

    status: int
    body: bytes
    headers: CompleteHeaders
    """All but content-length; made by `complete_headers`."""


class DirectRequest:
    """A request as its handler sees it."""

    __slots__ = ("_receive", "parameters", "scope", "services")

    def __init__(self, services: Services, scope: Scope, receive: Receive, parameters: tuple[str, ...]) -> None:
        self.services = services
        self.scope = scope
        self.parameters = parameters
        """The parameters of the path, in order."""
        self._receive = receive

    def header(self, name: bytes) -> str:
        """Return a header; an empty text if there is none."""
        for given, value in self.scope["headers"]:
            if given == name:
                text: str = value.decode("latin-1")
                return text
        return ""

    async def body(self) -> bytes:
        """Return the whole body; the guard limits its size."""
        body: bytes = b""
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            if not message.get("more_body", False):
                return body

    async def read(self, message: type[MessageType]) -> MessageType:
        """Read the body as a message."""
        given = self.header(b"content-type")
        if given != JSON:
            check_json(given)
        return read_message(await self.body(), message)


Handler: TypeAlias = Callable[[DirectRequest], Awaitable[Answer]]


class DirectRoute:
    """A route with the handler that answers its requests."""

    def __init__(self, method: str, path: str, handler: Handler) -> None:
        self.method = method
        self.path_format = path
        """As the metrics name it."""
        self.handler = handler
        parts = path.split("/")
        self.length = len(parts)
        self._fixed = [(index, part) for index, part in enumerate(parts) if not part.startswith("{")]
        self._variable = [index for index, part in enumerate(parts) if part.startswith("{")]

    def parameters_of(self, parts: list[str]) -> tuple[str, ...] | None:
        """Return the parameters of a path that was split at its slashes; None if the path is another route's."""
        for index, part in self._fixed:
            if parts[index] != part:
                return None
        found = tuple([parts[index] for index in self._variable])
        return found if all(found) else None


class DirectRouter(APIRouter):
    """Routes that are answered directly, beside those of the framework."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.direct_routes: list[DirectRoute] = []

    def direct(self, method: str, path: str, **described: Any) -> Callable[[Handler], Handler]:
        """Add a route with its handler; `described` is for the OpenAPI document only."""

        def add(handler: Handler) -> Handler:
            async def endpoint() -> None:
                raise NotImplementedError(f"{method} {path} is answered by DirectRoutes")

            endpoint.__name__, endpoint.__doc__ = handler.__name__, handler.__doc__
            self.add_api_route(path, endpoint, methods=[method], **{"response_model": None, **described})
            self.direct_routes.append(DirectRoute(method, self.prefix + path, handler))
            return handler

        return add


class DirectRoutes:
    """ASGI application that answers the direct routes, and passes all other requests on."""

    def __init__(self, app: ASGIApp, routes: Iterable[DirectRoute]) -> None:
        self._app = app
        self._routes: dict[tuple[str, int], list[DirectRoute]] = {}
        for route in routes:
            self._routes.setdefault((route.method, route.length), []).append(route)
        self.services: Services | None = None
        """What the handlers share; set when the server starts."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "http" and self.services is not None:
            parts = scope["path"].split("/")
            for route in self._routes.get((scope["method"], len(parts)), ()):
                parameters = route.parameters_of(parts)
                if parameters is not None:
                    scope["route"] = route
                    found = await route.handler(DirectRequest(self.services, scope, receive, parameters))
                    headers = found.headers
                    if found.status not in (204, 304):
                        headers = headers.with_length(len(found.body))
                    await send({"type": "http.response.start", "status": found.status, "headers": headers})
                    await send({"type": "http.response.body", "body": found.body})
                    return
        await self._app(scope, receive, send)


def check_json(content_type: str) -> None:
    """Refuse a body of another type than JSON."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind != JSON:
        raise refuse("unsupported-media-type", f"content-type = {kind!r}: should be {JSON}")


def read_message(body: bytes, message: type[MessageType]) -> MessageType:
    """Read a body as a message."""
    try:
        return message.from_bytes(body)
    except InputError as error:
        raise refuse_input(error, "malformed" if error.field == "body" else "invalid") from None


PARTICIPANTS_JSON = complete_headers({"content-type": JSON}, cross_origin=True)


def answer_with(message: Message) -> Answer:
    """Answer a participant with a message."""
    return Answer(200, message.to_bytes(), PARTICIPANTS_JSON)
