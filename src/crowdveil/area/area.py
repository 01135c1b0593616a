"""Define the area: the cells of the map, with centres in whole metres of a local plane.

Privacy depends on distances, and distances depend on these integers alone: the squared distance of two cells is an
exact integer below 2^53, so that every language with IEEE doubles derives the same distances from the description.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from crowdveil.area.blocks import Blocks
from crowdveil.area.plane import MAX_RADIUS_M, Plane, shortening
from crowdveil.arrays import FloatArray, IntArray, as_cells, as_floats, frozen
from crowdveil.codec import canonical_json, naming_file, parse_json, read_text, whole_numbers, whole_pair
from crowdveil.errors import FileFormatError, InputError

MAX_CELLS = 1_000_000
MAX_COORDINATE_M = 2**24
"""Coordinates stay below 16,777 km, so that squared distances stay below 2^53."""

ROUNDING_TOLERANCE_M = 0.001

OUTSIDE = -1
"""What `locate` returns for a point in no cell."""

Description = dict[str, Any]
"""An area as JSON: strings and whole numbers only, so that its canonical text is the same everywhere."""


@dataclass(frozen=True, eq=False, repr=False)
class Area:
    """Cells with centres in whole metres. Make one with `Grid`, `Hexagons`, `Towers` or `from_points_km`."""

    xy_m: IntArray
    """Cell centres, metres east and north of the origin, shape (n, 2)."""

    kind: ClassVar[str] = ""
    fields: ClassVar[tuple[str, ...]] = ()
    """The fields that a description of this kind may have."""
    kinds: ClassVar[dict[str, type[Area]]] = {}

    if TYPE_CHECKING:  # attached by `geojson`, which needs every kind of area

        def to_geojson(self, properties: Mapping[str, Sequence[Any]] | None = None) -> dict[str, Any]:
            """Give the cells as a GeoJSON FeatureCollection; see `geojson.area_to_geojson`."""

    def __init_subclass__(cls) -> None:
        Area.kinds[cls.kind] = cls

    def __post_init__(self) -> None:
        xy = np.asarray(self.xy_m)
        if xy.ndim != 2 or xy.shape[1:] != (2,) or len(xy) == 0:
            raise InputError("centres", xy.shape, "should be a list of one or more [x, y] pairs")
        if len(xy) > MAX_CELLS:
            raise InputError("cells", len(xy), f"should be at most {MAX_CELLS:,}; use larger cells")
        # Not by np.abs: the absolute value of the least integer is negative.
        far = ((xy < -MAX_COORDINATE_M) | (xy > MAX_COORDINATE_M)).any(axis=1)
        if far.any():
            cell = int(np.flatnonzero(far)[0])
            limit = f"coordinates should stay within {MAX_COORDINATE_M // 1000:,} km of the origin"
            raise InputError(f"centre of cell {cell} in metres", xy[cell].tolist(), limit)
        object.__setattr__(self, "xy_m", frozen(xy.astype(np.int64)))
        self._refuse_duplicates()

    def _refuse_duplicates(self) -> None:
        order = np.lexsort(self.xy_m.T)
        same = (np.diff(self.xy_m[order], axis=0) == 0).all(axis=1)
        if same.any():
            at = int(np.flatnonzero(same)[0])
            one, two = sorted((int(order[at]), int(order[at + 1])))
            what = "have the same centre, in whole metres; merge them, because no policy can distinguish them"
            raise InputError("cells", [one, two], what)

    # --- making one -------------------------------------------------------------------------------------

    @staticmethod
    def from_points_km(xy_km: ArrayLike) -> Points:
        """Make an area of bare points of a plane in km, rounded to whole metres, without latitude and longitude."""
        xy = as_floats("xy_km", xy_km)
        if xy.ndim != 2 or xy.shape[1:] != (2,) or len(xy) == 0:
            raise InputError("xy_km", xy.shape, "should have the shape (n, 2), n at least 1")
        bad = ~np.isfinite(xy).all(axis=1)
        if bad.any():
            cell = int(np.flatnonzero(bad)[0])
            raise InputError(f"xy_km[{cell}]", xy[cell].tolist(), "coordinates should be finite")
        too_far = np.abs(xy).max(axis=1) * 1000 > MAX_COORDINATE_M
        if too_far.any():
            cell = int(np.flatnonzero(too_far)[0])
            limit = f"should lie within {MAX_COORDINATE_M // 1000:,} km of the origin; are these metres?"
            raise InputError(f"xy_km[{cell}]", xy[cell].tolist(), limit)
        return Points(np.rint(xy * 1000).astype(np.int64))

    @staticmethod
    def from_description(description: Mapping[str, Any]) -> Area:
        """Rebuild an area from its description, checking the metres against the places they stand for."""
        if not isinstance(description, Mapping):
            raise FileFormatError("an area description should be a JSON object with a 'kind'")
        kind = description.get("kind")
        if not isinstance(kind, str) or kind not in Area.kinds or kind == "":
            known = ", ".join(sorted(k for k in Area.kinds if k))
            raise FileFormatError(f"area kind = {kind!r}: should be one of {known}")
        unknown = sorted(set(description) - {"kind", *Area.kinds[kind].fields})
        if unknown:
            raise FileFormatError(f"area of kind {kind}: unknown field {unknown[0]!r}")
        try:
            return Area.kinds[kind]._read(dict(description))
        except KeyError as error:
            raise FileFormatError(f"area of kind {kind}: the field {error} is missing") from None
        except (TypeError, AttributeError, OverflowError) as error:
            raise FileFormatError(f"area of kind {kind}: a field has the wrong type ({error})") from None

    @staticmethod
    def from_json(text: str) -> Area:
        """Read a description written by `to_json`."""
        return Area.from_description(parse_json(text, "area"))

    @staticmethod
    def load(path: str | Path) -> Area:
        """Read an area from a JSON file; an error names the file."""
        with naming_file(path, "an area"):
            return Area.from_json(read_text(path))

    @classmethod
    def _read(cls, description: Description) -> Area:
        raise NotImplementedError

    # --- as a value -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.xy_m)

    def __repr__(self) -> str:
        where = ""
        if self.plane is not None:
            where = f" around {self.plane.latitude_e7 / 1e7:.4f}, {self.plane.longitude_e7 / 1e7:.4f}"
        return f"{type(self).__name__}({len(self):,} cells{self._size()}{where})"

    def _size(self) -> str:
        """Describe the cells for `repr`, beside their number."""
        return ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Area) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def describe(self) -> Description:
        """Return the area as a JSON object of strings and whole numbers."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Return the canonical text: keys sorted, no spaces."""
        return canonical_json(self.describe())

    def save(self, path: str | Path) -> None:
        """Write the area as JSON."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    # --- distances --------------------------------------------------------------------------------------

    def distance_km(self, cell: int, other: int) -> float:
        """Return the distance between two cells in km."""
        return float(self.distances_km([cell], [other])[0, 0])

    def distances_km(self, cells: ArrayLike, others: ArrayLike | None = None) -> FloatArray:
        """Return the distances in km between some cells and some (or all) others, shape (cells, others).

        Nothing is cached; ask for some rows at a time where all pairs of a large area are needed.
        """
        one = self.xy_m[as_cells("cells", cells, len(self))]
        two = self.xy_m if others is None else self.xy_m[as_cells("others", others, len(self))]
        dx = one[:, None, 0] - two[None, :, 0]
        dy = one[:, None, 1] - two[None, :, 1]
        return np.sqrt((dx * dx + dy * dy).astype(np.float64)) / 1000.0

    @cached_property
    def nearest_neighbour_km(self) -> float:
        """Least distance of any two cells in km (infinite for a single cell)."""
        if len(self) == 1:
            return float("inf")
        distance_m, _ = self.tree.query(self.xy_m, k=2)
        return float(np.asarray(distance_m)[:, 1].min()) / 1000.0

    @cached_property
    def tree(self) -> scipy.spatial.cKDTree:
        """A kd-tree of the centres, in metres of the plane."""
        return scipy.spatial.cKDTree(self.xy_m)

    @cached_property
    def blocks(self) -> Blocks:
        """Blocks of neighbouring cells, for work over all pairs in nearly linear time."""
        return Blocks.over(self.xy_m)

    # --- places on the ground ---------------------------------------------------------------------------

    @property
    def plane(self) -> Plane | None:
        """The local plane, or None for bare points."""
        return None

    def locate(self, latitude: ArrayLike, longitude: ArrayLike) -> IntArray:  # noqa: ARG002
        """Return the cell of each point, or -1 (`OUTSIDE`) for a point in no cell; takes and returns arrays."""
        raise InputError("area", self.kind, "has no latitude and longitude; use a Grid, Hexagons or Towers")

    def centres(self) -> tuple[FloatArray, FloatArray]:
        """Return the latitude and longitude of every cell's centre."""
        if self.plane is None:
            raise InputError("area", self.kind, "has no latitude and longitude; use a Grid, Hexagons or Towers")
        return self.plane.to_degrees(self.xy_m[:, 0], self.xy_m[:, 1])

    @property
    def distance_shortening(self) -> float:
        """An upper bound of how much shorter distances are than on the ground; up to rounding they are never longer."""
        if self.plane is None:
            return 0.0
        return shortening(float(np.sqrt((self.xy_m.astype(np.float64) ** 2).sum(axis=1).max())))

    def subset(self, cells: ArrayLike) -> Area:
        """Keep only some cells, in the order of their numbers."""
        raise NotImplementedError

    def _kept(self, cells: ArrayLike) -> IntArray:
        kept = np.unique(as_cells("cells", cells, len(self)))
        if len(kept) == 0:
            raise InputError("cells", [], "should contain at least one cell")
        return kept


