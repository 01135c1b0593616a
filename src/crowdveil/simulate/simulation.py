"""One simulated campaign: the same users, places and order for every method, only the method differs.

    none                everyone names their place, and its grade; those at a target are selected, regular visitors
                        first, at most α (no privacy: the ceiling)
    random              α of those who report, blindly (the floor)
    laplace             planar Laplace; those who report the cells nearest to a target are selected
    laplace-posterior   planar Laplace; selected by the chance that the true place is a target, with π known
    algorithm-1         the paper's policy with π known, in one round
    algorithm-2         the paper's policy with π unknown, learnt in k rounds (its printed pseudo-code)
    crowdveil           ours, π unknown, k rounds
    crowdveil-known     ours with π known, in one round
    crowdveil-clear     ours, π unknown, k rounds, in the clear form whatever the settings say
    laplace-remapped    planar Laplace, remapped with π known to the place nearest on average; nearest to a target first
    privic              PRIVIC's Blahut-Arimoto policies, π unknown, learnt in k rounds by iterative Bayesian update

Users without a frequent place take part in no method but ours, which is not told who has a
place to report: it invites everyone. In the clear form it learns the share of NULL as it goes; in the protected form
(`null_epsilon`, `grade_epsilon`) everyone reports a place with a grade, and who was never seen in the area is outside.

What a seed decides: which frequent place each user reports, in which order users come (hence their round), and every
draw. Every symbol is drawn by `draw.draw_many`, which draws from certified policies only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.campaign import Plan, RoundClosed, RoundOpened, State, advance, begin, next_policy, select
from crowdveil.campaign.selection import Reports
from crowdveil.certify import Certificate, certify
from crowdveil.draw import draw_many
from crowdveil.errors import InputError
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.baselines.remapping import remapped_cells
from crowdveil.policy.checks import check_epsilon
from crowdveil.policy.grades import chances_of_grades
from crowdveil.policy.policy import Policy
from crowdveil.prior import count_symbols, divergence, target_chances
from crowdveil.simulate.privic import run_privic
from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ROUNDS,
    DEFAULT_SHARE_WANTED,
    DEFAULT_THRESHOLDS,
    NULL,
    Algorithm,
)

Method = Literal[
    "none",
    "random",
    "laplace",
    "laplace-posterior",
    "algorithm-1",
    "algorithm-2",
    "crowdveil",
    "crowdveil-known",
    "crowdveil-clear",
    "laplace-remapped",
    "privic",
]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, eq=False)
class Crowd:
    """What a simulation knows about its users: the place that each would report, and what the campaign wants."""

    area: Area
    targets: tuple[int, ...]
    places: IntArray
    """The frequent place that each user would report, or NULL."""
    epsilon_per_km: float
    share_wanted: float = DEFAULT_SHARE_WANTED
    """α as a share of those who have a frequent place, as in the paper; applies only without `people_wanted`."""
    rounds: int = DEFAULT_ROUNDS
    confidence: float = DEFAULT_CONFIDENCE
    null_epsilon: float | None = None
    grade_epsilon: float | None = None
    """ε₀ and ε₁ of our methods; None for the clear form."""
    people_wanted: int | None = None
    """α."""
    graded_places: tuple[IntArray, IntArray] | None = None
    """What users report in the protected form, a cell or NULL, and its grade (`choose_graded_places`)."""
    thresholds: tuple[float, ...] = DEFAULT_THRESHOLDS
    """What divides the grades."""

    @property
    def grades(self) -> int:
        """How many grades there are; 1 stands for none."""
        return 1 if self.grade_epsilon is None else len(self.thresholds) + 1

    @property
    def graded(self) -> tuple[IntArray, IntArray]:
        """What users report in the protected form: a cell or NULL, and a grade."""
        if self.grade_epsilon is None or self.graded_places is None:
            return self.places, np.zeros(len(self.places), dtype=np.int64)
        return self.graded_places

    @property
    def reporters(self) -> IntArray:
        """Users with a place to report."""
        return np.flatnonzero(self.places != NULL)

    @property
    def wanted(self) -> int:
        """α."""
        if self.people_wanted is not None:
            return self.people_wanted
        return wanted_of(len(self.reporters), self.share_wanted)

    def prior(self) -> FloatArray:
        """The true π of reported places."""
        cells = self.places[self.reporters]
        return np.bincount(cells, minlength=len(self.area)) / len(cells)

    def graded_prior(self) -> tuple[FloatArray, float]:
        """The true π of what is reported in the protected form, joint if there are grades, and the share outside."""
        cells, grades = self.graded
        there = cells != NULL
        n, count = len(self.area), self.grades
        joint = np.bincount(grades[there] * n + cells[there], minlength=count * n) / there.sum()
        return (joint.reshape(count, n) if count > 1 else joint), 1 - float(there.mean())


@dataclass(frozen=True, eq=False)
class SimulatedCampaign:
    """Whom a method selected, and what it learnt about where people are."""

    selected: IntArray
    wanted: int
    divergence: tuple[float, ...] = ()
    """KL divergence of the estimate of π from the truth after each round, where a method estimates it."""
    reports: int = 0
    """How many sent a symbol or, without obfuscation, their place."""
    policies: int = 0
    """How many different policies were certified and drawn from."""
    campaign: tuple[State, Reports] | None = None
    """The finished campaign and what was sent in it, where the method runs one."""
    tables: tuple[Policy, ...] = ()
    """The policies of a method that runs no campaign of ours."""


def wanted_of(reporters: int, share: float = DEFAULT_SHARE_WANTED) -> int:
    """α for so many reporters, at least one."""
    return max(1, round(share * reporters))


def check_terms(epsilon_per_km: float, share: float, rounds: int, confidence: float) -> None:
    """Refuse settings that no campaign can have, before any work is done."""
    check_epsilon(epsilon_per_km)
    if not 0 < share <= 1:
        raise InputError("share", share, "should be above 0 and at most 1: only who reports is selected")
    if rounds < 1:
        raise InputError("rounds", rounds, "should be at least 1")
    if not 0 < confidence < 1:
        raise InputError("confidence", confidence, "should lie strictly between 0 and 1")


def check_methods(methods: Sequence[str], known: Sequence[str]) -> None:
    """Refuse none, unknown ones, and the same twice."""
    if not methods:
        raise InputError("methods", [], f"name one or more of {', '.join(known)}")
    for number, method in enumerate(methods):
        if method not in known:
            raise InputError("methods", method, f"should be some of {', '.join(known)}")
        if method in methods[:number]:
            raise InputError("methods", method, "is named twice")


def simulate(crowd: Crowd, method: Method, seed: int) -> SimulatedCampaign:
    """Run one method once."""
    if len(crowd.reporters) == 0:
        raise InputError("places", "all NULL", "nobody has a frequent place; lower δ or take a longer training period")
    if method not in METHODS:
        raise InputError("method", method, f"should be one of {', '.join(METHODS)}")
    # Two streams: the order of users is the same for every method, the draws are the method's own.
    order = arrivals(len(crowd.places), seed)
    draws = np.random.default_rng([seed, 1 + METHODS.index(method)])
    return _RUN[method](_Turn(crowd, order, draws, seed))


def arrivals(users: int, seed: int) -> IntArray:
    """Return the order in which users come under a seed, whatever the method."""
    return np.random.default_rng([seed, 0]).permutation(users)


def coverage_of(selected: IntArray, share: FloatArray, wanted: int | None = None) -> float:
    """Return the coverage: the mean, over the selected, of their share of test periods at a target.

    With the number `wanted`, the mean is over so many people, and those who are missing count 0.
    """
    people = len(selected) if wanted is None else wanted
    return float(share[selected].sum()) / people if people else 0.0


# --- the methods ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Turn:
    """One method's turn: the crowd, the order its users come in, and the method's own randomness."""

    crowd: Crowd
    order: IntArray
    draws: np.random.Generator
    seed: int

    @property
    def reporters(self) -> IntArray:
        """In their order."""
        there: IntArray = self.order[self.crowd.places[self.order] != NULL]
        return there

    def take(self, users: IntArray, **more: Any) -> SimulatedCampaign:
        """Select the first α of some users."""
        return SimulatedCampaign(users[: self.crowd.wanted], self.crowd.wanted, reports=len(self.reporters), **more)


def _none(turn: _Turn) -> SimulatedCampaign:
    cells, grades = turn.crowd.graded
    at_target = turn.order[np.isin(cells[turn.order], turn.crowd.targets)]
    return turn.take(at_target[np.argsort(grades[at_target], kind="stable")])


def _random(turn: _Turn) -> SimulatedCampaign:
    return turn.take(turn.order if turn.crowd.null_epsilon is not None else turn.reporters)


def _laplace(turn: _Turn) -> SimulatedCampaign:
    return _ranked_laplace(turn, -_to_nearest_target_km(turn.crowd))


def _laplace_remapped(turn: _Turn) -> SimulatedCampaign:
    crowd = turn.crowd
    policy, _ = laplace_policy(crowd.area, crowd.epsilon_per_km)
    return _ranked_laplace(turn, -_to_nearest_target_km(crowd)[remapped_cells(policy, crowd.prior())])


def _to_nearest_target_km(crowd: Crowd) -> FloatArray:
    distance_km: FloatArray = crowd.area.distances_km(np.arange(len(crowd.area)), np.array(crowd.targets)).min(axis=1)
    return distance_km


def _laplace_posterior(turn: _Turn) -> SimulatedCampaign:
    crowd = turn.crowd
    pi, (policy, _) = crowd.prior(), laplace_policy(crowd.area, crowd.epsilon_per_km)
    return _ranked_laplace(turn, target_chances(pi, policy, crowd.targets))


def _ranked_laplace(turn: _Turn, worth: FloatArray) -> SimulatedCampaign:
    """Select those whose reported cell is worth most; of equal ones, who came first."""
    policy, certificate = laplace_policy(turn.crowd.area, turn.crowd.epsilon_per_km)
    symbols = draw_many(policy, turn.crowd.places[turn.reporters], certificate, turn.draws)
    users = turn.reporters[np.argsort(-worth[symbols], kind="stable")]
    return turn.take(users, policies=1, tables=(policy,))


def _privic(turn: _Turn) -> SimulatedCampaign:
    """Users come in the same groups as in a campaign of ours; of equal chances, who came first is selected."""
    crowd, users = turn.crowd, turn.reporters
    groups = np.array_split(users, min(crowd.rounds, len(users)))
    run = run_privic(crowd.area, [crowd.places[group] for group in groups], crowd.epsilon_per_km, turn.draws)
    learnt = tuple(divergence(crowd.prior(), prior) for prior in run.priors)
    best_first = np.argsort(-run.chances(crowd.targets), kind="stable")
    return turn.take(users[best_first], divergence=learnt, policies=len(run.policies), tables=run.policies)


def _campaign(
    algorithm: Algorithm, *, known: bool, everyone: bool, clear: bool = True
) -> Callable[[_Turn], SimulatedCampaign]:
    def run(turn: _Turn) -> SimulatedCampaign:
        crowd = turn.crowd if not clear else replace(turn.crowd, null_epsilon=None, grade_epsilon=None)
        protected = crowd.null_epsilon is not None
        users = turn.order if everyone or protected else turn.reporters
        prior, outside = crowd.graded_prior() if protected else (crowd.prior(), None)
        plan = Plan(
            area=crowd.area,
            targets=crowd.targets,
            epsilon_per_km=crowd.epsilon_per_km,
            users=len(users),
            wanted=min(crowd.wanted, len(users)),
            rounds=1 if known else min(crowd.rounds, len(users)),
            confidence=crowd.confidence,
            algorithm=algorithm,
            start=prior if known else None,
            start_trust=1.0,
            start_null_share=outside if known else None,
            seed=str(turn.seed),
            null_epsilon=crowd.null_epsilon,
            grade_epsilon=crowd.grade_epsilon,
            grade_chances=chances_of_grades(crowd.thresholds),
        )
        cells, grades = crowd.graded if protected else (crowd.places, None)
        state, reports, learnt = run_rounds(plan, users, cells, turn.draws, prior, grades)
        chosen = select(state, reports)
        played = (state, reports)
        return SimulatedCampaign(chosen.participants, crowd.wanted, learnt, len(reports), len(state.closed), played)

    return run


def run_rounds(
    plan: Plan,
    users: IntArray,
    places: IntArray,
    draws: np.random.Generator,
    true: FloatArray | None = None,
    grades: IntArray | None = None,
) -> tuple[State, Reports, tuple[float, ...]]:
    """Run all rounds with users in the order given; `grades` has one for each place (default: all regular).

    Returns the finished state, what was sent, and, if the true π is given, the KL divergence after each round.
    """
    state = begin(plan)
    rows: list[tuple[IntArray, IntArray]] = []
    learnt: list[float] = []
    borders = np.cumsum(plan.round_users())[:-1]
    for group in np.split(users, borders):
        policy, certificate = _next(state)
        state = advance(state, RoundOpened(policy))
        # Where NULL is protected, who is outside sends a symbol like anyone.
        there = group[places[group] != NULL] if plan.null_epsilon is None else group
        symbols = draw_many(policy, places[there], certificate, draws, None if grades is None else grades[there])
        rows.append((there, symbols))
        state = advance(state, RoundClosed(count_symbols(policy, symbols, len(group) - len(there))))
        if true is not None:
            learnt.append(divergence(true.ravel(), state.prior.ravel()))
    rounds = np.repeat(np.arange(len(rows)), [len(who) for who, _ in rows])
    reports = Reports(np.concatenate([who for who, _ in rows]), rounds, np.concatenate([what for _, what in rows]))
    return state, reports, tuple(learnt)


_RUN: dict[Method, Callable[[_Turn], SimulatedCampaign]] = {
    "none": _none,
    "random": _random,
    "laplace": _laplace,
    "laplace-posterior": _laplace_posterior,
    "algorithm-1": _campaign("algorithm-2", known=True, everyone=False),
    "algorithm-2": _campaign("algorithm-2", known=False, everyone=False),
    "crowdveil": _campaign("crowdveil", known=False, everyone=True, clear=False),
    "crowdveil-known": _campaign("crowdveil", known=True, everyone=False, clear=False),
    "crowdveil-clear": _campaign("crowdveil", known=False, everyone=True),
    "laplace-remapped": _laplace_remapped,
    "privic": _privic,
}


def _next(state: State) -> tuple[Policy, Certificate]:
    """Make and certify the next policy; the first round's is the same for every seed, so it is cached."""
    if state.closed or state.plan.start is not None:
        policy = next_policy(state)
        return policy, certify(policy)
    plan = state.plan
    return _first_policy(
        plan.area,
        plan.targets,
        plan.epsilon_per_km,
        plan.users,
        plan.wanted,
        plan.rounds,
        plan.confidence,
        plan.algorithm,
        plan.null_epsilon,
        plan.grade_epsilon,
        plan.grade_chances,
        plan.numbers,
        plan.panel,
    )


@lru_cache(maxsize=64)
def _first_policy(*settings: Any) -> tuple[Policy, Certificate]:
    *campaign, null_epsilon, grade_epsilon, grade_chances, numbers, panel = settings
    more = {"null_epsilon": null_epsilon, "grade_epsilon": grade_epsilon, "grade_chances": grade_chances}
    plan = Plan(*campaign, **more | {"numbers": numbers, "panel": panel})
    policy = next_policy(begin(plan))
    return policy, certify(policy)


@lru_cache(maxsize=16)
def laplace_policy(area: Area, epsilon_per_km: float) -> tuple[Policy, Certificate]:
    """Its symbols are cells and depend on no target, but a policy has to name one: cell 0."""
    policy = planar_laplace(area, None, [0], epsilon_per_km)
    return policy, certify(policy)


PLACES_STREAM = 1_000
"""Sets the generator that picks places apart from those of order and draws."""
