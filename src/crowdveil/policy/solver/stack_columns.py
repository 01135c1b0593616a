"""Hold the columns of a stack as peaks, make them private together, and find the peaks of given columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.policy.solver.input_metric import InputMetric


@dataclass(frozen=True)
class PeakedColumns:
    """PeakedColumns by their peaks (peaks.py), as real numbers, and how good the best ones could be."""

    symbol: IntArray
    input: IntArray
    height: FloatArray
    floor: FloatArray
    """What is added to each column."""
    upper_bound: float
    """No private policy with these quotas has a larger mean value."""
    rounds: int = 0

    def chances(self, metric: InputMetric) -> FloatArray:
        """Return p^t of every input: shape (inputs, targets)."""
        found = np.zeros((metric.count, len(self.floor)))
        for symbol, at, height in zip(self.symbol.tolist(), self.input.tolist(), self.height.tolist(), strict=True):
            np.maximum(found[:, symbol], height * np.exp(-metric.rows([at])[0]), out=found[:, symbol])
        return found + self.floor


def private_columns(columns: FloatArray, betas: FloatArray, keep: FloatArray) -> tuple[FloatArray, float]:
    """Mix in the least share of the constants β that makes the rest private; return it too.

    Columns have the shape (targets, inputs); `keep` is e^-D of all pairs. With r = 1 - Σ_t p^t, what is missing,
    e^{-D_ij} r_i - r_j = v, becomes (1-μ) v - μ (1-Σβ)(1 - e^{-D_ij}), which is at most 0 for μ large enough.
    """
    rest = 1 - columns.sum(axis=0)
    missing = keep * rest[:, None] - rest[None, :]
    some = missing > 0
    room = (1 - float(betas.sum())) * (1 - keep[some])
    share = float((missing[some] / (missing[some] + room)).max(initial=0.0))
    return (1 - share) * columns + share * betas[:, None], share


def as_peaks(
    columns: FloatArray, prior: FloatArray, betas: FloatArray, keep: FloatArray, bound: float, rounds: int, left: float
) -> PeakedColumns:
    """Return the few inputs that decide each column, at the quotas, with the constants that make the rest private.

    An input is no peak if another one gives it all but the share `left` of its value.
    """
    found = []
    closed = np.zeros_like(columns)
    for target, column in enumerate(columns):
        reached = closed[target]
        for one in np.argsort(-column, kind="stable").tolist():
            if column[one] * (1 - left) > reached[one]:
                found.append((target, one))
                np.maximum(reached, column[one] * keep[one], out=reached)
    scale = betas / (closed @ prior)
    _, share = private_columns(closed * scale[:, None], betas, keep)
    symbol, at = np.array(sorted(found)).T
    height = (1 - share) * scale[symbol] * columns[symbol, at]
    return PeakedColumns(symbol, at, height, share * betas, bound, rounds)
