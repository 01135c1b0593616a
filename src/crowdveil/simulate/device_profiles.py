"""Make the profiles of many simulated devices, from visits or from a synthetic city in a campaign's area."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crowdveil.area import Area
from crowdveil.area.extent import box_of
from crowdveil.errors import InputError
from crowdveil.simulate.dataset import Dataset, split_periods
from crowdveil.traces import Visits, synthetic_visits
from crowdveil.vocabulary import DEFAULT_PROFILE_METHOD, Period

MAX_RADIUS_KM = 300.0


def device_profiles(visits: Visits, area: Area, *, period: Period, delta: float) -> list[Mapping[int, float]]:
    """Profile every person from all full periods of the visits, as `compare` does; cell → probability for each."""
    periods, split = split_periods(visits, period=period)
    profile = Dataset.from_visits(visits, area, periods, split, delta=delta).profiles[DEFAULT_PROFILE_METHOD]
    return [profile.of(user) for user in range(profile.users)]


def synthetic_visits_in(area: Area, generator: np.random.Generator, *, users: int, weeks: int) -> Visits:
    """Make a synthetic city that lies where an area is, and is about as large."""
    box = box_of(area)
    if box.latitude is None or box.longitude is None:
        raise InputError("area", str(box), "should have latitude and longitude; devices cannot join any other")
    return synthetic_visits(
        generator,
        users=users,
        weeks=weeks,
        latitude=box.latitude,
        longitude=box.longitude,
        radius_km=min(max(box.width_km, box.height_km, 1.0) / 2, MAX_RADIUS_KM),
    )
