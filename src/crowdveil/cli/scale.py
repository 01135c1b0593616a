"""`crowdveil scale`: a campaign simulated over millions, synthetic or profiled, without holding them in memory."""

from __future__ import annotations

import json as json_text
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import numpy as np
import typer

from crowdveil.cli.compare import read_methods
from crowdveil.cli.console import note, progress_bar, show, show_json, show_rows, steps_bar, working
from crowdveil.cli.files import load_area, open_folder
from crowdveil.cli.options import missing, read_epsilon, read_real, read_targets, read_whole, refuse
from crowdveil.cli.profile import check_memory, named_folder, require_batch
from crowdveil.errors import FileFormatError, InputError
from crowdveil.policy.checks import check_targets

if TYPE_CHECKING:
    from crowdveil.batch import Engine
    from crowdveil.simulate.large import LargeCrowd, LargeMethod, LargeOutcome

EXAMPLES = """\b
Examples:
  crowdveil scale --users 1000000 --out scaled/
  crowdveil scale --profiled profiled/ --area area.json --targets 40.75:-73.98 --out scaled/
  crowdveil scale --profiled /shared/profiled/ --area area.json --densest 4
      --engine spark://host:7077 --out /shared/scaled/
"""
MAX_USERS, MAX_WEEKS = 10**10, 520
HEADER = ["method", "selected", "coverage", "KL of the estimate, round by round"]


