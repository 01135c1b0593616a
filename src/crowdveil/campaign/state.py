"""Define a campaign as pure state transitions, (state, event) → state: no I/O, no clock, no randomness.

A campaign has k rounds. In each, some of the N users get the round's policy and send one symbol each, or NULL; the
server then keeps counts per symbol (`Round`) to learn from. Simulator, server and tests run the same code:

    state = begin(plan)
    repeat until state.finished:
        policy = next_policy(state)                      (the slow step; a function of the state alone)
        state = advance(state, RoundOpened(policy))
        ... the round's users report ...
        state = advance(state, RoundClosed(count_symbols(policy, symbols, nulls)))
    selection = select(state, reports)

There are two algorithms:

**algorithm-2**, exactly as printed: π starts uniform; every round's policy is optimal for π and the quota
β = least β with Pr(B(N, β) ≥ α) ≥ ρ; π becomes the mean of the round's posteriors; people are selected from the last
rounds first.

**crowdveil**, ours, at the same ε:

- *informative completion*: those who are not selected still tell something about where people are, within the same ε
- *pooled estimate* of π over all rounds, under the assumption that neighbouring cells have similar shares
  (`prior.pooled_estimate`)
- *adaptive quota* without a margin: with a people still wanted and m reports to come, a round aims at
  β = max(a/m, α/N), which is enough on average. Too few hits are no loss, because the senders of the next best symbols
  fill up; the margin ρ would lower the value of every policy (Theorem 2: the value never rises with β)
- *selection by posterior* (`selection`)

N and α are about users who report. The share of users who send NULL is not known beforehand: the first round assumes
that everyone reports (its quota may then be too small, which later rounds correct), later rounds use the share seen so
far.

**The protected form** (`Plan.null_epsilon`, `Plan.grade_epsilon`; the default): everyone sends a symbol, also
occasional visitors and users outside, nobody is counted as NULL, and their shares are estimated together with π, which
is joint over grades and cells. N is then everyone, and each policy's β counts the hits of all (`optimal_policy`'s
`null_share`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from crowdveil.arrays import FloatArray, as_cells, frozen
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.selection import Reports, Selection, lottery_number, select_by_posterior, select_latest_first
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_prior
from crowdveil.policy.policy import Policy
from crowdveil.policy.quota import minimum_beta
from crowdveil.policy.solver.completion import MAX_COMPLETION_CELLS
from crowdveil.policy.solver.optimal import CompletionKind, optimal_policy
from crowdveil.prior import START_NULL_SHARE, Round, pooled_estimate, round_update, round_update_with_null

MAX_BETA = 0.5
"""At most half of a round is selected: above that, being selected says less than not being selected."""


@dataclass(frozen=True, eq=False)
class State:
    """The state of a campaign between two events."""

    plan: Plan
    prior: FloatArray = field(repr=False)
    """The estimate of π after the closed rounds; with grades joint, of shape (grades, n)."""
    closed: tuple[Round, ...] = ()
    open_policy: Policy | None = None
    null_share: float = 0.0
    """The estimated share of senders outside, where NULL is protected; in the clear they send no symbol."""

    @property
    def cell_prior(self) -> FloatArray:
        """π of every cell, all grades added up."""
        return np.asarray(np.atleast_2d(self.prior).sum(axis=0))

    @property
    def grade_shares(self) -> FloatArray:
        """The estimated share of each grade among those inside."""
        return np.asarray(np.atleast_2d(self.prior).sum(axis=1))

    @property
    def finished(self) -> bool:
        """Whether every round is closed."""
        return len(self.closed) == self.plan.rounds

    @property
    def policies(self) -> list[Policy]:
        """The policies of the closed rounds, in order."""
        return [one.policy for one in self.closed]


@dataclass(frozen=True)
class RoundOpened:
    """A policy was published, and reports under it are accepted."""

    policy: Policy


@dataclass(frozen=True)
class RoundClosed:
    """No more reports are accepted in the open round; these are its counts."""

    round: Round


Event: TypeAlias = RoundOpened | RoundClosed


def begin(plan: Plan) -> State:
    """Return the state of a campaign before its first round."""
    prior = frozen(check_prior(plan.start, len(plan.area), plan.grades))
    share = START_NULL_SHARE if plan.start_null_share is None else plan.start_null_share
    return State(plan, prior, null_share=0.0 if plan.null_epsilon is None else share)


def advance(state: State, event: Event) -> State:
    """Return the state after an event; refuse an event that does not fit the state."""
    if isinstance(event, RoundOpened):
        _check_opening(state, event.policy)
        return replace(state, open_policy=event.policy)
    if state.open_policy is None:
        raise InputError("event", "RoundClosed", "no round is open")
    if event.round.policy != state.open_policy:
        expected = f"the open round's policy is {state.open_policy.hash[:12]}"
        raise InputError("round.policy", event.round.policy.hash[:12], expected)
    closed = (*state.closed, event.round)
    prior, null_share = _learn(state, closed)
    return replace(state, prior=frozen(prior), null_share=null_share, closed=closed, open_policy=None)


def resume(plan: Plan, closed: Sequence[Round]) -> State:
    """Return the state after these rounds, like `advance` round by round, but estimating only what is needed."""
    state = begin(plan)
    if (
        plan.algorithm == "crowdveil" and closed
    ):  # estimates from all rounds at once, so that only the last step matters
        state = replace(state, closed=tuple(closed[:-1]))
        closed = closed[-1:]
    for one in closed:
        state = advance(advance(state, RoundOpened(one.policy)), RoundClosed(one))
    return state


def next_policy(state: State) -> Policy:
    """Make the policy of the next round: optimal for the current estimate of π, at the round's quota."""
    plan = state.plan
    beta = quota(state)
    if plan.algorithm == "algorithm-2":
        return optimal_for_round(state, beta, "equal")
    completion: CompletionKind = "informative" if len(plan.area) <= MAX_COMPLETION_CELLS else "equal"
    return optimal_for_round(state, beta, completion)


