"""Find better columns where the rest binds and there are many targets: by column generation, with a proven gap.

The program is that of joint_columns.py. Let C be the columns that are private by themselves.

**Master.** C is convex, so that a mixture of columns of t that meet the quota is such a column. The master program
chooses, for every target, a mixture of the columns seen so far: e^-D from the target, flat tops (e^-D from the nearest
of all inputs within some distance), and the constant β_t, with which there is always a solution. Rows of the rest,
r_j ≥ e^{-D_ij} r_i, are added when they are broken.

**New columns.** Let y_k ≥ 0 be dual weights of the rows of the rest, and κ = Σ_k y_k (e_j - e^{-D_ij} e_i), so that the
rest costs κ·p for each column p. The best column of t is the one of largest (w^t q)·p / (z β_t) - κ·p in C at the
quota: a program for one target (`_Pricing`). Only inputs with an entry in w^t q or κ have variables; another input i
follows one that has, p_i ≥ e^{-D_ij} p_j, whichever the present values make largest, which is a valid quota row for any
choice.

**Upper bound.** For every y ≥ 0, weakening the rows of the rest by their weights gives

    value  ≤  Σ_k y_k (1 - e^{-D_k})  +  Σ_t  max over p ∈ C, q·p ≤ β_t of  (w^t q)·p / (z β_t) - κ·p

and each maximum is bounded by the dual weights of its program (linear_program.py), whatever the solver's tolerances.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.policy.solver.input_metric import InputMetric
from crowdveil.policy.solver.linear_program import GrowingProgram
from crowdveil.policy.solver.stack_columns import PeakedColumns, as_peaks, private_columns

TOPS = (1.0, 1.5, 2.01, 3.01)
"""Radii of flat tops, in units of the least distance of two inputs."""
VIOLATED = 1e-11
ROWS_PER_ROUND = 200
MAX_ROW_ROUNDS = 40
MAX_PRICING_ROUNDS = 8
NEGLIGIBLE = 1e-9
MAX_PRICES = 130
"""Programs for one target that are solved in all."""
MAX_ROUNDS = 12
LEFT_OUT = 1e-5
"""A peak that gives no more than this share of a value is left out."""
SMALL_GAP = 1e-4
"""Stop when the bounds are this near, as a share of the value: the last digits would take most of the time."""


def generate_columns(
    metric: InputMetric,
    prior: FloatArray,
    worth: FloatArray,
    betas: FloatArray,
    start: FloatArray,
    progress: Callable[[int, int], None] | None = None,
) -> PeakedColumns:
    """Find the columns; `worth` has a row for each target, `start` each target's own best column, shape (z, inputs)."""
    keep = np.exp(-metric.pairs)
    master = _Master(keep, prior, worth, betas)
    for target, column in enumerate(start):
        master.add(target, column)
        for radius in TOPS:
            top = metric.pairs[np.flatnonzero(worth[target])].min(axis=0) <= radius * metric.least
            master.add(target, keep[top].max(axis=0))
        master.add(target, np.ones(metric.count))
    most = max(1, min(MAX_ROUNDS, MAX_PRICES // len(betas)))
    best, value, bound, rounds = np.zeros_like(start), -1.0, np.inf, 0
    for rounds in range(1, most + 1):
        columns, cost, fixed = master.solve()
        mixed = private_columns(columns, betas, keep)[0]
        reached = float(((worth * prior * mixed).sum(axis=1) / (mixed @ prior)).mean())
        if reached > value:
            best, value = columns, reached
        gains = master.gain - cost
        asked = np.flatnonzero(gains.any(axis=1)).tolist()  # a target that nobody is at may have nothing to gain
        found = {one: _Pricing(keep, prior, gains[one], float(betas[one])).solve() for one in asked}
        bound = min(bound, fixed + sum(upper for _, upper in found.values()))
        if progress is not None:
            progress(rounds, most)
        if bound - value <= SMALL_GAP * bound:
            break
        for target, (column, _) in found.items():
            master.add(target, column)
    return as_peaks(best, prior, betas, keep, bound, rounds, LEFT_OUT)


class _Master:
    """Mixes the columns of each target that were seen so far."""

    def __init__(self, keep: FloatArray, prior: FloatArray, worth: FloatArray, betas: FloatArray) -> None:
        self.keep, self.prior, self.betas, self.targets = keep, prior, betas, len(betas)
        self.gain = worth * prior / (betas[:, None] * self.targets)
        self.columns: FloatArray = np.zeros((0, len(prior)))
        self.owner: IntArray = np.zeros(0, dtype=np.int64)
        self.ones: IntArray = np.zeros(0, dtype=np.int64)
        self.others: IntArray = np.zeros(0, dtype=np.int64)
        self.program = GrowingProgram(np.zeros(0), np.zeros(0))
        empty = scipy.sparse.csr_array((2 * self.targets, 0))
        self.program.add_rows(empty, np.concatenate([np.ones(self.targets), -np.ones(self.targets)]))

    def add(self, target: int, shape: FloatArray) -> None:
        """Add a column, scaled to the quota."""
        column = shape * (self.betas[target] / float(self.prior @ shape))
        share = self.keep[self.others, self.ones]
        entries = np.concatenate([np.zeros(2 * self.targets), column[self.ones] - share * column[self.others]])
        entries[target], entries[self.targets + target] = 1.0, -1.0
        gain = np.array([float(self.gain[target] @ column)])
        self.program.add_columns(scipy.sparse.csc_array(entries[:, None]), gain, np.ones(1))
        self.columns = np.vstack([self.columns, column])
        self.owner = np.append(self.owner, target)

    def solve(self) -> tuple[FloatArray, FloatArray, float]:
        """Return the best mixtures, shape (z, inputs), the cost κ of the rest, and Σ_k y_k (1 - e^{-D_k})."""
        for _ in range(MAX_ROW_ROUNDS):
            x, y = self.program.solve()
            mixtures = np.zeros((self.targets, len(self.prior)))
            np.add.at(mixtures, self.owner, x[:, None] * self.columns)
            rest = 1 - mixtures.sum(axis=0)
            missing = self.keep * rest[:, None] - rest[None, :]
            worst = missing.argmax(axis=0)
            broken = missing[worst, np.arange(len(rest))]
            some = np.flatnonzero(broken > VIOLATED)
            if not len(some):
                break
            some = some[np.argsort(-broken[some], kind="stable")][:ROWS_PER_ROUND]
            share = self.keep[worst[some], some]
            rows = (self.columns[:, some] - share * self.columns[:, worst[some]]).T
            self.program.add_rows(scipy.sparse.csr_array(rows), 1 - share)
            self.ones, self.others = np.append(self.ones, some), np.append(self.others, worst[some])
        weights = np.zeros(len(self.ones))
        weights[: len(y) - 2 * self.targets] = y[2 * self.targets :]
        # Any weights give a valid bound; without the smallest the programs of single targets have few variables.
        weights[weights < NEGLIGIBLE * weights.max(initial=0.0)] = 0.0
        share = self.keep[self.others, self.ones]
        cost = np.zeros(len(self.prior))
        np.add.at(cost, self.ones, weights)
        np.add.at(cost, self.others, -weights * share)
        mixtures *= (self.betas / (mixtures @ self.prior))[:, None]
        return mixtures, cost, float(weights @ (1 - share))


class _Pricing:
    """max g·p  s.t.  p ∈ C,  q·p ≤ β,  for one target; variables are p of the inputs with an entry in g."""

    def __init__(self, keep: FloatArray, prior: FloatArray, gain: FloatArray, beta: float) -> None:
        self.near = np.flatnonzero(np.abs(gain) > 0)
        self.far = np.flatnonzero(gain == 0)
        self.prior, self.beta, self.keep = prior, beta, keep
        self.between, self.reach = keep[np.ix_(self.near, self.near)], keep[np.ix_(self.near, self.far)]
        # In units of the quota: the solver's tolerances are absolute.
        self.gain = beta * gain[self.near]
        self.program = GrowingProgram(self.gain, np.full(len(self.near), 1 / beta))
        peak = int(gain[self.near].argmax())
        self._add_quota(np.full(len(self.far), peak))
        others = np.delete(np.arange(len(self.near)), peak)
        self._add_columns(others, np.full(len(others), peak))

    def solve(self) -> tuple[FloatArray, float]:
        """Return the best column for all inputs, at the quota, and an upper bound of its gain."""
        bound = np.inf
        for _ in range(MAX_PRICING_ROUNDS):
            x, y = self.program.solve()
            bound = min(bound, self.program.upper_bound(y))
            missing = self.between * x[:, None] - x[None, :]
            worst = missing.argmax(axis=0)
            broken = np.flatnonzero(missing[worst, np.arange(len(x))] > VIOLATED)
            self._add_columns(broken, worst[broken])
            if not self._add_broken_quota(x) and not len(broken):
                break
        column = (np.maximum(x, 1e-300)[:, None] * self.keep[self.near]).max(axis=0)
        return column, bound

    def _add_columns(self, inputs: IntArray, others: IntArray) -> None:
        """Add rows e^{-D_ij} p_j - p_i ≤ 0, for positions i and j."""
        if len(inputs):
            rows = np.zeros((len(inputs), len(self.near)))
            number = np.arange(len(inputs))
            rows[number, others] = self.between[others, inputs]
            rows[number, inputs] = -1.0
            self.program.add_rows(scipy.sparse.csr_array(rows), np.zeros(len(inputs)))

    def _add_broken_quota(self, x: FloatArray) -> bool:
        if not len(self.far):
            return False
        followed = (np.maximum(x, 1e-300)[:, None] * self.reach).argmax(axis=0)
        beyond = x[followed] * self.reach[followed, np.arange(len(self.far))]
        if self.prior[self.near] @ x + self.prior[self.far] @ beyond <= 1 + VIOLATED:
            return False
        self._add_quota(followed)
        return True

    def _add_quota(self, followed: IntArray) -> None:
        """Add q·p ≤ 1 in units of the quota; every input without a variable follows one that has."""
        row = self.prior[self.near].copy()
        np.add.at(row, followed, self.prior[self.far] * self.reach[followed, np.arange(len(self.far))])
        self.program.add_rows(scipy.sparse.csr_array(row[None, :]), np.ones(1))
