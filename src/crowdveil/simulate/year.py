"""Simulate a campaign every week over half a year and more, with people whose loss of privacy is limited for life.

Every week a target, or several, is drawn among the busiest places, and some people are wanted there. All methods meet
the same people, targets and numbers; a device may lose as much in total under each of them:

    none            everyone names their place, and its grade; those at a target are selected, regular visitors first
    fresh           a new report every week under the policy that is optimal for its target, without any limit
    today           the same, until the lifetime limit is used up; afterwards nobody reports
    split           the same with the limit divided by all weeks, so that everyone reports every week
    panel-...       a panel over all cells (`panel_policy`), reported to once, twice or three times
    list-...        a panel over the busiest places alone
    laplace-...     planar Laplace, once, twice or three times
    ...-pooled      the same, where what people reported before the latest drawing counts too
    random          people at random (the floor)

A panel's reports answer every week until the next drawing: of all who reported, those most likely to be at a target
this week are selected. Drawings follow each other at equal intervals, and each may lose its share of the limit.

**Earlier reports.** People move, but most do not. Let ρ be the chance that a place is the same as one drawing before
(`stays`). With the latest prior π and policies P_0 (the latest), P_1, ... of the drawings that a person reported in,

    π(i | s_0, s_1, ...)  ∝  π_i P_0(s_0|i) Π_k ( ρ^k P_k(s_k|i) + (1 - ρ^k) Σ_j π^k_j P_k(s_k|j) ),

the last sum being how often s_k was sent at all, so that a place that changed says nothing of the new one. This is
computed from what was sent anyway, and costs no privacy.

**What is known when.** Profiles are made from the weeks before a drawing; for `none`, `fresh`, `today` and `split`,
which draw every week, from the weeks before the campaign. The busiest places are those of the weeks before the first
campaign. The true π of what is reported is known to all methods (`none` and `random` have no use for it).

**Which place is reported.** For a panel the likeliest of the busiest places that are frequent, otherwise a frequent
place at random. For a fresh report the target of the week, if it is frequent; or, with `fresh_places="list"`, the same
place as for a panel.

**In the clear form** who has no frequent place does not report. **In the protected form** everyone reports, and grades
and outside are protected (`lifetime_null_epsilon`, `lifetime_grade_epsilon`), but not by planar Laplace, which protects
the place alone in both.

**What is counted.** The share of the people wanted who were selected and really were at a target in that very week.
Wanted is a share of those who have a frequent place, by the profiles of the weeks before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.campaign.groups import COMPARED_DECIMALS, Groups, groups_of
from crowdveil.campaign.selection import Reports, select_by_posterior
from crowdveil.certify import Certificate, certify
from crowdveil.draw import draw_many
from crowdveil.errors import InputError
from crowdveil.policy.grades import chances_of_grades
from crowdveil.policy.policy import Policy
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.policy.solver.stack import panel_policy
from crowdveil.profile.place import choose_graded_places, choose_places
from crowdveil.simulate.community import Community
from crowdveil.simulate.simulation import PLACES_STREAM, arrivals, coverage_of, laplace_policy, wanted_of
from crowdveil.vocabulary import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON_PER_KM,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
    DEFAULT_SHARE_WANTED,
    NULL,
    grade_thresholds,
)

YearMethod = Literal[
    "none",
    "fresh",
    "today",
    "split",
    "panel-once",
    "panel-twice",
    "panel-thrice",
    "panel-twice-pooled",
    "panel-thrice-pooled",
    "list-once",
    "list-twice",
    "list-thrice",
    "laplace-once",
    "laplace-twice",
    "laplace-thrice",
    "laplace-twice-pooled",
    "laplace-thrice-pooled",
    "random",
]
YEAR_METHODS: tuple[YearMethod, ...] = get_args(YearMethod)
DRAWINGS = {"once": 1, "twice": 2, "thrice": 3}
TARGETS_STREAM, FADING_STREAM, RANDOM_STREAM = 2_000, 3_000, 4_000
"""Set the generators of targets, of panels that fade, and of random people apart from those of places and draws."""
MIN_BETA, MAX_BETA = 1e-4, 0.5
"""Of a fresh report's policy, however few or many of those who report are wanted."""
NOTHING = -1
"""Stands for the symbol of someone who did not report."""


