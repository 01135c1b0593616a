"""Order cells into a kd-tree of blocks, so that work over all pairs can be done for whole blocks at once.

Cells are halved repeatedly along the longer side. Level L has 2^L blocks; block b of level L holds the
ordered cells from b·n // 2^L to (b+1)·n // 2^L and consists of blocks 2b and 2b+1 of level L+1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdveil.arrays import FloatArray, IntArray

LEAF_CELLS = 16
"""Cells in a leaf: both the solver and the checker of policies were fastest with this number."""


@dataclass(frozen=True)
class Level:
    """All blocks of one level: where each starts in the order, and its bounding box in metres."""

    starts: IntArray
    """First ordered position of each block, and n at the end."""
    low_m: IntArray
    """South-west corner of each block's box, shape (blocks, 2)."""
    high_m: IntArray
    """North-east corner of each block's box, shape (blocks, 2)."""

    def __len__(self) -> int:
        return len(self.low_m)

    def gap_m(self, blocks: IntArray, other: Level, other_blocks: IntArray) -> FloatArray:
        """Return the least distance between the boxes of two blocks, pair by pair: no two of their cells are closer."""
        apart = np.maximum(
            self.low_m[blocks] - other.high_m[other_blocks], other.low_m[other_blocks] - self.high_m[blocks]
        )
        apart = np.maximum(apart, 0)
        gap: FloatArray = np.sqrt((apart * apart).sum(axis=-1).astype(np.float64))
        return gap

    def maxima(self, ordered_values: FloatArray) -> FloatArray:
        """Return the largest value in each block, of values given in the tree's order (along the first axis)."""
        return np.maximum.reduceat(ordered_values, self.starts[:-1], axis=0)

    def minima(self, ordered_values: FloatArray) -> FloatArray:
        """Return the smallest value in each block, of values given in the tree's order (along the first axis)."""
        return np.minimum.reduceat(ordered_values, self.starts[:-1], axis=0)


@dataclass(frozen=True)
class Blocks:
    """A tree of blocks over the cells of an area."""

    order: IntArray
    """Cell at each ordered position."""
    levels: tuple[Level, ...]
    """From one block with everything to leaves of about `leaf_cells` cells."""

    @classmethod
    def over(cls, xy_m: IntArray, leaf_cells: int = LEAF_CELLS) -> Blocks:
        """Halve the cells until no block has more than `leaf_cells` of them (2 or more, so that none is empty)."""
        n = len(xy_m)
        depth = 0
        while -(-n // 2**depth) > leaf_cells:
            depth += 1
        order = np.arange(n)
        for level in range(depth):
            starts = _starts(n, level)
            for b in range(2**level):
                first, middle, last = starts[b], (2 * b + 1) * n // 2 ** (level + 1), starts[b + 1]
                part = order[first:last]
                extent = np.ptp(xy_m[part], axis=0)
                along = xy_m[part, int(extent[1] > extent[0])]
                order[first:last] = part[np.argpartition(along, middle - first)]
        ordered = xy_m[order]
        levels = []
        for level in range(depth + 1):
            starts = _starts(n, level)
            low = np.minimum.reduceat(ordered, starts[:-1], axis=0)
            high = np.maximum.reduceat(ordered, starts[:-1], axis=0)
            levels.append(Level(starts, low, high))
        return cls(order, tuple(levels))

    @cached_property
    def leaf_positions(self) -> IntArray:
        """Ordered positions of each leaf's cells, shape (leaves, most); a smaller leaf names its last cell twice."""
        starts = self.leaves.starts
        width = int(np.diff(starts).max())
        positions: IntArray = np.minimum(starts[:-1, None] + np.arange(width), starts[1:, None] - 1)
        return positions

    @property
    def leaves(self) -> Level:
        """The finest level."""
        return self.levels[-1]


def _starts(n: int, level: int) -> IntArray:
    starts: IntArray = np.arange(2**level + 1, dtype=np.int64) * n // 2**level
    return starts
