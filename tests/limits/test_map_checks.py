"""Maps that name houses are refused, however private their policies are; ordinary maps are accepted."""

from __future__ import annotations

import re
from collections.abc import Callable

import h3
import numpy as np
import pytest

import crowdveil as cv
from crowdveil.area import Hexagons
from crowdveil.errors import CampaignRefused, OutsideLimits
from crowdveil.limits import PrivacyLimits, check_map
from crowdveil.limits.map_checks import region_sizes_km
from crowdveil.paper.cities import CitySource, offsets, open_city
from crowdveil.traces import synthetic_visits, tower_positions
from tests.limits.some_terms import spread_squares, squares, towers
from tests.profile.people import NEW_YORK as CHECK_INS
from tests.profile.people import needs_new_york

NEW_YORK = (40.65, -74.03, 40.82, -73.90)


def spread_hexagons(resolution: int) -> Hexagons:
    """The one small hexagon in the middle of each of many larger ones."""
    larger = Hexagons.from_bounds(*NEW_YORK, resolution=7).cells
    return Hexagons.from_ids([h3.cell_to_center_child(cell, resolution) for cell in larger])


def a_house_apart() -> cv.Grid:
    """A town of 1 km squares, and one square 4 km from all others."""
    town = squares(12)
    return town.subset([*range(6 * 12), 12 * 9 + 5])


def a_pair_apart() -> cv.Grid:
    town = squares(12)
    return town.subset([*range(6 * 12), 12 * 9 + 5, 12 * 9 + 6])


def blocks(side: int, every: int = 20) -> cv.Grid:
    """Blocks of squares of 250 m, as far apart."""
    many = 2 * every + side
    row, column = np.divmod(np.arange(many**2), many)
    return squares(many, 0.25).subset(np.flatnonzero((row % every < side) & (column % every < side)))


def threes() -> cv.Grid:
    """Squares of 250 m kept in threes, each within 2 km of two others."""
    row, column = np.divmod(np.arange(60**2), 60)
    corners = ((3, 3), (8, 3), (3, 8))
    chosen = sum(((row % 20 == y) & (column % 20 == x)) for y, x in corners)
    return squares(60, 0.25).subset(np.flatnonzero(chosen))


def test_a_map_may_have_pieces_as_large_as_the_smallest_map() -> None:
    check_map(blocks(4), PrivacyLimits())
    check_map(towers(1.0, 0.51), PrivacyLimits())
    with pytest.raises(OutsideLimits, match="falls into pieces"):
        check_map(blocks(4), PrivacyLimits(min_cells=17))


