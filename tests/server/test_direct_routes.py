"""The busiest requests are answered without the web framework, within the same guard."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from crowdveil.server import campaigns, health, participants
from crowdveil.server.direct_routes import DirectRequest, DirectRoute
from crowdveil.server.rate_limit import RateLimiter
from crowdveil.server.request_guard import CROSS_ORIGIN, HEADERS, complete_headers
from crowdveil.server.settings import ServerSettings
from crowdveil.store import Store
from crowdveil.wire import Report, Seat
from tests.server.harness import JSON, NAME, ServerHarness, kind_of

DIRECT = [route for module in (campaigns, health, participants) for route in module.routes.direct_routes]


def test_the_busiest_routes_are_answered_directly_and_described_by_the_framework(server: ServerHarness) -> None:
    named = {(route.method, route.path_format) for route in DIRECT}
    assert named == {
        ("GET", "/v1/ping"),
        ("GET", "/v1/campaigns/{campaign}"),
        ("GET", "/v1/campaigns/{campaign}/rounds/{number}/policy"),
        ("GET", "/v1/campaigns/{campaign}/status"),
        ("POST", "/v1/campaigns/{campaign}/seats"),
        ("PUT", "/v1/campaigns/{campaign}/report"),
    }
    described = server.app.openapi()["paths"]
    for method, path in named:
        operation = described[path][method.lower()]
        shown = {one["name"] for one in operation.get("parameters", ())}
        assert shown == set(re.findall(r"{(\w+)}", path))
        assert operation["description"]


def test_the_framework_never_sees_them(server: ServerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    server.start()
    seen: list[str] = []
    routed = server.app.middleware_stack

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["path"])
        assert routed is not None
        await routed(scope, receive, send)

    monkeypatch.setattr(server.app, "middleware_stack", watched)
    seat = Seat.from_bytes(server.take_seat("a device").content)
    answers = [
        server.ask("GET", "/v1/ping"),
        server.ask("GET", f"/v1/campaigns/{NAME}"),
        server.ask("GET", f"/v1/campaigns/{NAME}/rounds/0/policy"),
        server.ask("GET", f"/v1/campaigns/{NAME}/status", authorization="Bearer a device"),
        server.send_report("a device", Report.of(seat, 0)),
    ]
    assert [one.status_code for one in answers] == [204, 200, 200, 200, 200]
    assert seen == []
    server.ask("GET", "/healthz")
    assert seen == ["/healthz"]


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("GET", "/v1/ping/", "not-found"),
        ("POST", "/v1/ping", "method-not-allowed"),
        ("HEAD", "/v1/ping", ""),
        ("PUT", f"/v1/campaigns/{NAME}/seats", "method-not-allowed"),
        ("POST", "/v1/campaigns//seats", "not-found"),
        ("POST", f"/v1/campaigns/{NAME}/seats/", "not-found"),
        ("GET", f"/v1/campaigns/{NAME}/rounds/0/policies", "not-found"),
        ("GET", f"/v2/campaigns/{NAME}/status", "not-found"),
        ("GET", "/v1/campaigns/Coffee", "invalid"),
        ("GET", "/v1/campaigns/Coffee/status", "invalid"),
        ("POST", "/v1/campaigns/a%2Fb/seats", "not-found"),
        ("GET", f"/v1/campaigns/{NAME}/rounds/²/policy", "invalid"),
        ("GET", f"/v1/campaigns/{NAME}/rounds/0x1/policy", "invalid"),
    ],
)
def test_requests_that_only_resemble_them_are_refused(server: ServerHarness, method: str, path: str, kind: str) -> None:
    server.start()
    answer = server.ask(method, path)
    if kind:
        assert kind_of(answer) == kind
    assert answer.status_code in (404, 405, 422)
    for name, text in HEADERS.items():
        if name not in CROSS_ORIGIN:
            assert answer.headers[name] == text


def test_direct_requests_are_limited_and_counted_like_all_others(store: Store) -> None:
    with ServerHarness(store, ServerSettings(requests_per_minute=3), client="198.51.100.7") as server:
        kinds = [server.ask("GET", "/v1/ping").status_code for _ in range(4)]
        assert kinds == [204, 204, 204, 429]
        counted = server.app.state.services.metrics.registry.get_sample_value
        labels = {"route": "/v1/ping", "method": "GET", "status": "204"}
        assert counted("crowdveil_requests_total", labels) == 3
        assert counted("crowdveil_requests_total", {"route": "none", "method": "GET", "status": "429"}) == 1


def test_a_body_that_grows_too_large_on_the_way_is_refused(server: ServerHarness) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(70):
            yield b" " * 1000

    assert kind_of(server.stream("POST", f"/v1/campaigns/{NAME}/seats", parts())) == "too-large"


def test_a_policy_that_is_known_is_not_sent_again(server: ServerHarness) -> None:
    server.start()
    path = f"/v1/campaigns/{NAME}/rounds/0/policy"
    etag = server.ask("GET", path).headers["etag"]
    answer = server.ask("GET", path, if_none_match=etag)
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
    assert "immutable" in answer.headers["cache-control"]


def asked(messages: list[Message], headers: list[tuple[bytes, bytes]] | None = None) -> DirectRequest:
    waiting = list(messages)

    async def receive() -> Message:
        return waiting.pop(0)

    scope: dict[str, Any] = {"type": "http", "headers": headers or []}
    return DirectRequest(None, scope, receive, ())  # type: ignore[arg-type]


def test_a_body_in_pieces_is_put_together_and_a_lost_one_is_no_body() -> None:
    pieces: list[Message] = [
        {"type": "http.request", "body": b"a", "more_body": True},
        {"type": "http.request", "more_body": True},
        {"type": "http.request", "body": b"b"},
    ]
    assert asyncio.run(asked(pieces).body()) == b"ab"
    with pytest.raises(ClientDisconnect):
        asyncio.run(asked([pieces[0], {"type": "http.disconnect"}]).body())


def test_of_headers_given_twice_the_first_one_counts() -> None:
    request = asked([], [(b"authorization", b"one"), (b"authorization", b"two")])
    assert request.header(b"authorization") == "one"
    assert request.header(b"content-type") == ""


def test_a_route_matches_its_own_paths_only() -> None:
    async def handler(_: DirectRequest) -> Any: ...

    route = DirectRoute("GET", "/a/{x}/b/{y}", handler)
    assert route.parameters_of(["", "a", "1", "b", "2"]) == ("1", "2")
    assert route.parameters_of(["", "a", "1", "c", "2"]) is None
    assert route.parameters_of(["", "a", "", "b", "2"]) is None


def test_complete_headers_have_those_of_every_answer_and_the_answer_s_own() -> None:
    own = dict(complete_headers({"content-type": JSON["content-type"], "cache-control": "no-cache"}, cross_origin=True))
    assert own == {
        **{name.encode(): text.encode() for name, text in (HEADERS | CROSS_ORIGIN).items()},
        b"content-type": b"application/json",
        b"cache-control": b"no-cache",
    }


def test_what_is_over_the_limit_is_not_counted() -> None:
    now = [0.0]
    limiter = RateLimiter(60, clock=lambda: now[0])
    assert [limiter.take("198.51.100.7") for _ in range(62)] == [True] * 60 + [False] * 2
    now[0] = 1.0
    assert [limiter.take("198.51.100.7") for _ in range(2)] == [True, False]
