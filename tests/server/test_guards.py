"""The server's guards to the last letter: the longest token, the least rate, who counts as whom."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from crowdveil.errors import StoreError
from crowdveil.server import rate_limit
from crowdveil.server.metrics import Metrics
from crowdveil.server.rate_limit import HashedNetworks, RateLimiter, is_loopback, network_of
from crowdveil.server.request_guard import RequestGuard, address_of
from crowdveil.server.requests import MAX_TOKEN, body_of, problems
from crowdveil.server.settings import ServerSettings
from crowdveil.server.tokens import OPERATOR, issue_operator_token
from crowdveil.store import known_tokens, open_store
from crowdveil.wire import Report, secret_digest
from tests.server.harness import ServerHarness, kind_of

MALFORMED = "the authorization header should be"


@pytest.mark.parametrize(
    ("header", "well_formed"),
    [
        ("Bearer " + "a" * MAX_TOKEN, True),
        ("Bearer " + "a" * (MAX_TOKEN + 1), False),
        ("bearer a", True),
        ("Bearer  a ", True),
        ("Bearer ", False),
        ("Basic a", False),
        ("", False),
    ],
)
def test_a_token_has_one_to_200_letters(server: ServerHarness, header: str, well_formed: bool) -> None:
    assert MAX_TOKEN == 200
    answer = server.ask("GET", "/v1/operator/campaigns", authorization=header)
    assert kind_of(answer) == "unauthorized"
    assert (MALFORMED not in answer.text) == well_formed


def test_a_minute_s_requests_may_come_at_once_and_then_one_by_one() -> None:
    now = [0.0]
    limiter = RateLimiter(60, clock=lambda: now[0])
    for _ in range(60):
        assert limiter.allows("198.51.100.7")
        limiter.count("198.51.100.7")
    assert not limiter.allows("198.51.100.7")
    assert limiter.allows("198.51.100.8")
    now[0] = 0.99
    assert not limiter.allows("198.51.100.7")
    now[0] = 1.0
    assert limiter.allows("198.51.100.7")
    now[0] = 1000.0
    for _ in range(60):
        limiter.count("198.51.100.7")
    assert not limiter.allows("198.51.100.7")


def test_an_address_that_is_counted_while_refused_owes_nothing_more() -> None:
    now = [0.0]
    limiter = RateLimiter(1, clock=lambda: now[0])
    for _ in range(5):
        limiter.count("198.51.100.7")
    now[0] = 60.0
    assert limiter.allows("198.51.100.7")


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:0db8:0001:0002"),
        ("2001:db8:1:2::9", "2001:0db8:0001:0002"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("a socket", "a socket"),
    ],
)
def test_an_ipv6_customer_is_one_network(address: str, network: str) -> None:
    assert network_of(address) == network


def test_only_this_machine_is_this_machine() -> None:
    assert [is_loopback(one) for one in ("127.0.0.1", "::1", "127.9.9.9")] == [True] * 3
    assert [is_loopback(one) for one in ("198.51.100.7", "localhost.example.org", "")] == [False] * 3


def test_a_token_is_issued_once_unless_it_is_to_be_replaced(url: str) -> None:
    first = issue_operator_token(url)
    assert first is not None
    assert len(first) == 43
    assert issue_operator_token(url) is None
    second = issue_operator_token(url, replace=True)
    assert second not in (None, first)
    with open_store(url) as store:
        found = [(one.operator, one.role, one.token_hash) for one in known_tokens(store)]
        assert found == [(OPERATOR, "owner", secret_digest(str(second)))]


def test_addresses_are_hashed_with_a_key_of_their_own() -> None:
    one, other = HashedNetworks(), HashedNetworks()
    assert one.hashed("198.51.100.7") == one.hashed("198.51.100.7")
    assert one.hashed("198.51.100.7") != other.hashed("198.51.100.7")
    assert len(one.hashed("198.51.100.7")) == 16


def test_when_there_are_too_many_addresses_the_one_idle_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limit, "MAX_ADDRESSES", 2)
    limiter = RateLimiter(1, clock=lambda: 0.0)
    for address in ("198.51.100.1", "198.51.100.2"):
        limiter.count(address)
    assert not limiter.allows("198.51.100.1")
    limiter.count("198.51.100.3")
    assert [limiter.allows(f"198.51.100.{last}") for last in (1, 2, 3)] == [True, False, False]


# --- the guard around the routes, without a server ------------------------------------------------------------


class Guarded:
    """A guard around one route, what it sent, and what it counted."""

    def __init__(self, route: Any, settings: ServerSettings | None = None) -> None:
        self.metrics = Metrics()
        self.sent: list[Message] = []
        self._guard = RequestGuard(route, settings or ServerSettings(), self.metrics)

    def ask(self, **changed: Any) -> None:
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "client": ("127.0.0.1", 1), **changed}
        asyncio.run(self._guard(scope, self.receive, self.send))

    async def receive(self) -> Message:
        return {"type": "http.request", "body": b""}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    def counted(self) -> list[tuple[str, str, str]]:
        (family,) = [one for one in self.metrics.registry.collect() if one.name == "crowdveil_requests"]
        return [
            (one.labels["route"], one.labels["method"], one.labels["status"])
            for one in family.samples
            if one.name.endswith("_total")
        ]


async def answers(scope: Scope, receive: Receive, send: Send) -> None:
    await Response(status_code=204)(scope, receive, send)


async def hangs_up(scope: Scope, receive: Receive, send: Send) -> None:
    raise ClientDisconnect


async def loses_its_store(scope: Scope, receive: Receive, send: Send) -> None:
    raise StoreError("the disk is full")


@pytest.mark.parametrize(
    ("route", "changed", "counted"),
    [
        (answers, {"route": SimpleNamespace(path_format="/v1/x/{y}")}, ("/v1/x/{y}", "GET", "204")),
        (answers, {"method": "INVENTED"}, ("none", "other", "204")),
        (hangs_up, {}, ("none", "GET", "0")),
        (loses_its_store, {"method": "PUT"}, ("none", "PUT", "503")),
    ],
)
def test_requests_are_counted_by_route_method_and_status(
    route: Any, changed: dict[str, Any], counted: tuple[str, str, str]
) -> None:
    guarded = Guarded(route)
    guarded.ask(**changed)
    assert guarded.counted() == [counted]


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_usual_methods_are_counted_by_name(method: str) -> None:
    guarded = Guarded(answers)
    guarded.ask(method=method)
    assert guarded.counted() == [("none", method, "204")]


def test_a_client_without_an_address_is_served_and_counted_as_one() -> None:
    assert address_of({"client": None}) == ""
    assert address_of({"client": ("198.51.100.7", 80)}) == "198.51.100.7"
    guarded = Guarded(answers, ServerSettings(requests_per_minute=2))
    for _ in range(3):
        guarded.ask(client=None)
    assert [status for _, _, status in guarded.counted()] == ["204", "429"]


@pytest.mark.parametrize(
    ("path", "limit"), [("/v1/campaigns/x/seats", "body_bytes"), ("/v1/operator/x", "operator_body_bytes")]
)
def test_a_body_that_is_announced_too_large_is_never_read(path: str, limit: str) -> None:
    most = getattr(ServerSettings(), limit)
    for size, status in ((str(most), "204"), (str(most + 1), "413"), ("no number", "204")):
        guarded = Guarded(answers)
        guarded.ask(method="PUT", path=path, headers=[(b"content-length", size.encode())])
        assert guarded.counted() == [("none", "PUT", status)]


def test_what_is_no_request_passes_untouched() -> None:
    seen: list[tuple[object, ...]] = []

    async def route(*given: object) -> None:
        seen.append(given)

    guarded = Guarded(route)
    scope = {"type": "lifespan"}
    asyncio.run(guarded._guard(scope, guarded.receive, guarded.send))
    assert seen == [(scope, guarded.receive, guarded.send)]
    assert guarded.counted() == []


def test_nothing_is_kept_by_caches_unless_a_route_says_so() -> None:
    guarded = Guarded(answers)
    guarded.ask()
    assert (b"cache-control", b"no-store") in guarded.sent[0]["headers"]


def test_a_store_that_fails_is_logged_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "crowdveil"):
        Guarded(loses_its_store).ask()
    (record,) = caplog.records
    assert (record.getMessage(), vars(record)["reason"]) == ("store-unavailable", "the disk is full")


@pytest.mark.parametrize(("number", "status"), [(-1, 422), (2**31 - 1, 404), (2**31, 422)])
def test_the_number_of_a_round_fits_the_database(server: ServerHarness, number: int, status: int) -> None:
    server.start()
    assert server.ask("GET", f"/v1/campaigns/coffee/rounds/{number}/policy").status_code == status


# --- bodies and their descriptions ----------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_told_how_large_it_may_be(server: ServerHarness) -> None:
    limit = ServerSettings().body_bytes
    refused = server.ask("POST", "/v1/campaigns/coffee/seats", b" " * (limit + 1))
    assert kind_of(refused) == "too-large"
    assert f"the body of the request is larger than {limit:,} bytes" in refused.text


@pytest.mark.parametrize(
    ("content_type", "kind", "said"),
    [
        ("application/json; charset=utf-8", "malformed", ""),
        (" Application/JSON ", "malformed", ""),
        ("text/plain", "unsupported-media-type", "content-type = 'text/plain': should be application/json"),
        ("", "unsupported-media-type", "content-type = '': should be application/json"),
    ],
)
def test_a_body_is_json_and_says_so(server: ServerHarness, content_type: str, kind: str, said: str) -> None:
    server.start()
    answer = server.ask("POST", "/v1/campaigns/coffee/seats", b"{", content_type=content_type)
    assert kind_of(answer) == kind
    assert said in answer.text


def test_a_body_without_a_content_type_is_refused_and_answers_are_json(server: ServerHarness) -> None:
    server.start()
    answer = server._request("POST", "/v1/campaigns/coffee/seats", b"{}", {})
    assert kind_of(answer) == "unsupported-media-type"
    assert "content-type = ''" in answer.text
    assert server.take_seat("a secret").headers["content-type"] == "application/json"


def test_bodies_and_problems_are_described_like_this() -> None:
    assert body_of(Report) == {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Report"}}},
        }
    }
    found = problems("forbidden", "unauthorized")
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    assert list(found) == [401, 403, 413, 422, 429, 500, 503]
    assert all(one["content"] == content and set(one) == {"description", "content"} for one in found.values())
    kinds = [one["description"].partition(":")[0] for one in found.values()]
    assert kinds == [
        "unauthorized",
        "forbidden",
        "too-large",
        "invalid",
        "too-many-requests",
        "internal",
        "unavailable",
    ]
    refused = problems("too-many-seats", "forbidden")[403]["description"]
    assert refused == (
        "forbidden: This token is for another role; too-many-seats: Too many people have joined from this network "
        "address; use another network"
    )
