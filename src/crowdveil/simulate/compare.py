"""Compare every method on anyone's visits: what `crowdveil compare` does, as a function."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from crowdveil.area import Area, Grid
from crowdveil.area.extent import cell_at
from crowdveil.area.targets import NamedTargets
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_targets
from crowdveil.profile import ProfileMethod, full_periods
from crowdveil.profile.activity import describe_thin_ends, seen_in
from crowdveil.simulate.comparison import DEFAULT_SEEDS, Comparison, ComparisonSettings, compare_methods
from crowdveil.simulate.dataset import Dataset, split_periods
from crowdveil.simulate.describe import find_warnings
from crowdveil.simulate.simulation import METHODS, Method
from crowdveil.traces.inspection import Inspection, Oddity, inspect_visits
from crowdveil.traces.summary import check_overlap
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_DELTA,
    DEFAULT_EPSILON_PER_KM,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
    DEFAULT_PROFILE_METHOD,
    DEFAULT_ROUNDS,
    DEFAULT_RULE,
    DEFAULT_SHARE_WANTED,
    Period,
    Progress,
    Rule,
)

DEFAULT_CELL_KM = 1.0
MANY_CELLS = 300
"""With more, a seed takes ten seconds and more."""
MANY_AWAY = 0.05
"""From this share of users on it is said that some are left out."""
Target = int | tuple[float, float]
"""The number of a cell, or a place as degrees: (latitude, longitude)."""


def compare(
    visits: Visits | Inspection,
    area: Area | None = None,
    *,
    cell_km: float | None = None,
    targets: Sequence[Target] | NamedTargets | None = None,
    densest: int | None = None,
    period: Period = "week",
    weekdays_only: bool = False,
    start: date | str | None = None,
    train: int | None = None,
    test: int | None = None,
    epsilon_per_km: float = DEFAULT_EPSILON_PER_KM,
    delta: float = DEFAULT_DELTA,
    profile: ProfileMethod = DEFAULT_PROFILE_METHOD,
    rule: Rule = DEFAULT_RULE,
    wanted: int | None = None,
    share: float = DEFAULT_SHARE_WANTED,
    rounds: int = DEFAULT_ROUNDS,
    confidence: float = DEFAULT_CONFIDENCE,
    null_epsilon: float | None = DEFAULT_NULL_EPSILON,
    grade_epsilon: float | None = DEFAULT_GRADE_EPSILON,
    lower_deltas: Sequence[float] | None = None,
    seeds: int = DEFAULT_SEEDS,
    methods: Sequence[Method] = METHODS,
    keep: Sequence[Oddity] = (),
    min_weeks: int = 1,
    distinct: bool = False,
    workers: int = 1,
    partial: bool = False,
    name: str = "visits",
    title: str | None = None,
    progress: Progress | None = None,
    notify: Callable[[str], None] | None = None,
) -> Comparison:
    """Compare how well every method covers some targets, on the same people.

    Profiles are learnt from the earlier periods; who is selected is tested on the later ones. Every symbol is drawn
    from a certified policy.

    Args:
        visits: Who was where, when; or visits that `inspect_visits` has looked at, which are taken as they are.
        area: The cells (default: a grid of squares around the visits, `Grid.around`).
        cell_km: Without an area: the side of a square in km (default: 1).
        targets: What to cover: numbers of cells, places as (latitude, longitude), or what `read_targets` gives.
        densest: Instead of targets: so many of the busiest cells of the training periods (default: 1).
        period: What people are predicted for: "week" or "day".
        weekdays_only: Whether Saturdays and Sundays are left out.
        start: The first day, a date or text such as "2024-01-31" (default: the first usual day with a visit; weeks at
            both ends in which hardly anyone is active are not used unless `train` is given).
        train: How many periods to learn from (default: all but those to test on).
        test: How many periods to test on (default: the last tenth).
        epsilon_per_km: Privacy loss per km (default: ln 4); smaller is more private.
        delta: A place is frequent if its probability is above this.
        profile: How that probability is estimated: "logistic" (what devices use), "frequency", "poisson" or "recency".
        rule: Which of their frequent places users report: "random" or "target-aware".
        wanted: How many people are wanted.
        share: Without `wanted`: how many people are wanted, as a share of everyone in the data.
        rounds: Rounds of a campaign.
        confidence: Of Algorithm 2: the chance that as many people as wanted can be selected.
        null_epsilon: ε₀ of our methods: how much a report may tell about being outside the area; None, together with
            grade_epsilon, for the paper's clear form.
        grade_epsilon: ε₁ of our methods: how much a report may tell about one grade of visitors or the next.
        lower_deltas: Thresholds below δ, falling; each divides those who are not regular visitors into one more grade
            (default: 0.2).
        seeds: How often everything is simulated; intervals are over seeds.
        methods: Which methods to compare (default: all of `METHODS`).
        keep: What to count although it looks wrong, of `ODDITIES`: "future-times", "outlying-dates",
            "swapped-coordinates", "duplicates", "repeated-accounts" (default: all of these are left out, and said).
        min_weeks: Leave out users who were seen in fewer calendar weeks (default: 1, nobody).
        distinct: Whether the same user, time and place counts once, also in one file with times in whole minutes.
        workers: How many processes simulate; the results are the same (default: 1, this one).
        partial: Whether an interruption gives the comparison over the seeds that are done (default: it is raised).
        name: What records call the data set.
        title: What reports call it (default: the name).
        progress: Called with how many simulations are done, and how many there are.
        notify: Called with each warning, and with what was left out of the visits, before the simulation starts
            (default: Python's `warnings.warn`).

    Returns:
        A `Comparison`: `to_frame()`, `plot()`, `save(folder)`, and a picture of itself in a notebook.

    >>> import math
    >>> import crowdveil as cv
    >>> visits = cv.synthetic_visits(5, users=200, weeks=10)
    >>> result = cv.compare(
    ...     visits, densest=2, epsilon_per_km=math.log(4), seeds=2, methods=["none", "crowdveil", "random"]
    ... )
    >>> [record.method for record in result.records]
    ['none', 'crowdveil', 'random']
    >>> result.records[1].value > result.records[2].value
    True
    """
    if not isinstance(visits, Visits | Inspection):
        raise InputError("visits", type(visits).__name__, "should be Visits: use read_traces or Visits.from_frame")
    if targets is not None and densest is not None:
        raise InputError("densest", densest, "can't be combined with targets")
    if area is not None and cell_km is not None:
        raise InputError("cell_km", cell_km, "can't be combined with an area, which has its own cells")
    settings = ComparisonSettings(
        (),
        epsilon_per_km,
        delta,
        profile,
        rule,
        share,
        rounds,
        confidence,
        seeds,
        tuple(methods),
        null_epsilon,
        grade_epsilon,
        None if lower_deltas is None else tuple(lower_deltas),
        wanted,
    )
    tell = notify or _warn
    inspection = visits
    if isinstance(inspection, Visits):
        inspection = inspect_visits(inspection, keep=keep, min_weeks=min_weeks, distinct=distinct)
    visits = inspection.visits
    for finding in inspection.findings:
        tell(finding.text)  # at once, because it may explain an error below
    laid_out: dict[str, Any] = {
        "period": period,
        "weekdays_only": weekdays_only,
        "start": _day(start),
        "every_date": "outlying-dates" in keep,
    }
    periods, split = split_periods(visits, **laid_out, train=train, test=test)
    if train is None:
        thin = describe_thin_ends(visits, full_periods(visits, **laid_out, thin_ends=True), periods)
        if thin is not None:
            tell(thin)
    invited = seen_in(visits, periods, split.train)
    away = int((~invited).sum())
    if away > MANY_AWAY * len(invited):
        tell(
            f"{away:,} of {len(invited):,} users were not seen in the periods to learn from, so that nobody could have "
            "invited them. They are left out."
        )
    visits = visits.of_users(invited) if away else visits
    if area is None:
        side_km = DEFAULT_CELL_KM if cell_km is None else cell_km
        area = Grid.around(visits, cell_km=side_km)
        if len(area) > MANY_CELLS:
            tell(f"{len(area):,} cells make every simulation slow; cells of more than {side_km:g} km make it faster.")
    else:
        check_overlap(visits, area)
    dataset = Dataset.from_visits(visits, area, periods, split, delta=delta, name=name, title=title)
    settings = replace(settings, targets=choose_targets(dataset, targets, densest))
    settings.check(dataset)
    for text in find_warnings(dataset, settings):
        tell(text)
    return compare_methods(dataset, settings, progress, workers=workers, partial=partial)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=3)


def choose_targets(
    dataset: Dataset, targets: Sequence[Target] | NamedTargets | None, densest: int | None
) -> tuple[int, ...]:
    """Find the cells of some targets, or the busiest cells of the training periods."""
    area = dataset.area
    if isinstance(targets, NamedTargets):
        return check_targets(targets.cells, len(area))
    if targets is not None:
        return check_targets([_cell_of(area, number, one) for number, one in enumerate(targets)], len(area))
    busiest = 1 if densest is None else densest
    if not 1 <= busiest < len(area):
        raise InputError("densest", busiest, f"should be from 1 to {len(area) - 1}; some cell has to be no target")
    return check_targets(dataset.densest[:busiest], len(area))


def _cell_of(area: Area, number: int, target: Target) -> int:
    field = f"targets[{number}]"
    if isinstance(target, int | np.integer) and not isinstance(target, bool):
        return int(target)
    try:
        latitude, longitude = map(float, target)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(field, target, "should be the number of a cell, or (latitude, longitude)") from None
    return cell_at(area, latitude, longitude, field)


def _day(start: date | str | None) -> date | None:
    if not isinstance(start, str):
        return start
    try:
        return date.fromisoformat(start)
    except ValueError:
        raise InputError("start", start, "should be a day, such as 2024-01-31") from None
