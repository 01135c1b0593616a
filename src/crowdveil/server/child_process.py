"""Run work that would delay requests in a process beside the server.

The two processes exchange lines over standard input and output. The child ends when its input is closed, which also
happens when the server is killed. If the child ends by itself, it is started again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from crowdveil.server.logs import log

MAX_LINE = 64 << 20
RESTART_S = 1.0
STOP_S = 5.0


class ChildProcess:
    """Run `python -m module` for as long as the server runs."""

    def __init__(
        self,
        module: str,
        environment: Mapping[str, str],
        on_line: Callable[[bytes], None],
        *,
        files: Sequence[int] = (),
        stop_s: float = STOP_S,
    ) -> None:
        """`files` are open files that the process inherits; `stop_s` is how long it may take to end."""
        self._files, self._stop_s = files, stop_s
        self._module = module
        self._environment = environment
        self._on_line = on_line
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        """Start the process, and start it again whenever it ends."""
        self._watch = asyncio.get_running_loop().create_task(self._keep_running())

    def write(self, line: bytes) -> bool:
        """Send a line; return False if the process is not running."""
        process = self._process
        if process is None or process.stdin is None or process.stdin.is_closing():
            return False
        process.stdin.write(line + b"\n")
        return True

    async def stop(self) -> None:
        """Close the input of the process, and kill it if it does not end in time."""
        self._stopping = True
        process = self._process
        if process is not None and process.returncode is None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), self._stop_s)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch

    async def _keep_running(self) -> None:
        while not self._stopping:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self._module,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, **self._environment},
                limit=MAX_LINE,
                pass_fds=self._files,
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
    """Yield the lines that the server writes, until the server ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server handles Ctrl-C and closes the input
    return iter(sys.stdin.buffer.readline, b"")


def wake_at_each_line(wake: threading.Event) -> None:
    """Set an event at every line, and end this process when the server ends, whatever it is doing."""
    lines = lines_from_parent()

    def read() -> None:
        for _ in lines:
            wake.set()
        os._exit(0)  # safe at any point: the database rolls back what is not committed

    threading.Thread(target=read, daemon=True).start()


_writing = threading.Lock()


def write_to_parent(line: bytes) -> None:
    """Send a line to the server; any thread may."""
    with _writing:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
