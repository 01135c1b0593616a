"""List the places of GeoJSON (RFC 7946): points, and the centroids of polygons.

A feature's properties may hold its name and number, under the same names as the columns of a table. Coordinates are in
degrees, longitude first.

**Centroid.** The corners of a ring, relative to the first one, make triangles with it. Each has the signed area
(x₁y₂ - x₂y₁)/2 and the centroid (p₁ + p₂)/3; their sum, weighted by area, is the ring's centroid. Holes turn the other
way round, and so subtract themselves, if their areas are given the opposite sign whatever way they are written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdveil.area.place_names import check_name
from crowdveil.area.place_source import ListedPlace, PlaceSource, ReadNumber, read_number
from crowdveil.area.place_tables import NAME_NAMES, NUMBER_NAMES
from crowdveil.arrays import FloatArray
from crowdveil.codec import parse_json
from crowdveil.errors import FileFormatError, InputError

KINDS = "should be a Point, a Polygon or a MultiPolygon"


def is_geojson(text: str) -> bool:
    """Whether a text can only be JSON."""
    return text.lstrip().startswith(("{", "["))


def list_features(source: PlaceSource, number: ReadNumber = read_number) -> list[ListedPlace]:
    """Read every feature."""
    try:
        document = parse_json(source.text, "GeoJSON")
    except FileFormatError as error:
        raise FileFormatError(f"{source.path or 'targets'}: {error}") from None
    kind = document.get("type") if isinstance(document, dict) else None
    if kind == "FeatureCollection" and isinstance(document.get("features"), list):
        features = document["features"]
    elif kind == "Feature":
        features = [document]
    elif isinstance(document, dict) and "coordinates" in document:
        features = [{"type": "Feature", "geometry": document}]
    else:
        what = "should be GeoJSON: a FeatureCollection, a Feature or a geometry"
        raise source.refusal(InputError("type", kind, what))
    found = []
    for count, feature in enumerate(features, 1):
        try:
            found.append(_place(feature, number))
        except InputError as error:
            told = InputError(f"{error.field} of feature {count}", error.value, error.expected)
            raise source.refusal(told) from None
    return found


def _place(feature: Any, number: ReadNumber) -> ListedPlace:
    if not isinstance(feature, dict):
        raise InputError("type", feature, "should be a Feature")
    properties = feature.get("properties") or {}
    if not isinstance(properties, dict):
        raise InputError("properties", properties, "should be an object")
    given = {str(key).strip().lower(): value for key, value in properties.items() if value not in (None, "")}
    name = next((str(given[name]) for name in NAME_NAMES if name in given), "")
    numbers = [given[name] for name in NUMBER_NAMES if name in given]
    if len(numbers) > 1:
        raise InputError("number", numbers, f"should be one of the properties {', '.join(NUMBER_NAMES)}")
    longitude, latitude = _position(feature.get("geometry"))
    return ListedPlace(check_name(name) or None, latitude, longitude, number=number(*numbers or [None]))


def _position(geometry: Any) -> tuple[float, float]:
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if kind not in ("Point", "Polygon", "MultiPolygon"):
        raise InputError("geometry", kind, KINDS)
    coordinates = geometry.get("coordinates")
    if kind == "Point":
        return _corner(coordinates)
    polygons = [coordinates] if kind == "Polygon" else coordinates
    if not isinstance(polygons, list) or not all(isinstance(one, list) and one for one in polygons):
        raise InputError("coordinates", polygons, "should be lists of rings")
    return _centroid([(_ring(ring), at > 0) for polygon in polygons for at, ring in enumerate(polygon)])


def _corner(pair: Any) -> tuple[float, float]:
    what = "should be a longitude and a latitude in degrees, in WGS84, such as [-73.9772, 40.7527]"
    if not isinstance(pair, list) or len(pair) < 2:
        raise InputError("coordinates", pair, what)
    for one in pair[:2]:
        if isinstance(one, bool) or not isinstance(one, int | float) or not abs(one) <= 180:
            raise InputError("coordinates", pair, what)
    return float(pair[0]), float(pair[1])


def _ring(ring: Any) -> FloatArray:
    corners = [_corner(pair) for pair in ring] if isinstance(ring, list) else []
    if len(corners) < 4 or corners[0] != corners[-1]:
        raise InputError("coordinates", ring, "should be closed rings of at least four positions")
    return np.array(corners)


def _centroid(rings: list[tuple[FloatArray, bool]]) -> tuple[float, float]:
    every = np.concatenate([ring for ring, _ in rings])
    if np.ptp(every[:, 0]) > 180:
        raise InputError("coordinates", "across the antimeridian", "should be a Point, because its middle is unclear")
    first, total, moment = every[0], 0.0, np.zeros(2)
    for ring, is_hole in rings:
        one, two = ring[:-1] - first, ring[1:] - first
        areas = (one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]) / 2
        sign = np.sign(areas.sum()) * (-1 if is_hole else 1)
        total += sign * areas.sum()
        moment += sign * (areas[:, None] * (one + two) / 3).sum(axis=0)
    if not total > 0:
        raise InputError("coordinates", [ring.tolist() for ring, _ in rings], "should be a polygon with an area")
    longitude, latitude = (first + moment / total).tolist()
    return longitude, latitude
