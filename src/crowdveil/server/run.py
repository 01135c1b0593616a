"""A running server: the application on a socket, its conductor beside it, until it is told to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import uvicorn

from crowdveil.errors import InputError
from crowdveil.server.app import create_app
from crowdveil.server.child_process import ChildProcess
from crowdveil.server.logs import log, set_up
from crowdveil.server.metrics import Metrics
from crowdveil.server.scheduler import DATABASE
from crowdveil.server.settings import ServerSettings
from crowdveil.store import open_store

WAKE_S = 0.1
"""The conductor is told of new reports no more often than this."""
DRAIN_S = 20
"""How long requests that have begun may take once the server is told to stop."""
BACKLOG = 2048


def serve(
    database_url: str,
    host: str = "127.0.0.1",
    port: int = 0,
    settings: ServerSettings | None = None,
    *,
    tile_url: str | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; requests that have begun are answered first.

    `ready` is called with the address once it accepts connections; port 0 takes any free one.
    """
    set_up()
    with _listen(host, port) as listening, open_store(database_url) as store:
        metrics = Metrics()
        conductor = _Conducted(database_url, metrics)
        app = create_app(store, settings, metrics=metrics, wake=conductor.wake, tile_url=tile_url)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=DRAIN_S,
            forwarded_allow_ips="127.0.0.1,::1",
            lifespan="on",
        )
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_run(_Server(config), listening, conductor, ready))
        log().info("stopped")


class _Server(uvicorn.Server):
    """Stops at a signal and returns; uvicorn would raise it again, and the conductor would not be waited for."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


class _Conducted:
    """The conductor's process, as the server sees it."""

    def __init__(self, database_url: str, metrics: Metrics) -> None:
        self._metrics = metrics
        self._nudged = 0.0
        self._later: asyncio.TimerHandle | None = None
        self.child = ChildProcess("crowdveil.server.scheduler", {DATABASE: database_url}, self._heard)

    def wake(self) -> None:
        """Tell it that something has changed, now or very soon."""
        if self._later is None and monotonic() - self._nudged >= WAKE_S:
            self._send()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(WAKE_S, self._send)

    def _send(self) -> None:
        self._later, self._nudged = None, monotonic()
        self.child.write(b"")

    def _heard(self, line: bytes) -> None:
        happened: dict[str, Any] = json.loads(line)
        event = happened.pop("event")
        self._metrics.happenings.labels(event).inc()
        if event == "round-opened":
            self._metrics.solves.observe(happened["seconds"])
        told = {name: value for name, value in happened.items() if value is not None}
        log().log(logging.WARNING if "reason" in told else logging.INFO, event, extra=told)


async def _run(
    server: uvicorn.Server, listening: socket.socket, conductor: _Conducted, ready: Callable[[str], None] | None
) -> None:
    conductor.child.start()
    announcing = asyncio.get_running_loop().create_task(_announce(server, listening, ready))
    try:
        await server.serve(sockets=[listening])
    finally:
        announcing.cancel()
        await conductor.child.stop()


async def _announce(server: uvicorn.Server, listening: socket.socket, ready: Callable[[str], None] | None) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    address = _address(listening)
    log().info("listening", extra={"pid": os.getpid(), "url": address})
    if ready is not None:
        ready(address)


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError("address", f"{host}:{port}", f"cannot listen there ({reason}); choose another port") from None
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
