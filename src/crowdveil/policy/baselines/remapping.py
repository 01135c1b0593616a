"""Remap what a policy reports to the place that is best on average, given where people are.

Chatzikokolakis, ElSalamouny and Palamidessi, "Efficient utility improvement for location privacy" (PoPETs 2017). With
π the prior, a report z is replaced by the cell that lies nearest to its sender on average,

    r(z) = argmin_w  Σ_x π(x|z) d(x,w),        π(x|z) = π_x P(z|x) / Σ_k π_k P(z|k).

No other rule that sees z alone, random or not, has a smaller expected distance between the true place and what stands
for it: the expectation is Σ_z P(z) Σ_x π(x|z) d(x, r(z)), and each summand is least by itself. The rule uses the report
and the prior, never the place, so it is post-processing: whatever ε the policy has, it keeps.

Cells stand for the plane here, as everywhere in this project: reports are cells, and so is what they are remapped to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.policy.checks import check_prior
from crowdveil.policy.policy import Policy


def remapped_cells(policy: Policy, prior: ArrayLike | None) -> IntArray:
    """Find the cell with the least expected distance for every symbol; of equal ones the first.

    A symbol that nobody sends under this prior says nothing, so that π itself decides where it is remapped to.
    """
    cost = expected_distances_km(policy, prior)
    return np.asarray(cost.argmin(axis=0))


def expected_distances_km(policy: Policy, prior: ArrayLike | None) -> FloatArray:
    """Compute Σ_x π(x|z) d(w,x) for every cell w and every symbol z, shape (cells, symbols)."""
    pi = check_prior(prior, len(policy))
    joint = pi[:, None] * policy.table()
    sent = joint.sum(axis=0)
    posterior = np.divide(joint, sent, out=np.repeat(pi[:, None], len(sent), axis=1), where=sent > 0)
    return np.asarray(policy.area.distances_km(np.arange(len(policy))) @ posterior)
