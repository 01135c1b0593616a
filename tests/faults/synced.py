"""Watch a server's system calls: no acknowledgement leaves before the report's bytes are on disk.

kill -9 cannot show this, because what a process wrote survives it in the system's cache. So the server runs under
strace, and for each report (all of different symbols, so that no digest occurs twice) three calls must follow each
other:

    write to the log of the database, with the digest in it
    fsync or fdatasync of that file, begun after the write had ended
    send to a client, with the digest in it, begun after the sync had ended

strace stops a process at the beginning and at the end of each call and writes in the order of these stops, so the order
of its lines is the order of the calls. `unsynced` is a server that must be caught.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.faults.databases import POSTGRESQL, PostgreSQL, scratch
from tests.faults.light_devices import LightDevice, Load, OperatorConnection
from tests.faults.plans import new_operator, plan
from tests.faults.server_processes import ServerOptions, ServerProcesses, free_port, running
from tests.faults.table import ResultRow
from tests.faults.verify import read
from tests.town import square_town

PROMISE = "10 no acknowledgement before its fsync (strace)"
CAMPAIGN = "noise"
CALLS = "fsync,fdatasync,write,writev,pwrite64,pwritev,sendto,sendmsg"
SHOWN_BYTES = 70_000
"""PostgreSQL writes up to eight pages at once in a run of this size."""
LINE = re.compile(r"^(\d+)\s+(?:<\.\.\. (\w+) resumed>(.*)|(\w+)\((\d+)<(.*?)>(.*))$")


class NoStraceError(Exception):
    """strace is not installed."""


def strace() -> str:
    """Return the path of strace; install it if permitted."""
    if shutil.which("strace") is None and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "strace"], stdout=subprocess.DEVNULL, check=False)
    found = shutil.which("strace")
    if found is None:
        raise NoStraceError("strace is not installed: install the package strace, or run as root where apt-get is")
    return found


@dataclass
class Call:
    """A system call on a file or socket, between two lines of what strace wrote."""

    name: str
    target: str
    text: str
    began: int
    ended: int


def parse(lines: list[str]) -> list[Call]:
    """The calls, in the order they began; one that never ended ends after all lines."""
    calls: list[Call] = []
    unfinished: dict[str, Call] = {}
    for number, line in enumerate(lines):
        found = LINE.match(line)
        if found is None:
            continue
        pid, resumed, rest, name, _, target, text = found.groups()
        if resumed is not None:
            if pid in unfinished:
                call = unfinished.pop(pid)
                call.ended = number
                call.text += rest
            continue
        call = Call(name, target, text, number, number)
        if text.rstrip().endswith("<unfinished ...>"):
            call.ended = len(lines)
            unfinished[pid] = call
        calls.append(call)
    return calls


def is_log(target: str) -> bool:
    """Return whether a file is a write-ahead log."""
    return target.endswith("-wal") or "/pg_wal/" in target


def unsynced(calls: list[Call], digests: list[str]) -> list[str]:
    """Return the digests that were acknowledged before they were on disk."""
    found = []
    writes = [one for one in calls if is_log(one.target) and "sync" not in one.name]
    syncs = [one for one in calls if is_log(one.target) and "sync" in one.name]
    sends = [one for one in calls if "TCP" in one.target]
    for digest in digests:
        halves = (digest[:32], digest[32:])  # a page may end within the digest
        written = next((one for one in writes if any(half in one.text for half in halves)), None)
        sent = next((one for one in sends if digest in one.text), None)
        if sent is None or written is None:
            found.append(f"{digest[:12]}: {'never written' if written is None else 'never sent'}, as strace saw it")
        elif not any(
            one.target == written.target and written.ended < one.began and one.ended < sent.began for one in syncs
        ):
            found.append(f"{digest[:12]}: acknowledged before it was synced")
    return found


def run(
    where: str, postgresql: PostgreSQL, processes: ServerProcesses, *, reports: int, seed: int, variant: str = ""
) -> ResultRow:
    """Send reports one by one, then many at once, and look at the calls."""
    line = ResultRow(PROMISE, where, 2 * reports, "reports")
    with scratch(where, postgresql) as (database, folder):
        token = new_operator(database)
        options = ServerOptions(database, free_port(), str(folder / "log"), variant=variant)
        with running(processes, options) as server:
            operator = OperatorConnection(lambda: options.port, token)
            devices: list[LightDevice] = []
            symbols = count()

            async def play(workers: int, count: int) -> None:
                rng = random.Random(f"{seed} {workers}")
                load = Load([options.port], [CAMPAIGN], rng, symbol=lambda _: next(symbols))
                await load.run(workers, count)
                devices.extend(load.devices)
                line.failures.extend(load.faults)

            async def all_of_it() -> None:
                await operator.open(CAMPAIGN, plan(10**4, 2, 5000, square_town(10)).to_bytes())
                await play(1, 1)  # from here on connections to the database are there, and their processes watched
                devices.clear()
                watched = [server.pid, *([postgresql.pid, *_children(postgresql.pid)] if where == POSTGRESQL else [])]
                with _Watch(folder / "calls", watched) as watch:
                    await play(1, reports)
                    await play(16, reports)
                    told = list(devices)
                    await asyncio.to_thread(watch.stop)
                calls = parse((folder / "calls").read_text(errors="replace").splitlines())
                line.failures.extend(unsynced(calls, [one.receipt.digest for one in told if one.receipt]))
                line.expect(len(told) == 2 * reports, f"{len(told)} of {2 * reports} devices got through")
                line.notes.append(
                    f"{len(calls):,} calls watched, {sum(is_log(one.target) and 'sync' in one.name for one in calls)} "
                    "syncs of the database's log"
                )
                await operator.close(CAMPAIGN)
                operator.disconnect()

            asyncio.run(all_of_it())
        stored = read(database, CAMPAIGN)
        line.expect(len(stored.reports) == 2 * reports + 1, f"{len(stored.reports)} reports are stored")
    return line


class _Watch:
    """strace, attached to running processes and all that they start."""

    def __init__(self, out: Path, pids: list[int]) -> None:
        attach = [part for pid in pids for part in ("-p", str(pid))]
        command = [strace(), "-f", "-yy", "-s", str(SHOWN_BYTES), "-e", f"trace={CALLS}", "-e", "signal=none"]
        self._process = subprocess.Popen([*command, "-o", str(out), *attach], stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        attached, until = 0, time.monotonic() + 20
        while attached < len(pids) and time.monotonic() < until:
            text = self._process.stderr.readline()
            if not text or "Operation not permitted" in text:
                raise NoStraceError(f"strace cannot attach: {text or 'it ended'} (is ptrace allowed here?)")
            attached += "attached" in text

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Detach from the processes, which continue."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()


def _children(pid: int) -> list[int]:
    """Return the child processes of a process."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                parent = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if int(parent) == pid:
                found.append(int(entry))
    return found
