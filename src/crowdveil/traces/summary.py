"""Describe visits in words, and check that they lie in an area."""

from __future__ import annotations

import numpy as np

from crowdveil.area import Area
from crowdveil.area.extent import box_of
from crowdveil.errors import InputError
from crowdveil.traces.visits import Visits


def describe_visits(visits: Visits, title: str) -> dict[str, str]:
    """Say what was read, what was dropped and why, and on which clocks the visits are.

    >>> import crowdveil as cv
    >>> describe_visits(cv.synthetic_visits(1, users=20, weeks=4), "A small city")["dropped"]
    'no row'
    """
    dropped = ", ".join(f"{reason}: {rows:,}" for reason, rows in visits.dropped.items())
    return {
        "traces": f"{title}: {len(visits):,} visits of {len(visits.users):,} users",
        "dropped": f"{sum(visits.dropped.values()):,} rows ({dropped})" if dropped else "no row",
        "clocks": _describe_clocks(visits),
    }


def check_overlap(visits: Visits, area: Area) -> int:
    """Count the visits that lie outside of an area; if all do, the error says where both are."""
    outside = int((area.locate(visits.latitude, visits.longitude) < 0).sum())
    if outside == len(visits):
        south, north = visits.latitude.min(), visits.latitude.max()
        west, east = visits.longitude.min(), visits.longitude.max()
        what = (
            f"no visit lies in it: it covers {box_of(area).edges}; the visits lie between {south:.4f} and {north:.4f} "
            f"degrees of latitude, {west:.4f} and {east:.4f} of longitude"
        )
        fits = np.abs(visits.longitude) <= 90
        if (area.locate(visits.longitude[fits], visits.latitude[fits]) >= 0).any():
            what += "; are latitude and longitude swapped?"
        raise InputError("area", f"{len(area):,} cells", what)
    return outside


def _describe_clocks(visits: Visits) -> str:
    """Several offsets from UTC mean summer time, or users in several time zones."""
    offsets, times = np.unique(visits.offset_s, return_counts=True)
    most_first = np.argsort(-times, kind="stable")
    shown = [f"{_utc(int(offsets[n]))} ({times[n]:,} visits)" for n in most_first[:4].tolist()]
    if len(offsets) == 1:
        return _utc(int(offsets[0]))
    more = f" and {len(offsets) - 4} more" if len(offsets) > 4 else ""
    return f"{len(offsets)} offsets: {', '.join(shown)}{more}; each visit counts on its own local day"


def _utc(offset_s: int) -> str:
    hours, minutes = divmod(abs(offset_s) // 60, 60)
    return f"UTC{'-' if offset_s < 0 else '+'}{hours:02}:{minutes:02}"
