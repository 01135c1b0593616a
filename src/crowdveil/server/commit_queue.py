"""Store seats and reports of many devices in one commit, and answer each of them only after that commit.

This is a group commit. One thread writes. While it waits for the disk, further jobs queue up, so a slow disk makes the
commits larger instead of the answers fewer. Nothing is acknowledged before its transaction is on disk. If the database
refuses a commit, all jobs of that commit are refused, none of them is stored, and the devices retry.
"""

from __future__ import annotations

import asyncio
import gc
from collections import OrderedDict, deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from time import perf_counter
from typing import NamedTuple, TypeAlias

from crowdveil.errors import StoreError
from crowdveil.server.metrics import Metrics
from crowdveil.server.refusals import refuse
from crowdveil.server.settings import ServerSettings
from crowdveil.store import (
    NoSeat,
    ReportOutcome,
    SeatClaim,
    Store,
    StoredReport,
    StoredSeat,
    add_reports,
    seats_of,
    take_seats,
)
from crowdveil.wire import Report

MAX_CACHED_SEATS = 100_000
"""Seats cached between the seat request and the report.

A seat never changes. One that was withdrawn is unknown to the database, which decides about every report.
"""

GATHER_SHARE, MAX_GATHER_S = 0.25, 0.01
"""How long the next commit waits for more to store, as a share of the time that the last one took, and at most.

The slower the disk, the more a larger commit saves; a device waits a quarter longer at most.
"""
GC_THRESHOLD = 20_000
"""Allocations between two garbage collections (default of Python: 700); about those of a hundred requests."""


class ReportJob(NamedTuple):
    """A report to store, sent by the holder of a secret."""

    campaign: str
    secret_hash: str
    report: Report


class ReportResult(NamedTuple):
    """The outcome of a report."""

    outcome: ReportOutcome
    participant: int
    """-1 if the secret has no seat."""


Job: TypeAlias = SeatClaim | ReportJob
QueueResult: TypeAlias = StoredSeat | NoSeat | ReportResult


_Pending: TypeAlias = tuple[Job, "asyncio.Future[QueueResult]"]


