"""Meeting the quota: shift all targets' scores together until Σ π_l p_l = β.

With one target this *is* the optimum: everything but p_t should be as small as privacy allows, so p is the closure
of p_t, and Σ π p increases with p_t. With several it turns any proposal into a feasible policy.

At fixed scores every cell lies on one linear piece of one target's chance (closure.py), so Σ π p along the shift has
the lower bound  Σ_t A_t - B_t (1 - x_t)  with  A_t = Σ π_l e^{-D_kl},  B_t = Σ π_l e^{D_tk - D_kl}  over the cells
of t. It is exact where it was taken; its root is the next shift. Σ π p is convex and increasing in each x, so this
is Newton's method for a convex function: from the first step on it approaches from above and ends at the root after
few pieces.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from crowdveil.arrays import FloatArray
from crowdveil.policy.closure import LEAST_SCORE, ClosureMap, Pieces
from crowdveil.policy.scale import log_chances

LONGEST_STEP = 8.0
"""Pieces taken at small chances say little about large ones: shift no farther at once, twice as far the next time."""
MAX_STEPS = 500


def shift_to_quota(
    closure: ClosureMap,
    prior: FloatArray,
    beta: float,
    scores: FloatArray,
    start: Pieces | None = None,
) -> tuple[FloatArray, Pieces]:
    """Shift scores by one common number until Σ π p = β (to some units in the last place).

    `start` may be given where the closure at `scores` is known already.
    """
    tolerance = 32 * np.finfo(float).eps * beta
    best: tuple[float, FloatArray, Pieces] | None = None
    longest = LONGEST_STEP
    for _ in range(MAX_STEPS):
        pieces = start or closure(scores)
        start = None
        reached = float(prior @ np.exp(pieces.log_hit))
        miss = abs(reached - beta)
        if best is not None and best[0] < 1e-12 * beta and miss >= best[0]:
            break
        if best is None or miss < best[0]:
            best = miss, scores, pieces
        if miss <= tolerance:
            break
        step = _model_root(pieces, prior, beta, scores, longest)
        if step == 0.0:
            break
        longest = 2 * longest if abs(step) == longest else LONGEST_STEP
        scores = np.maximum(scores + step, LEAST_SCORE)
    if best is None or best[0] > 1e-9 * beta:
        raise ArithmeticError(f"no shift of the scores reaches beta = {beta}")
    return best[1], best[2]


def _model_root(pieces: Pieces, prior: FloatArray, beta: float, scores: FloatArray, longest: float) -> float:
    """Shift, by at most `longest`, at which the pieces' lower bound of Σ π p equals β.

    A target below 1/2 is followed through x_t and one above through 1 - x_t: neither form cancels digits there, and the
    products with e^{D_tk} stay below 1 where e^{D_tk} alone may overflow.
    """
    log_x, log_rest = log_chances(scores)
    high = (scores >= 0)[pieces.target]
    reach = pieces.steep - pieces.flat
    moving = np.where(
        high, -np.exp(reach + log_rest[pieces.target]), np.exp(np.minimum(reach + log_x[pieces.target], 700.0))
    )
    still = np.exp(-pieces.flat) * np.where(high, 1.0, -np.expm1(np.where(high, 0.0, pieces.steep)))
    constant = float(prior @ still)
    slope = np.bincount(pieces.target, prior * moving, len(scores))

    def excess(step: float) -> float:
        moved_x, moved_rest = log_chances(scores + step)
        change = np.where(scores >= 0, moved_rest - log_rest, moved_x - log_x)
        return constant + float(slope @ np.exp(np.minimum(change, 700.0))) - beta

    here = excess(0.0)
    end = longest if here < 0 else -longest
    there = excess(end)
    if here == 0.0:
        return 0.0
    if (here < 0) == (there < 0):
        return end
    return float(brentq(excess, min(0.0, end), max(0.0, end), xtol=1e-17, rtol=1e-15, maxiter=300))
