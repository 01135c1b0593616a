"""Bound what several reports of one person tell together, over all campaigns, against any attacker.

A person stands at place i = 1..n with the prior probability π_i. In report r that place is an input: a cell with a
grade, or outside the area. A certified policy keeps two inputs of report r at most D'_r apart:

    D'_r((l, g), (l', g'))  =  min( ε_r d(l, l') + ε₁_r |g - g'|,  2 ε₀_r )        cells, with their grades
    D'_r((l, g), outside)   =  ε₀_r                                                infinite in the clear form
    D'_r(outside, outside)  =  0

The draws are independent, so for the whole sequence of replies s and any two places i, j

    P(s | i)  ≤  e^{M_ij} P(s | j)          M_ij = Σ_r D'_r(input_r(i), input_r(j))                             (1)

**Theorem.** However an attacker guesses the place from all replies at once, he is right with a probability of at most

    min { Σ_j c_j :   c ≥ 0,   Σ_j c_j e^{-M_ij} ≥ π_i  for all i }

*Proof.* The best guess is right with the probability Σ_s max_i π_i P(s | i). Let c be feasible. By (1),
P(s | j) ≥ e^{-M_ij} P(s | i), so for every s and i

    Σ_j c_j P(s | j)  ≥  Σ_j c_j e^{-M_ij} P(s | i)  ≥  π_i P(s | i).

So max_i π_i P(s | i) ≤ Σ_j c_j P(s | j); summed over s this is Σ_j c_j, because each P(· | j) sums to 1.  ∎

Every feasible c proves its own sum. So a solver need not be trusted: what it proposes is scaled up until each
inequality holds, and leaving out small entries of e^{-M} can only raise the bound. An operator who chooses the next
campaign after seeing the last reply gains nothing beyond this as long as M is at least what each of his sequences adds
up to: the proof uses (1) for one sequence s at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import scipy
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray, as_array, as_cells, as_floats
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_epsilon, check_grade_epsilon, check_null_epsilon, check_prior
from crowdveil.vocabulary import NULL

LEAST_ENTRY = 1e-4
"""Entries of e^{-M} below this are left out of a linear program."""
MAX_ENTRIES = 2_000_000
"""A linear program of more entries is not solved; some feasible c is used instead."""
INDISTINGUISHABLE = 1e-6
"""Places with no larger loss between them are taken for one."""
ROUNDING = 1e-9
"""How much the bound is raised, relatively, for the rounding of sums of up to a million products."""


@dataclass(frozen=True, eq=False)
class AcceptedReport:
    """One report of a certified policy, and the input that each place is in it."""

    area: Area
    epsilon_per_km: float
    cells: ArrayLike
    """For each place its cell of this area, or `NULL` for a place outside."""
    null_epsilon: float | None = None
    grade_epsilon: float | None = None
    grades: ArrayLike | int = 0
    """For each place the grade with which its cell would be reported, from 0."""

    def losses(self) -> FloatArray:
        """Return D' of this report between all places, shape (places, places)."""
        cells, grades = self._inputs()
        outside = cells == NULL
        where_m = self.area.xy_m[np.where(outside, 0, cells)]
        loss: FloatArray = scipy.spatial.distance.cdist(where_m, where_m)
        loss *= check_epsilon(self.epsilon_per_km) / 1000
        if self.grade_epsilon is not None:
            loss += check_grade_epsilon(self.grade_epsilon) * np.abs(grades[:, None] - grades[None, :])
        null_epsilon = inf if self.null_epsilon is None else check_null_epsilon(self.null_epsilon)
        np.minimum(loss, 2 * null_epsilon, out=loss)
        loss[outside] = loss[:, outside] = null_epsilon
        loss[np.ix_(outside, outside)] = 0.0
        return loss

    def _inputs(self) -> tuple[IntArray, IntArray]:
        cells = as_array("cells", self.cells, "should be one cell, or NULL, for each place")
        as_cells("cells", np.where(cells == NULL, 0, cells), len(self.area))
        grades = np.broadcast_to(as_array("grades", self.grades, "should be whole numbers from 0"), cells.shape)
        if grades.dtype.kind not in "iu" or (grades < 0).any():
            raise InputError("grades", self.grades, "should be whole numbers from 0")
        if self.grade_epsilon is None and (grades != 0).any():
            raise InputError("grades", int(grades.max()), "should be 0 without grade_epsilon, which protects grades")
        return cells.astype(np.int64), grades.astype(np.int64)


