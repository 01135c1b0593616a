"""Figure 6b of the paper: the threshold of a frequent place."""

from __future__ import annotations

from math import log

from crowdveil.paper.cases import Case
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, FinishedCases, Simulated, both, coverage_records
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.simulate.records import Record

SPEC = FigureSpec(
    name="deltas",
    title="The threshold of a frequent place",
    paper="Figure 6b",
    question="How does the dense target's coverage depend on δ? A higher threshold makes better places and fewer "
    "reports. ε = ln 4 per km, k = 6.",
    chart="lines",
    x="delta",
    x_title="δ",
    y_title="coverage",
)
DELTAS = (0.5, 0.6, 0.7, 0.8)


def cases(source: CitySource, effort: Effort) -> list[Case]:
    """List the dense target at every δ."""
    target = (int(open_city(source).densest[0]),)
    return [
        Case(SPEC.name, "dense target", 0, target, method, profile, rule, log(4), delta, (0, effort.seeds))
        for delta in DELTAS
        for method, profile, rule in both()
    ]


def records(source: CitySource, found: FinishedCases) -> list[Record]:
    """Make one record per δ and method."""
    return coverage_records(source, found, independent="seeds", label=lambda case: f"{case.profile} profile")


FIGURE = Simulated(SPEC, cases, records)
