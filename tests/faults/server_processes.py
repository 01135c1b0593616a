"""Start server processes fast, to kill them: each is forked from a parent that has imported everything.

    python -m tests.faults.server_processes FD        (started by `ServerProcesses`, speaks JSON lines over a socket)

Loading the server's libraries takes seconds, which would leave little of a run to be killed in. What is forked is a
process like any other: it opens its database, listens, answers, and dies of SIGKILL without a chance to tidy up; and so
does its scheduler, which notices that nobody holds the other end of its standard input. The server's own code runs
unchanged, but for the way its scheduler's process is made. `cold` starts the command that people start, for comparison.

Every server leads a session of its own, so that what it leaves behind can be found.

Variants are faulty servers, to test that the tests find faults.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HOST = "127.0.0.1"
GONE_S = 20.0
"""A scheduler that is still loading its libraries notices the end of its server only when that is done."""


@dataclass(frozen=True)
class ServerOptions:
    """What a server process is started with."""

    database: str
    port: int
    log: str
    """Everything that it or its scheduler writes is added to this file."""
    settings: dict[str, Any] = field(default_factory=dict)
    variant: str = ""


class Server:
    """A server process; whoever started it ends it."""

    def __init__(self, pid: int, options: ServerOptions, wait: Callable[[int], int]) -> None:
        self.pid = pid
        self.port = options.port
        self.log = options.log
        self._wait = wait
        self.code: int | None = None

    def kill(self) -> None:
        """Kill the process with SIGKILL and wait until it has ended."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def terminate(self) -> None:
        """Send SIGTERM."""
        os.kill(self.pid, signal.SIGTERM)

    def wait(self) -> int:
        """Return the exit code, negative for a signal; until then the process number is not reused."""
        if self.code is None:
            self.code = self._wait(self.pid)
        return self.code

    def left_behind(self, within_s: float = GONE_S) -> list[int]:
        """Return the processes of its session that outlive it by this time."""
        until = time.monotonic() + within_s
        while (found := session(self.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        return found

    def check(self) -> None:
        """Raise an error if it has ended by itself."""
        state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if self.code is not None or state in "ZX":
            raise ChildProcessError(f"the server ended with code {self.wait()}; {self.last_words()}")

    def last_words(self) -> str:
        """Return the end of its log."""
        return f"its log ends with {Path(self.log).read_text()[-2000:]!r}"


def session(leader: int) -> list[int]:
    """Return the running processes of a session except its leader."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdecimal() or int(entry) == leader:
            continue
        with suppress(OSError):
            state, _, _, its_session = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == leader and state not in "ZX":
                found.append(int(entry))
    return found


def free_port() -> int:
    """Return a port that no process listens on, and that no client gets as its own.

    One of those would not do for a server that comes and goes: whoever asks for it while it is gone may be given that
    very port, is connected to itself, and keeps the server from coming back.
    """
    first_of_clients = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(10_000, max(first_of_clients, 10_001))
        with suppress(OSError), socket.socket() as trial:
            trial.bind((HOST, port))
            return port


def wait_until_it_answers(server: Server, within_s: float = 60.0) -> float:
    """Return the seconds until /healthz answers 200; raise if the server ends or never answers."""
    began = time.monotonic()
    while time.monotonic() - began < within_s:
        server.check()
        with suppress(OSError), socket.create_connection((HOST, server.port), 2.0) as line:
            line.settimeout(5.0)
            line.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            if line.recv(64).startswith(b"HTTP/1.1 200"):
                return time.monotonic() - began
        time.sleep(0.01)
    raise TimeoutError(f"no answer at port {server.port} after {within_s:g} s; {server.last_words()}")


class ServerProcesses:
    """The parent of forked servers; closing it ends those that still run."""

    def __enter__(self) -> Self:
        ours, theirs = socket.socketpair()
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # a process that forks should have one thread
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.server_processes", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=environment,
            )
        self._line = ours.makefile("rwb")
        ours.close()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._line.close()
        self._process.wait()

    def start(self, options: ServerOptions) -> Server:
        """Start a server process; it may not listen yet."""
        return Server(self._ask({"do": "start", "options": asdict(options)}), options, self._waited)

    def _waited(self, pid: int) -> int:
        return self._ask({"do": "wait", "pid": pid})

    def _ask(self, order: dict[str, Any]) -> int:
        self._line.write(json.dumps(order).encode() + b"\n")
        self._line.flush()
        answer: int = json.loads(self._line.readline())
        return answer


@contextmanager
def running(processes: ServerProcesses, options: ServerOptions) -> Iterator[Server]:
    """Run a server until the block ends; it has ended afterwards, whatever happens."""
    server = processes.start(options)
    try:
        wait_until_it_answers(server)
        yield server
    finally:
        if server.code is None:
            server.kill()
        server.left_behind()


def cold(options: ServerOptions) -> Server:
    """Start `crowdveil serve` as a user would, without forking."""
    command = [str(Path(sys.executable).with_name("crowdveil")), "serve", "--database", options.database]
    command += [
        "--port",
        str(options.port),
        "--data",
        str(Path(options.log).parent),
        "--requests-per-minute",
        "1000000",
    ]
    with open(options.log, "ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    return Server(process.pid, options, lambda _: process.wait())


# --- in the parent process of all servers --------------------------------------------------------------------


def main() -> None:
    """Fork servers as requested, until the other end disconnects."""
    import psycopg  # noqa: F401
    import sqlalchemy.dialects.postgresql.psycopg
    import sqlalchemy.dialects.sqlite.pysqlite  # noqa: F401
    import uvicorn.lifespan.on
    import uvicorn.loops.uvloop
    import uvicorn.protocols.http.httptools_impl  # noqa: F401

    orders = socket.socket(fileno=int(sys.argv[1]))
    orders.set_inheritable(False)
    living: set[int] = set()
    with orders.makefile("rwb") as line:
        for text in iter(line.readline, b""):
            order = json.loads(text)
            if order["do"] == "start":
                answer = _fork(partial(_run_server, ServerOptions(**order["options"])))
                living.add(answer)
            else:
                _, status = os.waitpid(order["pid"], 0)
                living.discard(order["pid"])
                answer = os.waitstatus_to_exitcode(status)
            line.write(json.dumps(answer).encode() + b"\n")
            line.flush()
    for pid in living:
        os.kill(pid, signal.SIGKILL)


def _fork(run: Callable[[], None]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        run()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run_server(options: ServerOptions) -> None:
    from crowdveil.server import process, run
    from crowdveil.server.child_process import ChildProcess
    from crowdveil.server.settings import ServerSettings

    os.setsid()
    log = os.open(options.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, 4096)
    VARIANTS[options.variant]()
    # Before any database is open: SQLite's locks do not survive a fork.
    to_scheduler, from_scheduler, pid = _fork_scheduler(options.database)

    class Forked(ChildProcess):
        """The scheduler that was forked already; if it ends, another one is started in the usual way."""

        async def _keep_running(self) -> None:
            loop = asyncio.get_running_loop()
            reader = asyncio.StreamReader()
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_scheduler, "rb"))
            self._process = _Process(pid, os.fdopen(to_scheduler, "wb", buffering=0))  # type: ignore[assignment]
            async for line in reader:
                self._on_line(line)
            if not self._stopping:
                await super()._keep_running()

    vars(process)["ChildProcess"] = Forked
    run.serve(options.database, HOST, options.port, ServerSettings(**options.settings), trusted_proxies=["127.0.0.0/8"])


class _Process:
    """As much of a process as `ChildProcess` uses."""

    def __init__(self, pid: int, stdin: Any) -> None:
        self._pid = pid
        self.returncode: int | None = None
        self.stdin = self
        self._pipe = stdin

    def write(self, line: bytes) -> None:
        with suppress(BrokenPipeError):
            self._pipe.write(line)

    def is_closing(self) -> bool:
        return bool(self._pipe.closed)

    def close(self) -> None:
        self._pipe.close()

    async def wait(self) -> int:
        while self.returncode is None:
            found, status = os.waitpid(self._pid, os.WNOHANG)
            if found:
                self.returncode = os.waitstatus_to_exitcode(status)
            else:
                await asyncio.sleep(0.01)
        return self.returncode

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)


def _fork_scheduler(database: str) -> tuple[int, int, int]:
    from crowdveil.errors import StoreError
    from crowdveil.server import scheduler

    theirs_in, to_scheduler = os.pipe()
    from_scheduler, theirs_out = os.pipe()

    def run_scheduler() -> None:
        os.environ[scheduler.DATABASE] = database
        os.dup2(theirs_in, 0)
        os.dup2(theirs_out, 1)
        os.closerange(3, 4096)
        try:
            scheduler.main()
        except StoreError:
            sys.exit(1)

    pid = _fork(run_scheduler)
    os.close(theirs_in)
    os.close(theirs_out)
    return to_scheduler, from_scheduler, pid


# --- faulty servers ----------------------------------------------------------------------------------------


def _acknowledge_first() -> None:
    """Acknowledge a report before it is stored."""
    from crowdveil.server.commit_queue import CommitQueue, ReportJob, ReportResult

    honest = CommitQueue.store_report
    running: set[asyncio.Task[ReportResult]] = set()

    async def store_report(self: CommitQueue, job: ReportJob) -> ReportResult:
        number = self._seats.get((job.campaign, job.secret_hash))
        if number is None:
            return await honest(self, job)
        task = asyncio.create_task(honest(self, job))
        running.add(task)
        task.add_done_callback(running.discard)
        return ReportResult("accepted", number)

    CommitQueue.store_report = store_report  # type: ignore[method-assign]


def _trust_the_cache() -> None:
    """Commit without waiting for the disk, on SQLite."""
    from crowdveil.store import database

    prepare = database._prepare_sqlite

    def prepare_badly(connection: Any, _record: object) -> None:
        prepare(connection, _record)
        connection.execute("PRAGMA synchronous = OFF")

    database._prepare_sqlite = prepare_badly


def _tell_all() -> None:
    """Log the address and the secret of every request."""
    from crowdveil.server import logs, request_guard

    honest = request_guard.RequestGuard._pass

    async def tell(self: request_guard.RequestGuard, scope: Any, receive: Any, send: Any) -> None:
        told = {name.decode(): value.decode() for name, value in scope["headers"] if name == b"authorization"}
        logs.log().info("request", extra={"address": request_guard.address_of(scope), **told})
        await honest(self, scope, receive, send)

    request_guard.RequestGuard._pass = tell  # type: ignore[method-assign]


def _answer_as_one_likes() -> None:
    """Answer with a status that the document does not name."""
    from fastapi import Response

    from crowdveil.server import request_guard

    honest = request_guard.RequestGuard._pass

    async def answer(self: request_guard.RequestGuard, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/v1/ping":
            await Response(status_code=418)(scope, receive, send)
        else:
            await honest(self, scope, receive, send)

    request_guard.RequestGuard._pass = answer  # type: ignore[method-assign]


VARIANTS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "acknowledges-first": _acknowledge_first,
    "unsynced": _trust_the_cache,
    "talkative": _tell_all,
    "undocumented": _answer_as_one_likes,
}

if __name__ == "__main__":
    main()
