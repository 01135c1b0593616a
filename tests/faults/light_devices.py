"""Run many light devices over real HTTP: a seat, one report, the same bytes until a receipt comes.

They draw nothing and certify nothing, so that thousands of them fit beside the server that they load. What they were
told is kept: who was acknowledged is what the database is held against afterwards (`verify`).
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

from crowdveil.policy.policy import Policy
from crowdveil.wire import PROTOCOL, Problem, Receipt, Report, Seat, SeatRequest, secret_digest
from tests.faults.server_processes import HOST

TIMEOUT_S = 10.0
NULLS = 0.05
JSON_BODY = {"content-type": "application/json"}


class Answer(NamedTuple):
    """A status and a body."""

    status: int
    body: bytes

    @property
    def problem(self) -> str:
        """Return the kind of the problem."""
        return Problem.from_bytes(self.body).kind


@dataclass(eq=False)
class Sent:
    """A request that was sent, when, and whether it was answered."""

    what: str
    at: float
    answered: bool = False


class HttpConnection:
    """A connection that is opened again when it breaks."""

    def __init__(self, port: Callable[[], int], timeout_s: float = TIMEOUT_S, sent: list[Sent] | None = None) -> None:
        """`sent` records every request."""
        self._port = port
        self._timeout_s = timeout_s
        self._sent = sent
        self._ends: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Answer | None:
        """Send a request once; return None if no complete answer came."""
        lines = {"host": HOST, "content-length": str(len(body)), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        try:
            async with asyncio.timeout(self._timeout_s):
                if self._ends is None:
                    self._ends = await asyncio.open_connection(HOST, self._port())
                reader, writer = self._ends
                writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
                await writer.drain()
                sent = Sent(f"{method} {path}", monotonic())
                if self._sent is not None:
                    self._sent.append(sent)
                answer, lasts = await read_answer(reader)
                sent.answered = True
        except (OSError, EOFError, TimeoutError, ValueError):
            self.disconnect()
            return None
        if not lasts:
            self.disconnect()
        return answer

    def disconnect(self) -> None:
        """Close the connection."""
        if self._ends is not None:
            self._ends[1].close()
            self._ends = None


async def read_answer(reader: asyncio.StreamReader) -> tuple[Answer, bool]:
    """Read an answer, and whether the connection stays open."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(fields.get("content-length", "0")))
    return Answer(int(head[0].split()[1]), body), fields.get("connection") != "close"


@dataclass(eq=False)
class LightDevice:
    """What one device knows."""

    campaign: str
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    seat: Seat | None = None
    report: Report | None = None
    receipt: Receipt | None = None

    @property
    def secret_hash(self) -> str:
        return secret_digest(self.secret)


