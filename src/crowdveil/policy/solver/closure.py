"""Compute the closure: the least private policy that is at least as large as given probabilities at the targets.

Let D_ij = ε·d(i, j). Privacy of the symbol `hit` and of its complement are, for all i, j,

    flat    p_j ≥ p_i e^{-D_ij}            steep    p_j ≥ 1 - (1 - p_i) e^{D_ij}

so the least p above target probabilities x is, at each cell, the largest value that any chain of flat and steep hops
from a target gives to that cell.

**Two hops suffice.**   p_l = max over targets t and cells k of  (1 - (1 - x_t) e^{D_tk}) · e^{-D_kl}

i.e. one steep hop from t to k, then one flat hop from k to l (either may stay where it is). Proof:

1. From a probability p, with u = e^D, flat minus steep is p/u - 1 + (1-p)u = ((1-p)u - p)(u - 1)/u. So flat is the
   better hop exactly when u ≥ p/(1-p), and then it lands at p/u ≤ 1-p ≤ 1/2 or, for p ≤ 1/2, anywhere: *a hop that
   lands above 1/2 is best steep; a hop from at or below 1/2 is best flat.*
2. Two flat hops in a row are no better than the direct flat hop, two steep ones no better than the direct steep hop,
   both by the triangle inequality.
3. A flat hop (landing at q = p e^{-a}) followed by a steep one of b: if q ≤ 1/2, the second is no better than flat,
   and 2 applies; if q > 1/2, the first is no better than steep, and 2 applies. So flat followed by steep never helps.

Hence every chain is dominated by one steep hop followed by one flat hop. The reverse is clear: each is a real chain.

The steep hop to k is better than the flat one only where D_tk < logit(x_t): these cells and the targets are the *core*,
and only they can be k. On dense cells the best k lies where the straight line from t to l crosses p = 1/2; that guess
gives a lower bound so good that whole blocks of (l, k) are excluded at once, and large areas take nearly linear time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.area.blocks import LEAF_CELLS
from crowdveil.arrays import BoolArray, FloatArray, IntArray, as_cells, as_floats
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_epsilon
from crowdveil.policy.solver.laplace_scale import log_chances

DENSE_CELLS = 1500
"""Up to this many cells all distances are kept (18 MB); above, only those from targets."""
CROSSING_CANDIDATES = 4
"""Cells tried where the path to a cell crosses 1/2: each makes many other comparisons unnecessary."""
CHUNK_PAIRS = 4_000_000
"""Pairs of cells considered together: limits the memory of a step to some 100 MB."""
MIN_SCORE = -600.0
"""Probabilities are kept above 1e-261; published weights are far coarser."""


@dataclass(frozen=True)
class LinearPieces:
    """A closure, and for each cell the chain that gives its value: the linear piece that is active there.

    p_l = (1 - (1 - x_t) e^{D_tk}) e^{-D_kl}  with t = `target[l]` (a position in the list of targets), k = `via[l]`.
    Every piece is a valid lower bound of p_l for *all* x, because the chain does not depend on x.
    """

    log_hit: FloatArray
    target: IntArray
    via: IntArray
    steep: FloatArray
    """D_tk"""
    flat: FloatArray
    """D_kl"""


class ClosureMap:
    """The closure as a function of the targets' scores (probabilities on the Laplace scale)."""

    def __init__(self, area: Area, targets: ArrayLike, epsilon_per_km: float) -> None:
        self.area = area
        self.epsilon_per_km = epsilon_per_km
        self.targets = as_cells("targets", targets, len(area))
        self.seeds = self.targets
        """The inputs whose probabilities are given, in the order of the scores: here the cells of the targets."""
        self.from_targets = epsilon_per_km * area.distances_km(self.targets)
        self._cells = np.arange(len(area))

    def __call__(self, scores: FloatArray) -> LinearPieces:
        """Compute the closure at the probabilities F(scores)."""
        log_x, log_rest = log_chances(np.maximum(scores, MIN_SCORE))
        log_left = log_rest[:, None] + self.from_targets
        best_target = log_left.argmin(axis=0)
        in_core: BoolArray = np.any(log_left < log_x[:, None], axis=0)
        in_core[self.targets] = True
        core = np.flatnonzero(in_core)
        log_steep_hit = np.log(-np.expm1(log_left[best_target[core], core]))
        if len(self.area) <= DENSE_CELLS:
            via, flat = self._best_via_dense(core, log_steep_hit)
        elif len(core) == len(self.targets):
            via, flat = self._best_via_targets(log_steep_hit)
        else:
            via, flat = self._best_via_blocks(core, log_steep_hit, scores)
        log_hit = log_steep_hit[via] - flat
        cells = core[via]
        target = best_target[cells]
        return LinearPieces(log_hit, target, cells, self.from_targets[target, cells], flat)

    # --- max over k of log y_k - D_kl: three methods for three sizes -----------------------------------

    def _best_via_dense(self, core: IntArray, log_steep_hit: FloatArray) -> tuple[IntArray, FloatArray]:
        away = self._all_distances[core]
        via = (log_steep_hit[:, None] - away).argmax(axis=0)
        return via, away[via, self._cells]

    def _best_via_targets(self, log_steep_hit: FloatArray) -> tuple[IntArray, FloatArray]:
        away = self.from_targets[np.argsort(self.targets, kind="stable")]
        via = (log_steep_hit[:, None] - away).argmax(axis=0)
        return via, away[via, self._cells]

    def _best_via_blocks(
        self, core: IntArray, log_steep_hit: FloatArray, scores: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        via, least = self._crossing_guess(core, log_steep_hit, scores)
        for leaves, candidates in self._open_blocks(core, log_steep_hit, least):
            self._improve(leaves, candidates, core, log_steep_hit, via, least)
        return via, self._away(core[via], self._cells)

    def _crossing_guess(
        self, core: IntArray, log_steep_hit: FloatArray, scores: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Find a good k for every cell: the core cell nearest to where the path from the best target crosses 1/2."""
        margin = scores[:, None] - self.from_targets
        target = margin.argmax(axis=0)
        distance = self.from_targets[target, self._cells]
        share = np.clip(scores[target], 0.0, distance) / np.maximum(distance, 1e-300)
        start = self.area.xy_m[self.targets[target]]
        crossing = start + share[:, None] * (self.area.xy_m - start)
        nearest = np.asarray(self.area.tree.query(crossing, k=CROSSING_CANDIDATES)[1])
        position = np.full(len(self.area), -1)
        position[core] = np.arange(len(core))
        via = position[self.targets[target]]
        least = log_steep_hit[via] - self._away(core[via], self._cells)
        for guess in (*nearest.T, self._cells):
            at = position[guess]
            value = np.where(at >= 0, log_steep_hit[at] - self._away(core[at], self._cells), -np.inf)
            via, least = np.where(value > least, at, via), np.maximum(value, least)
        return via, least

    def _open_blocks(
        self, core: IntArray, log_steep_hit: FloatArray, least: FloatArray
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield pairs (leaf, k) that may improve on `least` somewhere in the leaf, because both tests fail:

        boxes    log y_k - ε·(distance of k to the leaf)  ≤  min least
        slopes   log y_k + ε u·x_k  ≤  min (least_l + ε u·x_l)      since u·(x_l - x_k) ≤ d(k, l) for |u| = 1

        with u pointing from the nearest target to the leaf. Leaves against leaves first, then leaves against cells.
        """
        per_m = self.epsilon_per_km / 1000.0
        leaves, order, members = self.area.blocks.leaves, self.area.blocks.order, self._members
        xy_m = self.area.xy_m.astype(np.float64)
        low, high = leaves.low_m.astype(np.float64), leaves.high_m.astype(np.float64)
        middle, half = (low + high) / 2, (high - low) / 2
        u = middle - xy_m[self.targets[self._nearest_target[order[leaves.starts[:-1]]]]]
        u *= per_m / np.maximum(np.hypot(u[:, 0], u[:, 1]), 1e-9)[:, None]
        worst = leaves.minima(least[order])
        tilted_worst = (least[members] + (xy_m[members] * u[:, None, :]).sum(axis=2)).min(axis=1)
        position = np.full(len(self.area), -1)
        position[core] = np.arange(len(core))
        member = position[members]
        height = np.where(member >= 0, log_steep_hit[member], -np.inf)
        highest = height.max(axis=1)
        some_core = np.flatnonzero(highest > -np.inf)
        step = max(1, CHUNK_PAIRS // len(some_core))
        for first in range(0, len(leaves), step):
            some = slice(first, first + step)
            gap = _gap_m(low[some, None], high[some, None], low[some_core], high[some_core])
            tilt = u[some] @ middle[some_core].T + np.abs(u[some]) @ half[some_core].T
            leaf, other = np.nonzero(
                (highest[some_core] - per_m * gap > worst[some, None])
                & (highest[some_core] + tilt > tilted_worst[some, None])
            )
            leaf, other = leaf + first, some_core[other]
            for start in range(0, len(leaf), CHUNK_PAIRS // LEAF_CELLS):
                part = slice(start, start + CHUNK_PAIRS // LEAF_CELLS)
                box, point = leaf[part, None], xy_m[members[other[part]]]
                tops = height[other[part]]
                gap = _gap_m(low[box], high[box], point, point)
                tilt = (u[box] * point).sum(axis=2)
                pair, at = np.nonzero((tops - per_m * gap > worst[box]) & (tops + tilt > tilted_worst[box]))
                if len(pair):
                    yield leaf[part][pair], member[other[part][pair], at]

    def _improve(
        self,
        leaves: IntArray,
        candidates: IntArray,
        core: IntArray,
        log_steep_hit: FloatArray,
        via: IntArray,
        least: FloatArray,
    ) -> None:
        """Try k for all cells of each undecided leaf; write improvements into `via` and `least`."""
        members = self._members
        step = max(1, CHUNK_PAIRS // members.shape[1])
        for first in range(0, len(leaves), step):
            leaf, k = leaves[first : first + step], candidates[first : first + step]
            starts = np.flatnonzero(np.r_[True, np.diff(leaf) > 0])
            cells = members[leaf]
            value = log_steep_hit[k][:, None] - self._away(core[k][:, None], cells)
            best = np.maximum.reduceat(value, starts, axis=0)
            group = np.cumsum(np.r_[False, np.diff(leaf) > 0])
            chosen = np.where(value == best[group], k[:, None], -1)
            chosen = np.maximum.reduceat(chosen, starts, axis=0)
            where = members[leaf[starts]]
            better = best > least[where]
            least[where[better]] = best[better]
            via[where[better]] = chosen[better]

    # --- distances and blocks, made when first needed ---------------------------------------------------

    def _away(self, cells: IntArray, others: IntArray) -> FloatArray:
        """Compute ε·d pair by pair."""
        x, y = (self.area.xy_m[cells, i] - self.area.xy_m[others, i] for i in (0, 1))
        away: FloatArray = self.epsilon_per_km * (np.sqrt((x * x + y * y).astype(np.float64)) / 1000.0)
        return away

    @cached_property
    def _all_distances(self) -> FloatArray:
        return self.epsilon_per_km * self.area.distances_km(self._cells)

    @cached_property
    def _nearest_target(self) -> IntArray:
        nearest: IntArray = self.from_targets.argmin(axis=0)
        return nearest

    @cached_property
    def _members(self) -> IntArray:
        """Cells of each leaf."""
        members: IntArray = self.area.blocks.order[self.area.blocks.leaf_positions]
        return members


def _gap_m(low: FloatArray, high: FloatArray, other_low: FloatArray, other_high: FloatArray) -> FloatArray:
    """Compute the least distance between boxes given by their corners along the last axis."""
    x, y = (
        np.maximum(np.maximum(low[..., i] - other_high[..., i], other_low[..., i] - high[..., i]), 0.0) for i in (0, 1)
    )
    return np.hypot(x, y)


def least_policy(area: Area, cells: ArrayLike, chances: ArrayLike, epsilon_per_km: float) -> FloatArray:
    """Compute the least private probabilities p with p ≥ `chances` at `cells`."""
    epsilon = check_epsilon(epsilon_per_km)
    given = as_floats("chances", chances)
    seeds = as_cells("cells", cells, len(area))
    if given.shape != seeds.shape or given.ndim != 1 or len(given) == 0:
        raise InputError("chances", given.shape, "should have one probability for each of one or more cells")
    bad = ~((given > 0) & (given < 1))
    if bad.any():
        raise InputError("chances", float(given[bad][0]), "should lie strictly between 0 and 1")
    with np.errstate(divide="ignore"):
        scores = np.where(given < 0.5, np.log(2 * given), -np.log(2 * (1 - given)))
    return np.exp(ClosureMap(area, seeds, epsilon)(scores).log_hit)
