"""Priors are read from tables that people write, and written so that they read back as the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.prior import read_population, read_prior, write_prior

AREA = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0], [3, 0]])
PRIOR = [0.1, 0.0, 0.6, 0.3]


@pytest.mark.parametrize(
    "text",
    [
        "0.1\n0\n0.6\n0.3\n",
        "prior\n0.1\n0\n0.6\n0.3\n",
        "0.1,0,0.6,0.3\n",
        "cell,probability\n2,0.6\n0,0.1\n3,0.3\n",
        "# learned in May\n\nprior,name,cell\n0.6,market,2\n0.1,park,0\n0.3,school,3\n",
        "0,0.1\n2,0.6\n3,0.3\n",
    ],
)
def test_a_prior_is_read_in_every_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "prior.csv").write_text(text)
    assert read_prior(tmp_path / "prior.csv", AREA).tolist() == PRIOR


@pytest.mark.parametrize(
    ("text", "cells", "prior"),
    [
        ("2,1\n", 4, [0, 0, 1, 0]),
        ("0.2,0.3,0.5\n", 3, [0.2, 0.3, 0.5]),
        ("1,0.5\n", 2, [0, 0.5]),
        ("0.2\n0.8\n", 2, [0.2, 0.8]),
        ("1\n", 1, [1]),
        ("110,0.25\n120,0.75\n", 121, [0] * 110 + [0.25] + [0] * 9 + [0.75]),
    ],
)
def test_one_line_is_all_cells_if_it_has_a_number_for_each_and_else_a_cell_with_its_probability(
    tmp_path: Path, text: str, cells: int, prior: list[float]
) -> None:
    (tmp_path / "prior.csv").write_text(text)
    area = cv.Area.from_points_km([[number, 0] for number in range(cells)])
    assert read_prior(tmp_path / "prior.csv", area).tolist() == prior


def test_a_prior_that_was_written_reads_back_bit_by_bit(tmp_path: Path) -> None:
    write_prior(tmp_path / "prior.csv", np.array([0.25, 0.0, 0.75, 0.0]))
    assert (tmp_path / "prior.csv").read_text() == "cell,probability\n0,0.25\n2,0.75\n"
    prior = np.array([1 / 3, 0.0, 1e-17, 2 / 3])
    assert write_prior(tmp_path / "prior.csv", prior) == (tmp_path / "prior.csv").stat().st_size
    assert read_prior(tmp_path / "prior.csv", AREA).tolist() == prior.tolist()
    assert "\n1," not in (tmp_path / "prior.csv").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cell,probability\n4,1\n", "cell of prior = 4"),
        ("cell,probability\n1.5,1\n", "cell of prior = 1.5: cells are whole numbers"),
        ("cell,probability\n1,0.5\n1,0.5\n", "cell of prior = 1: is named twice"),
        ("cell,probability\n1,half\n", "line 2: probability = 'half': should be a number"),
        ("0.5\n0.5,1\n", "line 2: '0.5,1': should be one number"),
        ("0.5\nhalf\n", r"prior\.csv, line 2: prior = 'half': should be a number"),
        ("# June\n0.1,0,half,0.3\n", r"prior\.csv, line 2: prior = 'half': should be a number"),
        ("cell,probability\n1e20,1\n", r"cell of prior = 1e\+20: cells are whole numbers"),
        ("cell,probability\n-1,1\n", "cell of prior = -1"),
    ],
)
def test_a_mistake_is_named_with_its_value(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "prior.csv").write_text(text)
    with pytest.raises(cv.CrowdveilError, match=said):
        read_prior(tmp_path / "prior.csv", AREA)


@pytest.mark.parametrize(
    "text",
    [
        "cell,people\n0,30\n3,20\n0,10\n",
        "latitude,longitude,people\n40.7050,-74.0150,40\n40.7150,-74.0050,20\n10,10,99\n",
        '{"type": "FeatureCollection", "features": ['
        '{"type": "Feature", "properties": {"people": 40}, "geometry": {"type": "Point", "coordinates":'
        " [-74.015, 40.705]}},"
        '{"type": "Feature", "properties": {"people": 20}, "geometry": {"type": "Polygon", "coordinates":'
        " [[[-74.007, 40.713], [-74.003, 40.713], [-74.003, 40.717], [-74.007, 40.717], [-74.007, 40.713]]]}}]}",
    ],
    ids=["cells", "positions", "GeoJSON"],
)
def test_counted_people_are_added_up_cell_by_cell(tmp_path: Path, text: str) -> None:
    area = cv.Grid.from_bounds(40.70, -74.02, 40.718, -73.997, cell_km=1.0)
    path = tmp_path / "population.csv"
    path.write_text(text)
    people = read_population(path, area).people
    assert people.sum() == 60
    assert sorted(people[people > 0].tolist()) == [20, 40]


def test_counts_may_be_fractions_and_zeros_and_those_outside_are_counted(tmp_path: Path) -> None:
    area = cv.Grid.from_bounds(40.70, -74.02, 40.718, -73.997, cell_km=1.0)
    path = tmp_path / "population.csv"
    path.write_text("latitude,longitude,people\n40.7050,-74.0150,12.5\n40.7150,-74.0050,0\n10,10,99\n10,11,0.5\n")
    found = read_population(path, area)
    assert found.people.sum() == 12.5
    assert (found.rows, found.outside, found.people_outside) == (4, 2, 99.5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cell,people\n0,-5\n", "line 2: people = '-5': should be how many people are counted there: 0 or more"),
        ("cell,people\n0,many\n", "people = 'many': should be how many people are counted"),
        ("cell,people\n0,nan\n", "people = 'nan'"),
        ("latitude,longitude,people\n40.7050,-74.0150,0\n10,10,5\n", "in the area; 1 of 2 places lie outside of it"),
        ("cell,people\n0,\n", "place 1 has no number of people"),
        ("latitude,longitude,people\n10,10,5\n", "nobody is counted in the area"),
        ("cell,people\n7000,5\n", "cell of population"),
    ],
)
def test_counts_that_say_nothing_of_the_area_are_refused(tmp_path: Path, text: str, told: str) -> None:
    area = cv.Grid.from_bounds(40.70, -74.02, 40.718, -73.997, cell_km=1.0)
    (tmp_path / "population.csv").write_text(text)
    with pytest.raises(cv.CrowdveilError, match=told):
        read_population(tmp_path / "population.csv", area)
