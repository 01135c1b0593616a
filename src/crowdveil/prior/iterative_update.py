"""Estimate the prior by iterative Bayesian update: expectation-maximisation without any smoothing.

With the policy P_r of round r and n_rs how often its symbol s was sent, a step replaces the shares θ by the mean of all
reporters' posteriors,

    θ'_l = (1/N) Σ_r Σ_s n_rs  θ_l P_r(s|l) / Σ_k θ_k P_r(s|k).

Each step can only increase the likelihood of what was sent (it is expectation-maximisation), which is concave in θ;
from a start with full support the steps converge to its maximum (Agrawal and Aggarwal 2001; ElSalamouny and
Palamidessi 2020 for several mechanisms). PRIVIC learns with it. With few reports the maximum follows their noise:
`pooled_estimate`, which crowdveil uses, does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_prior
from crowdveil.prior.rounds import Round

MAX_STEPS = 1_000
SETTLED = 1e-6
"""No share moves by more than this in the last step."""
MIN_SHARE = 1e-12
"""A share that vanished is kept at this, because the next mechanism and estimate start from full support."""


def iterative_update(
    rounds: Sequence[Round], start: ArrayLike | None = None, *, max_steps: int = MAX_STEPS
) -> FloatArray:
    """Repeat the update over all rounds until the shares settle; return the start if nobody has reported."""
    if not rounds:
        raise InputError("rounds", [], "should be one or more rounds")
    theta = check_prior(start, len(rounds[0].policy))
    for number, one in enumerate(rounds):
        if one.policy.null_epsilon is not None:
            field = f"rounds[{number}].policy.null_epsilon"
            raise InputError(field, one.policy.null_epsilon, "should be None: this update is for the clear form")
    if len({one.policy.area for one in rounds}) > 1:
        raise InputError("rounds", len(rounds), "should all be over the same area")
    columns = [one.policy.table()[:, one.counts > 0] for one in rounds]
    table = np.hstack(columns)
    counts = np.concatenate([one.counts[one.counts > 0] for one in rounds])
    if not counts.size:
        return theta
    share = counts / counts.sum()
    for _ in range(max_steps):
        sent = theta @ table
        if not sent.all():
            expected = "should have full support: a symbol that was sent is impossible under it"
            raise InputError("start", float(theta.min()), expected)
        after = theta * (table @ (share / sent))
        moved = float(np.abs(after - theta).max())
        theta = after
        if moved <= SETTLED:
            break
    theta = np.maximum(theta, MIN_SHARE)
    return np.asarray(theta / theta.sum())
