"""The cells of an area as GeoJSON (RFC 7946), for maps and geographic information systems.

Every cell is a Feature: a Polygon in degrees, longitude first, its ring closed and anticlockwise. A cell that lies
across the antimeridian is a MultiPolygon of its two halves, as the RFC asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from crowdveil.area.area import Area
from crowdveil.area.regions import regions
from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError

DECIMALS = 7
"""1e-7 degrees are about a centimetre."""

EDGE_DEGREES = 1e-9
"""A corner that is closer to the antimeridian than this lies on it, up to the rounding of degrees."""

Ring: TypeAlias = list[list[float]]


def area_to_geojson(area: Area, properties: Mapping[str, Sequence[Any]] | None = None) -> dict[str, Any]:
    """Give the cells as a GeoJSON FeatureCollection; `Area.to_geojson` is this function.

    Args:
        area: An area with latitude and longitude: a Grid, Hexagons or Towers.
        properties: One value per cell for each name, added to every feature's properties.

    Every feature has the properties `cell` (its number), `latitude` and `longitude` (of its centre, in degrees).

    >>> import json
    >>> import crowdveil as cv
    >>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.72, -73.99, cell_km=1.0)
    >>> feature = grid.to_geojson()["features"][0]
    >>> feature["geometry"]["type"], feature["properties"]["cell"]
    ('Polygon', 0)
    >>> text = json.dumps(grid.to_geojson({"visits": [3] * len(grid)}))
    """
    if area.plane is None:
        raise InputError("area", area.kind, "has no latitude and longitude; use a Grid, Hexagons or Towers")
    given = {} if properties is None else dict(properties)
    for name, values in given.items():
        if len(values) != len(area):
            raise InputError(f"properties[{name!r}]", len(values), f"should be one value for each of {len(area)} cells")
        if name in ("cell", "latitude", "longitude"):
            raise InputError("properties", name, "is a property of every cell already; use another name")
    latitude, longitude = (np.round(degrees, DECIMALS).tolist() for degrees in area.centres())
    rows = {name: np.asarray(values).tolist() for name, values in given.items()}
    features = []
    for cell, polygon in enumerate(regions(area)):
        described = {"cell": cell, "latitude": latitude[cell], "longitude": longitude[cell]}
        described |= {name: values[cell] for name, values in rows.items()}
        features.append({"type": "Feature", "geometry": _geometry(area, polygon), "properties": described})
    return {"type": "FeatureCollection", "features": features}


def _geometry(area: Area, polygon: FloatArray) -> dict[str, Any]:
    assert area.plane is not None
    latitude, longitude = area.plane.to_degrees(polygon[:, 0], polygon[:, 1])
    # longitudes are counted on beyond 180 degrees, so that a cell across the antimeridian is in one piece
    around = longitude[0] + (longitude - longitude[0] + 180) % 360 - 180
    around = np.where(np.abs(np.abs(around) - 180) < EDGE_DEGREES, np.copysign(180.0, around), around)
    corners = np.column_stack([around, latitude])
    if np.abs(around).max() <= 180:
        return {"type": "Polygon", "coordinates": [_ring(corners)]}
    edge = 180.0 if around.max() > 180 else -180.0
    west, east = _clip(corners, edge, keep_west=True), _clip(corners, edge, keep_west=False)
    turn = np.array([360.0, 0.0])
    halves = [west, east - turn] if edge > 0 else [west + turn, east]
    rings = [_ring(half) for half in halves if np.ptp(half[:, 0]) > EDGE_DEGREES]
    if len(rings) == 1:  # the cell only touches the antimeridian
        return {"type": "Polygon", "coordinates": rings}
    return {"type": "MultiPolygon", "coordinates": [[ring] for ring in rings]}


def _ring(corners: FloatArray) -> Ring:
    """Corners rounded, closed and anticlockwise."""
    x, y = corners.T
    if np.dot(x, np.roll(y, -1)) < np.dot(y, np.roll(x, -1)):
        corners = corners[::-1]
    ring: Ring = np.round(corners, DECIMALS).tolist()
    return [*ring, ring[0]]


def _clip(corners: FloatArray, edge: float, *, keep_west: bool) -> FloatArray:
    """The part of a convex polygon on one side of a meridian."""
    kept: list[FloatArray] = []
    for one, other in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        inside, next_inside = ((end[0] <= edge) == keep_west or end[0] == edge for end in (one, other))
        if inside:
            kept.append(one)
        if inside != next_inside:
            share = (edge - one[0]) / (other[0] - one[0])
            kept.append(np.array([edge, one[1] + share * (other[1] - one[1])]))
    return np.array(kept)


# Attached here and not written in the class, because the regions of an area know all its kinds, which know the class.
Area.to_geojson = area_to_geojson  # type: ignore[method-assign, assignment]
