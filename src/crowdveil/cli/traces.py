"""Which traces to read, and what was read and dropped, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from crowdveil import traces
from crowdveil.cli.console import progress_bar, working
from crowdveil.cli.options import missing, refuse
from crowdveil.traces import Visits, synthetic_visits

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
            return synthetic_visits(CITY_SEED, users=CITY_USERS, weeks=CITY_WEEKS)
    with progress_bar(f"reading {source.data}") as report:
        return traces.read_traces(
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
