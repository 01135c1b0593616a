"""The policies that tell a hostile operator most, within what they promise: certified, and as revealing as allowed."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

import numpy as np

import crowdveil as cv
from crowdveil.arrays import BoolArray, FloatArray, IntArray
from crowdveil.certify import AcceptedReport
from crowdveil.vocabulary import NULL

ALMOST = 1 - 1e-6
"""Share of what is promised that is used up; the rest makes room for rounding to whole weights."""
LN4, LN64 = log(4), log(64)


def question(
    area: cv.Area, yes: Callable[[IntArray], BoolArray], epsilon_per_km: float, null_epsilon: float | None = LN64
) -> cv.Policy:
    """Two symbols: inside or outside, as clearly as ε₀ allows; in the clear form the symbol itself says nothing.

    `yes` marks the cells that answer like outside would not.
    """
    n = len(area)
    if null_epsilon is None:
        return _policy(area, epsilon_per_km, np.full((n, 2), 0.5), None)
    sure = 1 / (1 + exp(-ALMOST * null_epsilon))
    inside = np.where(yes(np.arange(n)), sure, 1 - sure)
    first = np.append(inside, 1 - sure)
    return _policy(area, epsilon_per_km, np.column_stack([first, 1 - first]), null_epsilon)


def naming(
    area: cv.Area, epsilon_per_km: float = LN4, null_epsilon: float | None = LN64, grade_epsilon: float | None = None
) -> cv.Policy:
    """One symbol for each input: P(s | i) = y_s e^{-D(i, s)} with rows that sum to 1.

    No ratio exceeds e^D by the triangle inequality; where y ≥ 0 exists, no single report can name inputs more often
    (it is the dual of the linear program that bounds guesses).
    """
    n, grades = len(area), 1 if grade_epsilon is None else 2
    cells = np.tile(np.arange(n), grades)
    levels = np.repeat(np.arange(grades), n)
    if null_epsilon is not None:
        cells, levels = np.append(cells, NULL), np.append(levels, 0)
    loss = ALMOST * AcceptedReport(area, epsilon_per_km, cells, null_epsilon, grade_epsilon, levels).losses()
    near = np.exp(-loss)
    y = np.linalg.solve(near, np.ones(len(near)))
    if (y < 0).any():
        near, y = np.exp(-loss / 2), np.ones(len(near))
        near /= near.sum(axis=1, keepdims=True)
    return _policy(area, epsilon_per_km, near * y, null_epsilon, grade_epsilon)


def _policy(
    area: cv.Area,
    epsilon_per_km: float,
    table: FloatArray,
    null_epsilon: float | None,
    grade_epsilon: float | None = None,
) -> cv.Policy:
    total = 1 << 53
    weights = np.floor(table * total).astype(np.int64)
    rows = np.arange(len(weights))
    weights[rows, weights.argmax(axis=1)] += total - weights.sum(axis=1)
    return cv.Policy(
        area,
        epsilon_per_km,
        (0,),
        weights,
        symbols=tuple(f"s{number}" for number in range(weights.shape[1])),
        null_epsilon=null_epsilon,
        grade_epsilon=grade_epsilon,
        grades=1 if grade_epsilon is None else 2,
    )
