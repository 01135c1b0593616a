"""`crowdveil study`: repeat the paper's experiments on a data set, and more of our own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from crowdveil.cli.console import Verb, new_app, note, progress_bar, show_rows, warn, working
from crowdveil.cli.options import PeriodName, read_real, read_whole, refuse, taking
from crowdveil.cli.traces import TraceSource, source
from crowdveil.errors import InputError
from crowdveil.extras import require_extra
from crowdveil.traces.several_files import find_trace_files

if TYPE_CHECKING:
    from crowdveil.paper.cities import CitySource

EXAMPLES = """\b
Examples:
  crowdveil study new-york --data dataset_TSMC2014_NYC.txt.xz --out study/new-york --quick
  crowdveil study gowalla --data gowalla_new_york.txt.gz --out study/gowalla
  crowdveil study san-francisco --data cabspotting_5min.csv.xz --out study/cabs
  crowdveil study tower-city --out study/towers
  crowdveil study tower-city --data calls.csv --towers towers.csv --out study/d4d
  crowdveil study synthetic-city --users 300 --out study/synthetic-300
  crowdveil study own --data "exports/*.csv" --zone Europe/Berlin --clock local --out study/own
  crowdveil study new-york --year --data dataset_TSMC2014_NYC.txt.xz --out study/year
  crowdveil study together --data study/ --out study/together
"""
CELL_KM, USERS = "1", "3000"
MIN_USERS, MAX_USERS = 50, 100_000
"""Of a synthetic city: fewer have hardly any frequent places, more take too much memory."""


class CityName(StrEnum):
    """The cities of the study, anyone's own traces, and all finished studies together."""

    new_york = "new-york"
    gowalla = "gowalla"
    san_francisco = "san-francisco"
    tower_city = "tower-city"
    synthetic_city = "synthetic-city"
    own = "own"
    together = "together"


