"""Run many devices on one machine, for demonstrations and load tests: each with its own ledger and requests.

They are instances of `client.Device`, with two shortcuts. Devices that wait for their turn share connections. And the
bytes of a policy are parsed and certified once for all of them: both depend only on the bytes and on what was
announced, so that repeating them for every device would give the same result.

    fleet = Fleet("noise-map", profiles, ledgers, DeviceSettings(), concurrency=32)
    totals = join_campaign(fleet, "http://127.0.0.1:8765")
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock

from crowdveil.area import Area
from crowdveil.certify import Certificate
from crowdveil.client import Device, DeviceSettings, HttpTransport, Ledger, RetryPolicy, Transport
from crowdveil.client.participant_client import ParticipantClient
from crowdveil.client.round_waiter import RoundWaiter
from crowdveil.errors import CrowdveilError, InputError, NoOpenRound, ServerRefused, ServerUnreachable
from crowdveil.limits import PrivacyLimits, check_policy
from crowdveil.policy.policy import Policy
from crowdveil.vocabulary import NULL, Progress
from crowdveil.wire import Announcement

TRY_LATER = ("no-seat", "wrong-state")
"""Refusals of a seat, not of the device: the round is full, or the campaign was closed a moment ago."""
PATIENT = RetryPolicy(longest_wait_s=10.0)


@dataclass
class FleetTotals:
    """Count what became of the devices."""

    acknowledged: int = 0
    """Devices whose reply the server has acknowledged."""
    nulls: int = 0
    """Of these: devices that replied that they have no place to report."""
    unseated: int = 0
    """Devices that found no seat until the campaign was over."""
    refused: Counter[str] = field(default_factory=Counter)
    """Devices that refused or were refused, by reason."""
    device_of: dict[int, int] = field(default_factory=dict)
    """The device behind each participant's number; no server knows this."""

    @property
    def done(self) -> int:
        """Count the devices that have finished, with or without a reply."""
        return self.acknowledged + self.unseated + self.refused.total()


@dataclass(frozen=True)
class Fleet:
    """Describe a fleet: which campaign it joins, and the profile of each device's owner."""

    campaign: str
    profiles: Sequence[Mapping[int, float]]
    """The probability of each cell, for each device's owner, in the order in which they join."""
    ledgers: Path
    """The folder of the devices' ledgers."""
    settings: DeviceSettings
    limits: PrivacyLimits = field(default_factory=PrivacyLimits)
    """The limits of every device's owner."""
    invites: Sequence[str] = ()
    """One for each device, if the campaign asks for invites."""
    concurrency: int = 32
    """How many devices join at the same time."""

    def __post_init__(self) -> None:
        if self.invites and len(self.invites) < len(self.profiles):
            raise InputError("invites", f"{len(self.invites):,}", f"should be one for each of {len(self.profiles):,}")


@contextmanager
def scratch_ledgers() -> Iterator[Path]:
    """Make a folder for ledgers that nobody needs afterwards, in memory if possible, to spare the disk."""
    memory = Path("/dev/shm")
    where = memory if os.access(memory, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="crowdveil-ledgers-", dir=where) as folder:
        yield Path(folder)


@contextmanager
def announcements(url: str, campaign: str) -> Iterator[Callable[[], Announcement]]:
    """Connect to the server at an address, and ask it for a campaign's announcement at every call."""
    with HttpTransport(url) as transport:
        client = ParticipantClient(transport, PATIENT, time.sleep)
        yield lambda: client.campaign(campaign)


def join_campaign(fleet: Fleet, url: str, progress: Progress | None = None) -> FleetTotals:
    """Let every device of a fleet join its campaign on the server at an address."""
    with announcements(url, fleet.campaign) as announced:
        return run_fleet(fleet, announced, lambda: HttpTransport(url), progress)


