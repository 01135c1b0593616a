"""Compute Theorem 1: the optimum for one target while probabilities are small, with its threshold τ.

    p_l = θ e^{-D_lt},   θ ≤ τ = min over l1, l2 of  (e^{D_12} - 1) / (e^{D_12 - D_2t} - e^{-D_1t})

As printed, the minimum divides by zero for l1 = l2 and wherever l1 lies on the straight line from t to l2
(D_2t = D_1t + D_12): there 1 - p cannot rise too fast whatever θ is, so these pairs impose nothing and are skipped.
τ < 1 always: l2 = t gives (1 - e^{-D})/(1 - e^{-2D}) = 1/(1 + e^{-D}).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_epsilon, check_prior, check_targets

ROWS_AT_ONCE = 256


def theorem1_threshold(area: Area, target: int, *, epsilon_per_km: float) -> float:
    """Compute τ over all pairs of cells, some rows at a time."""
    epsilon = check_epsilon(epsilon_per_km)
    (cell,) = check_targets([target], len(area))
    to_target = epsilon * area.distances_km([cell])[0]
    tau = 1.0
    for first in range(0, len(area), ROWS_AT_ONCE):
        one = np.arange(first, min(first + ROWS_AT_ONCE, len(area)))
        apart = epsilon * area.distances_km(one)
        # numerator and denominator divided by e^{D_12}, so that nothing overflows
        rise = -np.expm1(-apart)
        fall = np.exp(-to_target)[None, :] - np.exp(-to_target[one, None] - apart)
        binding = fall > rise * 1e-9
        tau = min(tau, float((rise[binding] / fall[binding]).min(initial=1.0)))
    return tau


def theorem1_hit(area: Area, prior: ArrayLike | None, target: int, *, epsilon_per_km: float, beta: float) -> FloatArray:
    """Compute θ e^{-D_lt} with Σ π p = β; refuse a β that needs θ > τ."""
    tau = theorem1_threshold(area, target, epsilon_per_km=epsilon_per_km)
    near = np.exp(-epsilon_per_km * area.distances_km([target])[0])
    theta = beta / float(check_prior(prior, len(area)) @ near)
    if not theta <= tau:
        what = f"needs θ = {theta:.6g} above τ = {tau:.6g}, beyond Theorem 1; use optimal_policy, or a smaller β"
        raise InputError("beta", beta, what)
    hit: FloatArray = theta * near
    return hit
