"""Figure 10 of the paper (appendix): how well the profiles predict.

People are the independent values: whoever is hard to predict in one week is so in the next. So the interval of an area
comes from `GROUPS` groups of people, each with an area of its own, and profiles are compared group by group.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import IntArray
from crowdveil.errors import InputError
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, Measured
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.profile import PROFILE_METHODS, Counts, Profile, roc
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.records import Record, interval

SPEC = FigureSpec(
    name="rocs",
    title="How well the profiles predict",
    paper="Figure 10 (appendix)",
    question="Does a profile rank what will happen above what will not? All pairs of user and cell, every test period "
    "a trial, at the plain position of the grid. The intervals of the areas under the curves (AUC) are over people.",
    chart="curves",
    x="curve",
    x_title="false positives",
    y_title="true positives",
    percent=False,
)
POINTS = 400
"""Of a drawn curve; the area is computed from all."""
GROUPS = 10


def records(source: CitySource, effort: Effort) -> list[Record]:  # noqa: ARG001
    """Make one record per profile."""
    dataset = open_city(source)
    made = []
    for name in PROFILE_METHODS:
        curve = roc(dataset.profiles[name], dataset.counts, dataset.split.test)
        areas = group_areas(dataset, name)
        mean, low, high = interval(areas, most=1.0)
        shown = np.unique(np.linspace(0, len(curve.false_positive_rate) - 1, POINTS).round().astype(np.int64))
        drawn = {"x": curve.false_positive_rate[shown].tolist(), "y": curve.true_positive_rate[shown].tolist()}
        made.append(
            Record(
                figure=SPEC.name,
                dataset=source.name,
                method=name,
                profile=name,
                rule="",
                label="all pairs",
                measure="auc",
                value=curve.auc,
                # The spread is that of the groups, around the area of everyone.
                ci_low=max(0.0, curve.auc - (mean - low)),
                ci_high=min(1.0, curve.auc + (high - mean)),
                n=len(areas),
                seeds=0,
                extra={"curve": drawn, "values": areas},
            )
        )
    return made


def group_areas(dataset: Dataset, name: str) -> list[float]:
    """Compute the area of each group of people; of everyone at once where a group has no visit to predict."""
    profile, counts, test = dataset.profiles[name], dataset.counts, dataset.split.test
    groups = [np.arange(first, counts.users, GROUPS) for first in range(min(GROUPS, counts.users))]
    try:
        return [roc(*_of_people(profile, counts, group), test).auc for group in groups]
    except InputError:
        return [roc(profile, counts, test).auc]


def _of_people(profile: Profile, counts: Counts, people: IntArray) -> tuple[Profile, Counts]:
    """Keep only some people, numbered anew."""
    own, seen = np.isin(profile.user, people), np.isin(counts.user, people)
    return (
        Profile(
            len(people),
            profile.cells,
            np.searchsorted(people, profile.user[own]),
            profile.cell[own],
            profile.probability[own],
            profile.method,
            profile.parameters,
            profile.train,
        ),
        Counts(
            len(people),
            counts.cells,
            counts.periods,
            np.searchsorted(people, counts.user[seen]),
            counts.cell[seen],
            counts.period[seen],
            counts.visits[seen],
        ),
    )


FIGURE = Measured(SPEC, records)
