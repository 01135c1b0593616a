"""Areas and policies as GeoJSON: valid by RFC 7946, wherever they lie."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import crowdveil as cv


def polygons(feature: dict[str, Any]) -> list[list[list[float]]]:
    geometry = feature["geometry"]
    if geometry["type"] == "Polygon":
        return [geometry["coordinates"][0]]
    assert geometry["type"] == "MultiPolygon"
    return [polygon[0] for polygon in geometry["coordinates"]]


def turning(ring: list[list[float]]) -> float:
    """Twice the signed area: positive if it goes anticlockwise."""
    return sum(x * v - u * y for (x, y), (u, v) in pairwise(ring))


def check(collection: dict[str, Any], area: cv.Area) -> None:
    assert json.loads(json.dumps(collection, allow_nan=False)) == collection
    assert collection["type"] == "FeatureCollection"
    assert len(collection["features"]) == len(area)
    latitude, _ = area.centres()
    for cell, feature in enumerate(collection["features"]):
        assert feature["type"] == "Feature"
        properties = feature["properties"]
        assert properties["cell"] == cell
        assert properties["latitude"] == pytest.approx(latitude[cell], abs=1e-6)
        for ring in polygons(feature):
            assert ring[0] == ring[-1]
            assert len(ring) >= 4
            assert turning(ring) > 0
            assert all(-180 <= x <= 180 and -90 <= y <= 90 for x, y in ring)
        centre = (properties["longitude"], properties["latitude"])
        assert any(_contains(ring, centre) for ring in polygons(feature))


def _contains(ring: list[list[float]], point: tuple[float, float]) -> bool:
    """Whether a convex ring holds a point: it lies to the left of every side."""
    x, y = point
    return all((c - a) * (y - b) - (d - b) * (x - a) >= -1e-9 for (a, b), (c, d) in pairwise(ring))


AREAS = {
    "squares": cv.Grid.from_bounds(40.70, -74.02, 40.75, -73.97, cell_km=1.0),
    "squares across the antimeridian": cv.Grid.from_bounds(-17.0, 179.93, -16.9, -179.95, cell_km=3.0),
    "squares that touch the antimeridian": cv.Grid.from_bounds(-17.0, 179.95, -16.9, -179.95, cell_km=3.0),
    "squares west of the antimeridian": cv.Grid.from_bounds(-17.0, 179.90, -16.9, 179.99, cell_km=1.0),
    "hexagons": cv.Hexagons.from_bounds(48.1, 11.4, 48.2, 11.6, resolution=7),
    "hexagons across the antimeridian": cv.Hexagons.from_bounds(-17.0, 179.9, -16.8, -179.9, resolution=6),
    "towers": cv.Towers.from_positions([48.1, 48.15, 48.2], [11.4, 11.5, 11.45], reach_km=5.0),
}


@pytest.mark.parametrize("name", AREAS)
def test_every_kind_of_area_is_valid_geojson(name: str) -> None:
    check(AREAS[name].to_geojson(), AREAS[name])


@pytest.mark.parametrize("name", ["squares across the antimeridian", "hexagons across the antimeridian"])
def test_a_cell_across_the_antimeridian_is_cut_in_two(name: str) -> None:
    features = AREAS[name].to_geojson()["features"]
    cut = [feature for feature in features if feature["geometry"]["type"] == "MultiPolygon"]
    assert cut
    for feature in cut:
        east, west = polygons(feature)
        assert max(x for x, _ in east) == 180
        assert min(x for x, _ in west) == -180
    wide = [max(x for x, _ in ring) - min(x for x, _ in ring) for one in features for ring in polygons(one)]
    assert max(wide) < 1


def test_a_policy_adds_its_chances_and_targets() -> None:
    grid = AREAS["squares"]
    policy = cv.optimal_policy(grid, None, [7, 8], epsilon_per_km=1.0, beta=0.1)
    features = policy.to_geojson()["features"]
    assert [one["properties"]["cell"] for one in features if one["properties"]["is_target"]] == [7, 8]
    assert np.array_equal([one["properties"]["hit_probability"] for one in features], policy.hit)


def test_properties_are_checked() -> None:
    grid = AREAS["squares"]
    with pytest.raises(cv.InputError, match=r"properties\['a'\] = 2: should be one value for each of"):
        grid.to_geojson({"a": [1, 2]})
    with pytest.raises(cv.InputError, match="properties = 'cell': is a property of every cell already"):
        grid.to_geojson({"cell": [1] * len(grid)})


def test_points_of_a_plane_have_no_place_on_a_map() -> None:
    with pytest.raises(cv.InputError, match="has no latitude and longitude"):
        cv.Area.from_points_km([[0, 0], [1, 0]]).to_geojson()
