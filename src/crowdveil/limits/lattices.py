"""Refuse maps that, with the maps of earlier reports, would tell more than each of them.

Every report rounds a place to the cells of its own map. On grids shifted against each other, two points 250 m apart can
be a cell apart in every one of them: three reports at ln 4 on shifted 2 km grids may differ by e^2.8 where the ledger
says e^1.0. So a device answers only on maps whose cells fit into one another, or that do not overlap:

    the same map                 the same cells
    squares of one lattice       same plane, corners that coincide, sizes that divide one another; see below
    maps that share no place     nothing to combine

H3 hexagons of two resolutions do not nest: slivers of a seventh of the smallest allowed cell lie in a fine hexagon and
outside of its parent. So hexagons, like towers, fit only themselves.

**Edges combine too.** Whoever is in one map and outside of another is told apart by ε₀ in each of both reports. Three
maps of 4 x 4 squares that share a single one named whoever lived there in 97 of 100 trials. So the maps on one lattice
are laid over each other, and every *patch*, the ground that lies in the same ones of them, must consist of connected
pieces as large as the smallest map that the owner's limits allow.

A grid of `Grid.on_lattice` belongs to the public lattice of its region, so that campaigns which know nothing of each
other are compatible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, cos, floor, inf, radians
from typing import Any, Self, TypeAlias

import numpy as np
import scipy

from crowdveil.area import Area, Grid, Towers
from crowdveil.arrays import IntArray
from crowdveil.errors import FileFormatError, OutsideLimits
from crowdveil.limits.map_checks import NOT_TAKING_PART, ROUNDING, region_sizes_km
from crowdveil.limits.privacy_limits import PrivacyLimits

E7 = 10_000_000
METRES_PER_DEGREE = 109_000.0
"""Never more metres of the plane than a degree of latitude measures, so that boxes are never too small: on the ground
it is at least 110,500 m, of which the plane shows at least 99 % (twice `MAX_SHORTENING` less)."""
POLAR_DEGREES = 85.0
"""Beyond this latitude a box goes all the way round."""
FIELDS = {
    "kind": str,
    "digest": str,
    "origin_e7": list,
    "cell_m": int,
    "corner_half_m": list,
    "box_e7": list,
    "ground_half_m": list,
}
MAX_RECTANGLES = 2_000
"""A map of more rectangles than this fits only itself, and maps that share no place with it."""
MAX_PATCHES = 1_000_000
"""Maps that divide each other into more rectangles than this are refused."""

Rectangle: TypeAlias = tuple[int, int, int, int]
"""West, south, east and north, in half metres of the plane."""


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
    ground_half_m: tuple[Rectangle, ...]
    """The ground that the squares cover, as rectangles that do not overlap; empty for other kinds of maps, and for maps
    of very many."""

    @classmethod
    def of(cls, area: Area) -> Self:
        """Return the lattice of a map with latitudes and longitudes."""
        assert area.plane is not None
        cell_m, corner = 0, (0, 0)
        ground: tuple[Rectangle, ...] = ()
        if isinstance(area, Grid):
            cell_m = area.cell_m
            x, y = ((2 * first - cell_m) % (2 * cell_m) for first in area.first_centre_m)
            corner, ground = (x, y), _ground(area)
        origin = (area.plane.latitude_e7, area.plane.longitude_e7)
        return cls(area.kind, area.digest, origin, cell_m, corner, _box_e7(area), ground)

    def as_dict(self) -> dict[str, Any]:
        """Return the lattice as a JSON object."""
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {**fields, "ground_half_m": [list(rectangle) for rectangle in self.ground_half_m]}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read a lattice from a JSON object."""
        lengths = {"origin_e7": 2, "corner_half_m": 2, "box_e7": 4}
        valid = set(document) == set(FIELDS) and all(type(document[name]) is kind for name, kind in FIELDS.items())
        valid = valid and all(
            len(document[name]) == size and all(type(one) is int for one in document[name])
            for name, size in lengths.items()
        )
        valid = valid and all(
            type(one) is list and len(one) == 4 and all(type(edge) is int for edge in one)
            for one in document["ground_half_m"]
        )
        if not valid:
            raise FileFormatError("the lattice of an earlier map cannot be read")
        read: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in document.items()
        }
        return cls(**{**read, "ground_half_m": tuple(tuple(one) for one in document["ground_half_m"])})


def compatible(one: Lattice, other: Lattice) -> bool:
    """Tell whether the cells of both maps fit into one another, or lie apart."""
    if one.digest == other.digest or _disjoint(one, other):
        return True
    if not (one.ground_half_m and other.ground_half_m and one.origin_e7 == other.origin_e7):
        return False
    fine, coarse = sorted((one, other), key=lambda lattice: lattice.cell_m)
    if coarse.cell_m % fine.cell_m != 0:
        return False
    corners = zip(fine.corner_half_m, coarse.corner_half_m, strict=True)
    return all((b - a) % (2 * fine.cell_m) == 0 for a, b in corners)


