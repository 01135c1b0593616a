"""Which traces, or which profile, a device goes by: the options of verbs that play devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from crowdveil.cli.files import read_pairs
from crowdveil.cli.options import missing
from crowdveil.cli.traces import Format, TraceSource, read_traces
from crowdveil.client import LocationHistory
from crowdveil.errors import FileFormatError, InputError
from crowdveil.traces import Visits


def _column(name: str) -> Any:
    return typer.Option(help=f"With tables: the column of the {name}; {name} unless given.", metavar="NAME")


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
        Format | None, typer.Option(help="How they are written; table unless given: CSV or Parquet by column names.")
    ] = None,
    user_column: Annotated[str | None, _column("user")] = None,
    time_column: Annotated[str | None, _column("time")] = None,
    latitude_column: Annotated[str | None, _column("latitude")] = None,
    longitude_column: Annotated[str | None, _column("longitude")] = None,
    towers: Annotated[
        Path | None, typer.Option(help="With calls: where the towers are (id,lat,lon).", metavar="FILE")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="One clock for all visits, such as Europe/Berlin.", metavar="NAME")
    ] = None,
) -> TraceSource:
    """Read which traces are meant."""
    given = {"user": user_column, "time": time_column, "latitude": latitude_column, "longitude": longitude_column}
    return TraceSource(data, format, towers, zone, {name: one for name, one in given.items() if one is not None})


def read_where(traces: TraceSource, user: str | None, profile: Path | None) -> LocationHistory:
    """The owner's visits, or a profile of the campaign's cells."""
    if profile is not None:
        for option, value in (("data", traces.data), ("user", user)):
            if value is not None:
                raise InputError(option, str(value), "a --profile says everything; name either")
        return read_profile(profile)
    if traces.data is None:
        raise missing("data", "name the traces of the device's owner, or a --profile")
    return visits_of(read_traces(traces), user)


def visits_of(visits: Visits, user: str | None) -> Visits:
    """The visits of one person."""
    if user is None:
        if len(visits.users) != 1:
            raise missing("user", f"the traces are of {len(visits.users):,} people, such as {visits.users[0]!r}")
        return visits
    if user not in visits.users:
        raise InputError("user", user, f"is none of the {len(visits.users):,} users, such as {visits.users[0]!r}")
    mine = visits.user == visits.users.index(user)
    columns = (visits.utc_s, visits.offset_s, visits.latitude, visits.longitude)
    return Visits((user,), np.zeros(int(mine.sum()), dtype=np.int64), *(one[mine] for one in columns))


def read_profile(path: Path) -> dict[int, float]:
    """Cells and their probabilities, from CSV."""
    cells, chances = read_pairs(path, ("cell",), ("probability",))
    profile: dict[int, float] = {}
    for cell, chance in zip(cells.tolist(), chances.tolist(), strict=True):
        if not (abs(cell) < 2**53 and cell == int(cell) and cell >= 0):
            raise FileFormatError(f"{path}: cell = {cell:g}: should be a whole number from 0")
        if not 0 <= chance <= 1:
            raise FileFormatError(f"{path}: probability = {chance:g}: should lie between 0 and 1")
        if int(cell) in profile:
            raise FileFormatError(f"{path}: cell = {cell:g}: is named twice")
        profile[int(cell)] = chance
    return profile
