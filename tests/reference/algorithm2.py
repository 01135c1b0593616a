"""Algorithm 2 as its pseudo-code reads: one posterior for each user, in plain loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import crowdveil as cv


def algorithm2(
    area: cv.Area,
    targets: Sequence[int],
    epsilon_per_km: float,
    groups: Sequence[Sequence[int]],
    wanted: int,
    confidence: float,
    obfuscate: Callable[[cv.Policy, int], int],
) -> tuple[list[int], list[list[float]]]:
    """Run it with the users split into groups: who is selected, and π after each group.

    `obfuscate(policy, user)` gives what that user uploads. Algorithm 1 is `cv.optimal_policy`, in which `hit` stands
    for the paper's l* and `other` for its other, equal columns.
    """
    n = len(area)
    N = sum(len(group) for group in groups)
    beta = cv.minimum_beta(users=N, wanted=wanted, confidence=confidence)
    pi = [1 / n] * n
    learnt: list[list[float]] = []
    uploaded: dict[int, int] = {}
    for group in groups:
        policy = cv.optimal_policy(area, pi, targets, epsilon_per_km=epsilon_per_km, beta=beta)
        P = policy.table().tolist()
        posteriors: list[list[float]] = []
        for user in group:
            symbol = obfuscate(policy, user)
            uploaded[user] = symbol
            everywhere = sum(pi[cell] * P[cell][symbol] for cell in range(n))
            posteriors.append([pi[cell] * P[cell][symbol] / everywhere for cell in range(n)])
        pi = [sum(one[cell] for one in posteriors) / len(posteriors) for cell in range(n)]
        learnt.append(pi)
    chosen: list[int] = []
    for group in reversed(groups):
        for user in group:
            if uploaded[user] == 0:
                chosen.append(user)
                if len(chosen) == wanted:
                    return chosen, learnt
    return chosen, learnt
