"""Compute the closure with NULL, "no frequent place", as one more input at the distance ε₀ from every cell.

With p_0 = P(hit | NULL), privacy between NULL and every cell is the pair of hops of closure.py over D = ε₀, both ways.
Let φ(p) = max( p e^{-ε₀}, 1 - (1-p) e^{ε₀} ), the better of the two hops.

**The least policy above target probabilities x** is the closure without NULL, raised to one constant:

    p_0 = φ(x_max),        p_l = max( closure(x)_l, φ(p_0) ),        x_max = max_t x_t

Proof. No hop raises a probability, so the largest probability of any cell is x_max, and φ increases: NULL is raised to
φ(x_max), by the best target directly. From NULL every cell is one hop away, so all of them are raised to φ(p_0), and a
further hop gives at most φ(p_0), which every cell has already. Chains that do not pass NULL are the closure. ∎

φ(φ(x)) is the largest of three linear pieces (1 - (1-x) e^a) e^{-b}, with (a, b) = (0, 2ε₀), (ε₀, ε₀) and (2ε₀, 0):
both hops flat, steep then flat, both steep; flat then steep is never better (closure.py). So the constant is one more
set of `LinearPieces`, and search, upper bound and proof of optimality for one or many targets stay what they are
(quota_shift.py, optimum.py), with NULL as input number n and the share of people without a place as its prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.policy.solver.closure import MIN_SCORE, ClosureMap, LinearPieces
from crowdveil.policy.solver.laplace_scale import log_chances


@dataclass(frozen=True)
class NullInput:
    """How NULL is protected, and how many people it is expected to stand for."""

    epsilon: float
    """ε₀"""
    share: float
    """ν: share of people without a frequent place."""

    def inputs(self, prior: FloatArray) -> FloatArray:
        """Return the prior of all inputs: (1-ν) π of the cells, then ν of NULL."""
        return np.append((1 - self.share) * prior, self.share)


class NullClosure(ClosureMap):
    """The closure of all cells and, last, of NULL."""

    def __init__(self, area: Area, targets: ArrayLike, epsilon_per_km: float, null_epsilon: float) -> None:
        super().__init__(area, targets, epsilon_per_km)
        self.null_epsilon = null_epsilon

    def __call__(self, scores: FloatArray) -> LinearPieces:
        """Compute the closure at the probabilities F(scores)."""
        cells = super().__call__(scores)
        floor, floor_target, floor_hops = self._best(scores, hops=2)
        null, null_target, null_hops = self._best(scores, hops=1)
        low = cells.log_hit < floor
        away = self.null_epsilon * np.arange(3)

        def with_null(own: FloatArray | IntArray, at_floor: float, at_null: float) -> np.ndarray:
            return np.append(np.where(low, at_floor, own), at_null)

        # `via` only has to distinguish pieces of one target: numbers beyond all inputs stand for chains through NULL.
        beyond = len(self.area) + 1
        return LinearPieces(
            log_hit=with_null(cells.log_hit, floor, null),
            target=with_null(cells.target, floor_target, null_target),
            via=with_null(cells.via, beyond + floor_hops, beyond + 3 + null_hops),
            steep=with_null(cells.steep, away[floor_hops], away[null_hops]),
            flat=with_null(cells.flat, away[2 - floor_hops], away[1 - null_hops]),
        )

    def _best(self, scores: FloatArray, hops: int) -> tuple[float, int, int]:
        """Return the largest log probability after `hops` hops from any target, that target, and how many are steep."""
        log_x, log_rest = log_chances(np.maximum(scores, MIN_SCORE))
        values = np.full((len(scores), hops + 1), -np.inf)
        values[:, 0] = log_x - hops * self.null_epsilon
        for steep in range(1, hops + 1):
            log_left = log_rest + steep * self.null_epsilon
            some = log_left < 0
            values[some, steep] = np.log(-np.expm1(log_left[some])) - (hops - steep) * self.null_epsilon
        target, best = divmod(int(values.argmax()), hops + 1)
        return float(values[target, best]), target, best
