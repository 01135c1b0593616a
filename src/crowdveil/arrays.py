"""Define the array types of the project, and check and freeze arrays that come from outside."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdveil.errors import InputError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
WordArray: TypeAlias = NDArray[np.uint64]
BoolArray: TypeAlias = NDArray[np.bool_]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a private copy that cannot be written to, not even after `setflags`: it lives in immutable bytes.

    What lives in such bytes already is returned as it is.
    """
    base: object = array.base
    if isinstance(base, bytes) and array.flags.c_contiguous:
        return array
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=array.dtype).reshape(array.shape)


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put arrays of one type one after the other, frozen, with a single copy."""
    return np.frombuffer(b"".join(np.ascontiguousarray(part).data for part in parts if part.size), parts[0].dtype)


BLOCK_ROWS = 1 << 15
"""Small enough for the processor's cache."""


def in_blocks(function: Callable[..., NDArray[Any]], *columns: NDArray[Any]) -> NDArray[Any]:
    """Apply a function of columns, row by row, to some thousand rows at a time, on all cores.

    Millions of rows at once would write every step of a formula to memory and read it back.
    """
    rows = len(columns[0]) if columns[0].ndim == 1 else 0
    if rows <= BLOCK_ROWS or any(column.shape != columns[0].shape for column in columns):
        return function(*columns)
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, rows, BLOCK_ROWS)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.concatenate(list(pool.map(lambda block: function(*(column[block] for column in columns)), blocks)))


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
