"""Imitate a server in the same process, with a record of everything it was sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import numpy as np

import crowdveil as cv
from crowdveil.client import Device, DeviceSettings, HttpReply, HttpRequest, Ledger, ReportKey, RetryPolicy
from crowdveil.errors import ServerUnreachable
from crowdveil.limits import PrivacyLimits
from crowdveil.policy.grades import chances_of_grades
from crowdveil.wire import (
    PROTOCOL,
    Announcement,
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
from tests.town import square_town

LN4, LN8, LN64 = log(4), log(8), log(64)
THRESHOLDS = (0.5, 0.2, 0.1)
"""What divides the grades of announced campaigns; a policy with fewer grades uses the first ones."""
AREA = square_town(6)
TARGETS = (14, 22)
ROUTE = re.compile(r"/v1/campaigns/([a-z0-9-]+)(/.*)?")
PRIVATE_KEY = new_private_key()
SERVER_KEY = public_key(PRIVATE_KEY)
NOISE = ReportKey(SERVER_KEY, "noise")
CLEAR = PrivacyLimits(clear_reports=1000)
"""Limits of an owner who also answers in the clear form."""


def small_policy(
    area: cv.Area = AREA,
    targets: tuple[int, ...] = TARGETS,
    epsilon_per_km: float = LN4,
    null_epsilon: float | None = LN64,
    grade_epsilon: float | None = LN64,
    grades: int = 2,
) -> cv.Policy:
    return cv.optimal_policy(
        area,
        None,
        targets,
        epsilon_per_km=epsilon_per_km,
        beta=0.1,
        completion="informative",
        null_epsilon=null_epsilon,
        null_share=0.0 if null_epsilon is None else 0.1,
        grade_epsilon=grade_epsilon,
        grade_chances=chances_of_grades(THRESHOLDS[: grades - 1]) if grades > 2 else None,
    )


def three_grades(grade_epsilon: float = LN8, **options: Any) -> cv.Policy:
    """A policy as campaigns have by default: above 0.5, above 0.2, and less."""
    return small_policy(grade_epsilon=grade_epsilon, grades=3, **options)


def clear_policy(**options: Any) -> cv.Policy:
    """A policy as in the paper: who has no frequent place says so in the clear."""
    return small_policy(null_epsilon=None, grade_epsilon=None, **options)


def flat_policy(symbols: int = 1024) -> cv.Policy:
    """Every input sends each of many symbols equally often, so that two draws are hardly ever equal."""
    weights = np.full((2 * len(AREA) + 1, symbols), (1 << 53) // symbols)
    names = tuple(f"s{i}" for i in range(symbols))
    return cv.Policy(AREA, LN4, TARGETS, weights, names, null_epsilon=LN64, grade_epsilon=LN64, grades=2)


class FakeServer:
    """Answers for every campaign alike; tests of hostile campaigns change `terms` or `policy_bytes`."""

    def __init__(self, policy: cv.Policy, private_key: str = PRIVATE_KEY) -> None:
        self.private_key = private_key
        self.url = ""
        self.policy_bytes = policy.to_bytes()
        self.policy_hash = policy.hash
        self.terms: dict[str, Any] = {
            "protocol": PROTOCOL,
            "server_key": public_key(private_key),
            "name": "Noise map",
            "offer": "A coffee",
            "area": policy.area.describe(),
            "targets": list(policy.targets),
            "epsilon_per_km": policy.epsilon_per_km,
            "null_epsilon": policy.null_epsilon,
            "grade_epsilon": policy.grade_epsilon,
            "delta": THRESHOLDS[0],
            "lower_deltas": list(THRESHOLDS[1 : max(1, policy.grades - 1)]),
            "profile_constants": None,
            "target_names": None,
            "rule": "random",
            "period": "week",
            "enrolment": "open",
            "rounds": 3,
            "panel": False,
            "renewal_s": None,
            "seed_hash": "5" * 64,
        }
        self.round: int | None = 0
        self.state = "open"
        self.raw: bytes | None = None
        """What is announced instead, valid or not."""
        self.seats: dict[str, Seat] = {}
        self.reports: dict[str, list[bytes]] = {}
        """Every body ever sent, by the digest of the participant's secret."""
        self.requests: list[HttpRequest] = []
        self.interfere: Callable[[HttpRequest, HttpReply], HttpReply] = lambda _, reply: reply

    def send(self, request: HttpRequest) -> HttpReply:
        self.requests.append(request)
        return self.interfere(request, self._answer(request))

    def bodies(self, path_end: str) -> list[bytes]:
        return [request.body for request in self.requests if request.path.endswith(path_end)]

    def terms_of(self, campaign: str) -> Terms:
        return Terms.model_validate({"campaign": campaign, **self.terms})

    def announcement(self, campaign: str) -> Announcement:
        terms, notice = self.terms_of(campaign), None
        if self.round is not None:
            notice = RoundNotice.of(terms, self.round, self.policy_hash, self.private_key)
        return Announcement.model_validate(
            {"protocol": PROTOCOL, "terms": terms, "notice": notice, "state": self.state}
        )

    def _answer(self, request: HttpRequest) -> HttpReply:
        found = ROUTE.fullmatch(request.path)
        if found is None:
            return problem("not-found")
        campaign, what = found[1], found[2] or ""
        if what == "":
            return HttpReply(200, body=self.raw or self.announcement(campaign).to_bytes())
        if what.endswith("/policy"):
            return HttpReply(200, body=self.policy_bytes)
        if what == "/seats":
            return HttpReply(200, body=self._seat(campaign, request).to_bytes())
        who = secret_digest(request.headers["authorization"].removeprefix("Bearer "))
        seat = self.seats.get(who)
        if seat is None:
            return problem("unknown-participant")
        if what == "/status":
            return HttpReply(200, body=ParticipantStatus.of(campaign, seat.participant, "reported", "x").to_bytes())
        if request.method == "DELETE":
            del self.seats[who]
            self.reports.pop(who, None)
            gone = Withdrawal(protocol=PROTOCOL, campaign=campaign, participant=seat.participant)
            return HttpReply(200, body=gone.to_bytes())
        stored = self.reports.setdefault(who, [])
        stored.append(request.body)
        if stored[0] != request.body:
            return problem("report-conflict")
        return HttpReply(200, body=Receipt.of(campaign, seat.participant, Report.from_bytes(request.body)).to_bytes())

    def _seat(self, campaign: str, request: HttpRequest) -> Seat:
        assert self.round is not None
        seat = Seat(
            protocol=PROTOCOL,
            campaign=campaign,
            participant=len(self.seats),
            round=self.round,
            policy_hash=self.policy_hash,
            terms_hash=self.terms_of(campaign).hash,
        )
        return self.seats.setdefault(SeatRequest.from_bytes(request.body).secret_digest, seat)


def problem(kind: ProblemKind) -> HttpReply:
    body = Problem.of(kind)
    return HttpReply(body.status, body=body.to_bytes())


def no_answer() -> HttpReply:
    raise ServerUnreachable("no connection")


def without_waiting(settings: DeviceSettings | None = None) -> DeviceSettings:
    """Settings without waiting times."""
    return settings or DeviceSettings(retry_policy=RetryPolicy(attempts=4), seat_interval_s=0)


def new_device(
    path: Path,
    server: FakeServer,
    settings: DeviceSettings | None = None,
    limits: PrivacyLimits | None = None,
    **options: Any,
) -> Device:
    """A device with a new ledger at this path, if there is none yet."""
    if not path.exists():
        Ledger.create(path, limits=limits)
    return Device(without_waiting(settings), path, server, **{"sleep": lambda _: None, **options})
