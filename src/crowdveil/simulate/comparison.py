"""The comparison of all methods on one data set and one set of targets, side by side.

Every method meets the same users, in the same order, with the same places; only the method differs. One campaign, that
of the first seed, is kept whole: its estimate and its policies are what maps show.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from crowdveil.campaign import State
from crowdveil.campaign.selection import Reports
from crowdveil.certify import certify
from crowdveil.dataframes import Backend, make_frame
from crowdveil.errors import InputError
from crowdveil.policy.baselines.tables import MAX_TABLE_CELLS
from crowdveil.policy.checks import check_grade_epsilon, check_null_epsilon, check_targets
from crowdveil.policy.policy import Policy
from crowdveil.profile import PROFILE_METHODS
from crowdveil.profile.profile import check_delta, check_thresholds
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.records import Record, interval
from crowdveil.simulate.seeds import SeedRuns, run_seeds
from crowdveil.simulate.simulation import (
    METHODS,
    PLACES_STREAM,
    Crowd,
    Method,
    check_methods,
    check_terms,
)
from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_DELTA,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
    DEFAULT_PROFILE_METHOD,
    DEFAULT_ROUNDS,
    DEFAULT_RULE,
    DEFAULT_SHARE_WANTED,
    Progress,
    Rule,
    grade_thresholds,
)

FIGURE = "comparison"
CAMPAIGNS: tuple[Method, ...] = ("crowdveil", "crowdveil-known", "crowdveil-clear", "algorithm-2", "algorithm-1")
"""Methods with rounds and policies of their own; the first of them that is compared is shown on maps."""
TABLES: tuple[Method, ...] = ("laplace", "laplace-posterior", "laplace-remapped", "privic")
"""Methods whose policies are tables of cells by cells."""
DEFAULT_SEEDS = 20
MAX_SEEDS = 10_000


@dataclass(frozen=True)
class ComparisonSettings:
    """What is compared: targets and privacy, how users choose the place they report, and how many are wanted."""

    targets: tuple[int, ...]
    epsilon_per_km: float
    delta: float = DEFAULT_DELTA
    profile: str = DEFAULT_PROFILE_METHOD
    rule: Rule = DEFAULT_RULE
    share: float = DEFAULT_SHARE_WANTED
    """α as a share of everyone in the data set, as of everyone whom a campaign invites."""
    rounds: int = DEFAULT_ROUNDS
    confidence: float = DEFAULT_CONFIDENCE
    seeds: int = DEFAULT_SEEDS
    methods: tuple[Method, ...] = METHODS
    null_epsilon: float | None = DEFAULT_NULL_EPSILON
    """ε₀ of our methods; None, together with ε₁, for the clear form."""
    grade_epsilon: float | None = DEFAULT_GRADE_EPSILON
    """ε₁ of our methods."""
    lower_deltas: tuple[float, ...] | None = None
    """Thresholds of further grades below δ, in our methods; None: the default ones that lie below δ."""
    wanted: int | None = None
    """α, instead of a share."""

    def __post_init__(self) -> None:
        check_terms(self.epsilon_per_km, self.share, self.rounds, self.confidence)
        check_methods(self.methods, METHODS)
        check_delta(self.delta)
        if self.null_epsilon is not None:
            check_null_epsilon(self.null_epsilon)
        if self.grade_epsilon is not None:
            check_grade_epsilon(self.grade_epsilon)
            if self.null_epsilon is None:
                raise InputError("grade_epsilon", self.grade_epsilon, "should be none where null_epsilon is none")
        check_thresholds(self.thresholds)
        if self.wanted is not None and self.wanted < 1:
            raise InputError("wanted", self.wanted, "should be at least 1")
        if self.profile not in PROFILE_METHODS:
            raise InputError("profile", self.profile, f"should be one of {', '.join(PROFILE_METHODS)}")
        if self.rule not in get_args(Rule):
            raise InputError("rule", self.rule, f"should be one of {', '.join(get_args(Rule))}")
        if not 1 <= self.seeds <= MAX_SEEDS:
            raise InputError("seeds", self.seeds, f"should be from 1 to {MAX_SEEDS:,}")

    @property
    def thresholds(self) -> tuple[float, ...]:
        """What divides the grades."""
        return grade_thresholds(self.delta, self.lower_deltas)

    def people_wanted(self, dataset: Dataset) -> int:
        """α for this data set."""
        return max(1, round(self.share * dataset.counts.users)) if self.wanted is None else self.wanted

    def check(self, dataset: Dataset) -> None:
        """Refuse what this data set cannot answer."""
        check_targets(self.targets, len(dataset.area))
        if dataset.counts.users < 2:
            raise InputError("users", dataset.counts.users, "should be two or more, or there is nobody to choose")
        tables = [method for method in self.methods if method in TABLES]
        if len(dataset.area) > MAX_TABLE_CELLS and tables:
            what = f"{', '.join(tables)}: at most {MAX_TABLE_CELLS:,}; make cells larger, or leave these methods out"
            raise InputError("cells", len(dataset.area), what)
        if self.people_wanted(dataset) > dataset.counts.users:
            raise InputError("wanted", self.wanted, f"should be at most the {dataset.counts.users:,} users")
        reporters = self.reporters(dataset)
        if reporters == 0:
            highest = float(dataset.profiles[self.profile].probability.max(initial=0.0))
            what = "nobody has a frequent place, and the training periods have no visit; use other periods"
            if highest > 0:
                what = f"nobody has a frequent place; the highest probability is {highest:.4g}; use a smaller δ"
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
        # Both begin from the same seed, so that a frequent place is the same one with and without grades.
        frequent, graded = (np.random.default_rng([seed, PLACES_STREAM]) for _ in range(2))
        return Crowd(
            area=dataset.area,
            targets=self.targets,
            places=dataset.places(self.profile, self.rule, self.delta, self.targets, frequent),
            epsilon_per_km=self.epsilon_per_km,
            people_wanted=self.people_wanted(dataset),
            rounds=self.rounds,
            confidence=self.confidence,
            null_epsilon=self.null_epsilon,
            grade_epsilon=self.grade_epsilon,
            graded_places=dataset.graded_places(self.profile, self.rule, self.thresholds, self.targets, graded),
            thresholds=self.thresholds,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """How well each method covers the targets, with intervals, and what is certified about it.

    The front door attaches what draws: `plot()`, `save(folder)`, and pictures in notebooks.
    """

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

    if TYPE_CHECKING:  # attached by the front door, because this room may not import the room that draws

        def plot(self) -> Any:
            """Draw the coverage of every method; see `plots.comparison_report.plot_comparison`."""

        def save(self, folder: Any, command: str | None = None) -> list[str]:
            """Write results.json, pictures and report.html; see `plots.comparison_report.write_comparison`."""

    def __repr__(self) -> str:
        values = ", ".join(f"{record.method} {record.value:.1%}" for record in self.records)
        return f"Comparison({self.wanted:,} wanted, {self.settings.seeds} seeds; coverage: {values})"

    def difference(self, one: Method, other: Method) -> tuple[float, float, float]:
        """By how much one method covers more than another, with the ends of its 95 % interval.

        Seeds are paired: under the same seed both methods meet the same users in the same order.
        """
        pairs = zip(self.coverage[one], self.coverage[other], strict=True)
        return interval([mine - theirs for mine, theirs in pairs], least=-1.0, most=1.0)

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Give one row per method as a data frame.

        Args:
            backend: "pandas", "polars" or "pyarrow" (default: the first of them that is installed).

        Columns: method, coverage (a share from 0 to 1), its 95 % interval ci_low and ci_high, selected (share of the
        wanted people that were selected), wanted, reports, seeds, epsilon_per_km, delta, targets, rounds, and
        private_from_epsilon_per_km, the smallest certified ε (missing for a method that is not private).

        >>> import crowdveil as cv
        >>> result = cv.compare(cv.synthetic_visits(1, users=60, weeks=6), methods=["none", "random"], seeds=2)
        >>> result.to_frame("polars").shape
        (2, 13)
        """
        smallest = [record.extra["private_from_epsilon_per_km"] for record in self.records]
        return make_frame(
            {
                "method": [record.method for record in self.records],
                "coverage": [record.value for record in self.records],
                "ci_low": [record.ci_low for record in self.records],
                "ci_high": [record.ci_high for record in self.records],
                "selected": [record.selected for record in self.records],
                "wanted": [self.wanted] * len(self.records),
                "reports": [int(record.extra["reports"]) for record in self.records],
                "seeds": [record.seeds for record in self.records],
                "epsilon_per_km": [record.epsilon_per_km for record in self.records],
                "delta": [record.delta for record in self.records],
                "targets": [record.targets for record in self.records],
                "rounds": [record.k for record in self.records],
                "private_from_epsilon_per_km": [None if one is None else float(one) for one in smallest],
            },
            backend,
        )


