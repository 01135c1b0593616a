"""Compute where the sender of a symbol is likely to be.

With π the prior over cells and P(s|l) the policy, the posterior is π(l|s) = π_l P(s|l) / Σ_k π_k P(s|k).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray, as_cells
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_grade_chances, check_prior
from crowdveil.policy.policy import Policy


def posterior(prior: ArrayLike | None, policy: Policy, symbol: int) -> FloatArray:
    """Compute π(l|s): where the sender of a symbol is, given that there is a place; with grades, π(l, g|s)."""
    (column,) = as_cells("symbol", [symbol], policy.symbol_count).tolist()
    pi = check_prior(prior, len(policy), policy.grades)
    joint = pi * policy.table()[: pi.size, column].reshape(pi.shape)
    if not joint.any():
        raise InputError("symbol", symbol, "should be a symbol that somebody sends under this prior")
    return np.asarray(joint / joint.sum())


def target_chances(
    prior: ArrayLike | None,
    policy: Policy,
    targets: Sequence[int] | None = None,
    null_share: float = 0.0,
    grade_chances: Sequence[float] | None = None,
) -> FloatArray:
    """Compute Σ_T π(t|s) for every symbol s: the probability that its sender's place is a target (0 if nobody sends s).

    `targets` defaults to the policy's own. With a share ν of senders outside, who are at no target, it is
    (1-ν) Σ_T π_t P(s|t) / ( (1-ν) Σ π_l P(s|l) + ν P(s|NULL) ). With grades the sums run over cells and grades, and a
    visitor of a target counts with the chance of their grade, `grade_chances`; by default only grade 0 counts.
    """
    pi = policy.input_prior(prior, null_share)
    table = policy.table()
    sent = pi @ table
    worth = policy.worth(policy.targets if targets is None else targets, grade_chances)
    return np.divide((pi * worth) @ table, sent, out=np.zeros(len(sent)), where=sent > 0)


def place_chances(
    prior: ArrayLike | None,
    policy: Policy,
    places: Sequence[int],
    null_share: float = 0.0,
    grade_chances: Sequence[float] | None = None,
) -> FloatArray:
    """Compute Σ_g w_g π(t, g|s) for every symbol s and each of some places t, shape (symbols, places).

    This is the probability that the sender of s comes to t; over the places of `target_chances` it adds up to that.
    """
    cells = as_cells("places", places, len(policy))
    pi = policy.input_prior(prior, null_share)
    table = policy.table()
    sent = pi @ table
    chances: FloatArray = np.zeros((len(sent), len(cells)))
    for grade, chance in enumerate(check_grade_chances(grade_chances, policy.grades)):
        rows = grade * len(policy) + cells
        chances += chance * (pi[rows, None] * table[rows]).T
    return np.divide(chances, sent[:, None], out=np.zeros_like(chances), where=sent[:, None] > 0)
