"""Compute where the sender of a symbol is likely to be.

With π the prior over cells and P(s|l) the policy, the posterior is π(l|s) = π_l P(s|l) / Σ_k π_k P(s|k).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray, as_cells
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_null_share, check_prior
from crowdveil.policy.policy import Policy


def posterior(prior: ArrayLike | None, policy: Policy, symbol: int) -> FloatArray:
    """Compute π(l|s): where the sender of a symbol is, given that there is a place."""
    (column,) = as_cells("symbol", [symbol], policy.symbol_count).tolist()
    joint = check_prior(prior, len(policy)) * policy.table()[:, column]
    if not joint.any():
        raise InputError("symbol", symbol, "should be a symbol that somebody sends under this prior")
    return np.asarray(joint / joint.sum())


def target_chances(
    prior: ArrayLike | None, policy: Policy, targets: Sequence[int] | None = None, null_share: float = 0.0
) -> FloatArray:
    """Compute Σ_T π(t|s) for every symbol s: the probability that its sender's place is a target (0 if nobody sends s).

    `targets` defaults to the policy's own. With a share ν of senders without a place, who are at no
    target, it is (1-ν) Σ_T π_t P(s|t) / ( (1-ν) Σ π_l P(s|l) + ν P(s|NULL) ).
    """
    pi = (1 - check_null_share(null_share)) * check_prior(prior, len(policy))
    table = policy.table()
    sent = pi @ table
    if null_share:
        sent = sent + null_share * policy.null_table()
    wanted = list(policy.targets if targets is None else targets)
    return np.divide(pi[wanted] @ table[wanted], sent, out=np.zeros(len(sent)), where=sent > 0)
