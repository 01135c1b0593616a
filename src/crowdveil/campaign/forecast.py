"""Forecast the coverage of a campaign, before the start and while it runs."""

from __future__ import annotations

from crowdveil.campaign.plan import Plan
from crowdveil.campaign.state import RoundOpened, State, advance, begin, optimal_for_round, quota


def expected_coverage(state: State) -> float:
    """Compute Σ_T π_t p_t / β of the last policy under the estimate of π: the share of the selected at a target."""
    policy = state.open_policy or (state.closed[-1].policy if state.closed else None)
    return 0.0 if policy is None else policy.value_under(state.prior, state.null_share)


def preview_state(plan: Plan) -> State:
    """Open the first round of a plan without the completion, which changes neither the selection nor its value."""
    state = begin(plan)
    return advance(state, RoundOpened(optimal_for_round(state, quota(state), "equal")))
