"""Maps that combine to something finer than each of them are refused."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.area import Hexagons
from crowdveil.errors import OutsideLimits
from crowdveil.limits import Lattice, PrivacyLimits, check_lattice, compatible, lattices
from crowdveil.limits.lattices import smallest_piece_km2
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


def test_hexagons_fit_only_themselves_because_their_sizes_do_not_nest() -> None:
    eight, nine = (Hexagons.from_bounds(*BOX, resolution=resolution) for resolution in (8, 9))
    assert both(eight, eight)
    assert not both(eight, nine)
    assert not both(nine, nine.subset(range(100)))
    assert not both(eight, cv.Grid.on_lattice(*BOX))


# --- maps laid over each other ----------------------------------------------------------------------------------


def block(row: int, column: int, rows: int = 4, columns: int = 4, cell_m: int = 250) -> cv.Grid:
    """Squares from a row and a column of the lattice of 250 m on."""
    first = (column * 250 + cell_m // 2, row * 250 + cell_m // 2)
    return cv.Grid.build(cv.Plane(0, 0), cell_m, rows, columns, first)


def smallest(new: cv.Grid, *earlier: cv.Grid) -> float:
    return smallest_piece_km2(Lattice.of(new), [Lattice.of(one) for one in earlier])


def slow_smallest(*maps: cv.Grid) -> float:
    """The same by looking at every square of 250 m, one by one."""
    covered: dict[tuple[int, int], tuple[bool, ...]] = {}
    for x in range(-2, 40):
        for y in range(-2, 40):
            point = cv.Plane(0, 0).to_degrees(np.array([x * 250.0 + 125]), np.array([y * 250.0 + 125]))
            covered[x, y] = tuple(int(one.locate(*point)[0]) >= 0 for one in maps)
    sizes, seen = [], set[tuple[int, int]]()
    for start, pattern in covered.items():
        if not any(pattern) or start in seen:
            continue
        waiting, size = [start], 0
        seen.add(start)
        while waiting:
            x, y = waiting.pop()
            size += 1
            for beside in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if beside not in seen and covered.get(beside) == pattern:
                    seen.add(beside)
                    waiting.append(beside)
        sizes.append(size)
    return min(sizes) / 16


@pytest.mark.parametrize(
    ("maps", "km2"),
    [
        ([block(0, 0), block(3, 3)], 1 / 16),
        ([block(0, 0), block(2, 2)], 4 / 16),
        ([block(0, 5, 8, 8), block(3, 2, 8, 6)], 15 / 16),
        ([block(0, 0), block(0, 0, 8, 8)], 1.0),
        ([block(0, 0, 8, 8), block(0, 0, 8, 7)], 8 / 16),
        ([block(0, 0, 4, 4, 1000), block(0, 0, 16, 15)], 1.0),
        ([block(0, 0, 4, 4, 1000), block(1, 1, 16, 16)], 31 / 16),
        ([block(0, 0, 8, 8), block(4, 0, 8, 8), block(2, 2, 8, 8)], 0.5),
        ([block(0, 0, 8, 8).subset([*range(27), *range(28, 64)]), block(0, 0, 8, 8)], 1 / 16),
        ([block(0, 0, 8, 8).subset(range(0, 64, 9)), block(0, 0, 8, 8)], 1 / 16),
    ],
)
def test_the_smallest_part_that_maps_mark_off_together(maps: list[cv.Grid], km2: float) -> None:
    assert smallest(*maps) == pytest.approx(km2)
    assert smallest(*maps[::-1]) == pytest.approx(km2)
    assert slow_smallest(*maps) == pytest.approx(km2)


def test_the_ground_of_a_map_is_kept_as_few_rectangles() -> None:
    assert Lattice.of(block(0, 0)).ground_half_m == ((0, 0, 2000, 2000),)
    bent = block(1, 2, 3, 4).subset([0, 1, 2, 4, 5, 6, 8, 11])
    assert Lattice.of(bent).ground_half_m == (
        (1000, 500, 2500, 1500),
        (1000, 1500, 1500, 2000),
        (2500, 1500, 3000, 2000),
    )


def test_only_maps_of_the_same_plane_are_laid_over_each_other() -> None:
    here, far = block(0, 0), cv.Grid.build(cv.Plane(1000, 0), 250, 4, 4, (125 + 750, 125 + 750))
    assert smallest(here, far) == inf
    towers_there = Lattice.of(towers(1.0, 20.0))
    assert smallest_piece_km2(Lattice.of(here), [towers_there]) == inf


def test_maps_that_do_not_overlap_mark_off_nothing() -> None:
    assert smallest(block(0, 0), block(0, 0)) == inf
    assert smallest(block(0, 0), block(40, 40)) == inf
    assert smallest(block(0, 0)) == inf


def test_maps_that_share_too_small_a_part_are_refused_and_larger_limits_refuse_more() -> None:
    earlier = [Lattice.of(block(0, 0))]
    check_lattice(Lattice.of(block(0, 0, 8, 8)), earlier, PrivacyLimits())
    with pytest.raises(OutsideLimits, match="that your answers together could identify you") as refusal:
        check_lattice(Lattice.of(block(3, 3)), earlier, PrivacyLimits())
    assert refusal.value.figures == "The smallest part covers 0.0625 km²; this device accepts no less than 1 km²."
    with pytest.raises(OutsideLimits):
        check_lattice(Lattice.of(block(0, 0, 8, 8)), earlier, PrivacyLimits(min_cells=17))


def test_a_map_of_very_many_pieces_fits_only_itself_and_too_many_patches_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chequered = block(0, 0, 70, 70).subset([square for square in range(4900) if (square // 70 + square) % 2 == 0])
    assert len(chequered) > lattices.MAX_RECTANGLES
    assert Lattice.of(chequered).ground_half_m == ()
    assert both(chequered, chequered)
    assert not both(chequered, block(0, 0))
    monkeypatch.setattr(lattices, "MAX_PATCHES", 8)
    assert smallest(block(2, 2), block(0, 0)) == 0.0
    monkeypatch.setattr(lattices, "MAX_PATCHES", 9)
    assert smallest(block(2, 2), block(0, 0)) == 0.25
    monkeypatch.setattr(lattices, "MAX_RECTANGLES", 2)
    assert Lattice.of(block(0, 0).subset([0, 2])).ground_half_m != ()
    assert Lattice.of(block(0, 0).subset([0, 2, 8])).ground_half_m == ()


def test_the_box_of_towers_far_from_the_middle_of_their_plane_is_not_too_small() -> None:
    """The plane shows distances too short there, so that a reach in the plane is longer on the ground."""
    latitude = np.append(np.linspace(5.0, 5.65, 40), 0.0)
    area = cv.Towers.from_positions(latitude, np.full(41, 10.0), reach_km=265.0)
    north = Lattice.of(area).box_e7[2] / 1e7
    plane = area.plane
    assert plane is not None
    x, y = area.xy_m[:, 0], area.xy_m[:, 1]
    farthest = int(y.argmax())
    edge_latitude, _ = plane.to_degrees(x[[farthest]], y[[farthest]] + 1000 * 265.0)
    assert north >= float(edge_latitude[0])


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
    for wrong in (
        {},
        {**written, "cell_m": "1000"},
        {**written, "box_e7": [1, 2, 3]},
        {**written, "more": 1},
        {**written, "ground_half_m": [[0, 0, 1]]},
        {**written, "ground_half_m": [[0, 0, 1, 1.5]]},
        {**written, "ground_half_m": [(0, 0, 1, 1)]},
    ):
        with pytest.raises(cv.FileFormatError, match="lattice of an earlier map"):
            Lattice.from_dict(wrong)
