"""`crowdveil compare`: compare every method on one's own traces, or on a synthetic city."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from crowdveil.area import Grid
from crowdveil.area.place_lists import list_places
from crowdveil.cli.console import Verb, new_app, note, progress_bar, show, show_json, show_rows, warn, working
from crowdveil.cli.files import load_area, open_folder, write_bytes
from crowdveil.cli.options import (
    CONFIDENCE,
    DELTA,
    DELTA_HELP,
    EPSILON,
    EPSILON_HELP,
    GRADE_EPSILON,
    GRADE_EPSILON_HELP,
    LOWER_DELTAS_HELP,
    NULL_EPSILON,
    NULL_EPSILON_HELP,
    PROFILE,
    ROUNDS,
    RULE,
    SHARE,
    PeriodName,
    ProfileName,
    RuleName,
    read_day,
    read_epsilon,
    read_epsilon_or_none,
    read_lower_deltas,
    read_methods,
    read_real,
    read_whole,
    read_whole_if_given,
    refuse,
    taking,
)
from crowdveil.cli.targets import (
    TARGETS_HELP,
    KeepApart,
    LeaveOutOutside,
    find_targets,
    places_of,
    refuse_without_targets,
)
from crowdveil.cli.traces import (
    KEEP_HELP,
    AreaOfVisits,
    Distinct,
    MinWeeks,
    TraceSource,
    read_oddities,
    read_source,
    source,
)
from crowdveil.errors import MissingExtraError
from crowdveil.extras import has_extra
from crowdveil.simulate.compare import compare
from crowdveil.simulate.comparison import Comparison, ComparisonSettings
from crowdveil.simulate.describe import TABLE_HEADER, describe_comparison, table_rows
from crowdveil.simulate.records import write_records
from crowdveil.simulate.simulation import METHODS
from crowdveil.traces.inspection import Inspection, inspect_visits

EXAMPLES = """\b
Examples:
  crowdveil compare --out compared/
  crowdveil compare --data visits.csv --zone Europe/Berlin --densest 3 --out compared/
  crowdveil compare --data january.csv --data february.csv --zone Europe/Berlin --clock local
  crowdveil compare --data visits.parquet --user-column id --time-column t
      --latitude-column lat --longitude-column lon --period day --targets shops.csv
  crowdveil compare --data dataset_TSMC2014_NYC.txt.xz --format foursquare
      --area area.json --targets "40.75, -73.98" --epsilon-per-km ln2
