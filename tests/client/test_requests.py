"""Every request of a device, byte for byte, and when it is sent again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crowdveil.client import HttpReply, HttpRequest, RetryPolicy
from crowdveil.client.participant_client import ParticipantClient
from crowdveil.errors import ServerRefused, ServerUnreachable
from crowdveil.wire import POLICY_MEDIA_TYPE, PROTOCOL, Report, Seat, SeatRequest, secret_digest
from tests.client.fake_server import no_answer, problem

JSON = "application/json"
SEAT = Seat(protocol=PROTOCOL, campaign="noise", participant=3, round=0, policy_hash="a" * 64, terms_hash="b" * 64)
REPORT = Report.of(SEAT, 5)
BEARER = {"accept": JSON, "authorization": "Bearer my-secret"}


class Scripted:
    """A transport that answers with some replies, one after the other, and keeps what was sent."""

    def __init__(self, *replies: Callable[[], HttpReply]) -> None:
        self.replies = list(replies)
        self.requests: list[HttpRequest] = []

    def send(self, request: HttpRequest) -> HttpReply:
        self.requests.append(request)
        return self.replies.pop(0)()


class NoJitter:
    def random(self) -> float:
        return 0.0


def asked(transport: Scripted, attempts: int, waits: list[float]) -> ParticipantClient:
    client = ParticipantClient(transport, RetryPolicy(attempts=attempts), waits.append)
    client._random = NoJitter()  # type: ignore[assignment]
    return client


REQUESTS: dict[str, tuple[Callable[[ParticipantClient], object], HttpRequest]] = {
    "campaign": (
        lambda client: client.campaign("noise"),
        HttpRequest("GET", "/v1/campaigns/noise", {"accept": JSON}),
    ),
    "a campaign of another name": (
        lambda client: client.campaign("../a b/XX"),
        HttpRequest("GET", "/v1/campaigns/..%2Fa%20b%2FXX", {"accept": JSON}),
    ),
    "policy": (
        lambda client: client.policy("noise", 2),
        HttpRequest("GET", "/v1/campaigns/noise/rounds/2/policy", {"accept": POLICY_MEDIA_TYPE}),
    ),
    "seat": (
        lambda client: client.take_seat("noise", "my-secret", "card"),
        HttpRequest(
            "POST",
            "/v1/campaigns/noise/seats",
            {"accept": JSON, "content-type": JSON},
            SeatRequest(protocol=PROTOCOL, secret_digest=secret_digest("my-secret"), invite="card").to_bytes(),
        ),
    ),
    "report": (
        lambda client: client.send_report("noise", "my-secret", REPORT),
        HttpRequest("PUT", "/v1/campaigns/noise/report", {**BEARER, "content-type": JSON}, REPORT.to_bytes()),
    ),
    "status": (
        lambda client: client.status("noise", "my-secret"),
        HttpRequest("GET", "/v1/campaigns/noise/status", BEARER),
    ),
    "withdrawal": (
        lambda client: client.withdraw("noise", "my-secret"),
        HttpRequest("DELETE", "/v1/campaigns/noise/report", BEARER),
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_each_request_says_this_and_nothing_else(name: str) -> None:
    ask, expected = REQUESTS[name]
    transport = Scripted(lambda: problem("not-found"))
    with pytest.raises(ServerRefused):
        ask(asked(transport, 8, []))
    assert transport.requests == [expected]


@pytest.mark.parametrize(
    ("retry_after", "wait_s"),
    [
        (None, 0.0),
        ("7", 7.0),
        ("999999999", 60.0),
        ("9999999999", 0.0),
        ("-7", 0.0),
        ("1e1", 0.0),
        ("٧", 0.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 0.0),
    ],
)
def test_the_server_says_how_long_to_wait_in_whole_seconds(retry_after: str | None, wait_s: float) -> None:
    waits: list[float] = []
    headers = {} if retry_after is None else {"retry-after": retry_after}
    busy = problem("too-many-requests")
    transport = Scripted(lambda: HttpReply(busy.status, headers, busy.body), lambda: problem("not-found"))
    with pytest.raises(ServerRefused):
        asked(transport, 8, waits).campaign("noise")
    assert waits == [wait_s]


@pytest.mark.parametrize("kind", ["internal", "unavailable", "paused", "too-many-requests"])
def test_a_server_that_fails_is_asked_again_and_what_it_said_is_told(kind: str) -> None:
    waits: list[float] = []
    transport = Scripted(no_answer, lambda: problem(kind))  # type: ignore[arg-type]
    with pytest.raises(ServerUnreachable, match=r"^GET /v1/campaigns/noise: .+ \(after 2 attempts\)\. Join again"):
        asked(transport, 2, waits).campaign("noise")
    assert waits == [0.0]
    assert transport.requests[0] == transport.requests[1]


@pytest.mark.parametrize("status", [199, 300])
def test_what_is_no_success_is_not_read_whatever_it_says(status: int) -> None:
    transport = Scripted(lambda: HttpReply(status, body=SEAT.to_bytes()), lambda: HttpReply(201, body=SEAT.to_bytes()))
    assert asked(transport, 2, []).take_seat("noise", "my-secret", None) == SEAT
    assert len(transport.requests) == 2


def test_a_request_is_tried_eight_times_by_default() -> None:
    transport = Scripted(*[no_answer] * 20)
    client = ParticipantClient(transport, RetryPolicy(), lambda _: None)
    with pytest.raises(ServerUnreachable, match="after 8 attempts"):
        client.campaign("noise")
    assert len(transport.requests) == 8


def test_a_server_that_never_answered_is_told_apart_from_one_that_failed() -> None:
    with pytest.raises(ServerUnreachable, match=r"^GET /v1/campaigns/noise: no connection \(after 1 attempts\)"):
        asked(Scripted(no_answer), 1, []).campaign("noise")
