"""All methods on one crowd and one set of targets, side by side: what `crowdveil simulate` and the demo show.

Every method meets the same users, in the same order, with the same places; only the method differs. One campaign, that
of the first seed, is kept whole: its estimate and its policies are what maps show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from crowdveil.campaign import State
from crowdveil.campaign.selection import Reports
from crowdveil.certify import certify
from crowdveil.errors import InputError
from crowdveil.formatting import exact, in_plain_words, rounded_up_below
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.baselines.tables import MAX_TABLE_CELLS
from crowdveil.policy.checks import check_targets
from crowdveil.profile.profile import check_delta
from crowdveil.simulate.dataset import PROFILES, Dataset
from crowdveil.simulate.records import Record, interval
from crowdveil.simulate.simulation import (
    METHODS,
    PLACES_STREAM,
    Crowd,
    Method,
    check_methods,
    check_terms,
    covered,
    simulate,
)
from crowdveil.vocabulary import DEFAULT_CONFIDENCE, DEFAULT_DELTA, DEFAULT_ROUNDS, DEFAULT_SHARE_WANTED, Progress, Rule

FIGURE = "comparison"
CAMPAIGNS: tuple[Method, ...] = ("crowdveil", "crowdveil-known", "algorithm-2", "algorithm-1")
"""Methods with rounds and policies of their own; the first of them that is compared is shown on maps."""
MAX_SEEDS = 10_000


@dataclass(frozen=True)
class ComparisonSettings:
    """What is compared: targets and privacy, how users choose the place they report, and how many are wanted."""

    targets: tuple[int, ...]
    epsilon_per_km: float
    delta: float = DEFAULT_DELTA
    profile: str = "recency"
    rule: Rule = "target-aware"
    share: float = DEFAULT_SHARE_WANTED
    """α as a share of those who report."""
    rounds: int = DEFAULT_ROUNDS
    confidence: float = DEFAULT_CONFIDENCE
    seeds: int = 20
    methods: tuple[Method, ...] = METHODS

    def __post_init__(self) -> None:
        check_terms(self.epsilon_per_km, self.share, self.rounds, self.confidence)
        check_methods(self.methods, METHODS)
        check_delta(self.delta)
        if self.profile not in PROFILES:
            raise InputError("profile", self.profile, f"should be one of {', '.join(PROFILES)}")
        if self.rule not in get_args(Rule):
            raise InputError("rule", self.rule, f"should be one of {', '.join(get_args(Rule))}")
        if not 1 <= self.seeds <= MAX_SEEDS:
            raise InputError("seeds", self.seeds, f"should be from 1 to {MAX_SEEDS:,}")

    def check(self, dataset: Dataset) -> None:
        """Refuse what this world cannot answer."""
        check_targets(self.targets, len(dataset.area))
        if dataset.counts.users < 2:
            raise InputError("users", dataset.counts.users, "should be two or more, or there is nobody to choose")
        if len(dataset.area) > MAX_TABLE_CELLS and any(method.startswith("laplace") for method in self.methods):
            what = f"planar Laplace takes at most {MAX_TABLE_CELLS:,}; make cells larger, or leave its methods out"
            raise InputError("cells", len(dataset.area), what)
        reporters = self.reporters(dataset)
        if reporters == 0:
            highest = float(dataset.profiles[self.profile].probability.max(initial=0.0))
            what = "nobody has a frequent place, and the training periods have no visit: take others"
            if highest > 0:
                what = f"nobody has a frequent place; the highest probability there is, is {highest:.4g}: go below it"
            raise InputError("delta", self.delta, what)
        if self.rounds > reporters:
            what = f"should be at most the {reporters} of {dataset.counts.users} users who have a frequent place"
            raise InputError("rounds", self.rounds, what)

    def reporters(self, dataset: Dataset) -> int:
        """How many users have a frequent place; the same for every seed."""
        profile = dataset.profiles[self.profile]
        return len(np.unique(profile.user[profile.frequent(self.delta)]))

    def crowd(self, dataset: Dataset, seed: int) -> Crowd:
        """The users, each with the place that they would report under a seed."""
        generator = np.random.default_rng([seed, PLACES_STREAM])
        places = dataset.places(self.profile, self.rule, self.delta, self.targets, generator)
        return Crowd(dataset.area, self.targets, places, self.epsilon_per_km, self.share, self.rounds, self.confidence)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was found."""

    dataset: Dataset
    settings: ComparisonSettings
    records: list[Record]
    """One for each method: its coverage."""
    coverage: dict[Method, list[float]]
    """By seed."""
    wanted: int
    """α."""
    policies: int
    """Certified policies that symbols were drawn from, over all methods and seeds."""
    campaign: State | None
    """The first seed's campaign of the first of `CAMPAIGNS` that was compared."""
    reports: Reports | None
    """What was sent in it."""

    def ahead(self, one: Method, other: Method) -> tuple[float, float, float]:
        """By how much one method covers more than another, with its interval; seeds pair up: same users, same order."""
        pairs = zip(self.coverage[one], self.coverage[other], strict=True)
        return interval([mine - theirs for mine, theirs in pairs], least=-1.0, most=1.0)


