from __future__ import annotations

from math import inf, log, nan

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.certify.claim import PrivacyClaim
from crowdveil.certify.exponential import FRACTION_BITS, MAX_EXPONENT, exponent_below, power_below

UNIT = mpmath.mpf(2) ** -FRACTION_BITS


def check_power(exponent: int) -> None:
    with mpmath.workdps(1900):
        truth = mpmath.exp(exponent * UNIT)
        bound = power_below(exponent) * UNIT
        assert bound <= truth
        assert (truth - bound) / truth < mpmath.mpf(2) ** -165


@pytest.mark.parametrize("shift", range(0, FRACTION_BITS + 13, 7))
def test_the_power_is_below_the_truth_and_tight_for_exponents_of_every_size(shift: int) -> None:
    for exponent in ((1 << shift) - 1, 1 << shift, (1 << shift) + 1):
        if exponent < MAX_EXPONENT << FRACTION_BITS:
            check_power(exponent)


def test_e_to_the_0_is_1() -> None:
    assert power_below(0) == 1 << FRACTION_BITS


@given(st.integers(0, (MAX_EXPONENT << FRACTION_BITS) - 1))
def test_the_power_is_below_the_truth_and_tight_for_any_exponent(exponent: int) -> None:
    check_power(exponent)


@given(st.integers(0, 100 << FRACTION_BITS))
def test_the_power_is_below_the_truth_and_tight_for_exponents_that_weights_need(exponent: int) -> None:
    check_power(exponent)


@given(st.floats(1e-9, 1e3), st.integers(1, 2**51))
def test_the_exponent_is_epsilon_times_distance_rounded_down(epsilon: float, squared_m: int) -> None:
    with mpmath.workdps(120):
        truth = mpmath.mpf(epsilon) * mpmath.sqrt(squared_m) / 1000 / UNIT
        assert exponent_below(epsilon, squared_m) == int(mpmath.floor(truth))


@given(st.floats(1e-6, 20), st.integers(1, 10**12))
def test_e_to_the_epsilon_d_is_bounded_from_below_within_2_to_the_minus_90(epsilon: float, squared_m: int) -> None:
    exponent = exponent_below(epsilon, squared_m)
    if exponent >= 800 << FRACTION_BITS:
        return
    with mpmath.workdps(500):
        truth = mpmath.exp(mpmath.mpf(epsilon) * mpmath.sqrt(squared_m) / 1000)
        bound = power_below(exponent) * UNIT
        assert bound <= truth
        assert (truth - bound) / truth < mpmath.mpf(2) ** -90


def test_the_largest_exponent_that_the_proof_covers_is_below_4096() -> None:
    check_power((4096 << FRACTION_BITS) - 1)


@pytest.mark.parametrize("exponent", [-1, 4096 << FRACTION_BITS])
def test_an_exponent_that_the_proof_does_not_cover_is_refused(exponent: int) -> None:
    with pytest.raises(ValueError, match="exponent"):
        power_below(exponent)


@given(st.integers(1, 2**124), st.integers(1, 10**10), st.floats(1e-3, 10))
def test_the_decision_turns_at_the_largest_weight_that_definition_1_allows(
    other: int, squared_m: int, epsilon: float
) -> None:
    claim = PrivacyClaim(epsilon)
    with mpmath.workdps(150):
        exponent = mpmath.mpf(epsilon) * mpmath.sqrt(squared_m) / 1000
        largest = int(mpmath.floor(other * mpmath.exp(min(exponent, 100))))
    if largest > 2**124:
        assert claim.holds(2**124, other, squared_m)
        return
    assert claim.holds(largest, other, squared_m)
    assert not claim.holds(largest + 1, other, squared_m)


def test_zero_weights_are_decided_without_any_power() -> None:
    claim = PrivacyClaim(log(4))
    assert claim.holds(0, 0, 10**6)
    assert claim.holds(0, 5, 10**6)
    assert not claim.holds(1, 0, 10**6)
    assert claim.excess(0, 0, 10**6, nan) == 0
    assert claim.excess(1, 0, 10**6, inf) == inf


def test_exponents_that_need_no_power_are_decided_for_weights_of_any_length() -> None:
    assert PrivacyClaim(4100.0).holds(1 << 2100, 1 << 2099, 10**6)


def test_a_weight_that_equals_the_lower_bound_of_what_is_allowed_is_allowed() -> None:
    claim, squared_m = PrivacyClaim(log(4)), 10**6
    largest = power_below(exponent_below(log(4), squared_m))
    assert claim.holds(largest, 1 << FRACTION_BITS, squared_m)
    assert not claim.holds(largest + 1, 1 << FRACTION_BITS, squared_m)


def test_the_excess_is_positive_exactly_where_the_decision_is_no() -> None:
    claim, other, squared_m = PrivacyClaim(log(4)), 2**60, 10**6
    with mpmath.workdps(60):
        largest = int(mpmath.floor(other * mpmath.exp(mpmath.mpf(log(4)))))
    assert claim.excess(largest, other, squared_m, 0.0) < 0 < claim.excess(largest + 1, other, squared_m, 0.0)
