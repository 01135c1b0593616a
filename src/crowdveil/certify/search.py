"""All pairs of cells, without looking at most of them: find the largest loss per km.

Pairs of blocks are opened from the whole area downwards. A pair of blocks is closed when `BlockBounds` proves that
none of its cells can lose more than the worst pair already known; what is left is split, down to leaves of
some dozen cells whose pairs are all evaluated. Nothing is closed on an estimate: all comparisons carry their
error bounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import IntArray
from crowdveil.certify.bounds import MAX_ENTRIES, BlockBounds
from crowdveil.certify.columns import Columns
from crowdveil.certify.findings import Findings
from crowdveil.certify.pairs import Batch, PairSearch
from crowdveil.vocabulary import Progress

_TRIPLES = 1 << 16

Triples = tuple[int, IntArray, IntArray, IntArray]
"""Level, blocks, other blocks and symbols (by position in the batch)."""


class Search:
    """The search over one area; what it finds is in the ledger."""

    def __init__(self, area: Area, columns: Columns, ledger: Findings, progress: Progress | None) -> None:
        self.columns, self.progress = columns, progress
        self.blocks = area.blocks
        self.depth = len(self.blocks.levels) - 1
        self.leaves = PairSearch(self.blocks, area.xy_m, ledger)
        self.done, self.total = 0, 0

    def run(self, symbols: list[int]) -> None:
        """Search all pairs of cells for these symbols, none of which has a weight 0."""
        self.total = len(symbols) * 4**self.depth
        size = max(1, MAX_ENTRIES // BlockBounds.entries_per_symbol(self.blocks))
        for first in range(0, len(symbols), size):
            some = np.array(symbols[first : first + size], dtype=np.int64)
            self._run_batch(Batch.of(self.columns, some, self.blocks.order))

    def _run_batch(self, batch: Batch) -> None:
        if self.depth > 0:
            self.leaves.probe(batch)
        bounds = BlockBounds(self.blocks, self.leaves.xy_m, batch.g, batch.error)
        bounds.aim(self.leaves.beta_per_m())
        root = np.zeros(len(batch.symbols), dtype=np.int64)
        stack: list[Triples] = [(0, root, root, np.arange(len(root)))]
        opened = self.leaves.pairs_opened
        while stack:
            level, a, b, s = stack.pop()
            left = bounds.open(level, a, b, s)
            self._tell((len(a) - len(left)) * 4 ** (self.depth - level))
            if level < self.depth:
                stack.extend(_split(level, a[left], b[left], s[left]))
                continue
            self.leaves.evaluate(batch, a[left], b[left], s[left])
            self._tell(len(left))
            # A larger β closes more; tabulate it once that costs no more than what was spent without it.
            if self.leaves.pairs_opened - opened > bounds.aiming_work:
                opened = self.leaves.pairs_opened
                bounds.aim(self.leaves.beta_per_m())

    def _tell(self, more: int) -> None:
        self.done += more
        if self.progress is not None and more:
            self.progress(self.done, self.total)


def _split(level: int, a: IntArray, b: IntArray, s: IntArray) -> Iterator[Triples]:
    """The four pairs of halves of each pair of blocks, in portions that bound the memory."""
    for first in range(0, len(a), _TRIPLES):
        part = slice(first, first + _TRIPLES)
        halves = (2 * a[part, None] + np.array([0, 0, 1, 1])).ravel()
        other_halves = (2 * b[part, None] + np.array([0, 1, 0, 1])).ravel()
        yield level + 1, halves, other_halves, np.repeat(s[part], 4)
