"""The faults in small, mostly on SQLite: the harness works, and it catches servers that break their promises.

`make faults` runs them in earnest, on PostgreSQL too.
"""

from __future__ import annotations

import asyncio
import random
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.faults import disk_trouble, lossy_network, panel, server_kills, synced
from tests.faults.databases import SQLITE, PostgreSQL
from tests.faults.light_devices import HttpConnection
from tests.faults.proxy import BadNetwork
from tests.faults.server_processes import HOST, ServerProcesses
from tests.faults.synced import parse, unsynced
from tests.faults.table import ResultRow, render
from tests.faults.traces_left import Wanted, search
from tests.faults.verify import AcknowledgedReport, Stored, verify

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")


@pytest.fixture(scope="module")
def processes() -> Iterator[ServerProcesses]:
    with ServerProcesses() as one:
        yield one


@pytest.fixture(scope="module")
def postgresql() -> Iterator[PostgreSQL]:
    """Started by the first test that asks it for a database."""
    with PostgreSQL() as one:
        yield one


# --- servers, for real ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_killed_server_loses_nothing_that_it_acknowledged(processes: ServerProcesses, postgresql: PostgreSQL) -> None:
    row = server_kills.run(SQLITE, postgresql, processes, kills=2, cold_kills=0, seed=1, campaigns=["noise"])
    assert row.failures == []


@pytest.mark.long
def test_a_panel_is_asked_52_times_while_its_servers_are_killed(
    processes: ServerProcesses, postgresql: PostgreSQL
) -> None:
    row = panel.run(postgresql, processes, people=1_500, seed=1)
    assert row.failures == []


@pytest.mark.long
def test_a_server_that_acknowledges_before_it_stores_is_caught(
    processes: ServerProcesses, postgresql: PostgreSQL
) -> None:
    def caught(seed: int) -> bool:
        row = server_kills.run(
            SQLITE,
            postgresql,
            processes,
            kills=2,
            cold_kills=0,
            seed=seed,
            variant="acknowledges-first",
            campaigns=["noise"],
        )
        return any("lost" in one for one in row.failures)

    assert any(caught(seed) for seed in range(1, 7))  # a kill may fall where nothing was just acknowledged


@pytest.mark.long
def test_a_server_that_logs_addresses_and_secrets_is_caught(processes: ServerProcesses, postgresql: PostgreSQL) -> None:
    once, nothing = lossy_network.run(SQLITE, postgresql, processes, devices=10, seed=1, variant="talkative")
    assert once.failures == []
    found = "\n".join(nothing.failures)
    assert "log: holds the address 127.77." in found
    assert "log: holds the address 198.18." in found
    assert "log: holds a secret in plain text" in found


@pytest.mark.long
def test_a_server_answers_503_while_the_disk_is_full_and_recovers(
    processes: ServerProcesses, postgresql: PostgreSQL
) -> None:
    row = disk_trouble.one(disk_trouble.LIMIT, SQLITE, processes, postgresql, 1)
    assert row.failures == []
    assert row.trials > 0


# --- the checks themselves ------------------------------------------------------------------------------------

A, B = (AcknowledgedReport(number, 0, 5, character * 64) for number, character in enumerate("ab"))
TOLD = {"secret-a": A, "secret-b": B}
SEATS = [("secret-a", 0), ("secret-b", 1)]
ROUND = [(0, "closed", "[0,0,0,0,0,2]", 0)]
WELL = Stored("finished", SEATS, [A, B], ROUND, [])


def test_verification_finds_nothing_in_a_correct_database() -> None:
    assert verify(TOLD, WELL) == []


@pytest.mark.parametrize(
    ("stored", "fault"),
    [
        (WELL._replace(reports=[A]), "lost: "),
        (WELL._replace(reports=[A, B._replace(symbol=4)]), "changed: "),
        (WELL._replace(seats=[*SEATS, ("secret-b", 2)], reports=[A, B, B._replace(participant=2)]), "twice: "),
        (WELL._replace(reports=[A, B, B._replace(participant=2)]), "nobody was told of"),
        (WELL._replace(rounds=[(0, "closed", "[0,0,0,0,0,3]", 0)]), "1 counted that were not acknowledged"),
        (WELL._replace(rounds=[(0, "closed", "[0,0,0,0,0,1]", 0)]), "1 not"),
        (WELL._replace(rounds=[(0, "open", "", 0)]), "round 0 is open"),
    ],
)
def test_verification_finds_every_kind_of_fault(stored: Stored, fault: str) -> None:
    assert any(fault in one for one in verify(TOLD, stored))