@dataclass(frozen=True)
class Losses:
    """What may be lost: about the place per km, about being outside, about a step between grades."""

    epsilon_per_km: float
    null_epsilon: float | None = None
    """None for the clear form, together with `grade_epsilon`."""
    grade_epsilon: float | None = None

    def divided(self, parts: int) -> Losses:
        """Return one of so many equal parts."""

        def share(whole: float | None) -> float | None:
            return None if whole is None else whole / parts

        return Losses(self.epsilon_per_km / parts, share(self.null_epsilon), share(self.grade_epsilon))


CLEAR_LIFETIME = Losses(3 * DEFAULT_EPSILON_PER_KM)
PROTECTED_LIFETIME = Losses(3 * DEFAULT_EPSILON_PER_KM, 3 * DEFAULT_NULL_EPSILON, 3 * DEFAULT_GRADE_EPSILON)
"""What a device may lose by default: three reports at the default of each."""


@dataclass(frozen=True)
class YearSettings:
    """What all methods have in common."""

    lifetime: Losses = CLEAR_LIFETIME
    reports: int = 3
    """How many fresh reports use up the limit."""
    profile: str = "logistic"
    """How places are predicted: logistic or recency."""
    delta: float = DEFAULT_DELTA
    share_wanted: float = DEFAULT_SHARE_WANTED
    """Of those who have a frequent place."""
    places: int = 20
    """Targets are drawn among so many of the busiest places."""
    targets: int = 1
    """How many targets there are each week."""
    stays: float = 0.7
    """ρ: what earlier reports count where they are pooled."""
    fresh_places: Literal["target", "list"] = "target"
    """Whether fresh reports prefer the targets of their week, or any of the busiest places, as panels do."""

    def __post_init__(self) -> None:
        if self.profile not in ("logistic", "recency"):
            raise InputError("profile", self.profile, "should be logistic or recency")
        if not 0 < self.share_wanted <= 1:
            raise InputError("share_wanted", self.share_wanted, "should be above 0 and at most 1")
        if not 1 <= self.targets <= self.places:
            raise InputError("targets", self.targets, f"should be from 1 to the {self.places} places drawn from")
        if not 0 <= self.stays <= 1:
            raise InputError("stays", self.stays, "should be from 0 to 1")
        if self.reports < 1:
            raise InputError("reports", self.reports, "should be at least 1")
        if (self.lifetime.null_epsilon is None) != (self.lifetime.grade_epsilon is None):
            raise InputError("lifetime", self.lifetime, "should protect grades and being outside, or neither")

    @property
    def protected(self) -> bool:
        """Whether grades and outside are protected."""
        return self.lifetime.null_epsilon is not None

    @property
    def thresholds(self) -> tuple[float, ...]:
        """What divides the grades."""
        return grade_thresholds(self.delta)


class WeeklyCampaign(NamedTuple):
    """What is asked in a week."""

    week: int
    targets: tuple[int, ...]
    wanted: int


@dataclass(frozen=True, eq=False)
class YearResult:
    """What became of every method, week by week."""

    campaigns: tuple[WeeklyCampaign, ...]
    coverage: dict[YearMethod, FloatArray]
    """The share of the people wanted who were selected and came, for every campaign."""
    reports: dict[YearMethod, IntArray]
    """How many people reported in each week."""
    policies: dict[YearMethod, tuple[Policy, ...]]
    """What was drawn from."""

    def mean(self, method: YearMethod) -> float:
        """Return the mean coverage of all campaigns."""
        return float(self.coverage[method].mean())


