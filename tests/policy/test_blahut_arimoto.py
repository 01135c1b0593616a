"""The Blahut-Arimoto mechanism of PRIVIC: private at its ε, and each turn nearer to the least of its functional."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.optimize import minimize

from crowdveil.area import Area
from crowdveil.arrays import FloatArray
from crowdveil.certify import certify
from crowdveil.policy.baselines.blahut_arimoto import best_weights, blahut_arimoto, distance_kernel
from crowdveil.policy.baselines.exponential import exponential
from tests.policy.test_laplace import smallest_epsilon, square, uniform

LN4 = log(4)


def lopsided(n: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.full(n, 0.2))


@pytest.mark.parametrize("turns", [0, 1, 8, 1000])
@pytest.mark.parametrize("epsilon", [0.05, LN4, 30.0, 1500.0, 1e300])
def test_it_is_certified_at_its_epsilon_after_any_number_of_turns(epsilon: float, turns: int) -> None:
    for area in (square(5), Area.from_points_km([[0.0, 0.0], [0.002, 0.0], [4.0, 0.0]])):
        policy = blahut_arimoto(area, lopsided(len(area), 3), [1], epsilon, max_turns=turns)
        assert certify(policy).ok
        assert smallest_epsilon(policy) <= epsilon


def test_nothing_less_than_twice_the_rate_would_do() -> None:
    """Nearly everyone is at one end: reports of the other end use up all of ε, as the proof says."""
    area = Area.from_points_km([[0.0, 0.0], [1.0, 0.0]])
    policy = blahut_arimoto(area, [0.999, 0.001], [1], LN4)
    assert 0.99 * LN4 < smallest_epsilon(policy) <= LN4
    assert not certify(policy, epsilon_per_km=0.99 * LN4).ok


def test_with_equal_weights_it_is_the_exponential_mechanism() -> None:
    area = square(4)
    ours = blahut_arimoto(area, uniform(area), [1], LN4, max_turns=0).table()
    np.testing.assert_allclose(ours, exponential(area, uniform(area), [1], LN4).table(), atol=2e-9)


def functional(kernel: FloatArray, prior: FloatArray, table: FloatArray, weights: FloatArray) -> float:
    """Mutual information against c, plus b times the mean distance, term by term."""
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.where(table > 0, table * (np.log(table) - np.log(weights)), 0.0)
    return float(prior @ (information - table * np.log(kernel)).sum(axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_no_half_of_a_turn_increases_the_functional(seed: int) -> None:
    area, prior = square(5), lopsided(25, seed)
    kernel = distance_kernel(area, LN4 / 2)
    values = []
    for turns in range(30):
        c = best_weights(kernel, prior, max_turns=turns, max_gap=0.0).weights
        table = kernel * c / (kernel @ c)[:, None]
        values += [functional(kernel, prior, table, c), functional(kernel, prior, table, prior @ table)]
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] < values[0] - 0.1


@pytest.mark.parametrize("seed", range(4))
def test_the_proven_gap_holds_against_an_independent_minimiser(seed: int) -> None:
    kernel, prior = distance_kernel(square(3), LN4 / 2), lopsided(9, seed)

    def value(scores: FloatArray) -> float:
        c = np.exp(scores - scores.max())
        return -float(prior @ np.log(kernel @ (c / c.sum())))

    least = min(minimize(value, np.random.default_rng(n).normal(size=9), tol=1e-12).fun for n in range(3))
    for turns in (0, 3, 30, 1000):
        found = best_weights(kernel, prior, max_turns=turns)
        assert least - 1e-6 <= found.value <= least + found.gap + 1e-9
    assert best_weights(kernel, prior).gap <= 1e-3


def test_weight_leaves_cells_where_nobody_is() -> None:
    """At a small ε nearly all reports name the crowded cell, which is what hides people elsewhere."""
    area = square(5)
    prior = np.full(25, 0.01)
    prior[12] = 0.76
    table = blahut_arimoto(area, prior, [1], LN4 / 4).table()
    assert table[:, 12].min() > 0.9
