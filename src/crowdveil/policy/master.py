"""The small linear program over the pieces seen so far. The only module that knows the LP solver.

    max Σ_t c_t x_t   s.t.   Σ_l max over l's pieces of π_l (1 - (1 - x_t) e^{D_tk}) e^{-D_kl}  ≤  β,   0 ≤ x ≤ 1

Each piece is a lower bound of p_l for every x, so the program relaxes the true one and its value is an upper bound.
Within a trust region most cells can lie on one piece only and are summed into the quota's row; cells that follow one
target are summed into a convex function of its chance; only the others get a variable of their own.

The solver's own objective is not trusted. Its dual variables are weights of the pieces (of each cell, summing to 1);
any such weights give *one* linear inequality that all feasible x satisfy,

    Σ_t A_t - B_t (1 - x_t) ≤ β,      A_t = Σ θ π e^{-D_kl},  B_t = Σ θ π e^{D_tk - D_kl},

and maximising Σ c_t x_t under one inequality is a fractional knapsack, solved by sorting (duality.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from crowdveil.arrays import BoolArray, FloatArray, IntArray
from crowdveil.policy.closure import Pieces
from crowdveil.policy.duality import bound_from_one, bound_from_zero
from crowdveil.policy.scale import LN2, log_chances

TOLERANCE = 1e-10
"""The least that HiGHS accepts; it is absolute, so the program is scaled up by:"""
SCALE = 1e4
SMALL_PART = 1e-12
"""A target that contributes less than this share of the objective may stay at the trust region's edge."""
NEGLIGIBLE = 1e-17
"""Cells that never carry more than this share of β need not choose between their pieces."""


@dataclass(frozen=True)
class Proposal:
    """What the relaxation says: chances to try next, and a proven upper bound of the objective."""

    scores: FloatArray
    upper_bound: float
    at_edge: bool
    """The trust region kept some target from moving farther."""


