"""Say where an area lies, find the cells that hold given places, and read files of places."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.arrays import FloatArray
from crowdveil.codec import read_pairs
from crowdveil.errors import InputError

LATITUDE_NAMES = ("lat", "latitude", "y")
LONGITUDE_NAMES = ("lon", "lng", "long", "longitude", "x")


@dataclass(frozen=True)
class Box:
    """Hold the box around an area: its size on the ground, and where its middle and its edges are."""

    width_km: float
    height_km: float
    latitude: float | None
    longitude: float | None
    south: float = 0.0
    west: float = 0.0
    north: float = 0.0
    east: float = 0.0

    def __str__(self) -> str:
        size = f"{self.width_km:.4g} x {self.height_km:.4g} km"
        if self.latitude is None or self.longitude is None:
            return f"{size} of a plane without latitude and longitude"
        return f"{size} around {_side(self.latitude, 'NS')}, {_side(self.longitude, 'EW')}"

    @property
    def edges(self) -> str:
        """Say from where to where it reaches."""
        return (
            f"{_side(self.south, 'NS')} to {_side(self.north, 'NS')} and {_side(self.west, 'EW')} to "
            f"{_side(self.east, 'EW')}"
        )


def box_of(area: Area) -> Box:
    """Find the box around all cells; half a cell wider than the centres, or as far as towers reach."""
    margin_m = 0.0
    if isinstance(area, Grid):
        margin_m = area.cell_m / 2
    elif isinstance(area, Hexagons) and len(area) > 1:
        margin_m = area.nearest_neighbour_km * 500
    low, high = area.xy_m.min(axis=0) - margin_m, area.xy_m.max(axis=0) + margin_m
    width_km, height_km = ((high - low) / 1000).tolist()
    if area.plane is None:
        return Box(width_km, height_km, None, None)
    x, y = (low + high) / 2
    reach_m = area.reach_m if isinstance(area, Towers) else 0
    along_x = np.array([x, low[0] - reach_m, high[0] + reach_m, x, x])
    along_y = np.array([y, y, y, low[1] - reach_m, high[1] + reach_m])
    latitude, longitude = (degrees.tolist() for degrees in area.plane.to_degrees(along_x, along_y))
    return Box(width_km, height_km, latitude[0], longitude[0], latitude[3], longitude[1], latitude[4], longitude[2])


def cell_at(area: Area, latitude: float, longitude: float, field: str = "place") -> int:
    """Find the cell that holds a place; an error names `field` and says what the area covers."""
    cell = int(area.locate([latitude], [longitude])[0])
    if cell < 0:
        what = f"lies in no cell of this area, which covers {box_of(area).edges}"
        if abs(longitude) <= 90 and area.locate([longitude], [latitude])[0] >= 0:
            what += "; are latitude and longitude swapped?"
        raise InputError(field, f"{latitude}:{longitude}", what)
    return cell


def read_places(path: str | Path) -> tuple[FloatArray, FloatArray]:
    """Read latitudes and longitudes from the columns lat,lon of a CSV file."""
    return read_pairs(path, LATITUDE_NAMES, LONGITUDE_NAMES)


def read_points_km(path: str | Path) -> FloatArray:
    """Read points of a plane from the columns x_km,y_km of a CSV file: one row for each point."""
    return np.column_stack(read_pairs(path, ("x_km", "x"), ("y_km", "y")))


def _side(degrees: float, sides: str) -> str:
    return f"{abs(degrees):.4f} {sides[0] if degrees >= 0 else sides[1]}"