@dataclass(frozen=True, eq=False, repr=False)
class Points(Area):
    """Bare points of a plane, for studies without a map."""

    kind: ClassVar[str] = "points"
    fields: ClassVar[tuple[str, ...]] = ("centres_m",)

    def describe(self) -> Description:
        """Return the centres alone."""
        return {"kind": self.kind, "centres_m": self.xy_m.tolist()}

    @classmethod
    def _read(cls, description: Description) -> Points:
        return cls(whole_numbers("centres_m", description["centres_m"], width=2))

    def subset(self, cells: ArrayLike) -> Points:
        """Keep only some points."""
        return Points(self.xy_m[self._kept(cells)])


# --- what the kinds share when they read and check descriptions ---------------------------------------------


def read_plane(description: Description) -> Plane:
    """Read the origin of the local plane, two whole numbers of 1e-7 degrees."""
    return Plane(*whole_pair("origin_e7", description["origin_e7"]))


def metres_of(plane: Plane, latitude: ArrayLike, longitude: ArrayLike) -> FloatArray:
    """Return the metres of some places, shape (n, 2); refuse places outside the plane's range of validity."""
    x, y = plane.to_metres(latitude, longitude)
    far = ~(np.hypot(x, y) <= MAX_RADIUS_M)
    if far.any():
        place = [float(np.ravel(latitude)[far][0]), float(np.ravel(longitude)[far][0])]
        raise InputError("place", place, f"should lie within {MAX_RADIUS_M / 1000:.0f} km of the middle of the area")
    return np.column_stack([x, y])


def rounded_metres(plane: Plane, latitude: ArrayLike, longitude: ArrayLike) -> IntArray:
    """Return the whole metres of some places."""
    return np.rint(metres_of(plane, latitude, longitude)).astype(np.int64)


def check_metres(claimed: IntArray, plane: Plane, latitude: ArrayLike, longitude: ArrayLike) -> None:
    """Refuse centres that are not the whole metres nearest to the places that they stand for.

    The sine of another computer may differ in its last digit, so that a half may be rounded either way.
    """
    true = metres_of(plane, latitude, longitude)
    if claimed.shape != true.shape:
        raise FileFormatError(f"centres_m: {len(claimed)} centres for {len(true)} places")
    # Compared as floats: whole numbers near 2^63 would wrap around.
    wrong = (np.abs(claimed.astype(np.float64) - true) > 0.5 + ROUNDING_TOLERANCE_M).any(axis=1)
    if wrong.any():
        cell = int(np.flatnonzero(wrong)[0])
        raise FileFormatError(
            f"centres_m[{cell}] = {claimed[cell].tolist()}: should be "
            f"{np.rint(true[cell]).astype(int).tolist()} m, the metres of its place; distances would be wrong"
        )
