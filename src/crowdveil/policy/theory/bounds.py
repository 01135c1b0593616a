"""Bound the value of every private policy, for any β: Lemma 2, and Lemma 5 corrected."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.policy.checks import check_epsilon, check_prior, check_targets


def lemma2_bound(area: Area, prior: ArrayLike | None, target: int, *, epsilon_per_km: float) -> float:
    """Bound the value for one target:  V ≤ π_t / Σ_l π_l e^{-D_lt}."""
    epsilon = check_epsilon(epsilon_per_km)
    (cell,) = check_targets([target], len(area))
    pi = check_prior(prior, len(area))
    near = float(pi @ np.exp(-epsilon * area.distances_km([cell])[0]))
    return float(pi[cell]) / near if near else 0.0


def lemma5_bound(area: Area, prior: ArrayLike | None, targets: ArrayLike, *, epsilon_per_km: float) -> float:
    """Bound the value for several targets:  V ≤ ( 1 + Σ_{l∉T} π_l / Σ_t π_t e^{D_lt} )^{-1}.

    The paper's proof reaches this line and then replaces 1/Σ by Σ1/, which is larger, so that its printed bound is too
    small: feasible policies exceed it. This bound is the line before that step.
    """
    epsilon = check_epsilon(epsilon_per_km)
    cells = list(check_targets(targets, len(area)))
    pi = check_prior(prior, len(area))
    if not pi[cells].any():
        return 0.0
    with np.errstate(divide="ignore"):
        log_prior = np.log(pi)
    log_reach = scipy.special.logsumexp(epsilon * area.distances_km(cells) + log_prior[cells, None], axis=0)
    outside = np.setdiff1d(np.arange(len(area)), cells)
    return 1 / (1 + float(np.exp(log_prior[outside] - log_reach[outside]).sum()))
