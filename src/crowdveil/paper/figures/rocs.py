"""Figure 10 of the paper (appendix): how well the profiles predict."""

from __future__ import annotations

import numpy as np

from crowdveil.paper.cities import CitySource, offsets, open_city
from crowdveil.paper.figures.figure import Effort, Measured
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.profile import PROFILE_METHODS, roc
from crowdveil.simulate.records import Record, interval

SPEC = FigureSpec(
    name="rocs",
    title="How well the profiles predict",
    paper="Figure 10 (appendix)",
    question="Does a profile rank what will happen above what will not? All pairs of user and cell, every test period "
    "a trial; the curve at the plain position of the grid, the area under it (AUC) over the positions.",
    chart="curves",
    x="curve",
    x_title="false positives",
    y_title="true positives",
    percent=False,
)
POINTS = 400
"""Of a drawn curve; the area is computed from all."""


def records(source: CitySource, effort: Effort) -> list[Record]:
    """Make one record per profile."""
    cities = [open_city(source, offset) for offset in range(min(effort.offsets, offsets(source.name)))]
    made = []
    for name in PROFILE_METHODS:
        found_rocs = [roc(dataset.profiles[name], dataset.counts, dataset.split.test) for dataset in cities]
        mean, low, high = interval([one.auc for one in found_rocs], most=1.0)
        first = found_rocs[0]
        shown = np.unique(np.linspace(0, len(first.false_positive_rate) - 1, POINTS).round().astype(np.int64))
        curve = {"x": first.false_positive_rate[shown].tolist(), "y": first.true_positive_rate[shown].tolist()}
        made.append(
            Record(
                figure=SPEC.name,
                dataset=source.name,
                method=name,
                profile=name,
                rule="",
                label="all pairs",
                measure="auc",
                value=mean,
                ci_low=low,
                ci_high=high,
                n=len(cities),
                seeds=0,
                extra={"curve": curve},
            )
        )
    return made


FIGURE = Measured(SPEC, records)
