"""A server in the same process that answers as a hostile operator would, and keeps everything it is sent."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import crowdveil as cv
from crowdveil.client import HttpReply, HttpRequest
from crowdveil.codec import canonical_json
from crowdveil.errors import ServerUnreachable
from crowdveil.wire import (
    PROTOCOL,
    ParticipantStatus,
    Problem,
    ProblemKind,
    Receipt,
    Report,
    RoundNotice,
    Seat,
    SeatRequest,
    Terms,
    Withdrawal,
    new_private_key,
    public_key,
    secret_digest,
)

ROUTE = re.compile(r"/v1/campaigns/([a-z0-9-]+)(/.*)?")
_packed: dict[str, bytes] = {}
"""The bytes of policies that many servers offer."""
SEED_HASH = hashlib.sha256(bytes(32)).hexdigest()


@dataclass
class Offered:
    """What the server says about one campaign at the moment; an attack may change any of it at any time."""

    policy: cv.Policy
    terms: dict[str, Any]
    notice: dict[str, Any]
    policy_bytes: bytes


@dataclass
class HostileServer:
    """Offers whatever campaign it is told to, properly signed; it is its policies and its timing that are hostile."""

    private_key: str = field(default_factory=new_private_key)
    url: str = "https://hostile.example.org"
    offered: dict[str, Offered] = field(default_factory=dict)
    seats: dict[tuple[str, str], Seat] = field(default_factory=dict)
    """By campaign and digest of the secret."""
    learnt: dict[str, list[int | None]] = field(default_factory=dict)
    """The symbols that came in, by campaign."""
    requests: list[HttpRequest] = field(default_factory=list)
    interfere: Callable[[HttpRequest, HttpReply], HttpReply] = lambda _, reply: reply

    @property
    def key(self) -> str:
        """The public key."""
        return public_key(self.private_key)

    def offer(self, campaign: str, policy: cv.Policy, number: int = 0, **changes: Any) -> Terms:
        """Offer a campaign with this policy; terms follow from the policy unless they are changed."""
        fields = {
            "protocol": PROTOCOL,
            "campaign": campaign,
            "server_key": self.key,
            "name": "Noise map",
            "offer": "A coffee",
            "area": policy.area.describe(),
            "targets": list(policy.targets),
            "epsilon_per_km": policy.epsilon_per_km,
            "null_epsilon": policy.null_epsilon,
            "grade_epsilon": policy.grade_epsilon,
            "delta": 0.5,
            "lower_deltas": [],
            "profile_constants": None,
            "target_names": None,
            "rule": "random",
            "period": "week",
            "enrolment": "open",
            "rounds": 3,
            "panel": False,
            "renewal_s": None,
            "seed_hash": SEED_HASH,
        }
        terms = Terms.model_validate({**fields, **changes})
        notice = RoundNotice.of(terms, number, policy.hash, self.private_key)
        if policy.hash not in _packed:
            _packed[policy.hash] = policy.to_bytes()
        self.offered[campaign] = Offered(policy, terms.model_dump(), notice.model_dump(), _packed[policy.hash])
        return terms

    def send(self, request: HttpRequest) -> HttpReply:
        """Answer a device; the transport of the attacks."""
        self.requests.append(request)
        return self.interfere(request, self._answer(request))

    def sent(self, method: str) -> list[HttpRequest]:
        """The requests with this method."""
        return [request for request in self.requests if request.method == method]

    def _answer(self, request: HttpRequest) -> HttpReply:
        found = ROUTE.fullmatch(request.path)
        if found is None or found[1] not in self.offered:
            return problem("not-found")
        campaign, what, offered = found[1], found[2] or "", self.offered[found[1]]
        if what == "":
            said = {"protocol": PROTOCOL, "terms": offered.terms, "notice": offered.notice, "state": "open"}
            return HttpReply(200, body=canonical_json(said).encode())
        if what.endswith("/policy"):
            return HttpReply(200, body=offered.policy_bytes)
        if what == "/seats":
            return HttpReply(200, body=self._seat(campaign, SeatRequest.from_bytes(request.body)).to_bytes())
        seat = self.seats.get((campaign, secret_digest(request.headers["authorization"].removeprefix("Bearer "))))
        if seat is None:
            return problem("unknown-participant")
        if what == "/status":
            return HttpReply(200, body=ParticipantStatus.of(campaign, seat.participant, "reported", "x").to_bytes())
        if request.method == "DELETE":
            body = Withdrawal(protocol=PROTOCOL, campaign=campaign, participant=seat.participant)
            return HttpReply(200, body=body.to_bytes())
        report = Report.from_bytes(request.body)
        self.learnt.setdefault(campaign, []).append(report.symbol_number)
        return HttpReply(200, body=Receipt.of(campaign, seat.participant, report).to_bytes())

    def _seat(self, campaign: str, request: SeatRequest) -> Seat:
        notice = self.offered[campaign].notice
        seat = Seat(
            protocol=PROTOCOL,
            campaign=campaign,
            participant=secrets.randbelow(2**53),
            round=notice["round"],
            policy_hash=notice["policy_hash"],
            terms_hash=notice["terms_hash"],
        )
        return self.seats.setdefault((campaign, request.secret_digest), seat)


def problem(kind: ProblemKind) -> HttpReply:
    """Refuse a request."""
    body = Problem.of(kind)
    return HttpReply(body.status, body=body.to_bytes())


def no_answer() -> HttpReply:
    """Let the connection fail."""
    raise ServerUnreachable("no connection")
