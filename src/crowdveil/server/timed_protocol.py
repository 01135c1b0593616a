"""Cut off requests that do not arrive: connections that send nothing, half of the headers, or half of a body.

A request has a few seconds to arrive, from its first byte to its last, and more for every byte that it brings. So a
large body over a slow line is fine, and a connection that only waits is closed. Answering takes as long as it takes.

Headers that were prepared are sent as they are; uvicorn would check and join them one by one for each answer.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from crowdveil.server.request_guard import CompleteHeaders

BYTES_PER_S = 8_192
"""The slowest line that a body may come over."""
TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def timed_protocol(request_s: float) -> type[HttpToolsProtocol]:
    """Return a protocol of uvicorn that gives every request this many seconds to arrive."""

    class TimedProtocol(HttpToolsProtocol):
        _give_up: float | None = None
        """When the request should have arrived; None while none is arriving."""
        _timer: asyncio.TimerHandle | None = None
        """Left running between requests: setting it anew for each would take longer than looking now and then."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._begin()

        def data_received(self, data: bytes) -> None:
            if self._give_up is None:
                self._begin()
            self._give_up += len(data) / BYTES_PER_S  # type: ignore[operator]
            super().data_received(data)

        def on_message_complete(self) -> None:
            self._give_up = None
            super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._give_up = None
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            super().connection_lost(exc)

        def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
            cycle.send = partial(_send, cycle)  # type: ignore[method-assign]
            super()._start_asgi_task(cycle, app)

        def _begin(self) -> None:
            self._give_up = self.loop.time() + request_s
            if self._timer is None:
                self._timer = self.loop.call_at(self._give_up, self._look)

        def _look(self) -> None:
            self._timer = None
            if self._give_up is None:
                return
            if self.loop.time() < self._give_up:
                self._timer = self.loop.call_at(self._give_up, self._look)
                return
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(TIMED_OUT)
            self.transport.close()

    return TimedProtocol


async def _send(cycle: RequestResponseCycle, message: Any) -> None:
    """Send a part of an answer; everything but prepared headers, on a connection that stays, as uvicorn does."""
    headers = message.get("headers")
    if (
        type(headers) is not CompleteHeaders
        or cycle.response_started
        or cycle.disconnected
        or cycle.flow.write_paused
        or not cycle.keep_alive
        or cycle.default_headers
    ):
        await RequestResponseCycle.send(cycle, message)
        return
    cycle.response_started, cycle.waiting_for_100_continue = True, False
    cycle.chunked_encoding, cycle.expected_content_length = False, headers.length
    cycle.transport.write(b"%b%b\r\n" % (STATUS_LINE[message["status"]], headers.rendered))
