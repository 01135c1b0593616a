"""Read and make data frames of any library (pandas, polars, Arrow and others), without requiring one.

`narwhals` speaks to all of them. It is loaded on first use, because most programs need no data frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from crowdveil.arrays import BoolArray, FloatArray, IntArray
from crowdveil.errors import InputError

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
"""The libraries that frames are made with."""
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def make_frame(columns: Mapping[str, Any], backend: Backend | None = None, *, utc: Sequence[str] = ()) -> Any:
    """Make a data frame of columns of equal length.

    Args:
        columns: A list or a NumPy array for each name; None in a list stands for a missing value.
        backend: "pandas", "polars" or "pyarrow" (default: the first of them that is installed).
        utc: Names of columns with times in UTC, which get that time zone.

    >>> make_frame({"cell": [3, 17], "share": [0.25, 0.75]}, "polars").shape
    (2, 2)
    """
    import narwhals.stable.v2 as nw

    frame = nw.from_dict(dict(columns), backend=choose_backend(backend))
    if utc:
        frame = frame.with_columns(nw.col(*utc).dt.replace_time_zone("UTC"))
    return frame.to_native()


def choose_backend(backend: str | None) -> Backend:
    """Return a library that is installed, or say which there are."""
    if backend is None:
        for one in BACKENDS:
            if find_spec(one) is not None:
                return one
        what = "needs a data frame library, and none is installed: pip install pandas (or polars, or pyarrow)"
        raise InputError("backend", None, what)
    for one in BACKENDS:
        if one == backend:
            if find_spec(one) is None:
                raise InputError("backend", backend, f"is not installed: pip install {backend}")
            return one
    raise InputError("backend", backend, f"should be one of {', '.join(BACKENDS)}")


def open_frame(frame: Any) -> Any:
    """Wrap a frame of any library for reading; a lazy one is computed.

    What is no frame, and a frame with two columns of the same name, are errors.
    """
    import narwhals.stable.v2 as nw

    try:
        wrapped: Any = nw.from_native(frame)
        _ = wrapped.columns
    except TypeError:
        what = "should be a pandas or polars DataFrame, an Arrow table or another data frame"
        raise InputError("frame", type(frame).__qualname__, what) from None
    except nw.exceptions.DuplicateError as error:
        shown = str(error).partition("\n")[0]
        raise InputError("frame", shown, "should have each column once; rename or drop the others") from None
    return wrapped.collect() if isinstance(wrapped, nw.LazyFrame) else wrapped


def find_column(frame: Any, field: str, name: str) -> Any:
    """Return a column of an opened frame by its name; an error lists those there are."""
    if name not in frame.columns:
        there = ", ".join(map(str, frame.columns))
        shown = there if len(there) <= 200 else there[:197] + "..."
        raise InputError(field, name, f"is not a column of the frame, which has {shown or 'none'}")
    return frame[name]


def is_whole(column: Any) -> bool:
    """Whether a column of an opened frame holds whole numbers."""
    return bool(column.dtype.is_integer())


def whole_values(column: Any) -> tuple[IntArray, BoolArray]:
    """Return the whole numbers of a column, 0 where one is missing, and which are missing."""
    import narwhals.stable.v2 as nw

    missing = np.asarray(column.is_null().to_numpy(), dtype=bool)
    filled = column.fill_null(0).cast(nw.Int64()).to_numpy()
    return np.asarray(filled, dtype=np.int64), missing


def float_values(column: Any) -> FloatArray:
    """Return the numbers of a column, NaN where one is missing."""
    import narwhals.stable.v2 as nw

    return np.asarray(column.cast(nw.Float64()).to_numpy(), dtype=np.float64)
