"""Make the policy of the next round, optimal for the current estimate of where people are.

For any target it is the optimum of `optimal_policy` at the round's quota. Where each target has a number of people it
has a symbol for each target at its quota, and what privacy is left for the others (`policy_per_target`).

**A margin where it costs nothing.** While few of a crowd are wanted, each symbol reaches Lemma 2's bound, the highest
chance of being at its target that any private symbol can have, whatever its quota. So the quotas are raised, by a large
or else by some margin, as long as targets do not compete: as many send each symbol as are wanted, nearly always, and
all who are selected have the highest chance there is.

**Where targets compete**, larger quotas lower the chances of all. Then the quotas suffice on average, and the policy is
the one with the highest mean chance. Panels over all cells, and quotas with a margin all the same, were measured beside
it (`benchmarks.each_target`): as many people come in all, and fewer to the target with the fewest.

The rule follows from the counts alone, so that an audit repeats it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from crowdveil.area import Area
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.quota import quota, quotas
from crowdveil.campaign.state import State
from crowdveil.policy.policy import Policy
from crowdveil.policy.solver.completion import MAX_COMPLETION_CELLS
from crowdveil.policy.solver.optimal import CompletionKind, optimal_policy
from crowdveil.policy.solver.stack import check_places_fit, panel_policy, policy_per_target, targets_compete

MARGINS = (0.99, 0.8)
"""The probability that as many send the symbol of a target as are wanted there; the first that costs nothing."""


def check_plan_size(plan: Plan) -> None:
    """Refuse a plan with more places than its policies can have symbols for; `next_policy` would."""
    if plan.panel or plan.numbers is not None:
        check_places_fit(len(plan.targets), len(plan.area), plan.grades, protected=plan.null_epsilon is not None)


def next_policy(state: State) -> Policy:
    """Make the policy of the next round; it follows from the state alone."""
    plan = state.plan
    if plan.panel:
        return _panel(plan.area, plan.targets, plan.epsilon_per_km, plan.null_epsilon, plan.grade_epsilon, plan.grades)
    small = plan.algorithm == "crowdveil" and len(plan.area) <= MAX_COMPLETION_CELLS
    completion: CompletionKind = "informative" if small else "equal"
    return optimal_for_round(state, completion) if plan.numbers is None else policy_for_each(state, completion)


def optimal_for_round(state: State, completion: CompletionKind) -> Policy:
    """Make the policy for any target that is optimal for the current estimate at the round's quota."""
    plan = state.plan
    return optimal_policy(
        plan.area,
        state.prior,
        plan.targets,
        epsilon_per_km=plan.epsilon_per_km,
        beta=quota(state),
        completion=completion,
        null_epsilon=plan.null_epsilon,
        null_share=state.null_share,
        grade_epsilon=plan.grade_epsilon,
        grade_chances=plan.grade_chances,
    )


def policy_for_each(state: State, completion: CompletionKind) -> Policy:
    """Make the policy for a plan with a number for each target, with the largest margin that costs nothing."""
    plan = state.plan
    people: dict[str, Any] = {
        "epsilon_per_km": plan.epsilon_per_km,
        "null_epsilon": plan.null_epsilon,
        "null_share": state.null_share,
        "grade_epsilon": plan.grade_epsilon,
        "grade_chances": plan.grade_chances,
    }
    for confidence in MARGINS:
        betas = quotas(state, confidence)
        if not targets_compete(plan.area, state.prior, plan.targets, betas=betas, **people):
            break
    else:
        betas = quotas(state)
    return policy_per_target(plan.area, state.prior, plan.targets, betas=betas, completion=completion, **people)


@lru_cache(maxsize=16)
def _panel(
    area: Area,
    places: tuple[int, ...],
    epsilon_per_km: float,
    null_epsilon: float | None,
    grade_epsilon: float | None,
    grades: int,
) -> Policy:
    """Make a panel; it is the same in every round, because nothing in it depends on where people are."""
    return panel_policy(
        area,
        places,
        epsilon_per_km=epsilon_per_km,
        targets=places,
        null_epsilon=null_epsilon,
        grade_epsilon=grade_epsilon,
        grades=grades,
    )
