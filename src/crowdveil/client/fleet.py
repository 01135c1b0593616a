"""Many devices on one machine, for demonstrations and load: each with its own ledger and its own requests.

They are the real thing, `client.Device`, with two shortcuts that a phone of its own has no use for. Connections are
shared by those who wait for their turn. And the same bytes of a policy are read and certified once for all of them:
certifying is a function of the bytes and of what was announced, so doing it again would say the same again.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock

from crowdveil.certify import Certificate
from crowdveil.client import Device, DeviceSettings, Ledger, Transport
from crowdveil.client.privacy_limits import AnnouncedTerms, check_policy
from crowdveil.client.round_waiter import RoundWaiter
from crowdveil.errors import CrowdveilError, NoOpenRound, ServerRefused, ServerUnreachable
from crowdveil.policy.policy import Policy
from crowdveil.vocabulary import NULL, Progress
from crowdveil.wire import Announcement

LATER = ("no-seat", "wrong-state")
"""Refusals of a seat, not of the device: the round is full, or the campaign was closed a moment ago."""


@dataclass
class FleetTotals:
    """What became of the devices."""

    acknowledged: int = 0
    nulls: int = 0
    """Of these: said that they have no place to report."""
    unseated: int = 0
    """Found no seat until the campaign was over."""
    refused: Counter[str] = field(default_factory=Counter)
    """By reason."""
    device_of: dict[int, int] = field(default_factory=dict)
    """Which device each participant is: known to who plays them all, and to no server."""

    @property
    def done(self) -> int:
        """Devices that are through."""
        return self.acknowledged + self.unseated + self.refused.total()


@dataclass(frozen=True)
class Fleet:
    """Who plays, where, and how."""

    campaign: str
    profiles: Sequence[Mapping[int, float]]
    """Of each device's owner, in the order they come."""
    ledgers: Path
    settings: DeviceSettings
    invites: Sequence[str] = ()
    concurrency: int = 32


@contextmanager
def scratch_ledgers() -> Iterator[Path]:
    """A folder for ledgers that nobody needs afterwards; in memory where there is such a place, to spare the disk."""
    memory = Path("/dev/shm")
    where = memory if os.access(memory, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="crowdveil-ledgers-", dir=where) as folder:
        yield Path(folder)


def run_fleet(
    crowd: Fleet,
    announced: Callable[[], Announcement],
    connect: Callable[[], AbstractContextManager[Transport]],
    progress: Progress | None = None,
) -> FleetTotals:
    """Let every device join; who finds no seat waits for the next round, until the campaign is over."""
    return FleetRun(crowd, announced, connect, progress).run()


class Certified:
    """Policies and certificates of this process: the same bytes are read and certified once for all its devices."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._policies: dict[bytes, Policy] = {}
        self._certificates: dict[tuple[object, ...], Certificate] = {}

    def read(self, data: bytes) -> Policy:
        """A policy from its bytes."""
        with self._lock:
            if data not in self._policies:
                self._policies[data] = Policy.from_bytes(data)
            return self._policies[data]

    def check(self, policy: Policy, policy_hash: str, terms: AnnouncedTerms) -> Certificate:
        """What `check_policy` gives; a refusal is never remembered."""
        announced = (terms.area.digest, terms.targets, terms.epsilon_per_km, terms.null_epsilon)
        key = (policy.hash, policy_hash, *announced)
        with self._lock:
            if key not in self._certificates:
                self._certificates[key] = check_policy(policy, policy_hash, terms)
            return self._certificates[key]


class FleetRun:
    """One run of a fleet: which devices have joined, are waiting or are done."""

    def __init__(
        self,
        crowd: Fleet,
        announced: Callable[[], Announcement],
        connect: Callable[[], AbstractContextManager[Transport]],
        progress: Progress | None,
    ) -> None:
        self._crowd = crowd
        self._connect = connect
        self._progress = progress
        self._stop = Event()
        self._door = RoundWaiter(announced, self._stop)
        self._certified = Certified()
        self._waiting = deque(range(len(crowd.profiles)))
        self._totals = FleetTotals()
        self._lock = Lock()

    def run(self) -> FleetTotals:
        """Let every device take part; return what became of them."""
        workers = min(self._crowd.concurrency, len(self._crowd.profiles))
        with ThreadPoolExecutor(max(1, workers)) as pool:
            running = [pool.submit(self._work) for _ in range(workers)]
            try:
                for one in running:
                    one.result()
            finally:
                self._stop.set()  # after an error or Ctrl-C the others end too, and wait for nothing
        return self._totals

    def _work(self) -> None:
        with self._connect() as transport:
            while self._waiting and not self._stop.is_set():
                try:
                    number = self._waiting.popleft()
                except IndexError:  # another one took the last
                    return
                seat = self._door.wait()
                if seat is None:
                    self._count(unseated=1)
                elif not self._join(number, transport):
                    self._door.done_with(seat)
                    self._waiting.appendleft(number)

    def _join(self, number: int, transport: Transport) -> bool:
        """Whether a device is through: it has said its word, or never will. If not, it asks again in another round."""
        try:
            crowd = self._crowd
            invite = crowd.invites[number] if crowd.invites else None
            entry = self._device(number, transport).join(crowd.campaign, crowd.profiles[number], invite=invite)
        except CrowdveilError as error:
            if isinstance(error, NoOpenRound) or (isinstance(error, ServerRefused) and error.kind in LATER):
                return False
            self._count(refused=_reason(error))
            return True
        self._totals.device_of[entry.participant] = number
        self._count(acknowledged=1, nulls=int(entry.symbol == NULL))
        return True

    def _device(self, number: int, transport: Transport) -> Device:
        path = self._crowd.ledgers / f"device-{number:06}.ledger"
        if not path.exists():
            Ledger.create(path)
        return Device(
            self._crowd.settings,
            path,
            transport,
            sleep=self._pause,
            read_policy=self._certified.read,
            check=self._certified.check,
        )

    def _pause(self, seconds: float) -> None:
        self._stop.wait(seconds)

    def _count(self, *, acknowledged: int = 0, nulls: int = 0, unseated: int = 0, refused: str | None = None) -> None:
        with self._lock:
            totals = self._totals
            totals.acknowledged += acknowledged
            totals.nulls += nulls
            totals.unseated += unseated
            totals.refused.update([] if refused is None else [refused])
            if self._progress is not None:
                self._progress(totals.done, len(self._crowd.profiles))


def _reason(error: CrowdveilError) -> str:
    if isinstance(error, ServerRefused):
        return error.kind
    return "no answer" if isinstance(error, ServerUnreachable) else str(error)
