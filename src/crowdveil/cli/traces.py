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
from crowdveil.traces.inspection import ODDITIES, Oddity

CITY_SEED, CITY_USERS, CITY_WEEKS = 5, 1_500, 45
"""Of the synthetic city."""


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


@dataclass(frozen=True)
class TraceSource:
    """Where traces are and how they are read; without `data`, they are those of a synthetic city."""

    data: Path | None = None
    format: Format | None = None
    towers: Path | None = None
    zone: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """For tables: names of columns, where they are not the usual ones."""

    def __post_init__(self) -> None:
        columns: dict[str, object] = {f"{name}_column": column for name, column in self.columns.items()}
        if self.data is None:
            others = {"format": self.format and self.format.value, "towers": self.towers, "zone": self.zone}
            refuse(columns | others, "applies only to --data; leave it out")
            return
        if self.format not in (None, Format.table):
            refuse(columns, "applies only to tables; leave it out")
        if self.format is Format.calls and self.towers is None:
            raise missing("towers", "call logs need the positions of the towers")
        if self.format not in (None, Format.calls):
            refuse({"towers": self.towers}, "applies only to --format calls; leave it out")

    @property
    def name(self) -> str:
        """Give the file's name without its endings, for records."""
        return "synthetic-city" if self.data is None else self.data.resolve().name.partition(".")[0]

    @property
    def title(self) -> str:
        """Give the file's name, for people."""
        return "A synthetic city" if self.data is None else self.data.resolve().name


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
        Path | None,
        typer.Option(
            "--data",
            "--traces",
            help="The traces: a file, or a folder for geolife and cabspotting.",
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
) -> TraceSource:
    """Read which traces are meant."""
    given = {"user": user_column, "time": time_column, "latitude": latitude_column, "longitude": longitude_column}
    return TraceSource(data, format, towers, zone, {name: one for name, one in given.items() if one is not None})


def read_source(source: TraceSource) -> Visits:
    """Read the traces with a progress bar, or make the synthetic city."""
    if source.data is None:
        with working("making a synthetic city"):
            return synthetic_visits(np.random.default_rng(CITY_SEED), users=CITY_USERS, weeks=CITY_WEEKS)
    with progress_bar(f"reading {source.data}") as report:
        return read_traces(
            source.data,
            format=None if source.format is None else source.format.value,
            zone=source.zone,
            towers=source.towers,
            progress=report,
            user=source.columns.get("user"),
            time=source.columns.get("time"),
            latitude=source.columns.get("latitude"),
            longitude=source.columns.get("longitude"),
        )


def warn_of_visits_outside(outside: int, visits: Visits, area: str) -> None:
    """Print a warning if most visits lie outside of an area."""
    if 2 * outside > len(visits):
        warn(f"{outside:,} of {len(visits):,} visits lie outside of {area}.")
