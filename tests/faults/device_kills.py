"""SIGKILL a device at random points while it joins: the server never sees two values of one participant.

    python -m tests.faults.device_kills --kills 500

Each device is a process of its own (forked, so that its imports are paid once) that talks to the server in this one
over a socket. It is killed at a moment drawn uniformly from the time a join takes, or just after one of its requests
was answered, started again, killed again, and at last left alone. One reply in five is lost on its way. The policy has
1,024 equally likely symbols, so that a second draw shows itself 1,023 times in 1,024. `--forgetful` plays a device that
sends before it stores, which the check must find.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import select
import signal
import socket
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from crowdveil.client import (
    Device,
    DeviceSettings,
    HttpReply,
    HttpRequest,
    Ledger,
    LedgerEntry,
    ReportKey,
    RetryPolicy,
    Transport,
)
from crowdveil.client.fleet import PolicyCache
from crowdveil.client.ledger import DrawTerms
from crowdveil.errors import CrowdveilError, ServerUnreachable
from crowdveil.wire import secret_digest
from tests.client.fake_server import NOISE, FakeServer, flat_policy
from tests.faults.table import SHOWN, ResultRow

PROMISE = "5 once: at most one value per participant and campaign"
KILLS_EACH = 4
AT_REQUESTS = 0.5
"""This share of the kills come after a request, however short the time between sending and storing."""
MOST_REQUESTS = 5
"""A join makes so many, unless replies are lost."""
LOST_REPLIES = 0.2
POLICIES = PolicyCache()
"""Parsed and certified before the devices are forked, so that most kills hit what is stored and sent."""
PLACE = {8: 1.0}


class SocketTransport:
    """Send pickled requests over a socket; an empty answer means that no answer came."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line

    def send(self, request: HttpRequest) -> HttpReply:
        _write(self.line, pickle.dumps((request.method, request.path, dict(request.headers), request.body)))
        answer = _read(self.line)
        if not answer:
            raise ServerUnreachable("the reply was lost")
        status, body = pickle.loads(answer)
        return HttpReply(status, body=body)


class ForgetfulLedger(Ledger):
    """A faulty ledger, to test the test: it returns a symbol before it is stored."""

    def draw_once(self, key: ReportKey, _: DrawTerms, draw: Callable[[], tuple[int, str]]) -> LedgerEntry:
        entry = self.entry(key)
        assert entry is not None
        return replace(entry, symbol=draw()[0], state="drawn")


class Kill(NamedTuple):
    """When a device is killed, if ever."""

    after_s: float | None = None
    after_requests: int | None = None


@dataclass
class Outcome:
    """The result of a run."""

    kills: int = 0
    devices: int = 0
    failures: list[str] = field(default_factory=list)
    killed_when: Counter[str] = field(default_factory=Counter)


def run(kills: int, seed: int, *, forgetful: bool = False) -> Outcome:
    """Kill devices until there were so many kills; every device joins in the end."""
    rng = random.Random(seed)
    outcome = Outcome()
    server = FakeServer(flat_policy())
    with tempfile.TemporaryDirectory() as folder:
        # Here, not in a child: what a join imports and certifies is then paid once.
        _join(_ledger(folder, "first"), server, False)
        untroubled = Kill()
        lasts_s = min(_play(server, _ledger(folder, f"warm-{i}"), rng, untroubled, forgetful)[1] for i in range(3))
        while outcome.kills < kills:
            path = _ledger(folder, str(outcome.devices))
            outcome.devices += 1
            for _ in range(KILLS_EACH):
                if rng.random() < AT_REQUESTS:
                    kill = Kill(after_requests=rng.randint(1, MOST_REQUESTS))
                else:
                    kill = Kill(after_s=rng.uniform(0, 1.5 * lasts_s))
                died, _ = _play(server, path, rng, kill, forgetful)
                if died:
                    outcome.kills += 1
                    outcome.killed_when[_state(path)] += 1
            _play(server, path, rng, untroubled, forgetful)
            outcome.failures += _faults(server, path, forgetful)
    return outcome


