"""Imitate a server in the same process, with a record of everything it was sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import numpy as np

import crowdveil as cv
from crowdveil.client import Device, DeviceSettings, HttpReply, HttpRequest, Ledger, RetryPolicy
from crowdveil.codec import canonical_json
from crowdveil.errors import ServerUnreachable
from crowdveil.wire import (
    PROTOCOL,
    Announcement,
    ParticipantStatus,
    Problem,
    ProblemKind,
    Receipt,
    Report,
    Seat,
    SeatRequest,
    secret_digest,
)
from tests.town import square_town

LN4 = log(4)
AREA = square_town(6)
TARGETS = (14, 22)
ROUTE = re.compile(r"/v1/campaigns/([a-z0-9-]+)(/.*)?")


def small_policy(
    area: cv.Area = AREA,
    targets: tuple[int, ...] = TARGETS,
    epsilon_per_km: float = LN4,
    null_epsilon: float | None = None,
) -> cv.Policy:
    return cv.optimal_policy(
        area,
        None,
        targets,
        epsilon_per_km=epsilon_per_km,
        beta=0.1,
        completion="informative",
        null_epsilon=null_epsilon,
    )


def flat_policy(symbols: int = 1024) -> cv.Policy:
    """Every cell sends each of many symbols equally often, so that two draws are hardly ever equal."""
    weights = np.full((len(AREA), symbols), (1 << 53) // symbols)
    return cv.Policy(AREA, LN4, TARGETS, weights, symbols=tuple(f"s{i}" for i in range(symbols)))


class FakeServer:
    """Answers for every campaign alike; tests of hostile campaigns change `info` or `policy_bytes`."""

    def __init__(self, policy: cv.Policy) -> None:
        self.policy_bytes = policy.to_bytes()
        self.info: dict[str, Any] = {
            "protocol": PROTOCOL,
            "name": "Noise map",
            "offer": "A coffee",
            "area": policy.area.describe(),
            "targets": list(policy.targets),
            "epsilon_per_km": policy.epsilon_per_km,
            "delta": 0.5,
            "rule": "random",
            "period": "week",
            "null_epsilon": policy.null_epsilon,
            "enrolment": "open",
            "rounds": 3,
            "round": 0,
            "policy_hash": policy.hash,
            "state": "open",
        }
        self.raw_info: bytes | None = None
        """What is announced instead of `info`, valid or not."""
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

    def _answer(self, request: HttpRequest) -> HttpReply:
        found = ROUTE.fullmatch(request.path)
        if found is None:
            return problem("not-found")
        campaign, what = found[1], found[2] or ""
        if what == "":
            return HttpReply(200, body=self.raw_info or self._info(campaign))
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
        stored = self.reports.setdefault(who, [])
        stored.append(request.body)
        if stored[0] != request.body:
            return problem("report-conflict")
        return HttpReply(200, body=Receipt.of(campaign, seat.participant, Report.from_bytes(request.body)).to_bytes())

    def _info(self, campaign: str) -> bytes:
        return canonical_json(Announcement.model_validate({"campaign": campaign, **self.info}).model_dump()).encode()

    def _seat(self, campaign: str, request: HttpRequest) -> Seat:
        seat = Seat(
            protocol=PROTOCOL,
            campaign=campaign,
            participant=len(self.seats),
            round=self.info["round"],
            policy_hash=self.info["policy_hash"],
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


def new_device(path: Path, server: FakeServer, settings: DeviceSettings | None = None, **options: Any) -> Device:
    """A device with a new ledger at this path, if there is none yet."""
    if not path.exists():
        Ledger.create(path)
    return Device(without_waiting(settings), path, server, **{"sleep": lambda _: None, **options})