def simulate_year(
    community: Community, settings: YearSettings, methods: Sequence[YearMethod] = YEAR_METHODS, seed: int = 0
) -> YearResult:
    """Run every method once over all weeks."""
    for method in methods:
        if method not in YEAR_METHODS:
            raise InputError("method", method, f"should be one of {', '.join(YEAR_METHODS)}")
    year = _Year(community, settings, seed)
    runs = {method: _run(year, method) for method in methods}
    return YearResult(
        year.campaigns,
        {method: run.coverage for method, run in runs.items()},
        {method: run.reports for method, run in runs.items()},
        {method: tuple(run.policies) for method, run in runs.items()},
    )


def simulate_fading(community: Community, settings: YearSettings, kind: str, losses: Losses, seed: int) -> FloatArray:
    """Return the coverage of panels drawn at every week in all later weeks, shape (drawn, asked); else NaN."""
    year = _Year(community, settings, seed)
    found: FloatArray = np.full((len(year.campaigns), len(year.campaigns)), np.nan)
    for drawn, first in enumerate(year.campaigns):
        drawing = year.drawing(kind, losses, first.week, np.random.default_rng([seed, FADING_STREAM, drawn]))
        for asked in range(drawn, len(year.campaigns)):
            found[drawn, asked] = year.ask([drawing], year.campaigns[asked])
    return found


# --- one repetition -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Drawing:
    """What people sent under one policy, and where they are known to be in all."""

    policy: Policy
    people: IntArray
    symbols: IntArray
    prior: FloatArray
    """Joint, where there are grades."""
    outside: float

    @property
    def inputs(self) -> FloatArray:
        """The prior of all inputs."""
        return self.policy.input_prior(self.prior, self.outside)


