"""Convert between probabilities and the Laplace scale: quantiles of the standard Laplace distribution.

    F(s) = e^s / 2  for s < 0,        F(s) = 1 - e^{-s} / 2  for s ≥ 0

On this scale both families of privacy constraints are the same one: a score may fall by at most D when the place moves
by D. Probabilities are kept as log p *and* log(1-p), so that neither 1e-300 nor 1 - 1e-300 loses digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray

LN2 = float(np.log(2.0))


def log_chances(score: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Compute log F(s) and log(1 - F(s))."""
    s = np.asarray(score, dtype=np.float64)
    far = -np.abs(s) - LN2
    near = np.log1p(-np.exp(far))
    return np.where(s < 0, far, near), np.where(s < 0, near, far)


def score_of(log_chance: ArrayLike) -> FloatArray:
    """Invert `log_chances`, given log p alone; accurate while 1 - p is above 1e-16."""
    lp = np.asarray(log_chance, dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_rest = np.log(-np.expm1(np.minimum(lp, 0.0)))
    return np.where(lp < -LN2, lp + LN2, -(log_rest + LN2))
