"""Define a campaign as pure state transitions, (state, event) → state: no I/O, no clock, no randomness.

A campaign has k rounds. In each, some of the N users get the round's policy and send one symbol each, or NULL; the
server then keeps counts per symbol (`Round`) to learn from. Simulator, server and tests run the same code:

    state = begin(plan)
    repeat until state.finished:
        policy = next_policy(state)                      (the slow step, in `next_policy`; follows from the state alone)
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
- *adaptive quota* without a margin (`quota`)
- *selection by posterior*, for any target or with a number of people for each (`selection`)

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
from typing import NamedTuple, TypeAlias

import numpy as np

from crowdveil.arrays import FloatArray, IntArray, as_cells, frozen
from crowdveil.campaign.groups import groups_of
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.request import SelectionRequest
from crowdveil.campaign.selection import (
    Reports,
    Selection,
    lottery_number,
    nobody,
    select_by_posterior,
    select_for_each_target,
    select_latest_first,
    with_history,
)
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_prior, check_targets
from crowdveil.policy.policy import Policy
from crowdveil.prior import START_NULL_SHARE, Round, pooled_estimate, round_update, round_update_with_null


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
    contradicted: bool = False
    """Whether the reports are far more probable if half of the plan's start is spread evenly, which is then done."""

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

    @property
    def used_rounds(self) -> tuple[int, ...]:
        """The closed rounds whose reports a selection uses: all, or of a panel the last in which anyone reported."""
        if not self.plan.panel:
            return tuple(range(len(self.closed)))
        return panel_rounds_in_use([one.reports + one.nulls for one in self.closed])


def panel_rounds_in_use(answers: Sequence[int]) -> tuple[int, ...]:
    """Return the closed rounds of a panel whose answers its selections use: the last in which anyone answered.

    `answers` says how many answered in each. People who renewed are among the earlier answers too, and nobody can tell
    which these are: with both, they would be chosen twice as often as those who did not renew.
    """
    return tuple([number for number, count in enumerate(answers) if count][-1:])


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
    prior = frozen(check_prior(plan.opening, len(plan.area), plan.grades))
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
    learnt = _learn(state, closed)
    return replace(
        state,
        prior=frozen(learnt.prior),
        null_share=learnt.null_share,
        contradicted=learnt.contradicted,
        closed=closed,
        open_policy=None,
    )


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


def select(
    state: State, reports: Reports, request: SelectionRequest | None = None, *, early: bool = False
) -> Selection:
    """Select the users of a finished campaign, or of one that is ended `early`, after at least one round.

    `request` is what is asked of a panel, after at least one round (default: what the plan asks for); `reports` say how
    often each participant was chosen before, if they were.
    """
    if not state.finished and not ((early or state.plan.panel) and state.closed):
        raise InputError("state", f"{len(state.closed)} of {state.plan.rounds} rounds closed", "should all be closed")
    return _select(state, reports, request, None)


def _select(state: State, reports: Reports, request: SelectionRequest | None, seed: str | None) -> Selection:
    plan, rounds = state.plan, len(state.closed)
    request = plan.request if request is None else request
    check_places(plan, request)
    sent = np.bincount(as_cells("round", reports.round, rounds), minlength=rounds)
    for number, (one, rows) in enumerate(zip(state.closed, sent.tolist(), strict=True)):
        if one.reports != rows:
            raise InputError(f"reports of round {number}", rows, f"the round was closed with {one.reports}")
    groups = groups_of(state.policies, state.prior, request.targets, state.null_share, plan.grade_chances)
    used = np.isin(reports.round, state.used_rounds)
    if request.at_most is not None and reports.chosen_before is not None:
        used &= reports.chosen_before < request.at_most
    if not used.all():
        reports = reports.in_order(np.flatnonzero(used))
    if plan.algorithm == "algorithm-2":
        return select_latest_first(reports, groups, request.wanted)
    lottery = plan.seed if seed is None else seed
    if request.numbers is None:
        return select_by_posterior(reports, groups, request.wanted, lottery)
    return select_for_each_target(reports, groups, request.numbers, lottery)


def check_places(plan: Plan, request: SelectionRequest) -> None:
    """Refuse targets that are no cells of the area, and those that are not among a panel's places unless asked for."""
    check_targets(request.targets, len(plan.area), all_cells=plan.panel)
    if plan.panel and not request.other_cells:
        for position, target in enumerate(request.targets):
            if target in plan.targets:
                continue
            expected = (
                f"should be one of the {len(plan.targets):,} places of the panel; with other_cells, the people of the "
                "nearest places are selected, whose visits there are known less well"
            )
            named = "" if request.target_names is None else f" ({request.target_names[position]})"
            raise InputError("targets", f"cell {target}{named}", expected)


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
    for name in ("null_epsilon", "grade_epsilon", "grades"):
        if getattr(policy, name) != getattr(plan, name):
            raise InputError(f"policy.{name}", getattr(policy, name), f"should be the plan's, {getattr(plan, name)}")


class _Learnt(NamedTuple):
    prior: FloatArray
    null_share: float
    contradicted: bool = False


def _learn(state: State, closed: tuple[Round, ...]) -> _Learnt:
    """Estimate π and, where NULL is protected, the share of senders without a place."""
    if state.plan.algorithm == "crowdveil":
        found = pooled_estimate(closed, state.plan.opening)
        return _Learnt(found.prior, found.null_share, found.contradicted)
    if state.plan.null_epsilon is None:
        return _Learnt(round_update(state.prior, closed[-1]), 0.0)
    return _Learnt(*round_update_with_null(state.prior, state.null_share, closed[-1]))


def select_from_panel(
    state: State,
    reports: Reports,
    request: SelectionRequest,
    *,
    seed: str,
    made: int,
    earlier: Sequence[tuple[int, IntArray]] = (),
) -> Selection:
    """Select from a panel's reports at a time, in seconds, after earlier selections, each with its time and people."""
    if not state.closed:
        expected = "should have a closed round; the answers of an open round are used once it is closed"
        raise InputError("state", "no round closed", expected)
    since = None if request.within_s is None else made - request.within_s
    return _select(state, with_history(reports, earlier, since), request, seed)


def select_so_far(state: State, reports: Reports) -> Selection:
    """Select after the rounds that are closed, independently of the order in which people reported.

    Algorithm 2 takes reports in their order; here this is the order of the lottery.
    """
    if not state.closed:
        return nobody(state.plan.request.wanted_at)
    if state.plan.algorithm == "algorithm-2":
        order = np.array(
            sorted(range(len(reports)), key=lambda row: lottery_number(state.plan.seed, reports.ticket_of(row))),
            dtype=np.int64,
        )
        reports = reports.in_order(order)
    return _select(state, reports, None, None)
