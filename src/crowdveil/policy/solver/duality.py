"""Compute upper bounds by duality: the largest Σ c_t x_t, 0 ≤ x ≤ 1, under one linear inequality.

This is a fractional knapsack problem, solved by sorting.

The inequality is a mixture of pieces, each a lower bound of some π_l p_l, so every feasible x satisfies it:

    Σ_t A_t - B_t (1 - x_t) ≤ β,        or the same with  A_t - B_t + B_t x_t.

There are two forms, because floating point is accurate near 0 only: small probabilities are counted from 0, large ones
from 1.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import FloatArray


def bound_from_zero(gain: FloatArray, beta: float, at_zero: float, rising: FloatArray) -> float:
    """Compute max Σ c_t x_t  s.t.  at_zero + Σ_t rising_t x_t ≤ β; targets with most gain per quota come first."""
    left = beta - at_zero
    value = 0.0
    with np.errstate(divide="ignore"):
        worth = np.where(rising > 0, gain / np.maximum(rising, 1e-300), np.inf)
    for t in np.argsort(-worth, kind="stable"):
        x = 1.0 if rising[t] <= left else left / float(rising[t])
        value += float(gain[t]) * x
        left -= float(rising[t]) * x
        if left <= 0:
            break
    return value


def bound_from_one(gain: FloatArray, beta: float, constant: float, falling: FloatArray, log_rest: FloatArray) -> float:
    """Compute max Σ c_t x_t  s.t.  constant - Σ_t falling_t · (1 - x_t)/rest_t ≤ β.

    With v = 1 - x: pay c_t v_t to remove `constant - β`; the cheapest targets per unit removed pay first. `falling` is
    B_t·rest_t for reference values rest = e^{log_rest}, which keep numbers in range where B_t alone overflows.
    """
    need = constant - beta
    cost = 0.0
    with np.errstate(divide="ignore"):
        price = np.where(falling > 0, np.log(gain) + log_rest, np.inf) - np.log(np.maximum(falling, 1e-300))
    for t in np.argsort(price, kind="stable"):
        if need <= 0 or falling[t] <= 0:
            break
        v = min(1.0, float(np.exp(np.minimum(np.log(need / falling[t]) + log_rest[t], 0.0))))
        cost += float(gain[t]) * v
        removed = float(falling[t]) * float(np.exp(min(-float(log_rest[t]), 700.0))) * v
        need = 0.0 if v < 1.0 else need - removed
    return float(gain.sum()) - cost
