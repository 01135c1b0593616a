"""Say what a campaign is worth before it is run, and while it runs."""

from __future__ import annotations

from crowdveil.campaign.plan import Plan
from crowdveil.campaign.state import RoundOpened, State, advance, begin, optimal_for_round, quota


def expected_coverage(state: State) -> float:
    """Σ_T π_t p_t / β of the last policy under the estimate of π: what the next selected user's place is worth."""
    policy = state.open_policy or (state.closed[-1].policy if state.closed else None)
    return 0.0 if policy is None else policy.value_under(state.prior, state.null_share)


def sketch(plan: Plan) -> State:
    """A campaign whose first round is open, without the completion: who is selected, and its worth, are the same."""
    state = begin(plan)
    return advance(state, RoundOpened(optimal_for_round(state, quota(state), "equal")))