def combined_loss(reports: Sequence[AcceptedReport]) -> FloatArray:
    """Return M: by how much, as a logarithm, all replies together can favour one place over another."""
    if not reports:
        raise InputError("reports", reports, "should be one or more")
    total = reports[0].losses()
    for report in reports[1:]:
        loss = report.losses()
        if loss.shape != total.shape:
            raise InputError("reports", (len(total), len(loss)), "should each say the input of the same places")
        total += loss
    return total


def guess_bound(loss: ArrayLike, prior: ArrayLike | None = None) -> float:
    """Bound how often the best guess of the place is right, given M of `combined_loss`; see the theorem above."""
    m = as_floats("loss", loss)
    if m.ndim != 2 or not (m >= 0).all() or not np.array_equal(m, m.T):
        raise InputError("loss", m.shape, "should be the symmetric matrix of combined_loss, without negative entries")
    pi = check_prior(prior, len(m))
    loss_of_groups, likeliest = _grouped(m, pi)
    return min(1.0, _least_sum(np.exp(-loss_of_groups), likeliest) * (1 + ROUNDING))


def _grouped(m: FloatArray, pi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Take places that hardly any reply can tell apart for one, of which the likeliest is guessed.

    With C_h spread evenly over the members of each group h, all inequalities of a group hold if Σ_h C_h e^{-M_gh} ≥ π_i
    for its likeliest member, where M_gh is the largest loss between a member of g and one of h.
    """
    first = (m <= INDISTINGUISHABLE).argmax(axis=1)
    while not np.array_equal(first, first[first]):
        first = first[first]
    order = np.argsort(first)
    _, begins = np.unique(first[order], return_index=True)
    by_row = np.maximum.reduceat(m[order], begins)
    return np.maximum.reduceat(by_row[:, order], begins, axis=1), np.maximum.reduceat(pi[order], begins)


def _least_sum(near: FloatArray, pi: FloatArray) -> float:
    """Return Σ c of a feasible c: the optimum, or close to it.

    Where both `near c = π` and `near y = 1` have solutions without negative entries, c is optimal by duality, because
    Σ c = yᵀ near c = Σ π y. That is so for e^{-εd} and nearly even priors, and solving equations is fast. Otherwise the
    program is solved without its entries below `LEAST_ENTRY`, unless it is still too large to be solved in a minute.
    """
    try:
        c, y = np.linalg.solve(near, np.column_stack([pi, np.ones(len(pi))])).T
    except np.linalg.LinAlgError:
        c, y = pi, np.full(len(pi), -1.0)
    found = [_scaled_sum(near, np.maximum(c, 0.0), pi), _scaled_sum(near, pi, pi)]
    if (c >= 0).all() and (y >= 0).all():
        return found[0]
    entries = scipy.sparse.csr_matrix(np.where(near < LEAST_ENTRY, 0.0, near))
    if entries.nnz <= MAX_ENTRIES:
        solved = scipy.optimize.linprog(np.ones(len(pi)), A_ub=-entries, b_ub=-pi, method="highs-ipm")
        if solved.x is not None:
            found.append(_scaled_sum(near, np.maximum(solved.x, 0.0), pi))
    return min(found)


def _scaled_sum(near: FloatArray, c: FloatArray, pi: FloatArray) -> float:
    """Scale c until each inequality holds, and one of them exactly, and return its sum."""
    reached, needed = near @ c, pi > 0
    if not (reached[needed] > 0).all():
        return 1.0
    return float(c.sum()) * float((pi[needed] / reached[needed]).max())
