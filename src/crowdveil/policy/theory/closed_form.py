"""Compute a closed form that is always private, and optimal in the limit of dense cells.

    p_l = F( max_t (s_t - D_lt) ),      F the distribution function of the standard Laplace distribution

max_t (s_t - D_lt) changes by at most D_ij between cells i and j, and F turns a change by D into a factor of at most
e^D in p and in 1 - p (its log-derivative is 1 on one side of 0 and its complement's on the other, below 1 elsewhere).
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, as_floats
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_epsilon, check_prior, check_targets
from crowdveil.policy.solver.laplace_scale import log_chances


def closed_form_hit(area: Area, targets: ArrayLike, scores: ArrayLike, *, epsilon_per_km: float) -> FloatArray:
    """Compute F(max_t(s_t - D_lt)) for given scores of the targets (in their sorted order)."""
    epsilon = check_epsilon(epsilon_per_km)
    cells = check_targets(targets, len(area))
    s = as_floats("scores", scores)
    if s.shape != (len(cells),) or not np.isfinite(s).all():
        raise InputError("scores", scores, f"should be one finite number for each of {len(cells)} targets")
    height = (s[:, None] - epsilon * area.distances_km(list(cells))).max(axis=0)
    return np.exp(log_chances(height)[0])


def closed_form_for_quota(
    area: Area, prior: ArrayLike | None, targets: ArrayLike, *, epsilon_per_km: float, beta: float
) -> FloatArray:
    """Compute the closed form with equal scores, chosen so that Σ π p = β."""
    pi = check_prior(prior, len(area))
    if not 0 < beta < 1:
        raise InputError("beta", beta, "should lie strictly between 0 and 1")
    epsilon = check_epsilon(epsilon_per_km)
    nearest = epsilon * area.distances_km(list(check_targets(targets, len(area)))).min(axis=0)

    def excess(score: float) -> float:
        return float(pi @ np.exp(log_chances(score - nearest)[0])) - beta

    low, high = -1.0, 1.0
    while excess(low) > 0:
        low *= 2
    while excess(high) < 0:
        high *= 2
    score = scipy.optimize.brentq(excess, low, high, xtol=1e-14, rtol=1e-15)
    return np.exp(log_chances(float(score) - nearest)[0])
