"""Study a year of campaigns on one city: every method, week by week, how a panel fades, and how it grows with people.

All methods of a repetition meet the same people, targets and weeks (`simulate.year`). A repetition is one value;
intervals are over repetitions, which draw targets, places and symbols anew, and ratios are paired.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from crowdveil.arrays import FloatArray
from crowdveil.paper.cities import CitySource
from crowdveil.paper.communities import Studied, open_community
from crowdveil.paper.study import Study
from crowdveil.paper.verdicts import of_values
from crowdveil.paper.year_claims import CLEAR, MEAN, PROTECTED, year_claims
from crowdveil.plots.charts import draw
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.report import FigurePart, HtmlReport, StudyClaim, write_report
from crowdveil.plots.style import save
from crowdveil.simulate.records import Record, write_records
from crowdveil.simulate.year import (
    CLEAR_LIFETIME,
    PROTECTED_LIFETIME,
    YEAR_METHODS,
    YearMethod,
    YearSettings,
    simulate_fading,
    simulate_year,
)
from crowdveil.vocabulary import DEFAULT_DELTA, DEFAULT_PROFILE_METHOD, DEFAULT_RULE, Progress

ABOUT = (
    "A campaign is held every week, and the privacy that people may lose is limited for life. This page compares what "
    "can be covered when people report once or a few times and all campaigns are answered from that, when everyone "
    "reports anew until the limit is used up, and when nobody is protected. Every number is a mean with its 95 % "
    "interval over repetitions; the tables under the figures hold all of them."
)
SPECS = {
    MEAN: FigureSpec(
        name=MEAN,
        title="Coverage of all campaigns at the same loss for life",
        paper="",
        question="What share of the people wanted were chosen and came, in the mean of all campaigns? Every method but "
        "“a fresh report every time, no limit” and the two without privacy may lose 3 ln 4 per km in all.",
        chart="dots",
        x="what",
        x_title="",
        y_title="coverage",
    ),
    "year-weeks": FigureSpec(
        name="year-weeks",
        title="Coverage week by week",
        paper="",
        question="What share of the people wanted were chosen and came, in each campaign?",
        chart="lines",
        x="campaign",
        x_title="campaign",
        y_title="coverage",
    ),
    "year-fading": FigureSpec(
        name="year-fading",
        title="How a panel fades",
        paper="",
        question="People move, stop coming, and turn up anew. What does a panel drawn some periods ago at the whole "
        "limit cover, beside one that was drawn in the very period of the campaign? In the clear.",
        chart="lines",
        x="age",
        x_title="periods since the drawing",
        y_title="coverage",
    ),
    "year-sizes": FigureSpec(
        name="year-sizes",
        title="From hundreds to many thousands of people",
        paper="",
        question="What is covered when the same city has fewer or more people, drawn with replacement? In the clear.",
        chart="lines",
        x="people",
        x_title="people",
        y_title="coverage",
    ),
}
SHOWN: tuple[YearMethod, ...] = (
    "none", "fresh", "today", "split", "panel-once", "panel-twice-pooled", "laplace-once", "random",
)  # fmt: skip
"""What is drawn week by week."""
SIZED: tuple[YearMethod, ...] = ("none", "today", "panel-once", "panel-twice-pooled", "laplace-once")
EVERY_WEEK = ("fresh", "split")
"""Not simulated in the protected form: certifying so many large policies takes too long."""


class YearEffort(NamedTuple):
    """How much is simulated."""

    clear: int
    """Repetitions."""
    protected: int
    fading: int
    sizes: tuple[int, ...]
    sized: int
    """Repetitions of each size."""


QUICK = YearEffort(clear=5, protected=5, fading=1, sizes=(300, 1_000), sized=1)
FULL = YearEffort(clear=20, protected=12, fading=4, sizes=(300, 1_000, 3_000, 10_000, 30_000, 100_000), sized=3)


class YearTask(NamedTuple):
    """One repetition, the unit of work."""

    kind: Literal["year", "fading", "size"]
    seed: int
    protected: bool = False
    people: int | None = None


@dataclass(frozen=True)
class YearTaskResult:
    """Coverage by method and campaign; of fading, of panels drawn at each campaign in each later one."""

    coverage: dict[str, list[float]]
    wanted: list[int]
    policies: int = 0


def run_year_study(
    source: CitySource,
    folder: Path,
    *,
    quick: bool = False,
    progress: Progress | None = None,
    step: Callable[[str], None] = lambda _: None,
    workers: int | None = None,
) -> Study:
    """Run the study, and write results.json, figures and report.html into a folder."""
    effort = QUICK if quick else FULL
    folder.mkdir(parents=True, exist_ok=True)
    studied = open_community(source)
    tasks = tasks_of(effort)
    step(f"simulating {len(tasks):,} repetitions")
    found: dict[YearTask, YearTaskResult] = {}
    for task, result in _run_all(source, tasks, workers or cpu_count() or 1):
        found[task] = result
        if progress is not None:
            progress(len(found), len(tasks))
    records = year_records(source.name, {task: found[task] for task in tasks})
    claims = [*year_claims(records), *_notes(records)]
    step("drawing")
    policies = sum(result.policies for result in found.values())
    _write(folder, source, studied, records, claims, policies, quick)
    return Study(records, claims, folder, policies)


def tasks_of(effort: YearEffort) -> list[YearTask]:
    """List all repetitions."""
    return [
        *(YearTask("year", seed) for seed in range(effort.clear)),
        *(YearTask("year", seed, protected=True) for seed in range(effort.protected)),
        *(YearTask("fading", seed) for seed in range(effort.fading)),
        *(YearTask("size", seed, people=people) for people in effort.sizes for seed in range(effort.sized)),
    ]


def run_task(source: CitySource, task: YearTask) -> YearTaskResult:
    """Simulate one repetition."""
    community = open_community(source).community
    settings = YearSettings(lifetime=PROTECTED_LIFETIME if task.protected else CLEAR_LIFETIME)
    if task.kind == "fading":
        drawn = simulate_fading(community, settings, "panel", settings.lifetime, task.seed)
        rows = {str(age): np.diagonal(drawn, age).tolist() for age in range(len(drawn))}
        rows |= {f"fresh at {age}": np.diagonal(drawn)[age:].tolist() for age in range(len(drawn))}
        return YearTaskResult(rows, [])
    methods = tuple(method for method in YEAR_METHODS if not task.protected or method not in EVERY_WEEK)
    if task.people is not None:
        community, methods = community.resampled(task.people, task.seed), SIZED
    made = simulate_year(community, settings, methods, task.seed)
    policies = {policy.hash for some in made.policies.values() for policy in some}
    return YearTaskResult(
        {method: coverage.tolist() for method, coverage in made.coverage.items()},
        [campaign.wanted for campaign in made.campaigns],
        len(policies),
    )


def _run_all(source: CitySource, tasks: Sequence[YearTask], workers: int) -> Iterator[tuple[YearTask, YearTaskResult]]:
    if workers == 1:
        yield from ((task, run_task(source, task)) for task in tasks)
        return
    # One thread of linear algebra per process, or they fight for the cores.
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=threadpool_limits, initargs=(1,)) as pool:
        waiting = {pool.submit(run_task, source, task): task for task in tasks}
        try:
            for finished in as_completed(waiting):
                yield waiting[finished], finished.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


# --- records --------------------------------------------------------------------------------------------------


def year_records(dataset: str, found: dict[YearTask, YearTaskResult]) -> list[Record]:
    """Make the records of all figures; a repetition is one value."""
    made = []
    for protected, label in ((False, CLEAR), (True, PROTECTED)):
        runs = [result for task, result in found.items() if task.kind == "year" and task.protected == protected]
        if not runs:
            continue
        for method in runs[0].coverage:
            every = np.array([run.coverage[method] for run in runs])
            made.append(_record(dataset, MEAN, method, label, every.mean(axis=1), what="all campaigns"))
            if method in SHOWN:
                weeks = enumerate(every.T, start=1)
                made += [_record(dataset, "year-weeks", method, label, week, campaign=n) for n, week in weeks]
    fading = [result.coverage for task, result in found.items() if task.kind == "fading"]
    for age in range(len(fading[0]) // 2 if fading else 0):
        for method, key in (("panel-once", f"{age}"), ("panel-now", f"fresh at {age}")):
            values = np.array([np.mean(rows[key]) for rows in fading])
            made.append(_record(dataset, "year-fading", method, "", values, age=age))
    for people in sorted({task.people for task in found if task.people is not None}):
        some = [result for task, result in found.items() if task.people == people]
        for method in some[0].coverage:
            values = np.array([np.mean(result.coverage[method]) for result in some])
            made.append(_record(dataset, "year-sizes", method, "", values, people=people))
    return made


def _record(dataset: str, figure: str, method: str, label: str, values: FloatArray, **extra: int | str) -> Record:
    interval = of_values(values)
    return Record(
        figure=figure,
        dataset=dataset,
        method=method,
        profile=DEFAULT_PROFILE_METHOD,
        rule=DEFAULT_RULE,
        label=label,
        measure="coverage",
        value=interval.value,
        ci_low=max(0.0, interval.low),
        ci_high=min(1.0, interval.high),
        n=interval.n,
        seeds=interval.n,
        delta=DEFAULT_DELTA,
        extra={"values": values.tolist(), **extra},
    )


def _notes(records: Sequence[Record]) -> list[StudyClaim]:
    """Say how a panel has faded in the end."""
    at = {(r.method, r.extra["age"]): r for r in records if r.figure == "year-fading"}
    notes = []
    for age in (4, 8, 13):
        if ("panel-once", age) in at:
            old, new = at["panel-once", age].value, at["panel-now", age].value
            told = f"{100 * old:.1f} % against {100 * new:.1f} % in the same periods"
            text = f"A panel drawn {age} periods before covers {old / new:.2f} times what a new one does: {told}."
            notes.append(StudyClaim(text, "note"))
    return notes


# --- report ---------------------------------------------------------------------------------------------------


def _write(
    folder: Path,
    source: CitySource,
    studied: Studied,
    records: list[Record],
    claims: list[StudyClaim],
    policies: int,
    quick: bool,
) -> None:
    (folder / "results.json").write_text(write_records(records), encoding="utf-8")
    parts = []
    for name, spec in SPECS.items():
        own = [record for record in records if record.figure == name]
        if own:
            parts.append(FigurePart(spec, own, save(draw(spec, own), folder, name)))
    community, settings = studied.community, YearSettings()
    words = ["crowdveil", "study", source.name, "--year"]
    words += ["--data", "FILE"] * (source.data is not None)
    words += ["--users", str(source.users)] * (source.name == "synthetic-city")
    facts = {
        "study": f"a year of {source.name}, {'quick: few repetitions, wide intervals' if quick else 'in full'}",
        "people": f"{len(community.people):,}",
        "cells": f"{len(community.area):,} with any visit",
        "periods": f"{len(community.counts.periods)} with data, of one {studied.period} each; a campaign in each of "
        f"{len(community.weeks)}",
        "targets": f"{settings.targets} in each campaign, drawn among the {settings.places} busiest places of the time "
        "before the first",
        "wanted": f"{settings.share_wanted:.0%} of those who have a frequent place",
        "earlier reports": f"where they are pooled, a place is taken to be the same as one drawing before with the "
        f"chance {settings.stays:g}",
        "policies": f"{policies:,} certified by the exact checker, counted in every repetition",
        "versions": f"crowdveil {version('crowdveil')}, numpy {np.__version__}, Python {sys.version.split()[0]}",
    }
    report = HtmlReport(
        title=f"{studied.title}: a year of campaigns",
        summary=claims,
        facts=facts,
        figures=parts,
        maps=[],
        differences=DIFFERENCES,
        command=shlex.join([*words, "--out", "FOLDER", *["--quick"] * quick]),
        about=ABOUT,
    )
    write_report(folder / "report.html", report)


DIFFERENCES = (
    "The paper has one campaign only. Here the limit on all reports of a life decides: fresh reports use it up in "
    "three campaigns, after which nobody may report.",
    "Where people are is known to all methods (π known). A panel that has to learn it first covers less in its "
    "first weeks.",
    "In the clear form people without a frequent place at the time of a drawing do not report, and are not chosen "
    "until the next one. In the protected form everyone reports, with a grade.",
    "With grades and outside protected, panels and fresh reports may lose 3 ln 64 about each in all. Planar Laplace, "
    "no obfuscation and random people protect neither, in both forms. Only panels drawn three times keep every single "
    "report within the default limits of a device; the others need its owner to allow more at once, not more in all.",
    "Fresh reports prefer the target of their week as the place to report, panels any of the busiest places.",
)
