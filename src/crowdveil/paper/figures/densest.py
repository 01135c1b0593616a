"""Ours: the twenty densest targets at several positions of the grid, every one of them shown."""

from __future__ import annotations

from dataclasses import replace
from math import log

from crowdveil.paper.cases import Case
from crowdveil.paper.cities import CitySource, offsets, open_city
from crowdveil.paper.figures.figure import Effort, FinishedCases, Simulated, coverage_records
from crowdveil.plots.figure_spec import OURS, PAPER, FigureSpec
from crowdveil.simulate.records import Record
from crowdveil.simulate.simulation import Method
from crowdveil.vocabulary import Rule

SPEC = FigureSpec(
    name="densest",
    title="The twenty densest targets, one by one",
    paper="",
    question="Does it hold for other targets, and wherever the grid lies? Each of the twenty busiest cells is the one "
    "target, at several positions of the grid. ε = ln 4 per km, δ = 0.7, k = 6, π unknown to ours and to Algorithm 2.",
    chart="dots",
    x="rank",
    x_title="rank of the target",
    y_title="coverage",
)
TARGETS = 20
METHODS: tuple[tuple[Method, tuple[str, Rule]], ...] = (
    ("algorithm-2", PAPER),
    ("crowdveil", OURS),
    ("laplace", OURS),
    ("laplace-posterior", OURS),
    ("laplace-remapped", OURS),
    ("privic", OURS),
    ("none", OURS),
    ("none", PAPER),
    ("laplace", PAPER),
)


def cases(source: CitySource, effort: Effort) -> list[Case]:
    """List every target, position and method."""
    seeds = (0, effort.densest_seeds)
    found = []
    for offset in range(min(effort.offsets, offsets(source.name))):
        densest = open_city(source, offset).densest
        for rank in range(1, TARGETS + 1):
            target = (int(densest[rank - 1]),)
            for method, (profile, rule) in METHODS:
                found.append(Case(SPEC.name, f"{rank}", offset, target, method, profile, rule, log(4), 0.7, seeds))
    return found


def records(source: CitySource, found: FinishedCases) -> list[Record]:
    """Make one record per target, position and method, and the mean over all of them per method."""
    single = coverage_records(
        source, found, independent="seeds", by_offset=True, extra=lambda case: {"rank": int(case.label)}
    )
    single = [replace(record, label="every target") for record in single]
    mean = coverage_records(
        source, found, independent="draws", label=lambda _: "mean of all", extra=lambda _: {"rank": 0}
    )
    return [*mean, *single]


FIGURE = Simulated(SPEC, cases, records)
