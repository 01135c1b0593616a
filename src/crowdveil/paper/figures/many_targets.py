"""Figures 7 and 9 of the paper: several random targets."""

from __future__ import annotations

from math import log

import numpy as np

from crowdveil.paper.cases import Case
from crowdveil.paper.cities import CitySource, offsets, open_city
from crowdveil.paper.figures.figure import Effort, FinishedCases, Simulated, both, coverage_records
from crowdveil.plots.figure_spec import PAPER, FigureSpec
from crowdveil.simulate.records import Record
from crowdveil.vocabulary import NULL

SPEC = FigureSpec(
    name="many-targets",
    title="Several targets to cover",
    paper="Figures 7 (New York), 9a (GPS) and 9b (towers)",
    question="How many of the selected come to any of the targets in the next period? Targets are random cells that "
    "somebody has as a frequent place. ε = ln 4 per km, k = 6; δ = 0.8 for cabs and towers, else 0.7.",
    chart="lines",
    x="targets",
    x_title="targets",
    y_title="coverage",
)


def cases(source: CitySource, effort: Effort) -> list[Case]:
    """List random draws of targets, spread over the positions of the grid."""
    new_york = source.name == "new-york"
    delta = 0.8 if source.name in ("san-francisco", "tower-city") else 0.7
    found = []
    for draw in range(effort.draws):
        offset = draw % min(effort.offsets, offsets(source.name))
        dataset = open_city(source, offset)
        generator = np.random.default_rng([draw, 7])
        places = dataset.places(PAPER[0], PAPER[1], delta, (0,), generator)
        reported = np.unique(places[places != NULL])
        counts = (2, 4, 6, 8) if new_york else (1, 2, 4, 8)
        for many in (count for count in counts if count <= min(len(reported), len(dataset.area) - 1)):
            targets = tuple(sorted(generator.choice(reported, many, replace=False).tolist()))
            for method, profile, rule in both():
                seeds = (draw * effort.draw_seeds, (draw + 1) * effort.draw_seeds)
                found.append(
                    Case(SPEC.name, f"draw {draw}", offset, targets, method, profile, rule, log(4), delta, seeds)
                )
    return found


def records(source: CitySource, found: FinishedCases) -> list[Record]:
    """Make one record per number of targets and method, over the draws."""
    return coverage_records(source, found, independent="draws", label=lambda case: f"{case.profile} profile")


FIGURE = Simulated(SPEC, cases, records)
