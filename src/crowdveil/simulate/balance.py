"""Simulate selections with a number of people for each target, and count who really comes where.

    none                everyone names their place; those at a target are selected for it, who promise most first, never
                        more than wanted there (no privacy)
    by-profile          everyone's whole profile is known, and the people who promise most are assigned (no privacy)
    any                 ours for any target: as many people as for all targets together, by posterior
    each                ours with a number for each target (`campaign.next_policy`)
    each-panel          the same numbers, with a panel over all cells in place of that policy
    laplace-posterior   planar Laplace; selected for each target by the chance that the true place is that target
    any-learnt          `any` with π unknown, learnt in k rounds
    each-learnt         `each` with π unknown, learnt in k rounds

All but the last two know the true π. In the protected form (`null_epsilon`, `grade_epsilon` of the crowd) all of ours
protect grades and being outside too; `none`, `by-profile` and Laplace stay as they are.

**What is counted.** The visitors of a target are all who were selected, whichever target they were selected for, each
with the share of test periods in which they were really there. A target *gets its number* if at least as many of them
were there in some test period as were wanted. Which target has the fewest is asked among those that somebody would
report; at others nobody can be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.campaign import Plan, State, begin, next_policy, select
from crowdveil.campaign.assignment import assign
from crowdveil.campaign.groups import groups_of
from crowdveil.campaign.selection import Reports, Selection, select_by_posterior, select_for_each_target
from crowdveil.certify import certify
from crowdveil.draw import draw_many
from crowdveil.errors import InputError
from crowdveil.policy.grades import chances_of_grades
from crowdveil.policy.policy import Policy
from crowdveil.policy.solver.stack import panel_policy
from crowdveil.profile import Profile
from crowdveil.simulate.simulation import Crowd, arrivals, laplace_policy, run_rounds
from crowdveil.vocabulary import NULL

BalanceMethod = Literal[
    "none",
    "by-profile",
    "any",
    "each",
    "each-panel",
    "laplace-posterior",
    "any-learnt",
    "each-learnt",
]
BALANCE_METHODS: tuple[BalanceMethod, ...] = get_args(BalanceMethod)
PROMISE_UNIT = 1_000_000
"""Promises are compared to a millionth, like chances."""


@dataclass(frozen=True, eq=False)
class CoveredTargets:
    """Whom a method selected, and for which target."""

    selected: IntArray
    targets: IntArray
    """The target that each is selected for, as its position among the crowd's targets."""
    chances: FloatArray
    """How likely each is to be at that target, as far as the organiser knows."""
    policies: tuple[Policy, ...] = ()
    """What was drawn from."""


@dataclass(frozen=True)
class Balance:
    """How many people came, in a test period: in all, and how evenly."""

    visitors: float
    """At all targets; who was at two of them counts twice."""
    where_selected: float
    """Of these, visits to the very target that the person was selected for."""
    median: float
    """At the median target."""
    least: float
    """At the target with the fewest, of those that somebody would report."""
    least_where_selected: float
    """The same, counting only those who were selected for the target."""
    supplied: float
    """The share of targets that get their number."""


def promised_at(profile: Profile, targets: tuple[int, ...]) -> FloatArray:
    """Return each person's probability of coming to each target, shape (users, targets)."""
    return profile.at(np.arange(profile.users)[:, None], np.array(targets)[None, :])


def cover_targets(
    crowd: Crowd, numbers: tuple[int, ...], promised: FloatArray, method: BalanceMethod, seed: int
) -> CoveredTargets:
    """Run one method once; `numbers` are the people wanted at each target, `promised` what profiles say of them."""
    return next(cover_targets_again(crowd, numbers, promised, method, (seed,)))


def cover_targets_again(
    crowd: Crowd, numbers: tuple[int, ...], promised: FloatArray, method: BalanceMethod, seeds: Iterable[int]
) -> Iterator[CoveredTargets]:
    """Run one method once for every seed: people draw anew, from the same policy if π is known to the method."""
    if len(crowd.reporters) == 0:
        raise InputError("places", "all NULL", "nobody has a frequent place; lower δ or take a longer training period")
    if len(numbers) != len(crowd.targets):
        raise InputError(
            "numbers", f"{len(numbers)} numbers", f"should be one for each of {len(crowd.targets)} targets"
        )
    if method not in BALANCE_METHODS:
        raise InputError("method", method, f"should be one of {', '.join(BALANCE_METHODS)}")
    made: list[Policy] = []
    for seed in seeds:
        # Two streams, as in `simulate`: the order of users is the same for all methods, the draws are a method's own.
        draws = np.random.default_rng([seed, 1 + BALANCE_METHODS.index(method)])
        yield _RUN[method](_Task(crowd, numbers, promised, arrivals(len(crowd.places), seed), draws, seed, made))


def balance_of(found: CoveredTargets, share: FloatArray, crowd: Crowd, numbers: tuple[int, ...]) -> Balance:
    """Count visitors; `share` is the share of test periods that each user was at each target, (users, targets)."""
    there = share[found.selected]
    visitors = there.sum(axis=0)
    own = np.bincount(found.targets, there[np.arange(len(there)), found.targets], minlength=len(numbers))
    reported = np.isin(crowd.targets, crowd.places)
    asked = reported if reported.any() else ~reported
    return Balance(
        visitors=float(visitors.sum()),
        where_selected=float(own.sum()),
        median=float(np.median(visitors)),
        least=float(visitors[asked].min()),
        least_where_selected=float(own[asked].min()),
        supplied=float(((there > 0).sum(axis=0) >= np.array(numbers)).mean()),
    )


