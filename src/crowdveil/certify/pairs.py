"""Compare cells one by one: all pairs between two leaves, and a first search for a bad pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.area import Blocks
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify.columns import LOG_ERROR, Columns
from crowdveil.certify.findings import Findings

_PAIRS_AT_ONCE = 1 << 16
_NEAR_OFFSETS = (1, 2, 3, 5, 8)


@dataclass(frozen=True)
class SymbolBatch:
    """Some symbols: their logarithms g in the tree's order, one column each, and the error of each column."""

    symbols: IntArray
    g: FloatArray
    error: FloatArray

    @classmethod
    def of(cls, columns: Columns, symbols: IntArray, order: IntArray) -> SymbolBatch:
        """Take the logarithms of some symbols, none of which has a weight 0."""
        taken = [columns.logs(int(symbol)) for symbol in symbols]
        g = np.stack([logs for logs, _ in taken], axis=1)[order]
        return cls(symbols, g, np.array([error for _, error in taken]))


class PairSearch:
    """The cells in the order of the tree, with centres in metres from the middle of the area."""

    def __init__(self, blocks: Blocks, xy_m: IntArray, findings: Findings) -> None:
        self.order, self.findings = blocks.order, findings
        ordered = xy_m[blocks.order]
        self.xy_m: FloatArray = ordered - (ordered.min(axis=0) + ordered.max(axis=0)) / 2
        self.members = blocks.leaf_positions
        self.x, self.y = self.xy_m[:, 0][self.members], self.xy_m[:, 1][self.members]
        self.pairs_opened = 0

    def beta_per_m(self) -> float:
        """Return a β just below the worst known loss, so that every pair that ties with it is still considered."""
        return self.findings.low * (1 - 4 * LOG_ERROR) / 1000.0

    def find_first_candidates(self, batch: SymbolBatch) -> None:
        """Find a good first β: compare every cell with each symbol's extreme cells, and with near cells."""
        everyone = np.arange(len(batch.g))[:, None]
        for extremes in (batch.g.argmax(axis=0), batch.g.argmin(axis=0)):
            self._best_of(everyone, extremes[None, :], batch)
        for offset in _NEAR_OFFSETS:
            self._best_of(everyone[offset:], everyone[:-offset], batch)

    def _best_of(self, one: IntArray, two: IntArray, batch: SymbolBatch) -> None:
        """Add each symbol's pair with the largest |g_i - g_j| / d to the findings; columns are the symbols' pairs."""
        column = np.arange(len(batch.symbols))
        rise = batch.g[one, column] - batch.g[two, column]
        apart = np.hypot(self.xy_m[one, 0] - self.xy_m[two, 0], self.xy_m[one, 1] - self.xy_m[two, 1])
        steep = np.divide(rise, apart, out=np.zeros_like(rise), where=apart > 0)
        at = np.abs(steep).argmax(axis=0)
        one, two = (np.broadcast_to(cells, steep.shape)[at, column] for cells in (one, two))
        higher = steep[at, column] > 0
        cells, others = np.where(higher, one, two), np.where(higher, two, one)
        self.findings.consider(self.order[cells], self.order[others], batch.symbols)

    def evaluate(self, batch: SymbolBatch, a: IntArray, b: IntArray, s: IntArray) -> None:
        """Compare all cells of leaves a and b, triple by triple; add suspicious pairs to the findings."""
        size = max(1, _PAIRS_AT_ONCE // self.members.shape[1] ** 2)
        for first in range(0, len(a), size):
            part = slice(first, first + size)
            self._evaluate(batch, a[part], b[part], s[part])

    def _evaluate(self, batch: SymbolBatch, a: IntArray, b: IntArray, s: IntArray) -> None:
        """Treat a pair as suspicious if g_i - g_j + error ≥ β d(i,j); β is low enough to cover the rounding of β d."""
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
        self.findings.consider(self.order[cells], self.order[others], batch.symbols[s[triple]])
        self.pairs_opened += slack.size