def compare(dataset: Dataset, settings: ComparisonSettings, progress: Progress | None = None) -> Comparison:
    """Run every method under every seed."""
    settings.check(dataset)
    share = dataset.coverage(settings.targets)
    coverage: dict[Method, list[float]] = {method: [] for method in settings.methods}
    selected: dict[Method, list[float]] = {method: [] for method in settings.methods}
    policies = dict.fromkeys(settings.methods, 0)
    campaigns: dict[Method, tuple[State, Reports]] = {}
    wanted = reports = 0
    for seed in range(settings.seeds):
        crowd = settings.crowd(dataset, seed)
        wanted, reports = crowd.wanted, len(crowd.reporters)
        for number, method in enumerate(settings.methods):
            outcome = simulate(crowd, method, seed)
            coverage[method].append(covered(outcome.selected, share))
            selected[method].append(len(outcome.selected) / outcome.wanted)
            policies[method] += outcome.policies
            if seed == 0 and outcome.campaign is not None:
                campaigns[method] = outcome.campaign
            if progress is not None:
                progress(seed * len(settings.methods) + number + 1, settings.seeds * len(settings.methods))
    records = []
    for method in settings.methods:
        mean, low, high = interval(coverage[method], most=1.0)
        state = campaigns[method][0] if method in campaigns else None
        records.append(
            Record(
                figure=FIGURE,
                dataset=dataset.name,
                method=method,
                profile=settings.profile,
                rule=settings.rule,
                label=name_targets(settings.targets),
                measure="coverage",
                value=mean,
                ci_low=low,
                ci_high=high,
                n=settings.seeds,
                seeds=settings.seeds,
                epsilon_per_km=settings.epsilon_per_km,
                delta=settings.delta,
                targets=len(settings.targets),
                k=settings.rounds,
                selected=sum(selected[method]) / settings.seeds,
                extra={
                    "reports": reports,
                    "wanted": wanted,
                    "policies": policies[method],
                    "private_from_epsilon_per_km": _private_from(settings.crowd(dataset, 0), method, state),
                },
            )
        )
    shown = next((campaigns[method] for method in CAMPAIGNS if method in campaigns), (None, None))
    return Comparison(dataset, settings, records, coverage, wanted, sum(policies.values()), *shown)


def _private_from(crowd: Crowd, method: Method, state: State | None) -> float | None:
    """The smallest ε at which all that the method sends is certified under the first seed; None for none."""
    if method == "none":
        return None
    if method == "random":
        return 0.0  # users say no more than that they take part
    policies = state.policies if state is not None else [planar_laplace(crowd.area, None, [0], crowd.epsilon_per_km)]
    return max(certify(policy).smallest_epsilon_per_km for policy in policies)


# --- words ----------------------------------------------------------------------------------------------------