def quota(state: State) -> float:
    """Compute β of the next round: the share of its reports that should select."""
    plan = state.plan
    share = reporting_share(state) if plan.null_epsilon is None else 1.0
    reporters = max(1, round(share * plan.users))
    if plan.algorithm == "algorithm-2":
        return minimum_beta(users=reporters, wanted=min(plan.wanted, reporters), confidence=plan.confidence)
    seen = sum(one.reports + one.nulls for one in state.closed)
    to_come = max(1, round(share * (plan.users - seen)))
    missing = plan.wanted - sum(one.hits for one in state.closed)
    return min(MAX_BETA, max(missing / to_come, plan.wanted / reporters))


def reporting_share(state: State) -> float:
    """Return the share of users with a place to report, as seen in the closed rounds; 1 before the first.

    In the protected form the share cannot be seen, and is estimated: 1 - ν.
    """
    if state.plan.null_epsilon is not None:
        return 1 - state.null_share
    reports = sum(one.reports for one in state.closed)
    nulls = sum(one.nulls for one in state.closed)
    return reports / (reports + nulls) if reports + nulls else 1.0


def select(state: State, reports: Reports, *, early: bool = False) -> Selection:
    """Select the users of a finished campaign, or of one that is ended `early`, after at least one round."""
    rounds = len(state.closed) if early else state.plan.rounds
    if not state.finished and not (early and rounds):
        raise InputError("state", f"{len(state.closed)} of {state.plan.rounds} rounds closed", "should all be closed")
    sent = np.bincount(as_cells("round", reports.round, rounds), minlength=rounds)
    for number, (one, rows) in enumerate(zip(state.closed, sent.tolist(), strict=True)):
        if one.reports != rows:
            raise InputError(f"reports of round {number}", rows, f"the round was closed with {one.reports}")
    if state.plan.algorithm == "algorithm-2":
        return select_latest_first(reports, state.policies, state.plan.wanted)
    return select_by_posterior(
        reports,
        state.policies,
        state.prior,
        state.plan.wanted,
        state.plan.seed,
        state.null_share,
        state.plan.grade_chances,
    )


def _check_opening(state: State, policy: Policy) -> None:
    plan = state.plan
    if state.open_policy is not None:
        raise InputError("event", "RoundOpened", f"round {len(state.closed)} is still open")
    if state.finished:
        raise InputError("event", "RoundOpened", f"all {plan.rounds} rounds are closed")
    if policy.area != plan.area or policy.targets != plan.targets:
        raise InputError("policy", policy.hash[:12], "should be for the area and the targets of the plan")
    if policy.epsilon_per_km > plan.epsilon_per_km:
        what = f"should be at most the plan's {plan.epsilon_per_km:.12g}"
        raise InputError("policy.epsilon_per_km", policy.epsilon_per_km, what)
    for name in ("null_epsilon", "grade_epsilon"):
        if getattr(policy, name) != getattr(plan, name):
            raise InputError(f"policy.{name}", getattr(policy, name), f"should be the plan's, {getattr(plan, name)}")


def optimal_for_round(state: State, beta: float, completion: CompletionKind) -> Policy:
    """Make the policy that is optimal for the current estimate at the share β."""
    plan = state.plan
    return optimal_policy(
        plan.area,
        state.prior,
        plan.targets,
        epsilon_per_km=plan.epsilon_per_km,
        beta=beta,
        completion=completion,
        null_epsilon=plan.null_epsilon,
        null_share=state.null_share,
        grade_epsilon=plan.grade_epsilon,
        grade_chances=plan.grade_chances,
    )


def _learn(state: State, closed: tuple[Round, ...]) -> tuple[FloatArray, float]:
    """Estimate π and, where NULL is protected, the share of senders without a place."""
    if state.plan.algorithm == "crowdveil":
        found = pooled_estimate(closed, state.plan.start)
        return found.prior, found.null_share
    if state.plan.null_epsilon is None:
        return round_update(state.prior, closed[-1]), 0.0
    return round_update_with_null(state.prior, state.null_share, closed[-1])


def select_so_far(state: State, reports: Reports) -> Selection:
    """Select after the rounds that are closed, independently of the order in which people reported.

    Algorithm 2 takes reports in their order; here this is the order of the lottery.
    """
    if not state.closed:
        return Selection(np.zeros(0, dtype=np.int64), np.zeros(0), 0, state.plan.wanted)
    if state.plan.algorithm == "algorithm-2":
        order = np.array(
            sorted(range(len(reports)), key=lambda row: lottery_number(state.plan.seed, reports.ticket_of(row))),
            dtype=np.int64,
        )
        reports = reports.in_order(order)
    return select(state, reports, early=True)
