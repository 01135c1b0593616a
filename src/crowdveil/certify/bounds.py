"""Decide for whole blocks of cells A and B whether any pair of their cells can lose more than β per metre.

With g the logarithms of a symbol's weights, x the centres and d(i,j) = |x_i - x_j|, no pair (i ∈ A, j ∈ B)
does if

    max_A g - min_B g ≤ β · gap(A, B)                                      (boxes)
    max_A (g - β u·x) - min_B (g - β u·x) ≤ 0      for some |u| ≤ 1        (slopes)

Boxes: gap ≤ d(i,j). Slopes: u·(x_i - x_j) ≤ d(i,j), so g_i - g_j - β d(i,j) ≤ (g_i - β u·x_i) - (g_j - β
u·x_j). An optimal policy falls off at exactly β along the rays from a target, so boxes alone cannot separate
blocks on one ray however far apart. Slopes along the ray leave only the block's curvature, and the number of
pairs of blocks that remain is nearly linear in n. u is the nearest of `directions` to the line between the
blocks' middles.
"""

from __future__ import annotations

from math import nan

import numpy as np

from crowdveil.area import Blocks
from crowdveil.arrays import BoolArray, FloatArray, IntArray
from crowdveil.certify.columns import LOG_ERROR

MAX_ENTRIES = 1 << 25
"""How many numbers, of 8 bytes each, are kept for a batch of symbols."""

_CHUNK = 1 << 21


class BlockBounds:
    """The two tests, for one batch of symbols and one β."""

    def __init__(self, blocks: Blocks, xy_m: FloatArray, g: FloatArray, error: FloatArray) -> None:
        """Take centres and g in the tree's order; g has one column per symbol, each with its error."""
        self.blocks, self.xy_m, self.g = blocks, xy_m, g
        self.symbols = g.shape[1]
        self.beta_per_m = nan  # equal to no β, so that the first one is always tabulated
        self.directions = _directions(len(blocks.leaves))
        self.middle = [(level.low_m + level.high_m) / 2.0 for level in blocks.levels]
        self.top = _all_levels(blocks, blocks.leaves.maxima(g), np.maximum)
        self.bottom = _all_levels(blocks, blocks.leaves.minima(g), np.minimum)
        self.error = error
        angle = 2 * np.pi / self.directions * np.arange(self.directions)
        self.units = np.stack([np.cos(angle), np.sin(angle)])

    @staticmethod
    def entries_per_symbol(blocks: Blocks) -> int:
        """Return how many numbers are kept for one symbol: maxima and minima, of all levels."""
        return 4 * len(blocks.leaves) * _directions(len(blocks.leaves)) + len(blocks.order)

    @property
    def tabulation_work(self) -> int:
        """How many entries `tabulate` computes."""
        return self.g.size * self.directions

    def tabulate(self, beta_per_m: float) -> None:
        """Tabulate max and min of g - β u·x over blocks and directions."""
        if beta_per_m == self.beta_per_m:
            return
        self.beta_per_m = beta_per_m
        n, leaves = len(self.g), self.blocks.leaves
        steep: list[FloatArray] = []
        flat: list[FloatArray] = []
        step = max(1, _CHUNK // (n * self.symbols))
        for first in range(0, self.directions, step):
            along = self.xy_m @ self.units[:, first : first + step] * beta_per_m
            tilted = self.g[:, None, :] - along[:, :, None]
            steep.append(leaves.maxima(tilted))
            flat.append(leaves.minima(tilted))
        self.steep = _all_levels(self.blocks, np.concatenate(steep, axis=1), np.maximum)
        self.flat = _all_levels(self.blocks, np.concatenate(flat, axis=1), np.minimum)
        # u·x and |u| are right to a few 2^-53; the two logarithms carry `error` each.
        reach = float(np.abs(self.xy_m).sum(axis=1).max())
        self.tilted_error = 2 * self.error + LOG_ERROR * 4 * beta_per_m * reach

    def undecided(self, level: int, a: IntArray, b: IntArray, s: IntArray) -> IntArray:
        """Return the positions of the triples (block, other block, symbol) that neither test decides."""
        stage = self.blocks.levels[level]
        rise = self.top[level][a, s] - self.bottom[level][b, s] + 2 * self.error[s]
        # Where β · gap is lost to rounding the pair stays undecided, because the comparison is strict.
        left = np.flatnonzero(rise > self.beta_per_m * (1 - LOG_ERROR) * stage.gap_m(a, stage, b))
        return left[self._slopes(level, a[left], b[left], s[left])]

    def _slopes(self, level: int, a: IntArray, b: IntArray, s: IntArray) -> BoolArray:
        line = self.middle[level][a] - self.middle[level][b]
        turn = np.arctan2(line[:, 1], line[:, 0]) * (self.directions / (2 * np.pi))
        k = np.rint(turn).astype(np.int64) % self.directions
        drop = self.steep[level][a, k, s] - self.flat[level][b, k, s]
        return np.asarray(drop + self.tilted_error[s] > 0)


def _directions(leaves: int) -> int:
    """Choose the number of directions: a step of angle is about a leaf's width across the area, if memory allows."""
    return int(min(max(8, 4 * 2 ** round(np.log2(leaves) / 2)), MAX_ENTRIES // (4 * leaves)))


def _all_levels(blocks: Blocks, finest: FloatArray, larger: np.ufunc) -> list[FloatArray]:
    """Compute the values of all levels from those of the leaves: block b consists of 2b and 2b+1 of the next level."""
    levels = [finest]
    for _ in blocks.levels[1:]:
        levels.append(larger(levels[-1][0::2], levels[-1][1::2]))
    return levels[::-1]
