"""What passes between readers of formats and DuckDB, which reads large files for them: layouts, and rows of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from crowdveil.arrays import FloatArray, IntArray


class Layout(NamedTuple):
    """How the rows of some files are written."""

    delimiter: str
    skip: int
    """Lines of heading."""
    columns: Mapping[str, str]
    """Names and DuckDB's types of the columns."""
    utc_s: str
    """An expression for whole seconds since 1970; NULL where the time is not of the usual form."""
    text: str
    """An expression for the row as it stands in the file; asked for where the time is NULL."""


class Rows(NamedTuple):
    """Some rows of a table."""

    names: list[str]
    of_name: IntArray
    """Which of the names is the user of each row."""
    seconds: FloatArray
    stated: FloatArray
    """The offset that the time states; NaN where it states none."""
    numbers: list[FloatArray]
    """Latitude, longitude, and the column of offsets if there is one."""
