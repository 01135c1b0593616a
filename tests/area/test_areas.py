"""Grids, hexagons, towers and points."""

from __future__ import annotations

import json

import h3
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyproj import Geod

import crowdveil as cv

NEW_YORK = (40.65, -74.03, 40.82, -73.90)


def all_kinds() -> list[cv.Area]:
    hexagons = cv.Hexagons.from_bounds(*NEW_YORK, resolution=7)
    grid = cv.Grid.from_bounds(*NEW_YORK, cell_km=1.0)
    return [
        grid,
        grid.subset([0, 5, 17, 100]),
        hexagons,
        cv.Towers.from_positions(*hexagons.centres()),
        cv.Area.from_points_km([[0.0, 0.0], [1.5, 2.25]]),
    ]


@pytest.mark.parametrize("area", all_kinds(), ids=lambda area: f"{area.kind}-{len(area)}")
def test_the_description_brings_back_the_same_cells_and_distances(area: cv.Area, tmp_path) -> None:  # type: ignore[no-untyped-def]
    area.save(tmp_path / "area.json")
    copy = cv.Area.load(tmp_path / "area.json")
    assert copy == area
    assert copy.xy_m.tolist() == area.xy_m.tolist()
    assert hash(copy) == hash(area)
    assert "." not in area.to_json()  # whole numbers only


@pytest.mark.parametrize("area", all_kinds(), ids=lambda area: f"{area.kind}-{len(area)}")
def test_squared_distances_are_exact_whole_metres(area: cv.Area) -> None:
    assert area.xy_m.dtype == np.int64
    squared = ((area.xy_m[:, None] - area.xy_m[None]) ** 2).sum(axis=2)
    assert squared.max() < 2**53
    cells = np.arange(len(area))
    assert (np.rint((area.distances_km(cells) * 1000) ** 2) == squared).all()
    assert area.nearest_neighbour_km * 1000 == pytest.approx(np.sqrt(squared[squared > 0].min()))


@pytest.mark.parametrize("area", all_kinds()[:4], ids=lambda area: f"{area.kind}-{len(area)}")
def test_distances_are_those_on_the_ground(area: cv.Area) -> None:
    lat, lon = area.centres()
    _, _, ground = Geod(ellps="WGS84").inv(np.full(len(area), lon[0]), np.full(len(area), lat[0]), lon, lat)
    assert area.distances_km([0])[0] == pytest.approx(np.asarray(ground) / 1000, abs=0.002, rel=1e-5)
    assert area.distance_shortening < 1e-5


@pytest.mark.parametrize("area", all_kinds()[:4], ids=lambda area: f"{area.kind}-{len(area)}")
def test_every_centre_lies_in_its_own_cell(area: cv.Area) -> None:
    assert area.locate(*area.centres()).tolist() == list(range(len(area)))
    assert area.locate([0.0], [0.0]).tolist() == [cv.OUTSIDE]
    assert area.locate([-40.7], [106.0]).tolist() == [cv.OUTSIDE]


def test_a_grid_covers_its_bounds_and_cuts_at_its_edges() -> None:
    grid = cv.Grid.from_bounds(*NEW_YORK, cell_km=0.5)
    south, west, north, east = NEW_YORK
    generator = np.random.default_rng(0)
    lat, lon = generator.uniform(south, north, 20_000), generator.uniform(west, east, 20_000)
    cells = grid.locate(lat, lon)
    assert (cells >= 0).all()
    x, y = grid.plane.to_metres(lat, lon)
    assert np.abs(x - grid.xy_m[cells, 0]).max() <= 250.0
    assert np.abs(y - grid.xy_m[cells, 1]).max() <= 250.0
    assert grid.locate([south - 0.02], [west]).tolist() == [cv.OUTSIDE]


def test_left_out_squares_are_no_cells() -> None:
    grid = cv.Grid.from_bounds(*NEW_YORK, cell_km=1.0)
    part = grid.subset([3, 4, 50])
    lat, lon = grid.centres()
    found = part.locate(lat, lon)
    assert found[[3, 4, 50]].tolist() == [0, 1, 2]
    assert (np.delete(found, [3, 4, 50]) == cv.OUTSIDE).all()
    assert part.subset([1]).xy_m.tolist() == [grid.xy_m[4].tolist()]


def test_hexagons_locate_as_h3_does() -> None:
    hexagons = cv.Hexagons.from_bounds(*NEW_YORK, resolution=8)
    generator = np.random.default_rng(1)
    lat, lon = generator.uniform(40.66, 40.81, 500), generator.uniform(-74.02, -73.91, 500)
    for cell, a, o in zip(hexagons.locate(lat, lon), lat, lon, strict=True):
        assert cell == cv.OUTSIDE or hexagons.cells[cell] == h3.latlng_to_cell(a, o, 8)


