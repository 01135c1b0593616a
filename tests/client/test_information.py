"""How many bits a report carries: never less than is true, and not much more."""

from __future__ import annotations

from math import log, log2

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.client import information as module
from crowdveil.client.information import information
from tests.client.fake_server import AREA, LN64, clear_policy, flat_policy, small_policy


def mutual_information(table: FloatArray, prior: FloatArray) -> float:
    symbols = prior @ table
    quotient = np.divide(table, symbols, out=np.ones_like(table), where=table > 0)
    return float((prior[:, None] * table * np.log2(quotient)).sum())


@pytest.mark.parametrize("policy", [small_policy(), clear_policy(), small_policy(grade_epsilon=None)])
def test_no_prior_gives_more_than_the_bound(policy: cv.Policy) -> None:
    table, found = policy.table(), information(policy)
    uniform = np.full(len(table), 1 / len(table))
    assert found.uniform_bits == pytest.approx(mutual_information(table, uniform))
    generator = np.random.default_rng(1)
    for scale in (0.05, 1.0, 20.0):
        for prior in generator.dirichlet(np.full(len(table), scale), 50):
            assert mutual_information(table, prior) <= found.at_most_bits + 1e-12
    # Half the people at a target, half far from it: nearly as bad as it can be.
    two = np.zeros(len(table))
    two[[policy.targets[0], len(table) - 1]] = 0.5
    assert mutual_information(table, two) <= found.at_most_bits


def test_a_binary_choice_has_its_known_capacity() -> None:
    """The binary symmetric channel with error 1/4 carries 1 - H(1/4) bits."""
    weights = np.full((2, 2), 1 << 51)
    weights[0, 0] = weights[1, 1] = 3 << 51
    area = AREA.subset([0, 1])
    found = information(cv.Policy(area, log(4), (0,), weights))
    assert found.at_most_bits == pytest.approx(1 + 0.25 * log2(0.25) + 0.75 * log2(0.75))


def test_a_policy_that_says_nothing_carries_nothing() -> None:
    assert information(flat_policy()).at_most_bits == pytest.approx(0, abs=1e-9)


def test_a_table_too_large_is_bounded_by_what_protects_being_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = information(small_policy()).at_most_bits
    monkeypatch.setattr(module, "MAX_ENTRIES", 10)
    information.cache_clear()
    protected, clear = information(small_policy()), information(clear_policy())
    information.cache_clear()
    assert protected.uniform_bits is None
    assert exact < protected.at_most_bits == min(LN64 / log(2), log2(small_policy().symbol_count))
    assert clear.at_most_bits == log2(clear_policy().symbol_count)