class Load:
    """Devices that join one after another, many at a time, until stopped; those that began then finish."""

    def __init__(
        self,
        ports: Sequence[int],
        campaigns: Sequence[str],
        rng: random.Random,
        pause_s: float = 0.05,
        symbol: Callable[[int], int | None] | None = None,
    ) -> None:
        """`symbol` chooses one of a number of symbols (default: any, and sometimes NULL)."""
        self._ports = ports
        self._campaigns = campaigns
        self._dice = rng
        self._pause_s = pause_s
        self._symbol = symbol or self._any_symbol
        self.stopping = False
        self.devices: list[LightDevice] = []
        """Devices that have a seat."""
        self.faults: list[str] = []
        """Answers that no server should give."""
        self.answers: Counter[str] = Counter()
        self.policies: dict[tuple[str, int], Policy] = {}
        self.in_flight = 0
        """Reports that are being sent."""
        self.acknowledged = 0
        self.sent: list[Sent] = []
        """Every request."""

    async def run(self, workers: int, devices: int | None = None) -> None:
        """Let devices join, without end or a number of them."""
        left = iter(range(devices)) if devices is not None else None
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work(left))

    async def _work(self, left: object) -> None:
        wire = HttpConnection(lambda: self._dice.choice(self._ports), sent=self.sent)
        while not self.stopping and (left is None or next(left, None) is not None):  # type: ignore[call-overload]
            device = LightDevice(self._dice.choice(self._campaigns))
            if await self._take_seat(wire, device):
                self.devices.append(device)
                await self._report(wire, device)
        wire.disconnect()

    async def _take_seat(self, wire: HttpConnection, device: LightDevice) -> bool:
        body = SeatRequest(protocol=PROTOCOL, secret_digest=device.secret_hash).to_bytes()
        path = f"/v1/campaigns/{device.campaign}"
        unsure = False
        while True:
            answer = await wire.ask("POST", f"{path}/seats", JSON_BODY, body)
            if answer is not None and answer.status == 200:
                device.seat = Seat.from_bytes(answer.body)
                break
            # A seat that was given, but not heard of, is asked for again: or its round would wait for ever.
            unsure = (unsure or answer is None) and not (answer is not None and answer.status == 409)
            if answer is not None and answer.status == 409 and answer.problem == "wrong-state":
                await asyncio.sleep(self._pause_s)
                return False  # the campaign is over
            if self.stopping and not unsure:
                return False
            await self._wait("seat", answer, allowed=("no-seat",))
        await self._learn_policy(wire, device.campaign, device.seat)
        return True

    async def _learn_policy(self, wire: HttpConnection, campaign: str, seat: Seat) -> None:
        while (campaign, seat.round) not in self.policies:
            answer = await wire.ask("GET", f"/v1/campaigns/{campaign}/rounds/{seat.round}/policy")
            if answer is not None and answer.status == 200:
                self.policies.setdefault((campaign, seat.round), Policy.from_bytes(answer.body))
            else:
                await self._wait("policy", answer)
        if self.policies[campaign, seat.round].hash != seat.policy_hash:
            self.faults.append(f"{campaign}, round {seat.round}: seats under two policies")

    async def _report(self, wire: HttpConnection, device: LightDevice) -> None:
        assert device.seat is not None
        policy = self.policies[device.campaign, device.seat.round]
        symbol = self._symbol(policy.symbol_count)
        protected = symbol is None and policy.null_epsilon is not None
        device.report = Report.of(device.seat, 0 if protected else symbol)
        body = device.report.to_bytes()
        headers = {**JSON_BODY, "authorization": f"Bearer {device.secret}"}
        while device.receipt is None:
            self.in_flight += 1
            try:
                answer = await wire.ask("PUT", f"/v1/campaigns/{device.campaign}/report", headers, body)
            finally:
                self.in_flight -= 1
            if answer is not None and answer.status == 200:
                device.receipt = Receipt.from_bytes(answer.body)
                self.acknowledged += 1
                if device.receipt != Receipt.of(device.campaign, device.seat.participant, device.report):
                    self.faults.append(f"the receipt {device.receipt!r} is for another report")
            elif answer is not None and answer.status not in (429, 503):
                self.faults.append(f"a report was answered with {answer.status} {answer.body[:200]!r}")
                return
            else:
                await self._wait("report", answer)

    def _any_symbol(self, symbols: int) -> int | None:
        return None if self._dice.random() < NULLS else self._dice.randrange(symbols)

    async def _wait(self, what: str, answer: Answer | None, allowed: tuple[str, ...] = ()) -> None:
        told = "no answer" if answer is None else f"{answer.status} {answer.problem}"
        self.answers[f"{what}: {told}"] += 1
        if answer is not None and answer.status not in (429, 503) and answer.problem not in allowed:
            self.faults.append(f"{what}: answered with {answer.status} {answer.body[:200]!r}")
        await asyncio.sleep(self._dice.uniform(0.2, 1.0) * self._pause_s)


async def answers(port: int) -> bool:
    """Return whether a server is healthy."""
    wire = HttpConnection(lambda: port, 2.0)
    answer = await wire.ask("GET", "/healthz")
    wire.disconnect()
    return answer is not None and answer.status == 200


class OperatorConnection:
    """Send the requests of an operator, again until they are answered."""

    def __init__(self, port: Callable[[], int], token: str) -> None:
        self._wire = HttpConnection(port)
        self._headers = {"authorization": f"Bearer {token}"}

    async def __call__(self, method: str, path: str, body: bytes = b"", within_s: float = 60.0) -> bytes:
        async with asyncio.timeout(within_s):
            while True:
                headers = {**self._headers, **(JSON_BODY if body else {})}
                answer = await self._wire.ask(method, f"/v1/operator{path}", headers, body)
                if answer is not None and answer.status == 200:
                    return answer.body
                if answer is not None and answer.status not in (409, 429, 503):
                    raise RuntimeError(f"{method} {path}: {answer.status} {answer.body!r}")
                await asyncio.sleep(0.1)

    async def open(self, campaign: str, plan: bytes) -> None:
        """Create a campaign and start it."""
        await self("PUT", f"/campaigns/{campaign}", plan)
        await self("PUT", f"/campaigns/{campaign}/state", _state("open"))

    async def close(self, campaign: str) -> None:
        """Close a campaign, and wait for its selection."""
        await self("PUT", f"/campaigns/{campaign}/state", _state("closed"))
        await self.finished(campaign)

    async def finished(self, campaign: str, within_s: float = 120.0) -> None:
        """Wait until a selection was made."""
        async with asyncio.timeout(within_s):
            while json.loads(await self("GET", f"/campaigns/{campaign}"))["state"] != "finished":
                await asyncio.sleep(0.1)

    def disconnect(self) -> None:
        """Close the connection."""
        self._wire.disconnect()


def _state(state: str) -> bytes:
    return json.dumps({"protocol": PROTOCOL, "state": state}).encode()
