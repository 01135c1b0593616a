"""Run ten thousand devices over a bad network: each has exactly one report, and nothing else of them is stored.

    python -m tests.faults --only lossy-network --devices 500

The network (`proxy`) loses 30 % of what it carries and lets some wait for 5 s. When all are through, each device's
ledger is held against the database, and the server's log and database files are searched for places, addresses and
secrets (`traces_left`).
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from time import time

from sqlalchemy import create_engine, inspect, text

from crowdveil.client import Ledger, LedgerEntry
from crowdveil.wire import secret_digest
from tests.faults.databases import POSTGRESQL, SQLITE, PostgreSQL, scratch
from tests.faults.light_devices import OperatorConnection
from tests.faults.plans import new_operator, plan
from tests.faults.proxy import BadNetwork
from tests.faults.real_devices import CAMPAIGN, Person, only_entry, person, town
from tests.faults.server_processes import HOST, ServerOptions, ServerProcesses, free_port, running
from tests.faults.table import Progress, ResultRow
from tests.faults.traces_left import Wanted, search
from tests.faults.verify import AcknowledgedReport, integrity, read, verify

ONCE = "11 a network that drops 30 % and stalls 5 s: one report per participant"
NOTHING_ELSE = "8 nothing else: no place, address or secret in log and database"
PROCESSES, THREADS = 2, 24
FEW = 100
"""Number of devices in one process."""
ROUNDS = 2

COLUMNS = {
    "alembic_version": {"version_num"},
    "operators": {"name", "role", "added"},
    "operator_tokens": {"id", "operator", "token_hash", "made", "expires"},
    "signing_keys": {"id", "private_key"},
    "campaigns": {
        *("id", "plan", "terms", "state", "enrolment", "offer", "seed", "created", "panel", "operator"),
        *("failure", "finished"),
    },
    "retired_campaigns": {"id"},
    "campaign_shares": {"campaign", "operator"},
    "activity": {"number", "at", "operator", "action", "campaign", "detail"},
    "rounds": {
        *("campaign", "number", "state", "claimed_until", "policy", "policy_hash", "symbols", "size", "deadline"),
        *("opened", "notice", "counts", "nulls"),
    },
    "invites": {"campaign", "invite_hash", "round"},
    "participants": {"campaign", "number", "secret_hash", "round"},
    "seat_counts": {"campaign", "round", "seated"},
    "reports": {"campaign", "participant", "round", "symbol", "digest"},
    "refusals": {"campaign", "round", "reason", "number"},
    "estimates": {"campaign", "round", "prior", "grade_shares", "outside_share", "expected_coverage", "expectation"},
    "selections": {"campaign", "number", "request", "made", "rounds", "people", "missing"},
    "selected": {"campaign", "selection", "rank", "participant", "target", "chance", "chosen"},
}
"""All columns that may be stored. A new column must be added here, after checking what it reveals."""


def run(
    where: str, postgresql: PostgreSQL, processes: ServerProcesses, *, devices: int, seed: int, variant: str = ""
) -> list[ResultRow]:
    """Run devices over a bad network, verify the database, then search all files."""
    once, nothing = ResultRow(ONCE, where, devices, "devices"), ResultRow(NOTHING_ELSE, where, devices, "places")
    since = time()
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with (
        scratch(where, postgresql) as (database, folder),
        tempfile.TemporaryDirectory(prefix="crowdveil-ledgers-", dir=memory) as ledgers,
    ):
        token = new_operator(database)
        options = ServerOptions(database, free_port(), str(folder / "log"), variant=variant)
        with running(processes, options) as server:
            asyncio.run(_play(once, options, token, Path(ledgers), devices, seed))
            server.terminate()
            once.expect(server.wait() == 0, f"the server ended with code {server.code}")
        entries = {number: only_entry(Ledger(Path(ledgers) / str(number))) for number in range(devices)}
        _verify(once, database, entries)
        people = [person(number, seed) for number in range(devices)]
        _search(nothing, options, folder, postgresql, people, [one for one in entries.values() if one], token, since)
    return [once, nothing]


async def _play(row: ResultRow, options: ServerOptions, token: str, ledgers: Path, devices: int, seed: int) -> None:
    operator = OperatorConnection(lambda: options.port, token)
    new = plan(devices, ROUNDS, devices // ROUNDS, town(), targets=(10, 45))
    await operator.open(CAMPAIGN, new.to_bytes())
    network = BadNetwork(options.port, random.Random(seed))
    say, through = Progress(f"lossy-network on {row.where}"), Counter[str]()

    async def players(first: int, last: int) -> None:
        given = {"port": network.port, "first": first, "last": last, "ledgers": str(ledgers), "seed": seed}
        given |= {"threads": THREADS, "within_s": 60 + devices / 5}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.faults.real_devices", json.dumps(given), stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        try:
            async for told in process.stdout:
                through[str(json.loads(told)[1])] += 1
                say(f"{through.total():,} devices through, {dict(network.done)}")
        except BaseException:
            process.kill()
            raise
        finally:
            row.expect(await process.wait() == 0, "a process of devices failed")

    async with await network.start():
        processes = 1 if devices <= FEW else PROCESSES
        bounds = [devices * part // processes for part in range(processes + 1)]
        await asyncio.gather(*(players(first, last) for first, last in pairwise(bounds)))
    await operator.finished(CAMPAIGN)
    operator.disconnect()
    row.notes.append(f"{dict(network.done)}; devices: {dict(through)}")


def _verify(row: ResultRow, database: str, entries: dict[int, LedgerEntry | None]) -> None:
    told = {}
    for number, entry in entries.items():
        if entry is None or entry.state != "acknowledged" or entry.symbol is None:
            row.failures.append(f"device {number}: {entry!r}")
            continue
        report = AcknowledgedReport(entry.participant, entry.round, entry.symbol, entry.receipt_digest)
        told[secret_digest(entry.secret)] = report
    row.failures += verify(told, read(database, CAMPAIGN)) + integrity(database)


# --- the search -----------------------------------------------------------------------------------------------


def _search(
    row: ResultRow,
    options: ServerOptions,
    folder: Path,
    postgresql: PostgreSQL,
    people: list[Person],
    entries: list[LedgerEntry],
    token: str,
    since: float,
) -> None:
    wanted = Wanted(
        numbers=[number for one in people for number in _numbers_of(one)],
        secrets={entry.secret.encode() for entry in entries} | {token.encode()},
        digests={digest.encode() for entry in entries for digest in _digests_of(entry)},
        addresses=[re.compile(rb"127\.[0-9]+\.[0-9]+\.[0-9]+"), re.compile(rb"198\.1[89]\.[0-9]+\.[0-9]+")],
        allowed=[f'"http://{HOST}:{options.port}"'.encode()],
    )
    columns = _columns(options.database)
    row.expect(columns == COLUMNS, f"the tables hold other columns than documented: {columns}")
    files = 0
    for name, data in _kept(row.where, options.database, folder, postgresql, since):
        files += 1
        row.failures += search(name, data, wanted)
    row.notes.append(
        f"{files} files and tables searched for {len(wanted.numbers):,} numbers of places, "
        f"{len(wanted.secrets):,} secrets and any client's address"
    )


def _digests_of(entry: LedgerEntry) -> tuple[str, str, str]:
    return secret_digest(entry.secret), entry.receipt_digest, entry.policy_hash


def _numbers_of(one: Person) -> Iterator[float]:
    if isinstance(one.where, dict):
        yield from one.where.values()
    else:
        yield float(one.where.latitude[0])  # type: ignore[union-attr]
        yield float(one.where.longitude[0])  # type: ignore[union-attr]


def _columns(database: str) -> dict[str, set[str]]:
    engine = create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    tables = inspect(engine)
    found = {name: {str(column["name"]) for column in tables.get_columns(name)} for name in tables.get_table_names()}
    engine.dispose()
    return found


def _kept(where: str, database: str, folder: Path, postgresql: PostgreSQL, since: float) -> Iterator[tuple[str, bytes]]:
    """Yield every file that the server or its database wrote since then."""
    for path in sorted(folder.iterdir()):
        yield path.name, path.read_bytes()
    if where == SQLITE:
        return
    engine = create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        for name in COLUMNS:
            yield name, "\n".join(str(tuple(row)) for row in connection.execute(text(f"SELECT * FROM {name}"))).encode()
        mine = "SELECT oid FROM pg_database WHERE datname = current_database()"
        number = connection.execute(text(mine)).scalar_one()
    engine.dispose()
    assert where == POSTGRESQL
    postgresql.execute("CHECKPOINT")
    for part in (f"base/{number}", "pg_wal", "log"):
        for path in sorted([postgresql.data / part, *(postgresql.data / part).rglob("*")]):
            if path.is_file() and path.stat().st_mtime >= since:
                yield str(path.relative_to(postgresql.data)), path.read_bytes()