def warnings(dataset: Dataset, settings: ComparisonSettings) -> list[str]:
    """What makes a comparison say less than it seems to, each with its count."""
    told = []
    for what, part in (("learn from", dataset.split.train), ("test on", dataset.split.test)):
        empty = dataset.counts.empty_periods(part)
        if empty:
            some = f"{', '.join(map(str, empty[:8]))}{', ...' * (len(empty) > 8)}"
            told.append(f"{len(empty)} of {len(part)} periods to {what} have no visit at all (numbers {some}).")
    targets = settings.targets
    if not dataset.coverage(targets).any():
        told.append(f"nobody was at a target ({name_targets(targets)}) in the test periods: every coverage is 0.")
    profile = dataset.profiles[settings.profile]
    if not np.isin(profile.cell[profile.frequent(settings.delta)], targets).any():
        told.append(f"no target ({name_targets(targets)}) is anybody's frequent place: nobody can report one.")
    return told


def facts(found: Comparison) -> dict[str, str]:
    """What was compared, in words."""
    dataset, settings = found.dataset, found.settings
    reporters, users = found.records[0].extra["reports"], dataset.counts.users
    return {
        **_facts_of_dataset(dataset),
        "profile": f"{settings.profile}{_half_life(dataset) if settings.profile == 'recency' else ''}",
        "place to report": settings.rule,
        "frequent place": f"{reporters:,} of {users:,} users ({reporters / users:.1%}), at δ = {settings.delta:g}",
        "wanted (α)": f"{found.wanted:,}: {settings.share:.4g} of those who have one",
        "targets": name_targets(settings.targets),
        "privacy": f"ε = {exact(settings.epsilon_per_km)} per km: {in_plain_words(settings.epsilon_per_km)}",
        "certified": _certified(found),
        "seeds": f"{settings.seeds:,}, {settings.rounds} rounds each",
    }


def _facts_of_dataset(dataset: Dataset) -> dict[str, str]:
    periods, left_out = dataset.counts.periods, dataset.counts.left_out
    unit = "week" if periods.days == 7 else "weekday" if periods.weekdays_only else "day"
    weekends = " without weekends" * (periods.weekdays_only and periods.days == 7)
    return {
        "cells": f"{len(dataset.area):,}",
        "left out": ", ".join(f"{number:,} visits {reason}" for reason, number in left_out.items()) or "no visit",
        "periods": f"{len(periods)} {unit}s{weekends} from {periods.start}: {len(dataset.split.train)} to learn from, "
        f"{len(dataset.split.test)} to test on",
    }


def _half_life(dataset: Dataset) -> str:
    if not dataset.half_life.scores:
        return ", half-life infinite: the training periods cannot choose one"
    return f", half-life {dataset.half_life.half_life_periods:g} periods, chosen on the training periods"


def _certified(found: Comparison) -> str:
    if found.policies == 0:
        return "nothing: none of the methods that were compared draws symbols"
    return f"{found.policies:,} policies; every symbol was drawn from one of them"


HEADER = ["method", "coverage", "95 % interval", "selected", "private from ε per km"]


def rows(records: Sequence[Record]) -> list[list[str]]:
    """The table of a comparison, under `HEADER`."""
    return [
        [
            record.method,
            f"{record.value:.1%}",
            f"{record.ci_low:.1%} to {record.ci_high:.1%}",
            f"{record.selected:.0%} of {record.extra['wanted']:,}",
            private_from(record),
        ]
        for record in records
    ]


def private_from(record: Record) -> str:
    """The smallest certified ε, rounded up; `no` where there is none."""
    smallest = record.extra["private_from_epsilon_per_km"]
    return "no" if smallest is None else rounded_up_below(smallest, record.epsilon_per_km or math.inf)


def name_targets(targets: Sequence[int]) -> str:
    """Cells by their numbers, the first few of many."""
    some = f"{', '.join(map(str, targets[:8]))}{', ...' * (len(targets) > 8)}"
    return f"cell{'s' * (len(targets) > 1)} {some}"
