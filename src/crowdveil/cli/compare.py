"""`crowdveil simulate`: every method on one's own traces, or on a synthetic city."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, TypeVar

import typer

from crowdveil.area import Grid
from crowdveil.area.extent import box_of
from crowdveil.cli.console import note, progress_bar, show, show_json, show_rows, warn, working
from crowdveil.cli.files import load_area, open_folder
from crowdveil.cli.history import source
from crowdveil.cli.options import read_epsilon, read_real, read_targets, read_whole
from crowdveil.cli.shared import taking
from crowdveil.cli.traces import TraceSource, check_overlap, facts_of_traces, read_traces
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_targets
from crowdveil.simulate.compare import HEADER, Comparison, ComparisonSettings, compare, facts, rows, warnings
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.own import cut_periods, dataset_from_visits
from crowdveil.simulate.simulation import METHODS, check_methods
from crowdveil.traces import Visits

EXAMPLES = """\b
Examples:
  crowdveil simulate --out simulated/
  crowdveil simulate --data visits.csv --zone Europe/Berlin --densest 3 --out simulated/
  crowdveil simulate --data visits.parquet --user-column id --time-column t
      --latitude-column lat --longitude-column lon --period day --targets 48.14:11.58
  crowdveil simulate --data dataset_TSMC2014_NYC.txt.xz --format foursquare
      --area area.json --targets 40.75:-73.98 --epsilon-per-km ln2
"""


Named = TypeVar("Named", bound=str)


class PeriodOption(StrEnum):
    """What profiles count in."""

    week = "week"
    day = "day"


class ProfileName(StrEnum):
    """How the chance of being in a cell is estimated."""

    frequency = "frequency"
    poisson = "poisson"
    recency = "recency"


class RuleName(StrEnum):
    """How a user picks the one place to report."""

    random = "random"
    target_aware = "target-aware"


@taking(source)
def run(
    traces: TraceSource,
    area: Annotated[
        Path | None,
        typer.Option(
            help="The area (.json), from `crowdveil area`. Left out: squares over the visits.", metavar="FILE"
        ),
    ] = None,
    cell_km: Annotated[
        str | None, typer.Option(help="Without --area: side of a square; 1 unless given.", metavar="KM")
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(help="Cells to cover, such as 3,17, or places, such as 40.75:-73.98.", metavar="LIST"),
    ] = None,
    densest: Annotated[
        str | None,
        typer.Option(help="Instead: the busiest cells of the training periods; 1 unless given.", metavar="NUMBER"),
    ] = None,
    period: Annotated[PeriodOption, typer.Option(help="What people are predicted for.")] = PeriodOption.week,
    weekdays_only: Annotated[bool, typer.Option("--weekdays-only", help="Leave weekends out.")] = False,
    start: Annotated[
        str | None, typer.Option(help="First day. Left out: the first in the traces.", metavar="YYYY-MM-DD")
    ] = None,
    train: Annotated[
        str | None, typer.Option(help="Periods to learn from. Left out: all but those to test on.", metavar="NUMBER")
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Periods to test on. Left out: the last tenth.", metavar="NUMBER")
    ] = None,
    epsilon_per_km: Annotated[
        str, typer.Option(help="Privacy loss per km, such as 1.386 or ln4; smaller is more private.", metavar="NUMBER")
    ] = "ln4",
    delta: Annotated[
        str, typer.Option(help="A place is frequent if its probability is above this.", metavar="NUMBER")
    ] = "0.7",
    profile: Annotated[
        ProfileName, typer.Option(help="How that probability is estimated. recency chooses its half-life.")
    ] = ProfileName.recency,
    rule: Annotated[
        RuleName, typer.Option(help="Which of their frequent places users report.")
    ] = RuleName.target_aware,
    share: Annotated[
        str, typer.Option(help="How many are wanted, as a share of those who report.", metavar="NUMBER")
    ] = "0.05",
    rounds: Annotated[str, typer.Option(help="Rounds of a campaign.", metavar="NUMBER")] = "6",
    confidence: Annotated[
        str, typer.Option(help="Chance that as many as wanted are found.", metavar="NUMBER")
    ] = "0.95",
    seeds: Annotated[str, typer.Option(help="How often everything is simulated.", metavar="NUMBER")] = "20",
    methods: Annotated[
        str | None, typer.Option(help=f"Of {', '.join(METHODS)}. Left out: all.", metavar="LIST")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results.json, pictures and report.html; made if missing.", metavar="FOLDER"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Compare every method on your own traces, or on a synthetic city.

    Profiles are learnt from the earlier periods; who is selected is tested on the later ones. Every symbol is drawn
    from a certified policy.
    """
    started = perf_counter()
    asked = ComparisonSettings(
        targets=(),
        epsilon_per_km=read_epsilon(epsilon_per_km),
        delta=read_real("delta", delta),
        profile=profile.value,
        rule=rule.value,
        share=read_real("share", share),
        rounds=read_whole("rounds", rounds),
        confidence=read_real("confidence", confidence),
        seeds=read_whole("seeds", seeds),
        methods=read_methods(methods, METHODS),
    )
    if targets is not None and densest is not None:
        raise InputError("densest", densest, "targets are named already; give either")
    if area is not None and cell_km is not None:
        raise InputError("cell_km", cell_km, "has no meaning with --area, which has its cells")
    side_km = read_real("cell_km", cell_km or "1")
    busiest = read_whole("densest", densest or "1")
    first = None if start is None else read_day("start", start)
    learning = None if train is None else read_whole("train", train)
    testing = None if test is None else read_whole("test", test)
    named = None if area is None else load_area(area)
    if out is not None:
        open_folder(out)
    visits = read_traces(traces)
    periods, split = cut_periods(
        visits,
        days=7 if period is PeriodOption.week else 1,
        weekdays_only=weekdays_only,
        start=first,
        train=learning,
        test=testing,
    )
    with working("counting and profiling"):
        cells = Grid.around(visits, cell_km=side_km) if named is None else named
        outside = check_overlap(visits, cells)
        dataset = dataset_from_visits(traces.name, traces.title, visits, cells, periods, split, asked.delta)
        settings = replace(asked, targets=_targets(dataset, targets, busiest))
        settings.check(dataset)
    if 2 * outside > len(visits):
        warn(f"{outside:,} of {len(visits):,} visits lie outside of the area.")
    for text in warnings(dataset, settings):
        warn(text)
    with progress_bar("simulating") as report:
        found = compare(dataset, settings, report)
    told = facts_of_traces(traces, visits) | {"where": str(box_of(cells))} | facts(found)
    written = [] if out is None else write_files(out, found, told)
    if json:
        show_json(_summary(found, visits))
    else:
        show("Traces and crowd", told)
        show_rows("Comparison", HEADER, rows(found.records))
    if out is not None:
        note(f"Written to {out}: {', '.join(written)}.")
    note(f"Done in {perf_counter() - started:.1f} s.")


