"""Update the prior after one round, as Algorithm 2 prints it: the mean of the reporters' posteriors.

With n_s how many of the N reporters sent symbol s, π'_l = Σ_s (n_s / N) π(l|s). This is one step of
expectation-maximisation, so that it needs counts per symbol only, not who sent what.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_prior
from crowdveil.prior.rounds import Round


def round_update(prior: ArrayLike | None, reports: Round) -> FloatArray:
    """Compute the mean of all reporters' posteriors; return the prior itself if nobody has reported."""
    return _mean_posterior(check_prior(prior, len(reports.policy)), reports)


def round_update_with_null(prior: ArrayLike | None, null_share: float, reports: Round) -> tuple[FloatArray, float]:
    """Do the same with all inputs of a protected policy: from the inputs ((1-ν) π, ν) to a new π and a new ν."""
    policy = reports.policy
    pi = check_prior(prior, len(policy), policy.grades)
    found = _mean_posterior(policy.input_prior(prior, null_share), reports)
    placed = float(found[:-1].sum())
    return (found[:-1].reshape(pi.shape) / placed if placed > 0 else pi), float(found[-1])


def _mean_posterior(inputs: FloatArray, reports: Round) -> FloatArray:
    if not reports.reports:
        return inputs
    table = reports.policy.table()
    chance = inputs @ table
    sent = reports.counts > 0
    if (chance[sent] == 0).any():
        symbol = int(np.flatnonzero(sent & (chance == 0))[0])
        raise InputError(
            "counts", reports.policy.symbol_name(symbol), "was sent, but has the probability 0 under this prior"
        )
    weight = np.divide(reports.counts, chance, out=np.zeros(len(chance)), where=sent)
    return np.asarray(inputs * (table @ weight) / reports.reports)
