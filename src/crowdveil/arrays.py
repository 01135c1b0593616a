"""Define the array types of the project, and check and freeze arrays that come from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdveil.errors import InputError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a private copy that cannot be written to, not even after `setflags`: it lives in immutable bytes."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=array.dtype).reshape(array.shape)


def as_array(field: str, values: Any, expected: str) -> NDArray[Any]:
    """Read anything as an array; raise InputError for rows of different lengths and for numbers that are too large."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise InputError(field, values, expected) from None


def as_floats(field: str, values: ArrayLike) -> FloatArray:
    """Read `values` as a float64 array; raise InputError, naming the field, if they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(field, values, "should be an array of numbers") from None


def as_cells(field: str, values: ArrayLike | Sequence[int], n: int) -> IntArray:
    """Read `values` as indices of cells 0..n-1."""
    array = as_array(field, values, "cells are whole numbers")
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(field, values, "cells are whole numbers")
    outside = (array < 0) | (array >= n)
    if outside.any():
        raise InputError(field, int(array[outside].flat[0]), f"cells of this area are 0 to {n - 1}")
    return array.astype(np.int64)
