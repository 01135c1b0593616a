"""Definition 1, slowly: every pair of cells and every symbol, at 80 digits, sharing nothing with the checker.

for all cells i, j and every symbol s:    P(s | i) ≤ e^{ε d(i,j)} P(s | j)
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from typing import Any

import mpmath

from crowdveil.area import Area
from crowdveil.policy.policy import Policy

DIGITS = 80


def table_of(policy: Policy) -> list[list[Fraction]]:
    """P(s | i) of all inputs as exact fractions."""
    table = []
    for number, weights in enumerate(policy.weights.tolist()):
        row = [Fraction(weight, policy.total) for weight in weights]
        if policy.completion is not None:
            refined = policy.completion.weights[policy.completion.row[number]].tolist()
            late = [grade * Fraction(weight, policy.total) for grade in row[-policy.grades :] for weight in refined]
            row = row[: -policy.grades] + late
        table.append(row)
    return table


def losses_per_km(area: Area, table: list[list[Fraction]]) -> Iterator[tuple[Any, int, int, int]]:
    """ln( P(s|i) / P(s|j) ) / d(i,j), with i, j and s, for every P(s|i) > 0."""
    xy = area.xy_m.tolist()
    # One logarithm for each entry, not for each pair of entries: that would take nearly all the time.
    logs = [[mpmath.log(_decimal(p)) if p else -mpmath.inf for p in row] for row in table]
    for i, j in permutations(range(len(xy)), 2):
        squared_m = (xy[i][0] - xy[j][0]) ** 2 + (xy[i][1] - xy[j][1]) ** 2
        km = mpmath.sqrt(mpmath.mpf(squared_m)) / 1000
        for s, p in enumerate(table[i]):
            if p:
                yield (logs[i][s] - logs[j][s]) / km, i, j, s


def _decimal(p: Fraction) -> Any:
    return mpmath.mpf(p.numerator) / p.denominator


def brute_smallest_epsilon(area: Area, table: list[list[Fraction]]) -> Any:
    """The least ε at which Definition 1 holds, as a number of 80 digits."""
    with mpmath.workdps(DIGITS):
        return max((loss for loss, *_ in losses_per_km(area, table)), default=mpmath.mpf(0))


def brute_is_private(area: Area, table: list[list[Fraction]], epsilon_per_km: float) -> bool:
    """Whether Definition 1 holds at ε, the exact value of the double."""
    with mpmath.workdps(DIGITS):
        return bool(brute_smallest_epsilon(area, table) <= mpmath.mpf(epsilon_per_km))


def promised(policy: Policy) -> list[list[Any]]:
    """D of any two inputs of a protected policy, from the formula that it promises."""
    assert policy.null_epsilon is not None
    xy, n, last = policy.area.xy_m.tolist(), len(policy.area), policy.input_count - 1
    epsilon, grade, null = (
        mpmath.mpf(e or 0) for e in (policy.epsilon_per_km, policy.grade_epsilon, policy.null_epsilon)
    )

    def apart(i: int, j: int) -> Any:
        if i == j or last in (i, j):
            return mpmath.mpf(0) if i == j else null
        (g, one), (h, two) = divmod(i, n), divmod(j, n)
        km = mpmath.sqrt(mpmath.mpf((xy[one][0] - xy[two][0]) ** 2 + (xy[one][1] - xy[two][1]) ** 2)) / 1000
        return min(epsilon * km + grade * abs(g - h), 2 * null)

    return [[apart(i, j) for j in range(last + 1)] for i in range(last + 1)]


def broken_promises(policy: Policy) -> list[tuple[int, int, int]]:
    """All (i, j, s) with P(s | i) > e^D(i,j) P(s | j), among all pairs of inputs and all symbols."""
    with mpmath.workdps(DIGITS):
        table, far = [[_decimal(p) for p in row] for row in table_of(policy)], promised(policy)
        power = [[mpmath.exp(d) for d in row] for row in far]
        return [
            (i, j, s)
            for i, j in permutations(range(len(table)), 2)
            for s, (p, q) in enumerate(zip(table[i], table[j], strict=True))
            if p > power[i][j] * q
        ]
