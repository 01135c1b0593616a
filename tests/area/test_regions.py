"""Regions tile the map, and walls are where two cells are equally near."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.area.regions import regions, voronoi_edges
from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError

NEW_YORK = (40.65, -74.03, 40.82, -73.90)


def size_m2(polygon: FloatArray) -> float:
    x, y = polygon.T
    return float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


def test_a_grid_has_squares_and_left_out_squares_stay_empty() -> None:
    area = Grid.from_bounds(*NEW_YORK).subset([0, 1, 5, 30])
    polygons = regions(area)
    assert len(polygons) == 4
    assert [size_m2(polygon) for polygon in polygons] == [1e6] * 4
    np.testing.assert_allclose([polygon.mean(axis=0) for polygon in polygons], area.xy_m)


def test_hexagons_have_the_boundaries_of_h3() -> None:
    area = Hexagons.from_bounds(*NEW_YORK, resolution=8)
    polygons = regions(area)
    assert {len(polygon) for polygon in polygons} == {6}
    np.testing.assert_allclose([p.mean(axis=0) for p in polygons], area.xy_m, atol=2)
    assert all(6e5 < size_m2(polygon) < 9e5 for polygon in polygons)


def test_voronoi_regions_tile_their_box_and_hold_their_centres() -> None:
    area = Area.from_points_km(np.random.default_rng(5).uniform(0, [9, 4], (120, 2)))
    polygons = regions(area)
    corners = np.vstack(polygons)
    box = np.ptp(corners, axis=0).prod()
    assert sum(size_m2(polygon) for polygon in polygons) == pytest.approx(float(box), rel=1e-9)
    inside = np.array([polygon.mean(axis=0) for polygon in polygons])
    assert (area.tree.query(inside)[1] == np.arange(120)).all()


@pytest.mark.parametrize("points", [[[0, 0]], [[0, 0], [1, 0]], [[0, 0], [2, 2], [5, 5], [3, 3]]])
def test_one_cell_two_cells_and_a_line_of_cells_have_regions(points: list[list[float]]) -> None:
    polygons = regions(Area.from_points_km(points))
    assert len(polygons) == len(points)
    assert all(size_m2(polygon) > 0 for polygon in polygons)


def test_a_towers_region_ends_at_its_reach() -> None:
    area = Towers.from_positions([5.3, 5.31, 5.6], [-4.0, -4.0, -4.0], reach_km=2)
    polygons = regions(area)
    for polygon, centre in zip(polygons, area.xy_m, strict=True):
        assert np.hypot(*(polygon - centre).T).max() <= 2000 + 1e-6
    assert size_m2(polygons[2]) > 5e6


coordinate = st.one_of(st.integers(-4, 4), st.integers(-600_000, 600_000))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(coordinate, coordinate), min_size=2, max_size=30, unique=True))
def test_every_wall_is_equally_near_to_its_two_cells_and_nearer_to_no_other(
    points: list[tuple[int, int]],
) -> None:
    area = Area.from_points_km(np.array(points) / 1000)
    left, right, begin, end = voronoi_edges(area)
    one, two = area.xy_m[left].astype(float), area.xy_m[right].astype(float)
    across = (two - one) / np.hypot(*(two - one).T)[:, None]
    first = np.where(np.isinf(begin), np.minimum(end, 0) - 1e6, begin)
    first[np.isinf(begin) & np.isinf(end)] = -1e6
    last = np.where(np.isinf(end), np.maximum(first, 0) + 1e6, end)
    for share in (0.001, 0.5, 0.999):
        position = (1 - share) * first + share * last
        place = (one + two) / 2 + position[:, None] * np.column_stack([-across[:, 1], across[:, 0]])
        distance = np.hypot(*(place - one).T)
        np.testing.assert_allclose(area.tree.query(place)[0], distance, rtol=1e-9, atol=1e-6)


def test_a_grid_has_no_walls_between_cells_that_touch_at_a_corner() -> None:
    found = voronoi_edges(Grid.from_bounds(*NEW_YORK).subset([0, 1, 2, 11, 12, 13, 22, 23, 24]))
    assert len(found.left) == 12
    assert sorted((found.end_m - found.begin_m).tolist())[:4] == [1000.0] * 4
    assert np.isinf(found.end_m - found.begin_m).sum() == 8


def test_cells_metres_apart_across_a_continent_are_refused_rather_than_guessed() -> None:
    rng = np.random.default_rng(0)
    clusters = rng.integers(-(2**24) + 9, 2**24 - 9, (8, 2))
    points = np.unique(np.vstack([centre + rng.integers(0, 4, (8, 2)) for centre in clusters]), axis=0)
    with pytest.raises(InputError, match="no Voronoi diagram"):
        voronoi_edges(Area.from_points_km(points / 1000))
