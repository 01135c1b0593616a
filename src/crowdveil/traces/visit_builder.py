"""Collect rows into visits: every row is either kept, or dropped and counted under one reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import BoolArray, FloatArray, IntArray, joined
from crowdveil.errors import FileFormatError
from crowdveil.traces.visits import Visits

LATEST_S = 4_102_444_800
"""The year 2100: times after it, or before 1970, come from wrong clocks and wrong units."""
MAX_OFFSET_S = 18 * 3600
MAX_NUMBER = 1e15

NO_USER = "no user"
BROKEN_QUOTING = "broken quoting"
WRONG_FIELDS = "wrong number of fields"
UNREADABLE_TIME = "unreadable time"
TIME_RANGE = "time not between 1970 and 2100"
UNREADABLE_OFFSET = "unreadable UTC offset"
UNREADABLE_POSITION = "unreadable position"
LATITUDE_RANGE = "latitude out of range"
LONGITUDE_RANGE = "longitude out of range"
NO_FIX = "no fix (0, 0)"
DUPLICATE = "exact duplicate"
UNKNOWN_TOWER = "unknown tower"


def to_floats(values: Sequence[str]) -> FloatArray:
    """Read numbers; NaN for text that is no number, or for one so large that sums of it would overflow."""
    try:
        numbers = np.array(list(map(float, values)), dtype=np.float64)
    except ValueError:
        numbers = np.array([_to_float(value) for value in values], dtype=np.float64)
    return np.where(np.abs(numbers) <= MAX_NUMBER, numbers, np.nan)


def _to_float(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return float("nan")


class VisitBuilder:
    """Collects the rows of one source; `expected` is what error messages say would be right."""

    def __init__(self, path: Path, expected: str) -> None:
        self.path = path
        self.expected = expected
        self.dropped: Counter[str] = Counter()
        self._numbers: dict[str, int] = {}
        self._columns: tuple[list[NDArray[Any]], ...] = ([], [], [], [], [])
        """User, UTC, offset, latitude and longitude of each batch that was added."""
        self._fit_when_swapped = 0

    def drop(self, reason: str, rows: int = 1) -> None:
        """Count rows that are dropped for a reason."""
        self.dropped[reason] += rows

    def place(self, columns: Sequence[str], name: str, introduction: str) -> int:
        """Find the one column of this name; raise an error that lists the columns if there is none, or several."""
        found = [place for place, column in enumerate(columns) if column == name]
        if len(found) != 1:
            what = "no column" if not found else f"{len(found)} columns"
            shown = ", ".join(columns)[:200]
            raise FileFormatError(f"{self.path}: has {what} {name!r}; {introduction}: {shown}")
        return found[0]

    def columns(self, rows: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
        """Turn rows into columns, counting those that do not have `width` fields."""
        whole = [row for row in rows if len(row) == width]
        self.drop(WRONG_FIELDS, len(rows) - len(whole))
        return list(zip(*whole, strict=True)) or [()] * width

    def add(
        self,
        names: Sequence[str],
        utc_s: FloatArray,
        offset_s: FloatArray,
        latitude: FloatArray,
        longitude: FloatArray,
    ) -> None:
        """Keep the valid rows; NaN stands for what could not be read. A dropped row counts under its first fault."""
        number = {name: place for place, name in enumerate(dict.fromkeys(names))}
        of_name = np.array([number[name] for name in names], dtype=np.int64)
        self.add_numbered(list(number), of_name, utc_s, offset_s, latitude, longitude)

    def add_numbered(
        self,
        names: Sequence[str],
        of_name: IntArray,
        utc_s: FloatArray,
        offset_s: FloatArray,
        latitude: FloatArray,
        longitude: FloatArray,
    ) -> None:
        """Do the same for rows whose users are given as places in a list of names."""
        no_user = np.array([not name.strip() for name in names], dtype=bool)[of_name]
        at_zero = (latitude == 0) & (longitude == 0)
        wrong_latitude = ~(np.abs(latitude) <= 90)
        faults: list[tuple[str, BoolArray]] = [
            (NO_USER, no_user),
            (UNREADABLE_TIME, np.isnan(utc_s)),
            (TIME_RANGE, ~((utc_s >= 0) & (utc_s < LATEST_S))),
            (UNREADABLE_OFFSET, ~(np.abs(offset_s) <= MAX_OFFSET_S)),
            (UNREADABLE_POSITION, np.isnan(latitude) | np.isnan(longitude)),
            (LATITUDE_RANGE, wrong_latitude),
            (LONGITUDE_RANGE, ~(np.abs(longitude) <= 180)),
            (NO_FIX, at_zero),
        ]
        keep = np.ones(len(of_name), dtype=bool)
        for reason, bad in faults:
            if bad.any():
                self.drop(reason, int((bad & keep).sum()))
                keep &= ~bad
        self._fit_when_swapped += int((wrong_latitude & (np.abs(latitude) <= 180) & (np.abs(longitude) <= 90)).sum())
        if not keep.all():
            of_name = of_name[keep]
            utc_s, offset_s, latitude, longitude = (column[keep] for column in (utc_s, offset_s, latitude, longitude))
        batch = (
            self._numbered(names, of_name),
            np.floor(utc_s).astype(np.int64),
            np.rint(offset_s).astype(np.int64),
            latitude,
            longitude,
        )
        for column, added in zip(self._columns, batch, strict=True):
            column.append(added)

    def _numbered(self, names: Sequence[str], of_name: IntArray) -> IntArray:
        """Number users in the order in which their first kept row came."""
        there, first = np.unique(of_name, return_index=True)
        numbers = np.full(len(names), -1, dtype=np.int64)
        for place in there[np.argsort(first)].tolist():
            numbers[place] = self._numbers.setdefault(names[place].strip(), len(self._numbers))
        return numbers[of_name]

    def visits(self) -> Visits:
        """Return the kept rows, with the counts of the dropped ones; raise an error if none was kept."""
        if not any(map(len, self._columns[0])):
            raise FileFormatError(self._nothing_kept())
        for column in self._columns:
            column[:] = [joined(column)]  # one column at a time, because all of them twice may not fit into memory
        user, utc_s, offset_s, latitude, longitude = (column[0] for column in self._columns)
        return Visits(tuple(self._numbers), user, utc_s, offset_s, latitude, longitude, dropped=self.dropped)

    def _nothing_kept(self) -> str:
        rows = self.dropped.total()
        if rows == 0:
            return f"{self.path}: contains no rows; expected {self.expected}"
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in self.dropped.most_common() if count)
        message = f"{self.path}: none of {rows:,} rows can be used ({reasons}); expected {self.expected}"
        if 2 * self._fit_when_swapped > rows:
            message += " (are latitude and longitude swapped?)"
        return message
