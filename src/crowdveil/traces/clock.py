"""Read ISO and Unix times, and convert them to the local clock of a time zone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.traces.visit_builder import LATEST_S, to_floats

Clock: TypeAlias = Literal["utc", "local"]
"""What a time without a stated offset means: UTC, or local time."""

EPOCH = datetime(1970, 1, 1)
EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
NAN = float("nan")
LAYOUT = "0000-00-00T00:00:00"
MILLISECONDS_FROM = 1e11
"""As seconds this is the year 5138, as milliseconds 1973, so that size tells the unit of any plausible time."""
QUARTER_S = 900
"""Clocks are changed at whole quarters of an hour (UTC)."""


def open_zone(name: str) -> ZoneInfo:
    """Find a time zone by its name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise InputError("zone", name, "should be a time zone name such as 'Europe/Berlin'") from None


def read_times(values: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Read ISO or Unix times (seconds, or milliseconds by their size): seconds and stated offset, each NaN if unknown.

    A number is a Unix time, hence UTC: its stated offset is 0.
    """
    is_iso = np.array([value[4:5] == "-" for value in values], dtype=bool)
    if is_iso.all():
        return read_iso(values)
    seconds, stated = np.empty(len(values)), np.zeros(len(values))
    seconds[is_iso], stated[is_iso] = read_iso([values[i] for i in np.flatnonzero(is_iso).tolist()])
    unix = to_floats([values[i] for i in np.flatnonzero(~is_iso).tolist()])
    seconds[~is_iso] = np.where(np.abs(unix) >= MILLISECONDS_FROM, unix / 1000, unix)
    return seconds, stated


def read_iso(values: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Read ISO times only: seconds and stated offset, each NaN if unknown."""
    for end, stated in (("", NAN), ("Z", 0.0)):
        seconds = _fixed_layout(values, end)
        if seconds is not None:
            return seconds, np.full(len(values), stated)
    pairs = np.array([_iso(value) for value in values], dtype=np.float64).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _fixed_layout(values: Sequence[str], end: str) -> FloatArray | None:
    """Read 2008-05-17T14:12:10 (or a blank for T) many at once; None unless all are valid and have this layout."""
    text = "".join(values)
    width = len(LAYOUT) + len(end)
    if any(len(value) != width for value in values) or not text.isascii():
        return None
    byte = np.frombuffer(text.encode("ascii"), dtype=np.uint8).reshape(-1, width).astype(np.int64)
    digit = byte[:, [i for i, letter in enumerate(LAYOUT) if letter == "0"]] - ord("0")
    marks = [(i, ord(letter)) for i, letter in enumerate(LAYOUT + end) if letter not in "0T"]
    sound = np.isin(byte[:, LAYOUT.index("T")], [ord("T"), ord(" ")])
    for i, letter in marks:
        sound &= byte[:, i] == letter
    if not (sound.all() and ((digit >= 0) & (digit <= 9)).all()):
        return None
    year = digit[:, :4] @ [1000, 100, 10, 1]
    month, day, hour, minute, second = (digit[:, i : i + 2] @ [10, 1] for i in range(4, 14, 2))
    first = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    start, end_day = (month_start.astype("datetime64[D]").astype(np.int64) for month_start in (first, first + 1))
    in_range = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= end_day - start)
    if not (in_range & (hour < 24) & (minute < 60) & (second < 60)).all():
        return None
    seconds: FloatArray = ((start + day - 1) * 86_400.0) + (hour * 3600 + minute * 60 + second)
    return seconds


def _iso(text: str) -> tuple[float, float]:
    try:
        time = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        return NAN, NAN
    offset = time.utcoffset()
    # days and seconds of a difference are exact; fractions of a second are dropped
    since = time - (EPOCH if offset is None else EPOCH_UTC)
    return since.days * 86_400 + since.seconds, NAN if offset is None else offset.total_seconds()


def show_seconds(seconds: float) -> str:
    """Write a time for an error."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.6g} s since 1970"


def zone_offsets(zone: ZoneInfo, utc_s: FloatArray) -> FloatArray:
    """Return local time minus UTC in seconds at each instant; NaN where the instant is unknown or out of range."""
    known = (utc_s >= 0) & (utc_s < LATEST_S)
    offsets = np.full(utc_s.shape, NAN)
    if not known.any():
        return offsets
    quarter = (utc_s if known.all() else utc_s[known]).astype(np.int64) // QUARTER_S
    first = int(quarter.min())
    # a table of all quarters in between is smaller than sorting millions of times
    there = np.zeros(int(quarter.max()) - first + 1, dtype=bool)
    there[quarter - first] = True
    table = np.full(len(there), NAN)
    for number in np.flatnonzero(there).tolist():
        offset = datetime.fromtimestamp((first + number) * QUARTER_S, zone).utcoffset()
        table[number] = NAN if offset is None else offset.total_seconds()
    offsets[known] = table[quarter - first]
    return offsets


def utc_and_offset(
    seconds: FloatArray, stated: FloatArray, zone: ZoneInfo | None, clock: Clock = "utc"
) -> tuple[FloatArray, FloatArray]:
    """Return UTC and the local offset: the zone's if a zone is given, otherwise the stated one, otherwise 0."""
    if zone is None:
        return seconds, np.nan_to_num(stated, nan=0.0)
    utc_s = seconds
    if clock == "local":
        # Twice, because near a change of clocks the offset must be that of the instant itself.
        once = seconds - np.nan_to_num(zone_offsets(zone, seconds))
        twice = seconds - np.nan_to_num(zone_offsets(zone, once))
        utc_s = np.where(np.isnan(stated), twice, seconds)
    # Rows with an unusable time are dropped for that reason, not for their offset.
    return utc_s, np.nan_to_num(zone_offsets(zone, utc_s))
