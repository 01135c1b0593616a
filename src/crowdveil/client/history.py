"""Choose the one place to report from the location history of the device's owner. None of it leaves the device."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import TypeAlias

from crowdveil.area import Area
from crowdveil.arrays import as_cells
from crowdveil.errors import InputError
from crowdveil.profile import Periods, count_visits, recency
from crowdveil.profile.place import choose_place
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import Rule

LocationHistory: TypeAlias = Visits | Mapping[int, float]
"""One person's visits, or a profile of the campaign's cells (cell → probability)."""


def profile_of_history(
    history: LocationHistory, area: Area, periods: Periods, half_life_periods: float
) -> Mapping[int, float]:
    """Return the probability that the person visits each cell in the next period; recent visits count most."""
    if isinstance(history, Visits):
        if len(history.users) != 1:
            raise InputError("visits", f"of {len(history.users)} users", "should be only those of the device's owner")
        return recency(count_visits(history, area, periods), range(len(periods)), half_life_periods).of(0)
    as_cells("profile", list(history), len(area))
    return history


def place_to_report(
    history: LocationHistory,
    area: Area,
    targets: tuple[int, ...],
    *,
    periods: Periods,
    half_life_periods: float,
    delta: float,
    rule: Rule,
    random_below: Callable[[int], int] = secrets.randbelow,
) -> int:
    """Return the cell to draw from, or `NULL` for a person without a frequent place."""
    profile = profile_of_history(history, area, periods, half_life_periods)
    return choose_place(profile, delta, rule, targets, random_below)
