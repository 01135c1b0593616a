"""Run a campaign server on this machine for a while: a child process on a free port, always stopped at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

from crowdveil.errors import CrowdveilError
from crowdveil.extras import require_extra

START_S, STOP_S = 90.0, 30.0
"""How long a slow machine may take to start and to stop it."""
LOG = "server.log"
LISTENING = re.compile(r"Listening at (\S+)")


@dataclass(frozen=True)
class LocalServer:
    """Say where a local server is, and how to run campaigns on it."""

    url: str
    token: str
    token_file: Path
    _process: subprocess.Popen[str] = field(repr=False)

    def stay(self, ready: Callable[[], None] = lambda: None) -> None:
        """Wait until SIGINT or SIGTERM has ended the server; it is an error if it ends for another reason.

        `ready` is called once a signal would end it.
        """
        with _on((signal.SIGINT, signal.SIGTERM), lambda *_: self._process.terminate()):
            ready()
            code = self._process.wait()
        if code != 0:
            raise CrowdveilError(f"the server ended by itself, with {code} (see {self.token_file.parent / LOG})")


@contextmanager
def local_server(folder: Path) -> Iterator[LocalServer]:
    """Run `crowdveil serve` on the data in a folder until the block ends, for whatever reason.

    The folder has to exist. It keeps the database, the operator's token and the server's log.
    """
    require_extra("a local server", "server")
    token_file, log = folder / "token", folder / LOG
    command = [sys.executable, "-m", "crowdveil", "serve", "--data", str(folder), "--port", "0"]
    command += ["--new-token", "--token-file", str(token_file)]
    # The variable may name the database of a real server, which this one should not use.
    environment = {name: value for name, value in os.environ.items() if name != "CROWDVEIL_DATABASE"}
    with _on((signal.SIGTERM,), _end), _private(log) as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
        try:
            url = _wait_for_address(process, log)
            yield LocalServer(url, token_file.read_text(encoding="ascii").strip(), token_file, process)
        finally:
            _stop(process)


def _private(path: Path) -> BinaryIO:
    """Open a file for writing that nobody else may read."""
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    os.chmod(path, 0o600)
    return open(handle, "wb")


@contextmanager
def _on(signals: tuple[signal.Signals, ...], handle: Callable[[int, object], object]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    before = {one: signal.signal(one, handle) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _end(number: int, _: object) -> NoReturn:
    """End this process as an error would, so that the server is stopped too."""
    raise SystemExit(128 + number)


def _wait_for_address(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None  # it was asked for
    late = threading.Timer(START_S, process.kill)
    late.start()
    try:
        for line in process.stdout:
            found = LISTENING.search(line)
            if found is not None:
                return found[1]
    finally:
        late.cancel()
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise CrowdveilError(f"the server did not start: {said[-1] if said else 'its log is empty'} (see {log})")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