def test_towers_own_what_is_nearest_within_reach() -> None:
    towers = cv.Towers.from_positions([5.30, 5.35, 5.3500090], [-4.0, -4.0, -4.0], reach_km=3.0)
    assert towers.distance_km(1, 2) == pytest.approx(0.001)
    assert towers.locate([5.31, 5.34, 5.40], [-4.0, -4.001, -4.0]).tolist() == [0, 1, cv.OUTSIDE]


def test_of_equally_near_towers_the_first_one_owns_the_place() -> None:
    towers = cv.Towers.from_positions([0.01, -0.01, 0.01, -0.01], [0.01, 0.01, -0.01, -0.01])
    assert towers.locate([0.0, 0.0], [0.0, -0.01]).tolist() == [0, 2]


def test_an_area_across_the_antimeridian_is_one_area() -> None:
    grid = cv.Grid.from_bounds(-17.0, 179.9, -16.9, -179.9, cell_km=1.0)
    assert grid.columns == 22
    assert (grid.locate([-16.95, -16.95], [179.95, -179.95]) >= 0).all()


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.integers(2, 400), st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_blocks_hold_every_cell_once_and_boxes_hold_their_cells(n: int, leaf: int, seed: int) -> None:
    xy = np.unique(np.random.default_rng(seed).integers(-(10**6), 10**6, (n, 2)), axis=0)
    from crowdveil.area import Blocks

    blocks = Blocks.over(xy, leaf)
    assert sorted(blocks.order.tolist()) == list(range(len(xy)))
    for level in blocks.levels:
        for b in range(len(level)):
            inside = xy[blocks.order[level.starts[b] : level.starts[b + 1]]]
            assert (inside >= level.low_m[b]).all()
            assert (inside <= level.high_m[b]).all()
    assert np.diff(blocks.leaves.starts).max() <= leaf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cv.Area.from_points_km([[0, 0], [1, 1], [0, 0]]), r"cells = \[0, 2\]: have the same centre"),
        (lambda: cv.Area.from_points_km([[0.0, 0.0], [0.0004, 0.0]]), r"cells = \[0, 1\]: have the same centre"),
        (lambda: cv.Area.from_points_km([]), r"xy_km = \(0,\)"),
        (lambda: cv.Area.from_points_km([[0.0, float("nan")]]), r"xy_km\[0\] = \[0.0, nan\]: .*finite"),
        (lambda: cv.Area.from_points_km([[0, 5e7]]), r"xy_km\[0\].*are these metres\?"),
        (lambda: cv.Area.from_points_km([["a", "b"]]), "xy_km = .*array of numbers"),
        (lambda: cv.Grid.from_bounds(40.8, -74, 40.7, -73.9), "south = 40.8: should lie south of north"),
        (lambda: cv.Grid.from_bounds(-74, 40.7, -73.9, 400.8), "longitude = 400.8: should lie between -180 and 180"),
        (lambda: cv.Grid.from_bounds(100.7, -74, 100.8, -73), r"latitude = 100.7: .*swapped\?"),
        (lambda: cv.Grid.from_bounds(40.7, -74, 40.8, -74), "east = -74: should lie 0 to 30 degrees east"),
        (lambda: cv.Grid.from_bounds(30, -74, 50, -60), "bounds = .*within 633 km of their middle"),
        (lambda: cv.Grid.from_bounds(*NEW_YORK, cell_km=0), "cell_km = 0: should be a whole number of metres"),
        (lambda: cv.Grid.from_bounds(*NEW_YORK, cell_km=0.0333333), "cell_km = 0.0333333: should be a whole number"),
        (lambda: cv.Grid.from_bounds(*NEW_YORK, cell_km=float("nan")), "cell_km = nan"),
        (lambda: cv.Grid.from_bounds(*NEW_YORK, cell_km=0.001), "cell_km = 0.001: gives .* at most 1,000,000"),
        (lambda: cv.Hexagons.from_bounds(*NEW_YORK, resolution=16), "resolution = 16: should be a whole number"),
        (lambda: cv.Hexagons.from_bounds(*NEW_YORK, resolution=14), "resolution = 14: gives about"),
        (lambda: cv.Towers.from_positions([], []), "latitude = .*one or more"),
        (lambda: cv.Towers.from_positions([5.0], [1.0, 2.0]), "longitude = .*shape"),
        (lambda: cv.Towers.from_positions([5.0, 50.0], [1.0, 2.0]), "place = .* should lie within 633 km"),
        (lambda: cv.Area.from_points_km([[0, 0]]).locate([1.0], [1.0]), "area = 'points': has no latitude"),
        (lambda: cv.Area.from_points_km([[0, 0]]).subset([]), r"cells = \[\]: should contain at least one"),
    ],
)
def test_bad_input_is_refused_with_field_value_and_what_would_be_right(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(cv.InputError, match=message):
        make()


def lie(area: cv.Area, **changes: object) -> str:
    description = area.describe()
    description.update(changes)
    return json.dumps(description)


def test_a_device_notices_metres_that_are_not_where_they_claim_to_be() -> None:
    """Inflated coordinates would make e^{εd} larger than it is on the ground."""
    for area in (cv.Hexagons.from_bounds(*NEW_YORK, resolution=7), all_kinds()[3]):
        with pytest.raises(cv.FileFormatError, match=r"centres_m\[\d+\] = .*would be wrong"):
            cv.Area.from_json(lie(area, centres_m=(area.xy_m * 2).tolist()))
        nudged = area.xy_m.copy()
        nudged[3] += [0, 2]
        with pytest.raises(cv.FileFormatError, match=r"centres_m\[3\]"):
            cv.Area.from_json(lie(area, centres_m=nudged.tolist()))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"kind": "moon"}',
        '{"kind": ""}',
        '{"kind": "points"}',
        '{"kind": "points", "centres_m": [[0, 0], [1.5, 0]]}',
        '{"kind": "points", "centres_m": [[0, 0], [1]]}',
        '{"kind": "points", "centres_m": 3}',
        '{"kind": "points", "centres_m": [[0, NaN]]}',
        '{"kind": "points", "centres_m": [[0, 99999999999999999999]]}',
        '{"kind": "points", "centres_m": [[0, 0], [0, 0]]}',
        '{"kind": "points", "centres_m": [[0, 90000000]]}',
        lie(all_kinds()[0], rows=0),
        lie(all_kinds()[0], keep=[0, 1]),
        lie(all_kinds()[0], rows=10**9),
        lie(all_kinds()[0], cell_m="1"),
        lie(all_kinds()[0], origin_e7=[1]),
        lie(all_kinds()[0], origin_e7=[10**10, 0]),
        lie(all_kinds()[0], first_centre_m=[10**9, 0]),
        lie(all_kinds()[0], kept=[5, 4]),
        lie(all_kinds()[2], cells=["zzz"]),
        lie(all_kinds()[2], resolution=5),
        lie(all_kinds()[3], reach_m=-1),
        '"' * 100000,
        "[" * 100000,
    ],
    ids=range(27),
)
def test_a_broken_description_is_one_clear_error(text: str) -> None:
    with pytest.raises(cv.CrowdveilError):
        cv.Area.from_json(text)