def run_fleet(
    fleet: Fleet,
    announced: Callable[[], Announcement],
    connect: Callable[[], AbstractContextManager[Transport]],
    progress: Progress | None = None,
) -> FleetTotals:
    """Let every device join; a device without a seat waits for the next round, until the campaign is over.

    `announced` returns the campaign's latest announcement, `connect` opens one of the connections that devices share.
    """
    return FleetRun(fleet, announced, connect, progress).run()


class PolicyCache:
    """Keep policies and certificates, so that the same bytes are parsed and certified once for all devices."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._policies: dict[bytes, Policy] = {}
        self._certificates: dict[tuple[object, ...], Certificate] = {}

    def read(self, data: bytes) -> Policy:
        """Parse a policy, or return the one that was parsed from the same bytes."""
        with self._lock:
            if data not in self._policies:
                self._policies[data] = Policy.from_bytes(data)
            return self._policies[data]

    def check(self, policy: Policy, announcement: Announcement, area: Area) -> Certificate:
        """Do what `check_policy` does, once for the same policy and announcement; a refusal is not kept."""
        announced_hash = None if announcement.notice is None else announcement.notice.policy_hash
        key = (policy.hash, area.digest, announcement.terms.hash, announced_hash)
        with self._lock:
            if key not in self._certificates:
                self._certificates[key] = check_policy(policy, announcement, area)
            return self._certificates[key]


class FleetRun:
    """Run a fleet once: keep track of which devices are waiting, and count what became of the others."""

    def __init__(
        self,
        fleet: Fleet,
        announced: Callable[[], Announcement],
        connect: Callable[[], AbstractContextManager[Transport]],
        progress: Progress | None,
    ) -> None:
        self._fleet = fleet
        self._connect = connect
        self._progress = progress
        self._stop = Event()
        self._waiter = RoundWaiter(announced, self._stop)
        self._policies = PolicyCache()
        self._waiting = deque(range(len(fleet.profiles)))
        self._totals = FleetTotals()
        self._lock = Lock()

    def run(self) -> FleetTotals:
        """Let every device take part; return the counts."""
        workers = min(self._fleet.concurrency, len(self._fleet.profiles))
        with ThreadPoolExecutor(max(1, workers)) as pool:
            running = [pool.submit(self._work) for _ in range(workers)]
            try:
                for one in running:
                    one.result()
            finally:
                self._stop.set()  # after an error or Ctrl-C the other threads end too, without waiting
        return self._totals

    def _work(self) -> None:
        with self._connect() as transport:
            while self._waiting and not self._stop.is_set():
                try:
                    number = self._waiting.popleft()
                except IndexError:  # another thread took the last device
                    return
                seat = self._waiter.wait()
                if seat is None:
                    self._count(unseated=1)
                elif not self._join(number, transport):
                    self._waiter.leave(seat)
                    self._waiting.appendleft(number)

    def _join(self, number: int, transport: Transport) -> bool:
        """Let a device join; return False if it should try again in another round."""
        try:
            fleet = self._fleet
            invite = fleet.invites[number] if fleet.invites else None
            entry = self._device(number, transport).join(fleet.campaign, fleet.profiles[number], invite=invite)
        except CrowdveilError as error:
            if isinstance(error, NoOpenRound) or (isinstance(error, ServerRefused) and error.kind in TRY_LATER):
                return False
            self._count(refused=_reason(error))
            return True
        self._totals.device_of[entry.participant] = number
        self._count(acknowledged=1, nulls=int(entry.symbol == NULL))
        return True

    def _device(self, number: int, transport: Transport) -> Device:
        path = self._fleet.ledgers / f"device-{number:06}.ledger"
        if not path.exists():
            Ledger.create(path, limits=self._fleet.limits)
        return Device(
            self._fleet.settings,
            path,
            transport,
            sleep=self._pause,
            read_policy=self._policies.read,
            check=self._policies.check,
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
                self._progress(totals.done, len(self._fleet.profiles))


def _reason(error: CrowdveilError) -> str:
    if isinstance(error, ServerRefused):
        return error.kind
    return "no answer" if isinstance(error, ServerUnreachable) else str(error)
