"""The exponential mechanism over cells, and the rounding that all tables share."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.area import Area
from crowdveil.certify import certify
from crowdveil.errors import InputError
from crowdveil.policy.baselines.exponential import exponential
from crowdveil.policy.rounding import round_private
from tests.policy.test_laplace import smallest_epsilon, square, uniform

LN4 = log(4)


def test_chances_fall_by_half_of_epsilon_with_distance() -> None:
    area = square(5)
    table = exponential(area, uniform(area), [3], LN4).table()
    expected = np.exp(-LN4 * area.distances_km(np.arange(25)) / 2)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table, expected, atol=2e-9)


@pytest.mark.parametrize("epsilon", [0.05, LN4, 30.0, 1500.0, 1e300])
def test_it_is_private_at_its_epsilon(epsilon: float) -> None:
    for area in (square(6), Area.from_points_km([[0.0, 0.0], [0.002, 0.0], [4.0, 0.0]])):
        policy = exponential(area, uniform(area), [1], epsilon)
        assert smallest_epsilon(policy) <= epsilon


def test_the_certificate_agrees_and_half_of_epsilon_would_not_do() -> None:
    area = square(6)
    policy = exponential(area, uniform(area), [1], LN4)
    assert certify(policy).ok
    # Moving between neighbours in the middle changes the sum below by little: half of ε, and a little over.
    assert 0.5 * LN4 < smallest_epsilon(policy) < LN4


def test_an_epsilon_too_strict_for_whole_numbers_is_refused() -> None:
    area = square(3)
    with pytest.raises(InputError, match="rounding would need"):
        exponential(area, uniform(area), [1], 1e-11)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 40), st.integers(0, 10**6), st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_rounding_moves_no_entry_by_more_than_the_bound_it_states(n: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(n, 0.05), size=7)
    table[0] = np.eye(n)[0]
    weights = round_private(table, share)
    assert (weights.sum(axis=1) == 2**53).all()
    assert (weights > 0).all()
    # In units of 2^-53, against the mixture in extended precision.
    exact = (1 - np.longdouble(share)) * table.astype(np.longdouble) + np.longdouble(share) / n
    assert float(np.abs(weights - exact * 2**53).max()) <= 8
