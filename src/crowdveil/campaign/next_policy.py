"""Make the policy of the next round, optimal for the current estimate of where people are.

For any target it is the optimum of `optimal_policy` at the round's quota. Where each target has a number of people
there are several policies, and the best one is taken:

    per target    a symbol for each target at its quota (`quotas`), and what privacy is left for the others
                  (`policy_per_target`); with quotas that suffice on average, or with a margin
    panel         a symbol for every cell, all alike (`panel_policy`). Its symbols may say a little less about the
                  targets, but those who send another one still say which part of the area they come from. In a small
                  crowd, of which a large part is selected, many are chosen by such symbols.

**Unsaturated, a margin costs nothing.** While few of a crowd are wanted, each symbol of the policy per target reaches
Lemma 2's bound, the highest chance of being at its target that any private symbol can have, whatever its quota. So the
quotas are raised until nearly always as many send each symbol as are wanted; all who are selected then have the highest
chance there is, and no private policy is better. This is taken without looking further.

**Saturated**, larger quotas lower the chances, and smaller ones leave people to be filled up. So the rule is to look:
under the current estimate, the people expected at the targets are forecast (`forecast`) as if everyone who is still to
come reported under one policy, or another; the highest number decides, and of equals the one named first. If the quotas
that suffice on average are saturated already, a margin is not tried. The rule follows from the counts alone, so that an
audit repeats it. The panel is left out for areas of more than `MAX_PANEL_CELLS` cells, where it would be too large for
phones.
"""

from __future__ import annotations

from functools import lru_cache

from crowdveil.area import Area
from crowdveil.campaign.forecast import forecast
from crowdveil.campaign.quota import quota, quotas
from crowdveil.campaign.state import RoundOpened, State, advance
from crowdveil.policy.policy import Policy
from crowdveil.policy.solver.completion import MAX_COMPLETION_CELLS
from crowdveil.policy.solver.optimal import CompletionKind, optimal_policy
from crowdveil.policy.solver.stack import panel_policy, policy_per_target

MAX_PANEL_CELLS = 500
"""The largest area for which a panel over all cells is considered."""
AMPLE, SOME = 0.99, 0.8
"""Margins: the probability that as many send the symbol of a target as are wanted there."""


def next_policy(state: State) -> Policy:
    """Make the policy of the next round; it follows from the state alone."""
    plan = state.plan
    if plan.panel:
        losses = (plan.epsilon_per_km, plan.null_epsilon, plan.grade_epsilon)
        return _panel(plan.area, plan.targets, *losses, plan.grades, plan.targets)
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
    """Make the best policy for a plan with a number for each target."""
    enough = _per_target(state, quotas(state), "equal")
    if _is_unsaturated(enough):
        ample = _per_target(state, quotas(state, AMPLE), completion)
        if _is_unsaturated(ample):
            return ample
        candidates = [ample, _per_target(state, quotas(state, SOME), completion)]
    else:
        candidates = []
    candidates.append(enough if completion == "equal" else _per_target(state, quotas(state), completion))
    plan = state.plan
    if len(plan.area) <= MAX_PANEL_CELLS:
        losses = (plan.epsilon_per_km, plan.null_epsilon, plan.grade_epsilon)
        candidates.append(_panel(plan.area, plan.targets, *losses, plan.grades))
    return max(candidates, key=lambda policy: forecast(advance(state, RoundOpened(policy))).visitors.people)


def _is_unsaturated(policy: Policy) -> bool:
    return policy.provenance["regime"] == "unsaturated"


def _per_target(state: State, betas: tuple[float, ...], completion: CompletionKind) -> Policy:
    plan = state.plan
    return policy_per_target(
        plan.area,
        state.prior,
        plan.targets,
        epsilon_per_km=plan.epsilon_per_km,
        betas=betas,
        completion=completion,
        null_epsilon=plan.null_epsilon,
        null_share=state.null_share,
        grade_epsilon=plan.grade_epsilon,
        grade_chances=plan.grade_chances,
    )


@lru_cache(maxsize=16)
def _panel(
    area: Area,
    targets: tuple[int, ...],
    epsilon_per_km: float,
    null_epsilon: float | None,
    grade_epsilon: float | None,
    grades: int,
    places: tuple[int, ...] | None = None,
) -> Policy:
    """Make the panel over some places (default: all cells), in which the symbols of the targets select.

    It is the same in every round, because nothing in it depends on where people are.
    """
    return panel_policy(
        area,
        places,
        epsilon_per_km=epsilon_per_km,
        targets=targets,
        null_epsilon=null_epsilon,
        grade_epsilon=grade_epsilon,
        grades=grades,
    )
