"""Make the policy without obfuscation: everyone names their own cell. It is not private at any ε.

Comparisons use it as the upper end of the scale.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.policy.baselines.tables import check_table_size, table_policy
from crowdveil.policy.checks import DEFAULT_BITS
from crowdveil.policy.policy import Policy


def identity(area: Area, prior: ArrayLike | None, targets: ArrayLike, epsilon_per_km: float) -> Policy:
    """Make the policy P(c|l) = 1 if c = l, else 0. It is not private at the ε that is passed in, nor at any other."""
    weights = np.eye(check_table_size(area), dtype=np.int64) << DEFAULT_BITS
    return table_policy(area, prior, targets, epsilon_per_km, weights, method="identity")
