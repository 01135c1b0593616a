"""SIGKILL the server at random moments under load: no acknowledged report is lost, none is counted twice.

    python -m tests.faults --only server-kills --kills 20

Devices come over HTTP, many at once, in several campaigns whose rounds fill, close and open meanwhile. Each server
process runs for a moment drawn uniformly from 0.05 to 1.5 s after it first answered. A few of the kills are of the
very command that people start, `crowdveil serve`; the others of processes that were forked to save its loading time.
`verify` compares at the end. `acknowledges-first` is a server that it must catch.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from tests.faults.databases import PostgreSQL, scratch
from tests.faults.light_devices import Load, OperatorConnection, answers
from tests.faults.plans import clear_plan, new_operator
from tests.faults.server_processes import Server, ServerOptions, ServerProcesses, cold, free_port
from tests.faults.table import Progress, ResultRow
from tests.faults.verify import acknowledged, integrity, read, verify

PROMISE = "10 kill -9 of the server: no acknowledged report lost, none counted twice"
CAMPAIGNS = tuple(f"noise-{letter}" for letter in "abcdefgh")
WORKERS = 48
ROUND = 300
LIFE_S = (0.05, 1.5)
UP_S = 60.0


def run(
    where: str,
    postgresql: PostgreSQL,
    processes: ServerProcesses,
    *,
    kills: int,
    cold_kills: int,
    seed: int,
    variant: str = "",
    campaigns: Sequence[str] = CAMPAIGNS,
) -> ResultRow:
    """Kill a server a number of times, then verify the database."""
    row = ResultRow(PROMISE, where, kills + cold_kills, "kills")
    with scratch(where, postgresql) as (database, folder):
        told = Kills(
            row,
            ServerOptions(database, free_port(), str(folder / "log"), variant=variant),
            processes,
            campaigns,
            seed,
        )
        asyncio.run(told.play(kills, cold_kills))
    return row


class Kills:
    """One run on one database."""

    def __init__(
        self,
        row: ResultRow,
        options: ServerOptions,
        processes: ServerProcesses,
        campaigns: Sequence[str],
        seed: int,
    ) -> None:
        self._line = row
        self._life = options
        self._nursery = processes
        self._campaigns = campaigns
        self._dice = random.Random(seed)
        self._busy_kills = 0
        self._slowest_start_s = 0.0
        self._say = Progress(f"server-kills on {row.where}")

    async def play(self, kills: int, cold_kills: int) -> None:
        """Do the whole run."""
        operator = OperatorConnection(lambda: self._life.port, new_operator(self._life.database))
        load = Load([self._life.port], self._campaigns, self._dice)
        server = await self._start(warm=True)
        try:
            for campaign in self._campaigns:
                await operator.open(campaign, clear_plan(10**6, 10**6 // ROUND, ROUND).to_bytes())
            coming = asyncio.create_task(load.run(WORKERS))
            # All campaigns at once: a scheduler killed while it makes a policy leaves its claim for 15 s.
            while len(load.policies) < len(self._campaigns):
                await asyncio.sleep(0.05)
            for number in range(kills + cold_kills):
                await asyncio.sleep(self._dice.uniform(*LIFE_S))
                self._busy_kills += load.in_flight > 0
                server.kill()
                self._check_scheduler(server)
                server = await self._start(warm=number < kills)
                self._say(f"{number + 1} kills, {load.acknowledged:,} reports acknowledged")
            load.stopping = True
            await coming
            for campaign in self._campaigns:
                await operator.close(campaign)
            server.terminate()
            self._line.expect(server.wait() == 0, f"the server ended with code {server.code}")
        finally:
            operator.disconnect()
            if server.code is None:
                server.kill()
        self._look(load, server)

    async def _start(self, *, warm: bool) -> Server:
        server = self._nursery.start(self._life) if warm else cold(self._life)
        began = asyncio.get_running_loop().time()
        while not await answers(self._life.port):
            server.check()
            if asyncio.get_running_loop().time() - began > UP_S:
                server.kill()
                raise TimeoutError(f"no answer within {UP_S:g} s; {server.last_words()}")
            await asyncio.sleep(0.01)
        self._slowest_start_s = max(self._slowest_start_s, asyncio.get_running_loop().time() - began)
        return server

    def _check_scheduler(self, server: Server) -> None:
        left = server.left_behind()
        self._line.expect(not left, f"processes {left} outlive their server")

    def _look(self, load: Load, server: Server) -> None:
        row = self._line
        row.expect(not server.left_behind(), "the last server left processes behind")
        row.failures += load.faults
        row.failures += integrity(self._life.database)
        rounds = 0
        for campaign in self._campaigns:
            stored = read(self._life.database, campaign)
            rounds += len(stored.rounds)
            row.expect(stored.state == "finished", f"{campaign} is {stored.state}")
            row.failures += [f"{campaign}: {one}" for one in verify(acknowledged(load.devices, campaign), stored)]
        lost_answers = load.answers["report: no answer"]
        row.notes.append(
            f"{load.acknowledged:,} reports acknowledged in {rounds} rounds; {self._busy_kills} kills while reports "
            f"were on their way, {lost_answers:,} of them unanswered; slowest start {self._slowest_start_s:.1f} s"
        )
