"""Provoke every documented fault, and count how often a promise is broken.

    python -m tests.faults                                          all of it, about 25 minutes on two cores
    python -m tests.faults --quick                                  all of it, with small numbers
    python -m tests.faults --only server-kills --kills 20 --on sqlite --seed 7

Prints one table, promise | where | trials | failures; exits with 1 if anything failed. Every random choice that is ours
follows from the seed; when a process is interrupted does not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

from tests.faults import (
    device_kills,
    disk_trouble,
    fuzz,
    hostile,
    lossy_network,
    panel,
    restart,
    server_kills,
    synced,
    two_servers,
)
from tests.faults.databases import POSTGRESQL, SQLITE, PostgreSQL
from tests.faults.server_processes import ServerProcesses
from tests.faults.table import Progress, ResultRow, render


@dataclass(frozen=True)
class Sizes:
    """Number of trials of each part, on SQLite and, where it differs, on PostgreSQL."""

    kills: tuple[int, int] = (195, 58)
    cold_kills: tuple[int, int] = (5, 2)
    devices: tuple[int, int] = (10_000, 1_000)
    device_kills: int = 500
    synced: int = 20
    examples: int = 150
    two_server_kills: int = 40
    reports: int = 1_000_000
    drains: int = 5
    people: int = 100_000


QUICK = Sizes((10, 6), (1, 0), (200, 100), 40, 10, 10, 8, 50_000, 2, 2_000)


@dataclass(frozen=True)
class Setting:
    """What every part gets."""

    sizes: Sizes
    on: tuple[str, ...]
    seed: int
    postgresql: PostgreSQL
    processes: ServerProcesses

    def size(self, sizes: tuple[int, int], where: str) -> int:
        return sizes[where == POSTGRESQL]


def _server_kills(given: Setting) -> Iterator[ResultRow]:
    for where in given.on:
        kills, cold = (given.size(one, where) for one in (given.sizes.kills, given.sizes.cold_kills))
        yield server_kills.run(where, given.postgresql, given.processes, kills=kills, cold_kills=cold, seed=given.seed)


def _two_servers(given: Setting) -> Iterator[ResultRow]:
    if POSTGRESQL in given.on:
        yield two_servers.run(given.postgresql, given.processes, kills=given.sizes.two_server_kills, seed=given.seed)


def _panel(given: Setting) -> Iterator[ResultRow]:
    if POSTGRESQL in given.on:
        yield panel.run(given.postgresql, given.processes, people=given.sizes.people, seed=given.seed)


def _lossy_network(given: Setting) -> Iterator[ResultRow]:
    for where in given.on:
        devices = given.size(given.sizes.devices, where)
        yield from lossy_network.run(where, given.postgresql, given.processes, devices=devices, seed=given.seed)


def _device_kills(given: Setting) -> Iterator[ResultRow]:
    # In a process of its own: it forks, and this one has threads by now.
    command = [sys.executable, "-m", "tests.faults.device_kills", "--seed", str(given.seed)]
    command += ["--kills", str(given.sizes.device_kills)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    first, *rest = done.stdout.splitlines() or [""]
    counted = first.split("\t")[1].split()[0] if "\t" in first else "0"
    line = ResultRow(device_kills.PROMISE, "device", int(counted), "kills", notes=rest[:1])
    if done.returncode != 0:
        line.failures += rest[1:] or [done.stderr[-1000:]]
    yield line


def _synced(given: Setting) -> Iterator[ResultRow]:
    for where in given.on:
        yield synced.run(where, given.postgresql, given.processes, reports=given.sizes.synced, seed=given.seed)
    if SQLITE in given.on:
        bad = synced.run(
            SQLITE,
            given.postgresql,
            given.processes,
            reports=given.sizes.synced,
            seed=given.seed,
            variant="unsynced",
        )
        checked = ResultRow("10 the same check catches a server without fsync", SQLITE, bad.trials, bad.unit)
        checked.expect(len(bad.failures) == bad.trials, f"caught for {len(bad.failures)} of {bad.trials} reports")
        yield checked


def _fuzz(given: Setting) -> Iterator[ResultRow]:
    yield fuzz.run(given.on[0], given.postgresql, given.processes, examples=given.sizes.examples, seed=given.seed)


def _disk_trouble(given: Setting) -> Iterator[ResultRow]:
    yield from disk_trouble.run(given.postgresql, given.processes, seed=given.seed, on=given.on)


def _restart(given: Setting) -> Iterator[ResultRow]:
    for where in given.on:
        yield from restart.run(
            where,
            given.postgresql,
            given.processes,
            reports=given.sizes.reports,
            drains=given.sizes.drains,
            seed=given.seed,
        )


def _hostile(given: Setting) -> Iterator[ResultRow]:
    yield hostile.run()


PARTS: dict[str, Callable[[Setting], Iterator[ResultRow]]] = {
    "hostile": _hostile,
    "device-kills": _device_kills,
    "synced": _synced,
    "disk-trouble": _disk_trouble,
    "restart": _restart,
    "server-kills": _server_kills,
    "two-servers": _two_servers,
    "panel": _panel,
    "fuzz": _fuzz,
    "lossy-network": _lossy_network,
}


def run(names: list[str], sizes: Sizes, on: tuple[str, ...], seed: int) -> list[ResultRow]:
    """Run some parts; a part that raises counts as a failure and does not stop the others."""
    lines: list[ResultRow] = []
    with PostgreSQL() as postgresql, ServerProcesses() as processes:
        given = Setting(sizes, on, seed, postgresql, processes)
        for name in names:
            Progress(name)("begins", always=True)
            began = monotonic()
            try:
                for line in PARTS[name](given):
                    line.seconds = line.seconds or monotonic() - began
                    began = monotonic()
                    lines.append(line)
                    sys.stderr.write(render([line]))
            except Exception as error:
                traceback.print_exc()
                lines.append(
                    ResultRow(f"{name} broke down", ", ".join(on), 0, "", [f"{type(error).__name__}: {error}"])
                )
    return lines


def main() -> int:
    """Run the parts and print the table."""
    options = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.splitlines()[0])
    options.add_argument("--only", choices=PARTS, action="append", help="one part; may be given several times")
    options.add_argument("--quick", action="store_true", help="small numbers")
    options.add_argument("--on", choices=(SQLITE, POSTGRESQL), action="append", help="one database alone")
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    for name, what in (
        ("kills", "of servers and devices"),
        ("devices", "over the bad network"),
        ("examples", "of the fuzzer, for each operation"),
        ("reports", "in the database of the restart"),
        ("people", "in the panel"),
    ):
        options.add_argument(f"--{name}", type=int, help=f"how many {name}, {what}")
    given = options.parse_args()
    sizes = _sizes(QUICK if given.quick else Sizes(), given)
    sys.stderr.write(f"seed {given.seed}\n")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends this run ends what it started
    began = monotonic()
    lines = run(given.only or list(PARTS), sizes, tuple(given.on or (SQLITE, POSTGRESQL)), given.seed)
    sys.stdout.write(render(lines))
    sys.stdout.write(f"seed {given.seed}; {monotonic() - began:.0f} s in all\n")
    return 1 if any(line.failures for line in lines) or not lines else 0


def _sizes(sizes: Sizes, given: argparse.Namespace) -> Sizes:
    changed = dict(vars(sizes))
    if given.kills is not None:
        changed |= {"kills": (given.kills, given.kills), "cold_kills": (0, 0)}
        changed |= {"device_kills": given.kills, "two_server_kills": given.kills}
    if given.devices is not None:
        changed["devices"] = (given.devices, given.devices)
    for name in ("examples", "reports", "people"):
        if getattr(given, name) is not None:
            changed[name] = getattr(given, name)
    return Sizes(**changed)


if __name__ == "__main__":
    sys.exit(main())