def check_lattice(lattice: Lattice, earlier: Sequence[Lattice], limits: PrivacyLimits) -> None:
    """Refuse a map that does not fit those that earlier reports were drawn on, one by one or all together."""
    for one in earlier:
        if not compatible(lattice, one):
            raise OutsideLimits(
                "This campaign's map overlaps one that you answered on before, and is divided in another way. Both "
                f"answers together could tell more than your limit allows. {NOT_TAKING_PART}",
                f"The map {lattice.digest[:12]} does not fit the map {one.digest[:12]}; this device accepts maps that "
                "do not overlap, and squares of one lattice whose sizes divide one another.",
            )
    least_km2 = limits.min_cells * limits.cell_km**2
    smallest_km2 = smallest_piece_km2(lattice, earlier)
    if smallest_km2 < least_km2 * (1 - ROUNDING):
        raise OutsideLimits(
            "This campaign's map and those that you answered on before share only a part so small, or leave out one so "
            f"small, that your answers together could identify you. {NOT_TAKING_PART}",
            f"The smallest part covers {smallest_km2:.3g} km²; this device accepts no less than {least_km2:g} km².",
        )


def smallest_piece_km2(lattice: Lattice, earlier: Iterable[Lattice]) -> float:
    """Return the size of the smallest connected piece of ground that lies in the same ones of some maps.

    Only maps of the same lattice count; it is infinite where none of them overlaps the new one, and 0 where there are
    too many patches to look at.
    """
    maps = {one.digest: one for one in earlier if one.ground_half_m and one.origin_e7 == lattice.origin_e7}
    maps.pop(lattice.digest, None)
    if all(_disjoint(lattice, one) for one in maps.values()):
        return inf
    grounds = [np.array(one.ground_half_m, dtype=np.int64) for one in (lattice, *maps.values())]
    edges = np.concatenate(grounds)
    x, y = np.unique(edges[:, [0, 2]]), np.unique(edges[:, [1, 3]])
    if (len(x) - 1) * (len(y) - 1) > MAX_PATCHES:
        return 0.0
    inside = np.zeros((len(y) - 1, len(x) - 1), dtype=np.int64)
    for ground in grounds:
        here = np.zeros(inside.shape, dtype=bool)
        west, east = np.searchsorted(x, ground[:, 0]), np.searchsorted(x, ground[:, 2])
        south, north = np.searchsorted(y, ground[:, 1]), np.searchsorted(y, ground[:, 3])
        for box in zip(south.tolist(), north.tolist(), west.tolist(), east.tolist(), strict=True):
            here[box[0] : box[1], box[2] : box[3]] = True
        # Which of the maps so far a patch lies in, as a number; none of them is always 0.
        inside = np.unique(np.append(2 * inside + here, 0), return_inverse=True)[1][:-1].reshape(inside.shape)
    # Whole numbers of half metres, exact in doubles as long as no side is longer than 47,000 km.
    patch_m2 = np.outer(np.diff(y), np.diff(x)) / 4
    piece = _pieces(inside)
    sizes = np.bincount(piece[inside > 0], weights=patch_m2[inside > 0])
    return float(sizes[sizes > 0].min()) / 1e6


def _pieces(inside: IntArray) -> IntArray:
    """Number the pieces of equal patches that touch along an edge."""
    number = np.arange(inside.size).reshape(inside.shape)
    across, up = inside[:, 1:] == inside[:, :-1], inside[1:] == inside[:-1]
    one = np.concatenate([number[:, 1:][across], number[1:][up]])
    other = np.concatenate([number[:, :-1][across], number[:-1][up]])
    links = scipy.sparse.coo_array((np.ones(len(one), dtype=bool), (one, other)), shape=(inside.size, inside.size))
    piece: IntArray = scipy.sparse.csgraph.connected_components(links, directed=False)[1]
    return piece.reshape(inside.shape)


def _ground(area: Grid) -> tuple[Rectangle, ...]:
    """Return the ground of a grid as rectangles: runs of squares in a row, and equal runs of the rows above joined."""
    rows: dict[int, list[tuple[int, int]]] = {}
    if area.kept is None:
        rows = {row: [(0, area.columns)] for row in range(area.rows)}
    for square in () if area.kept is None else area.kept.tolist():
        row, column = divmod(square, area.columns)
        runs = rows.setdefault(row, [])
        if runs and runs[-1][1] == column:
            runs[-1] = (runs[-1][0], column + 1)
        else:
            runs.append((column, column + 1))
    finished: list[Rectangle] = []
    growing: dict[tuple[int, int], int] = {}
    for row in range(area.rows + 1):
        runs = rows.get(row, [])
        ended = [run for run in growing if run not in runs]
        finished += [(run[0], growing.pop(run), run[1], row) for run in ended]
        for run in runs:
            growing.setdefault(run, row)
    if len(finished) > MAX_RECTANGLES:
        return ()
    left, bottom = (2 * first - area.cell_m for first in area.first_centre_m)
    side = 2 * area.cell_m
    placed = ((left + side * w, bottom + side * s, left + side * e, bottom + side * n) for w, s, e, n in finished)
    return tuple(sorted(placed))


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
