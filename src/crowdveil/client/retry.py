"""Send a request again, unchanged, until an answer comes that can be read.

A request is repeated when no answer came, when the server was busy or failed (429, 5xx), and when the answer is not of
this protocol (for example the login page of a hotel's network). Waits double, with full jitter, so that a thousand
devices do not return at once. They depend only on the number of the attempt and on chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from secrets import SystemRandom
from typing import TypeVar

from crowdveil.client.transport import HttpReply, HttpRequest, Transport
from crowdveil.errors import CampaignRefused, CrowdveilError, InputError, ServerRefused, ServerUnreachable
from crowdveil.wire import Problem

JSON = "application/json"
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class RetryPolicy:
    """How often a request is tried, and how long to wait between attempts."""

    attempts: int = 8
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InputError("attempts", self.attempts, "should be at least 1")

    def wait_s(self, attempt: int, retry_after_s: float, jitter: float) -> float:
        """Return the seconds until the next attempt: up to twice as long each time, plus what the server asked for."""
        longest = min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(attempt, 60))
        return min(self.longest_wait_s, retry_after_s + jitter * longest)


class RetryingClient:
    """Send requests until an answer can be read, the server refuses, or the attempts are used up."""

    advice = ""
    """What a person can do when no answer came; ends the error message."""

    def __init__(
        self,
        transport: Transport,
        retry_policy: RetryPolicy,
        sleep: Callable[[float], None],
    ) -> None:
        self._transport = transport
        self._retry_policy = retry_policy
        self._sleep = sleep
        self._random = SystemRandom()

    def send(self, request: HttpRequest, read: Callable[[bytes], Answer]) -> Answer:
        """Send a request, again and unchanged where that may help, and read the answer."""
        reason = ""
        for attempt in range(self._retry_policy.attempts):
            retry_after_s = 0.0
            try:
                reply = self._transport.send(request)
            except ServerUnreachable as error:
                reason = str(error)
            else:
                if 200 <= reply.status < 300:
                    return _read(request, reply, read)
                reason, retry_after_s = _reason_to_retry(reply), _retry_after_s(reply)
            if attempt + 1 < self._retry_policy.attempts:
                self._sleep(self._retry_policy.wait_s(attempt, retry_after_s, self._random.random()))
        tried = f"(after {self._retry_policy.attempts} attempts). {self.advice}"
        raise ServerUnreachable(f"{request.method} {request.path}: {reason} {tried}".rstrip())


def _read(request: HttpRequest, reply: HttpReply, read: Callable[[bytes], Answer]) -> Answer:
    try:
        return read(reply.body)
    except CrowdveilError as error:
        raise CampaignRefused(f"{request.method} {request.path}: the server's answer is not valid: {error}") from None


def _reason_to_retry(reply: HttpReply) -> str:
    """Say why the request should be tried again; a refusal by the server is raised instead."""
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
