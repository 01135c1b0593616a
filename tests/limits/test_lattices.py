"""Maps that combine to something finer than each of them are refused."""

from __future__ import annotations

import pytest

import crowdveil as cv
from crowdveil.area import Hexagons
from crowdveil.limits import Lattice, compatible
from tests.limits.some_terms import squares, towers

BOX = (40.65, -74.03, 40.82, -73.90)
BESIDE = (40.65, -73.85, 40.82, -73.70)
OVERLAPPING = (40.70, -73.98, 40.90, -73.80)


def both(one: cv.Area, other: cv.Area) -> bool:
    found = compatible(Lattice.of(one), Lattice.of(other))
    assert compatible(Lattice.of(other), Lattice.of(one)) == found
    return found


@pytest.mark.parametrize(("one_km", "other_km"), [(1.0, 1.0), (1.0, 0.5), (0.25, 2.0), (0.5, 1.5)])
def test_campaign_maps_that_know_nothing_of_each_other_fit(one_km: float, other_km: float) -> None:
    assert both(cv.Grid.on_lattice(*BOX, cell_km=one_km), cv.Grid.on_lattice(*OVERLAPPING, cell_km=other_km))


@pytest.mark.parametrize(("one_km", "other_km"), [(1.0, 1.5), (0.4, 1.0), (1.0, 1.002)])
def test_sizes_that_do_not_divide_one_another_do_not_fit(one_km: float, other_km: float) -> None:
    assert not both(cv.Grid.on_lattice(*BOX, cell_km=one_km), cv.Grid.on_lattice(*BOX, cell_km=other_km))


def shifted(grid: cv.Grid, east_m: int, north_m: int) -> cv.Grid:
    x, y = grid.first_centre_m
    return cv.Grid.build(grid.origin, grid.cell_m, grid.rows, grid.columns, (x + east_m, y + north_m))


@pytest.mark.parametrize("offset", [(1, 0), (0, 1), (250, 0), (500, 500), (999, 1000)])
def test_shifted_grids_do_not_fit(offset: tuple[int, int]) -> None:
    town = squares(6)
    assert not both(town, shifted(town, *offset))
    assert both(town, shifted(town, 1000, -2000))


def test_a_coarse_grid_fits_only_if_its_corners_are_corners_of_the_fine_one() -> None:
    fine = cv.Grid.on_lattice(*BOX, cell_km=0.5)
    coarse = cv.Grid.on_lattice(*BOX, cell_km=2.0)
    assert both(fine, shifted(coarse, 500, 1500))
    assert not both(fine, shifted(coarse, 250, 0))
    assert not both(fine, shifted(coarse, 500, 1))


def test_a_moved_plane_is_another_lattice() -> None:
    town = squares(6)
    moved = cv.Grid.build(
        cv.Plane(town.origin.latitude_e7 + 10, town.origin.longitude_e7), 1000, 6, 6, town.first_centre_m
    )
    assert not both(town, moved)


def test_a_grid_of_odd_metres_fits_itself_alone() -> None:
    town = squares(6, 0.333)
    assert both(town, town.subset(range(20)))
    assert not both(town, shifted(town, 1, 0))


def test_subsets_of_one_grid_fit() -> None:
    town = squares(6)
    assert both(town.subset(range(0, 36, 2)), town.subset(range(1, 36, 2)))


def test_hexagons_fit_hexagons_but_not_squares() -> None:
    eight, nine = (Hexagons.from_bounds(*BOX, resolution=resolution) for resolution in (8, 9))
    assert both(eight, nine)
    assert not both(eight, cv.Grid.on_lattice(*BOX))


def test_towers_fit_only_themselves() -> None:
    one, other = towers(1.0, 20.0), towers(1.1, 20.0)
    assert both(one, one)
    assert not both(one, other)
    assert not both(one, one.subset(range(15)))


def test_maps_that_share_no_place_fit_whatever_they_are() -> None:
    here, beside = cv.Grid.from_bounds(*BOX), cv.Grid.from_bounds(*BESIDE)
    assert both(here, beside)
    assert both(here, Hexagons.from_bounds(*BESIDE))
    assert not both(here, cv.Grid.from_bounds(*OVERLAPPING))
    latitude, longitude = beside.centres()
    assert both(here, cv.Towers.from_positions(latitude, longitude, reach_km=1.0))
    assert not both(here, cv.Towers.from_positions(latitude, longitude, reach_km=20.0))


def test_boxes_go_across_the_antimeridian_and_around_the_poles() -> None:
    pacific = cv.Grid.from_bounds(-18.0, 179.9, -17.9, -179.9)
    assert not both(pacific, cv.Grid.from_bounds(-18.0, -179.95, -17.9, -179.8))
    assert not both(pacific, cv.Grid.from_bounds(-18.0, 179.85, -17.9, 179.95))
    assert both(pacific, cv.Grid.from_bounds(-18.0, 179.0, -17.9, 179.5))
    assert not both(cv.Grid.from_bounds(88.0, 0.0, 88.1, 2.0), cv.Grid.from_bounds(88.0, 90.0, 88.1, 92.0))


def test_a_lattice_survives_being_written_down() -> None:
    for area in (squares(6), Hexagons.from_bounds(*BOX), towers(1.0, 20.0)):
        lattice = Lattice.of(area)
        assert Lattice.from_dict(lattice.as_dict()) == lattice
    written = lattice.as_dict()
    for wrong in ({}, {**written, "cell_m": "1000"}, {**written, "box_e7": [1, 2, 3]}, {**written, "more": 1}):
        with pytest.raises(cv.FileFormatError, match="lattice of an earlier map"):
            Lattice.from_dict(wrong)
