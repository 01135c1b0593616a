"""Count for Prometheus. Only counts and durations: no report, place or address."""

from __future__ import annotations

import os
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from crowdveil.store import Store, list_campaigns, rounds_of

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SOLVE_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which workers count together; read when prometheus_client is imported."""
COMMIT_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "crowdveil_requests", "Requests answered", ["route", "method", "status"], registry=self.registry
        )
        self.reports = Counter(
            "crowdveil_reports",
            "Reports by outcome: accepted, repeated, or the reason for refusing",
            ["outcome"],
            registry=self.registry,
        )
        self.seats = Counter(
            "crowdveil_seats",
            "Seat requests by outcome: given, or the reason for refusing",
            ["outcome"],
            registry=self.registry,
        )
        self.withdrawals = Counter(
            "crowdveil_withdrawals", "Participants who left before their round was closed", registry=self.registry
        )
        self.commits = Histogram(
            "crowdveil_commit_seconds",
            "Duration of a commit of seats and reports",
            buckets=COMMIT_BUCKETS_S,
            registry=self.registry,
        )
        self.queue_length = Gauge(
            "crowdveil_commit_queue_length",
            "Seats and reports waiting for a commit",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.solves = Histogram(
            "crowdveil_solve_seconds",
            "Time to make the policy of a round",
            buckets=SOLVE_BUCKETS_S,
            registry=self.registry,
        )
        self.scheduler_events = Counter(
            "crowdveil_scheduler_events",
            "Steps of the scheduler: rounds, selections, failures",
            ["event"],
            registry=self.registry,
        )

        # The counters of the busiest labels: looking one up takes longer than counting.
        self._requests: dict[tuple[str, str, int], Counter] = {}
        self._reports: dict[str, Counter] = {}
        self._seats: dict[str, Counter] = {}

    def count_request(self, route: str, method: str, status: int) -> None:
        """Count a request that was answered."""
        key = (route, method, status)
        counter = self._requests.get(key)
        if counter is None:
            counter = self._requests[key] = self.requests.labels(route, method, str(status))
        counter.inc()

    def count_report(self, outcome: str) -> None:
        """Count a report by its outcome."""
        counter = self._reports.get(outcome)
        if counter is None:
            counter = self._reports[outcome] = self.reports.labels(outcome)
        counter.inc()

    def count_seat(self, outcome: str) -> None:
        """Count a seat request by its outcome."""
        counter = self._seats.get(outcome)
        if counter is None:
            counter = self._seats[outcome] = self.seats.labels(outcome)
        counter.inc()

    def text(self, store: Store) -> bytes:
        """Return all counters, with the state of every campaign and of its latest round."""
        states = CollectorRegistry()
        states.register(_CampaignStates(store))
        counters = self.registry
        if SHARED_FOLDER in os.environ:  # any worker is asked, and answers for all
            counters = CollectorRegistry()
            MultiProcessCollector(counters)  # type: ignore[no-untyped-call]
        return generate_latest(counters) + generate_latest(states)


class _CampaignStates:
    """Read from the database on every request, so that all servers of one database report the same."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterable[GaugeMetricFamily]:
        campaigns = GaugeMetricFamily(
            "crowdveil_campaign_state", "1 for the current state of a campaign", labels=["campaign", "state"]
        )
        rounds = GaugeMetricFamily(
            "crowdveil_round", "Number of the latest round, from 0", labels=["campaign", "state"]
        )
        for campaign in list_campaigns(self._store):
            campaigns.add_metric([campaign.id, campaign.state], 1)
            for latest in rounds_of(self._store, campaign.id)[-1:]:
                rounds.add_metric([campaign.id, latest.state], latest.number)
        return [campaigns, rounds]
