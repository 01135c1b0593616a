"""Make the policy of the exponential mechanism over cells: distant cells have exponentially small probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.policy.baselines.tables import check_table_size, table_policy, uniform_share
from crowdveil.policy.checks import check_epsilon, check_prior, check_targets
from crowdveil.policy.policy import Policy
from crowdveil.policy.rounding import round_private

ERROR = 1e-14
"""Bound of the floating-point error of an entry: an exponential over a sum of at most 3,000 positive terms."""


def exponential(area: Area, prior: ArrayLike | None, targets: ArrayLike, epsilon_per_km: float) -> Policy:
    """Make the policy of the exponential mechanism, P(c|l) = e^{-ε d(l,c)/2} / Σ_k e^{-ε d(l,k)/2}.

    Private at ε: moving from l to l' changes the numerator by at most a factor e^{ε d(l,l')/2} (triangle
    inequality), and the sum below it by at most as much again.
    """
    n = check_table_size(area)
    epsilon = check_epsilon(epsilon_per_km)
    check_prior(prior, n)
    check_targets(targets, n)
    share = uniform_share(area, epsilon, ERROR)
    # Beyond 1,400 the term is below the smallest double; the cap keeps a huge ε from overflowing to infinity.
    rate = min(epsilon, 1e300 / max(1.0, float(np.ptp(area.xy_m))))
    table = np.exp(-np.minimum(rate * area.distances_km(np.arange(n)) / 2, 700.0))
    table /= table.sum(axis=1, keepdims=True)
    weights = round_private(table, share)
    method = "exponential mechanism"
    return table_policy(area, prior, targets, epsilon, weights, method=method, uniform_share=share)
