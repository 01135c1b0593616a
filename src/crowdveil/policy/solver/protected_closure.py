"""Compute the closure of all inputs of a protected policy: cells at every grade, and NULL, being outside.

The inputs are (l, g), cell l at grade g = 0, 1, ..., and NULL. With D_lk = ε·d(l, k), privacy is a pair of hops of
closure.py, both ways, over the distances

    (l, g) to (k, h):  D_lk + ε₁ |g - h|          (l, g) to NULL:  ε₀

and nothing else: whatever passes NULL is never farther than 2 ε₀. Targets are covered by visitors of every grade that
is worth something: the *seeds* are the inputs (t, h) whose probabilities x_(t,h) are given.

**Grades.** Without NULL this is a metric, and closure.py proves for any metric that one steep hop followed by one flat
hop suffices. From a seed (t, h) by way of (k, m) to (l, g) this is

    p_(l,g)  =  max over seeds (t, h), m and k of  (1 - (1 - x_(t,h)) e^{D_tk + ε₁ |m-h|}) · e^{-D_kl - ε₁ |g-m|}
             =  max over m of  e^{-ε₁ |g-m|} · closure(x^m)_l,     x^m_t = max over h of 1 - (1 - x_(t,h)) e^{ε₁ |m-h|}

since the closure of the largest is the largest of the closures; cells with x^m_t ≤ 0 are left out. So each grade costs
one closure of the cells. With seeds at grade 0 alone, and none of them above 1 - e^{-ε₁}, only m = 0 is left: a lower
grade has e^{-ε₁} times the probability of the grade above it.

**NULL.** Let φ(p) = max( p e^{-ε₀}, 1 - (1-p) e^{ε₀} ), the better of the two hops over ε₀. The least policy above
target probabilities x is the closure without NULL, raised to one constant:

    p_0 = φ(x_max),        p_i = max( closure without NULL_i, φ(p_0) ),        x_max = max_t x_t

Proof. No hop raises a probability, so the largest probability of any input is x_max, and φ increases: NULL is raised to
φ(x_max), by the best target directly. From NULL every input is one hop away, so all of them are raised to φ(p_0), and a
further hop gives at most φ(p_0), which every input has already. Chains that do not pass NULL are the closure above. ∎

φ(φ(x)) is the largest of three linear pieces (1 - (1-x) e^a) e^{-b}, with (a, b) = (0, 2ε₀), (ε₀, ε₀) and (2ε₀, 0):
both hops flat, steep then flat, both steep; flat then steep is never better (closure.py). So grades and NULL are
further sets of `LinearPieces`, and search, upper bound and proof of optimality for one or many targets stay what they
are (quota_shift.py, cutting_planes.py), over more inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import log

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, as_cells
from crowdveil.policy.solver.closure import MIN_SCORE, ClosureMap, LinearPieces
from crowdveil.policy.solver.laplace_scale import log_chances


@dataclass(frozen=True)
class Protection:
    """The privacy losses of a protected policy that do not depend on distance."""

    null_epsilon: float
    """ε₀, between NULL and every other input."""
    grade_epsilon: float | None = None
    """ε₁, between one grade and the next; None without grades."""
    grades: int = 1

    @property
    def least(self) -> float:
        """The smaller of the two."""
        return self.null_epsilon if self.grade_epsilon is None else min(self.null_epsilon, self.grade_epsilon)


class ProtectedClosure(ClosureMap):
    """The closure of all cells, grade by grade, and, last, of NULL; seeds are inputs, so cells at any grade."""

    def __init__(self, area: Area, seeds: ArrayLike, epsilon_per_km: float, protection: Protection) -> None:
        inputs = as_cells("seeds", seeds, len(area) * protection.grades)
        self._grade, cell = np.divmod(inputs, len(area))
        cells, self._position = np.unique(cell, return_inverse=True)
        super().__init__(area, cells, epsilon_per_km)
        self.seeds = inputs
        self.protection = protection

    def __call__(self, scores: FloatArray) -> LinearPieces:
        """Compute the closure at the probabilities F(scores)."""
        grades = self._by_grade(scores)
        log_hit, target, via, steep, flat = (
            np.concatenate([getattr(one, name) for one in grades])
            for name in ("log_hit", "target", "via", "steep", "flat")
        )
        floor, floor_target, floor_hops = self._best(scores, hops=2)
        null, null_target, null_hops = self._best(scores, hops=1)
        low = log_hit < floor
        away = self.protection.null_epsilon * np.arange(3)
        # `via` only has to distinguish pieces of one target: numbers beyond all inputs stand for chains through NULL.
        beyond = len(log_hit) + 1
        return LinearPieces(
            log_hit=np.append(np.where(low, floor, log_hit), null),
            target=np.append(np.where(low, floor_target, target), null_target),
            via=np.append(np.where(low, beyond + floor_hops, via), beyond + 3 + null_hops),
            steep=np.append(np.where(low, away[floor_hops], steep), away[null_hops]),
            flat=np.append(np.where(low, away[2 - floor_hops], flat), away[1 - null_hops]),
        )

    def _by_grade(self, scores: FloatArray) -> list[LinearPieces]:
        """Compute the closure of the cells at every grade, without NULL."""
        step = self.protection.grade_epsilon or 0.0
        by_way = [self._by_way_of(scores, middle) for middle in range(self.protection.grades)]
        found = []
        for grade in range(self.protection.grades):
            best: LinearPieces | None = None
            for middle, pieces in enumerate(by_way):
                if pieces is None:
                    continue
                away = step * abs(grade - middle)
                moved = replace(pieces, log_hit=pieces.log_hit - away, flat=pieces.flat + away)
                best = moved if best is None else _larger(best, moved)
            if best is None:
                raise ArithmeticError("no seed has a probability above 0")
            found.append(best)
        return found

    def _by_way_of(self, scores: FloatArray, middle: int) -> LinearPieces | None:
        """Compute the closure of the cells by way of one grade; None where no seed reaches it by a steep hop."""
        away = (self.protection.grade_epsilon or 0.0) * np.abs(self._grade - middle)
        log_left = log_chances(np.maximum(scores, MIN_SCORE))[1] + away
        moved = np.where(away == 0.0, scores, _scores_of_rest(log_left))
        if not (self._grade == middle).any() and (log_left >= 0).all():
            return None
        # Of the seeds of one cell the one that is best here; stable, so that ties do not change from call to call.
        order = np.lexsort((moved, self._position))
        last = np.flatnonzero(np.diff(self._position[order], append=-1))
        best = order[last]
        pieces = super().__call__(moved[best])
        seed = best[pieces.target]
        return LinearPieces(
            pieces.log_hit, seed, pieces.via + middle * len(self.area), pieces.steep + away[seed], pieces.flat
        )

    def _best(self, scores: FloatArray, hops: int) -> tuple[float, int, int]:
        """Return the largest log probability after `hops` hops from any seed, that seed, and how many are steep."""
        log_x, log_rest = log_chances(np.maximum(scores, MIN_SCORE))
        values = np.full((len(scores), hops + 1), -np.inf)
        values[:, 0] = log_x - hops * self.protection.null_epsilon
        for steep in range(1, hops + 1):
            log_left = log_rest + steep * self.protection.null_epsilon
            some = log_left < 0
            values[some, steep] = np.log(-np.expm1(log_left[some])) - (hops - steep) * self.protection.null_epsilon
        target, best = divmod(int(values.argmax()), hops + 1)
        return float(values[target, best]), target, best


def _larger(one: LinearPieces, other: LinearPieces) -> LinearPieces:
    """Take, input by input, the chain that gives the larger probability; of equal ones the first."""
    better = other.log_hit > one.log_hit
    return LinearPieces(
        *(np.where(better, getattr(other, field.name), getattr(one, field.name)) for field in fields(LinearPieces))
    )


def _scores_of_rest(log_rest: FloatArray) -> FloatArray:
    """Return the scores s with 1 - F(s) = e^log_rest, and the smallest score where that is 1 or more.

    F(s) = 1 - e^{-s}/2 above 0, and e^s/2 below, so that both tails keep their digits.
    """
    scores: FloatArray = np.full(len(log_rest), MIN_SCORE)
    high = log_rest <= -log(2)
    scores[high] = -log_rest[high] - log(2)
    low = ~high & (log_rest < 0)
    scores[low] = log(2) + np.log(-np.expm1(log_rest[low]))
    return np.asarray(np.maximum(scores, MIN_SCORE))
