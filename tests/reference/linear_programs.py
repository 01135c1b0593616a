"""Slow, readable linear programs: the paper's own, and the reduced one with every row, with a dual bound.

Both are written as  min c·p  s.t.  A p ≤ b,  E p = f,  0 ≤ p ≤ 1, with the objective scaled to -Σ_T π_t p_t / β.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_diag, csr_array, hstack, vstack

from crowdveil.arrays import FloatArray

ATTEMPTS = (
    (1e4, 1e-10, "highs-ds"),
    (1.0, 1e-10, "highs-ds"),
    (1e2, 1e-10, "highs-ds"),
    (1e2, 1e-10, "highs-ipm"),
    (1e4, 1e-9, "highs-ipm"),
)
"""HiGHS's tolerances are absolute; scaling quota and objective up makes them relative, but it may then give up. Each
answer gives a bound that holds; the least is taken, for one alone may be off by its tolerance without showing it."""


@dataclass(frozen=True)
class Program:
    objective: FloatArray
    inequality: csr_array
    limit: FloatArray
    equality: csr_array
    fixed: FloatArray

    def solve(self, method: str, tolerance: float | None = None) -> Any:
        """What scipy's HiGHS says."""
        names = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        return linprog(
            self.objective,
            A_ub=self.inequality,
            b_ub=self.limit,
            A_eq=self.equality,
            b_eq=self.fixed,
            bounds=(0, 1),
            method=method,
            options={} if tolerance is None else dict.fromkeys(names, tolerance),
        )


def literal_program(D: FloatArray, prior: FloatArray, targets: list[int], beta: float) -> Program:
    """Algorithm 1 as printed: n² variables P(c|l), all n³ privacy rows with e^{+D}; l̂ is the first column."""
    n = len(prior)
    one, two, column = (axis.ravel() for axis in np.meshgrid(*[np.arange(n)] * 3, indexing="ij"))
    apart = one != two
    one, two, column = one[apart], two[apart], column[apart]
    row = np.arange(len(one))
    inequality = csr_array(
        (
            np.concatenate([np.ones(len(row)), -np.exp(D[one, two])]),
            (np.tile(row, 2), np.concatenate([one * n + column, two * n + column])),
        ),
        shape=(len(row), n * n),
    )
    sums = csr_array((np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n))), shape=(n, n * n))
    chosen = np.arange(n) * n
    quota = csr_array((prior, (np.zeros(n, dtype=int), chosen)), shape=(1, n * n))
    objective = np.zeros(n * n)
    objective[chosen[targets]] = -prior[targets] / beta
    return Program(objective, inequality, np.zeros(len(row)), vstack([sums, quota]), np.append(np.ones(n), beta))


def literal_lp(D: FloatArray, prior: FloatArray, targets: list[int], beta: float) -> float:
    """The optimum of the paper's program: the least of two answers, for breaking rows by a tolerance only adds."""
    program = literal_program(D, prior, targets, beta)
    answers = [program.solve(method, 1e-10) for method in ("highs-ds", "highs-ipm")]
    assert answers[0].status == 0, answers[0].message
    return min(-float(answer.fun) for answer in answers if answer.status == 0)


def reduced_program(D: FloatArray, prior: FloatArray, targets: list[int], beta: float, scale: float = 1.0) -> Program:
    """The n-variable program, every row written so that no coefficient exceeds 1 (docs/explanations/mathematics.md)."""
    n = len(prior)
    one, two = np.nonzero(~np.eye(n, dtype=bool))
    fall = np.exp(-D[one, two])
    m = len(one)
    at = np.arange(m)
    # e^{-D} p_i - p_j ≤ 0   and   p_i - e^{-D} p_j ≤ 1 - e^{-D}
    flat = csr_array((np.r_[fall, -np.ones(m)], (np.r_[at, at], np.r_[one, two])), shape=(m, n))
    steep = csr_array((np.r_[np.ones(m), -fall], (np.r_[at, at], np.r_[one, two])), shape=(m, n))
    objective = np.zeros(n)
    objective[targets] = -prior[targets] * (scale / beta)
    return Program(
        objective,
        vstack([flat, steep]).tocsr(),
        np.r_[np.zeros(m), -np.expm1(-D[one, two])],
        csr_array(prior[None] * (scale / beta)),
        np.array([scale]),
    )


def reduced_dual_bound(D: FloatArray, prior: FloatArray, targets: list[int], beta: float) -> float:
    """A bound of Σ_T π_t p_t / β by weak duality, computed here from the solver's multipliers, good or bad."""
    bounds = []
    for scale, tolerance, method in ATTEMPTS:
        program = reduced_program(D, prior, targets, beta, scale)
        answer = program.solve(method, tolerance)
        if answer.status != 0:
            continue
        multipliers = np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0)
        price = -float(np.asarray(answer.eqlin.marginals)[0])
        # for any multipliers ≥ 0 and any price, with 0 ≤ p ≤ 1
        left = -program.objective - program.inequality.T @ multipliers - price * (prior * (scale / beta))
        bound = float(program.limit @ multipliers) + price * scale + float(np.maximum(left, 0.0).sum())
        bounds.append(bound / scale)
    return min(bounds)


def stacked_lp(D: FloatArray, prior: FloatArray, worth: FloatArray, betas: FloatArray) -> float:
    """The largest mean of V_t with a symbol for each target, as the better of two methods finds it."""
    program = stacked_program(D, prior, worth, betas)
    answers = [program.solve(method, 1e-10) for method in ("highs-ds", "highs-ipm")]
    return min(-float(answer.fun) for answer in answers if answer.status == 0)


def stacked_program(D: FloatArray, prior: FloatArray, worth: FloatArray, betas: FloatArray) -> Program:
    """The mean of V_t with a symbol for each target: every privacy row of every column and of the rest.

    `worth` has a row for each target: what a device with each input counts for it.
    """
    z, n = worth.shape
    one, two = np.nonzero(~np.eye(n, dtype=bool))
    fall = np.exp(-D[one, two])
    at = np.arange(len(one))
    flat = csr_array((np.r_[fall, -np.ones(len(at))], (np.r_[at, at], np.r_[one, two])), shape=(len(at), n))
    columns = block_diag([flat] * z, format="csr")
    # r_j ≥ e^{-D} r_i with r = 1 - Σ p:  Σ_t p_j - e^{-D} Σ_t p_i ≤ 1 - e^{-D}
    rest = csr_array((np.r_[np.ones(len(at)), -fall], (np.r_[at, at], np.r_[two, one])), shape=(len(at), n))
    quotas = np.kron(np.diag(1 / betas), prior)
    return Program(
        -(worth * prior / (z * betas[:, None])).ravel(),
        vstack([columns, hstack([rest] * z)]).tocsr(),
        np.r_[np.zeros(z * len(at)), 1 - fall],
        csr_array(quotas),
        np.ones(z),
    )