class _Year:
    """One repetition: its targets, and what is reported and selected in it."""

    def __init__(self, community: Community, settings: YearSettings, seed: int) -> None:
        self.community, self.settings, self.seed = community, settings, seed
        self.listed = community.busiest(settings.places)
        if len(self.listed) < settings.places or settings.places >= len(community.area):
            raise InputError("places", settings.places, f"should be below the {len(community.area)} cells")
        draws = np.random.default_rng([seed, TARGETS_STREAM])
        self.campaigns = tuple(
            WeeklyCampaign(
                week,
                tuple(draws.choice(self.listed, settings.targets, replace=False).tolist()),
                wanted_of(self._regulars(week), settings.share_wanted),
            )
            for week in community.weeks
        )

    def _regulars(self, week: int) -> int:
        profile = self.community.profile(self.settings.profile, week)
        regular = np.zeros(profile.users, dtype=bool)
        regular[profile.user[profile.frequent(self.settings.delta)]] = True
        return int(regular[self.community.people].sum())

    def places(self, week: int, preferred: Sequence[int], *, graded: bool) -> tuple[IntArray, IntArray]:
        """Choose the place that each person reports, or NULL, and its grade."""
        settings, profile = self.settings, self.community.profile(self.settings.profile, week)
        generator = np.random.default_rng([self.seed, PLACES_STREAM, week])
        if graded:
            cells, grades = choose_graded_places(profile, settings.thresholds, "target-aware", generator, preferred)
        else:
            cells = choose_places(profile, settings.delta, "target-aware", generator, preferred)
            grades = np.zeros(len(cells), dtype=np.int64)
        return cells[self.community.people], grades[self.community.people]

    def drawing(self, kind: str, losses: Losses, week: int, draws: np.random.Generator) -> _Drawing:
        """Let everyone report to a panel."""
        area = self.community.area
        if kind == "laplace":
            losses = Losses(losses.epsilon_per_km)
            policy, certificate = laplace_policy(area, losses.epsilon_per_km)
        else:
            places = self.listed if kind == "list" else None
            policy, certificate = _panel(area, places, losses, len(self.settings.thresholds) + 1)
        people, cells, grades, prior, outside = self._reporting(week, self.listed, losses)
        symbols = draw_many(policy, cells[people], certificate, draws, grades[people])
        return _Drawing(policy, people, symbols, prior, outside)

    def fresh(self, campaign: WeeklyCampaign, losses: Losses, draws: np.random.Generator) -> _Drawing:
        """Let everyone report under the policy that is optimal for the week's targets."""
        settings = self.settings
        preferred = campaign.targets if settings.fresh_places == "target" else self.listed
        people, cells, grades, prior, outside = self._reporting(campaign.week, preferred, losses)
        protected = losses.null_epsilon is not None
        policy = optimal_policy(
            self.community.area,
            prior,
            campaign.targets,
            epsilon_per_km=losses.epsilon_per_km,
            beta=min(max(campaign.wanted / max(len(people), 1), MIN_BETA), MAX_BETA),
            completion="informative",
            null_epsilon=losses.null_epsilon,
            null_share=outside,
            grade_epsilon=losses.grade_epsilon,
            grade_chances=chances_of_grades(settings.thresholds) if protected else None,
        )
        symbols = draw_many(policy, cells[people], certify(policy), draws, grades[people])
        return _Drawing(policy, people, symbols, prior, outside)

    def _reporting(
        self, week: int, preferred: Sequence[int], losses: Losses
    ) -> tuple[IntArray, IntArray, IntArray, FloatArray, float]:
        """Return who reports, everyone's place and grade, and the true π of them with the share outside."""
        protected = losses.null_epsilon is not None
        cells, grades = self.places(week, preferred, graded=protected)
        there, n = cells != NULL, len(self.community.area)
        count = len(self.settings.thresholds) + 1 if protected else 1
        if not there.any():
            raise InputError("places", "all NULL", "nobody has a place to report; learn from more weeks")
        joint = np.bincount(grades[there] * n + cells[there], minlength=count * n) / there.sum()
        prior = joint.reshape(count, n) if count > 1 else joint
        people = np.arange(len(cells)) if protected else np.flatnonzero(there)
        return people, cells, grades, prior, 1 - float(there.mean()) if protected else 0.0

    def ask(self, drawings: Sequence[_Drawing], campaign: WeeklyCampaign) -> float:
        """Select from what was sent at some drawings by those who reported at the last one, and count who comes."""
        last = drawings[-1]
        chances = chances_of_grades(self.settings.thresholds) if last.policy.grades > 1 else None
        if len(drawings) == 1:
            groups = groups_of([last.policy], last.prior, campaign.targets, last.outside, chances)
            symbols = last.symbols
        else:
            groups, symbols = _pooled(drawings, campaign.targets, chances, self.settings.stays)
        reports = Reports(last.people, np.zeros(len(last.people), dtype=np.int64), symbols)
        chosen = select_by_posterior(reports, groups, campaign.wanted, f"{self.seed}:{campaign.week}")
        return self.counted(chosen.participants, campaign)

    def counted(self, selected: IntArray, campaign: WeeklyCampaign) -> float:
        """Return the share of the wanted who were selected and came."""
        return coverage_of(selected, self.community.came(campaign.targets, campaign.week), campaign.wanted)


def _pooled(
    drawings: Sequence[_Drawing], targets: Sequence[int], chances: Sequence[float] | None, stays: float
) -> tuple[Groups, IntArray]:
    """Group those who reported last by all that they sent, and give each person's group."""
    last = drawings[-1]
    sent = np.full((len(last.people), len(drawings)), NOTHING)
    for number, drawing in enumerate(drawings):
        _, mine, theirs = np.intersect1d(last.people, drawing.people, assume_unique=True, return_indices=True)
        sent[mine, number] = drawing.symbols[theirs]
    histories, group = np.unique(sent, axis=0, return_inverse=True)
    posterior = np.tile(last.inputs, (len(histories), 1))
    for number, drawing in enumerate(drawings):
        there = np.flatnonzero(histories[:, number] != NOTHING)
        of_symbol = drawing.policy.table()[:, histories[there, number]]
        same = stays ** (len(drawings) - 1 - number)
        posterior[there] *= same * of_symbol.T + (1 - same) * (drawing.inputs @ of_symbol)[:, None]
    posterior /= posterior.sum(axis=1, keepdims=True)
    at = np.column_stack([posterior @ last.policy.worth([target], chances) for target in targets])
    at = at.round(COMPARED_DECIMALS)
    unnamed = np.zeros(at.shape, dtype=bool)
    begin = np.array([0, len(histories)])
    return Groups(begin, at.sum(axis=1).round(COMPARED_DECIMALS), at, unnamed), group.ravel()