def test_an_area_is_frozen() -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0]])
    with pytest.raises(ValueError, match="read-only"):
        area.xy_m[0, 0] = 5


def test_a_grid_on_the_public_lattice_covers_its_box_from_a_shared_origin() -> None:
    one = cv.Grid.on_lattice(*NEW_YORK, cell_km=0.5)
    other = cv.Grid.on_lattice(40.70, -74.3, 40.75, -73.99, cell_km=0.5)
    assert one.origin == other.origin == cv.Plane(400_000_000, -740_000_000)
    for grid in (one, other):
        assert [first % 500 for first in grid.first_centre_m] == [250, 250]
    south, west, north, east = NEW_YORK
    latitude, longitude = np.meshgrid(np.linspace(south, north, 50), np.linspace(west, east, 50))
    assert (one.locate(latitude, longitude) >= 0).all()
    assert len(one) <= len(cv.Grid.from_bounds(*NEW_YORK, cell_km=0.5)) + 3 * (one.rows + one.columns)
    assert cv.Area.from_description(one.describe()) == one


@pytest.mark.parametrize(
    ("bounds", "origin"),
    [
        ((-0.1, -0.1, 0.1, 0.1), (0, 0)),
        ((48.8, 2.2, 48.9, 2.5), (48, 2)),
        ((-33.9, 151.1, -33.8, 151.3), (-34, 152)),
        ((-18.0, 179.9, -17.9, -179.9), (-18, -180)),
        ((0.9, 0.9, 1.1, 1.1), (2, 2)),
        ((-1.1, -1.1, -0.9, -0.9), (0, 0)),
    ],
)
def test_public_lattices_have_their_origins_at_even_degrees(
    bounds: tuple[float, float, float, float], origin: tuple[int, int]
) -> None:
    plane = cv.Grid.on_lattice(*bounds).origin
    assert (plane.latitude_e7 / 1e7, plane.longitude_e7 / 1e7) == origin


def test_a_grid_on_the_public_lattice_has_even_metres() -> None:
    with pytest.raises(cv.InputError, match=r"cell_km = 0\.333: should be an even number of metres"):
        cv.Grid.on_lattice(*NEW_YORK, cell_km=0.333)
    with pytest.raises(cv.InputError, match="cell_km = 0"):
        cv.Grid.on_lattice(*NEW_YORK, cell_km=0)
    with pytest.raises(cv.InputError, match="should give at most 1,000,000"):
        cv.Grid.on_lattice(*NEW_YORK, cell_km=0.01)
