"""Turn the owner's location history into a profile and the place to report. None of it leaves the device."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TypeAlias

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import as_cells
from crowdveil.client.excluded import ExcludedPlace, excluded_cells
from crowdveil.codec import read_pairs
from crowdveil.errors import FileFormatError, InputError
from crowdveil.profile import LogisticConstants, Periods, count_visits, logistic
from crowdveil.profile.from_visits import DAYS
from crowdveil.profile.logistic import TIME_SCALES
from crowdveil.profile.place import Place, choose_graded_place, choose_place, places_to_choose_from
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Period
from crowdveil.wire import Terms

LocationHistory: TypeAlias = Visits | Mapping[int, float]
"""One person's visits, or a profile of the campaign's cells (cell → probability)."""


def history_periods(period: Period, today: date) -> Periods:
    """Return the weeks or days up to yesterday that a device's profile is made from: about a year."""
    days, count = DAYS[period], TIME_SCALES[period].history
    return Periods(today - timedelta(days=days * count), count, days)


def profile_of_history(
    history: LocationHistory, area: Area, periods: Periods, constants: LogisticConstants | None = None
) -> Mapping[int, float]:
    """Return the probability that the person visits each cell in the next period, as `profile.logistic` predicts it."""
    if isinstance(history, Visits):
        if len(history.users) != 1:
            raise InputError("visits", f"of {len(history.users)} users", "should be only those of the device's owner")
        return logistic(count_visits(history, area, periods), range(len(periods)), constants).of(0)
    as_cells("profile", list(history), len(area))
    return history


def check_usable(visits: Visits, area: Area, periods: Periods) -> None:
    """Refuse visits from which nothing can be told, because "never in this area" would be kept as the answer.

    Being elsewhere is an answer; having no visit in the periods, or only ones with swapped coordinates, is not.
    """
    if not len(visits):
        return
    how_many = f"{len(visits):,} visit{'s' * (len(visits) != 1)}"
    if not (periods.number(visits.local_s) >= 0).any():
        first, last = (np.datetime64(int(end), "s").astype("datetime64[D]") for end in np.sort(visits.local_s)[[0, -1]])
        what = (
            f"none lies in the {len(periods) * periods.days} days from {periods.start} that the campaign looks at; "
            f"they lie between {first} and {last}. Nothing was picked or kept: check the times"
        )
        raise InputError("visits", how_many, what)
    if (area.locate(visits.latitude, visits.longitude) >= 0).any():
        return
    fits = np.abs(visits.longitude) <= 90
    if (area.locate(visits.longitude[fits], visits.latitude[fits]) >= 0).any():
        what = (
            "none lies in the campaign's area, but some would with latitude and longitude exchanged. Nothing was "
            "picked or kept: exchange the two columns"
        )
        raise InputError("visits", how_many, what)


def without_excluded(
    history: LocationHistory, area: Area, excluded: Sequence[ExcludedPlace]
) -> tuple[LocationHistory, set[int]]:
    """Drop visits to excluded places; return also the cells that are never reported."""
    cells = excluded_cells(area, excluded)
    if not isinstance(history, Visits):
        return {cell: probability for cell, probability in history.items() if cell not in cells}, cells
    kept = np.ones(len(history), dtype=bool)
    for place in excluded:
        kept &= ~place.contains(history.latitude, history.longitude)
    return history.where(kept), cells


def place_to_report(
    history: LocationHistory,
    area: Area,
    terms: Terms,
    *,
    least_delta: float,
    today: date,
    excluded: Sequence[ExcludedPlace] = (),
    random_below: Callable[[int], int] = secrets.randbelow,
) -> Place:
    """Return the cell to draw from and its grade, or `NULL`; excluded places are never reported.

    Where the terms protect grades, everyone who was seen in the area has a place; otherwise only those with a frequent
    place do, as in the paper. Visits that tell nothing are refused. Constants that the terms publish are asked only
    about places whose shipped prediction reaches `least_delta`, the owner's limit: they can refine what this device
    thinks likely, and nothing else.
    """
    periods = history_periods(terms.period, today)
    if isinstance(history, Visits):
        check_usable(history, area, periods)
    allowed, never = without_excluded(history, area, excluded)
    shipped = profile_of_history(allowed, area, periods)
    profile = {cell: probability for cell, probability in shipped.items() if cell not in never}
    if terms.profile_constants is not None:
        constants = LogisticConstants(terms.period, terms.profile_constants)
        published = profile_of_history(allowed, area, periods, constants)
        profile = dict(places_to_choose_from(profile, published, least_delta))
    if terms.grade_epsilon is None:
        return Place(choose_place(profile, terms.delta, terms.rule, terms.targets, random_below))
    return choose_graded_place(profile, terms.thresholds, terms.rule, terms.targets, random_below)


def visits_of(visits: Visits, user: str | None = None) -> Visits:
    """Take the visits of one person; the name may be left out if there is only one."""
    some = f"such as {visits.users[0]!r}" if visits.users else "but there are none"
    if user is None:
        if len(visits.users) != 1:
            raise InputError("user", user, f"should name one of the {len(visits.users):,} people, {some}")
        return visits
    if user not in visits.users:
        raise InputError("user", user, f"should be one of the {len(visits.users):,} people in the traces, {some}")
    return visits.of_users([name == user for name in visits.users])


def read_profile(path: str | Path) -> dict[int, float]:
    """Read a profile of the campaign's cells from the columns cell,probability of a CSV file."""
    cells, probabilities = read_pairs(path, ("cell",), ("probability",))
    profile: dict[int, float] = {}
    for cell, probability in zip(cells.tolist(), probabilities.tolist(), strict=True):
        if not (abs(cell) < 2**53 and cell == int(cell) and cell >= 0):
            raise FileFormatError(f"{path}: cell = {cell:g}: should be a whole number from 0")
        if not 0 <= probability <= 1:
            raise FileFormatError(f"{path}: probability = {probability:g}: should be between 0 and 1")
        if int(cell) in profile:
            raise FileFormatError(f"{path}: cell = {cell:g}: is named twice")
        profile[int(cell)] = probability
    return profile