def run(
    out: Annotated[
        Path,
        typer.Option(help="Folder for the table of people and results.json.", metavar="FOLDER", parser=named_folder),
    ],
    users: Annotated[
        str | None, typer.Option(help="Make a synthetic city of so many people.", metavar="NUMBER")
    ] = None,
    weeks: Annotated[
        str | None, typer.Option(help="With --users: weeks of visits; 10 unless given.", metavar="NUMBER")
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(help="With --users: weeks to test on, the last ones; 2 unless given.", metavar="NUMBER"),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="With --users: a place is frequent above this; 0.7 unless given.", metavar="NUMBER"),
    ] = None,
    profiled: Annotated[
        Path | None,
        typer.Option(help="Instead: what `crowdveil profile` wrote, with --train less than all.", metavar="FOLDER"),
    ] = None,
    area: Annotated[
        Path | None, typer.Option(help="With --profiled: the area (.json) it was made for.", metavar="FILE")
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(help="With --profiled: cells such as 3,17, or places such as 40.75:-73.98.", metavar="LIST"),
    ] = None,
    densest: Annotated[
        str | None,
        typer.Option(help="Instead of targets: so many of the busiest cells; 1 unless given.", metavar="NUMBER"),
    ] = None,
    epsilon_per_km: Annotated[
        str, typer.Option(help="Privacy loss per km, such as 1.386 or ln4; smaller is more private.", metavar="NUMBER")
    ] = "ln4",
    share: Annotated[
        str, typer.Option(help="How many are wanted, as a share of those who report.", metavar="NUMBER")
    ] = "0.05",
    rounds: Annotated[str, typer.Option(help="Rounds of a campaign.", metavar="NUMBER")] = "6",
    methods: Annotated[
        str | None, typer.Option(help="Of none, random, algorithm-2, crowdveil. Left out: all.", metavar="LIST")
    ] = None,
    seed: Annotated[str, typer.Option(help="The same seed, the same people and draws.", metavar="NUMBER")] = "0",
    engine: Annotated[
        str, typer.Option(help="duckdb, spark (on this machine), or spark://MASTER.", metavar="NAME")
    ] = "duckdb",
    memory: Annotated[str | None, typer.Option(help="What the engine may use, such as 1GB.", metavar="SIZE")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Simulate a campaign over millions, who lie in a table.

    Memory does not grow with them. Everyone draws from a certified policy, in rounds; who is selected is tested on
    later periods.
    """
    started = perf_counter()
    require_batch("scale")
    from crowdveil.batch import open_engine
    from crowdveil.simulate.large import LARGE_METHODS, LargeCampaignSettings, LargeCrowd, simulate_large

    if users is None and profiled is None:
        raise missing("users", "name either a number of synthetic --users, or what was --profiled")
    if profiled is not None:
        refuse({"users": users}, "has no meaning beside --profiled")
    if users is not None:
        refuse({"area": area, "targets": targets}, "has no meaning but with --profiled")
    else:
        refuse({"weeks": weeks, "test": test, "delta": delta}, "has no meaning but with --users")
    if targets is not None:
        refuse({"densest": densest}, "has no meaning beside --targets")
    names = read_methods(methods, LARGE_METHODS)
    terms = LargeCampaignSettings(
        epsilon_per_km=read_epsilon(epsilon_per_km),
        share=read_real("share", share),
        rounds=read_whole("rounds", rounds),
        seed=read_whole("seed", seed),
    )
    busiest = read_whole("densest", "1" if densest is None else densest)
    check_memory(memory)
    open_folder(out)
    spill = out / ".spill"
    with working(f"starting {engine}"):
        opened = open_engine(engine, memory=memory, spill=spill)
    try:
        if users is not None:
            people = _synthetic(
                out,
                users=read_whole("users", users),
                weeks=read_whole("weeks", "10" if weeks is None else weeks),
                test=read_whole("test", "2" if test is None else test),
                delta=read_real("delta", "0.7" if delta is None else delta),
                densest=busiest,
                seed=terms.seed,
            )
        else:
            people = _profiled(opened, profiled or Path(), area, targets, busiest, terms.seed, out)
        table = opened.read_parquet([str(path) for path in people.pop("files")])
        crowd = LargeCrowd(opened, table, **people, terms=terms)
        with _nobody_told(users, profiled):
            found = _simulate(crowd, names, simulate_large)
    finally:
        opened.close()
    shutil.rmtree(spill, ignore_errors=True)
    told = {
        "cells": len(crowd.area),
        "targets": list(crowd.targets),
        "test_periods": crowd.test_periods,
        **asdict(terms),
        "engine": opened.name,
        "methods": [asdict(one) for one in found],
    }
    (out / "results.json").write_text(json_text.dumps(told, indent=2) + "\n", encoding="utf-8")
    if json:
        show_json(told)
    else:
        first = found[0]
        crowd_told = f"{first.users:,} users, {first.reporters:,} with a frequent place; {first.wanted:,} wanted"
        show("Crowd", {"crowd": crowd_told, "targets": ", ".join(map(str, crowd.targets))})
        show_rows("Campaigns", HEADER, [_row(one) for one in found])
    note(f"Written to {out}: people, results.json.")
    note(f"Done in {perf_counter() - started:.1f} s on {opened.name}.")


def _simulate(crowd: LargeCrowd, names: tuple[LargeMethod, ...], simulate: Any) -> list[LargeOutcome]:
    found = []
    with steps_bar() as report:
        for name in names:
            report(name, 0.0)
            found.append(simulate(crowd, name, lambda share, name=name: report(name, share)))
    return found


def _synthetic(
    out: Path, *, users: int, weeks: int, test: int, delta: float, densest: int, seed: int
) -> dict[str, Any]:
    from crowdveil.simulate.people import SyntheticPopulation, write_people
    from crowdveil.traces import CitySettings, SyntheticCity

    if users > MAX_USERS:
        raise InputError("users", users, f"should be at most {MAX_USERS:,}, more than there are people")
    if weeks > MAX_WEEKS:
        raise InputError("weeks", weeks, f"should be at most {MAX_WEEKS}, ten years")
    with working("laying out a synthetic city"):
        population = SyntheticPopulation.over(
            SyntheticCity(seed, users, CitySettings(weeks)), test=test, delta=delta, densest=densest, seed=seed
        )
    path = out / "people.parquet"
    with _ended_in_order(), progress_bar(f"profiling {users:,} people") as report:
        write_people(population, path, os.cpu_count() or 1, report)
    return {"files": [path], "area": population.area, "targets": population.targets, "test_periods": test}


def _profiled(
    engine: Engine, folder: Path, area: Path | None, targets: str | None, densest: int, seed: int, out: Path
) -> dict[str, Any]:
    from crowdveil.cli.files import read_pairs
    from crowdveil.simulate.people import people_of

    if area is None:
        raise missing("area", "name the area that the profiles were made for")
    cells = load_area(area)
    try:
        summary = json_text.loads((folder / "summary.json").read_text(encoding="utf-8"))
        made_for, train, periods = summary["area_digest"], int(summary["train"]), int(summary["periods"])
    except (OSError, ValueError, LookupError, TypeError):
        raise FileFormatError(f"{folder}: holds no summary.json of `crowdveil profile`") from None
    if made_for != cells.digest:
        raise InputError("area", str(area), "is another one than the profiles were made for")
    if train >= periods:
        raise InputError("profiled", str(folder), f"learnt from all {periods} periods; profile with a smaller --train")
    if targets is not None:
        wanted = check_targets(read_targets(targets, cells), len(cells))
    elif not 1 <= densest < len(cells):
        raise InputError("densest", densest, f"should be from 1 to {len(cells) - 1}")
    else:
        _, reporters = read_pairs(folder / "prior.csv", ("cell",), ("users",))
        wanted = tuple(sorted(np.argsort(-reporters, kind="stable")[:densest].tolist()))
    visits, places = (engine.read_parquet(_files(folder / name)) for name in ("visits", "places"))
    people = people_of(visits, places, wanted, range(train, periods), seed, engine)
    half, whole = out / "people.half", out / "people"
    for one in (half, whole):
        shutil.rmtree(one, ignore_errors=True)
    with steps_bar() as report:
        engine.write(people, half, lambda done: report("gathering people", done))
    half.rename(whole)
    files = sorted(whole.glob("*.parquet"))
    return {"files": files, "area": cells, "targets": wanted, "test_periods": periods - train}


def _files(folder: Path) -> list[str]:
    files = [str(path) for path in sorted(folder.glob("*.parquet"))]
    if not files:
        raise FileFormatError(f"{folder}: holds no Parquet of `crowdveil profile`; run it again")
    return files


@contextmanager
def _nobody_told(users: str | None, profiled: Path | None) -> Iterator[None]:
    """Say of a table of people without places by which option there would be some."""
    try:
        yield
    except InputError as error:
        if error.field != "people":
            raise
        if users is not None:
            what = "nobody has a frequent place; lower --delta, or give more --users or --weeks"
            raise InputError("users", users, what) from None
        raise InputError(
            "profiled", str(profiled), "nobody has a frequent place; profile with a lower --delta"
        ) from None


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """SIGTERM ends this process like an error does, so that no other process and no half a file is left behind."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's alone
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _row(one: LargeOutcome) -> list[str]:
    learnt = " ".join(f"{value:.3f}" for value in one.divergence) or "-"
    return [one.method, f"{one.selected:,}", f"{one.coverage:.1%}", learnt]
