"""The benchmark's plain judge of privacy agrees with brute force, and finds the bound to the unit."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import log

import mpmath
import numpy as np
import pytest
from benchmarks.exact import INFINITE, most, smallest_epsilon

from crowdveil.certify import certify
from tests.certify.good_policies import good_policy, scattered, square, two_symbols
from tests.reference.brute_certify import brute_is_private, brute_smallest_epsilon, table_of

EPSILON = log(4)


@pytest.mark.parametrize("seed", range(5))
def test_the_smallest_epsilon_is_that_of_brute_force_to_fifty_digits(seed: int) -> None:
    area = scattered(8, 5.0, seed)
    table = np.random.default_rng(seed).dirichlet(np.ones(4), 8)
    exact = [[Fraction(one) for one in row] for row in table.tolist()]
    with mpmath.workdps(80):
        difference = mpmath.mpf(str(smallest_epsilon(area, table.tolist()))) - brute_smallest_epsilon(area, exact)
        assert abs(difference) < mpmath.mpf(10) ** -50


def test_a_symbol_that_only_some_cells_send_is_private_at_no_epsilon() -> None:
    area = square(2)
    assert smallest_epsilon(area, [[1, 1], [1, 1], [2, 0], [1, 1]]) == INFINITE


def test_a_symbol_that_nobody_sends_says_nothing() -> None:
    assert smallest_epsilon(square(2), [[1, 0], [1, 0], [1, 0], [1, 0]]) == 0


@pytest.mark.parametrize("cell", [0, 4, 7])
def test_the_largest_weight_holds_and_one_unit_more_does_not(cell: int) -> None:
    area = square(3)
    good = good_policy(area, [1], [0.5], EPSILON)
    hit = good.weights[:, 0].copy()
    largest = most(area, hit.tolist(), cell, good.total, EPSILON)
    for weight, private in ((largest, True), (largest + 1, False)):
        hit[cell] = weight
        policy = two_symbols(area, hit, EPSILON)
        assert brute_is_private(area, table_of(policy), EPSILON) is private
        assert (smallest_epsilon(area, policy.weights.tolist()) <= Decimal(EPSILON)) is private
        assert certify(policy).ok is private
