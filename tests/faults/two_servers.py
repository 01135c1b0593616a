"""Two servers on one PostgreSQL database, killed in turn under load: each round is opened once, for all the same.

    python -m tests.faults --only two-servers --kills 10

Two campaigns have rounds without end and are closed at last; a third finishes by itself while the servers die. Every
policy that any client was ever shown is compared, whichever server showed it.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path

from tests.faults.databases import POSTGRESQL, PostgreSQL, scratch
from tests.faults.light_devices import HttpConnection, Load, OperatorConnection, answers
from tests.faults.plans import new_operator, plan
from tests.faults.server_processes import Server, ServerOptions, ServerProcesses, free_port
from tests.faults.table import Progress, ResultRow
from tests.faults.verify import acknowledged, read, verify

PROMISE = "10 two servers, one database, killed in turn: nothing lost, rounds and selection once"
WORKERS = 32
LARGE, SMALL = ("noise-large", "noise-larger"), "noise-small"
ROUND = 200
SMALL_ROUNDS = 3
LIFE_S = (0.05, 1.5)
UP_S = 60.0


def run(
    postgresql: PostgreSQL, processes: ServerProcesses, *, kills: int, seed: int, round_size: int = ROUND
) -> ResultRow:
    """Kill one of two servers a number of times, then verify the database."""
    row = ResultRow(PROMISE, POSTGRESQL, kills, "kills")
    with scratch(POSTGRESQL, postgresql) as (database, folder):
        both = [ServerOptions(database, free_port(), str(folder / f"log-{which}")) for which in "ab"]
        asyncio.run(_play(row, both, processes, kills, random.Random(seed), round_size))
        _look_at_logs(row, [Path(one.log) for one in both])
    return row


async def _play(
    row: ResultRow,
    both: list[ServerOptions],
    processes: ServerProcesses,
    kills: int,
    rng: random.Random,
    round_size: int,
) -> None:
    say = Progress("two-servers on postgresql")
    ports = [one.port for one in both]
    operator = OperatorConnection(lambda: rng.choice(ports), new_operator(both[0].database))
    servers = [processes.start(one) for one in both]
    small = plan(SMALL_ROUNDS * round_size, SMALL_ROUNDS, round_size)
    try:
        for server in servers:
            await _answering(server)
        for campaign in LARGE:
            await operator.open(campaign, plan(10**6, 10**6 // round_size, round_size).to_bytes())
        await operator.open(SMALL, small.to_bytes())
        load, seen = Load(ports, (*LARGE, SMALL), rng), _Announced(ports)
        looking = asyncio.create_task(seen.look())
        coming = asyncio.create_task(load.run(WORKERS))
        while not load.acknowledged:
            await asyncio.sleep(0.05)
        for number in range(kills):
            await asyncio.sleep(rng.uniform(*LIFE_S))
            which = number % 2
            servers[which].kill()
            left = servers[which].left_behind()
            row.expect(not left, f"processes {left} outlive their server")
            servers[which] = processes.start(both[which])
            await _answering(servers[which])
            say(f"{number + 1} kills, {load.acknowledged:,} reports acknowledged")
        await operator.finished(SMALL)
        load.stopping = True
        await coming
        for campaign in LARGE:
            await operator.close(campaign)
        seen.stopping = True
        await looking
        for server in servers:
            server.terminate()
            row.expect(server.wait() == 0, f"a server ended with code {server.code}")
    finally:
        operator.disconnect()
        for server in servers:
            if server.code is None:
                server.kill()
    row.failures += load.faults
    _look(row, both[0].database, load, seen, small.people_wanted, round_size)


async def _answering(server: Server) -> None:
    async with asyncio.timeout(UP_S):
        while not await answers(server.port):
            server.check()
            await asyncio.sleep(0.01)


class _Announced:
    """All that both servers ever announced: which policy, in which round."""

    def __init__(self, ports: list[int]) -> None:
        self._wires = [HttpConnection(lambda port=port: port, 5.0) for port in ports]  # type: ignore[misc]
        self.stopping = False
        self.hashes: dict[tuple[str, int], set[str]] = {}
        self.notices: dict[tuple[str, int], set[str]] = {}
        self.order: dict[tuple[str, int], list[int]] = {}

    async def look(self) -> None:
        while not self.stopping:
            for which, wire in enumerate(self._wires):
                for campaign in (*LARGE, SMALL):
                    answer = await wire.ask("GET", f"/v1/campaigns/{campaign}")
                    if answer is not None and answer.status == 200:
                        info = json.loads(answer.body)
                        notice = info["notice"]
                        if notice is not None:
                            self.hashes.setdefault((campaign, notice["round"]), set()).add(notice["policy_hash"])
                            self.notices.setdefault((campaign, notice["round"]), set()).add(json.dumps(notice))
                            self.order.setdefault((campaign, which), []).append(notice["round"])
            await asyncio.sleep(0.05)
        for wire in self._wires:
            wire.disconnect()


def _look(row: ResultRow, database: str, load: Load, seen: _Announced, wanted: int, round_size: int) -> None:
    for campaign in (*LARGE, SMALL):
        stored = read(database, campaign)
        told = acknowledged(load.devices, campaign)
        row.failures += [f"{campaign}: {one}" for one in verify(told, stored)]
        row.expect(stored.state == "finished", f"{campaign} is {stored.state}")
        numbers = [one[0] for one in stored.rounds]
        row.expect(numbers == list(range(len(numbers))), f"{campaign}: its rounds are {numbers}")
        row.expect(len(set(stored.selected)) == len(stored.selected), f"{campaign}: somebody is selected twice")
        sizes = Counter(report.round for report in stored.reports)
        full = numbers if campaign == SMALL else numbers[:-1]
        row.expect(all(sizes[one] == round_size for one in full), f"{campaign}: a round of another size in {sizes}")
        if campaign == SMALL:
            row.expect(len(numbers) == SMALL_ROUNDS, f"{campaign}: {len(numbers)} rounds instead of {SMALL_ROUNDS}")
            row.expect(len(stored.selected) == wanted, f"{campaign}: {len(stored.selected)} selected, not {wanted}")
        row.notes.append(f"{campaign}: {len(told):,} reports in {len(numbers)} rounds, {len(stored.selected)} selected")
    for (campaign, number), hashes in seen.hashes.items():
        hashes |= {load.policies[campaign, number].hash} if (campaign, number) in load.policies else set()
        row.expect(len(hashes) == 1, f"{campaign}, round {number}: {len(hashes)} policies were announced")
    for (campaign, number), notices in seen.notices.items():
        row.expect(len(notices) == 1, f"{campaign}, round {number}: {len(notices)} notices were announced")
    for (campaign, which), order in seen.order.items():
        row.expect(order == sorted(order), f"{campaign}: server {which} went back to an earlier round")


def _look_at_logs(row: ResultRow, logs: list[Path]) -> None:
    """Who lost a race to open a round, or to select, should not say that it did."""
    events: Counter[tuple[str, str, int | None]] = Counter()
    others: Counter[str] = Counter()
    for path in logs:
        for text in path.read_text().splitlines():
            told = json.loads(text)
            if told["event"] in ("round-opened", "round-closed", "selected"):
                events[told["event"], told["campaign"], told.get("round")] += 1
            elif told["level"] != "info":
                others[f"{told['event']} {told.get('reason', '')}"[:120]] += 1
    twice = {key: times for key, times in events.items() if times > 1}
    row.notes.append(f"logged more than once: {twice or 'nothing'}; warnings: {dict(others) or 'none'}")
