"""Check NULL, a device without a frequent place, against every cell.

    for all cells l and every symbol s:    P(s | NULL) ≤ e^{ε₀} P(s | l)    and    P(s | l) ≤ e^{ε₀} P(s | NULL)

These are the inequalities of Definition 1 between NULL and a cell that lies 1 km away, at ε₀ per km. So the arithmetic
that decides pairs of cells decides these: intervals first, whole numbers where an interval contains ε₀.
"""

from __future__ import annotations

from math import inf

import numpy as np

from crowdveil.certify.certificate import NullFinding, NullWitness
from crowdveil.certify.claim import PrivacyClaim
from crowdveil.certify.columns import Columns
from crowdveil.certify.findings import Candidate, Findings
from crowdveil.policy.checks import check_null_epsilon
from crowdveil.policy.policy import Policy


def check_null(policy: Policy) -> NullFinding | None:
    """Test the row for NULL at the ε₀ that the policy states; return None if it has no such row."""
    if policy.null_epsilon is None:
        return None
    epsilon = check_null_epsilon(policy.null_epsilon)
    columns, n = Columns.with_null(policy), len(policy)
    where_m = np.zeros((n + 1, 2), dtype=np.int64)
    where_m[n, 0] = 1000
    findings = Findings(columns, where_m, PrivacyClaim(epsilon))
    cells, null = np.arange(n), np.full(n, n)
    for symbol in range(columns.count):
        never = columns.never(symbol)
        sent_by_one = np.flatnonzero(never[:n] != never[n])
        if len(sent_by_one):
            cell = int(sent_by_one[0])
            worst = (cell, n, symbol) if never[n] else (n, cell, symbol)
            return NullFinding(False, epsilon, inf, _witness(findings, worst, n), findings.exact_comparisons)
        if not never[n]:
            findings.consider(cells, null, np.full(n, symbol))
            findings.consider(null, cells, np.full(n, symbol))
    found = None if findings.witness is None else _witness(findings, findings.witness, n)
    return NullFinding(findings.ok, epsilon, findings.rounded_up, found, findings.exact_comparisons)


def _witness(findings: Findings, worst: Candidate, n: int) -> NullWitness:
    sender, other, symbol = worst
    weight, against = findings.columns.exact(sender, symbol), findings.columns.exact(other, symbol)
    loss = inf
    if against:
        loss = float(findings.columns.log_quotients(*(np.array([index]) for index in worst))[0][0])
    screened = loss - findings.claim.epsilon_per_km
    excess = findings.claim.excess(weight, against, findings.squared_m(sender, other), screened)
    cell, log_ratio = (other, loss) if sender == n else (sender, -loss)
    return NullWitness(cell, symbol, findings.columns.name(symbol), log_ratio, excess)
