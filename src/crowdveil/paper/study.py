"""A whole study: cases, records, figures, `results.json` and `report.html`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import numpy as np

from crowdveil.paper.cities import OFFSETS_M, CitySource, offsets, open_city
from crowdveil.paper.claims import claims_of
from crowdveil.paper.figures import FULL, OF_STUDY, QUICK, FigureSpec, Measured, Simulated
from crowdveil.paper.runner import run_cases
from crowdveil.plots.charts import draw, map_of_cells
from crowdveil.plots.figure_spec import PAPER
from crowdveil.plots.report import FigurePart, HtmlReport, MapPart, StudyClaim, write_report
from crowdveil.plots.style import save
from crowdveil.simulate.comparison import ComparisonSettings
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.records import Record, write_records
from crowdveil.vocabulary import DEFAULT_EPSILON_PER_KM, NULL, Progress

EVERYWHERE = (
    "α is 5 % of the users who report. The paper writes 5 % of all users, which no single target could supply.",
    "The paper gives neither its box nor the origin of its grid. Shifting the grid moves the busiest cell, and with it "
    "every figure of a single target. So the paper's values can be called compatible or not, but not confirmed.",
    "No obfuscation selects only users whose reported place is a target, however few there are; every private method "
    "selects the full number. It is a ceiling, not a competitor.",
    "Planar Laplace is the certified discrete one: the continuous noise, integrated exactly over the cells.",
    "Random targets are drawn among cells that somebody has as a frequent place; others nobody can cover.",
    "Ours invites users without a frequent place as well and learns their share; the other methods are told who has "
    "something to report. The difference counts against ours.",
)
"""What differs from the paper in every study, and why."""
HERE = {
    "new-york": (
        "Weeks are local, seven days from 2012-04-03; three of the 45 have no check-in. 250 exact duplicates of the "
        "published file are dropped.",
    ),
    "gowalla": (
        "The paper has no such data. Weeks are local, seven days each; 18 to learn from and the 4 after them are taken "
        "out of 78, because most people were there for some weeks only. Everyone in the file is in the crowd, also "
        "who left before these weeks or came after.",
    ),
    "san-francisco": (
        "Cabs stand for the paper's GPS traces (CMCC, Hangzhou), which are not public: 17 weekdays, 13 to learn from. "
        "A cab passes some 25 cells on nearly every day, so almost anyone covers a busy target.",
    ),
    "tower-city": (
        "Unless a file of call logs is given, the city is synthetic and stands for D4D (Abidjan), which is not public: "
        "homes, work and leisure, several calls a day, regions of towers.",
    ),
    "synthetic-city": (
        "The city and its people are synthetic; the paper has no such data. Homes, work and leisure, some five visits "
        "a week; weeks of seven days, 20 to learn from and 4 to test on.",
    ),
    "own": (
        "These are traces of your own, cut as `crowdveil compare` cuts them by default: all full periods, the last "
        "tenth to test on, squares over the middle 98 % of the visits.",
    ),
}
"""What differs in one of them."""

OnStep = Callable[[str], None]
"""Told what is being done."""


@dataclass(frozen=True)
class Study:
    """What a finished study found, and where it is."""

    records: list[Record]
    claims: list[StudyClaim]
    folder: Path
    policies: int
    """Certified policies that symbols were drawn from."""


def run_study(
    source: CitySource,
    folder: Path,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    step: OnStep = lambda _: None,
    workers: int | None = None,
) -> Study:
    """Run or resume a study, and write all results into a folder."""
    effort = QUICK if quick else FULL
    figures = OF_STUDY[source.name]
    folder.mkdir(parents=True, exist_ok=True)
    dataset = open_city(source)
    # Traces of one's own may have too few people for any figure, which should not wait for the first simulation.
    ComparisonSettings((int(dataset.densest[0]),), DEFAULT_EPSILON_PER_KM).check(dataset)
    simulated = [figure for figure in figures if isinstance(figure, Simulated)]
    cases = [figure.cases(source, effort) for figure in simulated]
    step(f"simulating {sum(map(len, cases)):,} cases")
    results = run_cases(source, [case for some in cases for case in some], folder, progress, workers)
    policies = sum(result.policies for result in results)
    found = iter(results)
    made: dict[str, list[Record]] = {}
    for figure, some in zip(simulated, cases, strict=True):
        made[figure.spec.name] = figure.records(source, list(zip(some, islice(found, len(some)), strict=True)))
    for other in figures:
        if isinstance(other, Measured):
            step(f"measuring {other.spec.name}")
            made[other.spec.name] = other.records(source, effort)
    records = [record for figure in figures for record in made[figure.spec.name]]
    claims = claims_of(source.name, records)
    step("drawing")
    _write(folder, source, dataset, [figure.spec for figure in figures], made, claims, policies, quick)
    return Study(records, claims, folder, policies)


def _write(
    folder: Path,
    source: CitySource,
    dataset: Dataset,
    looks: list[FigureSpec],
    made: dict[str, list[Record]],
    claims: list[StudyClaim],
    policies: int,
    quick: bool,
) -> None:
    (folder / "results.json").write_text(
        write_records([record for spec in looks for record in made[spec.name]]), encoding="utf-8"
    )
    parts = []
    for spec in looks:
        picture = save(draw(spec, made[spec.name]), folder, spec.name)
        parts.append(FigurePart(spec, made[spec.name], picture))
    places = dataset.places(*PAPER, 0.7, (0,), np.random.default_rng(0))
    reported = np.bincount(places[places != NULL], minlength=len(dataset.area)) / max(1, int((places != NULL).sum()))
    target = (int(dataset.densest[0]),)
    title = "Where people report from, and the dense target"
    drawn = map_of_cells(dataset.area, reported, target, title, "share", percent=True)
    maps = [MapPart(title, save(drawn, folder, "map"))]
    report = HtmlReport(
        title=f"{dataset.title}: the paper's experiments, and ours",
        summary=claims,
        facts=_facts(source, dataset, policies, quick),
        figures=parts,
        maps=maps,
        differences=[*EVERYWHERE, *HERE[source.name]],
        command=_command(source, quick),
    )
    write_report(folder / "report.html", report)


def _command(source: CitySource, quick: bool) -> str:
    """Write what would make the report again; where files are is nobody's business."""
    words = ["crowdveil", "study", source.name]
    words += ["--data", "FILE"] * ((source.data is not None) + len(source.more_data))
    words += ["--towers", "FILE"] * (source.towers is not None)
    words += ["--users", str(source.users)] * (source.name == "synthetic-city")
    if source.name == "own":
        given = {
            "format": source.format,
            "zone": source.zone,
            "clock": source.clock,
            **{f"{n}-column": c for n, c in source.columns},
        }
        words += [word for name, value in given.items() if value is not None for word in (f"--{name}", value)]
        words += ["--cell-km", f"{source.cell_km:g}", "--period", source.period]
    return shlex.join([*words, "--out", "FOLDER", *["--quick"] * quick])


