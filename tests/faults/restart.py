"""Restart with a million reports, and stop under load with SIGTERM: what was sent is answered.

python -m tests.faults --only restart --reports 100000
"""

from __future__ import annotations

import asyncio
import random
from time import monotonic, sleep

from sqlalchemy import create_engine, text

from crowdveil.server.terms import make_terms
from crowdveil.store import create_campaign, open_round, open_store, set_state, signing_key
from crowdveil.wire import RoundNotice, new_private_key, public_key
from tests.client.fake_server import small_policy
from tests.faults.databases import POSTGRESQL, SQLITE, PostgreSQL, scratch
from tests.faults.light_devices import LightDevice, Load, OperatorConnection
from tests.faults.plans import new_operator, plan
from tests.faults.server_processes import ServerOptions, ServerProcesses, cold, free_port, wait_until_it_answers
from tests.faults.table import Progress, ResultRow
from tests.faults.verify import acknowledged, read, verify

RESTART = "14 restart with many reports in the database, in seconds"
DRAIN = "14 SIGTERM under load drains: what was sent before is answered, what was answered is stored"
MAX_S = 30.0
CAMPAIGN = "noise"
WORKERS = 32
EARLY_S = 0.1
"""A request sent this long before the signal has begun; of those sent later some find the socket closed."""

FILL = {
    SQLITE: (
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count) "
        "INSERT INTO participants SELECT :c, i, printf('%064x', i), 0 FROM n",
        "INSERT INTO reports SELECT campaign, number, 0, number % 30, printf('%064x', number) FROM participants "
        "WHERE campaign = :c",
        "UPDATE seat_counts SET seated = :count WHERE campaign = :c",
    ),
    POSTGRESQL: (
        "INSERT INTO participants SELECT :c, i, lpad(to_hex(i), 64, '0'), 0 FROM generate_series(0, :count - 1) AS i",
        "INSERT INTO reports SELECT campaign, number, 0, number % 30, lpad(to_hex(number), 64, '0') FROM participants "
        "WHERE campaign = :c",
        "UPDATE seat_counts SET seated = :count WHERE campaign = :c",
    ),
}


def run(
    where: str, postgresql: PostgreSQL, processes: ServerProcesses, *, reports: int, drains: int, seed: int
) -> list[ResultRow]:
    """Start on a large database, then stop a busy server several times."""
    began = monotonic()
    again, drain = ResultRow(RESTART, where, reports, "reports"), ResultRow(DRAIN, where, drains, "stops")
    with scratch(where, postgresql) as (database, folder):
        new_operator(database)
        _fill(where, database, reports)
        Progress(f"restart on {where}")(f"{reports:,} reports are there", always=True)
        options = ServerOptions(database, free_port(), str(folder / "log"))
        for how in ("crowdveil serve", "after kill -9"):
            server = cold(options)
            try:
                took_s = wait_until_it_answers(server, 120)
                again.notes.append(f"{how}: answers after {took_s:.1f} s")
                again.expect(took_s < MAX_S, f"{how}: {took_s:.1f} s until it answers, more than {MAX_S:g}")
                sleep(1.0)
            finally:
                server.kill()
                again.expect(not server.left_behind(), "processes outlive their server")
    again.seconds, began = monotonic() - began, monotonic()
    with scratch(where, postgresql) as (database, folder):
        asyncio.run(_drains(drain, ServerOptions(database, free_port(), str(folder / "log")), processes, drains, seed))
    drain.seconds = monotonic() - began
    return [again, drain]


def _fill(where: str, database: str, reports: int) -> None:
    new = plan(2 * reports, 1)
    with open_store(database) as store:
        key, seed, policy = signing_key(store, new_private_key()), "5eed" * 16, small_policy()
        terms = make_terms(CAMPAIGN, new, server_key=public_key(key), seed=seed)
        texts = {"terms": terms.to_bytes().decode(), "offer": new.offer, "seed": seed}
        create_campaign(store, CAMPAIGN, new.to_bytes().decode(), created=1, enrolment="open", panel=False, **texts)
        set_state(store, CAMPAIGN, "open")
        notice = RoundNotice.of(terms, 0, policy.hash, key).to_bytes().decode()
        open_round(store, CAMPAIGN, 0, policy, notice=notice, size=2 * reports)
    engine = create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for statement in FILL[where]:
            connection.execute(text(statement), {"c": CAMPAIGN, "count": reports})
    engine.dispose()


# --- SIGTERM --------------------------------------------------------------------------------------------------


async def _drains(row: ResultRow, options: ServerOptions, processes: ServerProcesses, drains: int, seed: int) -> None:
    operator = OperatorConnection(lambda: options.port, new_operator(options.database))
    rng, say = random.Random(seed), Progress(f"SIGTERM on {row.where}")
    server = processes.start(options)
    late, begun, slowest_s = 0, 0, 0.0
    devices: list[LightDevice] = []
    try:
        await asyncio.to_thread(wait_until_it_answers, server)
        await operator.open(CAMPAIGN, plan(10**6, 10, 10**5).to_bytes())
        for number in range(drains):
            load = Load([options.port], [CAMPAIGN], random.Random(f"{seed} {number}"))
            coming = asyncio.create_task(load.run(WORKERS))
            while not load.acknowledged:
                await asyncio.sleep(0.02)
            await asyncio.sleep(rng.uniform(0.2, 1.0))
            signalled = monotonic()
            begun += sum(not one.answered for one in load.sent[-WORKERS:])
            server.terminate()
            code = await asyncio.to_thread(server.wait)
            slowest_s = max(slowest_s, monotonic() - signalled)
            row.expect(code == 0, f"the server ended with code {code}")
            row.expect(not server.left_behind(), "processes outlive their server")
            unanswered = [one for one in load.sent if not one.answered and one.at < signalled]
            row.failures += [
                f"{one.what}, sent {signalled - one.at:.3f} s before SIGTERM, got no answer"
                for one in unanswered
                if one.at < signalled - EARLY_S
            ]
            late += sum(one.at >= signalled - EARLY_S for one in unanswered)
            server = processes.start(options)
            await asyncio.to_thread(wait_until_it_answers, server)
            load.stopping = True
            await coming
            row.failures += load.faults
            devices += load.devices
            say(f"{number + 1} stops, {len(devices):,} reports acknowledged")
        await operator.close(CAMPAIGN)
    finally:
        operator.disconnect()
        server.kill()
    row.failures += verify(acknowledged(devices, CAMPAIGN), read(options.database, CAMPAIGN))
    row.notes.append(
        f"{len(devices):,} reports; slowest stop {slowest_s:.1f} s; {begun} requests were under way at the signals, "
        f"{late} of the last {EARLY_S:g} s before them found the socket closed and were sent again"
    )
