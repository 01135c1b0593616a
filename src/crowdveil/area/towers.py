"""Make areas of cell towers: every place belongs to its nearest tower (Voronoi regions)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area.area import OUTSIDE, Area, Description, check_metres, read_plane, rounded_metres
from crowdveil.area.plane import Plane, check_degrees, degrees_to_e7
from crowdveil.arrays import IntArray, frozen
from crowdveil.codec import whole_number, whole_numbers
from crowdveil.errors import InputError

MAX_TIED_TOWERS = 4
"""How many towers a point may be equally near to, as in the middle of a square of towers."""


@dataclass(frozen=True, eq=False, repr=False)
class Towers(Area):
    """Towers in whole metres; a point belongs to the nearest one within `reach_m`."""

    origin: Plane
    towers_e7: IntArray
    """Latitude and longitude of each tower in 1e-7 degrees, shape (n, 2)."""
    reach_m: int

    kind: ClassVar[str] = "towers"
    fields: ClassVar[tuple[str, ...]] = ("origin_e7", "towers_e7", "centres_m", "reach_m")

    @classmethod
    def from_positions(cls, latitude: ArrayLike, longitude: ArrayLike, *, reach_km: float = 20.0) -> Towers:
        """Place towers at the given positions; points farther than `reach_km` from every tower belong to none."""
        lat, lon = check_degrees(latitude, longitude)
        if lat.ndim != 1 or lat.size == 0:
            raise InputError("latitude", lat.shape, "should be a list of one or more tower latitudes")
        if not 0.001 <= reach_km <= 1000:
            raise InputError("reach_km", reach_km, "should lie between 0.001 and 1000")
        e7 = [[degrees_to_e7(a), degrees_to_e7(o)] for a, o in zip(lat, lon, strict=True)]
        return cls._at(Plane.around(lat, lon), np.array(e7, dtype=np.int64), round(reach_km * 1000))

    @classmethod
    def _at(cls, plane: Plane, towers_e7: IntArray, reach_m: int) -> Towers:
        xy_m = rounded_metres(plane, towers_e7[:, 0] / 1e7, towers_e7[:, 1] / 1e7)
        return cls(xy_m, plane, frozen(towers_e7), reach_m)

    def describe(self) -> Description:
        """Return positions and centres, so that a device can check one against the other."""
        return {
            "kind": self.kind,
            "origin_e7": [self.origin.latitude_e7, self.origin.longitude_e7],
            "towers_e7": self.towers_e7.tolist(),
            "centres_m": self.xy_m.tolist(),
            "reach_m": self.reach_m,
        }

    @classmethod
    def _read(cls, description: Description) -> Towers:
        towers_e7 = whole_numbers("towers_e7", description["towers_e7"], width=2)
        reach_m = whole_number("reach_m", description["reach_m"], 1, 1_000_000)
        derived = cls._at(read_plane(description), towers_e7, reach_m)
        claimed = whole_numbers("centres_m", description["centres_m"], width=2)
        check_metres(claimed, derived.origin, towers_e7[:, 0] / 1e7, towers_e7[:, 1] / 1e7)
        return cls(claimed, derived.origin, derived.towers_e7, reach_m)

    def _size(self) -> str:
        return f" of {self.reach_m / 1000:g} km reach"

    @property
    def plane(self) -> Plane:
        """The local plane the towers are measured in."""
        return self.origin

    def locate(self, latitude: ArrayLike, longitude: ArrayLike) -> IntArray:
        """Return the nearest tower of each point (the first of equally near ones), or -1 beyond the reach of all."""
        x, y = self.origin.to_metres(latitude, longitude)
        valid = np.isfinite(x)
        places = np.stack([np.where(valid, x, 0.0), np.where(valid, y, 0.0)], axis=-1)
        candidates = min(MAX_TIED_TOWERS, len(self))
        distance_m, tower = (np.asarray(a) for a in self.tree.query(places, k=list(range(1, candidates + 1))))
        least = distance_m[..., :1]
        nearest = np.where(distance_m <= least + 1e-9, tower, len(self)).min(axis=-1)
        return np.where(valid & (least[..., 0] <= self.reach_m), nearest, OUTSIDE).astype(np.int64)

    def subset(self, cells: ArrayLike) -> Towers:
        """Keep only some towers; their regions grow into the gaps."""
        kept = self._kept(cells)
        return Towers(self.xy_m[kept], self.origin, frozen(self.towers_e7[kept]), self.reach_m)
