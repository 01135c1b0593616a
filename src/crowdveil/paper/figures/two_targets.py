"""Figure 5 of the paper: one target, a dense and a sparser one."""

from __future__ import annotations

from math import log

from crowdveil.paper.cases import Case
from crowdveil.paper.cities import CitySource, offsets, open_city
from crowdveil.paper.figures.figure import Effort, FinishedCases, Simulated, both, coverage_records
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.simulate.records import Record

DENSE, SPARSE = "dense target", "sparser target"
SPARSE_RANK = 10
"""Among the densest cells; the paper does not say which one it took."""
PRINTED = {
    (DENSE, "none"): 0.329,
    (DENSE, "algorithm-2"): 0.217,
    (SPARSE, "none"): 0.305,
    (SPARSE, "algorithm-2"): 0.145,
}

SPEC = FigureSpec(
    name="two-targets",
    title="One target to cover",
    paper="Figure 5",
    question="How many of the selected come to the target in the next week, for the busiest cell and for the tenth "
    "busiest? ε = ln 4 per km, δ = 0.7, k = 6; the busiest cell at every position of the grid.",
    chart="bars",
    x="label",
    x_title="",
    y_title="coverage",
)


def cases(source: CitySource, effort: Effort) -> list[Case]:
    """List both targets under every method, at the plain position of the grid, and the dense one at the others too."""
    found = []
    for offset in range(min(effort.offsets, offsets(source.name))):
        densest = open_city(source, offset).densest
        for label, rank in ((DENSE, 1), (SPARSE, SPARSE_RANK)):
            for method, profile, rule in [*both(), ("algorithm-1", "poisson", "random")]:
                targets = (int(densest[rank - 1]),)
                seeds = (0, effort.seeds)
                found.append(Case(SPEC.name, label, offset, targets, method, profile, rule, log(4), 0.7, seeds))
    return found


def records(source: CitySource, found: FinishedCases) -> list[Record]:
    """Make one record per target, method and grid position, with the paper's values beside the plain position."""
    return coverage_records(
        source,
        found,
        independent="seeds",
        label=lambda case: case.label if case.offset == 0 else f"{case.label}, grid {case.offset + 1}",
        by_offset=True,
        paper=lambda case: _printed(case) if source.name == "new-york" and case.offset == 0 else None,
    )


def _printed(case: Case) -> tuple[float, str] | None:
    if case.profile != "poisson" or (case.label, case.method) not in PRINTED:
        return None
    return PRINTED[case.label, case.method], "text of section 'Single Location Coverage', Figure 5"


FIGURE = Simulated(SPEC, cases, records)
