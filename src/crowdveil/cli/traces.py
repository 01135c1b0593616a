"""Define the options that say which traces to read, and read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from crowdveil.cli.console import progress_bar, warn, working
from crowdveil.cli.options import missing, refuse
from crowdveil.errors import InputError
from crowdveil.traces import Visits, read_traces, synthetic_visits
from crowdveil.traces.inspection import ODDITIES, Oddity, inspect_visits

CITY_SEED, CITY_USERS, CITY_WEEKS = 5, 1_500, 45
"""Of the synthetic city."""
MAX_NAMED = 3
"""Of several files, so many are named in a title."""


class Format(StrEnum):
    """The formats of traces."""

    table = "table"
    foursquare = "foursquare"
    geolife = "geolife"
    cabspotting = "cabspotting"
    snap = "snap"
    calls = "calls"
    gpx = "gpx"
    timeline = "timeline"


class ClockName(StrEnum):
    """What a time without an offset means."""

    utc = "utc"
    local = "local"


@dataclass(frozen=True)
class TraceSource:
    """Where traces are and how they are read; without `data`, they are those of a synthetic city."""

    data: tuple[str, ...] = ()
    """Files, folders and patterns."""
    format: Format | None = None
    towers: Path | None = None
    zone: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """For tables: names of columns, where they are not the usual ones."""
    clock: ClockName | None = None
    """For tables: what times without an offset mean."""

    def __post_init__(self) -> None:
        columns: dict[str, object] = {f"{name}_column": column for name, column in self.columns.items()}
        clock = {"clock": self.clock and self.clock.value}
        if not self.data:
            others = {"format": self.format and self.format.value, "towers": self.towers, "zone": self.zone}
            refuse(columns | others | clock, "applies only to --data; leave it out")
            return
        for one in self.data:
            if not one.strip():
                raise InputError("data", one, "should name a file, a folder or a pattern")
        if self.format not in (None, Format.table):
            refuse(columns | clock, "applies only to tables; leave it out")
        if self.clock is ClockName.local and self.zone is None:
            raise missing("zone", "--clock local needs the zone of these local times, such as --zone Europe/Berlin")
        if self.format is Format.calls and self.towers is None:
            raise missing("towers", "call logs need the positions of the towers")
        if self.format not in (None, Format.calls):
            refuse({"towers": self.towers}, "applies only to --format calls; leave it out")

    @property
    def name(self) -> str:
        """Give the file's name without its endings, for records."""
        if not self.data:
            return "synthetic-city"
        more = f"-and-{len(self.data) - 1}-more" if len(self.data) > 1 else ""
        return Path(self.data[0]).resolve().name.partition(".")[0] + more

    @property
    def title(self) -> str:
        """Give the names of the files, for people."""
        if not self.data:
            return "A synthetic city"
        names = [Path(one).resolve().name for one in self.data]
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        return ", ".join(names[:MAX_NAMED]) + more


def column(name: str) -> Any:
    """Define the option that names a column of a table."""
    return typer.Option(help=f"For tables: the column of the {name} (default: {name}).", metavar="NAME")


Towers = Annotated[
    Path | None, typer.Option(help="For call logs: where the towers are (CSV: id,lat,lon).", metavar="FILE")
]
AreaOfVisits = Annotated[
    Path | None,
    typer.Option(help="The area (.json), from `crowdveil area` (default: squares over the visits).", metavar="FILE"),
]
Zone = Annotated[str | None, typer.Option(help="The time zone of all visits, such as Europe/Berlin.", metavar="NAME")]


CLOCK_HELP = "For tables: what times without an offset mean; local needs --zone."
Clock = Annotated[
    ClockName | None, typer.Option(help=f"{CLOCK_HELP} Has to be said where there are any and --zone is given.")
]
Distinct = Annotated[
    bool,
    typer.Option("--distinct", help="Count the same person, time and place once, also where times are whole minutes."),
]
MinWeeks = Annotated[
    str, typer.Option(help="Leave out people who were seen in fewer calendar weeks.", metavar="NUMBER")
]
KEEP_HELP = f"Count what is left out otherwise, out of {', '.join(ODDITIES)}."


def read_oddities(text: str | None, known: Sequence[Oddity] = ODDITIES) -> tuple[Oddity, ...]:
    """Read what should be kept of what looks wrong."""
    named = [part.strip() for part in (text or "").split(",") if part.strip()]
    for name in named:
        if name not in known:
            raise InputError("keep", name, f"should be one of {', '.join(known)}")
    return tuple(oddity for oddity in known if oddity in named)


def source(
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            "--traces",
            help="The traces: a file, a folder, or a pattern in quotes; may be given several times.",
            metavar="PATH",
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        Format | None, typer.Option(help="The format of the traces (default: recognised by their content).")
    ] = None,
    user_column: Annotated[str | None, column("user")] = None,
    time_column: Annotated[str | None, column("time")] = None,
    latitude_column: Annotated[str | None, column("latitude")] = None,
    longitude_column: Annotated[str | None, column("longitude")] = None,
    towers: Towers = None,
    zone: Zone = None,
    clock: Clock = None,
) -> TraceSource:
    """Read which traces are meant."""
    given = {"user": user_column, "time": time_column, "latitude": latitude_column, "longitude": longitude_column}
    columns = {name: one for name, one in given.items() if one is not None}
    return TraceSource(tuple(data or ()), format, towers, zone, columns, clock)


def read_source(source: TraceSource) -> Visits:
    """Read the traces with a progress bar, or make the synthetic city."""
    if not source.data:
        with working("making a synthetic city"):
            return synthetic_visits(np.random.default_rng(CITY_SEED), users=CITY_USERS, weeks=CITY_WEEKS)
    with progress_bar(f"reading {source.title}") as report:
        try:
            return read_traces(
                source.data,
                format=None if source.format is None else source.format.value,
                zone=source.zone,
                clock=None if source.clock is None else source.clock.value,
                towers=source.towers,
                progress=report,
                user=source.columns.get("user"),
                time=source.columns.get("time"),
                latitude=source.columns.get("latitude"),
                longitude=source.columns.get("longitude"),
            )
        except InputError as error:
            if (error.field, error.value) != ("clock", None):
                raise
            raise missing("clock", error.expected) from None


def inspect_source(
    visits: Visits,
    *,
    keep: Sequence[Oddity] = (),
    min_weeks: int = 1,
    distinct: bool = False,
    skip: Sequence[str] = (),
) -> Visits:
    """Print what is odd about some visits, apart from some kinds; return them without what is left out."""
    with working("looking at the visits"):
        inspection = inspect_visits(visits, keep=keep, min_weeks=min_weeks, distinct=distinct)
    for finding in inspection.findings:
        if finding.kind not in skip:
            warn(finding.text)
    return inspection.visits


def warn_of_visits_outside(outside: int, visits: Visits, area: str) -> None:
    """Print a warning if most visits lie outside of an area."""
    if 2 * outside > len(visits):
        warn(f"{outside:,} of {len(visits):,} visits lie outside of {area}.")
