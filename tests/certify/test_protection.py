"""Being outside and grades: good rows are accepted, and the same ones a single unit past a bound are refused.

The bounds of single weights and the verdicts about whole policies come from mpmath, over all pairs of inputs with
D = min(ε d + ε₁ |Δg|, 2 ε₀), of which the checker looks at those only that imply the others.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import inf, log

import mpmath
import numpy as np
import pytest

import crowdveil as cv
from crowdveil.area import Area
from crowdveil.arrays import IntArray
from crowdveil.certify import certify
from crowdveil.policy.policy import Completion, Policy
from tests.certify.good_policies import scattered, square
from tests.reference.brute_certify import broken_promises, promised

SHIFT = 260
TOTAL = 2**53
LEVELS = (1e-3, log(2), log(4), log(64))
GRADED = ("hit", "outside", "grade 1", "grade 2")


def made(
    area: Area,
    null_epsilon: float,
    grade_epsilon: float | None,
    *,
    epsilon: float = log(4),
    beta: float = 0.1,
    completion: str = "equal",
    targets: tuple[int, ...] = (0, 2),
) -> Policy:
    return cv.optimal_policy(
        area,
        None,
        targets,
        epsilon_per_km=epsilon,
        beta=beta,
        completion=completion,
        null_epsilon=null_epsilon,
        null_share=0.3,
        grade_epsilon=grade_epsilon,
    )


def two_symbols(area: Area, hit: IntArray, epsilon: float, null_epsilon: float) -> Policy:
    """A policy without grades that has two symbols only, of all cells and, last, of NULL."""
    return Policy(area, epsilon, (0,), np.column_stack([hit, TOTAL - hit]), null_epsilon=null_epsilon)


def graded(area: Area, hit: IntArray, epsilon: float, null_epsilon: float, grade_epsilon: float) -> Policy:
    """A policy with grades whose symbols but `hit` say nothing."""
    quarter = (TOTAL - hit) // 3
    weights = np.column_stack([hit, quarter, quarter, TOTAL - hit - 2 * quarter])
    return Policy(
        area, epsilon, (0,), weights, GRADED, null_epsilon=null_epsilon, grade_epsilon=grade_epsilon, grades=2
    )


@lru_cache(maxsize=64)
def powers(area: Area, epsilon: float, null_epsilon: float, grade_epsilon: float | None) -> list[list[int]]:
    """⌊e^D(i,j) 2^260⌋ of all pairs of inputs."""
    grades = 1 if grade_epsilon is None else 2
    flat = np.tile([0, 0, TOTAL // 2, TOTAL - TOTAL // 2][-2 * grades :], (grades * len(area) + 1, 1))
    names = ("a", "b", "c", "d")[: 2 * grades]
    like = Policy(
        area, epsilon, (0,), flat, names, null_epsilon=null_epsilon, grade_epsilon=grade_epsilon, grades=grades
    )
    with mpmath.workdps(120):
        return [[int(mpmath.floor(mpmath.exp(d) * 2**SHIFT)) for d in row] for row in promised(like)]


def allowed(policy: Policy, row: int, symbol: int) -> tuple[int, int]:
    """Least and largest weight of one symbol in one row that keep every inequality of that symbol."""
    power = powers(policy.area, policy.epsilon_per_km, policy.null_epsilon or 0.0, policy.grade_epsilon)[row]
    least, largest = 1, TOTAL - 1
    for other, weight in enumerate(policy.weights[:, symbol].tolist()):
        if other != row:
            least = max(least, -((-weight << SHIFT) // power[other]))
            largest = min(largest, weight * power[other] >> SHIFT)
    return least, largest


def mutant(policy: Policy, row: int, symbol: int, weight: int) -> Policy:
    """Give one symbol of one row another weight; the others share the difference in proportion."""
    weights = policy.weights.copy()
    others = [s for s in range(weights.shape[1]) if s != symbol]
    left, before = TOTAL - weight, TOTAL - int(weights[row, symbol])
    weights[row, others] = [int(w) * left // before for w in weights[row, others]]
    weights[row, symbol] = weight
    weights[row, others[-1]] += TOTAL - int(weights[row].sum())
    return replace(policy, weights=weights)


# --- at the bound and one unit past it ------------------------------------------------------------------------


@pytest.mark.parametrize("grade_epsilon", [None, 0.05, log(4), log(64)])
@pytest.mark.parametrize("null_epsilon", LEVELS)
def test_what_is_made_is_accepted_and_a_unit_past_the_bound_refused_in_every_row(
    null_epsilon: float, grade_epsilon: float | None
) -> None:
    policy = made(square(2), null_epsilon, grade_epsilon)
    assert certify(policy).ok
    assert not broken_promises(policy)
    for row in range(policy.input_count):
        for symbol in range(len(policy.symbols)):
            least, largest = allowed(policy, row, symbol)
            assert least <= policy.weights[row, symbol] <= largest
            for bad in (least - 1, largest + 1):
                if 0 < bad < TOTAL:
                    assert not certify(mutant(policy, row, symbol, bad)).ok, (row, symbol, bad)


@pytest.mark.parametrize("completion", ["equal", "informative"])
@pytest.mark.parametrize("seed", range(6))
def test_verdicts_about_mutants_are_those_of_all_pairs_of_inputs(seed: int, completion: str) -> None:
    rng = np.random.default_rng(seed)
    area = square(2, 0.7) if seed % 2 else scattered(5, 4.0, seed)
    epsilon, null_epsilon, grade_epsilon = rng.choice([0.2, log(4), 3.0], 3).tolist()
    policy = made(area, null_epsilon, grade_epsilon, epsilon=epsilon, beta=0.3, completion=completion, targets=(0,))
    verdicts = []
    for _ in range(20):
        row, symbol = int(rng.integers(policy.input_count)), int(rng.integers(len(policy.symbols)))
        least, largest = allowed(policy, row, symbol)
        weight = int(rng.choice([least, least - 1, largest, largest + 1, int(policy.weights[row, symbol])]))
        if not 0 < weight < TOTAL:
            continue
        changed = mutant(policy, row, symbol, weight)
        verdicts.append(certify(changed).ok)
        assert verdicts[-1] == (not broken_promises(changed)), (row, symbol, weight)
    assert False in verdicts


def test_a_row_at_the_bound_is_accepted() -> None:
    """Flat cells, so that one row alone is near a bound: it is accepted there, and refused a unit further."""
    area = square(3)
    for null_epsilon, grade_epsilon in ((log(2), 5.0), (5.0, log(2)), (log(4), log(3))):
        flat = graded(area, np.full(19, TOTAL // 512), 1.0, null_epsilon, grade_epsilon)
        assert certify(flat).ok
        for row in (0, 4, 9, 17, 18):
            for bound, past in zip(allowed(flat, row, 0), (-1, 1), strict=True):
                at = mutant(flat, row, 0, bound)
                assert certify(at).ok
                assert not broken_promises(at)
                beyond = certify(mutant(flat, row, 0, bound + past))
                assert not beyond.ok


@pytest.mark.long
def test_1000_rows_one_unit_past_the_bound_are_refused_and_those_at_the_bound_accepted() -> None:
    rng = np.random.default_rng(5)
    looked_at = 0
    while looked_at < 1000:
        area = square(int(rng.integers(2, 5)), 0.5) if rng.random() < 0.5 else scattered(12, 5.0, looked_at)
        epsilon, null_epsilon, grade_epsilon = (float(rng.choice([0.01, *LEVELS])) for _ in range(3))
        rows = 2 * len(area) + 1
        policy = graded(area, np.full(rows, TOTAL // 16), epsilon, null_epsilon, grade_epsilon)
        # Walk to a policy with many inequalities at or near their bounds, row by row.
        for row in rng.permutation(rows).tolist():
            least, largest = allowed(policy, row, 0)
            pushed = mutant(policy, row, 0, min(int(rng.choice([least, largest, (least + largest) // 2])), TOTAL // 4))
            if certify(pushed).ok:
                policy = pushed
        assert not broken_promises(policy)
        for row in rng.choice(rows, 5, replace=False).tolist():
            for bad in (allowed(policy, row, 0)[0] - 1, allowed(policy, row, 0)[1] + 1):
                if 0 < bad < TOTAL:
                    assert not certify(mutant(policy, row, 0, bad)).ok
                    looked_at += 1


# --- who is named ---------------------------------------------------------------------------------------------


def test_a_violation_names_the_cell_the_symbol_and_the_excess() -> None:
    hit = np.append(np.full(9, TOTAL // 8), TOTAL // 2)
    certificate = certify(two_symbols(square(3), hit, 1.0, log(2)))
    assert not certificate.ok
    assert certificate.cells_ok
    assert certificate.null is not None
    worst = certificate.null.witness
    assert worst is not None
    assert (worst.sender, worst.other, worst.symbol, worst.symbol_name) == (9, 0, 0, "hit")
    assert worst.log_ratio == pytest.approx(log(4))
    assert worst.excess == pytest.approx(log(2))
    assert certificate.null.smallest_epsilon == pytest.approx(log(4))
    assert "Being outside is NOT protected at ε₀" in certificate.explain()
    assert "that of NULL, which sends 'hit' e^1.38629 times as often as cell 0" in certificate.explain()
    assert "excess 0.693 in the exponent" in certificate.explain()
    other_way = certify(two_symbols(square(3), np.append(np.full(9, TOTAL // 8), TOTAL // 32), 1.0, log(2)))
    assert "that of cell 0, which sends 'hit' e^1.38629 times as often as NULL" in other_way.explain()


def test_a_violation_between_grades_names_both() -> None:
    hit = np.full(19, TOTAL // 8)
    hit[4] = TOTAL // 4
    certificate = certify(graded(square(3), hit, 1.0, 1.0, 0.5))
    assert not certificate.ok
    assert certificate.cells_ok
    assert certificate.null is not None
    assert certificate.null.ok
    assert certificate.grades is not None
    worst = certificate.grades.witness
    assert worst is not None
    assert (worst.sender_name, worst.other_name) == ("cell 4, grade 1", "cell 4, grade 2")
    assert worst.log_ratio == pytest.approx(log(2))
    assert worst.excess == pytest.approx(log(2) - 0.5)
    assert certificate.grades.smallest_epsilon == pytest.approx(log(2))
    assert "The regularity of visits is NOT protected at ε₁ = 0.5" in certificate.explain()


@pytest.mark.parametrize("grade", [0, 1])
def test_cells_that_are_told_apart_are_found_at_every_grade(grade: int) -> None:
    hit = np.full(19, TOTAL // 8)
    hit[9 * grade + 4] = TOTAL // 4
    certificate = certify(graded(square(3), hit, 0.5, 1.0, 1.0))
    assert not certificate.ok
    assert not certificate.cells_ok
    assert certificate.witness is not None
    assert (certificate.witness.cell, certificate.witness.grade) == (4, grade)
    assert certificate.smallest_epsilon_per_km == pytest.approx(log(2))
    assert f"at grade {grade + 1}" in certificate.explain()
    assert certificate.null is not None
    assert certificate.null.ok
    assert certificate.grades is not None
    assert certificate.grades.ok


@pytest.mark.parametrize("worse", [0, 1])
def test_the_worst_grade_is_shown(worse: int) -> None:
    hit = np.full(19, TOTAL // 8)
    hit[[9 * worse + 4, 9 * (1 - worse) + 2]] = TOTAL // 4, TOTAL // 6
    certificate = certify(graded(square(3), hit, 1.0, 1.0, 1.0))
    assert certificate.ok
    assert certificate.witness is not None
    assert (certificate.witness.cell, certificate.witness.grade) == (4, worse)
    assert certificate.smallest_epsilon_per_km == pytest.approx(log(2))


def test_a_symbol_that_only_some_inputs_send_is_never_private() -> None:
    area = square(3)
    half, never = np.full(9, TOTAL // 2), np.zeros(9, dtype=np.int64)
    for cells, null in ((half, 0), (half, TOTAL), (never, 1)):
        certificate = certify(two_symbols(area, np.append(cells, null), 1.0, 50.0))
        assert not certificate.ok
        assert certificate.null is not None
        assert certificate.null.smallest_epsilon == inf
        assert certificate.null.witness is not None
        assert certificate.null.ok is False
        assert certificate.null.witness.excess == inf
        assert "none: not private at any" in certificate.null.smallest_shown
        assert "infinitely" in certificate.explain()
    assert certify(two_symbols(area, np.append(never, 0), 1.0, 0.1)).ok
    one_grade = graded(area, np.concatenate([half, never, [TOTAL // 2]]), 1.0, 50.0, 50.0)
    certificate = certify(one_grade)
    assert certificate.cells_ok
    assert certificate.grades is not None
    assert certificate.grades.smallest_epsilon == inf


@pytest.mark.parametrize(("null", "worst"), [(TOTAL // 2, (9, 4)), (0, (4, 9))])
def test_the_one_pair_of_which_only_one_sends_a_symbol_is_named(null: int, worst: tuple[int, int]) -> None:
    """Cell 4 alone differs from being outside: it alone never sends the symbol, or it alone sends it."""
    cells = np.full(9, null)
    cells[4] = TOTAL // 2 - null
    found = certify(two_symbols(square(3), np.append(cells, null), 1.0, 50.0)).null
    assert found is not None
    assert found.witness is not None
    assert (found.witness.sender, found.witness.other, found.witness.symbol) == (*worst, 0)
    assert found.witness.log_ratio == inf


# --- refined symbols, counts, and several faults at once ------------------------------------------------------


def test_every_refined_symbol_is_checked() -> None:
    policy = made(square(2), log(16), log(4), completion="informative", targets=(1,))
    refined = policy.completion
    assert refined is not None
    assert certify(policy).ok
    verdicts = set()
    for row in range(policy.input_count):
        for use in range(len(refined.weights)):
            rows = refined.row.copy()
            rows[row] = use
            changed = replace(policy, completion=Completion(refined.cells, rows, refined.weights))
            certificate = certify(changed)
            assert certificate.ok == (not broken_promises(changed))
            verdicts.add(certificate.ok)
    assert verdicts == {True, False}


def test_equal_rows_cost_nothing_and_no_row_leaves_the_certificate_as_it_was() -> None:
    area = square(3)
    flat = np.full(9, TOTAL // 4)
    clear = certify(Policy(area, 1.0, (0,), np.column_stack([flat, TOTAL - flat])))
    assert clear.null is None
    assert clear.grades is None
    assert "outside" not in clear.explain()
    assert clear.inequalities == 9 * 8 * 2
    equal = certify(two_symbols(area, np.full(10, TOTAL // 4), 1.0, 1e-9))
    assert equal.ok
    assert equal.null is not None
    assert equal.null.smallest_epsilon == 0.0
    assert equal.null.witness is None
    assert "All inputs send every symbol equally often" in equal.explain()
    assert equal.inequalities == clear.inequalities + 2 * 9 * 2
    both = certify(graded(area, np.full(19, TOTAL // 4), 1.0, 1e-9, 1e-9))
    assert both.ok
    assert both.grades is not None
    assert both.grades.smallest_epsilon == 0.0
    assert both.inequalities == (2 * 9 * 8 + 2 * 9 + 2 * 18) * 4


def test_exact_comparisons_of_cells_grades_and_outside_are_added_up() -> None:
    """Weights 4 : 1 at claims of ln 4: no interval decides these, between grades and between cells and outside."""
    at = float(np.nextafter(log(4), 2))
    hit = np.repeat([TOTAL // 4, TOTAL // 16], [4, 5])
    certificate = certify(graded(square(2), hit, 1.0, at, at))
    assert certificate.ok
    assert certificate.null is not None
    assert certificate.grades is not None
    assert certificate.null.exact_comparisons == certificate.grades.exact_comparisons == 4
    assert certificate.exact_comparisons == 8


def test_one_fault_does_not_hide_another() -> None:
    """Cells, grades and outside, each alone and all together."""
    area = square(3)
    for broken in range(8):
        hit = np.full(19, TOTAL // 4)
        if broken & 1:  # one cell, at both grades
            hit[[0, 9]] = TOTAL // 3
        if broken & 2:  # all cells of the lower grade
            hit[9:18] = (hit[9:18] * 1.05).astype(np.int64)
        if broken & 4:
            hit[18] = TOTAL // 100
        certificate = certify(graded(area, hit, 0.1, 0.4, 0.03))
        assert certificate.null is not None
        assert certificate.grades is not None
        found = (not certificate.cells_ok) + 2 * (not certificate.grades.ok) + 4 * (not certificate.null.ok)
        assert found == broken
        assert certificate.ok == (broken == 0)
        said = certificate.explain()
        assert ("NOT private at ε" in said) == bool(broken & 1)
        assert ("NOT protected at ε₁" in said) == bool(broken & 2)
        assert ("NOT protected at ε₀" in said) == bool(broken & 4)
