"""Columns that are described by their peaks: the same whole numbers everywhere, and nothing altered is read."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal, localcontext
from math import isqrt, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdveil as cv
from crowdveil.arrays import IntArray
from crowdveil.errors import CrowdveilError, FileFormatError, InputError
from crowdveil.policy.fixed_point import FRACTION_BITS, exponential_of_minus, scaled, scaled_loss
from crowdveil.policy.peaks import MAX_PEAK_TERMS, Peaks, _check_exponentials, check_peaks
from tests.conformance.stacks import costly_description

LN4 = log(4)
GRID = cv.Area.from_points_km([(x, y) for x in range(5) for y in range(4)])
STACK = cv.policy_per_target(GRID, None, [3, 12], epsilon_per_km=LN4, betas=[0.02, 0.03])
PROTECTIONS: tuple[tuple[int, dict[str, Any]], ...] = (
    (5, {}),
    (6, {"null_epsilon": 1e-9}),
    (16, {"null_epsilon": 3.0, "grade_epsilon": 0.3, "grades": 3}),
)
"""How many inputs five cells have in each form."""
GRADED = cv.panel_policy(GRID, [3, 12, 7], epsilon_per_km=LN4, null_epsilon=log(64), grade_epsilon=log(8), grades=3)


@given(st.integers(0, 90 << FRACTION_BITS))
def test_e_to_the_minus_x_is_within_one_unit(loss: int) -> None:
    with localcontext() as context:
        context.prec = 80
        exact = (-Decimal(loss) / (1 << FRACTION_BITS)).exp() * (1 << FRACTION_BITS)
        assert abs(exponential_of_minus(loss) - exact) <= 1


def test_e_to_the_0_is_exactly_1() -> None:
    assert exponential_of_minus(0) == 1 << FRACTION_BITS


@given(st.floats(1e-6, 50), st.integers(0, 10**12))
def test_losses_are_rounded_down_to_the_last_unit(epsilon: float, squared_m: int) -> None:
    a, b = epsilon.as_integer_ratio()
    found = scaled_loss(epsilon, squared_m)
    exact = a * a * squared_m << 2 * FRACTION_BITS
    assert found**2 * 1_000_000 * b * b <= exact < (found + 1) ** 2 * 1_000_000 * b * b
    assert scaled_loss(epsilon, 1_000_000) == scaled(epsilon)
    assert scaled_loss(1.0, squared_m) == isqrt((squared_m << 2 * FRACTION_BITS) // 1_000_000)


@pytest.mark.parametrize("policy", [STACK, GRADED])
def test_weights_fall_with_the_distance_from_the_nearest_peak(policy: cv.Policy) -> None:
    assert policy.peaks is not None
    floor = policy.peaks.floor
    for symbol, at, height in zip(policy.peaks.symbol, policy.peaks.input, policy.peaks.weight, strict=True):
        assert policy.weights[at, symbol] == height + floor[symbol]
    inputs = policy.input_count
    for one in range(inputs):
        for symbol in range(len(floor)):
            mine = policy.peaks.symbol == symbol
            away = [distance(policy, one, int(at)) for at in policy.peaks.input[mine]]
            real = max(w * np.exp(-d) for w, d in zip(policy.peaks.weight[mine], away, strict=True))
            assert abs(policy.weights[one, symbol] - floor[symbol] - real) < 2 + 1e-13 * real


def distance(policy: cv.Policy, one: int, other: int) -> float:
    """D of policy.py, slowly."""
    n = len(policy)
    if one == other:
        return 0.0
    null = policy.null_epsilon
    if null is not None and policy.input_count - 1 in (one, other):
        return null
    far = policy.epsilon_per_km * policy.area.distance_km(one % n, other % n)
    far += (policy.grade_epsilon or 0.0) * abs(one // n - other // n)
    return far if null is None else min(far, 2 * null)


def loss_of(policy: cv.Policy, one: int, other: int) -> int:
    """D in units of 2^-64, from the description of the format."""
    if one == other:
        return 0
    if policy.null_epsilon is not None and policy.input_count - 1 in (one, other):
        return scaled(policy.null_epsilon)
    n = len(policy)
    (x, y), (u, v) = policy.area.xy_m[one % n].tolist(), policy.area.xy_m[other % n].tolist()
    loss = scaled_loss(policy.epsilon_per_km, (x - u) ** 2 + (y - v) ** 2)
    loss += abs(one // n - other // n) * scaled(policy.grade_epsilon or 0.0)
    return loss if policy.null_epsilon is None else min(loss, 2 * scaled(policy.null_epsilon))


@given(st.integers(0, 10**6), st.sampled_from([12, 53, 62]), st.sampled_from([LN4, 1e-18, 0.05, 50.0]))
def test_weights_are_those_of_the_definition_to_the_last_unit(seed: int, bits: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    area = cv.Area.from_points_km([(0, 0), (0.001, 0), (1, 0), (0, 3), (2.5, 2)])
    inputs, protection = PROTECTIONS[seed % 3]
    at = np.sort(rng.choice(2 * inputs, int(rng.integers(1, 2 * inputs)), replace=False))
    heights = (rng.random(len(at)) * (1 << bits) / 3).astype(np.int64)
    peaks = Peaks(at // inputs, at % inputs, heights, rng.integers(0, 1 << (bits - 4), 2))
    names, others = ("place 0", "place 2", "other"), np.zeros((inputs, 0), dtype=np.int64)
    policy = cv.Policy(area, epsilon, (0, 2), others, names, (0, 1), bits=bits, peaks=peaks, **protection)
    for one in range(inputs):
        for symbol in range(2):
            terms = [
                weight * exponential_of_minus(loss_of(policy, one, at)) >> FRACTION_BITS
                for of, at, weight in zip(
                    peaks.symbol.tolist(), peaks.input.tolist(), peaks.weight.tolist(), strict=True
                )
                if of == symbol
            ]
            assert policy.weights[one, symbol] == peaks.floor[symbol] + max(terms, default=0)


@pytest.mark.parametrize("policy", [STACK, GRADED])
def test_a_policy_with_peaks_reads_back_from_both_forms_as_it_was(policy: cv.Policy) -> None:
    for again in (cv.Policy.from_bytes(policy.to_bytes()), cv.Policy.from_json(policy.to_json())):
        assert again == policy
        assert again.values == policy.values
        assert again.weights.tolist() == policy.weights.tolist()
    assert replace(policy, value=0.5).weights.tolist() == policy.weights.tolist()


def test_the_files_hold_peaks_in_the_place_of_their_weights() -> None:
    document = json.loads(GRADED.to_json())
    assert len(document["peaks"]["weight"]) == 3
    assert all(len(row) == 3 for row in document["weights"]), "outside and two of three grades"
    assert len(STACK.to_bytes()) < 1200


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda peaks: peaks["weight"].__setitem__(0, peaks["weight"][0] + 1), "altered"),
        (lambda peaks: peaks["floor"].__setitem__(0, -1), "2\\^53"),
        (lambda peaks: peaks["floor"].append(1), "shorter|weights"),
        (lambda peaks: peaks["floor"].clear(), "weights|floor"),
        (lambda peaks: peaks["input"].__setitem__(0, 99), "0 to"),
        (lambda peaks: peaks["symbol"].__setitem__(0, 5), "0 to"),
        (lambda peaks: peaks["symbol"].reverse(), "sorted"),
        (lambda peaks: peaks["input"].pop(), "as many"),
        (lambda peaks: peaks.pop("input"), "missing"),
        (lambda peaks: peaks.__setitem__("colour", [1]), "unknown"),
        (lambda peaks: peaks["weight"].__setitem__(0, 2**53), "between 0 and"),
        (lambda peaks: peaks.__setitem__("weight", "high"), "whole numbers"),
    ],
)
def test_altered_peaks_are_refused_with_what_is_wrong(change: object, named: str) -> None:
    document = json.loads(STACK.to_json())
    change(document["peaks"])  # type: ignore[operator]
    with pytest.raises(CrowdveilError, match=named):
        cv.Policy.from_json(json.dumps(document))


def test_a_policy_is_not_made_from_weights_that_do_not_belong_to_its_peaks() -> None:
    assert STACK.peaks is not None
    with pytest.raises(InputError, match="without peaks"):
        replace(STACK, weights=np.zeros((20, 1), dtype=np.int64))
    with pytest.raises(InputError, match=r"peaks\.floor"):
        replace(STACK, peaks=replace(STACK.peaks, floor=np.array([1, 1, 1])))
    with pytest.raises(InputError, match="should be a list of whole numbers"):
        replace(
            STACK, peaks=Peaks(STACK.peaks.symbol, STACK.peaks.input, np.zeros(0, dtype=np.int64), STACK.peaks.floor)
        )


def test_more_peaks_than_a_phone_could_compute_are_refused() -> None:
    at = np.arange(200_000)
    many = Peaks(at // 100_000, at % 100_000, np.ones(200_000, dtype=np.int64), np.ones(2, dtype=np.int64))
    with pytest.raises(InputError, match="200,000 for 100,000 inputs"):
        check_peaks(many, inputs=100_000, symbols=3, bits=53)


def test_a_header_that_is_cut_short_is_refused() -> None:
    data = STACK.to_bytes()
    with pytest.raises(FileFormatError):
        cv.Policy.from_bytes(data[:-5])


# --- how long a description keeps a phone busy ---------------------------------------------------------------------


def test_a_small_file_that_needs_too_many_exponentials_is_refused_before_they_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = costly_description(np.random.default_rng(1))
    monkeypatch.setattr("crowdveil.policy.peaks.exponential_of_minus", lambda _: pytest.fail("nothing is computed"))
    with pytest.raises(CrowdveilError, match=r"in 1,100 of 1,100 cells.*should need at most 500,000 exponentials"):
        cv.Policy.from_json(text)


def peaks_in(cells: IntArray) -> Peaks:
    many = np.ones(len(cells), dtype=np.int64)
    return Peaks(0 * many, cells, many << 40, np.array([1 << 20]))


def scattered(cells: int) -> cv.Area:
    return cv.Area.from_points_km(np.random.default_rng(1).random((cells, 2)) * 30)


def test_grades_count_and_equal_distances_do_not() -> None:
    """At most 500,000 divided by the grades, among 600 scattered cells some 180,000 distances."""
    line = cv.Area.from_points_km([(x, 0) for x in range(1_000)])
    _check_exponentials(peaks_in(np.arange(7_000)), line, 7)
    _check_exponentials(peaks_in(np.arange(1_200)), scattered(600), 2)
    with pytest.raises(InputError, match="in 600 of 600 cells"):
        _check_exponentials(peaks_in(np.arange(600)), scattered(600), 3)
    with pytest.raises(InputError, match="in 600 of 600 cells"):
        _check_exponentials(peaks_in(np.arange(600, 1_200)), scattered(600), 3)
    _check_exponentials(peaks_in(np.array([1_800])), scattered(600), 3)


def test_panels_of_the_sizes_that_are_promised_can_be_computed() -> None:
    """400 cells anywhere with a place in each, 64 places among 2,500, and squares up to 5,000, with three grades."""
    _check_exponentials(peaks_in(np.arange(400)), scattered(400), 3)
    _check_exponentials(peaks_in(np.arange(64)), scattered(2_500), 3)
    squares = cv.Area.from_points_km([(x, y) for x in range(71) for y in range(71)])
    _check_exponentials(peaks_in(np.arange(len(squares))), squares, 3)
    assert len(squares) * (3 * len(squares) + 1) < MAX_PEAK_TERMS
