"""Cells are found for places, and places are read from files."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdveil as cv
from crowdveil.area.extent import box_of, cell_at, read_places, read_points_km

GRID = cv.Grid.from_bounds(40.70, -74.00, 40.74, -73.95, cell_km=1.0)


def test_a_place_in_no_cell_is_refused_with_what_the_area_covers() -> None:
    assert cell_at(GRID, 40.72, -73.975) == 12
    with pytest.raises(cv.InputError, match=r"place = '0:0': lies in no cell of this area, which covers 40\."):
        cell_at(GRID, 0, 0)
    with pytest.raises(cv.InputError, match="are latitude and longitude swapped"):
        cell_at(GRID, -73.98, 40.72)


def test_places_and_points_are_read_by_the_names_of_their_columns(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("name,Longitude,lat\nhome,-73.98,40.75\nwork,-74.01,40.70\n")
    latitude, longitude = read_places(tmp_path / "places.csv")
    assert (latitude.tolist(), longitude.tolist()) == ([40.75, 40.70], [-73.98, -74.01])
    (tmp_path / "points.csv").write_text("0,1\n2,3\n")
    assert read_points_km(tmp_path / "points.csv").tolist() == [[0.0, 1.0], [2.0, 3.0]]
    (tmp_path / "points.csv").write_text("a,b\n0,1\n")
    with pytest.raises(cv.FileFormatError, match=r"points\.csv, line 1: header = 'a,b': should name lat,lon"):
        read_places(tmp_path / "points.csv")


def test_the_box_around_points_of_a_plane_has_no_degrees() -> None:
    box = box_of(cv.Area.from_points_km([[0, 0], [3, 1]]))
    assert (box.latitude, box.longitude) == (None, None)
    assert "without latitude and longitude" in str(box)
