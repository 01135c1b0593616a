"""Which traces to read, and what was read and dropped, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np

from crowdveil.area import Area
from crowdveil.area.extent import box_of
from crowdveil.cli.console import progress_bar, working
from crowdveil.cli.options import missing, refuse
from crowdveil.errors import InputError
from crowdveil.traces import (
    Visits,
    read_cabspotting,
    read_calls,
    read_foursquare,
    read_geolife,
    read_gpx,
    read_snap,
    read_table,
    read_timeline,
    synthetic_visits,
)
from crowdveil.vocabulary import Progress

CITY_SEED, CITY_USERS, CITY_WEEKS = 5, 1_500, 45
"""Of the synthetic city."""


class Format(StrEnum):
    """Traces that can be read."""

    table = "table"
    foursquare = "foursquare"
    geolife = "geolife"
    cabspotting = "cabspotting"
    snap = "snap"
    calls = "calls"
    gpx = "gpx"
    timeline = "timeline"


@dataclass(frozen=True)
class TraceSource:
    """Where traces are and how they are read; the synthetic city without `data`."""

    data: Path | None = None
    format: Format | None = None
    towers: Path | None = None
    zone: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """For tables: names of columns, where they are not the usual ones."""

    def __post_init__(self) -> None:
        unused: dict[str, object] = {f"{name}_column": column for name, column in self.columns.items()}
        if self.data is None:
            unused |= {"format": self.format and self.format.value, "towers": self.towers, "zone": self.zone}
            refuse(unused, "has no meaning without --data")
            return
        if self.kind is not Format.table:
            refuse(unused, "has no meaning but for tables")
        if self.kind is Format.calls and self.towers is None:
            raise missing("towers", "call logs need the positions of the towers")
        if self.kind is not Format.calls:
            refuse({"towers": self.towers}, "has no meaning but for calls")

    @property
    def kind(self) -> Format:
        """A table unless told otherwise."""
        return self.format or Format.table

    @property
    def name(self) -> str:
        """For records: the file's name without its endings."""
        return "synthetic-city" if self.data is None else self.data.resolve().name.partition(".")[0]

    @property
    def title(self) -> str:
        """For people."""
        return "A synthetic city" if self.data is None else self.data.resolve().name


def read_traces(source: TraceSource) -> Visits:
    """Read the traces with a bar, or make the synthetic city."""
    if source.data is None:
        with working("making a synthetic city"):
            return synthetic_visits(np.random.default_rng(CITY_SEED), users=CITY_USERS, weeks=CITY_WEEKS)
    path, zone = source.data, source.zone
    named = {} if zone is None else {"zone": zone}
    readers: dict[Format, Callable[[Progress], Visits]] = {
        Format.table: lambda progress: read_table(
            path,
            user=source.columns.get("user", "user"),
            time=source.columns.get("time", "time"),
            latitude=source.columns.get("latitude", "latitude"),
            longitude=source.columns.get("longitude", "longitude"),
            zone=zone,
            progress=progress,
        ),
        Format.foursquare: lambda progress: read_foursquare(path, zone=zone, progress=progress),
        Format.geolife: lambda progress: read_geolife(path, **named, progress=progress),
        Format.cabspotting: lambda progress: read_cabspotting(path, **named, progress=progress),
        Format.snap: lambda progress: read_snap(path, zone=zone, progress=progress),
        Format.calls: lambda progress: read_calls(path, source.towers or "", **named, progress=progress),
        Format.gpx: lambda progress: read_gpx(path, zone=zone, progress=progress),
        Format.timeline: lambda progress: read_timeline(path, zone=zone, progress=progress),
    }
    with progress_bar(f"reading {path}") as report:
        return readers[source.kind](report)


def facts_of_traces(source: TraceSource, visits: Visits) -> dict[str, str]:
    """What was read and what was dropped."""
    dropped = ", ".join(f"{reason}: {rows:,}" for reason, rows in visits.dropped.items())
    return {
        "traces": f"{source.title}: {len(visits):,} visits of {len(visits.users):,} users",
        "dropped": f"{sum(visits.dropped.values()):,} rows ({dropped})" if dropped else "no row",
        "clocks": _clocks(visits),
    }


def check_overlap(visits: Visits, area: Area) -> int:
    """How many visits lie outside of an area; all of them is an error that says where both are."""
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


def _clocks(visits: Visits) -> str:
    """The offsets from UTC; several are summer time, or users in several time zones."""
    offsets, times = np.unique(visits.offset_s, return_counts=True)
    most_first = np.argsort(-times, kind="stable")
    shown = [f"{_utc(int(offsets[n]))} ({times[n]:,} visits)" for n in most_first[:4].tolist()]
    if len(offsets) == 1:
        return _utc(int(offsets[0]))
    more = f" and {len(offsets) - 4} more" if len(offsets) > 4 else ""
    return f"{len(offsets)} offsets: {', '.join(shown)}{more}; each visit counts on its own day"


def _utc(offset_s: int) -> str:
    hours, minutes = divmod(abs(offset_s) // 60, 60)
    return f"UTC{'-' if offset_s < 0 else '+'}{hours:02}:{minutes:02}"
