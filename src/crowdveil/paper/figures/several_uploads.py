"""Ours: may a user who reports several places, with the budget split among them, be found more often?"""

from __future__ import annotations

from math import log

from crowdveil.paper.cases import Case
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, FinishedCases, Simulated, coverage_records
from crowdveil.plots.figure_spec import OURS, PAPER, FigureSpec
from crowdveil.simulate.records import Record

SPEC = FigureSpec(
    name="several-uploads",
    title="Several places per user, the budget split",
    paper="future work, section 'Conclusion'",
    question="Does it pay to report m frequent places at ε/m per km each instead of one at ε? Dense target, ε = ln 4 "
    "per km in all, k = 6. At δ = 0.5 users have more frequent places than at 0.7.",
    chart="lines",
    x="uploads",
    x_title="places reported",
    y_title="coverage",
)
UPLOADS = (1, 2, 3)
SEEDS = 40
"""At most; several reports per user take several times as long."""


def cases(source: CitySource, effort: Effort) -> list[Case]:
    """List one, two and three places, under both profiles and rules."""
    target = (int(open_city(source).densest[0]),)
    return [
        Case(
            SPEC.name,
            "dense target",
            0,
            target,
            "crowdveil",
            profile,
            rule,
            log(4),
            delta,
            (0, min(effort.seeds, SEEDS)),
            uploads=m,
        )
        for delta in (0.5, 0.7)
        for m in UPLOADS
        for profile, rule in (PAPER, OURS)
    ]


def records(source: CitySource, found: FinishedCases) -> list[Record]:
    """Make one record per number of places."""
    return coverage_records(
        source,
        found,
        independent="seeds",
        label=lambda case: f"δ = {case.delta:g}",
        extra=lambda case: {"uploads": case.uploads},
    )


FIGURE = Simulated(SPEC, cases, records)