def compare_methods(
    dataset: Dataset,
    settings: ComparisonSettings,
    progress: Progress | None = None,
    *,
    workers: int = 1,
    partial: bool = False,
) -> Comparison:
    """Run every method under every seed on a data set that is already counted and split.

    With `partial`, an interruption gives the comparison over the seeds that are done; see `run_seeds`.
    """
    settings.check(dataset)
    runs = SeedRuns(functools.partial(settings.crowd, dataset), settings.methods, dataset.coverage(settings.targets))
    results = run_seeds(runs, settings.seeds, workers=workers, partial=partial, progress=progress)
    settings = replace(settings, seeds=len(results))
    coverage = {method: [result.coverage[method] for result in results] for method in settings.methods}
    selected = {method: [result.selected[method] for result in results] for method in settings.methods}
    policies = {method: sum(result.policies[method] for result in results) for method in settings.methods}
    first = results[0]
    campaigns, wanted, reports = first.campaigns, first.wanted, first.reports
    drawn_from = first.tables | {method: tuple(state.policies) for method, (state, _) in campaigns.items()}
    records = []
    for method in settings.methods:
        mean, low, high = interval(coverage[method], most=1.0)
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
                    "private_from_epsilon_per_km": _private_from(method, drawn_from[method]),
                },
            )
        )
    shown = next((campaigns[method] for method in CAMPAIGNS if method in campaigns), (None, None))
    return Comparison(dataset, settings, records, coverage, wanted, sum(policies.values()), *shown)


def _private_from(method: Method, policies: Sequence[Policy]) -> float | None:
    """The smallest ε at which all that the method sends is certified under the first seed; None for none."""
    if method == "none":
        return None
    if method == "random":
        return 0.0  # users say no more than that they take part
    return max(certify(policy).smallest_epsilon_per_km for policy in policies)


def name_targets(targets: tuple[int, ...]) -> str:
    """Name cells by their numbers, the first few of many."""
    some = f"{', '.join(map(str, targets[:8]))}{', ...' * (len(targets) > 8)}"
    return f"cell{'s' * (len(targets) > 1)} {some}"
