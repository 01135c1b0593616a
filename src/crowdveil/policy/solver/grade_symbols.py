"""Split what is left of a protected policy after `hit` into the symbols `outside`, `grade 1`, `grade 2`, ...

From these the server learns how many people are outside, and how many are regular: with a row but without a symbol of
its own the share of those outside can hardly be told. The weight of `hit` is untouched, and so is the optimum.

Let a_i = ln(1 - p_i) and D the distances of policy.py. The privacy that `hit` leaves to other symbols is the metric

    R = metric closure of  max( 0, (1-κ) D_ij - |a_i - a_j| - λ )

Let d(i, S) be the distance R from an input i to the nearest of a set S of inputs. With the sets {NULL} for `outside`
and "all cells at grade h" for `grade h`, a device with input i that does not send `hit` sends symbol s with the
probability

    K(s | i)  ∝  m_s · e^{-d(i, S_s) / 2},          m_outside = ½ Σ_h e^{-d(NULL, S_h) / 2},   m_s = 1 for grades

so that a device outside says so every third time, and else sends any grade.

*Private.* d(·, S) changes by at most R_ij from i to j, hence K by at most e^{R_ij}, half of it from the numerator and
half from the normaliser. Where R_ij comes from a positive term, (1-p) K changes by at most e^{(1-κ) D_ij - λ}: λ is
what rounding adds, and κ D_ij is left to a completion. Where it is 0, K is the same for i and j, and the quotient is
that of 1 - p, for which `mix_share` has made room (rounding.py).

**d, efficiently.** completion.py proves that shortest paths alternate between inputs of the *core*, those with p above
some η, and others, which they pass one at a time, and bounds what other paths could save by half of κ D_min. So a path
from i to S is a direct step into S, or a step into the core, steps within it, and a step into S, possibly by way of one
more input. An input enters a grade in its own cell.

Only distances to a few sets are needed, not those between all inputs. So they are relaxed (Bellman and Ford): the
distances of the core become the least over a step to any input, then those of all inputs the least over a step into the
core, until nothing changes. This takes few turns, because steps in a row save little. For areas whose steps would need
too much memory, R is replaced by its least values: κ₀ between NULL and all others, κ₁ between one grade and the next, 0
between cells.
"""

from __future__ import annotations

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.policy.solver.completion import ROUNDING_RESERVE, core_of
from crowdveil.policy.solver.protected_closure import Protection

MAX_DISTANCE = float(np.log(4096))
"""d is at most this, so that the rarest symbol keeps a weight that rounding hardly changes, however large ε₀ is."""
MAX_STEPS = 4_000_000
"""Steps from the core to all inputs that are kept in memory; beyond, the least values are used."""


def rest_names(protection: Protection | None) -> tuple[str, ...]:
    """Name the symbols of those who are not selected; with a single grade there is nothing to grade."""
    if protection is None:
        return ("other",)
    grades = protection.grades
    return ("outside", *(("other",) if grades == 1 else (f"grade {grade + 1}" for grade in range(grades))))


def split_error(protection: Protection, bits: int) -> float:
    """Return δ' of rounding.py: the largest error of a weight, divided by its share K(s|i) and by 2^bits.

    A weight is moved by half a unit, or by the error of a double, and the last one by that of all the others.
    """
    least = np.exp(-min(protection.null_epsilon, MAX_DISTANCE)) / (2 + 2 * protection.grades)
    return float((1 + protection.grades) * max(2.0**-bits, 2.0**-53) / least)


def split_rest(area: Area, hit: IntArray, epsilon_per_km: float, protection: Protection, bits: int) -> IntArray:
    """Return the weights of `outside` and of the grades, given those of `hit` for every input, NULL last.

    Several symbols may stand in the place of `hit`: all that counts is the sum of their weights.
    """
    total = 1 << bits
    rest = total - hit
    log_rest = np.log(rest.astype(np.float64)) - bits * np.log(2.0)
    rounding = 4 * split_error(protection, bits) * total / float(rest.min())
    away = np.minimum(_Left(area, log_rest, epsilon_per_km, protection, rounding).to_sets(), MAX_DISTANCE)
    shares = np.exp(-away / 2)
    shares[0] *= shares[1:, -1].sum() / 2
    shares /= shares.sum(axis=0)
    split = np.rint(rest * shares[:-1]).astype(np.int64)
    return np.column_stack([split.T, rest - split.sum(axis=0)])


