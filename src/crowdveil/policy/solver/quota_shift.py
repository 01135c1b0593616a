"""Meet the quota: shift the scores of all targets together until Σ π_l p_l = β.

With one target this *is* the optimum: everything but p_t should be as small as privacy allows, so p is the closure
of p_t, and Σ π p increases with p_t. With several it turns any proposal into a feasible policy.

At fixed scores every cell lies on one linear piece in one target's probability (closure.py), so Σ π p along the shift
has the lower bound  Σ_t A_t - B_t (1 - x_t)  with  A_t = Σ π_l e^{-D_kl},  B_t = Σ π_l e^{D_tk - D_kl}  over the cells
of t. It is exact where it was taken; its root is the next shift. Σ π p is convex and increasing in each x, so this is
Newton's method for a convex function: after the first step it approaches from above and ends at the root after few
pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from crowdveil.arrays import FloatArray
from crowdveil.policy.solver.closure import MIN_SCORE, ClosureMap, LinearPieces
from crowdveil.policy.solver.laplace_scale import log_chances

MAX_STEP = 8.0
"""Pieces at small probabilities say little about large ones: a step is limited, and the limit doubles each time."""
MAX_STEPS = 500


def shift_to_quota(
    closure: ClosureMap,
    prior: FloatArray,
    beta: float,
    scores: FloatArray,
    start: LinearPieces | None = None,
) -> tuple[FloatArray, LinearPieces]:
    """Shift scores by one common number until Σ π p = β (to some units in the last place).

    `start` may be given where the closure at `scores` is known already. Where neighbouring doubles of the scores jump
    across β (probabilities near 1 that determine distant cells), the policies on both sides are mixed: private
    policies form a convex set, and Σ π p is linear on it.
    """
    tolerance = 32 * np.finfo(float).eps * beta
    below: _Side | None = None
    above: _Side | None = None
    longest = MAX_STEP
    for _ in range(MAX_STEPS):
        pieces = start or closure(scores)
        start = None
        reached = float(prior @ np.exp(pieces.log_hit))
        if abs(reached - beta) <= tolerance:
            return scores, pieces
        here = _Side(reached, scores, pieces)
        if reached < beta:
            stuck = below is not None and reached <= below.reached
            below = here if below is None or not stuck else below
        else:
            stuck = above is not None and reached >= above.reached
            above = here if above is None or not stuck else above
        step = _model_root(pieces, prior, beta, scores, longest)
        if stuck or step == 0.0 or (scores + step == scores).all():
            break
        longest = 2 * longest if abs(step) == longest else MAX_STEP
        scores = np.maximum(scores + step, MIN_SCORE)
    return _mixed(*_around(closure, prior, beta, below, above), beta)


@dataclass(frozen=True)
class _Side:
    """A point on one side of the quota."""

    reached: float
    scores: FloatArray
    pieces: LinearPieces


def _around(
    closure: ClosureMap, prior: FloatArray, beta: float, below: _Side | None, above: _Side | None
) -> tuple[_Side, _Side]:
    """Return the two nearest known points on either side of β; search with growing steps for a missing one."""
    known = below or above
    if known is None:
        raise ArithmeticError(f"no shift was tried for beta = {beta}")
    step = float(np.spacing(np.abs(known.scores).max() + 1.0))
    while below is None or above is None:
        scores = np.maximum(known.scores + (step if above is None else -step), MIN_SCORE)
        pieces = closure(scores)
        side = _Side(float(prior @ np.exp(pieces.log_hit)), scores, pieces)
        if side.reached <= beta:
            below = side if below is None or above is None else below
        else:
            above = side if above is None or below is None else above
        step *= 2
    return below, above


def _mixed(below: _Side, above: _Side, beta: float) -> tuple[FloatArray, LinearPieces]:
    """Mix both sides so that Σ π p = β; use the chains of the nearer side, which are valid lower bounds."""
    if above.reached == below.reached:
        return above.scores, above.pieces
    share = (beta - below.reached) / (above.reached - below.reached)
    nearer = above if share >= 0.5 else below
    with np.errstate(divide="ignore"):
        parts = np.log(share) + above.pieces.log_hit, np.log1p(-share) + below.pieces.log_hit
    return nearer.scores, replace(nearer.pieces, log_hit=np.logaddexp(*parts))


def _model_root(pieces: LinearPieces, prior: FloatArray, beta: float, scores: FloatArray, longest: float) -> float:
    """Find the shift, at most `longest`, at which the pieces' lower bound of Σ π p equals β.

    A target below 1/2 is expressed through x_t and one above through 1 - x_t: neither form loses digits there, and the
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
    return float(scipy.optimize.brentq(excess, min(0.0, end), max(0.0, end), xtol=1e-17, rtol=1e-15, maxiter=300))