app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
@taking(source)
def run(
    traces: TraceSource,
    name: Annotated[CityName, typer.Argument(help="The data set.", metavar="NAME")],
    out: Annotated[Path, typer.Option(help="Folder to write to; made if missing.", metavar="FOLDER")],
    cell_km: Annotated[
        str | None, typer.Option(help=f"For own: side of a square (default: {CELL_KM}).", metavar="KM")
    ] = None,
    period: Annotated[
        PeriodName | None, typer.Option(help="For own: predict the next week or day (default: week).")
    ] = None,
    users: Annotated[
        str | None,
        typer.Option(help=f"For synthetic-city: how many people it has (default: {USERS}).", metavar="NUMBER"),
    ] = None,
    year: Annotated[
        bool,
        typer.Option("--year", help="Study weekly campaigns over half a year under a limit for life instead."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use few seeds: takes about a minute, and gives wide intervals.")
    ] = False,
    workers: Annotated[
        str | None, typer.Option(help="Number of processes (default: one per core).", metavar="NUMBER")
    ] = None,
) -> None:
    """Repeat the paper's experiments on a data set, and more of our own.

    NAME is new-york (Foursquare check-ins), gowalla (Gowalla check-ins), san-francisco (taxi cabs), tower-city (call
    logs; synthetic without --data), synthetic-city (people drawn at random, as many as wanted) or own (any traces, in
    any format that `compare` reads). Writes figures (PNG and SVG), results.json and a self-contained report.html. An
    interrupted study continues where it was: finished parts are kept in FOLDER/cases.jsonl.

    With --year, people's loss of privacy is limited for life, and a campaign is held every week (in san-francisco,
    every day): panels, fresh reports, planar Laplace and no privacy are compared. It is there for new-york, gowalla,
    san-francisco and synthetic-city, and starts from the beginning each time.

    With NAME together, --data is the folder that holds the folders of finished studies; they are shown side by side.
    """
    require_extra("study", "plots")
    # matplotlib takes a second to load, which `crowdveil study --help` should not wait for.
    from crowdveil.paper.cities import inspect_own, open_city
    from crowdveil.paper.communities import open_community
    from crowdveil.paper.study import run_study
    from crowdveil.paper.year_study import run_year_study

    started = perf_counter()
    processes = None if workers is None else read_whole("workers", workers, 1, 256)
    if out.exists() and not out.is_dir():
        raise InputError("out", str(out), "is a file; name a folder")
    if traces.towers is not None and not traces.towers.exists():
        raise InputError("towers", str(traces.towers), "no such file or folder")
    if name is not CityName.own:
        if len(traces.data) > 1:
            raise InputError(
                "data", list(traces.data), "should be one file or folder; only the study own reads several"
            )
        if traces.data and not Path(traces.data[0]).exists():
            raise InputError("data", traces.data[0], "no such file or folder")
    city = _city(name, traces, cell_km, period, users)
    if name is CityName.together:
        refuse(
            {"year": year or None, "quick": quick or None, "workers": workers}, "applies only to studies; leave it out"
        )
        _show_together(Path(traces.data[0]) if traces.data else None, out)
        return
    with working("reading the traces"):
        (open_community if year else open_city)(city)
    if name is CityName.own:
        for finding in inspect_own(city).findings:
            warn(finding.text)
    with progress_bar(name.value) as report:
        study = (run_year_study if year else run_study)(
            city, out, quick=quick, progress=report, step=note, workers=processes
        )
    show_rows("Claims", ["verdict", "claim"], [[claim.verdict, claim.text] for claim in study.claims])
    typer.echo(
        f"{len(study.records)} records; {study.policies:,} certified policies. Written: {out / 'results.json'}, "
        f"{out / 'report.html'} and the figures. Done in {perf_counter() - started:.0f} s."
    )


def _city(
    name: CityName, traces: TraceSource, cell_km: str | None, period: PeriodName | None, users: str | None
) -> CitySource:
    from crowdveil.paper.cities import CitySource

    columns = {f"{usual}_column": column for usual, column in traces.columns.items()}
    if name is not CityName.own:
        given = {"format": traces.format and traces.format.value, "zone": traces.zone, "cell_km": cell_km, **columns}
        given["clock"] = traces.clock and traces.clock.value
        refuse({**given, "period": period and period.value}, "applies only to the study own; leave it out")
    if name not in (CityName.own, CityName.tower_city):
        refuse({"towers": traces.towers}, "applies only to the studies tower-city and own; leave it out")
    if name is CityName.synthetic_city:
        refuse({"data": traces.data or None}, "applies not to synthetic-city, which has no traces; leave it out")
    else:
        refuse({"users": users}, "applies only to the study synthetic-city; leave it out")
    files = [str(path) for path in find_trace_files(traces.data)] if name is CityName.own else list(traces.data)
    return CitySource(
        name.value,
        files[0] if files else None,
        None if traces.towers is None else str(traces.towers),
        None if traces.format is None else traces.format.value,
        traces.zone,
        tuple(sorted(traces.columns.items())),
        read_real("cell_km", CELL_KM if cell_km is None else cell_km),
        PeriodName.week.value if period is None else period.value,
        read_whole("users", USERS if users is None else users, MIN_USERS, MAX_USERS),
        None if traces.clock is None else traces.clock.value,
        tuple(files[1:]),
    )


def _show_together(studies: Path | None, out: Path) -> None:
    from crowdveil.paper.side_by_side import write_side_by_side

    if studies is None:
        raise InputError("data", None, "name the folder that holds the folders of finished studies")
    with working("drawing"):
        found = write_side_by_side(studies, out)
    show_rows("Claims", ["verdict", "claim"], [[claim.verdict, claim.text] for claim in found.claims])
    how_many = f"{len(found.titles)} {'study' if len(found.titles) == 1 else 'studies'}"
    typer.echo(f"{how_many} side by side. Written: {out / 'report.html'} and the figures.")
