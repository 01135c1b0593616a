"""Say what a plan promises before it starts, beside what it would promise with other numbers of people."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crowdveil.campaign.forecast import Forecast, forecast
from crowdveil.campaign.next_policy import next_policy, optimal_for_round, policy_for_each
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.state import RoundOpened, State, advance, begin
from crowdveil.policy.policy import Policy
from crowdveil.vocabulary import Cover


@dataclass(frozen=True)
class CoverForecast:
    """What to expect if any target is to be covered, each with the same number of people, or each with its own."""

    cover: Cover
    numbers: tuple[int, ...] | None
    """How many people are wanted at each target; None for any target."""
    forecast: Forecast


def preview_state(plan: Plan) -> State:
    """Open the first round of a plan, under the policy of `preview_policy`."""
    return advance(begin(plan), RoundOpened(preview_policy(plan)))


def preview_policy(plan: Plan) -> Policy:
    """Make the policy of a plan's first round.

    This is without the completion, which changes neither whom the selecting symbols select nor their value.
    """
    state = begin(plan)
    if plan.panel:
        return next_policy(state)
    return optimal_for_round(state, "equal") if plan.numbers is None else policy_for_each(state, "equal")


def other_covers(plan: Plan) -> tuple[Plan, ...]:
    """Return the plans to compare: people at any target, the same number at each, and the plan's own numbers.

    As many people are wanted in all as by the plan, up to rounding to whole people at each target. Algorithm 2 knows
    only people at any target, and a crowd of fewer people than targets cannot cover each.
    """
    plans = [replace(plan, numbers=None)]
    if plan.algorithm == "algorithm-2":
        return tuple(plans)
    equal = equal_numbers(plan.wanted, len(plan.targets), plan.users)
    if equal is not None:
        plans.append(replace(plan, wanted=0, numbers=equal))
    if plan.cover == "numbers":
        plans.append(plan)
    return tuple(plans)


def equal_numbers(wanted: int, targets: int, users: int) -> tuple[int, ...] | None:
    """Divide the people wanted evenly over the targets, at least one for each; None if there are too few users."""
    each = min(max(1, round(wanted / targets)), users // targets)
    return (each,) * targets if each else None


def compare_covers(plan: Plan) -> tuple[CoverForecast, ...]:
    """Forecast the first round of a plan for any target, the same number for each, and the plan's own numbers.

    >>> import math
    >>> import crowdveil as cv
    >>> area = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
    >>> plan = cv.Plan(area, targets=(7, 12), epsilon_per_km=math.log(4), users=300, numbers=(9, 3))
    >>> [(one.cover, one.numbers) for one in compare_covers(plan)]
    [('any', None), ('each', (6, 6)), ('numbers', (9, 3))]
    """
    return tuple(CoverForecast(one.cover, one.numbers, forecast(preview_state(one))) for one in other_covers(plan))
