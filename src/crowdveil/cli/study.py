"""`crowdveil study`: repeat the paper's experiments on a city, and more of our own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from crowdveil.cli.console import Verb, new_app, note, progress_bar, show_rows, working
from crowdveil.cli.options import read_whole
from crowdveil.errors import InputError
from crowdveil.extras import require_extra

EXAMPLES = """\b
Examples:
  crowdveil study new-york --data dataset_TSMC2014_NYC.txt.xz --out study/ --quick
  crowdveil study san-francisco --data cabspotting_5min.csv.xz --out cabs/
  crowdveil study tower-city --out towers/
  crowdveil study tower-city --data calls.csv --towers towers.csv --out d4d/
"""


class CityName(StrEnum):
    """The cities of the study."""

    new_york = "new-york"
    san_francisco = "san-francisco"
    tower_city = "tower-city"


app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
def run(
    name: Annotated[CityName, typer.Argument(help="The city.", metavar="NAME")],
    out: Annotated[Path, typer.Option(help="Folder to write to; made if missing.", metavar="FOLDER")],
    data: Annotated[
        Path | None,
        typer.Option(help="The traces, as published (default for tower-city: synthetic calls).", metavar="FILE"),
    ] = None,
    towers: Annotated[
        Path | None, typer.Option(help="For call logs: where the towers are (CSV: id,lat,lon).", metavar="FILE")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use few seeds: takes about a minute, and gives wide intervals.")
    ] = False,
    workers: Annotated[
        str | None, typer.Option(help="Number of processes (default: one per core).", metavar="NUMBER")
    ] = None,
) -> None:
    """Repeat the paper's experiments on a city, and more of our own.

    NAME is new-york (Foursquare check-ins), san-francisco (taxi cabs) or tower-city (call logs). Writes figures (PNG
    and SVG), results.json and a self-contained report.html. An interrupted study continues where it was: finished
    parts are kept in FOLDER/cases.jsonl.
    """
    require_extra("study", "plots")
    # matplotlib takes a second to load, which `crowdveil study --help` should not wait for.
    from crowdveil.paper.cities import CitySource, open_city
    from crowdveil.paper.study import run_study

    started = perf_counter()
    processes = None if workers is None else read_whole("workers", workers, 1, 256)
    if out.exists() and not out.is_dir():
        raise InputError("out", str(out), "is a file; name a folder")
    for option, path in (("data", data), ("towers", towers)):
        if path is not None and not path.exists():
            raise InputError(option, str(path), "no such file or folder")
    source = CitySource(name.value, None if data is None else str(data), None if towers is None else str(towers))
    with working("reading the traces"):
        open_city(source)
    with progress_bar(name.value) as report:
        study = run_study(source, out, quick=quick, progress=report, step=note, workers=processes)
    show_rows("Claims", ["verdict", "claim"], [[claim.verdict, claim.text] for claim in study.claims])
    typer.echo(
        f"{len(study.records)} records; {study.policies:,} certified policies. Written: {out / 'results.json'}, "
        f"{out / 'report.html'} and the figures. Done in {perf_counter() - started:.0f} s."
    )