class _Left:
    """The privacy that `hit` has left, as distances between inputs."""

    def __init__(
        self, area: Area, log_rest: FloatArray, epsilon_per_km: float, protection: Protection, rounding: float
    ) -> None:
        self.area, self.log_rest, self.epsilon_per_km = area, log_rest, epsilon_per_km
        self.n, self.grades, self.rounding = len(area), protection.grades, rounding
        self.null_epsilon = protection.null_epsilon
        self.grade_epsilon = protection.grade_epsilon or 0.0
        least = min(epsilon_per_km * area.nearest_neighbour_km, protection.least)
        self.core = np.union1d(core_of(log_rest, least), [len(log_rest) - 1])

    def to_sets(self) -> FloatArray:
        """Return d(i, S) of every input i: a row for NULL, then one for each grade."""
        into = np.vstack([self._into_null(), *(self._into_grade(grade) for grade in range(self.grades))])
        if len(self.core) * len(self.log_rest) > MAX_STEPS:
            return self._least_values(into)
        steps, away = self._from_core(), into
        while True:
            from_core = np.stack([(steps + one).min(axis=1) for one in away])
            nearer = np.minimum(away, np.stack([(steps + one[:, None]).min(axis=0) for one in from_core]))
            if (nearer == away).all():
                return away
            away = nearer

    def _steps(self, allowed: FloatArray | float, one: FloatArray, other: FloatArray) -> FloatArray:
        left = (1 - ROUNDING_RESERVE) * allowed - np.abs(one - other) - self.rounding
        return np.asarray(np.maximum(left, 0.0))

    def _into_null(self) -> FloatArray:
        return np.append(self._steps(self.null_epsilon, self.log_rest[:-1], self.log_rest[-1:]), 0.0)

    def _into_grade(self, grade: int) -> FloatArray:
        by_grade = self.log_rest[:-1].reshape(self.grades, self.n)
        own = [
            np.zeros(self.n)
            if other == grade
            else self._steps(self.grade_epsilon * abs(other - grade), by_grade[other], by_grade[grade])
            for other in range(self.grades)
        ]
        return np.append(np.concatenate(own), self._into_null()[:-1].reshape(self.grades, self.n)[grade].min())

    def _from_core(self) -> FloatArray:
        """Return the direct distances from every input of the core, NULL last, to all inputs."""
        inside = self.core[:-1]
        grade, cell = np.divmod(inside, self.n)
        ground = self.epsilon_per_km * self.area.distances_km(cell)
        steps = self.grade_epsilon * np.abs(np.subtract.outer(grade, np.arange(self.grades)))
        allowed = np.full((len(self.core), len(self.log_rest)), self.null_epsilon)
        allowed[:-1, :-1] = (ground[:, None, :] + steps[:, :, None]).reshape(len(inside), self.n * self.grades)
        np.minimum(allowed[:-1, :-1], 2 * self.null_epsilon, out=allowed[:-1, :-1])
        direct = self._steps(allowed, self.log_rest[self.core][:, None], self.log_rest[None, :])
        direct[np.arange(len(self.core)), self.core] = 0.0
        return direct

    def _least_values(self, into: FloatArray) -> FloatArray:
        """Return distances that depend on the grade alone, or on being outside, and are nowhere above R."""
        kappa_0 = float(into[0, :-1].min())
        by_grade = into[1:, :-1].reshape(self.grades, self.grades, self.n).min(axis=2)
        neighbours = by_grade[np.arange(self.grades - 1), np.arange(1, self.grades)]
        kappa_1 = min(float(neighbours.min()), kappa_0 / (self.grades - 1)) if self.grades > 1 else 0.0
        grade = np.arange(self.grades)
        to_grades = kappa_1 * np.abs(np.subtract.outer(grade, grade))
        sets = np.vstack([np.full(self.grades, kappa_0), to_grades])
        return np.column_stack([np.repeat(sets, self.n, axis=1), np.append(0.0, np.full(self.grades, kappa_0))])