class Relaxation:
    """All pieces seen so far."""

    def __init__(self, prior: FloatArray, gain: FloatArray, beta: float) -> None:
        self.prior = prior
        self.gain = gain
        self.beta = beta
        self._target: list[IntArray] = []
        self._via: list[IntArray] = []
        self._steep: list[FloatArray] = []
        self._flat: list[FloatArray] = []
        self.largest = np.zeros(len(prior))

    def add(self, pieces: Pieces) -> None:
        """Remember the piece that each cell lies on."""
        self._target.append(pieces.target)
        self._via.append(pieces.via)
        self._steep.append(pieces.steep)
        self._flat.append(pieces.flat)
        self.largest = np.maximum(self.largest, self.prior * np.exp(pieces.log_hit))

    def propose(self, scores: FloatArray, radius: float) -> Proposal | None:
        """Solve within `radius` of given scores; None if the solver gives up."""
        program = _Program(self, scores, radius)
        solution = program.solve()
        if solution is None:
            return None
        moved, weights, at_edge = solution
        return Proposal(moved, program.dual_bound(program.piece_shares(weights)), at_edge)

    def stacked(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Targets, via cells, steep and flat distances of all pieces, each of shape (rounds, n)."""
        return np.array(self._target), np.array(self._via), np.array(self._steep), np.array(self._flat)


class _Program:
    """The relaxation as rows and columns: chances x_t (scaled), group sums Y_t, own cells y_l."""

    def __init__(self, relaxation: Relaxation, scores: FloatArray, radius: float) -> None:
        self.relaxation, self.scores = relaxation, scores
        self.log_x, self.log_rest = log_chances(scores)
        # Above 1/2 the variable is w = (1-x)/(its present value), below it is w = x/(its present value).
        self.high: BoolArray = scores >= 0
        cap = np.where(self.high, -self.log_rest, -self.log_x - 1e-9)
        self.lower, self.upper = np.full(len(scores), np.exp(-radius)), np.exp(np.minimum(radius, cap))
        self.target, self.via, steep, flat = relaxation.stacked()
        prior, scale = relaxation.prior, SCALE / relaxation.beta
        self.constant = prior * np.exp(-flat)
        self.falling = prior * np.exp(steep - flat + self.log_rest[self.target])
        high = self.high[self.target]
        rising = prior * np.exp(np.minimum(steep - flat + self.log_x[self.target], 700.0))
        self.at_zero = -self.constant * np.expm1(np.minimum(steep, 700.0))
        self.offset = np.where(high, self.constant, self.at_zero) * scale
        self.per_w = np.where(high, -self.falling, rising) * scale
        self._sort_cells()

    def _sort_cells(self) -> None:
        """Within the trust region most cells can lie on one piece only; the others need rows.

        A piece whose largest value there is below another's smallest is out. What is left: one piece (`fixed`), pieces
        of one target (summed into a convex function of its chance), or a choice of targets (`own`).
        """
        ends = [self.offset + self.per_w * bound[self.target] for bound in (self.lower, self.upper)]
        least, most = np.minimum(*ends), np.maximum(*ends)
        best = least.argmax(axis=0)
        cells = np.arange(least.shape[1])
        alive = most > least[best, cells]
        alive[best, cells] = True
        own_target, own_via = self.target[best, cells], self.via[best, cells]
        same_target = ((self.target == own_target) | ~alive).all(axis=0)
        same_piece = same_target & ((self.via == own_via) | ~alive).all(axis=0)
        same_piece |= self.relaxation.largest <= NEGLIGIBLE * self.relaxation.beta
        self.alive, self.best = alive, best
        self.fixed = np.flatnonzero(same_piece)
        self.grouped = np.flatnonzero(same_target & ~same_piece)
        self.own = np.flatnonzero(~same_target & ~same_piece)

    def solve(self) -> tuple[FloatArray, FloatArray, bool] | None:
        """New scores, the dual weight of each row, and whether the trust region binds."""
        targets, columns = len(self.scores), 2 * len(self.scores) + len(self.own)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, 0
        infinity = highspy.kHighsInf
        lower, upper, cost = np.full(columns, -infinity), np.full(columns, infinity), np.zeros(columns)
        lower[:targets], upper[:targets] = self.lower, self.upper
        gain = self.relaxation.gain * (SCALE / self.relaxation.beta)
        cost[:targets] = np.where(self.high, gain * np.exp(self.log_rest), -gain * np.exp(self.log_x))
        self._rows()
        row_count = len(self.row_owner) + 1
        start = np.concatenate([[0], columns + 2 * np.arange(row_count)])
        index = np.concatenate(
            [np.arange(columns), np.column_stack([targets + self.row_owner, self.row_target]).ravel()]
        )
        quota = np.concatenate([self.fixed_per_w, np.ones(columns - targets)])
        value = np.concatenate([quota, np.column_stack([np.ones(row_count - 1), -self.row_per_w]).ravel()])
        program.num_row_ = row_count
        program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
        program.row_lower_ = np.concatenate([[-highspy.kHighsInf], self.row_offset])
        program.row_upper_ = np.concatenate([[SCALE - self.fixed_offset], np.full(row_count - 1, highspy.kHighsInf)])
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_, program.a_matrix_.index_, program.a_matrix_.value_ = start, index, value
        answer = _run(program)
        if answer is None:
            return None
        w, duals = np.asarray(answer.col_value)[:targets], np.asarray(answer.row_dual)
        part = self.relaxation.gain * np.exp(self.log_x)
        matters = part > SMALL_PART * part.sum()
        edge = (w <= lower[:targets] * (1 + 1e-9)) | (w >= upper[:targets] * (1 - 1e-9))
        return self._scores_of(w), np.abs(duals[1:]), bool((edge & matters).any())

    def _scores_of(self, w: FloatArray) -> FloatArray:
        """Scores of the solution; far from 1/2 the scale is exactly logarithmic."""
        log_part = np.minimum(np.where(self.high, self.log_rest, self.log_x) + np.log(w), -1e-16)
        # log_part is log(1-x) above 1/2 and log x below: the same tail, mirrored
        distance = np.where(log_part <= -LN2, -(log_part + LN2), np.log(-np.expm1(log_part)) + LN2)
        scores: FloatArray = np.where(self.high, distance, -distance)
        return scores

    def _rows(self) -> None:
        """One row for each different sum of a group in a round, and for each live piece of an own cell."""
        targets, rounds = len(self.scores), len(self.target)
        self.fixed_offset = float(self.offset[self.best[self.fixed], self.fixed].sum())
        picked = self.best[self.fixed]
        self.fixed_per_w = np.bincount(self.target[picked, self.fixed], self.per_w[picked, self.fixed], targets)
        # A group's cells may have followed others in rounds whose pieces are out; there their best piece stands in.
        self.group_target = self.target[self.best[self.grouped], self.grouped]
        use = np.where(self.target[:, self.grouped] == self.group_target, np.arange(rounds)[:, None], 0)
        use = np.where(self.target[:, self.grouped] == self.group_target, use, self.best[self.grouped])
        self.group_round = use
        offsets, slopes = (
            np.array([np.bincount(self.group_target, table[use[r], self.grouped], targets) for r in range(rounds)])
            for table in (self.offset, self.per_w)
        )
        new = np.ones((rounds, targets), dtype=bool)
        for r in range(1, rounds):
            same = (offsets[:r] == offsets[r]) & (slopes[:r] == slopes[r])
            new[r] = ~same.any(axis=0)
        group_round, group_target = np.nonzero(new)
        code = self.target[:, self.own] * self.target.shape[1] + self.via[:, self.own]
        code = np.where(self.alive[:, self.own], code, -1)
        order = np.argsort(code, axis=0, kind="stable")
        ordered = np.take_along_axis(code, order, axis=0)
        first = ordered >= 0
        first[1:] &= ordered[1:] != ordered[:-1]
        at, own = np.nonzero(first)
        own_round = order[at, own]
        cells = self.own[own]
        self.row_owner = np.concatenate([group_target, targets + own])
        self.row_round = np.concatenate([group_round, own_round])
        self.row_target = np.concatenate([group_target, self.target[own_round, cells]])
        self.row_offset = np.concatenate([offsets[new], self.offset[own_round, cells]])
        self.row_per_w = np.concatenate([slopes[new], self.per_w[own_round, cells]])

    def piece_shares(self, weights: FloatArray) -> FloatArray:
        """θ: for each cell the shares, summing to 1, of its rounds' pieces."""
        targets, (rounds, n) = len(self.scores), self.target.shape
        table = np.zeros((targets + len(self.own), rounds))
        np.add.at(table, (self.row_owner, self.row_round), weights)
        unpriced = table.sum(axis=1) <= 0
        table[unpriced, -1] = 1.0
        table /= table.sum(axis=1, keepdims=True)
        shares = np.zeros((rounds, n))
        shares[self.best[self.fixed], self.fixed] = 1.0
        shares[:, self.own] = table[targets:].T
        for r in range(rounds):
            np.add.at(shares, (self.group_round[r], self.grouped), table[self.group_target, r])
        return shares

    def dual_bound(self, shares: FloatArray) -> float:
        """Upper bound of Σ c_t x_t from the one inequality that the shares of pieces add up to."""
        gain, beta, targets = self.relaxation.gain, self.relaxation.beta, len(self.scores)
        falling: FloatArray = np.zeros(targets)
        np.add.at(falling, self.target.ravel(), (shares * self.falling).ravel())
        if self.high.any():
            return bound_from_one(gain, beta, float((shares * self.constant).sum()), falling, self.log_rest)
        at_zero = float((shares * self.at_zero).sum())
        return bound_from_zero(gain, beta, at_zero, falling * np.exp(-self.log_rest))


def _run(program: highspy.HighsLp) -> highspy.HighsSolution | None:
    """Solve by dual simplex, with looser tolerances where the tightest fail; bounds are proven elsewhere."""
    for tolerance in (TOLERANCE, 1e-9, 1e-7):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("solver", "simplex")
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("primal_feasibility_tolerance", tolerance)
        solver.setOptionValue("dual_feasibility_tolerance", tolerance)
        solver.passModel(program)
        solver.run()
        if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            return solver.getSolution()
    return None


def solver_version() -> str:
    """Name and version of the LP solver, for provenance."""
    return f"HiGHS {highspy.Highs().version()}"