def write_files(out: Path, found: Comparison, told: dict[str, str]) -> list[str]:
    """Write results, pictures and the report, with the command that makes them again."""
    with working("drawing"):
        from crowdveil.plots.comparison_report import write_comparison  # matplotlib takes a second to load

        return write_comparison(out, found, told, shlex.join(["crowdveil", *sys.argv[1:]]))


def read_methods(text: str | None, known: tuple[Named, ...]) -> tuple[Named, ...]:
    """Names of methods, such as none,crowdveil; all that are known where none is given."""
    if text is None:
        return known
    named = [part.strip() for part in text.split(",") if part.strip()]
    check_methods(named, known)
    return tuple(method for name in named for method in known if method == name)


def read_day(field: str, text: str) -> date:
    """A day, such as 2024-01-31."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(field, text, "should be a day, such as 2024-01-31") from None


def _targets(dataset: Dataset, targets: str | None, busiest: int) -> tuple[int, ...]:
    if targets is not None:
        return check_targets(read_targets(targets, dataset.area), len(dataset.area))
    if not 1 <= busiest < len(dataset.area):
        raise InputError(
            "densest", busiest, f"should be from 1 to {len(dataset.area) - 1}; some cell has to be no target"
        )
    return check_targets(dataset.densest[:busiest], len(dataset.area))


def _summary(found: Comparison, visits: Visits) -> dict[str, Any]:
    dataset, settings = found.dataset, found.settings
    return {
        "visits": len(visits),
        "users": dataset.counts.users,
        "dropped": dict(visits.dropped),
        "left_out": dict(dataset.counts.left_out),
        "cells": len(dataset.area),
        "area_digest": dataset.area.digest,
        "start": dataset.counts.periods.start.isoformat(),
        "train": len(dataset.split.train),
        "test": len(dataset.split.test),
        "half_life_periods": dataset.half_life.half_life_periods,
        "users_with_a_frequent_place": settings.reporters(dataset),
        "wanted": found.wanted,
        "targets": list(settings.targets),
        "epsilon_per_km": settings.epsilon_per_km,
        "certified_policies": found.policies,
        "comparison": [record.to_json() for record in found.records],
    }
