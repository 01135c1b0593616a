"""Ours: does what a profile predicts come true as often as it says?

Every pair of user and cell that a profile lists is a prediction for each test period. Predictions are put into tenths
by their probability; in each tenth the share that came true should be the mean of what was predicted. Pairs that a
profile does not list have the probability 0 and are left out: they would fill the first tenth.

**Interval.** The predictions of one person are not independent, people are. With n_u predictions of person u in a
tenth, of which c_u came true, the share s = Σ c_u / Σ n_u is a ratio of means over people; the linear part of its
error is Σ (c_u - s n_u) / Σ n_u, whose standard deviation is √( Σ (c_u - s n_u)² · U/(U-1) ) / Σ n_u for U people.
"""

from __future__ import annotations

import numpy as np
import scipy

from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, Measured
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.profile import PROFILE_METHODS, Counts, Profile
from crowdveil.profile.calibration import periods_visited, tenths_of
from crowdveil.simulate.records import LEVEL, Record

SPEC = FigureSpec(
    name="calibrations",
    title="Do predicted visits come true?",
    paper="",
    question="Of all predictions between 0 and 10 %, 10 and 20 %, ..., how many came true in a test period? On the "
    "dotted line a profile is right; below it, it promises too much. The numbers at the top count predictions.",
    chart="calibration",
    x="predicted",
    x_title="predicted",
    y_title="came true",
)


def records(source: CitySource, effort: Effort) -> list[Record]:  # noqa: ARG001
    """Make one record per profile and tenth that has any prediction."""
    dataset = open_city(source)
    return [
        record
        for name in PROFILE_METHODS
        for record in tenths(source.name, dataset.profiles[name], dataset.counts, dataset.split.test)
    ]


def tenths(dataset: str, profile: Profile, counts: Counts, test: range) -> list[Record]:
    """Compare the predictions of each tenth with what happened."""
    came, tenth = periods_visited(profile, counts, test), tenths_of(profile)
    made = []
    for number in np.unique(tenth).tolist():
        rows = tenth == number
        trials = int(rows.sum()) * len(test)
        share = float(came[rows].sum()) / trials
        errors = np.bincount(profile.user[rows], came[rows] - share * len(test), minlength=profile.users)
        people = len(np.unique(profile.user[rows]))
        half = 0.0
        if people > 1:
            deviation = float(np.sqrt((errors**2).sum() * people / (people - 1))) / trials
            half = float(scipy.special.stdtrit(people - 1, 0.5 + LEVEL / 2)) * deviation
        made.append(
            Record(
                figure=SPEC.name,
                dataset=dataset,
                method=profile.method,
                profile=profile.method,
                rule="",
                label=profile.method,
                measure="came_share",
                value=share,
                ci_low=max(0.0, share - half),
                ci_high=min(1.0, share + half),
                n=people,
                seeds=0,
                extra={
                    "predicted": float(profile.probability[rows].mean()),
                    "tenth": number,
                    "trials": trials,
                },
            )
        )
    return made


FIGURE = Measured(SPEC, records)
