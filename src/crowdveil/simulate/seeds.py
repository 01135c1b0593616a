"""Simulate every method under every seed, on several cores if wanted; what is done survives an interruption."""

from __future__ import annotations

import copyreg
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from types import MappingProxyType

from threadpoolctl import threadpool_limits

from crowdveil.arrays import FloatArray
from crowdveil.campaign import Reports, State
from crowdveil.errors import InputError
from crowdveil.policy.policy import Policy
from crowdveil.simulate.simulation import Crowd, Method, coverage_of, simulate
from crowdveil.vocabulary import Progress

MakeCrowd = Callable[[int], Crowd]
"""Makes the crowd of a seed."""


@dataclass(frozen=True)
class SeedResult:
    """What became of every method under one seed."""

    coverage: dict[Method, float]
    selected: dict[Method, float]
    """The share of the people wanted who were selected."""
    policies: dict[Method, int]
    wanted: int
    reports: int
    campaigns: dict[Method, tuple[State, Reports]] = field(default_factory=dict)
    """Kept for the first seed only."""
    tables: dict[Method, tuple[Policy, ...]] = field(default_factory=dict)
    """The policies that methods without a campaign drew from; kept for the first seed only."""


@dataclass(frozen=True)
class SeedRuns:
    """What is simulated; each process is given a copy."""

    crowd: MakeCrowd
    methods: tuple[Method, ...]
    share: FloatArray
    """For each user, the share of test periods at a target."""

    def run(self, seed: int, done: Callable[[], None] | None = None) -> SeedResult:
        """Simulate every method under a seed; `done` is called after each."""
        crowd = self.crowd(seed)
        outcomes = {}
        for method in self.methods:
            outcomes[method] = simulate(crowd, method, seed)
            if done is not None:
                done()
        return SeedResult(
            {method: coverage_of(outcome.selected, self.share, outcome.wanted) for method, outcome in outcomes.items()},
            {method: len(outcome.selected) / outcome.wanted for method, outcome in outcomes.items()},
            {method: outcome.policies for method, outcome in outcomes.items()},
            crowd.wanted,
            len(crowd.reporters),
            {
                method: outcome.campaign
                for method, outcome in outcomes.items()
                if seed == 0 and outcome.campaign is not None
            },
            {method: tuple(outcome.tables) for method, outcome in outcomes.items() if seed == 0},
        )


def run_seeds(
    runs: SeedRuns, seeds: int, *, workers: int = 1, partial: bool = False, progress: Progress | None = None
) -> list[SeedResult]:
    """Run seeds 0, 1, ... and return their results in order.

    Args:
        runs: What is simulated.
        seeds: How many.
        workers: How many processes to use; the results are the same. They are started afresh, because a copy of a
            process with threads may wait for ever for a lock that one of them held.
        partial: Whether an interruption (Ctrl-C) gives the seeds that are done, if the first is among them.
        progress: Called with how many simulations are done, and how many there are.
    """
    if workers < 1:
        raise InputError("workers", workers, "should be a whole number of processes, at least 1")
    done: dict[int, SeedResult] = {}
    finished = 0

    def count(simulations: int = 1) -> None:
        nonlocal finished
        finished += simulations
        if progress is not None:
            progress(finished, seeds * len(runs.methods))

    try:
        done.update(_results(runs, seeds, workers, count))  # one by one: an interruption keeps those before it
    except KeyboardInterrupt:
        if not partial or 0 not in done:
            raise
    return [done[seed] for seed in sorted(done)]


def _results(runs: SeedRuns, seeds: int, workers: int, count: Callable[..., None]) -> Iterator[tuple[int, SeedResult]]:
    if min(workers, seeds - 1) < 2:
        yield from ((seed, runs.run(seed, count)) for seed in range(seeds))
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _begin, (runs,))
    try:
        later: dict[Future[SeedResult], int] = {pool.submit(_run, seed): seed for seed in range(1, seeds)}
        yield 0, runs.run(0, count)  # here, because a campaign is too large to be sent from process to process
        for future in as_completed(later):
            result = future.result()
            count(len(runs.methods))
            yield later[future], result
    finally:
        for process in list((pool._processes or {}).values()):
            process.kill()  # an interruption should not wait for simulations of minutes
        pool.shutdown(wait=True, cancel_futures=True)


_given: list[SeedRuns] = []


def _read_only(entries: dict[str, int]) -> MappingProxyType[str, int]:
    return MappingProxyType(entries)


# Read-only mappings are part of data sets, and Python copies them to no other process by itself.
copyreg.pickle(MappingProxyType, lambda mapping: (_read_only, (dict(mapping),)))


def _begin(runs: SeedRuns) -> None:
    """Prepare a process: interruptions are for the main one, and a core has one thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    _given[:] = [runs]


def _run(seed: int) -> SeedResult:
    return _given[0].run(seed)
