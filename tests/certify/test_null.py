"""The row for NULL: good ones are accepted, and the same ones a single unit past the bound are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, log

import mpmath
import numpy as np
import pytest

import crowdveil as cv
from crowdveil.certify import certify
from crowdveil.policy.policy import Policy
from tests.certify.good_policies import completed, good_policy, scattered, square, two_symbols

SHIFT = 260
TOTAL = 2**53
LEVELS = (1e-3, log(2), log(4), log(64))


def with_null(policy: Policy, hit: int, null_epsilon: float) -> Policy:
    return replace(policy, null_epsilon=null_epsilon, null_weights=np.array([hit, TOTAL - hit]))


def allowed(policy: Policy, null_epsilon: float) -> tuple[int, int]:
    """Least and largest weight of `hit` for NULL that keep every inequality, with e^{ε₀} by mpmath."""
    with mpmath.workdps(120):
        e = int(mpmath.floor(mpmath.exp(mpmath.mpf(null_epsilon)) * 2**SHIFT))
    least, largest = 1, TOTAL - 1
    for weight in policy.weights[:, 0].tolist():
        least = max(least, -((-weight << SHIFT) // e), TOTAL - ((TOTAL - weight) * e >> SHIFT))
        largest = min(largest, weight * e >> SHIFT, TOTAL + ((weight - TOTAL << SHIFT) // e))
    return least, largest


@pytest.mark.long
def test_1000_rows_one_unit_past_the_bound_are_refused_and_those_at_the_bound_accepted() -> None:
    rng = np.random.default_rng(5)
    looked_at = 0
    while looked_at < 1000:
        area = square(int(rng.integers(2, 5)), 0.5) if rng.random() < 0.5 else scattered(12, 5.0, looked_at)
        epsilon = float(rng.choice([0.01, log(2), log(4)]))
        policy = good_policy(area, [0, 3], rng.uniform(-2, 2, 2), epsilon)
        for null_epsilon in LEVELS:
            least, largest = allowed(policy, null_epsilon)
            if least > largest:
                middle = (least + largest) // 2
                assert not certify(with_null(policy, min(max(middle, 1), TOTAL - 1), null_epsilon)).ok
                continue
            for good in (least, largest, (least + largest) // 2):
                certificate = certify(with_null(policy, good, null_epsilon))
                assert certificate.ok, certificate.explain()
                assert certificate.null is not None
                assert certificate.null.smallest_epsilon <= null_epsilon
            for bad in (least - 1, largest + 1):
                certificate = certify(with_null(policy, bad, null_epsilon))
                assert not certificate.ok
                assert certificate.cells_ok
                assert certificate.null is not None
                assert certificate.null.witness is not None
                assert certificate.null.witness.excess > 0
                looked_at += 1


@pytest.mark.parametrize("null_epsilon", LEVELS)
def test_what_is_made_is_accepted_and_any_mutant_past_its_bound_refused(null_epsilon: float) -> None:
    policy = cv.optimal_policy(
        square(6), None, [7, 22], epsilon_per_km=log(4), beta=0.1, null_epsilon=null_epsilon, null_share=0.3
    )
    assert certify(policy).ok
    least, largest = allowed(policy, null_epsilon)
    for bad in (least - 1, largest + 1):
        assert not certify(with_null(policy, bad, null_epsilon)).ok


def test_a_violation_names_the_cell_the_symbol_and_the_excess() -> None:
    area = square(3)
    weights = np.full(9, TOTAL // 8)
    policy = with_null(two_symbols(area, weights, 1.0), TOTAL // 2, log(2))
    certificate = certify(policy)
    assert not certificate.ok
    assert certificate.null is not None
    worst = certificate.null.witness
    assert worst is not None
    assert (worst.cell, worst.symbol_name) == (0, "hit")
    assert worst.log_ratio == pytest.approx(log(4))
    assert worst.excess == pytest.approx(log(2))
    assert certificate.null.smallest_epsilon == pytest.approx(log(4))
    assert "NULL sends 'hit' e^1.38629 times as often as cell 0" in certificate.explain()
    assert "excess 0.693 in the exponent" in certificate.explain()
    other_way = certify(with_null(two_symbols(area, weights, 1.0), TOTAL // 32, log(2)))
    assert other_way.null is not None
    assert other_way.null.witness is not None
    assert other_way.null.witness.log_ratio == pytest.approx(-log(4))
    assert "cell 0 sends 'hit' e^1.38629 times as often as NULL" in other_way.explain()


def test_a_symbol_that_only_null_or_only_cells_send_is_never_private() -> None:
    area = square(3)
    cells = two_symbols(area, np.full(9, TOTAL // 2), 1.0)
    never = two_symbols(area, np.zeros(9, dtype=np.int64), 1.0)
    for policy in (with_null(cells, 0, 50.0), with_null(cells, TOTAL, 50.0), with_null(never, 1, 50.0)):
        certificate = certify(policy)
        assert not certificate.ok
        assert certificate.null is not None
        assert certificate.null.smallest_epsilon == inf
        assert certificate.null.witness is not None
        assert certificate.null.witness.excess == inf
        assert "none: not private at any" in certificate.null.smallest_shown
        assert "infinitely" in certificate.explain()
    assert certify(with_null(never, 0, 0.1)).ok


def test_every_refined_symbol_is_checked() -> None:
    policy = completed(good_policy(square(4), [5], [0.5], log(4)))
    refined = policy.completion
    assert refined is not None
    hit = int(policy.weights[15, 0])
    for null_row in range(len(refined.weights)):
        changed = replace(
            policy,
            null_epsilon=log(16),
            null_weights=np.array([hit, TOTAL - hit]),
            completion=replace(refined, null_row=null_row),
        )
        null = [Fraction(w, TOTAL) for w in refined.weights[null_row].tolist()]
        losses = []
        for cell in range(16):
            other = Fraction(TOTAL - int(policy.weights[cell, 0]), TOTAL - hit)
            losses.append(abs(log(Fraction(int(policy.weights[cell, 0]), hit))))
            for symbol, weight in enumerate(refined.weights[refined.row[cell]].tolist()):
                losses.append(abs(log(other * Fraction(weight, TOTAL) / null[symbol])))
        certificate = certify(changed)
        assert certificate.null is not None
        assert certificate.null.smallest_epsilon == pytest.approx(max(losses), rel=1e-12)
        assert certificate.ok == (max(losses) <= log(16))


def test_a_row_equal_to_every_cell_costs_nothing_and_no_row_leaves_the_certificate_as_it_was() -> None:
    flat = two_symbols(square(3), np.full(9, TOTAL // 4), 1.0)
    clear = certify(flat)
    assert clear.null is None
    assert "NULL" not in clear.explain()
    equal = certify(with_null(flat, TOTAL // 4, 1e-9))
    assert equal.ok
    assert equal.null is not None
    assert equal.null.smallest_epsilon == 0.0
    assert equal.null.witness is None
    assert "Every cell sends every symbol as often as NULL" in equal.explain()
    assert equal.inequalities == clear.inequalities + 2 * 9 * 2


def test_a_broken_row_does_not_hide_broken_cells_nor_they_it() -> None:
    weights = np.full(9, TOTAL // 4)
    weights[0] = TOTAL // 2
    certificate = certify(with_null(two_symbols(square(3), weights, 0.1), TOTAL // 100, 0.1))
    assert not certificate.cells_ok
    assert "NOT private at ε" in certificate.explain()
    assert "NOT protected at ε₀" in certificate.explain()
