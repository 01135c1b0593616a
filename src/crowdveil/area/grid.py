"""Make areas of square cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area.area import MAX_CELLS, OUTSIDE, Area, Description, read_plane
from crowdveil.area.plane import MAX_RADIUS_M, Plane, check_degrees
from crowdveil.arrays import FloatArray, IntArray, as_floats, frozen, in_blocks
from crowdveil.codec import whole_number, whole_numbers, whole_pair
from crowdveil.errors import FileFormatError, InputError

MAX_BEYOND_EDGE = 0.01
"""Share of positions that may lie beyond each edge of a grid around them, so that a trip abroad does not extend it."""
EDGE_DEGREES = 1e-5
"""A metre, so that positions at the edge lie inside and positions at one place have a box."""
LATTICE_DEGREES = 2
"""Public lattices have their origins at multiples of this."""


class Positions(Protocol):
    """Anything with latitudes and longitudes, such as `Visits`."""

    @property
    def latitude(self) -> FloatArray:
        """Degrees north."""

    @property
    def longitude(self) -> FloatArray:
        """Degrees east."""


@dataclass(frozen=True, eq=False, repr=False)
class Grid(Area):
    """Squares of `cell_m` metres, row by row from the south-west; some may be left out.

    Make one with `on_lattice` for a campaign, with `from_bounds` or `around` for a study.
    """

    origin: Plane
    cell_m: int
    rows: int
    columns: int
    first_centre_m: tuple[int, int]
    kept: IntArray | None = None
    """Numbers of the squares that are cells, when not all are."""

    kind: ClassVar[str] = "grid"
    fields: ClassVar[tuple[str, ...]] = ("origin_e7", "cell_m", "rows", "columns", "first_centre_m", "kept")

    @classmethod
    def build(
        cls,
        origin: Plane,
        cell_m: int,
        rows: int,
        columns: int,
        first_centre_m: tuple[int, int],
        kept: IntArray | None = None,
    ) -> Grid:
        """Lay out the centres: x = first + column · cell_m, y = first + row · cell_m."""
        squares = np.arange(rows * columns, dtype=np.int64)
        if kept is not None:
            if len(kept) == 0 or kept.min() < 0 or kept.max() >= len(squares) or (np.diff(kept) <= 0).any():
                raise FileFormatError("kept: should be numbers of squares of this grid, in increasing order")
            squares = kept
        if max(map(abs, first_centre_m)) > MAX_RADIUS_M or (rows + columns) * cell_m > 4 * MAX_RADIUS_M:
            raise _too_large(rows, columns, cell_m)
        row, column = np.divmod(squares, columns)
        xy_m = np.column_stack([first_centre_m[0] + column * cell_m, first_centre_m[1] + row * cell_m])
        if np.hypot(*np.abs(xy_m).max(axis=0).astype(float)) > MAX_RADIUS_M:
            raise _too_large(rows, columns, cell_m)
        return cls(xy_m, origin, cell_m, rows, columns, first_centre_m, None if kept is None else frozen(kept))

    @classmethod
    def from_bounds(cls, south: float, west: float, north: float, east: float, *, cell_km: float = 1.0) -> Grid:
        """Cover a box of latitudes and longitudes with squares (east < west crosses the antimeridian)."""
        plane, x, y = box_in_plane(south, west, north, east)
        cell_m = _whole_metres(cell_km)
        columns, rows = (max(1, ceil(float(np.ptp(axis)) / cell_m)) for axis in (x, y))
        _check_number(rows * columns, cell_km)
        first = tuple(
            round((float(axis.min()) + float(axis.max()) - (count - 1) * cell_m) / 2)
            for axis, count in ((x, columns), (y, rows))
        )
        return cls.build(plane, cell_m, rows, columns, (first[0], first[1]))

    @classmethod
    def on_lattice(cls, south: float, west: float, north: float, east: float, *, cell_km: float = 1.0) -> Grid:
        """Cover a box with squares of the public lattice of its region, as the map of a campaign should.

        The plane's origin is the nearest multiple of 2 degrees, and corners lie at whole multiples of the side from it,
        so that the maps of campaigns that know nothing of each other fit: a device that answered on one of them may
        answer on another, if its cells have the same size, or one that divides it or is a multiple of it.

        >>> grid = Grid.on_lattice(40.70, -74.02, 40.80, -73.93, cell_km=0.5)
        >>> grid.origin.latitude_e7, grid.origin.longitude_e7, [first % 500 for first in grid.first_centre_m]
        (400000000, -740000000, [250, 250])
        """
        middle, _, _ = box_in_plane(south, west, north, east)
        cell_m = _whole_metres(cell_km)
        if cell_m % 2:
            raise InputError("cell_km", cell_km, "should be an even number of metres, so that centres are whole metres")
        latitude, longitude = (
            floor(e7 / 1e7 / LATTICE_DEGREES + 0.5) * LATTICE_DEGREES
            for e7 in (middle.latitude_e7, middle.longitude_e7)
        )
        plane = Plane(latitude * 10_000_000, (longitude + 180) % 360 * 10_000_000 - 1_800_000_000)
        x, y = plane.to_metres(*_edge_of_box(south, west, north, east))
        if not (np.hypot(x, y) <= MAX_RADIUS_M).all():
            raise InputError("bounds", [south, west, north, east], "should be smaller: they reach too far for one map")
        low = [floor(float(axis.min()) / cell_m) for axis in (x, y)]
        high = [ceil(float(axis.max()) / cell_m) for axis in (x, y)]
        columns, rows = high[0] - low[0], high[1] - low[1]
        _check_number(rows * columns, cell_km)
        first = [begin * cell_m + cell_m // 2 for begin in low]
        return cls.build(plane, cell_m, rows, columns, (first[0], first[1]))

    @classmethod
    def around(cls, positions: Positions, *, cell_km: float = 1.0) -> Grid:
        """Cover the middle 98 % of some positions, along each axis, with squares; keep those that hold any.

        >>> from crowdveil.traces import synthetic_visits
        >>> visits = synthetic_visits(np.random.default_rng(1), users=50, weeks=4)
        >>> Grid.around(visits, cell_km=2.0).cell_m
        2000
        """
        # Longitudes are counted from the mean position, so that the antimeridian needs no special case.
        turns = np.exp(1j * np.radians(positions.longitude))
        middle = float(np.degrees(np.angle(turns.mean())))
        south, north = _middle_of(positions.latitude)
        west, east = (_wrapped(side + middle) for side in _middle_of((positions.longitude - middle + 180) % 360 - 180))
        try:
            grid = cls.from_bounds(max(south, -90.0), west, min(north, 90.0), east, cell_km=cell_km)
        except InputError as error:
            if error.field == "cell_km":
                raise
            where = f"from {south:.2f} to {north:.2f} N and {west:.2f} to {east:.2f} E"
            raise InputError("positions", where, "are too far apart for one grid; make an area and pass it") from None
        cells = grid.locate(positions.latitude, positions.longitude)
        there = np.unique(cells[cells >= 0])
        if len(there) < 2:
            raise InputError(
                "cell_km", cell_km, "puts all positions into one cell; use smaller cells, or make an area and pass it"
            )
        return grid.subset(there)

    def describe(self) -> Description:
        """Return origin, size and counts; the centres follow from these."""
        description: Description = {
            "kind": self.kind,
            "origin_e7": [self.origin.latitude_e7, self.origin.longitude_e7],
            "cell_m": self.cell_m,
            "rows": self.rows,
            "columns": self.columns,
            "first_centre_m": list(self.first_centre_m),
        }
        if self.kept is not None:
            description["kept"] = self.kept.tolist()
        return description

    @classmethod
    def _read(cls, description: Description) -> Grid:
        rows = whole_number("rows", description["rows"], 1, MAX_CELLS)
        columns = whole_number("columns", description["columns"], 1, MAX_CELLS)
        if rows * columns > MAX_CELLS:
            raise FileFormatError(f"rows x columns = {rows * columns:,}: should be at most {MAX_CELLS:,} cells")
        kept = description.get("kept")
        return cls.build(
            read_plane(description),
            whole_number("cell_m", description["cell_m"], 1, 10_000_000),
            rows,
            columns,
            whole_pair("first_centre_m", description["first_centre_m"]),
            None if kept is None else whole_numbers("kept", kept, width=1),
        )

    def _size(self) -> str:
        return f" of {self.rows} x {self.columns} squares of {self.cell_m:,} m"

    @property
    def plane(self) -> Plane:
        """The local plane the squares lie in."""
        return self.origin

    def locate(self, latitude: ArrayLike, longitude: ArrayLike) -> IntArray:
        """Return the square that contains each point (with its south and west edges), or -1."""
        return in_blocks(self._locate, as_floats("latitude", latitude), as_floats("longitude", longitude))

    def _locate(self, latitude: FloatArray, longitude: FloatArray) -> IntArray:
        x, y = self.origin.to_metres(latitude, longitude)
        column = np.floor((x - self.first_centre_m[0]) / self.cell_m + 0.5)
        row = np.floor((y - self.first_centre_m[1]) / self.cell_m + 0.5)
        inside = (column >= 0) & (column < self.columns) & (row >= 0) & (row < self.rows)
        square = np.where(inside, row * self.columns + column, 0).astype(np.int64)
        return np.where(inside, self._cell_of_square[square], OUTSIDE)

    @cached_property
    def _cell_of_square(self) -> IntArray:
        squares = self.rows * self.columns
        if self.kept is None:
            return np.arange(squares, dtype=np.int64)
        cells = np.full(squares, OUTSIDE, dtype=np.int64)
        cells[self.kept] = np.arange(len(self.kept))
        return cells

    def subset(self, cells: ArrayLike) -> Grid:
        """Keep only some squares (say, those anyone ever visits)."""
        kept = self._kept(cells)
        squares = kept if self.kept is None else self.kept[kept]
        return Grid.build(self.origin, self.cell_m, self.rows, self.columns, self.first_centre_m, squares)


def _whole_metres(cell_km: float) -> int:
    cell_m = round(cell_km * 1000) if 0 < cell_km <= 1000 else 0
    if cell_m < 1 or abs(cell_km * 1000 - cell_m) > 1e-6:
        raise InputError("cell_km", cell_km, "should be a whole number of metres, from 0.001 to 1000")
    return cell_m


def _check_number(cells: int, cell_km: float) -> None:
    if cells > MAX_CELLS:
        raise InputError("cell_km", cell_km, f"gives {cells:,} cells; should give at most {MAX_CELLS:,}")


def _too_large(rows: int, columns: int, cell_m: int) -> InputError:
    extent = f"{columns * cell_m / 1000:.0f} x {rows * cell_m / 1000:.0f} km"
    return InputError("bounds", extent, f"should reach at most {MAX_RADIUS_M / 1000:.0f} km from the middle")


def box_in_plane(south: float, west: float, north: float, east: float) -> tuple[Plane, FloatArray, FloatArray]:
    """Return the plane at the middle of a box of degrees, and points of the box's edge in it, in metres."""
    lat, lon = _edge_of_box(south, west, north, east)
    plane = Plane.around(lat, lon)
    x, y = plane.to_metres(lat, lon)
    if not (np.hypot(x, y) <= MAX_RADIUS_M).all():
        box = [south, west, north, east]
        raise InputError("bounds", box, f"should stay within {MAX_RADIUS_M / 1000:.0f} km of their middle")
    return plane, x, y


def _edge_of_box(south: float, west: float, north: float, east: float) -> tuple[FloatArray, FloatArray]:
    """Return latitudes and longitudes of points along the edge of a box of degrees."""
    check_degrees([south, north], [west, east])
    if not south < north:
        raise InputError("south", south, f"should lie south of north = {north}")
    width = (east - west) % 360
    if not 0 < width <= 30:
        raise InputError("east", east, f"should lie 0 to 30 degrees east of west = {west}")
    around = np.linspace(0, 1, 33)
    lat = south + (north - south) * np.concatenate([around, around, 0 * around, 0 * around + 1])
    lon = west + width * np.concatenate([0 * around, 0 * around + 1, around, around])
    return lat, (lon + 180) % 360 - 180


def _middle_of(degrees: FloatArray) -> tuple[float, float]:
    low, high = np.quantile(degrees, [MAX_BEYOND_EDGE, 1 - MAX_BEYOND_EDGE]).tolist()
    return low - EDGE_DEGREES, high + EDGE_DEGREES


def _wrapped(longitude: float) -> float:
    return (longitude + 180) % 360 - 180
