"""Certify a policy, or any table, against Definition 1.

    for all cells i, j and every symbol s:    P(s | i) ≤ e^{ε d(i,j)} P(s | j),     d in km

The smallest such ε is the largest loss per km, ρ(i,j,s) = ln(P(s|i) / P(s|j)) / d(i,j). `BlockSearch` finds it
with error bounds; the inequalities that these bounds leave undecided at the claimed ε are decided in whole
numbers. The cells of each grade are compared with one another. A protected policy must also keep the ε₀ and the ε₁ that
it states between NULL and every other input, and between grades (protection.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.certify.certificate import Certificate, ProtectionFinding, Witness
from crowdveil.certify.claim import PrivacyClaim
from crowdveil.certify.columns import Columns
from crowdveil.certify.findings import Candidate, Findings
from crowdveil.certify.inputs import read_table
from crowdveil.certify.protection import check_grades, check_null
from crowdveil.certify.search import BlockSearch
from crowdveil.policy.checks import check_epsilon
from crowdveil.policy.policy import Policy
from crowdveil.vocabulary import Progress


def certify(policy: Policy, *, epsilon_per_km: float | None = None, progress: Progress | None = None) -> Certificate:
    """Test P(s|i) ≤ e^{ε d(i,j)} P(s|j) for all i, j, s, at a given ε (default: the policy's own).

    NULL is tested against every other input, and each grade against the next, at the ε₀ and ε₁ that the policy states.
    """
    epsilon = check_epsilon(policy.epsilon_per_km if epsilon_per_km is None else epsilon_per_km)
    columns, n = Columns.of(policy), len(policy)
    by_grade = [columns.rows(grade * n, (grade + 1) * n) for grade in range(policy.grades)]
    return _certify(policy.area, by_grade, epsilon, policy.hash, progress, check_null(policy), check_grades(policy))


def certify_table(
    area: Area, table: ArrayLike, epsilon_per_km: float, *, progress: Progress | None = None
) -> Certificate:
    """Test a table with one row per cell and one column per symbol.

    Whole numbers are weights, with equal row totals. Floats are probabilities, taken as exactly the numbers
    they are; row sums may differ from 1 by 1e-9.
    """
    weights = read_table(table, len(area))
    columns = Columns(weights, lambda symbol: f"column {symbol}")
    return _certify(area, [columns], check_epsilon(epsilon_per_km), "", progress)


def smallest_epsilon(policy: Policy) -> float:
    """Compute max over i, j, s of ln(P(s|i) / P(s|j)) / d(i,j), rounded up; infinite if only one of them is 0."""
    return certify(policy).smallest_epsilon_per_km


class _GradeResult(NamedTuple):
    """What was found between the cells of one grade."""

    findings: Findings
    one_sided: Candidate | None
    pairs_opened: int

    @property
    def ok(self) -> bool:
        return self.one_sided is None and self.findings.ok

    @property
    def smallest_epsilon_per_km(self) -> float:
        return inf if self.one_sided else self.findings.rounded_up


def _certify(
    area: Area,
    by_grade: Sequence[Columns],
    epsilon: float,
    policy_hash: str,
    progress: Progress | None,
    null: ProtectionFinding | None = None,
    grades: ProtectionFinding | None = None,
) -> Certificate:
    results = [_check_cells(area, columns, epsilon, progress) for columns in by_grade]
    # The worst grade is shown: one that breaks the claim before one that does not, then the larger loss.
    worst_grade = max(range(len(results)), key=lambda one: (not results[one].ok, results[one].smallest_epsilon_per_km))
    shown = results[worst_grade]
    worst = shown.one_sided or shown.findings.witness
    cells_ok = all(one.ok for one in results)
    further = [one for one in (null, grades) if one is not None]
    return Certificate(
        ok=cells_ok and all(one.ok for one in further),
        epsilon_per_km=epsilon,
        smallest_epsilon_per_km=max(one.smallest_epsilon_per_km for one in results),
        witness=None if worst is None else _witness(shown.findings, worst, worst_grade),
        policy_hash=policy_hash,
        cells=len(area),
        symbols=by_grade[0].count,
        pairs_opened=sum(one.pairs_opened for one in results),
        exact_comparisons=sum(one.findings.exact_comparisons for one in results)
        + sum(one.exact_comparisons for one in further),
        cells_ok=cells_ok,
        null=null,
        grades=grades,
        grade_count=len(by_grade),
    )


def _check_cells(area: Area, columns: Columns, epsilon: float, progress: Progress | None) -> _GradeResult:
    findings = Findings(columns, area.xy_m, PrivacyClaim(epsilon))
    opened = 0
    one_sided = _one_sided(area, columns)
    if one_sided is None:
        search = BlockSearch(area, columns, findings, progress)
        search.run([symbol for symbol in range(columns.count) if columns.varies(symbol)])
        opened = search.pairs.pairs_opened
    if progress is not None and opened == 0:
        progress(1, 1)
    return _GradeResult(findings, one_sided, opened)


def _one_sided(area: Area, columns: Columns) -> Candidate | None:
    """Find a symbol that only some cells send: its most likely sender, and the nearest cell that never sends it."""
    for symbol in range(columns.count):
        never = np.flatnonzero(columns.never(symbol))
        if 0 < len(never) < len(area):
            cell = int(columns.logs(symbol)[0].argmax())
            apart = area.xy_m[never] - area.xy_m[cell]
            return cell, int(never[(apart * apart).sum(axis=1).argmin()]), symbol
    return None


def _witness(findings: Findings, worst: Candidate, grade: int) -> Witness:
    cell, other, symbol = worst
    squared_m = findings.squared_m(cell, other)
    distance_km = float(np.sqrt(float(squared_m))) / 1000.0
    weight, against = findings.columns.exact(cell, symbol), findings.columns.exact(other, symbol)
    if against == 0:
        log_ratio = inf
    else:
        log_ratio = float(findings.columns.log_quotients(*(np.array([index]) for index in worst))[0][0])
    screened = log_ratio - findings.claim.epsilon_per_km * distance_km
    excess = findings.claim.excess(weight, against, squared_m, screened)
    name = findings.columns.name(symbol)
    return Witness(cell, other, symbol, name, distance_km, log_ratio, excess, grade)
