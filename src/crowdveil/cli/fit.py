"""`crowdveil fit`: fit the constants of the profile `logistic` to one's own traces."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.area import Grid
from crowdveil.cli.console import Verb, new_app, note, show, show_json, show_rows, working
from crowdveil.cli.files import check_destination, load_area, write_bytes
from crowdveil.cli.options import PeriodName, read_day, read_real, read_whole, read_whole_if_given, refuse, taking
from crowdveil.cli.traces import (
    KEEP_HELP,
    AreaOfVisits,
    Distinct,
    MinWeeks,
    TraceSource,
    inspect_source,
    read_oddities,
    read_source,
    source,
)
from crowdveil.profile import LogisticConstants, Profile, fit_logistic, frequency, logistic, poisson, recency, roc
from crowdveil.profile.calibration import largest_error, next_period_calibration
from crowdveil.profile.constants_file import describe_constants
from crowdveil.simulate.dataset import Dataset, split_periods

EXAMPLES = """\b
Examples:
  crowdveil fit --data visits.csv --zone Europe/Berlin --out constants.json
  crowdveil fit --data dataset_TSMC2014_NYC.txt.xz --format foursquare
      --area area.json --start 2012-04-03 --train 40 --test 5 --out constants.json
  crowdveil campaign create noise-map --area area.json --targets 3,17 --users 1000
      --wanted 50 --offer "A coffee" --constants constants.json
"""
CELL_KM = "1"
RIVALS = {"logistic, as shipped": "those that phones have", "poisson": "the profile poisson"}
"""What the fitted constants are judged by, in words."""
SAME_AUC, SAME_ERROR = 0.005, 0.01
"""Smaller differences are called none."""

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
@taking(source)
def run(
    traces: TraceSource,
    out: Annotated[Path, typer.Option(help="Where to write the constants (.json).", metavar="FILE")],
    area: AreaOfVisits = None,
    cell_km: Annotated[
        str | None, typer.Option(help=f"Without --area: side of a square (default: {CELL_KM}).", metavar="KM")
    ] = None,
    period: Annotated[
        PeriodName, typer.Option(help="Predict where people will be in the next week or day.")
    ] = PeriodName.week,
    start: Annotated[
        str | None, typer.Option(help="The first day (default: the first in the traces).", metavar="YYYY-MM-DD")
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(help="Number of periods to learn from (default: all but those to test on).", metavar="NUMBER"),
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Number of periods to test on (default: the last tenth).", metavar="NUMBER")
    ] = None,
    keep: Annotated[str | None, typer.Option(help=KEEP_HELP, metavar="LIST")] = None,
    distinct: Distinct = False,
    min_weeks: MinWeeks = "1",
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Fit the profile's constants to your own traces.

    Phones predict where their owner will be with seven constants. This fits them on the earlier periods of your traces,
    and tests them on the later ones, beside the constants that phones have. A campaign may publish them, with
    `crowdveil campaign create --constants`. What looks wrong in the traces is left out and said, as by `compare`.
    """
    check_destination("out", out, (".json",))
    if area is not None:
        refuse({"cell_km": cell_km}, "can't be combined with --area")
    side_km = read_real("cell_km", CELL_KM if cell_km is None else cell_km)
    named = None if area is None else load_area(area)
    first = None if start is None else read_day("start", start)
    learning, testing = read_whole_if_given("train", train), read_whole_if_given("test", test)
    kept, weeks = read_oddities(keep), read_whole("min_weeks", min_weeks, low=1)
    visits = inspect_source(read_source(traces), keep=kept, min_weeks=weeks, distinct=distinct)
    every_date = "outlying-dates" in kept
    with working("fitting"):
        periods, split = split_periods(
            visits, period=period.value, start=first, train=learning, test=testing, every_date=every_date
        )
        cells = named or Grid.around(visits, cell_km=side_km)
        dataset = Dataset.from_visits(visits, cells, periods, split, name=traces.name, title=traces.title)
        constants = fit_logistic(dataset.counts, split.train)
        results = [_tested(name, make, dataset) for name, make in _profiles(dataset, constants).items()]
    fitted_on = {
        "data": traces.title,
        "start": periods.start.isoformat(),
        "periods": len(split.train),
        "users": dataset.counts.users,
        "cells": len(cells),
    }
    document = describe_constants(constants, fitted_on)
    write_bytes(out, (json_text.dumps(document, indent=2) + "\n").encode())
    if json:
        show_json({**document, "tested": results, "verdict": verdict(results)})
    else:
        show("Fitted", {"data": traces.title, "constants": ", ".join(f"{one:.4f}" for one in constants.values)})
        rows = [[one["profile"], f"{one['auc']:.3f}", _shown(one["calibration_error"])] for one in results]
        header = ["profile", "AUC in the first test period", "largest calibration error"]
        show_rows(f"Tested on {len(split.test)} later {period.value}s", header, rows)
        typer.echo(verdict(results))
    note(f"Written to {out}. To publish them with a campaign: crowdveil campaign create ID --constants {out}")


def _profiles(dataset: Dataset, constants: LogisticConstants) -> dict[str, Callable[[range], Profile]]:
    """What is compared: how each profile is made from some periods."""
    counts, half_life = dataset.counts, dataset.half_life.half_life_periods
    return {
        "these constants": lambda train: logistic(counts, train, constants),
        "logistic, as shipped": lambda train: logistic(counts, train),
        "recency": lambda train: recency(counts, train, half_life),
        "poisson": lambda train: poisson(counts, train),
        "frequency": lambda train: frequency(counts, train),
    }


def _tested(name: str, make: Callable[[range], Profile], dataset: Dataset) -> dict[str, Any]:
    counts, split = dataset.counts, dataset.split
    first = range(split.test.start, split.test.start + 1)
    return {
        "profile": name,
        "auc": roc(make(split.train), counts, first, "trained").auc,
        "calibration_error": largest_error(next_period_calibration(make, counts, split.test)),
    }


def verdict(results: list[dict[str, Any]]) -> str:
    """Say in a line whether the fitted constants predicted the test periods better than what is there without them."""
    own, *others = results
    found = [
        f"{_compared(own, other)} {name}"
        for name, other in ((RIVALS[one["profile"]], one) for one in others if one["profile"] in RIVALS)
    ]
    return f"In the test these constants are {' and '.join(found)}."


def _compared(own: dict[str, Any], other: dict[str, Any]) -> str:
    """Compare by both figures; differences that chance makes count as none."""
    gains = [_sign(own["auc"] - other["auc"], SAME_AUC)]
    if own["calibration_error"] is not None and other["calibration_error"] is not None:
        gains.append(_sign(other["calibration_error"] - own["calibration_error"], SAME_ERROR))
    if {-1, 1} <= set(gains):
        return f"better in {'order' if gains[0] > 0 else 'calibration'} but not in the other figure than"
    return "better than" if 1 in gains else "worse than" if -1 in gains else "as good as"


def _sign(gain: float, same: float) -> int:
    return 0 if abs(gain) < same else 1 if gain > 0 else -1


def _shown(error: float | None) -> str:
    return "too few predictions" if error is None else f"{error:.3f}"
