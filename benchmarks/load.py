"""Simulate many devices at once, in a process of their own: python -m benchmarks.load PORT DEVICES.

It uses as little time as Python allows, because it shares two cores with the server that it measures: requests are made
by one `%` of a template, and only the status and the end of an answer are read. Commands are lines of JSON on the
standard input; results are lines of JSON on the standard output.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from time import perf_counter
from typing import Any

import uvloop

END = b"\r\n\r\n"
LENGTH = b"content-length: "
PING = b"GET /v1/ping HTTP/1.1\r\nhost: localhost\r\n\r\n"
JSON_OF_LENGTH = b"\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: "
SECRET = b"device-%08d"
"""Of the device of a number."""


def report_template(campaign: str, policy_hash: str) -> bytes:
    """A PUT of one report, with the device's number and its symbol left open."""
    body = b'{"policy_hash":"' + policy_hash.encode() + b'","protocol":1,"round":0,"symbol":"%08d"}'
    address, length = campaign.encode(), str(len(body % 0)).encode()
    token = b"\r\nauthorization: Bearer " + SECRET
    return b"PUT /v1/campaigns/" + address + b"/report HTTP/1.1" + token + JSON_OF_LENGTH + length + END + body


def seat_template(campaign: str) -> bytes:
    """A POST for a seat, with the digest of the device's secret left open."""
    body = b'{"protocol":1,"secret_digest":"%s"}'
    address, length = campaign.encode(), str(len(body % bytes(64))).encode()
    return b"POST /v1/campaigns/" + address + b"/seats HTTP/1.1" + JSON_OF_LENGTH + length + END + body


class Device(asyncio.Protocol):
    """Sends the next request as soon as the last one was answered, until the block ends."""

    def __init__(self) -> None:
        self.block: Block | None = None
        self._data = b""
        self._sent = 0.0
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected; requests follow when the block begins."""
        self._transport = transport

    def close(self) -> None:
        """Hang up."""
        self.block = None
        self._transport.close()

    def send(self) -> None:
        """Send the next request, if there is one."""
        assert self.block is not None
        request = self.block.next()
        if request is not None:
            self._sent = perf_counter()
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Take an answer down once all of it is there."""
        if self._data:
            data = self._data + data
        head = data.find(END)
        at = data.find(LENGTH, 0, head)
        size = 0 if at < 0 else int(data[at + len(LENGTH) : data.find(b"\r", at)])
        if head < 0 or len(data) < head + len(END) + size:
            self._data = data
            return
        self._data = b""
        assert self.block is not None
        self.block.took(perf_counter() - self._sent, data[9:12])
        self.send()

    def connection_lost(self, _: Exception | None) -> None:
        """Nobody should hang up on a device."""
        if self.block is not None:
            self.block.hung_up()


class Block:
    """A stretch of requests of one kind, with what came of them."""

    def __init__(self, requests: Iterator[bytes], seconds: float) -> None:
        self._requests = requests
        self._open = 0
        self._until = perf_counter() + seconds
        self._began = perf_counter()
        self._latencies: list[float] = []
        self._statuses: Counter[bytes] = Counter()
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def next(self) -> bytes | None:
        """The next request, or None when the block is over."""
        request = next(self._requests, None) if perf_counter() < self._until else None
        if request is None:
            if self._open == 0 and not self._ended.done():
                self._ended.set_result(None)
        else:
            self._open += 1
        return request

    def took(self, seconds: float, status: bytes) -> None:
        """One request was answered."""
        self._open -= 1
        self._latencies.append(seconds)
        self._statuses[status] += 1

    def hung_up(self) -> None:
        """A connection ended."""
        if not self._ended.done():
            self._ended.set_exception(ConnectionError("the server hung up"))

    async def run(self, devices: list[Device]) -> dict[str, Any]:
        """Let all devices go, wait for the last answer, and say how it was."""
        for one in devices:
            one.block = self
        for one in devices:
            one.send()
        await self._ended
        seconds = perf_counter() - self._began
        return {
            "rate": len(self._latencies) / seconds,
            "latencies_s": [round(one, 5) for one in self._latencies],
            "statuses": {status.decode(): times for status, times in self._statuses.items()},
        }


def requests_of(asked: dict[str, Any]) -> Iterator[bytes]:
    """The requests of a block: the empty endpoint for ever, or a seat or one report for each device of a range."""
    if asked["kind"] == "nothing":
        return (PING for _ in count())
    devices = range(asked["first"], asked["first"] + asked["count"])
    if asked["kind"] == "seats":
        seat = seat_template(asked["campaign"])
        return (seat % sha256(SECRET % one).hexdigest().encode() for one in devices)
    report, symbols = report_template(asked["campaign"], asked["policy_hash"]), asked["symbols"]
    return (report % (one, one % symbols) for one in devices)


async def main(port: int, devices: int) -> None:
    """Run block after block until the input ends, each on connections of its own that are made before it begins."""
    loop = asyncio.get_running_loop()
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        connected = [(await loop.create_connection(Device, "127.0.0.1", port))[1] for _ in range(devices)]
        done = await Block(requests_of(asked), asked["seconds"]).run(connected)
        for one in connected:
            one.close()
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), int(sys.argv[2])))
