"""Solve the relaxation over the pieces seen so far, with an upper bound that is valid whatever the solver returns.

    max Σ_t c_t x_t   s.t.   Σ_l max over l's pieces of π_l (1 - (1 - x_t) e^{D_tk}) e^{-D_kl}  ≤  β,   0 ≤ x ≤ 1

Each piece is a lower bound of p_l for every x, so the program relaxes the true one and its value is an upper bound.
Within a trust region most cells can lie on one piece only and are summed into the quota's row; cells that follow one
target are summed into a convex function of its probability; only the others get a variable of their own. Cells that
were only ever determined by chains through NULL (protected_closure.py) have the same pieces, except for the factor π_l,
and share one variable.

The solver's dual variables are weights of the pieces (of each cell, summing to 1); any such weights give *one* linear
inequality that all feasible x satisfy,

    Σ_t A_t - B_t (1 - x_t) ≤ β,      A_t = Σ θ π e^{-D_kl},  B_t = Σ θ π e^{D_tk - D_kl},

and maximising Σ c_t x_t under one inequality is a fractional knapsack, solved by sorting (duality.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import BoolArray, FloatArray, IntArray
from crowdveil.policy.solver.closure import LinearPieces
from crowdveil.policy.solver.duality import bound_from_one, bound_from_zero
from crowdveil.policy.solver.laplace_scale import log_chances, score_of
from crowdveil.policy.solver.linear_program import Constraints, LinearProgram

SCALE = 1e4
"""The solver's tolerances are absolute; scaling quota and objective makes them relative."""
NEGLIGIBLE_TARGET = 1e-12
"""A target that contributes less than this share of the objective may stay at the trust region's edge."""
MAX_OWN_CELLS, MIN_CUT_RADIUS = 1500, 0.05
"""A program with more variables costs more than several rounds in smaller trust regions."""
NEGLIGIBLE_CELL = 1e-17
"""Cells that never have more than this share of β need not choose between their pieces."""


@dataclass(frozen=True)
class Proposal:
    """Result of the relaxation: scores to try next, and a proven upper bound of the objective."""

    scores: FloatArray
    upper_bound: float
    radius: float
    """Radius of the trust region in which it was found."""
    at_edge: bool
    """Whether the trust region kept some target from moving farther."""