@lru_cache(maxsize=32)
def _panel(area: Area, places: tuple[int, ...] | None, losses: Losses, grades: int) -> tuple[Policy, Certificate]:
    """Make and certify a panel; it depends on nobody's place, so that all weeks and repetitions share it."""
    policy = panel_policy(
        area,
        places,
        epsilon_per_km=losses.epsilon_per_km,
        null_epsilon=losses.null_epsilon,
        grade_epsilon=losses.grade_epsilon,
        grades=None if losses.grade_epsilon is None else grades,
    )
    return policy, certify(policy)


# --- the methods ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Run:
    coverage: FloatArray
    reports: IntArray
    policies: list[Policy]


def _run(year: _Year, method: YearMethod) -> _Run:
    weeks = len(year.campaigns)
    run = _Run(np.zeros(weeks), np.zeros(weeks, dtype=np.int64), [])
    draws = np.random.default_rng([year.seed, 1 + YEAR_METHODS.index(method)])
    kind, *times = method.split("-")
    if times:
        _ask_panels(year, run, kind, DRAWINGS[times[0]], draws, pooled="pooled" in times)
    elif method in ("none", "random"):
        _select_at_once(year, run, method)
    else:
        _report_every_week(year, run, method, draws)
    return run


def _ask_panels(year: _Year, run: _Run, kind: str, drawings: int, draws: np.random.Generator, *, pooled: bool) -> None:
    losses = year.settings.lifetime.divided(drawings)
    drawn: list[_Drawing] = []
    for part in np.array_split(np.arange(len(year.campaigns)), min(drawings, len(year.campaigns))):
        drawing = year.drawing(kind, losses, year.campaigns[int(part[0])].week, draws)
        drawn = [*drawn, drawing] if pooled else [drawing]
        run.policies.append(drawing.policy)
        run.reports[part[0]] = len(drawing.people)
        for number in part.tolist():
            run.coverage[number] = year.ask(drawn, year.campaigns[number])


def _report_every_week(year: _Year, run: _Run, method: YearMethod, draws: np.random.Generator) -> None:
    lifetime, allowed = year.settings.lifetime, year.settings.reports
    losses = lifetime.divided(len(year.campaigns) if method == "split" else allowed)
    for number, campaign in enumerate(year.campaigns):
        if method == "today" and number >= allowed:
            break  # nobody may report any more
        drawing = year.fresh(campaign, losses, draws)
        run.policies.append(drawing.policy)
        run.reports[number] = len(drawing.people)
        run.coverage[number] = year.ask([drawing], campaign)


def _select_at_once(year: _Year, run: _Run, method: YearMethod) -> None:
    """Select those who name a target, or anyone: nothing is drawn."""
    order = arrivals(len(year.community.people), year.seed)
    settings = year.settings
    for number, campaign in enumerate(year.campaigns):
        preferred = campaign.targets if settings.fresh_places == "target" else year.listed
        cells, grades = year.places(campaign.week, preferred, graded=settings.protected)
        if method == "none":
            there = order[np.isin(cells[order], campaign.targets)]
            selected = there[np.argsort(grades[there], kind="stable")]
        else:
            among = order if settings.protected else order[cells[order] != NULL]
            selected = np.random.default_rng([year.seed, RANDOM_STREAM, campaign.week]).permutation(among)
        run.reports[number] = int((cells != NULL).sum())
        run.coverage[number] = year.counted(selected[: campaign.wanted], campaign)