# --- the methods ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Task:
    """What one method is given."""

    crowd: Crowd
    numbers: tuple[int, ...]
    promised: FloatArray
    order: IntArray
    draws: np.random.Generator
    seed: int
    made: list[Policy]
    """The policy of a method that knows π, once it is made: it does not depend on the seed."""

    @property
    def protected(self) -> bool:
        return self.crowd.null_epsilon is not None

    @property
    def reporters(self) -> IntArray:
        """Who sends a symbol, in their order."""
        return self.order if self.protected else self.order[self.crowd.places[self.order] != NULL]

    def plan(self, users: int, *, each: bool, known: bool) -> Plan:
        crowd = self.crowd
        prior, outside = crowd.graded_prior() if self.protected else (crowd.prior(), None)
        return Plan(
            area=crowd.area,
            targets=crowd.targets,
            epsilon_per_km=crowd.epsilon_per_km,
            users=users,
            wanted=0 if each else sum(self.numbers),
            numbers=self.numbers if each else None,
            rounds=1 if known else min(crowd.rounds, users),
            start=prior if known else None,
            start_trust=1.0,
            start_null_share=outside if known else None,
            seed=str(self.seed),
            null_epsilon=crowd.null_epsilon,
            grade_epsilon=crowd.grade_epsilon,
            grade_chances=chances_of_grades(crowd.thresholds),
        )


def _none(task: _Task) -> CoveredTargets:
    at_place = task.crowd.places[:, None] == np.array(task.crowd.targets)
    return _assigned(task, np.where(at_place, task.promised, 0.0))


def _by_profile(task: _Task) -> CoveredTargets:
    return _assigned(task, task.promised)


def _assigned(task: _Task, promised: FloatArray) -> CoveredTargets:
    """Select whoever promises most where; of equals who came first, and nobody who promises nothing."""
    worth = np.rint(PROMISE_UNIT * promised[task.order]).astype(np.int64)
    sent = assign(np.ones(len(worth), dtype=np.int64), worth, np.array(task.numbers)) * (worth > 0)
    rows, targets = np.nonzero(sent)
    users = task.order[rows]
    return CoveredTargets(users, targets, promised[users, targets])


def _known(make: Callable[[State], Policy], *, each: bool) -> Callable[[_Task], CoveredTargets]:
    def run(task: _Task) -> CoveredTargets:
        plan = task.plan(len(task.reporters), each=each, known=True)
        if not task.made:
            task.made.append(make(begin(plan)))
        return _from_policy(task, plan, task.made[0])

    return run


def _laplace_posterior(task: _Task) -> CoveredTargets:
    crowd = replace(task.crowd, null_epsilon=None, grade_epsilon=None)
    clear = replace(task, crowd=crowd)
    policy, _ = laplace_policy(crowd.area, crowd.epsilon_per_km)
    return _from_policy(clear, clear.plan(len(clear.reporters), each=True, known=True), policy)


def _from_policy(task: _Task, plan: Plan, policy: Policy) -> CoveredTargets:
    """Let everyone draw from one policy, and select with the true π."""
    crowd, users = task.crowd, task.reporters
    cells, grades = crowd.graded if task.protected else (crowd.places, np.zeros(len(crowd.places), dtype=np.int64))
    symbols = draw_many(policy, cells[users], certify(policy), task.draws, grades[users])
    reports = Reports(users, np.zeros(len(users), dtype=np.int64), symbols)
    outside = plan.start_null_share or 0.0
    groups = groups_of([policy], plan.start, plan.targets, outside, plan.grade_chances)
    if plan.numbers is None:
        return _covered(select_by_posterior(reports, groups, plan.wanted, plan.seed), (policy,))
    return _covered(select_for_each_target(reports, groups, plan.numbers, plan.seed), (policy,))


def _learnt(*, each: bool) -> Callable[[_Task], CoveredTargets]:
    def run(task: _Task) -> CoveredTargets:
        crowd = task.crowd
        plan = task.plan(len(task.order), each=each, known=False)
        cells, grades = crowd.graded if task.protected else (crowd.places, None)
        state, reports, _ = run_rounds(plan, task.order, cells, task.draws, grades=grades)
        return _covered(select(state, reports), tuple(state.policies))

    return run


def _covered(selection: Selection, policies: tuple[Policy, ...]) -> CoveredTargets:
    return CoveredTargets(selection.participants, selection.targets, selection.chances, policies)


def _panel(state: State) -> Policy:
    plan = state.plan
    return panel_policy(
        plan.area,
        epsilon_per_km=plan.epsilon_per_km,
        targets=plan.targets,
        null_epsilon=plan.null_epsilon,
        grade_epsilon=plan.grade_epsilon,
        grades=plan.grades,
    )


_RUN: dict[BalanceMethod, Callable[[_Task], CoveredTargets]] = {
    "none": _none,
    "by-profile": _by_profile,
    "any": _known(next_policy, each=False),
    "each": _known(next_policy, each=True),
    "each-panel": _known(_panel, each=True),
    "laplace-posterior": _laplace_posterior,
    "any-learnt": _learnt(each=False),
    "each-learnt": _learnt(each=True),
}
