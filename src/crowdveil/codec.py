"""Read and write files strictly: canonical JSON, whole numbers, and results that appear whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.arrays import IntArray
from crowdveil.errors import FileFormatError


def canonical_json(value: object) -> str:
    """JSON with sorted keys, no spaces and ASCII only: one text for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse_json(text: str, what: str) -> Any:
    """Parse JSON, refusing NaN and infinities, with an error that says what was being read."""

    def refuse(constant: str) -> None:
        raise FileFormatError(f"{what}: {constant} is not a number that JSON knows")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise FileFormatError(f"{what}: a field is given twice")
        return found

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=once)
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{what}: not JSON, or cut short ({error})") from None


def read_text(path: str | Path) -> str:
    """Text of a file, or an error that names the file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: not UTF-8 text") from None


def whole_numbers(field: str, values: object, width: int) -> IntArray:
    """Read a JSON list of whole numbers, or of rows of `width` of them."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty(0)
    shape = (array.size,) if width == 1 else (array.size // width, width)
    if array.dtype.kind != "i" or array.shape != shape:
        raise FileFormatError(f"{field}: should be a list of {'rows of ' * (width > 1)}whole numbers")
    return array.astype(np.int64)


def whole_pair(field: str, values: object) -> tuple[int, int]:
    """Read two whole numbers."""
    pair = whole_numbers(field, values, width=1).tolist()
    if len(pair) != 2:
        raise FileFormatError(f"{field} = {pair}: should be two whole numbers")
    return pair[0], pair[1]


def whole_number(field: str, value: object, low: int, high: int) -> int:
    """Read one whole number of a description."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise FileFormatError(f"{field} = {value!r}: should be a whole number from {low:,} to {high:,}")
    return value
