"""The line to the server: every request a device makes, and how it, or an operator, tries again.

A request is repeated, byte for byte, when no answer came, when the server was busy or failed (429, 5xx), and when what
answered does not speak this protocol (a portal of a hotel). Waits double, with full jitter, so that a thousand devices
do not return at once; they depend on the number of the attempt and on dice alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from secrets import SystemRandom
from typing import TypeVar
from urllib.parse import quote

from crowdveil.client.transport import HttpReply, HttpRequest, Transport
from crowdveil.errors import CampaignRefused, CrowdveilError, InputError, ServerRefused, ServerUnreachable
from crowdveil.policy.policy import Policy
from crowdveil.wire import (
    POLICY_MEDIA_TYPE,
    PROTOCOL,
    Announcement,
    ParticipantStatus,
    Problem,
    Receipt,
    Seat,
    SeatRequest,
    Upload,
    secret_digest,
)

JSON = "application/json"
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and how long, a device tries."""

    attempts: int = 8
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InputError("attempts", self.attempts, "should be at least 1")

    def wait_s(self, attempt: int, asked_s: float, dice: float) -> float:
        """Seconds before the next attempt: up to twice as long each time, and as long as the server asked."""
        most = min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(attempt, 60))
        return min(self.longest_wait_s, asked_s + dice * most)


class RetryingClient:
    """Asks until there is an answer that can be read, a refusal, or no patience left."""

    advice = ""
    """What to do when there was no answer."""

    def __init__(
        self,
        transport: Transport,
        retry_policy: RetryPolicy,
        sleep: Callable[[float], None],
    ) -> None:
        self._transport = transport
        self._patience = retry_policy
        self._sleep = sleep
        self._dice = SystemRandom()

    def ask(self, request: HttpRequest, read: Callable[[bytes], Answer]) -> Answer:
        """Send a request, again and unchanged where that may help, and read what came back."""
        reason = ""
        for attempt in range(self._patience.attempts):
            asked_s = 0.0
            try:
                reply = self._transport.send(request)
            except ServerUnreachable as error:
                reason = str(error)
            else:
                if 200 <= reply.status < 300:
                    return _read(request, reply, read)
                reason, asked_s = _busy(reply), _retry_after_s(reply)
            if attempt + 1 < self._patience.attempts:
                self._sleep(self._patience.wait_s(attempt, asked_s, self._dice.random()))
        tried = f"(after {self._patience.attempts} attempts). {self.advice}"
        raise ServerUnreachable(f"{request.method} {request.path}: {reason} {tried}".rstrip())


class ParticipantClient(RetryingClient):
    """The requests of one device, over any transport."""

    advice = "Join again later: what was drawn is kept, and sent unchanged"

    def campaign(self, campaign: str) -> Announcement:
        """What is announced to everyone."""
        return self.ask(_get(_path(campaign)), Announcement.from_bytes)

    def policy(self, campaign: str, number: int, read: Callable[[bytes], Policy] = Policy.from_bytes) -> Policy:
        """The policy of a round."""
        return self.ask(_get(_path(campaign, f"/rounds/{number}/policy"), POLICY_MEDIA_TYPE), read)

    def enrol(self, campaign: str, secret: str, invite: str | None) -> Seat:
        """A seat, the same one for the same secret."""
        body = SeatRequest(protocol=PROTOCOL, secret_digest=secret_digest(secret), invite=invite).to_bytes()
        request = HttpRequest("POST", _path(campaign, "/seats"), {"accept": JSON, "content-type": JSON}, body)
        return self.ask(request, Seat.from_bytes)

    def report(self, campaign: str, secret: str, upload: Upload) -> Receipt:
        """Send the one report; as often as it takes, always the same bytes."""
        headers = {"accept": JSON, "content-type": JSON, "authorization": f"Bearer {secret}"}
        request = HttpRequest("PUT", _path(campaign, "/report"), headers, upload.to_bytes())
        return self.ask(request, Receipt.from_bytes)

    def status(self, campaign: str, secret: str) -> ParticipantStatus:
        """How this device stands."""
        headers = {"accept": JSON, "authorization": f"Bearer {secret}"}
        return self.ask(HttpRequest("GET", _path(campaign, "/status"), headers), ParticipantStatus.from_bytes)


def _path(campaign: str, rest: str = "") -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}{rest}"


def _get(path: str, accept: str = JSON) -> HttpRequest:
    return HttpRequest("GET", path, {"accept": accept})


def _read(request: HttpRequest, reply: HttpReply, read: Callable[[bytes], Answer]) -> Answer:
    try:
        return read(reply.body)
    except CrowdveilError as error:
        raise CampaignRefused(f"{request.method} {request.path}: the answer makes no sense: {error}") from None


def _busy(reply: HttpReply) -> str:
    """Why to try again; a refusal of the server's own is raised instead."""
    try:
        problem = Problem.from_bytes(reply.body)
    except InputError:
        return f"status {reply.status} without a problem document; is this the right server?"
    if problem.status != reply.status:
        return f"status {reply.status} with a problem document for {problem.status}"
    if reply.status < 500 and reply.status != 429:
        raise ServerRefused(problem.kind, problem.detail)
    return f"{problem.title} ({problem.detail})"


def _retry_after_s(reply: HttpReply) -> float:
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0.0
