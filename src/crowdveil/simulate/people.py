"""Tables of people for `large`: from what `crowdveil profile` wrote, or from a synthetic city, block by block."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crowdveil.area import Area, Grid
from crowdveil.batch.engine import Engine
from crowdveil.batch.fixes import Expression
from crowdveil.batch.graph import user_hash, user_hashes
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.profile import Counts, Periods, count_visits, logistic
from crowdveil.profile.place import choose_graded_places, choose_places
from crowdveil.profile.profile import check_delta
from crowdveil.traces import SyntheticCity, Visits
from crowdveil.vocabulary import DEFAULT_RULE, NULL, grade_thresholds

NUMBERS = ("cell", "grade", "frequent", "hits", "user_hash")
SCHEMA = pa.schema([("user", pa.string()), *((name, pa.int64()) for name in NUMBERS)])
FIRST_DAY = date(2024, 1, 1)
"""Of every synthetic city."""


def people_of(
    visits: Expression, places: Expression, targets: Sequence[int], test: range, seed: int, engine: Engine
) -> Expression:
    """People from the tables of a batch: each with the place it reports and the test periods it was at a target."""
    there = visits.filter(
        visits.left_out.isnull(),
        visits.period >= test.start,
        visits.period < test.stop,
        visits.cell.isin(list(targets)),
    )
    hits = there.select("user", "period").distinct().group_by("user").agg(hits=lambda rows: rows.count())
    joined = places.left_join(hits, "user")
    people = joined.select(
        "user",
        cell=joined.cell.fill_null(NULL),
        grade=joined.grade.fill_null(0),
        frequent=joined.frequent.fill_null(NULL),
        hits=joined.hits.fill_null(0),
    )
    return people.mutate(user_hash=user_hashes(seed, engine.column_function)(people.user))


@dataclass(frozen=True, eq=False)
class SyntheticPopulation:
    """How the people of a synthetic city are profiled: a grid over it, training and test weeks, δ and the targets."""

    city: SyntheticCity
    area: Area
    test: int
    delta: float
    targets: tuple[int, ...]
    seed: int

    @classmethod
    def over(
        cls, city: SyntheticCity, *, test: int, delta: float, densest: int, seed: int, cell_km: float = 1.0
    ) -> SyntheticPopulation:
        """The grid covers the city's radius; targets are the busiest cells of the first block's training weeks."""
        settings = city.settings
        check_delta(delta)
        if settings.weeks < 2:
            raise InputError("weeks", settings.weeks, "should be at least 2: one to learn from, one to test on")
        if not 1 <= test < settings.weeks:
            raise InputError("test", test, f"should leave a week to learn from: 1 to {settings.weeks - 1}")
        north = settings.radius_km / 111.2
        east = north / np.cos(np.radians(settings.latitude))
        latitude, longitude = settings.latitude, settings.longitude
        grid = Grid.from_bounds(latitude - north, longitude - east, latitude + north, longitude + east, cell_km=cell_km)
        if not 1 <= densest < len(grid):
            raise InputError("densest", densest, f"should be from 1 to {len(grid) - 1}")
        plain = cls(city, grid, test, delta, (), seed)
        counts = plain.counts(city.block(0)).during(plain.train)
        busiest = np.argsort(-np.bincount(counts.cell, counts.visits, minlength=len(grid)), kind="stable")
        return cls(city, grid, test, delta, tuple(sorted(busiest[:densest].tolist())), seed)

    @property
    def train(self) -> range:
        """All weeks but the last `test`."""
        return range(self.city.settings.weeks - self.test)

    def counts(self, visits: Visits) -> Counts:
        """What the people of a block did."""
        return count_visits(visits, self.area, Periods(FIRST_DAY, self.city.settings.weeks))

    def people(self, block: int) -> pa.Table:
        """The people of a block, as rows of the table."""
        visits = self.city.block(block)
        counts = self.counts(visits)
        profile = logistic(counts, self.train)
        # Both begin from the same seed, so that a frequent place is the same one with and without grades.
        draws = [np.random.default_rng([self.seed, block]) for _ in range(2)]
        frequent = choose_places(profile, self.delta, DEFAULT_RULE, draws[0], self.targets)
        thresholds = grade_thresholds(self.delta)
        cell, grade = choose_graded_places(profile, thresholds, DEFAULT_RULE, draws[1], self.targets)
        hits = counts.periods_at(self.targets, range(self.train.stop, len(counts.periods)))
        return pa.table(
            [visits.users, cell, grade, frequent, hits, [user_hash(self.seed, name) for name in visits.users]],
            schema=SCHEMA,
        )


def write_people(
    population: SyntheticPopulation, path: Path, processes: int, progress: Callable[[int, int], None]
) -> None:
    """Write everyone of a synthetic city; no more than a block per process is in memory, the file grows."""
    half = path.with_name(path.name + ".half")
    try:
        with pq.ParquetWriter(half, SCHEMA) as writer, _workers(processes) as pool:
            _write_blocks(population, writer, pool, 2 * processes, progress)
        half.replace(path)
    except BrokenProcessPool:
        raise CrowdveilError("a process that made people was ended; is there too little memory?") from None
    finally:
        half.unlink(missing_ok=True)


def _write_blocks(
    population: SyntheticPopulation,
    writer: pq.ParquetWriter,
    pool: Executor,
    at_once: int,
    progress: Callable[[int, int], None],
) -> None:
    blocks = len(population.city)

    def submit(number: int) -> Future[pa.Table]:
        with _interrupts_held():
            return pool.submit(population.people, number)

    # a few at a time: finished blocks that wait to be written would fill the memory
    waiting = [submit(number) for number in range(min(blocks, at_once))]
    for number in range(blocks):
        writer.write_table(waiting.pop(0).result())
        if (later := number + at_once) < blocks:
            waiting.append(submit(later))
        progress(number + 1, blocks)


# --- processes ----------------------------------------------------------------------------------------------


@contextmanager
def _workers(processes: int) -> Iterator[Executor]:
    """Processes that end with this one, however it ends, and at once where it does not want them any more."""
    fresh = get_context("spawn")  # a process that is forked beside an engine's threads may hang
    theirs, ours = fresh.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, fresh, initializer=_end_with, initargs=(theirs,))
    with theirs, ours, pool:
        try:
            yield pool
        except BaseException:
            ours.close()  # what they work on is of no use
            raise


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """A process that is started here hears no Ctrl-C, which is for this one alone; this one hears it at the end."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    # The mask is inherited by the new process. In this one another thread may still take a signal, and Python would
    # then run its handler in the main thread, halfway through the start: so handlers only take note until it is over.
    came: list[int] = []
    held = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    handlers = {one: signal.signal(one, lambda number, _: came.append(number)) for one in held}
    try:
        yield
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if came:
            signal.raise_signal(came[0])


def _end_with(parent: Connection) -> None:
    """End this process when the other end of a pipe is closed, which the system does for a parent that is killed."""

    def wait() -> None:
        with suppress(EOFError, OSError):
            parent.recv_bytes()
        os._exit(1)

    Thread(target=wait, daemon=True).start()
