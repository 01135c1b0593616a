"""Policies with a symbol for each of several places: certified, tight, and refused as soon as something is moved."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import mpmath
import numpy as np
import pytest

import crowdveil as cv
from crowdveil.certify import certify
from crowdveil.errors import CrowdveilError
from tests.reference.brute_certify import broken_promises, brute_smallest_epsilon, table_of

LN4 = log(4)
AREA = cv.Area.from_points_km([(x, y) for x in range(4) for y in range(4)])
GRADED: dict[str, Any] = {"null_epsilon": log(64), "grade_epsilon": log(8)}
PRIOR = np.random.default_rng(0).dirichlet(np.full(16, 0.5))
STACKS = {
    "for each target": cv.policy_per_target(AREA, None, [5, 2], epsilon_per_km=LN4, betas=[0.02, 0.03]),
    "saturated": cv.policy_per_target(AREA, PRIOR, [5, 2, 15], epsilon_per_km=LN4, betas=[0.2, 0.25, 0.2]),
    "panel of all cells": cv.panel_policy(AREA, epsilon_per_km=LN4),
    "panel with grades": cv.panel_policy(AREA, [5, 2, 8], targets=[8, 5], epsilon_per_km=LN4, grades=3, **GRADED),
    "for each target with grades": cv.policy_per_target(
        AREA, None, [5, 2], epsilon_per_km=LN4, betas=[0.1, 0.2], grade_chances=(0.7, 0.3, 0.03), **GRADED
    ),
}
all_stacks = pytest.mark.parametrize("name", STACKS)


def truth(policy: cv.Policy) -> bool:
    """Whether the policy keeps its promises, by the slow check at 80 digits."""
    if policy.null_epsilon is not None:
        return not broken_promises(policy)
    return bool(brute_smallest_epsilon(policy.area, table_of(policy)) <= mpmath.mpf(policy.epsilon_per_km))


@all_stacks
def test_a_stack_is_private_at_what_it_states_and_at_nothing_less(name: str) -> None:
    policy = STACKS[name]
    found = certify(policy)
    assert found.ok
    assert truth(policy)
    assert not certify(policy, epsilon_per_km=0.99 * policy.epsilon_per_km).ok
    for loss, finding in (("null_epsilon", found.null), ("grade_epsilon", found.grades)):
        if finding is not None:
            less: dict[str, Any] = {loss: 0.99 * getattr(policy, loss)}
            claimed = replace(policy, peaks=None, **less)  # with peaks a smaller loss would give other weights
            assert not certify(claimed).ok
            assert not truth(claimed)


def test_some_columns_of_the_saturated_stack_have_several_peaks() -> None:
    peaks = STACKS["saturated"].peaks
    assert peaks is not None
    assert len(peaks.weight) > len(peaks.floor)


@all_stacks
def test_the_smallest_epsilon_between_cells_is_that_of_the_slow_check(name: str) -> None:
    policy = STACKS[name]
    n = len(policy)
    found = mpmath.mpf(certify(policy).smallest_epsilon_per_km)
    with mpmath.workdps(80):
        exact = table_of(policy)
        least = max(brute_smallest_epsilon(policy.area, exact[g * n : (g + 1) * n]) for g in range(policy.grades))
        assert least <= found <= min(least * (1 + mpmath.mpf("1e-12")), mpmath.mpf(policy.epsilon_per_km))


@all_stacks
@pytest.mark.parametrize("factor", [1.01, 0.99])
def test_a_weight_near_its_place_moved_by_a_hundredth_is_refused(name: str, factor: float) -> None:
    policy = STACKS[name]
    verdicts = []
    # Of the panel of all cells only some: a corner, edges and one inside are among the first six.
    for cell, symbol in list(zip(policy.targets, policy.selecting, strict=True))[:6]:
        for row in (cell, (cell + 1) % len(policy)):
            weights = policy.weights.copy()
            moved = round(int(weights[row, symbol]) * (factor - 1))
            weights[row, symbol] += moved
            weights[row, -1] -= moved
            mutant = replace(policy, weights=weights, peaks=None)
            verdicts.append(certify(mutant).ok)
            assert verdicts[-1] == truth(mutant)
    assert verdicts.count(False) >= len(verdicts) / 2


@all_stacks
def test_every_weight_of_a_row_a_hundredth_larger_gets_the_verdict_of_the_slow_check(name: str) -> None:
    policy = STACKS[name]
    row = policy.targets[0]
    refused = 0
    for symbol in range(len(policy.symbols) - 1):
        weights = policy.weights.copy()
        moved = min(int(weights[row, symbol]) // 100, int(weights[row, -1]) - 1)
        weights[row, symbol] += moved
        weights[row, -1] -= moved
        mutant = replace(policy, weights=weights, peaks=None)
        verdict = certify(mutant).ok
        assert verdict == truth(mutant)
        refused += not verdict
    assert refused > 0


@all_stacks
def test_raised_peaks_are_refused_unless_the_policy_stays_private(name: str) -> None:
    """A raised peak lifts its whole column, which stays private; it is the rest that breaks, or the sum of a row."""
    policy = STACKS[name]
    assert policy.peaks is not None
    for peak in range(len(policy.peaks.weight)):
        weight = policy.peaks.weight.copy()
        weight[peak] += weight[peak] // 10
        try:
            mutant = replace(policy, peaks=replace(policy.peaks, weight=weight))
        except CrowdveilError:  # more than 2^bits in a row
            continue
        assert certify(mutant).ok == truth(mutant)


@all_stacks
def test_a_column_without_its_floor_is_refused_where_rounding_needs_it(name: str) -> None:
    policy = STACKS[name]
    assert policy.peaks is not None
    verdicts = []
    for symbol in range(len(policy.peaks.floor)):
        floor = policy.peaks.floor.copy()
        floor[symbol] = 0
        mutant = replace(policy, peaks=replace(policy.peaks, floor=floor))
        verdicts.append(certify(mutant).ok)
        assert verdicts[-1] == truth(mutant)
    assert not all(verdicts)
