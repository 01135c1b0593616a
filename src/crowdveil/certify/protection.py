"""Check the losses of a protected policy that do not depend on distance: being outside, and grades.

    for every cell l, grade g and symbol s:
        P(s | NULL) ≤ e^{ε₀} P(s | l,g)      P(s | l,g)   ≤ e^{ε₀} P(s | NULL)          (outside)
        P(s | l,g)  ≤ e^{ε₁} P(s | l,g+1)    P(s | l,g+1) ≤ e^{ε₁} P(s | l,g)           (grades)

Together with Definition 1 between the cells of each grade (checker.py) these imply all that a policy promises, and it
promises all of them: by the triangle inequality (l, g) and (l', g') differ by at most ε d(l, l') + ε₁ |g - g'|, going
from l to l' at one grade and then grade by grade, and by at most 2 ε₀, going by way of NULL.

These are the inequalities of Definition 1 between inputs that lie 1 km apart, at ε₀ or ε₁ per km. So the arithmetic
that decides pairs of cells decides these: intervals first, whole numbers where an interval contains the claim.
"""

from __future__ import annotations

from math import inf

import numpy as np

from crowdveil.arrays import IntArray
from crowdveil.certify.certificate import ProtectionFinding, ProtectionWitness
from crowdveil.certify.claim import PrivacyClaim
from crowdveil.certify.columns import Columns
from crowdveil.certify.findings import Candidate, Findings
from crowdveil.policy.checks import check_grade_epsilon, check_null_epsilon
from crowdveil.policy.policy import Policy

KM = 1000
"""Inputs that are compared are put one kilometre apart, so that a loss per km is the loss."""
_MAX_PAIRS_AT_ONCE = 1 << 16
"""Pairs of inputs and symbols that are tested at once: many symbols of a small area, one of a large area."""


def check_null(policy: Policy) -> ProtectionFinding | None:
    """Test the row for NULL at the ε₀ that the policy states; return None if it has no such row."""
    if policy.null_epsilon is None:
        return None
    last = policy.input_count - 1
    where_m = np.zeros((last + 1, 2), dtype=np.int64)
    where_m[last, 0] = KM
    inputs = np.arange(last)
    return _check(policy, check_null_epsilon(policy.null_epsilon), where_m, np.full(last, last), inputs)


def check_grades(policy: Policy) -> ProtectionFinding | None:
    """Test each grade against the next, in every cell, at the ε₁ that the policy states; None without grades."""
    if policy.grade_epsilon is None:
        return None
    n = len(policy)
    where_m = np.zeros((policy.input_count, 2), dtype=np.int64)
    where_m[: n * policy.grades, 0] = np.repeat(KM * np.arange(policy.grades), n)
    regular = np.arange(n * (policy.grades - 1))
    return _check(policy, check_grade_epsilon(policy.grade_epsilon), where_m, regular, regular + n)


def _check(policy: Policy, epsilon: float, where_m: IntArray, ones: IntArray, others: IntArray) -> ProtectionFinding:
    """Test all symbols between each of `ones` and the input of the same position in `others`."""
    columns = Columns.of(policy)
    findings = Findings(columns, where_m, PrivacyClaim(epsilon))
    at_once = max(1, _MAX_PAIRS_AT_ONCE // max(1, len(ones)))
    for first in range(0, columns.count, at_once):
        symbols = np.arange(first, min(first + at_once, columns.count))
        never = np.stack([columns.never(int(symbol)) for symbol in symbols])
        position, pair = np.nonzero(never[:, ones] != never[:, others])
        if len(position):
            one, other, symbol = int(ones[pair[0]]), int(others[pair[0]]), int(symbols[position[0]])
            worst = (other, one, symbol) if never[position[0], one] else (one, other, symbol)
            return ProtectionFinding(False, epsilon, inf, _witness(policy, findings, worst), findings.exact_comparisons)
        position, pair = np.nonzero(~never[:, ones])
        findings.consider(ones[pair], others[pair], symbols[position])
        findings.consider(others[pair], ones[pair], symbols[position])
    found = None if findings.witness is None else _witness(policy, findings, findings.witness)
    return ProtectionFinding(findings.ok, epsilon, findings.rounded_up, found, findings.exact_comparisons)


def _witness(policy: Policy, findings: Findings, worst: Candidate) -> ProtectionWitness:
    sender, other, symbol = worst
    weight, against = findings.columns.exact(sender, symbol), findings.columns.exact(other, symbol)
    loss = inf
    if against:
        loss = float(findings.columns.log_quotients(*(np.array([index]) for index in worst))[0][0])
    screened = loss - findings.claim.epsilon_per_km
    excess = findings.claim.excess(weight, against, findings.squared_m(sender, other), screened)
    return ProtectionWitness(
        sender,
        other,
        input_name(policy, sender),
        input_name(policy, other),
        symbol,
        findings.columns.name(symbol),
        loss,
        excess,
    )


def input_name(policy: Policy, number: int) -> str:
    """Name an input: `NULL`, `cell 17`, or `cell 17, grade 2`."""
    grade, cell = divmod(number, len(policy))
    if policy.null_epsilon is not None and number == policy.input_count - 1:
        return "NULL"
    return f"cell {cell}" if policy.grades == 1 else f"cell {cell}, grade {grade + 1}"
