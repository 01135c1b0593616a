"""Keep places out of every report for good, such as the owner's home.

An excluded place is a circle. Visits inside it are dropped before the profile is made, and the cells that contain its
middle, or whose own middle lies in it, are never reported: other visits in the same cell would report it after all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdveil.area import Area, Plane
from crowdveil.area.plane import check_degrees, degrees_to_e7
from crowdveil.errors import InputError

DEFAULT_RADIUS_KM = 0.25
MAX_RADIUS_KM = 100.0


@dataclass(frozen=True)
class ExcludedPlace:
    """A circle from which nothing is ever reported."""

    latitude: float
    longitude: float
    radius_km: float = DEFAULT_RADIUS_KM

    def __post_init__(self) -> None:
        check_degrees(self.latitude, self.longitude)
        if not (isfinite(self.radius_km) and 0 < self.radius_km <= MAX_RADIUS_KM):
            raise InputError("radius_km", self.radius_km, f"should be above 0 and at most {MAX_RADIUS_KM:g}")

    def contains(self, latitude: ArrayLike, longitude: ArrayLike) -> NDArray[np.bool_]:
        """Tell which points lie inside."""
        x, y = Plane(degrees_to_e7(self.latitude), degrees_to_e7(self.longitude)).to_metres(latitude, longitude)
        # Points too far away for the plane are NaN, which is not inside.
        return np.asarray(np.hypot(x, y) <= 1000 * self.radius_km)

    def cells(self, area: Area) -> set[int]:
        """Return the cells of a map that are never reported."""
        found = set(np.flatnonzero(self.contains(*area.centres())).tolist())
        (own,) = area.locate([self.latitude], [self.longitude]).tolist()
        return found | ({own} if own >= 0 else set())


def excluded_cells(area: Area, places: Sequence[ExcludedPlace]) -> set[int]:
    """Return all cells of a map that are never reported."""
    return set().union(*(place.cells(area) for place in places))
