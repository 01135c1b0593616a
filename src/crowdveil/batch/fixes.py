"""Rows of a table → fixes: who, when on the own clock, where; or the first fault, in the words of the readers.

Everything here is an expression that an engine evaluates; nothing is read in Python. It judges rows as `traces` does,
with limits that are stated: an ISO time has the form YYYY-MM-DD, then perhaps T or a blank and HH, HH:MM or HH:MM:SS
with fractions, then perhaps Z or an offset ±HH, ±HHMM or ±HH:MM; a number in text is made of ASCII digits, a point and
an exponent; and of the blanks around a user's name only those of ASCII go. Engines read other forms, each its own.

**Local time** of a zone is UTC plus the zone's offset at that instant. Engines bring their own, differing tables of
time zones, so the changes of clock are read here, once, and become part of the expression: a balanced tree of
comparisons, about log₂ of their number for each row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import ibis
import ibis.expr.datatypes as dt
import numpy as np

from crowdveil.errors import FileFormatError, InputError
from crowdveil.profile.periods import DAY_S
from crowdveil.traces import visit_builder
from crowdveil.traces.clock import MILLISECONDS_FROM, QUARTER_S, Clock, open_zone, zone_offsets
from crowdveil.traces.inspection import REASONS

ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d(:\d\d(:\d\d([.,]\d+)?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$"
STATED = r"(Z|[+-]\d\d(:?\d\d)?)$"
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
YEAR_1 = -719_162
"""Its first day, in days since 1970: engines know a year 0, calendars do not."""
OUTSIDE_AREA, ON_WEEKEND, OUTSIDE_TIME = "outside of the area", "on a weekend", "outside of the periods"
OUTLYING, REPEATED = REASONS["outlying-dates"], REASONS["duplicates"]
BROKEN_ROW = "_broken_row"
"""A column that some engines add to CSV: NULL, but for rows with another number of fields than the heading."""
FAULTS = (
    visit_builder.WRONG_FIELDS,
    visit_builder.NO_USER,
    visit_builder.UNREADABLE_TIME,
    visit_builder.TIME_RANGE,
    visit_builder.UNREADABLE_OFFSET,
    visit_builder.UNREADABLE_POSITION,
    visit_builder.LATITUDE_RANGE,
    visit_builder.LONGITUDE_RANGE,
    visit_builder.NO_FIX,
    REPEATED,
    OUTSIDE_AREA,
    ON_WEEKEND,
    OUTSIDE_TIME,
)
"""Why a row is not counted. Engines carry its number: they group by numbers faster than by words."""
Expression = Any
"""An ibis value or table: its types are not worth naming, each engine has its own."""


@dataclass(frozen=True)
class ColumnNames:
    """Which columns hold what, and whose clock counts."""

    user: str = "user"
    time: str = "time"
    latitude: str = "latitude"
    longitude: str = "longitude"
    offset_minutes: str | None = None
    """A column of local time minus UTC; left out, the zone's, else what the times state, else 0."""
    zone: str | None = None
    clock: Clock = "utc"
    """What a time that states no offset means."""

    def __post_init__(self) -> None:
        if self.clock not in ("utc", "local"):
            raise InputError("clock", self.clock, "should be 'utc' or 'local'")
        if self.clock == "local" and self.zone is None:
            raise InputError("clock", self.clock, "needs a zone: whose local time is it?")
        if self.zone is not None:
            open_zone(self.zone)
            if self.offset_minutes is not None:
                raise InputError("zone", self.zone, "should not be given together with offset_minutes; they may differ")

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that has to be there."""
        offset = () if self.offset_minutes is None else (self.offset_minutes,)
        return (self.user, self.time, self.latitude, self.longitude, *offset)


class _Moment(NamedTuple):
    """A time: seconds since 1970, as UTC where an offset is stated, else on an unknown clock; each may be NULL."""

    seconds: Expression
    stated_s: Expression


def fixes(
    table: Expression, column_names: ColumnNames, span_s: tuple[int, int] = (0, visit_builder.LATEST_S)
) -> Expression:
    """Make the columns user, local_s, latitude, longitude and fault; where there is a fault, the place is 0, 0.

    `span_s` is the local time that matters: outside of it a zone's changes of clock are not looked at.
    """
    check_types(table.schema(), column_names)
    latitude, longitude = (_number(table[name]) for name in (column_names.latitude, column_names.longitude))
    moment = _moment(table[column_names.time], column_names.time)
    user = table[column_names.user].cast("string").strip()
    broken = table[BROKEN_ROW].notnull() if BROKEN_ROW in table.columns else ibis.literal(False)
    offset = (
        ibis.null("float64")
        if column_names.offset_minutes is None
        else 60 * _number(table[column_names.offset_minutes])
    )
    # a step of its own: the clock looks at each time a hundred times, and reading it should happen once
    read = table.select(
        user=user, latitude=latitude, longitude=longitude, broken=broken,
        seconds=moment.seconds, stated_s=moment.stated_s, column_s=offset,
    )  # fmt: skip
    utc_s, offset_s = _clock(read, column_names, span_s)
    rows = read.select("user", "latitude", "longitude", "broken", utc_s=utc_s, offset_s=offset_s)
    fault = first_of(
        (rows.broken, visit_builder.WRONG_FIELDS),
        (rows.user.isnull() | (rows.user == ""), visit_builder.NO_USER),
        (rows.utc_s.isnull(), visit_builder.UNREADABLE_TIME),
        ((rows.utc_s < 0) | (rows.utc_s >= visit_builder.LATEST_S), visit_builder.TIME_RANGE),
        (rows.offset_s.isnull() | (rows.offset_s.abs() > visit_builder.MAX_OFFSET_S), visit_builder.UNREADABLE_OFFSET),
        (_unreadable(rows.latitude) | _unreadable(rows.longitude), visit_builder.UNREADABLE_POSITION),
        (rows.latitude.abs() > 90, visit_builder.LATITUDE_RANGE),
        (rows.longitude.abs() > 180, visit_builder.LONGITUDE_RANGE),
        ((rows.latitude == 0) & (rows.longitude == 0), visit_builder.NO_FIX),
    )
    # most rows have none, and engines then do not look for which it is; NULL anywhere makes this NULL, hence not sound
    sound = (
        ~rows.broken
        & (rows.user != "")
        & rows.utc_s.between(0, visit_builder.LATEST_S - 1)
        & rows.offset_s.between(-visit_builder.MAX_OFFSET_S, visit_builder.MAX_OFFSET_S)
        & rows.latitude.between(-90, 90)
        & rows.longitude.between(-180, 180)
        & ((rows.latitude != 0) | (rows.longitude != 0))
    )
    fault = sound.ifelse(ibis.null("int8"), fault)
    # what is not sound may be no number at all, which not every function of an engine takes
    latitude, longitude = (sound.ifelse(degrees, 0.0) for degrees in (rows.latitude, rows.longitude))
    return rows.select("user", latitude=latitude, longitude=longitude, local_s=rows.utc_s + rows.offset_s, fault=fault)


def check_types(schema: Any, column_names: ColumnNames) -> None:
    """Refuse columns that cannot hold what they should; wants a schema of ibis, or of Arrow."""
    kinds = schema if isinstance(schema, ibis.Schema) else {one.name: _kind(one.type) for one in schema}
    measures = [
        name
        for name in (column_names.latitude, column_names.longitude, column_names.offset_minutes)
        if name is not None
    ]
    user, time = kinds[column_names.user], kinds[column_names.time]
    if not (user.is_string() or user.is_integer() or user.is_uuid()):
        raise _wrong_type(column_names.user, user, "text or whole numbers")
    if not (time.is_string() or time.is_numeric() or time.is_timestamp() or time.is_date()):
        raise _wrong_type(column_names.time, time, "text, numbers or timestamps")
    for name in measures:
        if not (kinds[name].is_string() or (kinds[name].is_numeric() and not kinds[name].is_boolean())):
            raise _wrong_type(name, kinds[name], "numbers, or text that holds them")


def _kind(kind: Any) -> dt.DataType:
    """Convert a type of Arrow to one of ibis; unknown for those that ibis does not have."""
    if str(kind) == "extension<arrow.uuid>":
        return dt.uuid
    try:
        return dt.DataType.from_pyarrow(kind)
    except (KeyError, NotImplementedError):
        return dt.unknown


def _wrong_type(name: str, kind: object, right: str) -> FileFormatError:
    return FileFormatError(f"its column {name!r} is of type {str(kind)[:80]}; should be {right}")


def first_of(*faults: tuple[Expression, str]) -> Expression:
    """Return the number, in `FAULTS`, of the first fault of a row; NULL for none."""
    numbered = [(found, ibis.literal(FAULTS.index(reason), "int8")) for found, reason in faults]
    return ibis.cases(*numbered, else_=ibis.null("int8"))


def in_words(fault: Expression) -> Expression:
    """Return the fault of a number; NULL stays NULL."""
    return fault.cases(*enumerate(FAULTS), else_=ibis.null("string"))


def _number(column: Expression) -> Expression:
    """Convert to a float; NULL for what is no number."""
    if not column.type().is_string():
        return column.cast("float64")
    text = column.strip()
    # what else an engine takes for a number is its own: 1_000, 48.1d, 0x1p3
    return text.re_search(NUMBER).ifelse(text.try_cast("float64"), ibis.null("float64"))


def _unreadable(number: Expression) -> Expression:
    """Tell whether a value is no number, or so large that sums of it would overflow."""
    return number.isnull() | number.isnan() | (number.abs() > visit_builder.MAX_NUMBER)


def _clock(read: Expression, column_names: ColumnNames, span_s: tuple[int, int]) -> tuple[Expression, Expression]:
    """Compute UTC, and local time minus UTC, in whole seconds."""
    seconds, stated_s = read.seconds, read.stated_s
    if column_names.offset_minutes is not None:
        known = read.column_s.abs() <= visit_builder.MAX_OFFSET_S
        return seconds, known.ifelse(read.column_s.round().cast("int64"), ibis.null("int64"))
    if column_names.zone is None:
        return seconds, stated_s.fill_null(0)
    changes = clock_changes(column_names.zone, span_s)
    if column_names.clock == "local":
        back, there = wall_changes(changes)
        known = stated_s.notnull()
        utc_s = known.ifelse(seconds, seconds - _shift(seconds, back))
        return utc_s, known.ifelse(_shift(seconds, changes), _shift(seconds, there))
    return seconds, _shift(seconds, changes)


# --- times --------------------------------------------------------------------------------------------------


def _moment(column: Expression, name: str) -> _Moment:
    kind = column.type()
    if kind.is_string():
        return _text_moment(column)
    if kind.is_timestamp() or kind.is_date():
        # to whole seconds first: some engines round the rest to the next one
        moment = column if kind.is_date() else column.truncate("s")
        seconds = moment.cast("timestamp").epoch_seconds().cast("int64")
        zoned = kind.is_timestamp() and kind.timezone is not None
        return _Moment(seconds, ibis.literal(0, "int64") if zoned else ibis.null("int64"))
    if kind.is_integer():
        # the largest unsigned numbers are no time, and fit into nothing
        number = column.try_cast("int64") if kind.is_unsigned_integer() else column.cast("int64")
        return _Moment(_unix(number), ibis.literal(0, "int64"))
    if kind.is_numeric():
        return _Moment(_unix(_number(column)), ibis.literal(0, "int64"))
    raise _wrong_type(name, kind, "text, numbers or timestamps")


def _unix(number: Expression) -> Expression:
    """Compute whole seconds from seconds or milliseconds, told apart by their size; NULL for what is no time."""
    if number.type().is_integer():
        most, least_ms = int(visit_builder.MAX_NUMBER), int(MILLISECONDS_FROM)
        milliseconds = number.between(-most, most).ifelse((number // 1000).cast("int64"), ibis.null("int64"))
        return number.between(1 - least_ms, least_ms - 1).ifelse(number, milliseconds)
    seconds = (number.abs() >= MILLISECONDS_FROM).ifelse(number / 1000, number)
    return _unreadable(number).ifelse(ibis.null("int64"), seconds.floor().cast("int64"))


def _text_moment(column: Expression) -> _Moment:
    text = column.strip()
    is_iso = column.substr(4, 1) == "-"
    sound = text.re_search(ISO)
    day = text.substr(0, 10).try_cast("date").epoch_days()
    hour, minute, second = (text.substr(start, 2).try_cast("int64").fill_null(0) for start in (11, 14, 17))
    # the clock may end before its minutes, and what stands there is then an offset
    parts = text.substr(10).length()
    offset = text.substr(10).re_extract(STATED, 1)
    clock_length = parts - offset.length()
    minute = (clock_length >= 6).ifelse(minute, 0)
    second = (clock_length >= 9).ifelse(second, 0)
    wall_s = day.cast("int64") * DAY_S + hour * 3600 + minute * 60 + second
    ahead_s = offset.substr(1, 2).try_cast("int64") * 3600
    ahead_s = ahead_s + (offset.length() > 3).ifelse(offset.right(2).try_cast("int64"), 0) * 60
    stated_s = ibis.cases(
        (offset == "", ibis.null("int64")),
        (offset == "Z", ibis.literal(0, "int64")),
        (offset.substr(0, 1) == "-", -ahead_s),
        else_=ahead_s,
    )
    known = sound & (day >= YEAR_1) & (hour < 24) & (minute < 60) & (second < 60) & (ahead_s.fill_null(0) < DAY_S)
    iso_s = known.ifelse(wall_s - stated_s.fill_null(0), ibis.null("int64"))
    return _Moment(is_iso.ifelse(iso_s, _unix(_number(column))), is_iso.ifelse(stated_s, ibis.literal(0, "int64")))


# --- time zones ---------------------------------------------------------------------------------------------


def _shift(utc_s: Expression, changes: Sequence[tuple[int, int]]) -> Expression:
    """Compute local time minus UTC at each instant, in seconds."""
    if len(changes) == 1:
        return ibis.literal(changes[0][1], "int64")
    middle = len(changes) // 2
    return (utc_s < changes[middle][0]).ifelse(_shift(utc_s, changes[:middle]), _shift(utc_s, changes[middle:]))


def wall_changes(changes: Sequence[tuple[int, int]]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Compute the same for local times w: w minus UTC as in `traces`, and the offset at that instant.

    With o(t) the offset at t, these are o(w - o(w)) and o(w - o(w - o(w))): they change where one of the arguments
    passes a change of clock, which is at most two neighbouring offsets away from it.
    """
    instants = [when for when, _ in changes]
    offsets = sorted({0, *(offset for _, offset in changes)})

    def at(t: int) -> int:
        inside = 0 <= t < visit_builder.LATEST_S
        return changes[max(0, bisect_right(instants, t) - 1)][1] if inside else 0

    steps = sorted({when + offset for when in (*instants, 0, visit_builder.LATEST_S) for offset in offsets})
    back = [(w, at(w - at(w))) for w in (steps[0] - 1, *steps)]
    there = [(w, at(w - ahead)) for w, ahead in back]
    return _stepped(back), _stepped(there)


def _stepped(values: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Keep only the entries that differ from the one before."""
    return [one for before, one in zip([None, *values], values, strict=False) if before is None or before[1] != one[1]]


def clock_changes(zone: str, span_s: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """List (instant in UTC seconds, offset in seconds from then on) during a span of local time, from its start."""
    clock = open_zone(zone)
    # no clock is a day from UTC; two days are enough on either side
    latest = visit_builder.LATEST_S - DAY_S
    start = min(max(span_s[0] // DAY_S - 2, 0) * DAY_S, latest)
    end = max(min(span_s[1] + 2 * DAY_S, visit_builder.LATEST_S), start + DAY_S)
    days = np.arange(start, end, DAY_S, dtype=np.float64)
    offsets = zone_offsets(clock, days)
    changes = [(start, int(offsets[0]))]
    for day in np.flatnonzero(np.diff(offsets)).tolist():
        quarters = np.arange(days[day], days[day + 1] + 1, QUARTER_S)
        within = zone_offsets(clock, quarters)
        changes += [(int(quarters[at + 1]), int(within[at + 1])) for at in np.flatnonzero(np.diff(within)).tolist()]
    return tuple(changes)
