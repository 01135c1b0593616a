"""Run a server: the application on a socket and the scheduler beside it, until a signal stops it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from crowdveil.extras import require_extra

require_extra("the server", "server")  # before the modules below import its libraries

# ruff: noqa: E402
import uvicorn

from crowdveil.errors import InputError
from crowdveil.server.app import create_app
from crowdveil.server.child_process import ChildProcess
from crowdveil.server.logs import log, set_up
from crowdveil.server.metrics import Metrics
from crowdveil.server.scheduler import DATABASE
from crowdveil.server.settings import ServerSettings
from crowdveil.server.timed_protocol import timed_protocol
from crowdveil.store import open_store

WAKE_S = 0.1
"""Shortest time between two messages that wake the scheduler."""
DRAIN_S = 20
"""How long running requests may take once a signal has stopped the server."""
BACKLOG = 2048


def serve(
    database_url: str,
    host: str = "127.0.0.1",
    port: int = 0,
    settings: ServerSettings | None = None,
    *,
    tile_url: str | None = None,
    trusted_proxies: Sequence[str] = (),
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; running requests are answered first.

    `ready` is called with the address once the server accepts connections. Port 0 takes any free port. The address of a
    client is read from the header X-Forwarded-For only if one of the `trusted_proxies` has sent it.
    """
    set_up()
    settings = settings or ServerSettings()
    _allow_many_connections()
    with _listen(host, port) as listening, open_store(database_url) as store:
        metrics = Metrics()
        scheduler = _SchedulerProcess(database_url, metrics)
        app = create_app(store, settings, metrics=metrics, wake=scheduler.wake, tile_url=tile_url)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=DRAIN_S,
            http=timed_protocol(settings.request_s),
            proxy_headers=bool(trusted_proxies),
            forwarded_allow_ips=list(trusted_proxies),
            lifespan="on",
        )
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_run(_Server(config), listening, scheduler, ready))
        log().info("stopped")


class _Server(uvicorn.Server):
    """Return at a signal; uvicorn would raise the signal again, before the scheduler has stopped."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


class _SchedulerProcess:
    """The process of the scheduler, as the server sees it."""

    def __init__(self, database_url: str, metrics: Metrics) -> None:
        self._metrics = metrics
        self._woken = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.child = ChildProcess("crowdveil.server.scheduler", {DATABASE: database_url}, self._on_line)

    def wake(self) -> None:
        """Tell the scheduler that something has changed, at most every `WAKE_S`."""
        if self._timer is None and monotonic() - self._woken >= WAKE_S:
            self._send()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WAKE_S, self._send)

    def _send(self) -> None:
        self._timer, self._woken = None, monotonic()
        self.child.write(b"")

    def _on_line(self, line: bytes) -> None:
        fields: dict[str, Any] = json.loads(line)
        event = fields.pop("event")
        self._metrics.scheduler_events.labels(event).inc()
        if event == "round-opened":
            self._metrics.solves.observe(fields["seconds"])
        known = {name: value for name, value in fields.items() if value is not None}
        log().log(logging.WARNING if "reason" in known else logging.INFO, event, extra=known)


async def _run(
    server: uvicorn.Server, listening: socket.socket, scheduler: _SchedulerProcess, ready: Callable[[str], None] | None
) -> None:
    scheduler.child.start()
    announcing = asyncio.get_running_loop().create_task(_announce(server, listening, ready))
    try:
        await server.serve(sockets=[listening])
    finally:
        announcing.cancel()
        await scheduler.child.stop()


async def _announce(server: uvicorn.Server, listening: socket.socket, ready: Callable[[str], None] | None) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    address = _address(listening)
    log().info("listening", extra={"pid": os.getpid(), "url": address})
    if ready is not None:
        ready(address)


def _allow_many_connections() -> None:
    """Raise the number of files that may be open as far as the system allows; by default 1,024 connections fill it."""
    if sys.platform == "win32":
        return
    import resource

    with suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


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
