"""Cells one by one: all pairs between two leaves, and a first look for a bad pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.area import Blocks
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify.columns import LOG_ERROR, Columns
from crowdveil.certify.findings import Findings

_PAIRS = 1 << 16
_NEAR = (1, 2, 3, 5, 8)


@dataclass(frozen=True)
class Batch:
    """Some symbols: their logarithms g in the tree's order, one column each, and the error of each column."""

    symbols: IntArray
    g: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, columns: Columns, symbols: IntArray, order: IntArray) -> Batch:
        """Take the logarithms of some symbols, none of which has a weight 0."""
        taken = [columns.logs(int(symbol)) for symbol in symbols]
        g = np.stack([logs for logs, _ in taken], axis=1)[order]
        return cls(symbols, g, np.array([error for _, error in taken]))


class PairSearch:
    """The cells in the order of the tree, with centres in metres from the middle of the area."""

    def __init__(self, blocks: Blocks, xy_m: IntArray, ledger: Findings) -> None:
        self.order, self.ledger = blocks.order, ledger
        ordered = xy_m[blocks.order]
        middle = (ordered.min(axis=0) + ordered.max(axis=0)) // 2
        self.xy_m: FloatArray = (ordered - middle).astype(np.float64)
        self.members = blocks.leaf_positions
        self.x, self.y = self.xy_m[:, 0][self.members], self.xy_m[:, 1][self.members]
        self.pairs_opened = 0

    def beta_per_m(self) -> float:
        """Just below the worst loss known, so that every pair that ties with it is still looked at."""
        return self.ledger.low * (1 - 4 * LOG_ERROR) / 1000.0

    def probe(self, batch: Batch) -> None:
        """Look for a good first β: every cell against each symbol's extreme cells, and against near ones."""
        everyone = np.arange(len(batch.g))[:, None]
        for extremes in (batch.g.argmax(axis=0), batch.g.argmin(axis=0)):
            self._best_of(everyone, extremes[None, :], batch)
        for offset in _NEAR:
            self._best_of(everyone[offset:], everyone[:-offset], batch)

    def _best_of(self, one: IntArray, two: IntArray, batch: Batch) -> None:
        """Put each symbol's pair with the largest |g_i - g_j| / d before the ledger; columns are the symbols' pairs."""
        column = np.arange(len(batch.symbols))
        rise = batch.g[one, column] - batch.g[two, column]
        apart = np.hypot(self.xy_m[one, 0] - self.xy_m[two, 0], self.xy_m[one, 1] - self.xy_m[two, 1])
        steep = np.divide(rise, apart, out=np.zeros_like(rise), where=apart > 0)
        at = np.abs(steep).argmax(axis=0)
        one, two = (np.broadcast_to(cells, steep.shape)[at, column] for cells in (one, two))
        higher = steep[at, column] > 0
        cells, others = np.where(higher, one, two), np.where(higher, two, one)
        self.ledger.consider(self.order[cells], self.order[others], batch.symbols)

    def evaluate(self, batch: Batch, a: IntArray, b: IntArray, s: IntArray) -> None:
        """All pairs of cells of leaves a and b, triple by triple: the suspicious ones go to the ledger."""
        size = max(1, _PAIRS // self.members.shape[1] ** 2)
        for first in range(0, len(a), size):
            part = slice(first, first + size)
            self._evaluate(batch, a[part], b[part], s[part])

    def _evaluate(self, batch: Batch, a: IntArray, b: IntArray, s: IntArray) -> None:
        """Suspicious is g_i - g_j + error ≥ β d(i,j); β is low enough to cover the rounding of β d."""
        dx = self.x[a][:, :, None] - self.x[b][:, None, :]
        dy = self.y[a][:, :, None] - self.y[b][:, None, :]
        dx *= dx
        dy *= dy
        dx += dy
        slack = np.sqrt(dx, out=dx)
        slack *= self.beta_per_m()
        slack -= batch.g[self.members[a], s[:, None]][:, :, None]
        slack += batch.g[self.members[b], s[:, None]][:, None, :]
        triple, i, j = np.nonzero(slack <= (2 * batch.error[s])[:, None, None])
        cells, others = self.members[a[triple], i], self.members[b[triple], j]
        self.ledger.consider(self.order[cells], self.order[others], batch.symbols[s[triple]])
        self.pairs_opened += slack.size
