"""Write and read weights as bytes and as JSON: all but the last symbol, whose weight is what is left of 2^bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import IntArray
from crowdveil.errors import FileFormatError


def row_sums(weights: NDArray[Any]) -> list[int]:
    """Sum rows of up to 2^26 whole numbers up to 2^62 exactly, in two halves that cannot overflow."""
    low, high = (weights & 0x7FFFFFFF).sum(axis=1), (weights >> 31).sum(axis=1)
    return [a + (b << 31) for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def pack(columns: IntArray, bits: int) -> bytes:
    """Write whole numbers in big-endian order with as many bytes as 2^bits needs, row after row."""
    width = bits // 8 + 1
    data = np.ascontiguousarray(columns).astype(">u8").reshape(-1, 1).view(np.uint8)
    return data[:, 8 - width :].tobytes()


def unpack(data: bytes, rows: int, columns: int, bits: int) -> tuple[IntArray, bytes]:
    """Undo `pack`; return the columns, and the bytes that follow them."""
    width = bits // 8 + 1
    size = rows * columns * width
    if len(data) < size:
        raise FileFormatError("policy: the weights are cut short")
    padded = np.zeros((rows * columns, 8), dtype=np.uint8)
    padded[:, 8 - width :] = np.frombuffer(data[:size], dtype=np.uint8).reshape(-1, width)
    values = padded.view(">u8").astype(np.int64).reshape(rows, columns)
    return values, data[size:]


def listed(columns: IntArray) -> list[Any]:
    """List the rows of some columns: plain numbers for a single column."""
    rows: list[Any] = (columns[:, 0] if columns.shape[1] == 1 else columns).tolist()
    return rows


def read_columns(values: Any, columns: int) -> IntArray:
    """Undo `listed`."""
    if not isinstance(values, list):
        raise FileFormatError("policy: weights should be a list")
    try:
        read = np.asarray(values, dtype=None if columns else np.int64)
    except (TypeError, ValueError, OverflowError):  # rows of different lengths
        read = np.empty(0)
    shape = (len(values),) if columns == 1 else (len(values), columns)
    if read.dtype.kind != "i" or read.shape != shape or not values:
        raise FileFormatError(f"policy: weights should be whole numbers below 2^63, {columns} a row")
    return read.reshape(len(values), columns).astype(np.int64)


def with_last(columns: IntArray, bits: int) -> IntArray:
    """Add the last column, which is what is left of 2^bits."""
    if (columns < 0).any() or (columns > 1 << bits).any():
        raise FileFormatError(f"policy: weights should lie between 0 and 2^{bits}")
    last = [(1 << bits) - total for total in row_sums(columns)]
    if min(last) < 0:
        row = next(row for row, left in enumerate(last) if left < 0)
        raise FileFormatError(f"policy: the weights of row {row} sum to more than 2^{bits}")
    return np.column_stack([columns, np.array(last, dtype=np.int64)])
