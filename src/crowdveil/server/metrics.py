"""What is counted, in the words of Prometheus. Counts and durations only: nobody's report, place or address."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily

from crowdveil.store import Store, list_campaigns, rounds_of

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SOLVE_BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
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
            "Reports by what became of them: accepted, repeated, or the reason of refusal",
            ["outcome"],
            registry=self.registry,
        )
        self.seats = Counter(
            "crowdveil_seats", "Seats asked for: given, or the reason of refusal", ["outcome"], registry=self.registry
        )
        self.commits = Histogram(
            "crowdveil_commit_seconds",
            "Time of a commit of seats and reports",
            buckets=COMMIT_BUCKETS_S,
            registry=self.registry,
        )
        self.waiting = Gauge("crowdveil_waiting", "Seats and reports that wait for a commit", registry=self.registry)
        self.solves = Histogram(
            "crowdveil_solve_seconds", "Time to make a round's policy", buckets=SOLVE_BUCKETS_S, registry=self.registry
        )
        self.happenings = Counter("crowdveil_happenings", "What the conductor did", ["event"], registry=self.registry)

    def text(self, store: Store) -> bytes:
        """All of them, and the state of every campaign and of its latest round."""
        states = CollectorRegistry()
        states.register(_Campaigns(store))
        return generate_latest(self.registry) + generate_latest(states)


class _Campaigns:
    """Read from the database when asked for, so that every server of several says the same."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterable[GaugeMetricFamily]:
        campaigns = GaugeMetricFamily("crowdveil_campaign_state", "1 for its state", labels=["campaign", "state"])
        rounds = GaugeMetricFamily(
            "crowdveil_round", "Number of the latest round, from 0", labels=["campaign", "state"]
        )
        for campaign in list_campaigns(self._store):
            campaigns.add_metric([campaign.id, campaign.state], 1)
            for latest in rounds_of(self._store, campaign.id)[-1:]:
                rounds.add_metric([campaign.id, latest.state], latest.number)
        return [campaigns, rounds]
