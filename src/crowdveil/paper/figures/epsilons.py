"""Figure 6a of the paper: the privacy level."""

from __future__ import annotations

from math import log

from crowdveil.paper.cases import Case
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, FinishedCases, Simulated, both, coverage_records
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.simulate.records import Record

SPEC = FigureSpec(
    name="epsilons",
    title="More privacy, less coverage",
    paper="Figure 6a",
    question="What does the dense target's coverage cost as ε falls from ln 8 to ln 2 per km? δ = 0.7, k = 6.",
    chart="lines",
    x="epsilon_per_km",
    x_title="ε per km",
    y_title="coverage",
)
BASES = (2, 4, 6, 8)


def cases(source: CitySource, effort: Effort) -> list[Case]:
    """List the dense target at every ε."""
    target = (int(open_city(source).densest[0]),)
    return [
        Case(SPEC.name, "dense target", 0, target, method, profile, rule, log(base), 0.7, (0, effort.seeds))
        for base in BASES
        for method, profile, rule in both()
    ]


def records(source: CitySource, found: FinishedCases) -> list[Record]:
    """Make one record per ε and method."""
    return coverage_records(source, found, independent="seeds", label=lambda case: f"{case.profile} profile")


FIGURE = Simulated(SPEC, cases, records)
