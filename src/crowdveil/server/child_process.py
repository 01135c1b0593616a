"""A process beside the server that does what would hold up requests.

It talks in lines over its standard input and output, and ends when its input does: also when the server was killed,
because then nobody holds the other end. If it dies, it is started again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from crowdveil.server.logs import log

MAX_LINE = 64 << 20
RESTART_S = 1.0
GOODBYE_S = 5.0


class ChildProcess:
    """Runs `python -m module` for as long as the server runs."""

    def __init__(self, module: str, environment: Mapping[str, str], on_line: Callable[[bytes], None]) -> None:
        self._module = module
        self._environment = environment
        self._on_line = on_line
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        """Start it, and keep it running."""
        self._watch = asyncio.get_running_loop().create_task(self._keep())

    def write(self, line: bytes) -> bool:
        """Send a line; False where nobody is there to read it."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return False
        process.stdin.write(line + b"\n")
        return True

    async def stop(self) -> None:
        """End it, kindly first."""
        self._stopping = True
        process = self._process
        if process is not None and process.returncode is None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), GOODBYE_S)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    process.kill()
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch

    async def _keep(self) -> None:
        while not self._stopping:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self._module,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, **self._environment},
                limit=MAX_LINE,
            )
            assert self._process.stdout is not None
            async for line in self._process.stdout:
                self._on_line(line)
            code = await self._process.wait()
            if not self._stopping:
                log().error("child-ended", extra={"program": self._module, "code": code})
                await asyncio.sleep(RESTART_S)


# --- in the child ---------------------------------------------------------------------------------------------


def lines_from_parent() -> Iterator[bytes]:
    """What the server writes; ends when the server does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's business
    return iter(sys.stdin.buffer.readline, b"")


def wake_at_each_line(wake: threading.Event) -> None:
    """Set an event at every line, and end this process when the server ends, whatever it is doing."""
    lines = lines_from_parent()

    def read() -> None:
        for _ in lines:
            wake.set()
        os._exit(0)  # what is being done is a transaction: all of it is there, or nothing

    threading.Thread(target=read, daemon=True).start()


def write_to_parent(line: bytes) -> None:
    """Write a line to the server."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
