"""Good policies are accepted; the same ones with a single weight one unit past the bound are refused."""

from __future__ import annotations

from math import log

import mpmath
import numpy as np
import pytest

from crowdveil.area import Area
from crowdveil.arrays import IntArray
from crowdveil.certify import certify
from tests.certify.good_policies import good_weights, scattered, square, two_symbols

SHIFT = 260
TOTAL = 2**53
PARTS = 4
POLICIES = 50
MUTANTS = 10_000 // PARTS // POLICIES


def powers(area: Area, epsilon: float) -> list[list[int]]:
    """⌊e^{ε d(i,j)} 2^260⌋, by mpmath."""
    with mpmath.workdps(120):
        return [
            [int(mpmath.floor(mpmath.exp(mpmath.mpf(epsilon) * mpmath.sqrt(int(q)) / 1000) * 2**SHIFT)) for q in row]
            for row in ((area.xy_m[:, None] - area.xy_m[None]) ** 2).sum(axis=2)
        ]


def allowed(hit: list[int], cell: int, power: list[list[int]]) -> tuple[int, int]:
    """Least and largest weight of one cell that satisfy every inequality, all other weights given."""
    least, largest = 1, TOTAL - 1
    for other, weight in enumerate(hit):
        if other != cell:
            e = power[cell][other]
            # v = weight, T = total:  v ≤ E w,  w ≤ E v,  T - v ≤ E (T - w),  T - w ≤ E (T - v)
            least = max(least, -((-weight << SHIFT) // e), TOTAL - ((TOTAL - weight) * e >> SHIFT))
            largest = min(largest, weight * e >> SHIFT, TOTAL + ((weight - TOTAL << SHIFT) // e))
    return least, largest


def verdict(area: Area, hit: list[int], cell: int, weight: int, epsilon: float) -> bool:
    mutant: IntArray = np.array(hit, dtype=np.int64)
    mutant[cell] = weight
    return certify(two_symbols(area, mutant, epsilon)).ok


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, PARTS))])
def test_10000_mutants_one_unit_past_the_bound_are_refused_and_1000_at_the_bound_accepted(part: int) -> None:
    rng = np.random.default_rng(part)
    for trial in range(POLICIES):
        area = square(int(rng.integers(3, 6)), 0.5) if trial % 2 else scattered(12, 5.0, trial)
        epsilon = float(rng.choice([log(2), log(4), log(8)]))
        targets = rng.choice(len(area), 2, replace=False).tolist()
        hit = good_weights(area, targets, rng.uniform(-2, 2, 2), epsilon).tolist()
        assert certify(two_symbols(area, np.array(hit), epsilon)).ok
        power = powers(area, epsilon)
        for mutant in range(MUTANTS):
            cell = int(rng.integers(len(area)))
            least, largest = allowed(hit, cell, power)
            assert least <= hit[cell] <= largest
            bound, past = (least, least - 1) if mutant % 2 else (largest, largest + 1)
            assert not verdict(area, hit, cell, past, epsilon)
            if mutant < 5:
                assert verdict(area, hit, cell, bound, epsilon)