def _facts(source: CitySource, dataset: Dataset, policies: int, quick: bool) -> dict[str, str]:
    periods = dataset.counts.periods
    scores = ", ".join(
        f"{score.half_life_periods:g}: {score.visit_rate:.1%}" for score in dataset.half_life.scores if score.visit_rate
    )
    return {
        "study": f"{source.name}, {'quick: few seeds, wide intervals' if quick else 'in full'}",
        "visits": f"{dataset.visits_read:,} read, {dataset.visits_dropped:,} outside the area or the periods",
        "users": f"{dataset.counts.users:,}",
        "cells": f"{len(dataset.area):,} with any visit (plain position of the grid)",
        "positions of the grid": ", ".join(f"{e} m east {n} m north" for e, n in OFFSETS_M[: offsets(source.name)]),
        "periods": f"{len(dataset.split.train)} to learn from, {len(dataset.split.test)} to test on, of {periods.days} "
        f"day{'s' * (periods.days > 1)}{', weekdays only' * periods.weekdays_only}, from {periods.start.isoformat()}",
        "half-life": f"{dataset.half_life.half_life_periods:g} periods, chosen on training periods alone "
        f"(visit rate of frequent places by half-life: {scores})",
        "policies": f"{policies:,} certified by the exact checker; every symbol was drawn from one of them",
        "versions": f"crowdveil {version('crowdveil')}, numpy {np.__version__}, Python {sys.version.split()[0]}",
    }
