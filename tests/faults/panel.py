"""A panel of many people, asked 52 times while two servers on one database are killed in turn.

    python -m tests.faults --only panel --people 20000

People answer through the store, as the servers do. Then every selection is asked for under its number, now and then of
both servers at once, and again until it is answered. In the end there is each selection once, both servers export the
same record, nobody was chosen more often than the requests allow, and the record repeats bit for bit.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from statistics import median
from time import monotonic
from typing import Any

import numpy as np

from crowdveil.campaign.audit import check_record
from crowdveil.certify import certify
from crowdveil.draw import draw_many
from crowdveil.policy.policy import Policy
from crowdveil.store import add_reports, open_store, policy_bytes, take_seats
from crowdveil.store.participants import SeatClaim, StoredSeat
from crowdveil.store.reports import StoredReport
from crowdveil.vocabulary import NULL
from crowdveil.wire import PROTOCOL, AuditRecord
from tests.faults.databases import POSTGRESQL, PostgreSQL, scratch
from tests.faults.light_devices import OperatorConnection
from tests.faults.plans import new_operator, plan
from tests.faults.server_processes import (
    Server,
    ServerOptions,
    ServerProcesses,
    free_port,
    wait_until_it_answers,
)
from tests.faults.table import Progress, ResultRow

PROMISE = "10 a panel, two servers killed in turn: each selection once, nobody too often, all repeat"
PANEL = "panel"
SELECTIONS = 52
AT_MOST = 3
BATCH = 5_000
OUTSIDE = 0.1
LIFE_S = (0.02, 1.0)
AT_BOTH = 0.3
"""This share of the selections is asked of both servers at once."""
PATIENCE_S = 300.0
CELLS = 36


def run(postgresql: PostgreSQL, processes: ServerProcesses, *, people: int, seed: int) -> ResultRow:
    """Fill a panel, ask it while servers die, then look at what is there."""
    row = ResultRow(PROMISE, POSTGRESQL, people, "people")
    with scratch(POSTGRESQL, postgresql) as (database, folder):
        both = [ServerOptions(database, free_port(), str(folder / f"log-{which}")) for which in "ab"]
        asyncio.run(_play(row, both, processes, people, random.Random(seed)))
    return row


async def _play(
    row: ResultRow, both: list[ServerOptions], processes: ServerProcesses, people: int, rng: random.Random
) -> None:
    say = Progress("panel on postgresql")
    token, servers = new_operator(both[0].database), [processes.start(one) for one in both]
    operators = [OperatorConnection(lambda port=one.port: port, token) for one in both]  # type: ignore[misc]
    try:
        for server in servers:
            await asyncio.to_thread(wait_until_it_answers, server)
        new = plan(people, 1, people, panel=True, wanted=None, targets=tuple(range(CELLS)))
        await operators[0].open(PANEL, new.to_bytes())
        await _round(operators[0], "open")
        say(f"{people:,} people answer", always=True)
        await asyncio.to_thread(_answer, both[0].database, people, rng.randrange(2**32))
        await _round(operators[0], "closed")
        killing = asyncio.create_task(_kill(row, servers, both, processes, rng))
        took_s = []
        for number in range(SELECTIONS):
            began = monotonic()
            await _ask(row, operators, number, _request(number, people, rng), rng)
            took_s.append(monotonic() - began)
            say(f"{number + 1} selections, {row.trials:,} people")
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)
        for server in servers:
            await asyncio.to_thread(wait_until_it_answers, server)
        records = [await one("GET", f"/campaigns/{PANEL}/record", within_s=PATIENCE_S) for one in operators]
    finally:
        for one in operators:
            one.disconnect()
        for server in servers:
            server.kill()
    row.expect(records[0] == records[1], "the two servers export different records")
    row.notes.append(f"a selection took {median(took_s):.2f} s in the median, {max(took_s):.1f} s at most, with kills")
    await asyncio.to_thread(_look, row, records[0], people)


async def _round(operator: OperatorConnection, state: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            rounds = json.loads(await operator("GET", f"/campaigns/{PANEL}"))["rounds"]
            if rounds and rounds[0]["state"] == state:
                return
            await asyncio.sleep(0.1)


def _answer(database: str, people: int, seed: int) -> None:
    """Let everyone take a seat and report, in batches, as servers do."""
    generator = np.random.default_rng(seed)
    with open_store(database) as store:
        data = policy_bytes(store, PANEL, 0)
        assert data is not None
        policy = Policy.from_bytes(data)
        cells = np.where(generator.random(people) < OUTSIDE, NULL, generator.integers(0, CELLS, people))
        grades = np.where(cells == NULL, 0, generator.integers(0, policy.grades, people))
        symbols = draw_many(policy, cells, certify(policy), generator, grades).tolist()
        for first in range(0, people, BATCH):
            batch = range(first, min(first + BATCH, people))
            seats = take_seats(store, [SeatClaim(PANEL, f"{seed:032x}{who:032x}") for who in batch])
            reports = [
                StoredReport(PANEL, seat.participant, 0, seat.policy_hash, symbols[who], f"{who:064x}")
                for who, seat in zip(batch, seats, strict=True)
                if isinstance(seat, StoredSeat)
            ]
            assert set(add_reports(store, reports)) == {"accepted"}
            assert len(reports) == len(batch)


def _request(number: int, people: int, rng: random.Random) -> bytes:
    """Make a request: people at any of some places, or a number for each of them."""
    targets = rng.sample(range(CELLS), rng.randint(1, 5))
    each = max(1, people // 200)
    how: dict[str, Any] = {"numbers": [each] * len(targets)} if number % 2 else {"wanted": max(1, people // 25)}
    asked = {"protocol": PROTOCOL, "targets": targets, "at_most": AT_MOST, **how}
    return json.dumps(asked).encode()


async def _ask(
    row: ResultRow, operators: list[OperatorConnection], number: int, request: bytes, rng: random.Random
) -> None:
    asked = operators if rng.random() < AT_BOTH else [rng.choice(operators)]
    path = f"/campaigns/{PANEL}/selections/{number}"
    answers = await asyncio.gather(*(one("PUT", path, request, within_s=PATIENCE_S) for one in asked))
    row.expect(len(set(answers)) == 1, f"selection {number} was answered in two ways: {answers}")


async def _kill(
    row: ResultRow,
    servers: list[Server],
    both: list[ServerOptions],
    processes: ServerProcesses,
    rng: random.Random,
) -> None:
    """Kill one server after the other, until cancelled between two kills."""
    kills = 0
    try:
        while True:
            await asyncio.sleep(rng.uniform(*LIFE_S))
            which = kills % 2
            servers[which].kill()
            servers[which] = processes.start(both[which])
            kills += 1
            await asyncio.to_thread(wait_until_it_answers, servers[which])
    finally:
        row.notes.append(f"{kills} kills")
        row.expect(kills > 0, "no server was killed")


def _look(row: ResultRow, data: bytes, people: int) -> None:
    record = AuditRecord.from_bytes(data)
    row.expect(len(record.rows) == people, f"{len(record.rows):,} of {people:,} answers are there")
    row.expect(len(record.selections) == SELECTIONS, f"{len(record.selections)} selections, not {SELECTIONS}")
    times = Counter(who for made in record.selections for who in made.participants)
    row.expect(max(times.values()) <= AT_MOST, f"somebody was chosen {max(times.values())} times")
    twice = [made for made in record.selections if len(set(made.participants)) < len(made.participants)]
    row.expect(not twice, f"{len(twice)} selections chose somebody twice")
    began = monotonic()
    verdict = check_record(record)
    row.expect(verdict.reproduced, f"the record does not repeat: {[f.text for f in verdict.findings][:3]}")
    row.notes.append(
        f"{times.total():,} choices among {len(times):,} people; the audit of all took {monotonic() - began:.0f} s"
    )
