"""Imitate a bad network by a proxy that loses requests and answers, and delays some.

Half of what it drops never reaches the server; of the other half the server has done its part, and only the answer is
lost, or cut in two. A request that waits may arrive after its device has given up and sent it again.

It keeps devices apart: it goes on from the loopback address that a device came from, or, for every other one, says in
the header x-forwarded-for which one it was, as a proxy in front of a server does.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from tests.faults.server_processes import HOST

DROPPED = 0.3
STALLED = 0.002
STALL_S = 5.0
LARGEST = 1 << 24


def forwarded_address(source: str) -> str:
    """Return the address in x-forwarded-for for a device at a loopback address: one of the benchmark network."""
    _, _, third, fourth = source.split(".")
    return f"198.18.{third}.{fourth}"


@dataclass
class BadNetwork:
    """The proxy, and counts of what it did."""

    server_port: int
    rng: random.Random
    dropped: float = DROPPED
    stalled: float = STALLED
    stall_s: float = STALL_S
    done: Counter[str] = field(default_factory=Counter)
    port: int = 0

    async def start(self) -> asyncio.Server:
        """Listen; the caller closes it."""
        listening = await asyncio.start_server(self._serve, HOST, 0, limit=LARGEST, backlog=1024)
        self.port = listening.sockets[0].getsockname()[1]
        return listening

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = writer.get_extra_info("peername")[0]
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        forwarding = int(source.rpartition(".")[2]) % 2 == 1
        try:
            while True:
                request = await _message(reader)
                if self.rng.random() < self.stalled:
                    self.done["stalled"] += 1
                    await asyncio.sleep(self.stall_s)
                fate = self.rng.random()
                if fate < self.dropped / 2:
                    self.done["lost before the server"] += 1
                    return
                if upstream is None:
                    local = None if forwarding else (source, 0)
                    upstream = await asyncio.open_connection(HOST, self.server_port, local_addr=local, limit=LARGEST)
                if forwarding:
                    head, _, body = request.partition(b"\r\n")
                    request = head + f"\r\nx-forwarded-for: {forwarded_address(source)}\r\n".encode() + body
                upstream[1].write(request)
                answer = await _message(upstream[0])
                if fate < self.dropped:
                    self.done["lost after the server"] += 1
                    if self.rng.random() < 0.5:
                        writer.write(answer[: len(answer) // 2])
                    return
                self.done["delivered"] += 1
                writer.write(answer)
                await writer.drain()
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # somebody hung up, or all is over while a request still waits
        finally:
            for one in (writer, *([upstream[1]] if upstream else [])):
                one.close()
                with suppress(OSError):
                    await one.wait_closed()


async def _message(reader: asyncio.StreamReader) -> bytes:
    """Read a whole request or answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)