HOSTILE: dict[str, tuple[cv.Area, str]] = {
    "squares of 250 m kept in threes": (threes(), "The piece with cell 0 covers 0.0625 km²"),
    "blocks of four squares of 250 m": (blocks(2), "The piece with cell 0 covers 0.25 km²"),
    "blocks of nine squares of 250 m": (blocks(3), "The piece with cell 0 covers 0.562 km²"),
    "towers 1 km apart with a reach of 300 m": (towers(1.0, 0.3), "The piece with cell 0 covers 0.283 km²"),
    "towers 5 km apart with a reach of 30 m": (towers(5.0, 0.03), "smallest region .* 0.053 km"),
    "towers 5 km apart with a reach of 300 m": (towers(5.0, 0.3), "1 cells within 2 km"),
    "towers 1 km apart with a reach of 100 m": (towers(1.0, 0.1), "smallest region .* 0.177 km"),
    "towers whose reach is as wide as the limit": (towers(1.0, 0.125), "smallest region .* 0.222 km"),
    "towers 100 m apart": (towers(0.1, 20.0), "0.100 km apart"),
    "squares of 100 m": (squares(6, 0.1), "0.100 km apart"),
    "squares of 249 m": (squares(6, 0.249), "0.249 km apart"),
    "squares of 10 m, one kept in each kilometre": (spread_squares(0.01, 100), "square of 0.010 km"),
    "squares of 200 m, one kept in each kilometre": (spread_squares(0.2, 5), "square of 0.200 km"),
    "squares of 250 m, one kept in each 3 km": (spread_squares(0.25, 12), "1 cells within 2 km"),
    "squares of 6 km": (squares(5, 6.0), "6 km from its nearest neighbour"),
    "one kilometre apart from a town": (a_house_apart(), "1 cells within 2 km"),
    "two kilometres apart from a town": (a_pair_apart(), "2 cells within 2 km"),
    "hexagons of 130 m": (Hexagons.from_bounds(40.70, -74.0, 40.71, -73.99, resolution=10), "km apart"),
    "hexagons of 20 m, one kept in each 2.4 km": (spread_hexagons(12), "square of 0.01[0-9] km"),
    "hexagons of 350 m, one kept in each 2.4 km": (spread_hexagons(9), "1 cells within 2 km"),
    "fifteen squares": (squares(4).subset(range(15)), ""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_map_that_names_houses_is_refused(name: str) -> None:
    area, figures = HOSTILE[name]
    with pytest.raises(OutsideLimits, match="This phone does not take part") as refusal:
        check_map(area, PrivacyLimits())
    assert re.search(figures, refusal.value.figures), refusal.value.figures


def test_bare_points_are_refused() -> None:
    with pytest.raises(CampaignRefused, match="no latitudes and longitudes"):
        check_map(cv.Area.from_points_km([[x, 0] for x in range(20)]), PrivacyLimits())


FINE: dict[str, Callable[[], cv.Area]] = {
    "squares of 250 m": lambda: squares(8, 0.25),
    "squares of 1 km": lambda: squares(4),
    "squares of 2 km": lambda: squares(4, 2.0),
    "squares of 5 km": lambda: squares(4, 5.0),
    "a campaign's grid": lambda: cv.Grid.on_lattice(*NEW_YORK, cell_km=1.0),
    "the demonstration": lambda: cv.Grid.around(synthetic_visits(np.random.default_rng(1), users=300, weeks=4)),
    "hexagons of resolution 7": lambda: Hexagons.from_bounds(*NEW_YORK, resolution=7),
    "hexagons of resolution 8": lambda: Hexagons.from_bounds(*NEW_YORK, resolution=8),
    "hexagons of resolution 9": lambda: Hexagons.from_bounds(*NEW_YORK, resolution=9),
    "towers of a city": lambda: cv.Towers.from_positions(*tower_positions(np.random.default_rng(2018), towers=250)),
    "towers of the countryside": lambda: towers(4.0, 20.0),
}


@pytest.mark.parametrize("name", FINE)
def test_an_ordinary_map_is_accepted(name: str) -> None:
    check_map(FINE[name](), PrivacyLimits())


@pytest.mark.long
@needs_new_york
def test_the_kept_squares_of_new_york_are_accepted() -> None:
    for offset in range(offsets("new-york")):
        area = open_city(CitySource("new-york", str(CHECK_INS)), offset).area
        assert len(area) > 200
        check_map(area, PrivacyLimits())


def test_the_size_of_a_region_is_never_overstated() -> None:
    assert region_sizes_km(spread_squares(0.25, 8)).tolist() == [0.25] * 25
    hexagons = Hexagons.from_bounds(*NEW_YORK, resolution=8)
    true = np.sqrt([h3.cell_area(cell) for cell in hexagons.cells])
    np.testing.assert_allclose(region_sizes_km(hexagons), true, rtol=2e-3)
    np.testing.assert_array_less(region_sizes_km(towers(1.0, 20.0)), 1.0)
    np.testing.assert_allclose(region_sizes_km(towers(5.0, 0.1)), np.sqrt(np.pi) * 0.1)


@pytest.mark.parametrize(
    ("limits", "area"),
    [
        (PrivacyLimits(cell_km=1.0), squares(6)),
        (PrivacyLimits(gap_km=1.0), squares(6)),
        (PrivacyLimits(min_cells=36), squares(6)),
        (PrivacyLimits(cells_within_2_km=6), squares(6)),
        (PrivacyLimits(cells_within_2_km=1, gap_km=4.0), a_house_apart()),
        (PrivacyLimits(cells_within_2_km=2, gap_km=4.0), a_pair_apart()),
    ],
)
def test_limits_are_met_exactly(limits: PrivacyLimits, area: cv.Area) -> None:
    check_map(area, limits)


@pytest.mark.parametrize(
    "limits",
    [
        PrivacyLimits(cell_km=1.0001),
        PrivacyLimits(gap_km=0.9999),
        PrivacyLimits(min_cells=37),
        PrivacyLimits(cells_within_2_km=7),
        PrivacyLimits(cells_within_2_km=37),
    ],
)
def test_limits_are_not_exceeded_by_a_hair(limits: PrivacyLimits) -> None:
    with pytest.raises(OutsideLimits):
        check_map(squares(6), limits)