"""
CELL_KM, DENSEST = "1", "1"

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
@taking(source)
def run(
    traces: TraceSource,
    area: AreaOfVisits = None,
    cell_km: Annotated[
        str | None, typer.Option(help=f"Without --area: side of a square (default: {CELL_KM}).", metavar="KM")
    ] = None,
    targets: Annotated[str | None, typer.Option(help=TARGETS_HELP, metavar="PLACES")] = None,
    keep_apart: KeepApart = False,
    leave_out_outside: LeaveOutOutside = False,
    densest: Annotated[
        str | None,
        typer.Option(
            help=f"Instead of --targets: cover this many of the busiest cells (default: {DENSEST}).", metavar="NUMBER"
        ),
    ] = None,
    period: Annotated[
        PeriodName, typer.Option(help="Predict where people will be in the next week or day.")
    ] = PeriodName.week,
    weekdays_only: Annotated[bool, typer.Option("--weekdays-only", help="Leave weekends out.")] = False,
    start: Annotated[
        str | None,
        typer.Option(help="The first day (default: the first usual one in the traces).", metavar="YYYY-MM-DD"),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(help="Number of periods to learn from (default: all but those to test on).", metavar="NUMBER"),
    ] = None,
    test: Annotated[
        str | None, typer.Option(help="Number of periods to test on (default: the last tenth).", metavar="NUMBER")
    ] = None,
    epsilon_per_km: Annotated[str, typer.Option(help=EPSILON_HELP, metavar="NUMBER")] = EPSILON,
    null_epsilon: Annotated[str, typer.Option(help=NULL_EPSILON_HELP, metavar="NUMBER")] = NULL_EPSILON,
    grade_epsilon: Annotated[str, typer.Option(help=GRADE_EPSILON_HELP, metavar="NUMBER")] = GRADE_EPSILON,
    delta: Annotated[str, typer.Option(help=DELTA_HELP, metavar="NUMBER")] = DELTA,
    lower_deltas: Annotated[str | None, typer.Option(help=LOWER_DELTAS_HELP, metavar="LIST")] = None,
    profile: Annotated[
        ProfileName, typer.Option(help="How that probability is estimated; recency chooses its half-life by itself.")
    ] = PROFILE,
    rule: Annotated[RuleName, typer.Option(help="Which of their frequent places people report.")] = RULE,
    wanted: Annotated[str | None, typer.Option(help="How many people are wanted.", metavar="NUMBER")] = None,
    share: Annotated[
        str | None,
        typer.Option(help=f"Instead of --wanted: a share of everyone (default: {SHARE}).", metavar="NUMBER"),
    ] = None,
    rounds: Annotated[str, typer.Option(help="Number of rounds of a campaign.", metavar="NUMBER")] = ROUNDS,
    confidence: Annotated[
        str, typer.Option(help="Chance that as many as wanted can be selected.", metavar="NUMBER")
    ] = CONFIDENCE,
    seeds: Annotated[str, typer.Option(help="How often every method is simulated.", metavar="NUMBER")] = "20",
    methods: Annotated[
        str | None, typer.Option(help=f"Methods out of {', '.join(METHODS)} (default: all).", metavar="LIST")
    ] = None,
    keep: Annotated[str | None, typer.Option(help=KEEP_HELP, metavar="LIST")] = None,
    distinct: Distinct = False,
    min_weeks: MinWeeks = "1",
    workers: Annotated[
        str | None, typer.Option(help="Processes that simulate (default: one per core).", metavar="NUMBER")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for results.json, pictures and report.html; made if missing.", metavar="FOLDER"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Compare every method on your own traces, or on a synthetic city.

    Profiles are learned from the earlier periods, and the people who are selected are tested on the later ones. Every
    symbol is drawn from a certified policy.
    """
    started = perf_counter()
    settings: dict[str, Any] = {
        "epsilon_per_km": read_epsilon(epsilon_per_km),
        "null_epsilon": read_epsilon_or_none(null_epsilon, "null_epsilon"),
        "grade_epsilon": read_epsilon_or_none(grade_epsilon, "grade_epsilon"),
        "delta": read_real("delta", delta),
        "profile": profile.value,
        "rule": rule.value,
        "lower_deltas": read_lower_deltas(lower_deltas),
        "wanted": read_whole_if_given("wanted", wanted),
        "share": read_real("share", SHARE if share is None else share),
        "rounds": read_whole("rounds", rounds),
        "confidence": read_real("confidence", confidence),
        "seeds": read_whole("seeds", seeds),
        "methods": read_methods(methods, METHODS),
    }
    ComparisonSettings(targets=(), **settings)  # a wrong number should not wait for the traces
    if wanted is not None:
        refuse({"share": share}, "can't be combined with --wanted")
    if targets is not None:
        refuse({"densest": densest}, "can't be combined with --targets")
    refuse_without_targets(targets, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
    listed = None if targets is None else list_places(targets)
    if area is not None:
        refuse({"cell_km": cell_km}, "can't be combined with --area")
    side_km = read_real("cell_km", CELL_KM if cell_km is None else cell_km)
    busiest = read_whole("densest", DENSEST if densest is None else densest)
    first = None if start is None else read_day("start", start)
    kept, weeks = read_oddities(keep), read_whole("min_weeks", min_weeks, low=1)
    processes = read_whole("workers", str(os.cpu_count() or 1) if workers is None else workers, low=1)
    learning, testing = read_whole_if_given("train", train), read_whole_if_given("test", test)
    named = None if area is None else load_area(area)
    if out is not None:
        open_folder(out)
    visits = read_source(traces)
    with working("looking at the visits"):
        inspection = inspect_visits(visits, keep=kept, min_weeks=weeks, distinct=distinct)
    del visits  # of the two, only what was inspected stays in memory
    covered = None
    if listed is not None:
        named = named or Grid.around(inspection.visits, cell_km=side_km)
        covered = find_targets(listed, named, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
    with progress_bar("comparing") as report:
        found = compare(
            inspection,
            named,
            cell_km=side_km if named is None else None,
            targets=covered,
            densest=None if covered is not None else busiest,
            period=period.value,
            weekdays_only=weekdays_only,
            start=first,
            train=learning,
            test=testing,
            keep=kept,
            workers=processes,
            partial=True,
            **settings,
            name=traces.name,
            title=traces.title,
            progress=report,
            notify=warn,
        )
    if found.settings.seeds < settings["seeds"]:
        told = f"interrupted: the results are those of {found.settings.seeds} of {settings['seeds']} seeds"
        warn(f"{told}; intervals are wider than they would have been.")
    written = [] if out is None else write_results(out, found)
    if json:
        show_json(_summary(found, inspection) | places_of(covered))
    else:
        show("Traces and people", describe_comparison(found))
        show_rows("Comparison", TABLE_HEADER, table_rows(found.records))
    if out is not None:
        note(f"Written to {out}: {', '.join(written)}.")
    note(f"Done in {perf_counter() - started:.1f} s.")


def write_results(out: Path, found: Comparison) -> list[str]:
    """Write results, pictures and the report; without the extra `plots`, only the results."""
    if not has_extra("plots"):
        write_bytes(out / "results.json", write_records(found.records).encode())
        note(f"No picture was drawn: {MissingExtraError('a picture', 'plots')}")
        return ["results.json"]
    with working("drawing"):
        from crowdveil.plots.comparison_report import write_comparison  # matplotlib takes a second to load

        return write_comparison(out, found, shlex.join(["crowdveil", *sys.argv[1:]]))


def _summary(found: Comparison, inspection: Inspection) -> dict[str, Any]:
    dataset, settings = found.dataset, found.settings
    return {
        "visits": len(inspection.visits),
        "users": dataset.counts.users,
        "dropped": dict(inspection.visits.dropped),
        "findings": [finding._asdict() for finding in inspection.findings],
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
        "null_epsilon": settings.null_epsilon,
        "grade_epsilon": settings.grade_epsilon,
        "thresholds": list(settings.thresholds),
        "certified_policies": found.policies,
        "comparison": [record.to_json() for record in found.records],
    }
