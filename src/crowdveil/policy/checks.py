"""Check what policies are made of: ε, targets, priors and weights, with the limits of each.

Every maker and every reader of policies uses these checks, so that a value is refused with the same words everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray, IntArray, as_array, as_cells, as_floats, frozen
from crowdveil.errors import InputError
from crowdveil.policy.encoding import row_sums

DEFAULT_BITS = 53
"""Weights of 53 bits are whole numbers that a double holds exactly in every language."""
MAX_BITS = 62
MAX_GRADES = 8
MAX_TABLE_ENTRIES = 16_000_000
"""A table of more weights would not fit into the memory of a small device (128 MB)."""


def check_epsilon(epsilon_per_km: float) -> float:
    """Refuse a privacy level that is not a positive finite number."""
    return _positive("epsilon_per_km", epsilon_per_km, "should be a finite number above 0, such as ln 4 = 1.386")


def check_null_epsilon(null_epsilon: float) -> float:
    """Refuse an ε₀ that is not a positive finite number; where NULL is sent in the clear, ε₀ is None, not infinity."""
    return _positive("null_epsilon", null_epsilon, "should be a finite number above 0, such as ln 64 = 4.159, or None")


def check_grade_epsilon(grade_epsilon: float) -> float:
    """Refuse an ε₁ that is not a positive finite number; without grades it is None."""
    return _positive(
        "grade_epsilon", grade_epsilon, "should be a finite number above 0, such as ln 64 = 4.159, or None"
    )


def check_null_share(null_share: float) -> float:
    """Refuse a share of people without a place that is not between 0 and 1."""
    if not (isinstance(null_share, int | float | np.floating) and 0 <= null_share <= 1):
        raise InputError("null_share", null_share, "should be a share from 0 to 1")
    return float(null_share)


def check_grade_chances(grade_chances: Sequence[float] | None, grades: int) -> tuple[float, ...]:
    """Refuse chances of a visit that are not one number from 0 to 1 for each grade, falling from grade to grade.

    None stands for 1, 0, 0, ...: only regular visitors count.
    """
    if grade_chances is None:
        return (1.0, *(0.0,) * (grades - 1))
    chances = as_floats("grade_chances", list(grade_chances))
    if chances.shape != (grades,):
        raise InputError(
            "grade_chances", f"{chances.size} numbers", f"should have one number for each of {grades} grades"
        )
    if not ((chances >= 0) & (chances <= 1)).all() or (np.diff(chances) > 0).any() or chances[0] == 0:
        expected = "should be chances from 0 to 1, the first above 0, none above the one before it"
        raise InputError("grade_chances", chances.tolist(), expected)
    return tuple(chances.tolist())


def _positive(name: str, value: float, expected: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        raise InputError(name, value, expected)
    return number


def check_targets(targets: ArrayLike, n: int, *, all_cells: bool = False) -> tuple[int, ...]:
    """Refuse an empty list, repeated cells, cells that do not exist, and all cells unless that is allowed.

    The order is kept: people speak of their first target, and of its name and number.
    """
    cells = as_cells("targets", targets, n).ravel().tolist()
    if not cells:
        raise InputError("targets", [], "name at least one cell to cover")
    if len(set(cells)) != len(cells):
        repeated = Counter(cells).most_common(1)[0][0]
        raise InputError("targets", repeated, "is named twice")
    if len(cells) == n and not all_cells:
        raise InputError("targets", f"all {n} cells", "leave some cells out: otherwise everyone covers a target")
    return tuple(cells)


def check_prior(prior: ArrayLike | None, n: int, grades: int = 1) -> FloatArray:
    """Refuse a prior that is not n finite numbers ≥ 0 with the sum 1 (within 1e-6); return it scaled to exactly 1.

    None stands for the uniform prior. With more than one grade the prior is joint, of shape (grades, n): the share of
    people at every cell with every grade.
    """
    shape = (n,) if grades == 1 else (grades, n)
    pi = np.full(shape, 1 / (grades * n)) if prior is None else as_floats("prior", prior)
    if pi.shape != shape:
        expected = f"should have one number for each of {n} cells"
        if grades > 1:
            expected = f"should have the shape ({grades}, {n}): one row for each grade, one number for each cell"
        raise InputError("prior", f"shape {pi.shape}" if grades > 1 else f"{pi.size} numbers", expected)
    for bad, what in ((~np.isfinite(pi), "should be finite"), (pi < 0, "should not be negative")):
        if bad.any():
            at = np.argwhere(bad)[0].tolist()
            raise InputError(f"prior{at}", float(pi[tuple(at)]), what)
    total = float(pi.sum())
    if abs(total - 1) > 1e-6:
        raise InputError("sum of prior", total, "should be 1; divide the numbers by their sum")
    return pi / total


def check_weights(name: str, weights: ArrayLike, rows: int | None, symbols: int, bits: int) -> IntArray:
    """Refuse weights that are not rows of whole numbers with the sum 2^bits; return a frozen copy.

    `rows` is how many rows there should be; None accepts any number.
    """
    array = as_array(name, weights, "should be rows of whole numbers, all of the same length")
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != symbols:
        raise InputError(name, f"shape {array.shape} of {array.dtype}", f"should be whole numbers, {symbols} a row")
    if rows is not None and len(array) != rows:
        raise InputError(name, f"{len(array)} rows", f"should have {rows} rows: one for each cell, or other input")
    if array.size > MAX_TABLE_ENTRIES:
        raise InputError(name, array.shape, f"should have at most {MAX_TABLE_ENTRIES:,} entries")
    outside = (array < 0) | (array > 1 << bits)
    if outside.any():
        at = np.argwhere(outside)[0].tolist()
        raise InputError(f"{name}{at}", int(array[tuple(at)]), f"should lie between 0 and 2^{bits}")
    array = array.astype(np.int64)
    for row, total in enumerate(row_sums(array)):
        if total != 1 << bits:
            raise InputError(f"sum of {name}[{row}]", total, f"should be 2^{bits} = {1 << bits}")
    return frozen(array)
