"""`crowdveil scale`: simulate a campaign with millions of people, without holding them in memory."""

from __future__ import annotations

import json as json_text
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from crowdveil.cli.console import Verb, new_app, note, progress_bar, show, show_json, show_rows, steps_bar, working
from crowdveil.cli.files import load_area, open_folder
from crowdveil.cli.options import (
    DELTA,
    EPSILON,
    EPSILON_HELP,
    ROUNDS,
    SHARE,
    missing,
    read_epsilon,
    read_folder,
    read_methods,
    read_real,
    read_whole,
    refuse,
)
from crowdveil.cli.targets import (
    TARGETS_HELP,
    KeepApart,
    LeaveOutOutside,
    find_targets,
    places_of,
    refuse_without_targets,
)
from crowdveil.errors import InputError
from crowdveil.extras import require_extra
from crowdveil.vocabulary import DEFAULT_CONFIDENCE

if TYPE_CHECKING:
    from crowdveil.area import Area
    from crowdveil.area.targets import NamedTargets
    from crowdveil.batch import Engine
    from crowdveil.simulate.large import LargeCrowd, LargeMethod, LargeOutcome

EXAMPLES = """\b
Examples:
  crowdveil scale --users 1000000 --out scaled/
  crowdveil scale --profiled profiled/ --area area.json --targets shops.csv --out scaled/
  crowdveil scale --profiled /shared/profiled/ --area area.json --densest 4
      --engine spark://host:7077 --out /shared/scaled/
"""
WEEKS, TEST, DENSEST = "10", "2", "1"
HEADER = ["method", "selected", "coverage", "KL of the estimate, round by round"]

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
def run(
    out: Annotated[
        Path,
        typer.Option(help="Folder for the table of people and results.json.", metavar="FOLDER", parser=read_folder),
    ],
    users: Annotated[
        str | None, typer.Option(help="Make a synthetic city of this many people.", metavar="NUMBER")
    ] = None,
    weeks: Annotated[
        str | None, typer.Option(help=f"With --users: weeks of visits (default: {WEEKS}).", metavar="NUMBER")
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(help=f"With --users: weeks to test on, the last ones (default: {TEST}).", metavar="NUMBER"),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(
            help=f"With --users: a place is frequent if its probability is above this (default: {DELTA}).",
            metavar="NUMBER",
        ),
    ] = None,
    profiled: Annotated[
        Path | None,
        typer.Option(
            help="Instead of --users: a folder that `crowdveil profile` wrote, with --train less than all.",
            metavar="FOLDER",
        ),
    ] = None,
    area: Annotated[
        Path | None, typer.Option(help="With --profiled: the area (.json) it was made for.", metavar="FILE")
    ] = None,
    targets: Annotated[str | None, typer.Option(help=f"With --profiled: {TARGETS_HELP}", metavar="PLACES")] = None,
    keep_apart: KeepApart = False,
    leave_out_outside: LeaveOutOutside = False,
    densest: Annotated[
        str | None,
        typer.Option(
            help=f"Instead of --targets: cover this many of the busiest cells (default: {DENSEST}).", metavar="NUMBER"
        ),
    ] = None,
    epsilon_per_km: Annotated[str, typer.Option(help=EPSILON_HELP, metavar="NUMBER")] = EPSILON,
    share: Annotated[
        str, typer.Option(help="How many people are wanted, as a share of everyone.", metavar="NUMBER")
    ] = SHARE,
    rounds: Annotated[str, typer.Option(help="Number of rounds of a campaign.", metavar="NUMBER")] = ROUNDS,
    methods: Annotated[
        str | None,
        typer.Option(help="Methods out of none, random, algorithm-2, crowdveil (default: all).", metavar="LIST"),
    ] = None,
    seed: Annotated[str, typer.Option(help="The same seed gives the same people and draws.", metavar="NUMBER")] = "0",
    engine: Annotated[
        str, typer.Option(help="duckdb, spark (on this machine), or spark://MASTER.", metavar="NAME")
    ] = "duckdb",
    memory: Annotated[str | None, typer.Option(help="Memory of the engine, such as 1GB.", metavar="SIZE")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Simulate a campaign with millions of people.

    They are kept in a table on disk, so that memory does not grow with their number. Everyone draws from a certified
    policy, in rounds; the people who are selected are tested on later periods.
    """
    started = perf_counter()
    require_extra("scale", "batch")
    from crowdveil.batch import check_memory, open_engine
    from crowdveil.simulate.large import LARGE_METHODS
    from crowdveil.simulate.large_crowd import large_results
    from crowdveil.simulate.simulation import check_terms

    if users is None and profiled is None:
        raise missing("users", "give either a number of synthetic --users, or a folder that was --profiled")
    if profiled is not None:
        refuse({"users": users}, "can't be combined with --profiled")
        refuse({"weeks": weeks, "test": test, "delta": delta}, "applies only to --users; leave it out")
    else:
        refuse({"area": area, "targets": targets}, "applies only to --profiled; leave it out")
    if targets is not None:
        refuse({"densest": densest}, "can't be combined with --targets")
    refuse_without_targets(targets, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
    names = read_methods(methods, LARGE_METHODS)
    campaign: dict[str, Any] = {
        "epsilon_per_km": read_epsilon(epsilon_per_km),
        "share_wanted": read_real("share", share),
        "rounds": read_whole("rounds", rounds),
    }
    check_terms(campaign["epsilon_per_km"], campaign["share_wanted"], campaign["rounds"], DEFAULT_CONFIDENCE)
    campaign["seed"] = read_whole("seed", seed, 0)
    busiest = read_whole("densest", DENSEST if densest is None else densest)
    check_memory(memory)
    cells = _area_of_profiles(profiled, area)
    covered = None
    if targets is not None and cells is not None:
        covered = find_targets(targets, cells, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
    open_folder(out)
    spill = out / ".spill"
    with working(f"starting {engine}"):
        opened = open_engine(engine, memory=memory, spill=spill)
    try:
        with _explaining_nobody(users, profiled):
            if profiled is None or cells is None:
                crowd = _synthetic(opened, out, campaign, users or "", weeks, test, delta, busiest)
            else:
                crowd = _profiled(opened, out, campaign, profiled, cells, covered, busiest)
            found = _simulate(crowd, names)
    finally:
        opened.close()
    shutil.rmtree(spill, ignore_errors=True)
    results = large_results(crowd, found) | places_of(covered)
    (out / "results.json").write_text(json_text.dumps(results, indent=2) + "\n", encoding="utf-8")
    if json:
        show_json(results)
    else:
        first = found[0]
        told = f"{first.users:,} people, {first.reporters:,} with a frequent place; {first.wanted:,} wanted"
        show("Crowd", {"crowd": told, "targets": ", ".join(map(str, crowd.targets))})
        show_rows("Campaigns", HEADER, [_row(one) for one in found])
    note(f"Written to {out}: people, results.json.")
    note(f"Done in {perf_counter() - started:.1f} s on {opened.name}.")


def _area_of_profiles(profiled: Path | None, area: Path | None) -> Area | None:
    if profiled is None:
        return None
    if area is None:
        raise missing("area", "name the area that the profiles were made for")
    return load_area(area)


def _synthetic(
    engine: Engine,
    out: Path,
    campaign: dict[str, Any],
    users: str,
    weeks: str | None,
    test: str | None,
    delta: str | None,
    densest: int,
) -> LargeCrowd:
    from crowdveil.simulate.large_crowd import synthetic_crowd

    with _ended_in_order(), progress_bar("profiling people") as report:
        return synthetic_crowd(
            engine,
            out,
            **campaign,
            users=read_whole("users", users),
            weeks=read_whole("weeks", WEEKS if weeks is None else weeks),
            test=read_whole("test", TEST if test is None else test),
            delta=read_real("delta", DELTA if delta is None else delta),
            densest=densest,
            progress=report,
        )


def _profiled(
    engine: Engine,
    out: Path,
    campaign: dict[str, Any],
    profiled: Path,
    area: Area,
    targets: NamedTargets | None,
    densest: int,
) -> LargeCrowd:
    from crowdveil.simulate.large_crowd import profiled_crowd

    with steps_bar() as report:
        return profiled_crowd(
            engine,
            out,
            **campaign,
            profiled=profiled,
            area=area,
            targets=None if targets is None else targets.cells,
            densest=densest,
            progress=lambda done: report("gathering people", done),
        )


def _simulate(crowd: LargeCrowd, names: tuple[LargeMethod, ...]) -> list[LargeOutcome]:
    from crowdveil.simulate.large import simulate_large

    found = []
    with steps_bar() as report:
        for name in names:
            report(name, 0.0)
            found.append(simulate_large(crowd, name, partial(report, name)))
    return found


@contextmanager
def _explaining_nobody(users: str | None, profiled: Path | None) -> Iterator[None]:
    """Say which option would help if nobody has a frequent place."""
    try:
        yield
    except InputError as error:
        if error.field != "people":
            raise
        if users is not None:
            what = "nobody has a frequent place; use a smaller --delta, or more --users or --weeks"
            raise InputError("users", users, what) from None
        what = "nobody has a frequent place; profile with a smaller --delta"
        raise InputError("profiled", str(profiled), what) from None


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let SIGTERM end this process as an error would, so that no other process and no half a file is left behind."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _row(one: LargeOutcome) -> list[str]:
    learned = " ".join(f"{value:.3f}" for value in one.divergence) or "-"
    return [one.method, f"{one.selected:,}", f"{one.coverage:.1%}", learned]
