"""Read the places to cover as people have them, and find their cells.

A cell is the finest thing that can be told apart: a report names a cell at most, so two places in one cell are one
target. They are merged, and it is said; who wants them apart needs smaller cells. Places in no cell are refused, or
left out on request. A latitude and a longitude that lie outside as they are written, and inside the other way round,
are swapped. Nothing of this happens silently: `NamedTargets.given` has a row for every place that was given, and
`NamedTargets.notes` a sentence for all that is not as it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy

from crowdveil.area.area import OUTSIDE, Area
from crowdveil.area.extent import box_of
from crowdveil.area.place_lists import list_places
from crowdveil.area.place_names import joined_name, unique_names
from crowdveil.area.place_source import ListedPlace
from crowdveil.area.targets import SHOWN, GivenPlace, NamedTarget, NamedTargets
from crowdveil.arrays import FloatArray, IntArray, as_cells
from crowdveil.errors import InputError

MEAN_RADIUS_KM = 6371.0088


def read_targets(
    source: str | Path, area: Area, *, keep_apart: bool = False, leave_out_outside: bool = False
) -> NamedTargets:
    """Read the places to cover, as people have them, and find their cells.

    Args:
        source: A file (CSV with a heading, GeoJSON, or text), or the text itself: places such as "40.7527, -73.9772",
            with or without a name, with degrees and minutes, links to maps, or numbers of cells such as "3,17". Several
            places stand on several lines, or have semicolons between them.
        area: Where they should lie.
        keep_apart: Refuse places that lie in the same cell, instead of merging them.
        leave_out_outside: Leave out places that lie in no cell, instead of refusing them.

    >>> import crowdveil as cv
    >>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=1.0)
    >>> targets = cv.read_targets("Grand Central: 40.7527, -73.9772; 40.7061 N 74.0088 W", grid)
    >>> targets.names, targets.cells
    (('Grand Central', 'place 2'), (51, 9))
    """
    return place_targets(list_places(source), area, keep_apart=keep_apart, leave_out_outside=leave_out_outside)


def place_targets(
    listed: Sequence[ListedPlace], area: Area, *, keep_apart: bool = False, leave_out_outside: bool = False
) -> NamedTargets:
    """Find the cells of listed places, which are either all cells or all coordinates; options as in `read_targets`."""
    by_cell = listed[0].cell is not None
    given = _numbered(listed, area) if by_cell else _located(listed, area)
    _check_outside(given, area, leave_out_outside=leave_out_outside)
    together: dict[int, list[GivenPlace]] = {}
    for place in given:
        if place.cell != OUTSIDE:
            together.setdefault(place.cell, []).append(place)
    for cell, places in together.items():
        if keep_apart and len(places) > 1:
            what = f"lie in the same cell, {cell}, and nothing finer than a cell can be told apart"
            what += "; use an area with smaller cells, or let them be one target, without keep_apart"
            raise InputError("targets", [place.name for place in places], what)
    names = unique_names(joined_name([place.name for place in places]) for places in together.values())
    targets = tuple(_merged(name, places) for name, places in zip(names, together.values(), strict=True))
    return NamedTargets(given, targets, by_cell=by_cell and all(one == ListedPlace(cell=one.cell) for one in listed))


def _numbered(listed: Sequence[ListedPlace], area: Area) -> tuple[GivenPlace, ...]:
    cells = as_cells("targets", [-1 if one.cell is None else one.cell for one in listed], len(area))
    names = unique_names(one.name or f"cell {one.cell}" for one in listed)
    degrees: list[tuple[float | None, float | None]] = [(None, None)] * len(listed)
    if area.plane is not None:
        latitude, longitude = (values[cells].tolist() for values in area.centres())
        degrees = list(zip(latitude, longitude, strict=True))
    rows = zip(listed, names, degrees, cells.tolist(), strict=True)
    return tuple(GivenPlace(name, *where, one.wanted, cell, one.name) for one, name, where, cell in rows)


def _located(listed: Sequence[ListedPlace], area: Area) -> tuple[GivenPlace, ...]:
    if area.plane is None:
        what = "should be cells such as 3,17, because this area has no latitude and longitude"
        raise InputError("targets", f"{len(listed)} places", what)
    names = unique_names(one.name or f"place {at}" for at, one in enumerate(listed, 1))
    latitude, longitude = np.array([(one.latitude, one.longitude) for one in listed], float).T
    cell = _locate(area, latitude, longitude)
    swapped = (cell == OUTSIDE) & (_locate(area, longitude, latitude) != OUTSIDE)
    latitude, longitude = np.where(swapped, longitude, latitude), np.where(swapped, latitude, longitude)
    cell = np.where(swapped, _locate(area, latitude, longitude), cell)
    impossible = np.abs(latitude) > 90
    if impossible.any():
        at = int(impossible.argmax())
        raise InputError(f"latitude of {names[at]}", float(latitude[at]), "should be from -90 to 90")
    outside = np.flatnonzero(cell == OUTSIDE)
    nearest = dict(zip(outside.tolist(), _nearest(area, latitude[outside], longitude[outside]), strict=True))
    columns = zip(listed, names, latitude.tolist(), longitude.tolist(), cell.tolist(), swapped.tolist(), strict=True)
    return tuple(
        GivenPlace(name, north, east, one.wanted, number, one.name, turned, *nearest.get(at, (None, None)))
        for at, (one, name, north, east, number, turned) in enumerate(columns)
    )


def _locate(area: Area, latitude: FloatArray, longitude: FloatArray) -> IntArray:
    """The cell of each point; OUTSIDE also for what is no latitude."""
    possible = np.abs(latitude) <= 90
    cell = np.full(len(latitude), OUTSIDE, np.int64)
    cell[possible] = area.locate(latitude[possible], longitude[possible])
    return cell


def _nearest(area: Area, latitude: FloatArray, longitude: FloatArray) -> list[tuple[int, float]]:
    """The cell with the nearest centre to each point, and its distance in km on a sphere, which is good to 0.6 %."""
    if not len(latitude):
        return []
    chord, cell = scipy.spatial.cKDTree(_on_sphere(*area.centres())).query(_on_sphere(latitude, longitude))
    distance_km = 2 * MEAN_RADIUS_KM * np.arcsin(np.minimum(chord / 2, 1))
    return list(zip(cell.tolist(), distance_km.tolist(), strict=True))


def _on_sphere(latitude: FloatArray, longitude: FloatArray) -> FloatArray:
    """Points of the unit sphere; the straight line between two of them is the longer, the farther they are apart."""
    lat, lon = np.radians(latitude), np.radians(longitude)
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _check_outside(given: Sequence[GivenPlace], area: Area, *, leave_out_outside: bool) -> None:
    outside = [place for place in given if place.cell == OUTSIDE]
    nothing_left = len(outside) == len(given)
    if not outside or (leave_out_outside and not nothing_left):
        return
    told = "; ".join(place.where_outside() for place in outside[:SHOWN])
    more = f"; {len(outside) - SHOWN} more lie outside" * (len(outside) > SHOWN)
    advice = "correct them or use a larger area" + ", or leave them out with leave_out_outside" * (not nothing_left)
    what = f"should lie in a cell of this area, which covers {box_of(area).edges}: {told}{more}; {advice}"
    raise InputError("targets", [place.name for place in outside], what)


def _merged(name: str, places: Sequence[GivenPlace]) -> NamedTarget:
    first = places[0]
    numbers = [place.number for place in places if place.number is not None]
    return NamedTarget(
        name=name,
        latitude=first.latitude,
        longitude=first.longitude,
        cell=first.cell,
        number=sum(numbers) if numbers else None,
        places=tuple(place.name for place in places),
    )
