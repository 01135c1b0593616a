"""Find the largest loss per km over all pairs of cells, without evaluating most of them.

Pairs of blocks are split from the whole area downwards (branch and bound). A pair of blocks is discarded when
`BlockBounds` proves that none of its cells can lose more than the worst pair already known; the others are split, down
to leaves of about a dozen cells whose pairs are all evaluated. All comparisons include their error bounds, so that no
pair is discarded on an estimate.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import IntArray
from crowdveil.certify.bounds import MAX_ENTRIES, BlockBounds
from crowdveil.certify.columns import Columns
from crowdveil.certify.findings import Findings
from crowdveil.certify.pairs import PairSearch, SymbolBatch
from crowdveil.vocabulary import Progress

_TRIPLES_AT_ONCE = 1 << 16

Triples = tuple[int, IntArray, IntArray, IntArray]
"""Level, blocks, other blocks and symbols (by position in the batch)."""


class BlockSearch:
    """The search over one area; it adds what it finds to the findings."""

    def __init__(self, area: Area, columns: Columns, findings: Findings, progress: Progress | None) -> None:
        self.columns, self.progress = columns, progress
        self.blocks = area.blocks
        self.depth = len(self.blocks.levels) - 1
        self.pairs = PairSearch(self.blocks, area.xy_m, findings)
        self.done, self.total = 0, 0

    def run(self, symbols: list[int]) -> None:
        """Search all pairs of cells for these symbols, none of which has a weight 0."""
        self.total = len(symbols) * 4**self.depth
        size = max(1, MAX_ENTRIES // BlockBounds.entries_per_symbol(self.blocks))
        for first in range(0, len(symbols), size):
            some = np.array(symbols[first : first + size])
            self._run_batch(SymbolBatch.of(self.columns, some, self.blocks.order))

    def _run_batch(self, batch: SymbolBatch) -> None:
        if self.depth > 0:
            self.pairs.find_first_candidates(batch)
        bounds = BlockBounds(self.blocks, self.pairs.xy_m, batch.g, batch.error)
        bounds.tabulate(self.pairs.beta_per_m())
        root = np.zeros(len(batch.symbols), dtype=np.int64)
        stack: list[Triples] = [(0, root, root, np.arange(len(root)))]
        opened = self.pairs.pairs_opened
        while stack:
            level, a, b, s = stack.pop()
            left = bounds.undecided(level, a, b, s)
            self._report_progress((len(a) - len(left)) * 4 ** (self.depth - level))
            if level < self.depth:
                stack.extend(_split(level, a[left], b[left], s[left]))
                continue
            self.pairs.evaluate(batch, a[left], b[left], s[left])
            self._report_progress(len(left))
            # A larger β discards more; tabulate it once that costs no more than what was spent without it.
            if self.pairs.pairs_opened - opened > bounds.tabulation_work:
                opened = self.pairs.pairs_opened
                bounds.tabulate(self.pairs.beta_per_m())

    def _report_progress(self, more: int) -> None:
        self.done += more
        if self.progress is not None and more:
            self.progress(self.done, self.total)


def _split(level: int, a: IntArray, b: IntArray, s: IntArray) -> Iterator[Triples]:
    """Yield the four pairs of halves of each pair of blocks, in portions that limit the memory."""
    for first in range(0, len(a), _TRIPLES_AT_ONCE):
        part = slice(first, first + _TRIPLES_AT_ONCE)
        halves = (2 * a[part, None] + np.array([0, 0, 1, 1])).ravel()
        other_halves = (2 * b[part, None] + np.array([0, 1, 0, 1])).ravel()
        yield level + 1, halves, other_halves, np.repeat(s[part], 4)
