"""Cut off requests that do not arrive: connections that send nothing, half of the headers, or half of a body.

A request has a few seconds to arrive, from its first byte to its last, and more for every byte that it brings. So a
large body over a slow line is fine, and a connection that only waits is closed. Answering takes as long as it takes.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

BYTES_PER_S = 8_192
"""The slowest line that a body may come over."""
TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def timed_protocol(request_s: float) -> type[HttpToolsProtocol]:
    """Return a protocol of uvicorn that gives every request this many seconds to arrive."""

    class TimedProtocol(HttpToolsProtocol):
        _give_up = 0.0
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._begin()

        def data_received(self, data: bytes) -> None:
            if self._timer is None:
                self._begin()
            self._give_up += len(data) / BYTES_PER_S
            super().data_received(data)

        def on_message_complete(self) -> None:
            self._end()
            super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end()
            super().connection_lost(exc)

        def _begin(self) -> None:
            self._give_up = self.loop.time() + request_s
            self._timer = self.loop.call_at(self._give_up, self._look)

        def _end(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _look(self) -> None:
            if self.loop.time() < self._give_up:
                self._timer = self.loop.call_at(self._give_up, self._look)
                return
            self._timer = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(TIMED_OUT)
            self.transport.close()

    return TimedProtocol
