"""The iterative Bayesian update, which qif computes, as its formula reads: maximum likelihood, without smoothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.prior import Round

SETTLED, MAX_STEPS = 1e-6, 10_000
"""qif's own threshold, and a limit on steps."""


def iterative_bayesian_update(rounds: Sequence[Round], start: FloatArray) -> FloatArray:
    """Repeat the mean of all reporters' posteriors until no input's share changes; `start` is of all inputs."""
    table = np.hstack([one.policy.table() for one in rounds])
    sent = np.concatenate([one.counts for one in rounds])
    table, frequency = table[:, sent > 0], sent[sent > 0] / sent.sum()
    shares = start
    for _ in range(MAX_STEPS):
        found = shares * (table @ (frequency / (shares @ table)))
        change = float(np.abs(found - shares).max())
        shares = found / found.sum()
        if change <= SETTLED:
            break
    return shares
