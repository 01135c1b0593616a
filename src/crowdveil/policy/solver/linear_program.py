"""Solve linear programs. This is the only module that uses the LP solver.

`LinearProgram` is that of one round of the cutting-plane search:

    min  cost·w     s.t.   fixed_per_w·w + Σ_o y_o ≤ quota,     y_owner ≥ offset + per_w · w_target  (each row),
                           lower ≤ w ≤ upper

Its answer is only a proposal: bounds are computed elsewhere from the dual weights, and are valid for any weights.

`GrowingProgram` is any program  max c·x,  A x ≤ b,  0 ≤ x ≤ u,  to which rows are added as they are needed. Its upper
bound is valid for whatever dual weights y ≥ 0 the solver gives: for every feasible x

    c·x  ≤  c·x + y·(b - A x)  =  y·b + Σ_j (c - Aᵀy)_j x_j  ≤  y·b + Σ_j u_j max(0, (c - Aᵀy)_j).
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
import scipy

from crowdveil.arrays import FloatArray, IntArray

TOLERANCES = (1e-10, 1e-9, 1e-7)
"""The smallest that HiGHS accepts first; larger ones if it fails."""


@dataclass(frozen=True)
class Constraints:
    """y_owner ≥ offset + per_w · w_target, one entry per row."""

    variable: IntArray
    target: IntArray
    offset: FloatArray
    per_w: FloatArray


@dataclass(frozen=True)
class LinearProgram:
    """The program: variables w (one per target), then y (one per variable)."""

    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    fixed_per_w: FloatArray
    quota: float
    variables: int
    rows: Constraints

    def solve(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the values of w and the dual weight of each row; None if the solver fails."""
        program = self._program()
        for tolerance in TOLERANCES:
            solver = highspy.Highs()
            solver.setOptionValue("output_flag", False)
            solver.setOptionValue("solver", "simplex")
            solver.setOptionValue("threads", 1)
            solver.setOptionValue("primal_feasibility_tolerance", tolerance)
            solver.setOptionValue("dual_feasibility_tolerance", tolerance)
            solver.passModel(program)
            solver.run()
            if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                answer = solver.getSolution()
                w = np.clip(np.asarray(answer.col_value)[: len(self.cost)], self.lower, self.upper)
                return w, np.abs(np.asarray(answer.row_dual)[1:])
        return None

    def _program(self) -> highspy.HighsLp:
        infinity = highspy.kHighsInf
        targets, columns, rows = len(self.cost), len(self.cost) + self.variables, len(self.rows.variable)
        free = np.full(self.variables, infinity)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, rows + 1
        program.col_cost_ = np.concatenate([self.cost, np.zeros(self.variables)])
        program.col_lower_, program.col_upper_ = np.r_[self.lower, -free], np.r_[self.upper, free]
        program.row_lower_ = np.concatenate([[-infinity], self.rows.offset])
        program.row_upper_ = np.concatenate([[self.quota], np.full(rows, infinity)])
        pairs = np.column_stack([targets + self.rows.variable, self.rows.target]).ravel()
        entries = np.column_stack([np.ones(rows), -self.rows.per_w]).ravel()
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.concatenate([[0], columns + 2 * np.arange(rows + 1)])
        program.a_matrix_.index_ = np.concatenate([np.arange(columns), pairs])
        program.a_matrix_.value_ = np.concatenate([self.fixed_per_w, np.ones(self.variables), entries])
        return program


class GrowingProgram:
    """max c·x  s.t.  A x ≤ b,  0 ≤ x ≤ u, with rows and columns that are added between solutions."""

    def __init__(self, gain: FloatArray, upper: FloatArray) -> None:
        self.gain, self.upper, self.limits = gain, upper, np.zeros(0)
        self.rows = scipy.sparse.csr_array((0, len(gain)))
        self._solver = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("solver", "simplex")):
            self._solver.setOptionValue(option, value)
        for kind in ("primal", "dual"):
            self._solver.setOptionValue(f"{kind}_feasibility_tolerance", TOLERANCES[0])
        self._add_to_solver(gain, upper, scipy.sparse.csc_array((0, len(gain))))

    def add_rows(self, rows: scipy.sparse.csr_array, limits: FloatArray) -> None:
        """Add rows of A x ≤ b."""
        self.rows = scipy.sparse.csr_array(scipy.sparse.vstack([self.rows, rows]))
        self.limits = np.concatenate([self.limits, limits])
        low = np.full(len(limits), -highspy.kHighsInf)
        self._solver.addRows(len(limits), low, limits, rows.nnz, rows.indptr[:-1], rows.indices, rows.data)

    def add_columns(self, columns: scipy.sparse.csc_array, gain: FloatArray, upper: FloatArray) -> None:
        """Add variables, with their entries in all rows so far."""
        self.rows = scipy.sparse.csr_array(scipy.sparse.hstack([self.rows, columns]))
        self.gain, self.upper = np.concatenate([self.gain, gain]), np.concatenate([self.upper, upper])
        self._add_to_solver(gain, upper, columns)

    def _add_to_solver(self, gain: FloatArray, upper: FloatArray, columns: scipy.sparse.csc_array) -> None:
        low = np.zeros(len(gain))
        entries = (columns.nnz, columns.indptr[:-1], columns.indices, columns.data)
        self._solver.addCols(len(gain), -gain, low, upper, *entries)

    def solve(self) -> tuple[FloatArray, FloatArray]:
        """Return the best x that the solver found, and the dual weight of each row, none below 0."""
        self._solver.run()
        answer = self._solver.getSolution()
        x, y = np.asarray(answer.col_value), -np.asarray(answer.row_dual)
        if len(x) != len(self.gain) or len(y) != len(self.limits):
            return np.zeros(len(self.gain)), np.zeros(len(self.limits))
        return np.clip(x, 0.0, self.upper), np.maximum(y, 0.0)

    def upper_bound(self, y: FloatArray) -> float:
        """Return the bound of the module's docstring, which holds for every y ≥ 0."""
        reduced = self.gain - self.rows.T @ y
        return float(y @ self.limits + self.upper @ np.maximum(reduced, 0.0))


def solver_version() -> str:
    """Return the name and version of the LP solver, for provenance."""
    return f"HiGHS {highspy.Highs().version()}"
