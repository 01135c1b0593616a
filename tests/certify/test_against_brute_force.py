from __future__ import annotations

from fractions import Fraction
from math import log
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.area import Area
from crowdveil.certify import Certificate, certify, certify_table
from crowdveil.policy.policy import Policy
from tests.certify.good_policies import completed, good_policy, scattered, square, two_symbols
from tests.reference.brute_certify import brute_smallest_epsilon, table_of

TOTAL = 2**53


def agree(certificate: Certificate, area: Area, table: list[list[Fraction]]) -> None:
    agree_with(certificate, brute_smallest_epsilon(area, table))


def agree_with(certificate: Certificate, truth: Any) -> None:
    """The verdict is that of the truth; the number is not below it, and within 1e-12 of it."""
    with mpmath.workdps(80):
        assert certificate.ok == bool(truth <= certificate.epsilon_per_km)
        least = mpmath.mpf(certificate.smallest_epsilon_per_km)
        assert truth <= least
        if mpmath.isfinite(truth):
            assert least - truth <= 1e-12 * truth
        assert (certificate.witness is None) or (certificate.witness.excess > 0) == (not certificate.ok)


areas = st.one_of(
    st.builds(square, st.integers(2, 5), st.sampled_from([0.1, 1.0, 3.0])),
    st.builds(scattered, st.integers(2, 30), st.sampled_from([1.0, 30.0]), st.integers(0, 10**6)),
)


@settings(max_examples=60, deadline=None)
@given(areas, st.data())
def test_random_weights_get_the_verdict_and_the_number_of_the_slow_check(area: Area, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 10**6))
    spread = data.draw(st.sampled_from([1e-12, 1e-3, 1.0, 30.0]))
    heights = np.random.default_rng(seed).uniform(-spread, 0, len(area))
    hit = np.maximum(1, 0.9 * TOTAL * np.exp(heights)).astype(np.int64)
    policy = two_symbols(area, hit, data.draw(st.floats(0.01, 10)))
    agree(certify(policy), area, table_of(policy))


@settings(max_examples=30, deadline=None)
@given(areas, st.integers(0, 10**6), st.booleans())
def test_policies_of_the_closed_form_get_the_verdict_and_the_number_of_the_slow_check(
    area: Area, seed: int, refined: bool
) -> None:
    rng = np.random.default_rng(seed)
    targets = rng.choice(len(area), min(len(area) - 1, 3), replace=False).tolist()
    policy = good_policy(area, targets, rng.uniform(-3, 3, len(targets)), log(4))
    if refined:
        policy = completed(policy)
    truth = brute_smallest_epsilon(area, table_of(policy))
    for claim in (log(4), float(truth), float(np.nextafter(float(truth), 99)), 0.9 * float(truth)):
        agree_with(certify(policy, epsilon_per_km=claim), truth)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.0, 0.1]))
def test_tables_of_small_whole_numbers_with_zeros_get_the_verdict_of_the_slow_check(
    n: int, symbols: int, seed: int, zeros: float
) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 9, (n, symbols)) * (rng.random((n, symbols)) >= zeros)
    table = np.column_stack([table, 9 * symbols - table.sum(axis=1)])
    area = scattered(n, 3.0, seed)
    exact = [[Fraction(int(weight), 9 * symbols) for weight in row] for row in table]
    agree(certify_table(area, table, float(rng.uniform(0.1, 5))), area, exact)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(1, 5), st.integers(0, 10**6), st.sampled_from([1.0, 30.0, 700.0]))
def test_tables_of_floats_are_taken_as_the_exact_fractions_they_are(
    n: int, symbols: int, seed: int, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    part = np.exp(-spread * rng.random((n, symbols))) / (2 * symbols)
    table = np.column_stack([part, 1 - part.sum(axis=1)])
    area = scattered(n, 3.0, seed)
    exact = [[Fraction(entry) for entry in row] for row in table.tolist()]
    agree(certify_table(area, table, float(rng.uniform(0.1, 50))), area, exact)


def test_the_smallest_doubles_are_told_apart() -> None:
    area = Area.from_points_km([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    for tiny in (5e-324, 1e-310, 2.3e-308):
        table = np.array([[tiny, 1.0], [3 * tiny, 1.0], [0.5, 0.5]])
        exact = [[Fraction(entry) for entry in row] for row in table.tolist()]
        agree(certify_table(area, table, 400.0), area, exact)


@pytest.mark.parametrize("symbols", [3, 5])
def test_policies_with_many_symbols_get_the_verdict_of_the_slow_check(symbols: int) -> None:
    area = square(6)
    rng = np.random.default_rng(symbols)
    weights = rng.integers(1, TOTAL // symbols, (36, symbols))
    weights[:, -1] += TOTAL - weights.sum(axis=1)
    policy = Policy(area, 2.0, (0,), weights, symbols=tuple(f"s{k}" for k in range(symbols)))
    agree(certify(policy), area, table_of(policy))