class Relaxation:
    """All pieces seen so far, one per cell and round."""

    def __init__(self, prior: FloatArray, gain: FloatArray, beta: float) -> None:
        self.prior, self.gain, self.beta = prior, gain, beta
        self.largest = np.zeros(len(prior))
        """The largest π_l p_l of each cell so far."""
        self._pieces: list[LinearPieces] = []

    def add(self, pieces: LinearPieces) -> None:
        """Remember the piece that each cell lies on."""
        self._pieces.append(pieces)
        self.largest = np.maximum(self.largest, self.prior * np.exp(pieces.log_hit))

    def stacked(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Return targets, via cells, steep and flat distances of all pieces, each of shape (rounds, n)."""
        target, via = (np.array([getattr(p, name) for p in self._pieces]) for name in ("target", "via"))
        steep, flat = (np.array([getattr(p, name) for p in self._pieces]) for name in ("steep", "flat"))
        return target, via, steep, flat

    def propose(self, scores: FloatArray, radius: float) -> Proposal | None:
        """Solve within `radius` of given scores; return None if the solver fails."""
        local = _TrustRegionProgram(self, scores, radius)
        while local.own_variables > MAX_OWN_CELLS and radius > MIN_CUT_RADIUS:
            radius /= 2
            local = _TrustRegionProgram(self, scores, radius)
        solution = local.linear_program().solve()
        if solution is None:
            return None
        w, weights = solution
        return Proposal(local.scores_of(w), local.dual_bound(weights), radius, local.at_edge(w))


class _TrustRegionProgram:
    """The pieces as linear functions of scaled probabilities w around given scores.

    Above 1/2 the variable is w = (1-x)/(its present value), below it is w = x/(its present value).
    """

    def __init__(self, relaxation: Relaxation, scores: FloatArray, radius: float) -> None:
        self.relaxation, self.targets = relaxation, len(scores)
        self.log_x, self.log_rest = log_chances(scores)
        self.high: BoolArray = scores >= 0
        cap = np.where(self.high, -self.log_rest, -self.log_x - 1e-9)
        self.lower, self.upper = np.full(self.targets, np.exp(-radius)), np.exp(np.minimum(radius, cap))
        self.target, self.via, steep, flat = relaxation.stacked()
        prior, scale = relaxation.prior, SCALE / relaxation.beta
        self.constant = prior * np.exp(-flat)
        self.falling = prior * np.exp(steep - flat + self.log_rest[self.target])
        self.at_zero = -self.constant * np.expm1(np.minimum(steep, 700.0))
        rising = prior * np.exp(np.minimum(steep - flat + self.log_x[self.target], 700.0))
        high = self.high[self.target]
        self.offset = np.where(high, self.constant, self.at_zero) * scale
        self.per_w = np.where(high, -self.falling, rising) * scale
        self._sort_cells()

    def _sort_cells(self) -> None:
        """Discard a piece whose largest value in the trust region is below the smallest value of another.

        What is left for a cell: one piece (`fixed`), pieces of one target (`grouped`), or a choice of targets (`own`).
        """
        ends = [self.offset + self.per_w * bound[self.target] for bound in (self.lower, self.upper)]
        least, most = np.minimum(*ends), np.maximum(*ends)
        cells = np.arange(least.shape[1])
        self.best = least.argmax(axis=0)
        self.alive = most > least[self.best, cells]
        self.alive[self.best, cells] = True
        same_target = ((self.target == self.target[self.best, cells]) | ~self.alive).all(axis=0)
        same_piece = same_target & ((self.via == self.via[self.best, cells]) | ~self.alive).all(axis=0)
        same_piece |= self.relaxation.largest <= NEGLIGIBLE_CELL * self.relaxation.beta
        self.fixed = np.flatnonzero(same_piece)
        self.grouped = np.flatnonzero(same_target & ~same_piece)
        self.own = np.flatnonzero(~same_target & ~same_piece)
        self._join_equal_cells()

    def _join_equal_cells(self) -> None:
        """Set `variable`, the variable of each own cell, and `first`, the first cell of each variable."""
        code = self.target[:, self.own] * (int(self.via.max()) + 1) + self.via[:, self.own]
        self.code = np.where(self.alive[:, self.own], code, -1)
        through_null = ((self.code < 0) | (self.via[:, self.own] >= self.via.shape[1])).all(axis=0)
        alone = np.flatnonzero(~through_null)
        _, first, group = np.unique(self.code[:, through_null], axis=1, return_index=True, return_inverse=True)
        self.first = np.concatenate([alone, np.flatnonzero(through_null)[first]])
        self.variable = np.empty(len(self.own), dtype=np.int64)
        self.variable[alone] = np.arange(len(alone))
        self.variable[through_null] = len(alone) + group.ravel()
        self.own_variables = len(self.first)

    def linear_program(self) -> LinearProgram:
        """Build the program; its variables are the targets' groups and then the own cells."""
        gain = self.relaxation.gain * (SCALE / self.relaxation.beta)
        picked = self.best[self.fixed], self.fixed
        group_rows, group_round = self._group_rows()
        own_rows, own_round = self._own_rows()
        joined = (np.concatenate(both) for both in zip(group_rows, own_rows, strict=True))
        self.rows, self.row_round = Constraints(*joined), np.concatenate([group_round, own_round])
        return LinearProgram(
            cost=np.where(self.high, gain * np.exp(self.log_rest), -gain * np.exp(self.log_x)),
            lower=self.lower,
            upper=self.upper,
            fixed_per_w=np.bincount(self.target[picked], self.per_w[picked], self.targets).astype(np.float64),
            quota=SCALE - float(self.offset[picked].sum()),
            variables=self.targets + self.own_variables,
            rows=self.rows,
        )

    def _group_rows(self) -> tuple[tuple[IntArray, IntArray, FloatArray, FloatArray], IntArray]:
        """Make one row for each different sum of a group in a round."""
        rounds = len(self.target)
        best = self.best[self.grouped]
        self.group_target = self.target[best, self.grouped]
        # In rounds in which a cell followed another target (that piece is discarded) its best piece is used.
        followed = self.target[:, self.grouped] == self.group_target
        self.group_round = np.where(followed, np.arange(rounds)[:, None], best)
        offsets, slopes = (
            np.array(
                [np.bincount(self.group_target, table[use, self.grouped], self.targets) for use in self.group_round]
            )
            for table in (self.offset, self.per_w)
        )
        new = np.ones((rounds, self.targets), dtype=bool)
        for r in range(1, rounds):
            new[r] = ~((offsets[:r] == offsets[r]) & (slopes[:r] == slopes[r])).any(axis=0)
        at, group = np.nonzero(new)
        return (group, group, offsets[new], slopes[new]), at

    def _own_rows(self) -> tuple[tuple[IntArray, IntArray, FloatArray, FloatArray], IntArray]:
        """Make one row for each different live piece of a variable, summed over its cells."""
        code = self.code[:, self.first]
        order = np.argsort(code, axis=0, kind="stable")
        ordered = np.take_along_axis(code, order, axis=0)
        first = ordered >= 0
        first[1:] &= ordered[1:] != ordered[:-1]
        position, own = np.nonzero(first)
        at, cells = order[position, own], self.own[self.first[own]]
        offset, per_w = (self._summed(table)[at, own] for table in (self.offset, self.per_w))
        return (self.targets + own, self.target[at, cells], offset, per_w), at

    def _summed(self, table: FloatArray) -> FloatArray:
        """Sum over the cells of each variable."""
        if self.own_variables == len(self.own):
            return table[:, self.own[self.first]]
        return np.array([np.bincount(self.variable, row, self.own_variables) for row in table[:, self.own]])

    def scores_of(self, w: FloatArray) -> FloatArray:
        """Convert the solution to the Laplace scale; far from 1/2 that scale is exactly logarithmic."""
        log_part = np.minimum(np.where(self.high, self.log_rest, self.log_x) + np.log(w), -1e-16)
        # log_part is log(1-x) above 1/2 and log x below: the same tail, mirrored
        scores: FloatArray = np.where(self.high, -1.0, 1.0) * score_of(log_part)
        return scores

    def at_edge(self, w: FloatArray) -> bool:
        """Tell whether the trust region binds for a target that matters."""
        part = self.relaxation.gain * np.exp(self.log_x)
        edge = (w <= self.lower * (1 + 1e-9)) | (w >= self.upper * (1 - 1e-9))
        return bool((edge & (part > NEGLIGIBLE_TARGET * part.sum())).any())

    def dual_bound(self, weights: FloatArray) -> float:
        """Compute an upper bound of Σ c_t x_t from the inequality to which the weighted pieces add up."""
        gain, beta = self.relaxation.gain, self.relaxation.beta
        shares = self._shares(weights)
        falling: FloatArray = np.zeros(self.targets)
        np.add.at(falling, self.target.ravel(), (shares * self.falling).ravel())
        if self.high.any():
            return bound_from_one(gain, beta, float((shares * self.constant).sum()), falling, self.log_rest)
        at_zero = float((shares * self.at_zero).sum())
        return bound_from_zero(gain, beta, at_zero, falling * np.exp(-self.log_rest))

    def _shares(self, weights: FloatArray) -> FloatArray:
        """Compute θ: for each cell the shares, summing to 1, of its rounds' pieces."""
        rounds, n = self.target.shape
        table = np.zeros((self.targets + self.own_variables, rounds))
        np.add.at(table, (self.rows.variable, self.row_round), weights)
        table[table.sum(axis=1) <= 0, -1] = 1.0
        table /= table.sum(axis=1, keepdims=True)
        shares = np.zeros((rounds, n))
        shares[self.best[self.fixed], self.fixed] = 1.0
        shares[:, self.own] = table[self.targets :][self.variable].T
        for r in range(rounds):
            np.add.at(shares, (self.group_round[r], self.grouped), table[self.group_target, r])
        return shares
