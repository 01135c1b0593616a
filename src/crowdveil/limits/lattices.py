"""Refuse maps that, with the maps of earlier reports, would tell more than each of them.

Every report rounds a place to the cells of its own map. On grids shifted against each other, two points 250 m apart can
be a cell apart in every one of them: three reports at ln 4 on shifted 2 km grids may differ by e^2.8 where the ledger
says e^1.0. So a device answers only on maps whose cells fit into one another, or that do not overlap:

    the same map                                     the same cells
    squares of one lattice                           same plane, corners that coincide, sizes that divide one another
    H3 hexagons                                      one public lattice for each resolution
    maps that share no place                         nothing to combine

A grid of `Grid.on_lattice` belongs to the public lattice of its region, so that campaigns which know nothing of each
other are compatible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from math import ceil, cos, floor, radians
from typing import Any, Self

from crowdveil.area import Area, Grid, Towers
from crowdveil.errors import FileFormatError, OutsideLimits
from crowdveil.limits.map_checks import NOT_TAKING_PART, region_sizes_km

E7 = 10_000_000
METRES_PER_DEGREE = 110_000.0
"""Never more than a degree of latitude measures, so that boxes are never too small."""
POLAR_DEGREES = 85.0
"""Beyond this latitude a box goes all the way round."""
FIELDS = {"kind": str, "digest": str, "origin_e7": list, "cell_m": int, "corner_half_m": list, "box_e7": list}


@dataclass(frozen=True)
class Lattice:
    """What is kept of a map that a report was drawn on: enough to tell whether another one fits; whole numbers only."""

    kind: str
    digest: str
    """Hash of the map's description."""
    origin_e7: tuple[int, int]
    """Origin of the plane."""
    cell_m: int
    """Side of a square; 0 for other kinds."""
    corner_half_m: tuple[int, int]
    """A corner of the squares in half metres, less than the side of one; zeros for other kinds."""
    box_e7: tuple[int, int, int, int]
    """South, west, north and east of everything that belongs to the map, in 1e-7 degrees; east may exceed 180."""

    @classmethod
    def of(cls, area: Area) -> Self:
        """Return the lattice of a map with latitudes and longitudes."""
        assert area.plane is not None
        cell_m, corner = 0, (0, 0)
        if isinstance(area, Grid):
            cell_m = area.cell_m
            x, y = ((2 * first - cell_m) % (2 * cell_m) for first in area.first_centre_m)
            corner = (x, y)
        origin = (area.plane.latitude_e7, area.plane.longitude_e7)
        return cls(area.kind, area.digest, origin, cell_m, corner, _box_e7(area))

    def as_dict(self) -> dict[str, Any]:
        """Return the lattice as a JSON object."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read a lattice from a JSON object."""
        lengths = {"origin_e7": 2, "corner_half_m": 2, "box_e7": 4}
        valid = set(document) == set(FIELDS) and all(type(document[name]) is kind for name, kind in FIELDS.items())
        valid = valid and all(
            len(document[name]) == size and all(type(one) is int for one in document[name])
            for name, size in lengths.items()
        )
        if not valid:
            raise FileFormatError("the lattice of an earlier map cannot be read")
        read: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        return cls(**read)


def compatible(one: Lattice, other: Lattice) -> bool:
    """Tell whether reports on both maps reveal no more together than their charges say."""
    if one.digest == other.digest or _disjoint(one, other):
        return True
    if one.kind == other.kind == "hexagons":
        return True
    if one.kind != "grid" or other.kind != "grid" or one.origin_e7 != other.origin_e7:
        return False
    fine, coarse = sorted((one, other), key=lambda lattice: lattice.cell_m)
    if coarse.cell_m % fine.cell_m != 0:
        return False
    corners = zip(fine.corner_half_m, coarse.corner_half_m, strict=True)
    return all((b - a) % (2 * fine.cell_m) == 0 for a, b in corners)


def check_lattice(lattice: Lattice, earlier: Iterable[Lattice]) -> None:
    """Refuse a map that does not fit one of those that earlier reports were drawn on."""
    for one in earlier:
        if not compatible(lattice, one):
            raise OutsideLimits(
                "This campaign's map overlaps one that you answered on before, and is divided in another way. Both "
                f"answers together could tell more than your limit allows. {NOT_TAKING_PART}",
                f"The map {lattice.digest[:12]} does not fit the map {one.digest[:12]}; this device accepts maps that "
                "do not overlap, squares of one lattice whose sizes divide one another, or H3 hexagons.",
            )


def _disjoint(one: Lattice, other: Lattice) -> bool:
    south, west, north, east = one.box_e7
    other_south, other_west, other_north, other_east = other.box_e7
    if north < other_south or other_north < south:
        return True
    # How far the other's west side lies east of this one's, and the other way round, around the globe.
    turn = 360 * E7
    return (other_west - west) % turn > east - west and (west - other_west) % turn > other_east - other_west


def _box_e7(area: Area) -> tuple[int, int, int, int]:
    """Return a box around all places that belong to any cell, never too small."""
    latitude, longitude = area.centres()
    # The corners of a square or hexagon lie nearer to its centre than the side of a square as large as itself.
    margin_m = area.reach_m if isinstance(area, Towers) else 1000 * float(region_sizes_km(area).max())
    south, north = (float(edge) for edge in (latitude.min(), latitude.max()))
    margin = margin_m / METRES_PER_DEGREE
    widest = max(abs(south - margin), abs(north + margin))
    if widest >= POLAR_DEGREES:
        west, east = -180.0, 180.0
    else:
        anchor = float(longitude[0])
        offset = (longitude - anchor + 180) % 360 - 180
        wider = margin / cos(radians(widest))
        west, east = anchor + float(offset.min()) - wider, anchor + float(offset.max()) + wider
    return floor((south - margin) * E7), floor(west * E7), ceil((north + margin) * E7), ceil(east * E7)