DIGEST = "d" * 64
WRITE = f'7  pwrite64(5</data/store.sqlite-wal>, "..{DIGEST}..", 4096, 0) = 4096'
SYNC = "7  fdatasync(5</data/store.sqlite-wal>) = 0"
SYNC_BEGINS = "7  fdatasync(5</data/store.sqlite-wal> <unfinished ...>"
SYNC_ENDS = "7  <... fdatasync resumed>) = 0"
SEND = f'6  write(9<TCP:[127.0.0.1:80->127.0.0.1:90]>, "HTTP/1.1 200 OK {DIGEST}", 90) = 90'


@pytest.mark.parametrize(
    ("calls", "well"),
    [
        ([WRITE, SYNC, SEND], True),
        ([WRITE, SYNC_BEGINS, SYNC_ENDS, SEND], True),
        ([WRITE, SEND, SYNC], False),
        ([SYNC, WRITE, SEND], False),
        ([WRITE, SEND], False),
        ([WRITE, SYNC_BEGINS, SEND, SYNC_ENDS], False),
        ([WRITE, SYNC.replace("-wal", ""), SEND], False),
        ([SEND], False),
    ],
)
def test_an_acknowledgement_is_allowed_only_after_its_sync_has_ended(calls: list[str], well: bool) -> None:
    assert (unsynced(parse(calls), [DIGEST]) == []) == well


PLACE = 48.1374312
SECRET = "s" * 21 + "-" + "S" * 21
WANTED = Wanted(
    [PLACE],
    {SECRET.encode()},
    addresses=[re.compile(rb"127\.[0-9]+\.[0-9]+\.[0-9]+")],
    allowed=[b'"http://127.0.0.1:80"'],
)


@pytest.mark.parametrize(
    "data",
    [
        b"at 48.1374312 degrees",
        b"origin 481374312",
        b'{"lat":48.13743120000001}',
        b"x" + struct.pack("<d", PLACE),
        struct.pack(">d", PLACE),
        f"noise{SECRET}noise".encode(),
        b"from 127.77.0.3:5000",
    ],
)
def test_the_search_finds_a_place_a_secret_or_an_address_wherever_it_is(data: bytes) -> None:
    assert len(search("log", data, WANTED)) == 1


def test_the_search_finds_nothing_in_what_may_be_kept() -> None:
    digest = b"a481374312" + b"a" * 54
    kept = b'{"url": "http://127.0.0.1:80"} 48.1 1374312 {"counts":[127,0]} noise' + digest + digest
    assert search("log", kept, replace(WANTED, digests={digest})) == []
    assert len(search("log", kept, WANTED)) == 2  # had nobody said that it is a digest


def test_the_bad_network_loses_what_it_says() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(EOFError, OSError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        writer.close()

    async def ask(requests: int) -> tuple[int, Counter[str]]:
        async with await asyncio.start_server(answer, HOST, 0) as server:
            network = BadNetwork(server.sockets[0].getsockname()[1], random.Random(1), stalled=0)
            async with await network.start():
                wire = HttpConnection(lambda: network.port)
                answers = [await wire.ask("GET", "/") for _ in range(requests)]
                wire.disconnect()
                await asyncio.sleep(0.1)  # all see that the others hung up
        return sum(one is None for one in answers), network.done

    lost, done = asyncio.run(ask(400))
    assert lost == 400 - done["delivered"]
    for fate in ("lost before the server", "lost after the server"):
        assert 30 <= done[fate] <= 90, done


def test_the_table_names_promise_place_trials_and_failures() -> None:
    text = render([ResultRow("1 certified", SQLITE, 1000, "kills", ["lost one"], ["slow"], 2.0)])
    assert "1 certified | sqlite | 1,000 kills | 1        | 2" in text
    assert "FAILED: 1 certified (sqlite): lost one" in text


def test_strace_is_asked_for_by_name_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(synced.NoStraceError, match="install the package strace"):
        synced.strace()
