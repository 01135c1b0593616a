"""Find the best columns of a stack where the rest binds: one linear program for all targets, with a proven gap.

Let p^t be the column of target t, q the prior of all inputs and w^t the worth of each input for t (the chance of a
visit there):

    max  (1/z) Σ_t (w^t q)·p^t / β_t     s.t.   p^t_i ≥ e^{-D_ij} p^t_j          for all t, i, j
                                                q·p^t = β_t                      for all t
                                                r_i ≥ e^{-D_ij} r_j,  r = 1 - Σ_t p^t

**Rows on demand.** The program starts with the rows by which each target decides its own column, and adds the most
violated ones. A program with fewer rows has a larger optimum, so that every round gives an upper bound.

**A policy.** The values are closed from above, p^t_i = max_j p^t_j e^{-D_ij}, scaled to the quota, and mixed with the
constants β_t until the rest is private (`private_columns`). Its value is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.policy.solver.input_metric import InputMetric
from crowdveil.policy.solver.linear_program import GrowingProgram
from crowdveil.policy.solver.stack_columns import PeakedColumns, as_peaks, private_columns

MAX_VARIABLES = 2000
"""Larger programs take minutes; column_generation.py is for these."""
VIOLATED = 1e-12
MAX_ROUNDS = 100
LEFT_OUT = 1e-9
"""A peak that gives no more than this share of a value is left out."""
SMALL_GAP = 1e-10
"""Stop when the bounds are this near, as a share of the value."""


def solve_jointly(
    metric: InputMetric,
    prior: FloatArray,
    worth: FloatArray,
    betas: FloatArray,
    progress: Callable[[int, int], None] | None = None,
) -> PeakedColumns:
    """Solve the program; `worth` has a row for each target."""
    keep = np.exp(-metric.pairs)
    program = _Joint(keep, prior, worth, betas)
    best, value, bound, rounds = np.zeros_like(worth), -1.0, np.inf, 0
    for rounds in range(1, MAX_ROUNDS + 1):
        found, upper = program.solve()
        bound = min(bound, upper)
        closed = np.array([(np.maximum(row, 1e-300)[:, None] * keep).max(axis=0) for row in found])
        closed *= (betas / (closed @ prior))[:, None]
        mixed, _ = private_columns(closed, betas, keep)
        reached = float(((worth * prior * mixed).sum(axis=1) / (mixed @ prior)).mean())
        if reached > value:
            best, value = closed, reached
        if progress is not None:
            progress(rounds, MAX_ROUNDS)
        if bound - value <= SMALL_GAP * bound or not program.add_violated(found):
            break
    return as_peaks(best, prior, betas, keep, bound, rounds, LEFT_OUT)


class _Joint:
    """The program with the rows so far; the variables are the columns, one target after the other."""

    def __init__(self, keep: FloatArray, prior: FloatArray, worth: FloatArray, betas: FloatArray) -> None:
        self.keep, self.targets, self.size = keep, len(betas), len(prior)
        gain = worth * prior / (betas[:, None] * self.targets)
        self.program = GrowingProgram(gain.ravel(), np.ones(gain.size))
        quotas = scipy.sparse.kron(scipy.sparse.diags_array(1 / betas), prior[None, :]).tocsr()
        self.program.add_rows(quotas, np.ones(self.targets))
        self.program.add_rows(-quotas, -np.ones(self.targets))
        for target, row in enumerate(worth):
            for seed in np.flatnonzero(row).tolist():
                others = np.delete(np.arange(self.size), seed)
                self._add_columns(target, others, np.full(len(others), seed))

    def solve(self) -> tuple[FloatArray, float]:
        """Return the columns, shape (targets, inputs), and an upper bound of the value."""
        x, y = self.program.solve()
        return x.reshape(self.targets, self.size), self.program.upper_bound(y)

    def add_violated(self, columns: FloatArray) -> bool:
        """Add, for every variable, the row that it breaks most, and likewise for the rest; tell if there are any."""
        added = 0
        for target, row in enumerate(columns):
            worst, broken = self._broken(row)
            self._add_columns(target, broken, worst[broken])
            added += len(broken)
        worst, broken = self._broken(1 - columns.sum(axis=0))
        self._add_rest(broken, worst[broken])
        return added + len(broken) > 0

    def _broken(self, row: FloatArray) -> tuple[IntArray, IntArray]:
        missing = self.keep * row[:, None] - row[None, :]
        worst = missing.argmax(axis=0)
        return worst, np.flatnonzero(missing[worst, np.arange(self.size)] > VIOLATED)

    def _add_columns(self, target: int, inputs: IntArray, others: IntArray) -> None:
        """Add rows e^{-D_ij} p_j - p_i ≤ 0."""
        if len(inputs):
            rows = np.zeros((len(inputs), self.targets * self.size))
            number = np.arange(len(inputs))
            rows[number, target * self.size + others] = self.keep[others, inputs]
            rows[number, target * self.size + inputs] = -1.0
            self.program.add_rows(scipy.sparse.csr_array(rows), np.zeros(len(inputs)))

    def _add_rest(self, inputs: IntArray, others: IntArray) -> None:
        """Add rows Σ_t p_i - e^{-D_ij} Σ_t p_j ≤ 1 - e^{-D_ij}."""
        if len(inputs):
            share = self.keep[others, inputs]
            one = np.zeros((len(inputs), self.size))
            number = np.arange(len(inputs))
            one[number, inputs], one[number, others] = 1.0, -share
            self.program.add_rows(scipy.sparse.csr_array(np.tile(one, self.targets)), 1 - share)
