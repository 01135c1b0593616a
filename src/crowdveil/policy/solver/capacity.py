"""Give symbols to further places, each as often as privacy allows.

Let b_i be the probability that a device with input i sends one of the symbols that exist already. Places c get one more
symbol each, with a single peak θ_c at their most regular visitors, so that the rest is

    r_i(θ)  =  1 - b_i - Σ_c θ_c e^{-D(i,c)},        and must keep        r_j ≥ e^{-D_ij} r_i   for all inputs i, j.

The columns themselves are private whatever θ is (peaks.py), so that this is a linear program in θ alone. Its rows are
added when they are violated. θ_c is the *capacity* of a place: of the people there, so many send its symbol.

- `largest_equal_capacities`: the largest least capacity, and above it the largest sum. Raising the capacity of one
place
  may allow more at its neighbours, where the rest has to follow: the largest common θ alone would be less.
- `remaining_capacities`: the largest sum of capacities up to a given one, beside symbols that exist already.

For areas with too many pairs of inputs the sufficient condition of stack.py replaces the rows: b + Σ θ e^-D stays below
1/(1+e^{-D_min}) everywhere.
"""

from __future__ import annotations

from math import exp

import numpy as np
import scipy

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.policy.solver.input_metric import InputMetric
from crowdveil.policy.solver.linear_program import GrowingProgram

MIN_REST = 1e-3
"""Everyone sends the rest at least this often, so that it can be split into symbols of its own."""
VIOLATED = 1e-10
"""Rows that are broken by less are left to the share that rounding mixes in (`rounding.REST_ERROR`)."""
LEFT_FOR_OTHERS = 1e-6
"""So much of the least capacity is given up, because a place far away could not be raised at all otherwise."""
MAX_ROUNDS = 60
ROWS_PER_ROUND = 400


def largest_equal_capacities(metric: InputMetric, seeds: IntArray) -> FloatArray:
    """Return the capacities of all places: the least as large as possible, then their sum."""
    program = _CapacityProgram(metric, seeds, np.zeros(metric.count), equal=True)
    least = (1 - LEFT_FOR_OTHERS) * float(program.solve()[-1])
    above = _CapacityProgram(metric, seeds, least * program.decay.sum(axis=1), decay=program.decay)
    return np.asarray(least + above.solve())


def remaining_capacities(metric: InputMetric, seeds: IntArray, used: FloatArray, most: float) -> FloatArray:
    """Return the capacities of further places beside what is used already, none above `most`."""
    return _CapacityProgram(metric, seeds, used, most=most).solve()


class _CapacityProgram:
    """The linear program in θ; with `equal` its last variable is the least of them, which alone counts."""

    def __init__(
        self,
        metric: InputMetric,
        seeds: IntArray,
        used: FloatArray,
        *,
        most: float = 1.0,
        equal: bool = False,
        decay: FloatArray | None = None,
    ) -> None:
        self.metric, self.used, self.places = metric, used, len(seeds)
        self.decay = np.exp(-metric.rows(seeds)).T if decay is None else decay
        self.largest = 1 - MIN_REST if metric.is_small else 1 / (1 + exp(-metric.least))
        gain = np.append(np.zeros(self.places), 1.0) if equal else np.ones(self.places)
        self.program = GrowingProgram(gain, np.full(len(gain), max(most, 0.0)))
        if equal:
            above = scipy.sparse.hstack([-scipy.sparse.eye_array(self.places), np.ones((self.places, 1))])
            self.program.add_rows(above.tocsr(), np.zeros(self.places))
        self.columns = len(gain)
        self._add_ceilings(np.unique(seeds))

    def solve(self) -> FloatArray:
        """Solve, add what is violated, and solve again until nothing is."""
        for _ in range(MAX_ROUNDS):
            x, _ = self.program.solve()
            if not self._add_violated(x[: self.places]):
                break
        return x

    def _add_ceilings(self, inputs: IntArray) -> None:
        self._add(self.decay[inputs], np.maximum(self.largest - self.used[inputs], 0.0))

    def _add(self, rows: FloatArray, limits: FloatArray) -> None:
        filled = np.zeros((len(rows), self.columns))
        filled[:, : self.places] = rows
        self.program.add_rows(scipy.sparse.csr_array(filled), limits)

    def _add_violated(self, theta: FloatArray) -> bool:
        sent = self.used + self.decay @ theta
        high = np.flatnonzero(sent > np.maximum(self.largest, self.used) + VIOLATED)
        if len(high):
            self._add_ceilings(high[np.argsort(-sent[high])][:ROWS_PER_ROUND])
        if not self.metric.is_small:
            return len(high) > 0
        rest = 1 - sent
        keep = np.exp(-self.metric.pairs)
        too_low = keep * rest[:, None] - rest[None, :]
        worst = too_low.argmax(axis=0)
        broken = too_low[worst, np.arange(len(rest))]
        some = np.flatnonzero(broken > VIOLATED)
        some = some[np.argsort(-broken[some])][:ROWS_PER_ROUND]
        if len(some):
            share = keep[worst[some], some]
            free = 1 - self.used
            self._add(
                self.decay[some] - share[:, None] * self.decay[worst[some]], free[some] - share * free[worst[some]]
            )
        return len(high) + len(some) > 0
