"""Read the tables that the checker is given, and refuse what cannot be checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import as_array
from crowdveil.certify.columns import Weights
from crowdveil.errors import InputError

ROW_SUM_TOLERANCE = 1e-9
MAX_WEIGHT = 1 << 62


def read_table(table: ArrayLike, cells: int) -> Weights:
    """Read whole numbers or probabilities with one row per cell; refuse anything else with the reason."""
    weights = as_array("table", table, "should have one row for each cell, all of the same length")
    if weights.ndim != 2 or weights.shape[0] != cells or weights.shape[1] == 0:
        raise InputError("table", weights.shape, f"should have {cells} rows, one for each cell, and columns")
    if weights.dtype.kind in "iu":
        return _read_whole(weights)
    if weights.dtype.kind != "f" or weights.dtype.itemsize > 8:
        raise InputError("table", str(weights.dtype), "entries should be whole numbers or 64-bit floats")
    return _read_floats(weights.astype(np.float64))


def _read_floats(weights: Weights) -> Weights:
    _refuse(weights, ~np.isfinite(weights), "should be a finite number")
    _refuse(weights, weights < 0, "should not be negative")
    sums = weights.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > ROW_SUM_TOLERANCE)
    if len(wrong):
        row = int(wrong[0])
        raise InputError(f"sum of table[{row}]", float(sums[row]), "should be 1; divide the row by its sum")
    return weights


def _read_whole(weights: Weights) -> Weights:
    _refuse(weights, weights < 0, "should not be negative")
    _refuse(weights, weights > MAX_WEIGHT, "should be at most 2^62")
    totals = weights.astype(object).sum(axis=1)
    for row, total in enumerate(totals):
        if total != totals[0] or total == 0:
            expected = f"should be above 0 and the same in all rows; row 0 has {totals[0]}"
            raise InputError(f"sum of table[{row}]", int(total), expected)
    return weights.astype(np.int64)


def _refuse(weights: Weights, bad: Weights, expected: str) -> None:
    if bad.any():
        row, column = np.argwhere(bad)[0].tolist()
        raise InputError(f"table[{row}, {column}]", weights[row, column].item(), expected)
