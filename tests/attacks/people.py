"""The people who are attacked: a real device with a real ledger, and visits every week to the same places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import crowdveil as cv
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify import AcceptedReport, Certificate, combined_loss, guess_bound
from crowdveil.client import Device, DeviceSettings, Ledger, RetryPolicy
from crowdveil.client.events import LedgerEntry
from crowdveil.client.ledger import utc_now
from crowdveil.errors import CrowdveilError
from crowdveil.limits import check_policy
from crowdveil.traces.visits import Visits
from crowdveil.wire import Announcement
from tests.attacks.hostile_server import HostileServer

TODAY = date(2026, 6, 1)
WEEKS = 26
SETTINGS = DeviceSettings(retry_policy=RetryPolicy(attempts=2), seat_interval_s=0)

_policies: dict[bytes, cv.Policy] = {}
_certificates: dict[tuple[str, str], Certificate] = {}


def weekly_visits(places: Sequence[tuple[float, float]], extra: Sequence[tuple[int, float, float]] = ()) -> Visits:
    """Visits to each place, every week, and some at times of their own."""
    noon = datetime(TODAY.year, TODAY.month, TODAY.day, 12, tzinfo=UTC)
    rows = [
        (int((noon - timedelta(weeks=week, days=2, minutes=number)).timestamp()), *place)
        for week in range(WEEKS + 2)
        for number, place in enumerate(places)
    ]
    time, latitude, longitude = (np.array(column) for column in zip(*rows, *extra, strict=True))
    nothing = np.zeros(len(time), dtype=np.int64)
    return Visits(("ann",), nothing, time, nothing, latitude, longitude)


def device(path: Path, transport: Any, **options: Any) -> Device:
    """A device with a new ledger at this path, if there is none yet.

    A policy is read and certified once for all devices of this process, as `Device` allows.
    """
    if not path.exists():
        Ledger.create(path, clock=options.get("clock", utc_now))
    fixed: dict[str, Any] = {"sleep": lambda _: None, "today": lambda: TODAY, "read_policy": _read, "check": _check}
    return Device(SETTINGS, path, transport, **{**fixed, **options})


def _read(data: bytes) -> cv.Policy:
    if data not in _policies:
        _policies[data] = cv.Policy.from_bytes(data)
    return _policies[data]


def _check(policy: cv.Policy, announcement: Announcement, area: cv.Area) -> Certificate:
    key = (policy.hash, announcement.to_bytes().decode())
    if key not in _certificates:
        _certificates[key] = check_policy(policy, announcement, area)
    return _certificates[key]


@dataclass
class Replies:
    """What an operator has of one person: the policies that were answered, and the symbols."""

    answered: list[tuple[cv.Policy, int]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    refused_in_a_row: int = 0

    def ask(self, someone: Device, server: HostileServer, campaign: str, policy: cv.Policy, visits: Visits) -> None:
        """Offer a campaign and take what comes: a symbol, NULL in the clear, or a refusal."""
        server.offer(campaign, policy)
        try:
            entry: LedgerEntry = someone.join(campaign, visits)
        except CrowdveilError as error:
            self.refusals.append(f"{type(error).__name__}: {error}")
            self.refused_in_a_row += 1
            return
        self.refused_in_a_row = 0
        assert entry.symbol is not None
        assert server.learnt[campaign][-1] == (None if entry.symbol == cv.NULL else entry.symbol)
        self.answered.append((policy, entry.symbol))


@dataclass(frozen=True)
class Places:
    """The places among which the operator looks for a person, all equally likely before the first reply."""

    latitude: FloatArray
    longitude: FloatArray

    @classmethod
    def of(cls, area: cv.Area) -> Places:
        """The middle of every cell."""
        return cls(*area.centres())

    def __len__(self) -> int:
        return len(self.latitude)

    def visits(self, number: int) -> Visits:
        """The visits of someone who lives at one of them."""
        return weekly_visits([(float(self.latitude[number]), float(self.longitude[number]))])

    def cells(self, area: cv.Area) -> IntArray:
        """The cell of every place, or NULL."""
        return area.locate(self.latitude, self.longitude)

    def log_likelihood(self, policy: cv.Policy, symbol: int) -> FloatArray:
        """log P(symbol | place) for every place; all are regular visitors."""
        cells = self.cells(policy.area)
        if policy.null_epsilon is None:
            chance = np.where(cells == cv.NULL, float(symbol == cv.NULL), 0.0)
            if symbol != cv.NULL:
                chance = np.where(cells == cv.NULL, 0.0, policy.table()[np.maximum(cells, 0), symbol])
        else:
            rows = np.where(cells == cv.NULL, policy.input_count - 1, cells)
            chance = policy.table()[rows, symbol]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(chance), dtype=np.float64)

    def guess(self, replies: Replies, generator: np.random.Generator) -> int:
        """The best guess from all replies at once: the likeliest place; of equally likely ones any."""
        total = np.zeros(len(self))
        for policy, symbol in replies.answered:
            total += self.log_likelihood(policy, symbol)
        return int(generator.choice(np.flatnonzero(total >= total.max() - 1e-9)))

    def loss(self, replies: Replies) -> FloatArray:
        """M of the reports that were answered."""
        if not replies.answered:
            return np.zeros((len(self), len(self)))
        return combined_loss(
            [
                AcceptedReport(
                    policy.area, policy.epsilon_per_km, self.cells(policy.area), policy.null_epsilon,
                    policy.grade_epsilon,
                )
                for policy, _ in replies.answered
            ]
        )  # fmt: skip

    def bound(self, replies: Replies) -> float:
        """No attacker is right more often with these reports."""
        return guess_bound(self.loss(replies))
