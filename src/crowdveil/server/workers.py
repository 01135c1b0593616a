"""Answer requests in several processes at one address; they share a PostgreSQL database.

The process that was started opens a socket for each worker at the same address (the system distributes connections
among them), starts the workers, and answers no requests itself. One worker has the scheduler beside it, and the others
wake it through a pipe. A worker that ends by itself is replaced; its socket stays open meanwhile, so that devices that
connect wait instead of being refused. When the first process ends, however it ends, so do the workers, after they have
answered the requests that have begun.

Each worker limits addresses on its own. So it gets its share of every such limit, and all of them together never allow
more than the limit.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, replace
from tempfile import TemporaryDirectory
from typing import Any

from prometheus_client.multiprocess import mark_process_dead

from crowdveil.errors import InputError
from crowdveil.server.child_process import ChildProcess, lines_from_parent, write_to_parent
from crowdveil.server.logs import log, set_up
from crowdveil.server.metrics import SHARED_FOLDER
from crowdveil.server.process import DRAIN_S, address_of, listen, serve_on
from crowdveil.server.settings import ServerSettings
from crowdveil.store import open_store

WORKER = "CROWDVEIL_WORKER"
"""Environment variable with what a worker is told, as JSON; other users could read a password in an argument."""
MAX_WORKERS = 64
STOP_S = DRAIN_S + 10.0
"""How long a worker may take to end."""


def serve_with_workers(
    database_url: str,
    host: str,
    port: int,
    settings: ServerSettings,
    workers: int,
    options: Mapping[str, Any],
    ready: Callable[[str], None] | None,
) -> None:
    """Serve until SIGTERM or SIGINT; `options` are those of `process.serve_on`."""
    check_workers(workers, database_url)
    with ExitStack() as stack:
        open_store(database_url).close()  # migrate it once, and fail here if that is not possible
        sockets = [stack.enter_context(listen(host, port, shared=True))]
        port = sockets[0].getsockname()[1]
        sockets += [stack.enter_context(listen(host, port, shared=True)) for _ in range(workers - 1)]
        folder = stack.enter_context(TemporaryDirectory(prefix="crowdveil-metrics-"))
        pipe = os.pipe()
        for end in pipe:
            os.set_blocking(end, False)
            stack.callback(os.close, end)
        told = {
            "database_url": database_url,
            "settings": asdict(share_of(settings, workers)),
            "options": dict(options),
            "wake_pipe": pipe,
        }
        asyncio.run(_supervise(sockets, told, folder, ready))
    log().info("stopped")


def check_workers(workers: int, database_url: str) -> None:
    """Refuse a number of workers that cannot be, here or on this database."""
    if not 1 <= workers <= MAX_WORKERS:
        raise InputError("workers", workers, f"should be from 1 to {MAX_WORKERS}")
    if workers > 1 and database_url.startswith("sqlite"):
        expected = "should be 1 on SQLite, which only one process should write to; name a PostgreSQL database for more"
        raise InputError("workers", workers, expected)
    if workers > 1 and not hasattr(socket, "SO_REUSEPORT"):
        raise InputError("workers", workers, "should be 1 on this system, where processes cannot share an address")


def share_of(settings: ServerSettings, workers: int) -> ServerSettings:
    """Return the settings of one worker: its share of the limits per address, at least 1."""
    return replace(
        settings,
        **{
            name: max(1, getattr(settings, name) // workers)
            for name in ("requests_per_minute", "failures_per_minute", "seats_per_address")
        },
    )


class _Worker:
    """A worker as the first process sees it."""

    def __init__(self, number: int, listening: socket.socket, told: Mapping[str, Any], folder: str) -> None:
        self.ready = asyncio.Event()
        self._folder = folder
        self._pid: int | None = None
        files = (listening.fileno(), *told["wake_pipe"])
        text = json.dumps({**told, "socket": listening.fileno(), "has_scheduler": number == 0})
        environment = {WORKER: text, SHARED_FOLDER: folder}
        self.process = ChildProcess("crowdveil.server.workers", environment, self._on_line, files=files, stop_s=STOP_S)

    def _on_line(self, line: bytes) -> None:
        if self._pid is not None:  # it was replaced, and nothing waits in the queue of the old one
            mark_process_dead(self._pid, self._folder)  # type: ignore[no-untyped-call]
        self._pid = int(line)
        self.ready.set()


async def _supervise(
    sockets: list[socket.socket], told: Mapping[str, Any], folder: str, ready: Callable[[str], None] | None
) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stopped.set)
    workers = [_Worker(number, listening, told, folder) for number, listening in enumerate(sockets)]
    for worker in workers:
        worker.process.start()
    announcing = loop.create_task(_announce(workers, address_of(sockets[0]), ready))
    await stopped.wait()
    announcing.cancel()
    for listening in sockets:  # the workers close theirs, and then nobody can connect any more
        listening.close()
    await asyncio.gather(*(worker.process.stop() for worker in workers))


async def _announce(workers: list[_Worker], address: str, ready: Callable[[str], None] | None) -> None:
    for worker in workers:
        await worker.ready.wait()
    log().info("workers-ready", extra={"pid": os.getpid(), "url": address, "workers": len(workers)})
    if ready is not None:
        ready(address)


# --- in a worker ----------------------------------------------------------------------------------------------


def main() -> None:
    """Serve until the first process ends."""
    set_up()
    told = json.loads(os.environ.pop(WORKER))
    lines = lines_from_parent()

    def watch() -> None:
        for _ in lines:
            pass
        os.kill(os.getpid(), signal.SIGTERM)  # like a signal of the first process, if it had the time to send one

    threading.Thread(target=watch, daemon=True).start()
    with socket.socket(fileno=told["socket"]) as listening:
        serve_on(
            listening,
            told["database_url"],
            ServerSettings(**told["settings"]),
            **told["options"],
            wake_pipe=told["wake_pipe"],
            has_scheduler=told["has_scheduler"],
            ready=lambda _: write_to_parent(str(os.getpid()).encode()),
        )


if __name__ == "__main__":
    main()
