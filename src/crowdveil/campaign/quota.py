"""Decide how large a share of the next round should select.

**algorithm-2**: the least β with Pr(B(N, β) ≥ α) ≥ ρ, in every round.

**crowdveil**, for any target, has no margin: with a people still wanted and m reports to come, a round aims at
β = max(a/m, α/N), which is enough on average. Too few hits are no loss, because the senders of the next best symbols
fill up; the margin ρ would lower the value of every policy (Theorem 2: the value never rises with β).

**crowdveil**, with a number of people for each target: the same target by target, β_t = max(a_t/m, α_t/N), where a_t is
what is still missing of the senders of t's own symbol; and where a margin costs nothing, the least β_t with
Pr(B(m, β_t) ≥ a_t) ≥ ρ instead, if that is more (`next_policy` decides). With 3 people wanted at a place, every second
crowd would otherwise have to fill up. Together at most `MAX_BETA` of a round are selected; beyond that all β_t are
lowered alike.
"""

from __future__ import annotations

from crowdveil.campaign.groups import symbols_of
from crowdveil.campaign.state import State
from crowdveil.policy.quota import minimum_beta

MAX_BETA = 0.5
"""At most half of a round is selected: above that, being selected says less than not being selected."""


def quota(state: State) -> float:
    """Compute β of the next round: the share of its reports that should select."""
    plan = state.plan
    reporters, to_come = _reporters(state)
    if plan.algorithm == "algorithm-2":
        return minimum_beta(users=reporters, wanted=min(plan.wanted, reporters), confidence=plan.confidence)
    missing = plan.wanted - sum(one.hits for one in state.closed)
    return min(MAX_BETA, max(missing / to_come, plan.wanted / reporters))


def quotas(state: State, confidence: float | None = None) -> tuple[float, ...]:
    """Compute β_t of the next round, for a plan with a number for each target: the share that t's symbol selects.

    With a `confidence` as many as are wanted should send each symbol with this probability; without, on average.
    """
    plan = state.plan
    numbers = plan.numbers or ()
    reporters, to_come = _reporters(state)
    betas = []
    for target, number in zip(plan.targets, numbers, strict=True):
        missing = number - sum(int(one.counts[symbols_of(one.policy, target)].sum()) for one in state.closed)
        beta = max(missing / to_come, number / reporters)
        if confidence is not None and 0 < missing <= to_come:
            beta = max(beta, minimum_beta(users=to_come, wanted=missing, confidence=confidence))
        betas.append(beta)
    return tuple(min(1.0, MAX_BETA / sum(betas)) * beta for beta in betas)


def _reporters(state: State) -> tuple[int, int]:
    """Return how many of all users report, and how many of those who are still to come; at least 1 each."""
    plan = state.plan
    share = reporting_share(state) if plan.null_epsilon is None else 1.0
    return max(1, round(share * plan.users)), max(1, round(share * people_to_come(state)))


def people_to_come(state: State) -> int:
    """Return how many of the plan's users have not taken part in a closed round.

    A panel invites everyone to every round; until its first reports are in, all are to come.
    """
    if state.plan.panel:
        return 0 if state.used_rounds else state.plan.users
    return max(0, state.plan.users - sum(one.reports + one.nulls for one in state.closed))


def reporting_share(state: State) -> float:
    """Return the share of users with a place to report, as seen in the closed rounds; 1 before the first.

    In the protected form the share cannot be seen, and is estimated: 1 - ν.
    """
    if state.plan.null_epsilon is not None:
        return 1 - state.null_share
    reports = sum(one.reports for one in state.closed)
    nulls = sum(one.nulls for one in state.closed)
    return reports / (reports + nulls) if reports + nulls else 1.0
