"""Collect what the search has found: the largest loss per km, and whether the claim still holds.

Each candidate is an ordered pair of cells and a symbol. Its loss per km

    ρ(i, j, s) = ln( P(s | i) / P(s | j) ) / d(i, j)

is known as an interval [low, high] that contains it. The claim ε is refused if low > ε, holds if high ≤ ε, and is
decided in whole numbers if the interval contains ε.
"""

from __future__ import annotations

from math import inf, nextafter

import numpy as np

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify.claim import PrivacyClaim
from crowdveil.certify.columns import LOG_ERROR, Columns
from crowdveil.errors import NotPrivateError

Candidate = tuple[int, int, int]
"""True cell, other true cell, symbol."""


class Findings:
    """Collects candidates: the largest ρ, in an interval, and the verdict on the claim."""

    def __init__(self, columns: Columns, xy_m: IntArray, claim: PrivacyClaim) -> None:
        self.columns = columns
        self.xy_m = xy_m
        self.claim = claim
        self.low = 0.0
        """The largest ρ of any pair seen is at least this ..."""
        self.high = 0.0
        """... and no pair seen has more than this."""
        self.peak = 0.0
        self.worst: Candidate | None = None
        """The candidate whose ρ looks largest, `peak`."""
        self.broken: Candidate | None = None
        """A candidate refused in whole numbers, while none was refused already by its interval."""
        self.exact_comparisons = 0

    @property
    def ok(self) -> bool:
        """Whether every candidate so far satisfies the claim."""
        return self.broken is None and self.low <= self.claim.epsilon_per_km

    @property
    def witness(self) -> Candidate | None:
        """The candidate to show: the worst, unless only another one is known to break the claim."""
        return self.worst if self.low > self.claim.epsilon_per_km else self.broken or self.worst

    @property
    def rounded_up(self) -> float:
        """A value of ε that holds: above every pair's interval, or the claim itself once it is proved."""
        if self.high == 0:
            return 0.0
        above = nextafter(self.high, inf)
        return min(above, self.claim.epsilon_per_km) if self.ok else above

    def consider(self, cells: IntArray, others: IntArray, symbols: IntArray) -> None:
        """Add candidates, one per entry; a cell paired with itself is skipped."""
        apart = cells != others
        cells, others, symbols = cells[apart], others[apart], symbols[apart]
        if len(cells) == 0:
            return
        loss, slack = self._losses_per_km(cells, others, symbols)
        if not np.isfinite(loss).all():
            # Comparisons with NaN are false, so that one such pair would hide all others: give no verdict at all.
            raise NotPrivateError("a loss per km is not a number (cells at distance 0?): nothing can be certified")
        low, high = loss - slack, loss + slack
        self.low, self.high = max(self.low, float(low.max())), max(self.high, float(high.max()))
        at = int(loss.argmax())
        if loss[at] > self.peak:
            self.peak = float(loss[at])
            self.worst = (int(cells[at]), int(others[at]), int(symbols[at]))
        epsilon = self.claim.epsilon_per_km
        for k in np.flatnonzero((low <= epsilon) & (high > epsilon)):
            if not self.ok:
                return
            candidate = (int(cells[k]), int(others[k]), int(symbols[k]))
            self.exact_comparisons += 1
            if not self.holds(candidate):
                self.broken = candidate

    def _losses_per_km(self, cells: IntArray, others: IntArray, symbols: IntArray) -> tuple[FloatArray, FloatArray]:
        value, error = self.columns.log_quotients(cells, others, symbols)
        apart = self.xy_m[cells] - self.xy_m[others]
        # Squared metres are exact; root and divisions round by 2^-53 each, which one more LOG_ERROR covers.
        km = np.sqrt((apart * apart).sum(axis=1)) / 1000.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return value / km, (error + LOG_ERROR * np.abs(value)) / km

    def squared_m(self, cell: int, other: int) -> int:
        """Return the exact squared distance in m²."""
        dx, dy = (self.xy_m[cell] - self.xy_m[other]).tolist()
        return int(dx * dx + dy * dy)

    def holds(self, candidate: Candidate) -> bool:
        """Decide Definition 1 for one candidate, in whole numbers."""
        cell, other, symbol = candidate
        weight, against = self.columns.exact(cell, symbol), self.columns.exact(other, symbol)
        return self.claim.holds(weight, against, self.squared_m(cell, other))
