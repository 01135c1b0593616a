"""The comparison of all methods on one data set and one set of targets, side by side.

Every method meets the same users, in the same order, with the same places; only the method differs. One campaign, that
of the first seed, is kept whole: its estimate and its policies are what maps show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from crowdveil.campaign import State
from crowdveil.campaign.selection import Reports
from crowdveil.certify import certify
from crowdveil.dataframes import Backend, make_frame
from crowdveil.errors import InputError
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.baselines.tables import MAX_TABLE_CELLS
from crowdveil.policy.checks import check_grade_epsilon, check_null_epsilon, check_targets
from crowdveil.profile import PROFILE_METHODS
from crowdveil.profile.profile import check_delta
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.records import Record, interval
from crowdveil.simulate.simulation import (
    METHODS,
    PLACES_STREAM,
    Crowd,
    Method,
    check_methods,
    check_terms,
    coverage_of,
    simulate,
)
from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_DELTA,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
    DEFAULT_ROUNDS,
    DEFAULT_SHARE_WANTED,
    NULL,
    Progress,
    Rule,
)

FIGURE = "comparison"
CAMPAIGNS: tuple[Method, ...] = ("crowdveil", "crowdveil-known", "crowdveil-clear", "algorithm-2", "algorithm-1")
"""Methods with rounds and policies of their own; the first of them that is compared is shown on maps."""
DEFAULT_SEEDS = 20
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
    seeds: int = DEFAULT_SEEDS
    methods: tuple[Method, ...] = METHODS
    null_epsilon: float | None = DEFAULT_NULL_EPSILON
    """ε₀ of our methods; None, together with ε₁, for the clear form."""
    grade_epsilon: float | None = DEFAULT_GRADE_EPSILON
    """ε₁ of our methods."""

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
        if self.profile not in PROFILE_METHODS:
            raise InputError("profile", self.profile, f"should be one of {', '.join(PROFILE_METHODS)}")
        if self.rule not in get_args(Rule):
            raise InputError("rule", self.rule, f"should be one of {', '.join(get_args(Rule))}")
        if not 1 <= self.seeds <= MAX_SEEDS:
            raise InputError("seeds", self.seeds, f"should be from 1 to {MAX_SEEDS:,}")

    def check(self, dataset: Dataset) -> None:
        """Refuse what this data set cannot answer."""
        check_targets(self.targets, len(dataset.area))
        if dataset.counts.users < 2:
            raise InputError("users", dataset.counts.users, "should be two or more, or there is nobody to choose")
        if len(dataset.area) > MAX_TABLE_CELLS and any(method.startswith("laplace") for method in self.methods):
            what = f"planar Laplace takes at most {MAX_TABLE_CELLS:,}; make cells larger, or leave its methods out"
            raise InputError("cells", len(dataset.area), what)
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
        generator = np.random.default_rng([seed, PLACES_STREAM])
        cells, grades = dataset.graded_places(self.profile, self.rule, self.delta, self.targets, generator)
        return Crowd(
            area=dataset.area,
            targets=self.targets,
            places=np.where(grades == 0, cells, NULL),
            epsilon_per_km=self.epsilon_per_km,
            share_wanted=self.share,
            rounds=self.rounds,
            confidence=self.confidence,
            null_epsilon=self.null_epsilon,
            grade_epsilon=self.grade_epsilon,
            likeliest=cells,
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


def compare_methods(dataset: Dataset, settings: ComparisonSettings, progress: Progress | None = None) -> Comparison:
    """Run every method under every seed on a data set that is already counted and split."""
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
            coverage[method].append(coverage_of(outcome.selected, share))
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


def name_targets(targets: tuple[int, ...]) -> str:
    """Name cells by their numbers, the first few of many."""
    some = f"{', '.join(map(str, targets[:8]))}{', ...' * (len(targets) > 8)}"
    return f"cell{'s' * (len(targets) > 1)} {some}"