def _ledger(folder: str, name: str) -> Path:
    return Ledger.create(Path(folder) / name).path


def _state(path: Path) -> str:
    entry = Ledger(path).entry(NOISE)
    return "before its secret" if entry is None else entry.state


def _play(server: FakeServer, path: Path, rng: random.Random, kill: Kill, forgetful: bool) -> tuple[bool, float]:
    """Run one join in a process of its own; say whether it was killed, and how long it took."""
    ours, theirs = socket.socketpair()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        ours.close()
        os._exit(_join(path, SocketTransport(theirs), forgetful))
    theirs.close()
    deadline = None if kill.after_s is None else began + kill.after_s
    served = 0
    with ours:
        while served != kill.after_requests and _serve_one(ours, server, rng, deadline):
            served += 1
        if kill != Kill():
            os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status), time.monotonic() - began


def _join(path: Path, transport: Transport, forgetful: bool) -> int:
    device = Device(
        DeviceSettings(retry_policy=RetryPolicy(attempts=50), seat_interval_s=0),
        path,
        transport,
        sleep=lambda _: None,
        read_policy=POLICIES.read,
        check=POLICIES.check,
    )
    if forgetful:
        device.ledger = ForgetfulLedger(path)
    try:
        device.join("noise", PLACE)
    except CrowdveilError:
        return 1
    return 0


def _serve_one(line: socket.socket, server: FakeServer, rng: random.Random, deadline: float | None) -> bool:
    """Answer one request; False at the deadline, or when the device disconnected."""
    retry_policy = None if deadline is None else max(0.0, deadline - time.monotonic())
    if not select.select([line], [], [], retry_policy)[0]:
        return False
    try:
        data = _read(line)
        method, path, headers, body = pickle.loads(data)
        reply = server.send(HttpRequest(method, path, headers, body))
        lost = rng.random() < LOST_REPLIES
        _write(line, b"" if lost else pickle.dumps((reply.status, reply.body)))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return False
    return True


def _faults(server: FakeServer, path: Path, forgetful: bool) -> list[str]:
    """Return what went wrong with one device."""
    entry = Ledger(path).entry(NOISE)
    if entry is None:
        return [f"device {path.name}: never joined"]
    sent = server.reports.get(secret_digest(entry.secret), [])
    faults = []
    if len(set(sent)) != 1:
        faults.append(f"device {path.name}: the server saw {len(set(sent))} values")
    if not forgetful and (entry.state != "acknowledged" or f'"{entry.symbol:08d}"'.encode() not in sent[0]):
        faults.append(f"device {path.name}: its ledger says {entry!r}")
    return faults


def _write(line: socket.socket, data: bytes) -> None:
    line.sendall(struct.pack(">Q", len(data)) + data)


def _read(line: socket.socket) -> bytes:
    (size,) = struct.unpack(">Q", _exactly(line, 8))
    return _exactly(line, size)


def _exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = line.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def line(kills: int, seed: int, *, forgetful: bool = False) -> ResultRow:
    """Return the result of a run as a row of the table."""
    found = run(kills, seed, forgetful=forgetful)
    when = ", ".join(f"{count} when {state}" for state, count in found.killed_when.most_common())
    note = f"{found.devices} devices, killed {when}"
    return ResultRow(PROMISE, "device", found.kills, "kills", found.failures, [note])


def main() -> int:
    """Print promise, trials, failures; exit with 1 if anything failed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=500)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options.add_argument("--forgetful", action="store_true")
    given = options.parse_args()
    found = line(given.kills, given.seed, forgetful=given.forgetful)
    sys.stdout.write(f"{found.promise}\t{found.trials} kills\t{len(found.failures)} failures\n")
    sys.stdout.write(f"seed {given.seed}; {found.notes[0]}\n")
    for failure in found.failures[:SHOWN]:
        sys.stdout.write(f"{failure}\n")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
