"""Make areas of H3 hexagons of one resolution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import h3
import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area.area import MAX_CELLS, OUTSIDE, Area, Description, check_metres, read_plane, rounded_metres
from crowdveil.area.grid import box_in_plane
from crowdveil.area.plane import Plane, check_degrees
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.codec import whole_number, whole_numbers
from crowdveil.errors import FileFormatError, InputError

_ID = re.compile(r"[0-9a-f]{15}")


@dataclass(frozen=True, eq=False, repr=False)
class Hexagons(Area):
    """H3 cells, in the order of their ids; centres in whole metres."""

    origin: Plane
    resolution: int
    cells: tuple[str, ...]

    kind: ClassVar[str] = "hexagons"
    fields: ClassVar[tuple[str, ...]] = ("origin_e7", "resolution", "cells", "centres_m")

    @classmethod
    def from_bounds(cls, south: float, west: float, north: float, east: float, *, resolution: int = 8) -> Hexagons:
        """Take every hexagon whose centre lies in a box (resolution 8: 0.9 km between centres, 9: 0.35 km)."""
        plane, x, y = box_in_plane(south, west, north, east)
        if not isinstance(resolution, int) or not 0 <= resolution <= 15:
            raise InputError("resolution", resolution, "should be a whole number from 0 to 15")
        expected = float(np.ptp(x)) * float(np.ptp(y)) / h3.average_hexagon_area(resolution, unit="m^2")
        if expected > MAX_CELLS:
            raise InputError(
                "resolution", resolution, f"gives about {expected:,.0f} cells; should give at most {MAX_CELLS:,}"
            )
        corners = [(south, west), (south, east), (north, east), (north, west)]
        cells = sorted(h3.h3shape_to_cells(h3.LatLngPoly(corners), resolution))
        if not cells:
            what = "no hexagon of this size has its centre in these bounds; use a finer resolution"
            raise InputError("resolution", resolution, what)
        return cls.from_ids(cells, plane)

    @classmethod
    def from_ids(cls, cells: list[str], plane: Plane | None = None) -> Hexagons:
        """Take the given H3 cells, all of one resolution."""
        if not cells:
            raise InputError("cells", [], "should name at least one hexagon")
        for cell in cells:
            if not _ID.fullmatch(cell) or not h3.is_valid_cell(cell):
                raise InputError("cells", cell, "should be an H3 cell id: 15 digits and letters a to f")
        resolutions = {h3.get_resolution(cell) for cell in cells}
        if len(resolutions) > 1:
            raise InputError("cells", sorted(resolutions), "should all be of one resolution")
        latitude, longitude = _centres(cells)
        plane = plane or Plane.around(latitude, longitude)
        return cls(rounded_metres(plane, latitude, longitude), plane, resolutions.pop(), tuple(cells))

    def describe(self) -> Description:
        """Return ids and centres; a reader with an H3 library checks the centres, one without it uses them."""
        return {
            "kind": self.kind,
            "origin_e7": [self.origin.latitude_e7, self.origin.longitude_e7],
            "resolution": self.resolution,
            "cells": list(self.cells),
            "centres_m": self.xy_m.tolist(),
        }

    @classmethod
    def _read(cls, description: Description) -> Hexagons:
        derived = cls.from_ids([str(cell) for cell in description["cells"]], read_plane(description))
        resolution = whole_number("resolution", description["resolution"], 0, 15)
        if derived.resolution != resolution:
            raise FileFormatError(f"resolution = {resolution}: its cells are of resolution {derived.resolution}")
        claimed = whole_numbers("centres_m", description["centres_m"], width=2)
        check_metres(claimed, derived.origin, *_centres(derived.cells))
        return cls(claimed, derived.origin, resolution, derived.cells)

    def _size(self) -> str:
        return f" of resolution {self.resolution}"

    @property
    def plane(self) -> Plane:
        """The local plane the centres are measured in."""
        return self.origin

    def locate(self, latitude: ArrayLike, longitude: ArrayLike) -> IntArray:
        """Return the hexagon that contains each point, or -1."""
        lat, lon = check_degrees(latitude, longitude)
        ids = (h3.latlng_to_cell(a, o, self.resolution) for a, o in zip(lat.flat, lon.flat, strict=True))
        found = np.fromiter((self._cell_of_id.get(i, OUTSIDE) for i in ids), dtype=np.int64, count=lat.size)
        return found.reshape(lat.shape)

    @cached_property
    def _cell_of_id(self) -> dict[str, int]:
        return {cell: number for number, cell in enumerate(self.cells)}

    def boundaries_m(self) -> list[FloatArray]:
        """Return the corners of every hexagon in metres of the plane."""
        boundaries = [h3.cell_to_boundary(cell) for cell in self.cells]
        x, y = self.origin.to_metres(*np.array([corner for boundary in boundaries for corner in boundary]).T)
        return np.split(np.column_stack([x, y]), np.cumsum([len(boundary) for boundary in boundaries])[:-1])

    def subset(self, cells: ArrayLike) -> Hexagons:
        """Keep only some hexagons; the plane stays."""
        kept = self._kept(cells)
        return Hexagons(self.xy_m[kept], self.origin, self.resolution, tuple(self.cells[c] for c in kept))


def _centres(cells: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    latitude, longitude = np.array([h3.cell_to_latlng(cell) for cell in cells]).T
    return latitude, longitude
