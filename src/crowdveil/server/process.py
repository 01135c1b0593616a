"""Serve on a socket in this process: the application, and the scheduler beside it, until a signal stops it."""

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
from crowdveil.server.logs import log
from crowdveil.server.metrics import Metrics
from crowdveil.server.scheduler import DATABASE, KEEP_DAYS
from crowdveil.server.settings import ServerSettings
from crowdveil.server.timed_protocol import timed_protocol
from crowdveil.store import open_store

WAKE_S = 0.1
"""Shortest time between two messages that wake the scheduler."""
DRAIN_S = 20
"""How long running requests may take once a signal has stopped the server."""
BACKLOG = 2048


def serve_on(
    listening: socket.socket,
    database_url: str,
    settings: ServerSettings,
    *,
    tile_url: str | None,
    trusted_proxies: Sequence[str],
    ready: Callable[[str], None] | None,
    wake_pipe: tuple[int, int] | None = None,
    has_scheduler: bool = True,
) -> None:
    """Serve on a socket until SIGTERM or SIGINT.

    The process without a scheduler writes to the `wake_pipe` to wake it; the one that has it reads there.
    """
    _allow_many_connections()
    with open_store(database_url) as store:
        metrics = Metrics()
        told = {DATABASE: database_url, KEEP_DAYS: str(settings.keep_days or "")}
        scheduler = _SchedulerProcess(told, metrics, wake_pipe) if has_scheduler else _OtherScheduler(wake_pipe)
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


class _Waker:
    """Wake the scheduler when something has changed, at most every `WAKE_S`."""

    def __init__(self) -> None:
        self._woken = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Start what has to run; to be called in the event loop."""

    async def stop(self) -> None:
        """Stop it."""

    def wake(self) -> None:
        """Tell the scheduler that something has changed."""
        if self._timer is None and monotonic() - self._woken >= WAKE_S:
            self._send()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(WAKE_S, self._send)

    def _send(self) -> None:
        self._timer, self._woken = None, monotonic()
        self._tell()

    def _tell(self) -> None:
        raise NotImplementedError


class _OtherScheduler(_Waker):
    """The scheduler of another worker."""

    def __init__(self, wake_pipe: tuple[int, int] | None) -> None:
        super().__init__()
        assert wake_pipe is not None
        self._writing_end = wake_pipe[1]

    def _tell(self) -> None:
        with suppress(BlockingIOError):  # it is woken already
            os.write(self._writing_end, b"\n")


class _SchedulerProcess(_Waker):
    """The process of the scheduler, as the server sees it."""

    def __init__(self, told: dict[str, str], metrics: Metrics, wake_pipe: tuple[int, int] | None) -> None:
        super().__init__()
        self._metrics = metrics
        self._reading_end = None if wake_pipe is None else wake_pipe[0]
        self._child = ChildProcess("crowdveil.server.scheduler", told, self._on_line)

    async def start(self) -> None:
        """Start the process, and listen to those who would wake it."""
        self._child.start()
        if self._reading_end is not None:
            asyncio.get_running_loop().add_reader(self._reading_end, self._on_wake)

    async def stop(self) -> None:
        """Stop the process."""
        if self._reading_end is not None:
            asyncio.get_running_loop().remove_reader(self._reading_end)
        await self._child.stop()

    def _tell(self) -> None:
        self._child.write(b"")

    def _on_wake(self) -> None:
        assert self._reading_end is not None
        with suppress(BlockingIOError):
            os.read(self._reading_end, 65_536)
        self.wake()

    def _on_line(self, line: bytes) -> None:
        fields: dict[str, Any] = json.loads(line)
        event = fields.pop("event")
        self._metrics.scheduler_events.labels(event).inc()
        if event == "round-opened":
            self._metrics.solves.observe(fields["seconds"])
        known = {name: value for name, value in fields.items() if value is not None}
        log().log(logging.WARNING if "reason" in known else logging.INFO, event, extra=known)


async def _run(
    server: uvicorn.Server, listening: socket.socket, scheduler: _Waker, ready: Callable[[str], None] | None
) -> None:
    await scheduler.start()
    announcing = asyncio.get_running_loop().create_task(_announce(server, listening, ready))
    try:
        await server.serve(sockets=[listening])
    finally:
        announcing.cancel()
        await scheduler.stop()


async def _announce(server: uvicorn.Server, listening: socket.socket, ready: Callable[[str], None] | None) -> None:
    while not server.started:
        await asyncio.sleep(0.01)
    address = address_of(listening)
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


def listen(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Listen at an address; a `shared` one can be listened at by several sockets, each of which gets connections."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError("address", f"{host}:{port}", f"cannot listen there ({reason}); choose another port") from None
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the URL of a server that listens on a socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
