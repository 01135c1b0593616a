"""Measure how far an estimated prior is from the true one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.policy.checks import check_prior


def divergence(true: ArrayLike, estimate: ArrayLike) -> float:
    """Compute the Kullback-Leibler divergence Σ π ln(π / π̂) in nats; infinite where π̂ is 0 and π is not."""
    p = check_prior(true, np.size(true))
    q = check_prior(estimate, len(p))
    there = p > 0
    if (q[there] == 0).any():
        return float("inf")
    return max(0.0, float((p[there] * (np.log(p[there]) - np.log(q[there]))).sum()))
