"""Solve the linear program of one round. This is the only module that uses the LP solver.

    min  cost·w     s.t.   fixed_per_w·w + Σ_o y_o ≤ quota,     y_owner ≥ offset + per_w · w_target  (each row),
                           lower ≤ w ≤ upper

Its answer is only a proposal: bounds are computed elsewhere from the dual weights, and are valid for any weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

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


def solver_version() -> str:
    """Return the name and version of the LP solver, for provenance."""
    return f"HiGHS {highspy.Highs().version()}"
