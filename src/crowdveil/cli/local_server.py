"""A server of one's own for a while: a child process on a free port of this machine, always stopped at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from crowdveil.errors import CrowdveilError

START_S, STOP_S = 90.0, 30.0
"""How long a slow machine may take."""
LISTENING = re.compile(r"Listening at (\S+)")


@dataclass(frozen=True)
class LocalServer:
    """Where it is, and how to run campaigns on it."""

    url: str
    token: str
    token_file: Path


@contextmanager
def local_server(folder: Path) -> Iterator[LocalServer]:
    """Run `crowdveil serve` on the data in a folder, until the block ends, however it ends."""
    token_file, log = folder / "token", folder / "server.log"
    command = [sys.executable, "-m", "crowdveil", "serve", "--data", str(folder), "--port", "0"]
    command += ["--new-token", "--token-file", str(token_file)]
    # A variable that names the database of a real server is not meant for this one.
    environment = {name: value for name, value in os.environ.items() if name != "CROWDVEIL_DATABASE"}
    with _told_to_end(), log.open("wb") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
        try:
            url = _wait_for_address(process, log)
            yield LocalServer(url, token_file.read_text(encoding="ascii").strip(), token_file)
        finally:
            _stop(process)


@contextmanager
def _told_to_end() -> Iterator[None]:
    """Make SIGTERM end this process like an error does, so that it does not leave the server behind."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's alone
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
    raise CrowdveilError(f"the server did not start: {said[-1] if said else 'it said nothing'} (see {log})")


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
