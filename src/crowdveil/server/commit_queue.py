"""The group commit: seats and reports of many devices go to the disk together, and each is answered after that.

One thread writes. While it waits for the disk, the next ones gather; so a slow disk makes commits larger, not fewer
reports. Nothing is answered before its transaction is on disk; when the database refuses, all of that commit are told
to come back, and none of it is stored.
"""

from __future__ import annotations

import asyncio
import gc
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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

KNOWN_SEATS = 100_000
"""Seats remembered from enrolment to report, when most devices are done; they never change, so that is safe."""

SEARCH_AFTER = 20_000
"""New objects after which Python searches for garbage, instead of 700: those of about a hundred requests."""


class Sent(NamedTuple):
    """An upload, by the holder of a secret."""

    campaign: str
    secret_hash: str
    upload: Report


class Filed(NamedTuple):
    """What became of an upload."""

    outcome: ReportOutcome
    participant: int
    """-1 for somebody unknown."""


Job: TypeAlias = SeatClaim | Sent
Answer: TypeAlias = StoredSeat | NoSeat | Filed


@dataclass(eq=False)
class _Waiting:
    job: Job
    answer: asyncio.Future[Answer]


class CommitQueue:
    """Where devices hand in what is to be stored. Started and stopped with the server."""

    def __init__(self, store: Store, settings: ServerSettings, metrics: Metrics, wake: Callable[[], None]) -> None:
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self._nudge = wake
        self._queue: deque[_Waiting] = deque()
        self._wake = asyncio.Event()
        self._seats: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._thread = ThreadPoolExecutor(1, "commit-queue")
        self._worker: asyncio.Task[None] | None = None
        self._closing = False
        self._thresholds = gc.get_threshold()

    def start(self) -> None:
        """Begin to write.

        Requests that wait for the disk look to Python like garbage that piles up: it would search them every few
        reports, and all that is loaded every thousand, while nobody is answered. So what is loaded by now is left
        out, and the searches are made rare.
        """
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(SEARCH_AFTER, *self._thresholds[1:])
        self._worker = asyncio.get_running_loop().create_task(self._work())

    async def stop(self) -> None:
        """Write what waits, then stop."""
        self._closing = True
        self._wake.set()
        if self._worker is not None:
            await self._worker
        self._thread.shutdown()
        gc.set_threshold(*self._thresholds)
        gc.unfreeze()

    async def take_seat(self, request: SeatClaim) -> StoredSeat | NoSeat:
        """A seat, on disk."""
        answer = await self._hand_in(request)
        assert not isinstance(answer, Filed)
        self._metrics.seats.labels("given" if isinstance(answer, StoredSeat) else answer).inc()
        return answer

    async def file(self, sent: Sent) -> Filed:
        """What became of a report; if it was accepted it is on disk."""
        answer = await self._hand_in(sent)
        assert isinstance(answer, Filed)
        self._metrics.reports.labels(answer.outcome).inc()
        return answer

    async def _hand_in(self, job: Job) -> Answer:
        if len(self._queue) >= self._settings.waiting or self._closing:
            raise refuse("unavailable", "the server is busy; send the same again")
        waiting = _Waiting(job, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        self._wake.set()
        return await waiting.answer

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._queue or not self._closing:
            if not self._queue:
                self._wake.clear()
                await self._wake.wait()
                continue
            count = min(len(self._queue), self._settings.commit_reports)
            batch = [self._queue.popleft() for _ in range(count)]
            self._metrics.waiting.set(len(self._queue))
            jobs = [one.job for one in batch]
            answers = await loop.run_in_executor(self._thread, self._write, jobs)
            for one, answer in zip(batch, answers, strict=True):
                if one.answer.done():  # the device hung up; what it sent is stored all the same
                    continue
                if isinstance(answer, Exception):
                    one.answer.set_exception(answer)
                else:
                    one.answer.set_result(answer)
            self._nudge()

    def _write(self, jobs: list[Job]) -> list[Answer | Exception]:
        started = perf_counter()
        answers: list[Answer | Exception] = [StoreError("not stored")] * len(jobs)
        for kind, write in ((SeatClaim, self._write_seats), (Sent, self._write_reports)):
            places = [place for place, job in enumerate(jobs) if isinstance(job, kind)]
            if not places:
                continue
            found: list[Answer | Exception]
            try:
                found = list(write([jobs[place] for place in places]))
            except Exception as error:  # whatever it was, everyone is answered
                found = [error] * len(places)
            for place, answer in zip(places, found, strict=True):
                answers[place] = answer
        self._metrics.commits.observe(perf_counter() - started)
        return answers

    def _write_seats(self, jobs: list[Job]) -> list[StoredSeat | NoSeat]:
        requests = [job for job in jobs if isinstance(job, SeatClaim)]
        answers = take_seats(self._store, requests)
        for request, answer in zip(requests, answers, strict=True):
            if isinstance(answer, StoredSeat):
                self._seats[request.campaign, request.secret_hash] = answer.participant
        while len(self._seats) > KNOWN_SEATS:
            self._seats.popitem(last=False)
        return answers

    def _write_reports(self, jobs: list[Job]) -> list[Filed]:
        sent = [job for job in jobs if isinstance(job, Sent)]
        who = self._participants(sent)
        reports = [
            StoredReport(
                one.campaign, number, one.upload.round, one.upload.policy_hash, one.upload.symbol_number, digest
            )
            for one, number, digest in zip(sent, who, [one.upload.digest for one in sent], strict=True)
        ]
        outcomes = add_reports(self._store, reports)
        for one in sent:
            self._seats.pop((one.campaign, one.secret_hash), None)
        return [Filed(outcome, number) for outcome, number in zip(outcomes, who, strict=True)]

    def _participants(self, sent: list[Sent]) -> list[int]:
        found = {(one.campaign, one.secret_hash): self._seats.get((one.campaign, one.secret_hash)) for one in sent}
        unknown: dict[str, list[str]] = {}
        for (campaign, secret_hash), number in found.items():
            if number is None:
                unknown.setdefault(campaign, []).append(secret_hash)
        for campaign, hashes in unknown.items():
            for secret_hash, seat in seats_of(self._store, campaign, hashes).items():
                found[campaign, secret_hash] = seat.participant
        numbers = [found[one.campaign, one.secret_hash] for one in sent]
        return [-1 if number is None else number for number in numbers]
