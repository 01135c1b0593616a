"""Take the disk or the database away under load: 503, no false acknowledgement, and recovery without help.

full          a file system of our own that is too small (where we may mount one)
limit         the server may not write beyond a size (RLIMIT_FSIZE), lifted again from outside
read-only     the database's files are made immutable (where the file system and our rights allow it)
down          PostgreSQL is stopped, and started again
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tests.faults.databases import POSTGRESQL, SQLITE, PostgreSQL, scratch
from tests.faults.light_devices import HttpConnection, Load, OperatorConnection
from tests.faults.plans import new_operator, plan
from tests.faults.server_processes import Server, ServerOptions, ServerProcesses, free_port, running, session
from tests.faults.table import Progress, ResultRow
from tests.faults.verify import acknowledged, integrity, read, verify

PROMISE = "13 {}: 503, no false acknowledgement, recovery by itself"
CAMPAIGN = "noise"
WORKERS = 24
SICK_S, WELL_S = 3.0, 30.0
SMALL_DISK = 16 << 20


@dataclass
class Trouble:
    """How to cause a failure, and how to end it."""

    name: str
    begin: Callable[[Server, Path], None]
    end: Callable[[Server, Path], None]


def run(
    postgresql: PostgreSQL, processes: ServerProcesses, *, seed: int, on: Sequence[str] = (SQLITE, POSTGRESQL)
) -> list[ResultRow]:
    """Cause every failure in turn."""
    down = Trouble("database down", lambda *_: postgresql.stop(), lambda *_: postgresql.start())
    troubles = [(LIMIT, SQLITE), (FULL, SQLITE), (READ_ONLY, SQLITE), (down, POSTGRESQL)]
    return [one(trouble, where, processes, postgresql, seed) for trouble, where in troubles if where in on]


def one(trouble: Trouble, where: str, processes: ServerProcesses, postgresql: PostgreSQL, seed: int) -> ResultRow:
    """Cause one failure, if it is possible on this machine."""
    row, began = ResultRow(PROMISE.format(trouble.name), where, 0, "refusals"), monotonic()
    with ExitStack() as stack:
        database, folder = stack.enter_context(scratch(where, postgresql))
        if trouble is FULL and os.geteuid() != 0:
            row.notes.append("left out: only root may mount a small file system")
            return row
        if trouble is READ_ONLY and not _may_freeze(folder):
            row.notes.append("left out: chattr +i is not possible here")
            return row
        if trouble is FULL:
            folder = stack.enter_context(_small_disk())
            database = f"sqlite:///{folder / 'store.sqlite'}"
        _one(row, trouble, processes, database, folder, seed)
    row.seconds = monotonic() - began
    return row


def _one(row: ResultRow, trouble: Trouble, processes: ServerProcesses, database: str, folder: Path, seed: int) -> None:
    token = new_operator(database)
    with tempfile.TemporaryDirectory() as logs:
        options = ServerOptions(database, free_port(), f"{logs}/log")
        with running(processes, options) as server:
            load = Load([options.port], [CAMPAIGN], random.Random(seed))
            asyncio.run(_play(row, trouble, server, folder, token, load))
            server.terminate()
            row.expect(server.wait() == 0, f"the server ended with code {server.code}")
        row.failures += load.faults + integrity(database)
        row.failures += verify(acknowledged(load.devices, CAMPAIGN), read(database, CAMPAIGN))
        row.notes.append(f"{load.acknowledged:,} reports acknowledged; {dict(load.answers)}")


async def _play(row: ResultRow, trouble: Trouble, server: Server, folder: Path, token: str, load: Load) -> None:
    say = Progress(f"disk-trouble, {trouble.name}")
    operator, health = OperatorConnection(lambda: server.port, token), HttpConnection(lambda: server.port)
    await operator.open(CAMPAIGN, plan(10**6, 10, 10**5).to_bytes())

    def sick() -> int:
        return load.answers["report: 503 unavailable"] + load.answers["seat: 503 unavailable"]

    coming = asyncio.create_task(load.run(WORKERS))
    await _until(lambda: load.acknowledged >= 200, "200 reports", WELL_S * 2)
    say("begins", always=True)
    await asyncio.to_thread(trouble.begin, server, folder)
    try:
        # With a disk that fills up, there is room for some more at first.
        await _until(lambda: sick() > 0, "refusal", WELL_S)
        await asyncio.sleep(SICK_S / 2)
        meanwhile, stored = load.acknowledged, sick()
        answer = await health.ask("GET", "/healthz")
        row.expect(
            answer is not None and answer.status == 503,
            f"/healthz says {answer.status if answer else 'nothing'} while nothing can be stored",
        )
        await asyncio.sleep(SICK_S / 2)
        row.trials = sick()
        row.expect(sick() > stored, "no more 503 although the trouble goes on")
        row.notes.append(f"{load.acknowledged - meanwhile} acknowledged in the last {SICK_S / 2} s of the trouble")
    finally:
        await asyncio.to_thread(trouble.end, server, folder)
        say("ends", always=True)
    after = load.acknowledged
    began = asyncio.get_running_loop().time()
    await _until(lambda: load.acknowledged >= after + 100, "recovery", WELL_S)
    server.check()
    row.notes.append(f"100 more reports {asyncio.get_running_loop().time() - began:.1f} s after the trouble's end")
    load.stopping = True
    await coming
    await operator.close(CAMPAIGN)
    operator.disconnect()
    health.disconnect()


async def _until(holds: Callable[[], bool], what: str, within_s: float) -> None:
    try:
        async with asyncio.timeout(within_s):
            while not holds():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise TimeoutError(f"no {what} within {within_s:g} s") from None


# --- the troubles ---------------------------------------------------------------------------------------------


def _limit(server: Server, folder: Path) -> None:
    largest = max(path.stat().st_size for path in folder.iterdir())
    for pid in (server.pid, *session(server.pid)):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))


def _unlimit(server: Server, folder: Path) -> None:
    for pid in (server.pid, *session(server.pid)):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


LIMIT = Trouble("no room for a file", _limit, _unlimit)


def _fill(server: Server, folder: Path) -> None:
    ballast = os.open(folder / "ballast", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(ballast, bytes(4096)):
            pass
    except OSError:
        pass  # full
    finally:
        os.close(ballast)


def _empty(server: Server, folder: Path) -> None:
    (folder / "ballast").unlink()


FULL = Trouble("disk full", _fill, _empty)


@contextmanager
def _small_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="crowdveil-small-disk-") as name:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "crowdveil", name], check=True)
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", name], check=True)


def _chattr(sign: str, folder: Path) -> bool:
    # Not SQLite's shared memory: a process that writes to a mapped file that may not be written dies of SIGBUS.
    paths = [str(path) for path in folder.iterdir() if not path.name.endswith("-shm")]
    return subprocess.run(["chattr", f"{sign}i", *paths], capture_output=True).returncode == 0


def _may_freeze(folder: Path) -> bool:
    trial = folder / "trial"
    trial.touch()
    possible = _chattr("+", folder)
    _chattr("-", folder)
    trial.unlink()
    return possible


def _freeze(server: Server, folder: Path) -> None:
    assert _chattr("+", folder)


def _thaw(server: Server, folder: Path) -> None:
    assert _chattr("-", folder)


READ_ONLY = Trouble("read-only", _freeze, _thaw)
