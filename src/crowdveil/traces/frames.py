"""Visits from data frames of any library, checked: pandas, polars, Arrow and whatever else `narwhals` reads.

A frame's columns become the same arrays that the readers of files make, and the same builder judges them, so that a
frame and a CSV of the same rows give the same visits and the same counts of dropped rows.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from crowdveil.arrays import BoolArray, FloatArray, IntArray
from crowdveil.dataframes import Backend, find_column, float_values, is_whole, make_frame, open_frame, whole_values
from crowdveil.errors import FileFormatError, InputError
from crowdveil.traces.clock import Clock, open_zone, read_iso, show_seconds, utc_and_offset, zone_offsets
from crowdveil.traces.visit_builder import LATEST_S, MAX_NUMBER, VisitBuilder, to_floats
from crowdveil.traces.visits import Visits

TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]
"""Of times given as numbers since 1970."""
UNITS_PER_S: dict[TimeUnit, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

EARLIEST_S = 31_536_000
"""The year 1971. Times before it are almost always zeros, or numbers that were read in a wrong unit."""
EARLIEST_INFERRED_S = 1e8
"""March 1973: from here to 2100, the numbers of seconds, ms, µs and ns lie in ranges that do not meet."""
TOO_EARLY = "time before 1971"
_FIXED_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?(?::?(\d{2}))?")


def visits_from_frame(
    frame: Any,
    *,
    user: str = "user",
    time: str = "time",
    latitude: str = "latitude",
    longitude: str = "longitude",
    offset_minutes: str | None = None,
    zone: str | None = None,
    clock: Clock | None = None,
    time_unit: TimeUnit | None = None,
) -> Visits:
    """Read visits from a data frame, one row per visit; `Visits.from_frame` is this function.

    Args:
        frame: A pandas or polars DataFrame, an Arrow table, or any other frame that narwhals reads.
        user: The column of the user: text or whole numbers.
        time: The column of the time: datetimes of any resolution, ISO text, or numbers since 1970 in UTC.
        latitude: The column of the latitude in degrees.
        longitude: The column of the longitude in degrees.
        offset_minutes: The column of local time minus UTC, in minutes.
        zone: The time zone of all users, such as "Europe/Berlin" (default: the one that the times state, else UTC).
        clock: What datetimes without a time zone mean: "utc", or "local" (the users' clocks, in `zone`). Needed where
            there are any; numbers are always UTC.
        time_unit: Of times given as numbers: "s", "ms", "us" or "ns" (default: told by their size, if that is safe).

    Rows without a user, with an unreadable time or with an impossible position are counted by reason in
    `visits.dropped`. A frame whose times lie before 1971, which means a wrong unit, is an error.

    >>> import polars as pl
    >>> frame = pl.DataFrame(
    ...     {"id": ["ann", "bob"], "t": [1709539200, 1709542800], "lat": [48.1, 48.2], "lon": [11.5, 11.6]}
    ... )
    >>> visits_from_frame(frame, user="id", time="t", latitude="lat", longitude="lon", zone="Europe/Berlin")
    Visits(2 of 2 users)
    """
    _check_options(zone, clock, time_unit, offset_minutes)
    opened = open_frame(frame)
    names = {"user": user, "time": time, "latitude": latitude, "longitude": longitude}
    found = {field: find_column(opened, field, name) for field, name in names.items()}
    users = _users(found["user"], user)
    seconds, stated = _Times(time, time_unit, zone).read(found["time"])
    if clock is None:
        _refuse_without_zone(time, seconds, stated)
    wall = None if zone is None else open_zone(zone)
    utc_s, offset_s = utc_and_offset(seconds, stated, wall, clock or "utc")
    if offset_minutes is not None:
        minutes = find_column(opened, "offset_minutes", offset_minutes)
        offset_s = 60 * _numbers(minutes, "offset_minutes", offset_minutes)
    early = utc_s < EARLIEST_S
    _refuse_wrong_unit(time, utc_s, early)
    columns = ", ".join(names.values())
    builder = VisitBuilder(Path("frame"), f"a frame with the columns {columns}")
    builder.drop(TOO_EARLY, int(early.sum()))
    degrees = [_numbers(found[field], field, names[field]) for field in ("latitude", "longitude")]
    keep = ~early
    kept = users if keep.all() else [users[row] for row in np.flatnonzero(keep).tolist()]
    builder.add(kept, utc_s[keep], offset_s[keep], degrees[0][keep], degrees[1][keep])
    try:
        return builder.visits()
    except FileFormatError as error:
        raise InputError("frame", f"{len(opened):,} rows", str(error).removeprefix("frame: ")) from None


def visits_to_frame(visits: Visits, backend: Backend | None = None) -> Any:
    """Give visits as a data frame, one row per visit; `Visits.to_frame` is this function.

    Args:
        visits: The visits.
        backend: "pandas", "polars" or "pyarrow" (default: the first of them that is installed).

    Columns: user (its name), time (UTC), latitude and longitude in degrees, offset_minutes (local time minus UTC).
    `Visits.from_frame(frame, offset_minutes="offset_minutes")` reads it back.

    >>> import crowdveil as cv
    >>> cv.synthetic_visits(1, users=20, weeks=4).to_frame("polars").columns
    ['user', 'time', 'latitude', 'longitude', 'offset_minutes']
    """
    names = np.array(visits.users, dtype=object)
    columns = {
        "user": names[visits.user].tolist(),
        "time": (visits.utc_s * 10**6).astype("datetime64[us]"),
        "latitude": visits.latitude,
        "longitude": visits.longitude,
        "offset_minutes": visits.offset_s / 60,
    }
    return make_frame(columns, backend, utc=["time"])


# --- columns --------------------------------------------------------------------------------------------------


def _check_options(zone: str | None, clock: str | None, time_unit: str | None, offset_minutes: str | None) -> None:
    if clock not in (None, *get_args(Clock)):
        raise InputError("clock", clock, "should be 'utc' or 'local'")
    if clock == "local" and zone is None:
        raise InputError("clock", clock, "needs a zone: whose local time is it?")
    if time_unit not in (None, *UNITS_PER_S):
        raise InputError("time_unit", time_unit, f"should be one of {', '.join(UNITS_PER_S)}")
    if zone is not None and offset_minutes is not None:
        raise InputError("zone", zone, "can't be combined with offset_minutes; they may disagree")


def _users(column: Any, name: str) -> list[str]:
    """Names of users as text; a missing one is empty, and is dropped like an empty field of a CSV."""
    return [_user_name(value, name) for value in column.to_list()]


def _user_name(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if _is_missing(value):
        return ""
    if _is_number(value) and value == int(value):
        return str(int(value))  # whole numbers become floats where a library has no other way to say "missing"
    raise InputError(f"user (column {name!r})", value, "should be text or a whole number")


def _numbers(column: Any, field: str, name: str) -> FloatArray:
    """Numbers as floats, NaN for what is missing or unreadable; text that holds numbers is read."""
    if column.dtype.is_numeric():
        numbers = float_values(column)
        return np.where(np.abs(numbers) <= MAX_NUMBER, numbers, np.nan)
    values = column.to_list()
    for value in values:
        if not (isinstance(value, str) or _is_number(value) or _is_missing(value)):
            raise InputError(f"{field} (column {name!r})", value, f"should be a number, not {_kind(column)}")
    return to_floats(["" if _is_missing(value) else str(value) for value in values])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal | np.number) and not isinstance(value, bool)


def _is_missing(value: Any) -> bool:
    """None, NaN, and pandas' NaT and NA, none of which equals itself."""
    if value is None:
        return True
    try:
        return not bool(value == value)
    except (TypeError, ValueError):
        return True  # pandas' NA cannot be true or false


def _kind(column: Any) -> str:
    return str(column.dtype).lower()


# --- times ----------------------------------------------------------------------------------------------------


class _Times:
    """Read a column of times: seconds since 1970 and the stated offset, each NaN where it is unknown."""

    def __init__(self, name: str, unit: TimeUnit | None, zone: str | None) -> None:
        self.name = name
        self.field = f"time (column {name!r})"
        self.unit = unit
        self.zone = zone

    def read(self, column: Any) -> tuple[FloatArray, FloatArray]:
        kind = _kind(column)
        if kind.startswith("datetime"):
            self._refuse_unit(kind)
            return self._datetimes(column)
        if column.dtype.is_numeric():
            seconds = self._unix_whole(column) if is_whole(column) else self._unix(float_values(column))
            return seconds, np.zeros_like(seconds)
        return self._objects(column.to_list(), kind)

    def _refuse_unit(self, kind: str) -> None:
        if self.unit is not None:
            raise InputError("time_unit", self.unit, f"applies only to numbers; column {self.name!r} holds {kind}")

    def _datetimes(self, column: Any) -> tuple[FloatArray, FloatArray]:
        micros, missing = whole_values(column.dt.timestamp("us"))
        seconds = np.where(missing, np.nan, micros // UNITS_PER_S["us"])
        zone = column.dtype.time_zone
        if zone is None:
            return seconds, np.full(len(seconds), np.nan)
        if self.zone is not None:
            return seconds, np.zeros(len(seconds))  # a zone that is given decides; the instant is known
        return seconds, self._offsets_of(zone, seconds)

    def _offsets_of(self, zone: str, seconds: FloatArray) -> FloatArray:
        """Local time minus UTC of a column's own time zone, which may be a fixed offset such as +02:00."""
        fixed = _FIXED_OFFSET.fullmatch(zone)
        if fixed is None:
            return np.nan_to_num(zone_offsets(open_zone(zone), seconds))
        sign, hours, minutes, rest = fixed.groups(default="0")
        offset_s = int(hours) * 3600 + int(minutes) * 60 + int(rest)
        return np.full(len(seconds), float(-offset_s if sign == "-" else offset_s))

    def _unix(self, numbers: FloatArray) -> FloatArray:
        return numbers / self._units_per_s(numbers[np.isfinite(numbers)])

    def _unix_whole(self, column: Any) -> FloatArray:
        """Whole numbers are divided as such: as a float, a nanosecond before a full second would round up to it."""
        numbers, missing = whole_values(column)
        seconds: FloatArray = np.where(missing, np.nan, numbers // self._units_per_s(numbers[~missing]))
        return seconds

    def _units_per_s(self, known: FloatArray | IntArray) -> int:
        """The unit that was given, or the one unit in which all numbers lie between 1973 and 2100."""
        if self.unit is not None or not len(known):
            return UNITS_PER_S[self.unit or "s"]
        fits = {
            per_s: (known >= EARLIEST_INFERRED_S * per_s) & (known < LATEST_S * per_s) for per_s in UNITS_PER_S.values()
        }
        best = max(fits, key=lambda per_s: int(fits[per_s].sum()))
        if fits[best].all():
            return best
        what = "could be in more than one unit, or in none; say time_unit='s', 'ms', 'us' or 'ns' (since 1970, UTC)"
        raise InputError(self.field, known[~fits[best]][0].item(), what)

    def _objects(self, values: list[Any], kind: str) -> tuple[FloatArray, FloatArray]:
        """ISO text, numbers as text, Python dates and datetimes, also of several time zones."""
        texts = ["" if _is_missing(value) else self._text(value, kind) for value in values]
        is_number = np.array([text[:1].isdigit() and text[4:5] != "-" for text in texts], dtype=bool)
        seconds, stated = (np.full(len(texts), np.nan) for _ in range(2))
        dates = np.flatnonzero(~is_number)
        seconds[dates], stated[dates] = read_iso([texts[row] for row in dates.tolist()])
        if is_number.any():
            seconds[is_number] = self._unix(to_floats([texts[row] for row in np.flatnonzero(is_number).tolist()]))
            stated[is_number] = 0.0
        else:
            self._refuse_unit(kind)
        return seconds, stated

    def _text(self, value: Any, kind: str) -> str:
        if isinstance(value, str):
            return value.strip()
        if isinstance(value, datetime | date):
            return value.isoformat()
        if _is_number(value):
            return str(value)
        raise InputError(self.field, value, f"should be a datetime, ISO text or a number since 1970, not {kind}")


def _refuse_without_zone(name: str, seconds: FloatArray, stated: FloatArray) -> None:
    without = np.isfinite(seconds) & np.isnan(stated)
    if without.any():
        first = show_seconds(float(seconds[without][0]))
        what = "has no time zone; say clock='utc', or clock='local' with the zone of the users, zone='Europe/Berlin'"
        raise InputError(f"time (column {name!r})", first, what)


def _refuse_wrong_unit(name: str, utc_s: FloatArray, early: BoolArray) -> None:
    """A few times before 1971 are broken rows; when most are, the whole column is in another unit."""
    if 2 * int(early.sum()) > int(np.isfinite(utc_s).sum()):
        first = show_seconds(float(utc_s[early][0]))
        what = (
            f"lies before 1971, like {int(early.sum()):,} of {len(utc_s):,} rows: is the unit wrong? Pass numbers with "
            "time_unit='s', 'ms', 'us' or 'ns', or datetimes that were made with the right unit"
        )
        raise InputError(f"time (column {name!r})", first, what)


# Attached here and not written in the class, because the checks above make visits and so import the class.
Visits.from_frame = staticmethod(visits_from_frame)  # type: ignore[method-assign]
Visits.to_frame = visits_to_frame  # type: ignore[method-assign, assignment]