class CommitQueue:
    """Queue of seats and reports to store; started and stopped with the server."""

    def __init__(self, store: Store, settings: ServerSettings, metrics: Metrics, wake: Callable[[], None]) -> None:
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self._wake_scheduler = wake
        self._queue: deque[_Pending] = deque()
        self._seats: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._batches: SimpleQueue[list[_Pending] | None] = SimpleQueue()
        self._writer: Thread | None = None
        self._busy = False
        """Whether a batch is being written, or about to be taken from the queue."""
        self._idle = asyncio.Event()
        self._closing = False
        self._thresholds = gc.get_threshold()

    def start(self) -> None:
        """Start writing, and make garbage collections rare.

        Requests that wait for the disk accumulate, so with its defaults Python would run a collection every few reports
        and a full one every thousand, during which nobody is answered. So the objects that exist by now are excluded
        from collections, and the threshold is raised.
        """
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(GC_THRESHOLD, *self._thresholds[1:])
        self._loop = asyncio.get_running_loop()
        self._idle.set()
        self._writer = Thread(target=self._write_batches, name="commit-queue", daemon=True)
        self._writer.start()

    async def stop(self) -> None:
        """Write what is queued, then stop."""
        self._closing = True
        await self._idle.wait()
        self._batches.put(None)
        if self._writer is not None:
            self._writer.join()
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    async def take_seat(self, claim: SeatClaim) -> StoredSeat | NoSeat:
        """Return a seat, once it is on disk, or why there is none."""
        result = await self._submit(claim)
        assert not isinstance(result, ReportResult)
        self._metrics.count_seat("given" if isinstance(result, StoredSeat) else result)
        return result

    async def store_report(self, job: ReportJob) -> ReportResult:
        """Return the outcome of a report; an accepted report is on disk by then."""
        result = await self._submit(job)
        assert isinstance(result, ReportResult)
        self._metrics.count_report(result.outcome)
        return result

    def _submit(self, job: Job) -> asyncio.Future[QueueResult]:
        if len(self._queue) >= self._settings.max_queue_length or self._closing:
            raise refuse("unavailable", "the server is busy; send the same request again")
        result: asyncio.Future[QueueResult] = self._loop.create_future()
        self._queue.append((job, result))
        if not self._busy:
            self._busy = True
            self._idle.clear()
            self._loop.call_soon(self._begin)  # once the requests that have arrived by now are read: they share it
        return result

    def _begin(self) -> None:
        count = min(len(self._queue), self._settings.commit_reports)
        self._batches.put([self._queue.popleft() for _ in range(count)])
        self._metrics.queue_length.set(len(self._queue))

    def _answer(self, batch: list[_Pending], results: list[QueueResult | Exception], took_s: float) -> None:
        for (_, pending), result in zip(batch, results, strict=True):
            if pending.done():  # the device disconnected; what it sent is stored all the same
                continue
            if isinstance(result, Exception):
                pending.set_exception(result)
            else:
                pending.set_result(result)
        self._wake_scheduler()
        if self._queue:
            # A little later: who was answered just now may have more to send, and two commits cost more than one.
            self._loop.call_later(min(took_s * GATHER_SHARE, MAX_GATHER_S), self._begin)
        else:
            self._busy = False
            self._idle.set()

    # --- in the thread that writes ----------------------------------------------------------------------------

    def _write_batches(self) -> None:
        while (batch := self._batches.get()) is not None:
            started = perf_counter()
            results = self._write([job for job, _ in batch])
            self._loop.call_soon_threadsafe(self._answer, batch, results, perf_counter() - started)

    def _write(self, jobs: list[Job]) -> list[QueueResult | Exception]:
        started = perf_counter()
        results: list[QueueResult | Exception] = [StoreError("not stored")] * len(jobs)
        for kind, write in ((SeatClaim, self._write_seats), (ReportJob, self._write_reports)):
            indices = [index for index, job in enumerate(jobs) if isinstance(job, kind)]
            if not indices:
                continue
            found: list[QueueResult | Exception]
            try:
                found = list(write([jobs[index] for index in indices]))
            except Exception as error:  # every device gets an answer, whatever went wrong
                found = [error] * len(indices)
            for index, result in zip(indices, found, strict=True):
                results[index] = result
        self._metrics.commits.observe(perf_counter() - started)
        return results

    def _write_seats(self, jobs: list[Job]) -> list[StoredSeat | NoSeat]:
        claims = [job for job in jobs if isinstance(job, SeatClaim)]
        results = take_seats(self._store, claims)
        for claim, result in zip(claims, results, strict=True):
            if isinstance(result, StoredSeat):
                self._seats[claim.campaign, claim.secret_hash] = result.participant
        while len(self._seats) > MAX_CACHED_SEATS:
            self._seats.popitem(last=False)
        return results

    def _write_reports(self, jobs: list[Job]) -> list[ReportResult]:
        report_jobs = [job for job in jobs if isinstance(job, ReportJob)]
        numbers = self._participants(report_jobs)
        reports = [
            StoredReport(
                job.campaign,
                number,
                job.report.round,
                job.report.policy_hash,
                job.report.symbol_number,
                job.report.digest,
            )
            for job, number in zip(report_jobs, numbers, strict=True)
        ]
        outcomes = add_reports(self._store, reports)
        for job in report_jobs:
            self._seats.pop((job.campaign, job.secret_hash), None)
        return [ReportResult(outcome, number) for outcome, number in zip(outcomes, numbers, strict=True)]

    def _participants(self, jobs: list[ReportJob]) -> list[int]:
        found = {(job.campaign, job.secret_hash): self._seats.get((job.campaign, job.secret_hash)) for job in jobs}
        unknown: dict[str, list[str]] = {}
        for (campaign, secret_hash), number in found.items():
            if number is None:
                unknown.setdefault(campaign, []).append(secret_hash)
        for campaign, hashes in unknown.items():
            for secret_hash, seat in seats_of(self._store, campaign, hashes).items():
                found[campaign, secret_hash] = seat.participant
        numbers = [found[job.campaign, job.secret_hash] for job in jobs]
        return [-1 if number is None else number for number in numbers]
