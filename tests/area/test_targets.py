"""Targets say which cell each place became, which fell together, and which lie outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdveil as cv
from crowdveil.area.targets import TARGETS_HEADER

GRID = cv.Grid.from_bounds(40.70, -74.00, 40.74, -73.95, cell_km=1.0)
AREAS = {
    "grid": GRID,
    "hexagons": cv.Hexagons.from_bounds(40.70, -74.00, 40.74, -73.95, resolution=8),
    "towers": cv.Towers.from_positions([40.70, 40.74, 40.72], [-74.00, -73.95, -73.97], reach_km=3.0),
}


def at(cell: int, area: cv.Area = GRID) -> str:
    latitude, longitude = area.centres()
    return f"{latitude[cell]:.7f}, {longitude[cell]:.7f}"


@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
def test_every_cell_is_found_again_by_its_centre(area: cv.Area) -> None:
    found = cv.read_targets("\n".join(f"Cell no. {cell}: {at(cell, area)}" for cell in range(len(area))), area)
    assert found.cells == tuple(range(len(area)))
    assert found.names == tuple(f"Cell no. {cell}" for cell in range(len(area)))
    assert found.notes == ()


@given(st.lists(st.tuples(st.floats(40.66, 40.78), st.floats(-74.05, -73.90)), min_size=1, max_size=20))
def test_every_place_is_accounted_for(places: list[tuple[float, float]]) -> None:
    text = "\n".join(f"{latitude:.9f}, {longitude:.9f}" for latitude, longitude in places)
    cells = GRID.locate(*np.round(np.array(places), 9).T)
    if (cells == cv.OUTSIDE).all():
        with pytest.raises(cv.InputError, match="should lie in a cell of this area"):
            cv.read_targets(text, GRID, leave_out_outside=True)
        return
    found = cv.read_targets(text, GRID, leave_out_outside=True)
    assert [place.cell for place in found.given] == cells.tolist()
    assert found.cells == tuple(dict.fromkeys(cell for cell in cells.tolist() if cell != cv.OUTSIDE))
    assert len(found.left_out) == (cells == cv.OUTSIDE).sum()
    named = [name for target in found.targets for name in target.places] + [place.name for place in found.left_out]
    assert sorted(named) == sorted(f"place {number}" for number in range(1, len(places) + 1))


def test_places_in_one_cell_become_one_target_and_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "shops.csv"
    path.write_text(f"name,lat,lon,number\nA,{at(12)},3\nB,{at(7)},\nC,40.7201,-73.9751,4\n")
    found = cv.read_targets(path, GRID)
    assert (found.names, found.cells, found.numbers) == (("A + C", "B"), (12, 7), (7, None))
    (said,) = found.notes
    assert said.startswith("'A' and 'C' lie in the same cell, 12, and are one target for 7 people: ")
    assert [row[-1] for row in found.rows()] == ["together with 'C'", "", "together with 'A'"]
    with pytest.raises(cv.InputError, match=r"\['A', 'C'\]: lie in the same cell, 12, .* smaller cells") as refusal:
        cv.read_targets(path, GRID, keep_apart=True)
    assert "without keep_apart" in refusal.value.expected
    finer = cv.Grid.from_bounds(40.70, -74.00, 40.74, -73.95, cell_km=0.02)
    assert cv.read_targets(path, finer, keep_apart=True).names == ("A", "B", "C")


def test_places_outside_are_refused_with_their_distance_or_left_out() -> None:
    text = f"A: {at(3)}; Statue: 40.6892, -74.0445; Null Island: 0.0, 0.0"
    with pytest.raises(cv.InputError, match=r"targets = \['Statue', 'Null Island'\]: should lie in a cell") as refusal:
        cv.read_targets(text, GRID)
    for said in (
        "covers 40.6975 N to 40.7425 N",
        "'Statue' (40.6892, -74.0445) is 4.",
        "km from the centre of the nearest cell, 0",
    ):
        assert said in refusal.value.expected
    assert "'Null Island' (0.0, 0.0) is 8,6" in refusal.value.expected
    assert "leave them out with leave_out_outside" in refusal.value.expected
    found = cv.read_targets(text, GRID, leave_out_outside=True)
    assert (found.cells, [place.name for place in found.left_out]) == ((3,), ["Statue", "Null Island"])
    assert [note.endswith(", and is left out.") for note in found.notes] == [True, True]
    assert found.rows()[1][-1].startswith("outside, 4.")
    assert found.describe()[1]["cell"] is None
    with pytest.raises(cv.InputError, match="targets = \\['Statue'\\]") as refusal:
        cv.read_targets("Statue: 40.6892, -74.0445", GRID, leave_out_outside=True)
    assert "leave_out_outside" not in refusal.value.expected


def test_distances_to_the_nearest_cell_are_those_on_the_ground() -> None:
    latitude, longitude = GRID.centres()
    found = cv.read_targets(
        f"3.0 N 3.0 E; {at(0)}; {latitude[0] - 1:.7f}, {longitude[0]:.7f}", GRID, leave_out_outside=True
    )
    far, _, near = found.given
    assert near.nearest_cell == 0
    assert near.nearest_km == pytest.approx(111.05, rel=0.006)
    assert far.nearest_km == pytest.approx(8_300, rel=0.05)


def test_swapped_coordinates_are_recognised_and_said() -> None:
    latitude, longitude = at(12).split(", ")
    found = cv.read_targets(f"A: {longitude}, {latitude}; B: {at(7)}", GRID)
    assert found.cells == (12, 7)
    assert [place.swapped for place in found.given] == [True, False]
    assert found.targets[0].latitude == float(latitude)
    assert found.notes == ("'A': latitude and longitude were the wrong way round, and are swapped.",)
    sydney = cv.Grid.from_bounds(-33.90, 151.10, -33.80, 151.30, cell_km=1.0)
    assert cv.read_targets("151.2, -33.86", sydney).cells == cv.read_targets("-33.86, 151.2", sydney).cells
    with pytest.raises(cv.InputError, match=r"latitude of place 1 = 120\.5: should be from -90 to 90"):
        cv.read_targets("120.5, 100.5", GRID)


def test_cells_are_named_by_their_numbers_and_lie_at_their_centres() -> None:
    found = cv.read_targets("12, 3", GRID)
    assert (found.names, found.cells, found.numbers, found.by_cell) == (
        ("cell 12", "cell 3"),
        (12, 3),
        (None, None),
        True,
    )
    assert f"{found.targets[0].latitude:.7f}, {found.targets[0].longitude:.7f}" == at(12)
    for text, value in {"25": "25", "-1": "-1"}.items():
        with pytest.raises(cv.InputError, match=f"targets = {value}: cells of this area are 0 to 24"):
            cv.read_targets(text, GRID)


def test_an_area_without_degrees_takes_cells_alone() -> None:
    points = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0]])
    found = cv.read_targets("cell,name\n2,Depot\n", points)
    assert (found.names, found.cells, found.targets[0].latitude, found.by_cell) == (("Depot",), (2,), None, False)
    assert found.rows() == [["Depot", "", "", "2", "", ""]]
    with pytest.raises(cv.InputError, match="this area has no latitude and longitude"):
        cv.read_targets("40.72, -73.975", points)


def test_equal_names_are_numbered_and_it_is_said() -> None:
    found = cv.read_targets(f"Café: {at(1)}; café: {at(2)}; Bar: {at(3)}; {at(4)}", GRID)
    assert found.names == ("Café", "café (2)", "Bar", "place 4")
    assert found.notes == ("'café (2)': numbered, because another place has the same name.",)


def test_a_hundred_targets_are_read_with_their_numbers(tmp_path: Path) -> None:
    area = cv.Grid.from_bounds(40.65, -74.03, 40.82, -73.90, cell_km=0.5)
    cells = np.random.default_rng(5).permutation(len(area))[:100].tolist()
    rows = [f"Shop {number},{at(cell, area)},{number}" for number, cell in enumerate(cells, 1)]
    (tmp_path / "shops.csv").write_text("\n".join(["shop,latitude,longitude,wanted", *rows]))
    found = cv.read_targets(tmp_path / "shops.csv", area)
    assert found.cells == tuple(cells)
    assert found.numbers == tuple(range(1, 101))
    assert len(found) == len(found.rows()) == 100
    many = ";".join(f"{number}.0 N 10.5 E" for number in range(60))
    with pytest.raises(cv.InputError, match="55 more lie outside"):
        cv.read_targets(many, area)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_targets_become_a_frame_that_is_read_again(tmp_path: Path, backend: str) -> None:
    pytest.importorskip(backend)
    found = cv.read_targets(f"name,lat,lon,number\nA,{at(12)},3\n東京,{at(7)},4\n", GRID)
    frame = found.to_frame(backend)  # type: ignore[arg-type]
    assert list(getattr(frame, "column_names", frame.columns)) == ["name", "latitude", "longitude", "cell", "number"]
    if backend == "polars":
        frame.write_csv(tmp_path / "again.csv")
        assert cv.read_targets(tmp_path / "again.csv", GRID).targets == found.targets


def test_rows_fit_their_header_and_labels_name_cells() -> None:
    found = cv.read_targets(f"A: {at(12)}; {at(7)}", GRID)
    assert all(len(row) == len(TARGETS_HEADER) for row in found.rows())
    assert [found.label(cell) for cell in found.cells] == ["A (cell 12)", "place 2 (cell 7)"]
    assert cv.read_targets("12", GRID).label(12) == "12"


def test_long_lists_are_summed_up() -> None:
    area = cv.Grid.from_bounds(40.65, -74.03, 40.82, -73.90, cell_km=0.1)
    together = cv.read_targets("name,lat,lon\n" + f"Shop,{at(5, area)}\n" * 5000, area)
    assert together.rows()[0][-1].endswith("and 4,994 more")
    outside = "".join(f"Shop,0.5,{number / 100}\n" for number in range(2000))
    apart = cv.read_targets(f"name,lat,lon\nShop,{at(5, area)}\n{outside}", area, leave_out_outside=True)
    assert len(apart.left_out) == 2000
    assert apart.notes[-1] == "1,995 more places lie outside, and are left out."


def test_a_comparison_takes_targets_as_they_were_read() -> None:
    visits = cv.synthetic_visits(1, users=60, weeks=6)
    area = cv.Grid.around(visits, cell_km=1.0)
    targets = cv.read_targets(f"A: {at(20, area)}; B: {at(11, area)}", area)
    result = cv.compare(visits, area, targets=targets, methods=["none"], seeds=1, notify=lambda _: None)
    assert result.settings.targets == (20, 11)
