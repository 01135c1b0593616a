"""Hold the places to cover: what was given, the cells that became of it, and what is to be said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crowdveil.area.area import OUTSIDE
from crowdveil.dataframes import Backend, make_frame

TARGETS_HEADER = ["place", "latitude", "longitude", "cell", "number", "remarks"]
"""The columns of `NamedTargets.rows`."""

SHOWN = 5
"""How many names a sentence lists before it counts the others."""


@dataclass(frozen=True)
class GivenPlace:
    """A place as it was given, and the cell that it became."""

    name: str
    latitude: float | None
    longitude: float | None
    """As they are used: the other way round than written if `swapped`. None in an area without degrees."""
    number: int | None
    cell: int
    """The cell that holds it, or -1 (`OUTSIDE`)."""
    written_name: str | None = None
    swapped: bool = False
    nearest_cell: int | None = None
    """For a place outside, the cell whose centre is nearest, and how far that is."""
    nearest_km: float | None = None

    def where_outside(self) -> str:
        """Say how far outside it lies."""
        where = f"{self.name!r} ({self.latitude}, {self.longitude})"
        return f"{where} is {self.nearest_km:,.1f} km from the centre of the nearest cell, {self.nearest_cell}"


@dataclass(frozen=True)
class NamedTarget:
    """A cell to cover, under the name of the place or places in it."""

    name: str
    latitude: float | None
    longitude: float | None
    """Of the place; of the first one if several became this target."""
    cell: int
    number: int | None
    """How many people are wanted there: the sum of the numbers of its places; None if none has one."""
    places: tuple[str, ...]
    """The names of the places that became this target."""


@dataclass(frozen=True)
class NamedTargets:
    """The places to cover: what was given, and the cells that became of it, both in the order given."""

    given: tuple[GivenPlace, ...]
    targets: tuple[NamedTarget, ...]
    by_cell: bool = False
    """Whether nothing but numbers of cells was given."""

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def cells(self) -> tuple[int, ...]:
        """The cells to cover."""
        return tuple(target.cell for target in self.targets)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names; no two are the same."""
        return tuple(target.name for target in self.targets)

    @property
    def numbers(self) -> tuple[int | None, ...]:
        """How many people are wanted at each; None where nothing was said."""
        return tuple(target.number for target in self.targets)

    @property
    def left_out(self) -> tuple[GivenPlace, ...]:
        """The places that lie outside the area and are left out."""
        return tuple(place for place in self.given if place.cell == OUTSIDE)

    def label(self, cell: int) -> str:
        """Name a target for people, by its place and its cell."""
        if self.by_cell:
            return str(cell)
        return next(f"{target.name} (cell {cell})" for target in self.targets if target.cell == cell)

    @property
    def notes(self) -> tuple[str, ...]:
        """Say in sentences what is not as it was given."""
        found = []
        swapped = [place.name for place in self.given if place.swapped]
        if swapped:
            found.append(f"{list_names(swapped)}: latitude and longitude were the wrong way round, and are swapped.")
        renamed = [place.name for place in self.given if place.written_name not in (None, place.name)]
        if renamed:
            found.append(f"{list_names(renamed)}: numbered, because another place has the same name.")
        for target in self.targets:
            if len(target.places) > 1:
                joined = f"{list_names(target.places)} lie in the same cell, {target.cell}, and are one target"
                wanted = "" if target.number is None else f" for {target.number:,} people"
                why = "nothing finer than a cell can be told apart. Smaller cells would keep them apart."
                found.append(f"{joined}{wanted}: {why}")
        found += [f"{place.where_outside()}, and is left out." for place in self.left_out[:SHOWN]]
        if len(self.left_out) > SHOWN:
            found.append(f"{len(self.left_out) - SHOWN:,} more places lie outside, and are left out.")
        return tuple(found)

    def rows(self) -> list[list[str]]:
        """Give a table for printing, one row for each place that was given, under `TARGETS_HEADER`."""
        together = {target.cell: target.places for target in self.targets}
        rows = []
        for place in self.given:
            degrees = ["" if one is None else f"{one:.5f}" for one in (place.latitude, place.longitude)]
            cell = "" if place.cell == OUTSIDE else str(place.cell)
            number = "" if place.number is None else f"{place.number:,}"
            rows.append([place.name, *degrees, cell, number, _remarks(place, together.get(place.cell, ()))])
        return rows

    def describe(self) -> list[dict[str, Any]]:
        """Return one JSON object for each place that was given; `cell` is null for a place that is left out."""
        return [
            {
                "name": place.name,
                "latitude": place.latitude,
                "longitude": place.longitude,
                "number": place.number,
                "cell": None if place.cell == OUTSIDE else place.cell,
                "swapped": place.swapped,
                "nearest_cell": place.nearest_cell,
                "nearest_km": place.nearest_km,
            }
            for place in self.given
        ]

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Give one row per target as a data frame: name, latitude, longitude, cell, number.

        Args:
            backend: "pandas", "polars" or "pyarrow" (default: the first of them that is installed).

        >>> import crowdveil as cv
        >>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=1.0)
        >>> cv.read_targets("Grand Central: 40.7527, -73.9772", grid).to_frame("polars").columns
        ['name', 'latitude', 'longitude', 'cell', 'number']
        """
        columns = ("name", "latitude", "longitude", "cell", "number")
        return make_frame({name: [getattr(one, name) for one in self.targets] for name in columns}, backend)


def list_names(names: Sequence[str], total: int | None = None) -> str:
    """List names in a sentence, the first few of many; there may be more in total than are named here."""
    shown = [repr(name) for name in names[:SHOWN]]
    more = (len(names) if total is None else total) - len(shown)
    if more:
        shown.append(f"{more:,} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _remarks(place: GivenPlace, together: Sequence[str]) -> str:
    found = []
    if place.swapped:
        found.append("latitude and longitude swapped")
    if len(together) > 1:
        others = [name for name in together[: SHOWN + 1] if name != place.name]
        found.append(f"together with {list_names(others, len(together) - 1)}")
    if place.cell == OUTSIDE:
        found.append(f"outside, {place.nearest_km:,.1f} km from cell {place.nearest_cell}; left out")
    return "; ".join(found)
