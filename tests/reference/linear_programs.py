"""Slow, readable linear programs: the paper's own, and the reduced one with every row, each with a dual bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from crowdveil.arrays import FloatArray, IntArray

OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
ATTEMPTS = (
    (1e4, 1e-10, "highs-ds"),
    (1.0, 1e-10, "highs-ds"),
    (1e2, 1e-10, "highs-ds"),
    (1e4, 1e-9, "highs-ds"),
    (1.0, 1e-10, "highs-ipm"),
)
"""HiGHS's tolerances are absolute; scaling β and the objective up makes them relative, but sometimes it then gives
up."""


@dataclass(frozen=True)
class Answer:
    value: float
    """What the solver says is the optimum of Σ_T π_t p_t / β."""
    dual_bound: float
    """A bound of it by weak duality, computed here from the solver's multipliers whatever their quality."""


def literal_lp(D: FloatArray, prior: FloatArray, targets: list[int], beta: float, method: str = "highs-ds") -> float:
    """Algorithm 1 as printed: n² variables P(c|l), all n³ privacy rows with e^{+D}; returns the optimum / β."""
    n = len(prior)
    chosen = 0

    def column(c: int) -> IntArray:
        return np.arange(n) * n + c

    rows, cols, vals = [], [], []
    row = 0
    for one in range(n):
        for two in range(n):
            if one != two:
                for c in range(n):
                    rows += [row, row]
                    cols += [one * n + c, two * n + c]
                    vals += [1.0, -np.exp(D[one, two])]
                    row += 1
    inequality = csr_array((vals, (rows, cols)), shape=(row, n * n))
    sums = csr_array((np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n))), shape=(n, n * n))
    quota = csr_array((prior, (np.zeros(n, dtype=int), column(chosen))), shape=(1, n * n))
    objective = np.zeros(n * n)
    objective[column(chosen)[targets]] = -prior[targets] / beta
    answer = linprog(
        objective,
        A_ub=inequality,
        b_ub=np.zeros(row),
        A_eq=vstack([sums, quota]),
        b_eq=np.append(np.ones(n), beta),
        bounds=(0, 1),
        method=method,
        options=OPTIONS if method == "highs-ds" else {},
    )
    assert answer.status == 0, answer.message
    return -float(answer.fun)


def reduced_lp(D: FloatArray, prior: FloatArray, targets: list[int], beta: float) -> Answer:
    """The n-variable program, every row written so that no coefficient exceeds 1 (MATH 2)."""
    n = len(prior)
    one, two = np.nonzero(~np.eye(n, dtype=bool))
    fall = np.exp(-D[one, two])
    m = len(one)
    at = np.arange(m)
    # e^{-D} p_i - p_j ≤ 0   and   p_i - e^{-D} p_j ≤ 1 - e^{-D}
    flat = csr_array((np.r_[fall, -np.ones(m)], (np.r_[at, at], np.r_[one, two])), shape=(m, n))
    steep = csr_array((np.r_[np.ones(m), -fall], (np.r_[at, at], np.r_[one, two])), shape=(m, n))
    inequality = vstack([flat, steep]).tocsr()
    limit = np.r_[np.zeros(m), -np.expm1(-D[one, two])]
    gain = np.zeros(n)
    gain[targets] = prior[targets] / beta
    answers = []
    for scale, tolerance, method in ATTEMPTS:
        answer = linprog(
            -gain * scale,
            A_ub=inequality,
            b_ub=limit,
            A_eq=csr_array(prior[None] * (scale / beta)),
            b_eq=[scale],
            bounds=(0, 1),
            method=method,
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )
        if answer.status != 0:
            continue
        multipliers = np.maximum(-np.asarray(answer.ineqlin.marginals), 0.0) / scale
        price = -float(np.asarray(answer.eqlin.marginals)[0])
        # weak duality: for any multipliers ≥ 0 and any price, with 0 ≤ p ≤ 1
        left = gain - inequality.T @ multipliers - price * prior / beta
        bound = float(limit @ multipliers) + price + float(np.maximum(left, 0.0).sum())
        answers.append(Answer(-float(answer.fun) / scale, bound))
        if bound <= answers[-1].value * (1 + 1e-11):
            break
    return min(answers, key=lambda a: a.dual_bound)
