"""Read and write priors as CSV, for people who edit tables, and read how many people are counted where."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from crowdveil.area import OUTSIDE, Area
from crowdveil.area.place_lists import list_places
from crowdveil.area.place_source import read_people
from crowdveil.arrays import FloatArray, as_cells
from crowdveil.codec import is_header, read_number, read_pairs, read_rows, write_atomically
from crowdveil.errors import FileFormatError, InputError


def read_prior(path: str | Path, area: Area) -> FloatArray:
    """Read the probability of every cell of an area.

    The file has either one number per cell, on lines of their own or all on one line, or the columns
    `cell,probability`; cells that are not named then have probability 0. Whether the numbers are probabilities that
    sum to 1 is checked where the prior is used.
    """
    n = len(area)
    rows = read_rows(path)
    if len(rows) == 1 and len(rows[0][1]) == n > 2:
        rows = [(rows[0][0], [entry]) for entry in rows[0][1]]
    if is_header(rows[0][1]) and len(rows[0][1]) == 1:
        rows = rows[1:]
    if rows and len(rows[0][1]) == 1:
        for line, row in rows:
            if len(row) != 1:
                raise FileFormatError(f"{path}, line {line}: {','.join(row)!r}: should be one number")
        return np.array([read_number(path, line, "prior", row[0]) for line, row in rows])
    cells, probabilities = read_pairs(path, ("cell",), ("probability", "prior"))
    broken = cells[~((np.abs(cells) < 2**53) & (cells == np.rint(cells)))]
    if broken.size:
        raise InputError("cell of prior", float(broken[0]), "cells are whole numbers")
    whole = as_cells("cell of prior", cells.astype(np.int64), n)
    named, times = np.unique(whole, return_counts=True)
    if (times > 1).any():
        raise InputError("cell of prior", int(named[times > 1][0]), "is named twice")
    prior = np.zeros(n)
    prior[whole] = probabilities
    return prior


class Population(NamedTuple):
    """How many people are counted in an area."""

    people: FloatArray
    """In each cell."""
    rows: int
    """How many places the file lists."""
    outside: int
    """How many of them lie outside of the area."""
    people_outside: float


def read_population(path: str | Path, area: Area) -> Population:
    """Read how many people are counted in every cell of an area: inhabitants, visitors, customers.

    The file is a CSV with the columns `cell,people` or `latitude,longitude,people`, or GeoJSON with points or polygons
    and the property `people`; a polygon counts where its centroid is. What lies in one cell is added up; what lies
    outside of the area is left out and counted. Counts may be 0, and need not be whole numbers.
    """
    people: FloatArray = np.zeros(len(area))
    outside, people_outside = 0, 0.0
    places = list_places(Path(path), read_people)
    for row, place in enumerate(places, 1):
        if place.number is None:
            raise FileFormatError(f"{path}: place {row} has no number of people; the column or property is `people`")
        if place.cell is not None:
            (cell,) = as_cells("cell of population", [place.cell], len(area)).tolist()
        else:
            position = np.array([place.latitude, place.longitude], dtype=np.float64)
            cell = int(area.locate(position[:1], position[1:])[0])
        if cell == OUTSIDE:
            outside, people_outside = outside + 1, people_outside + place.number
        else:
            people[cell] += place.number
    if not people.any():
        where = f"; {outside:,} of {len(places):,} places lie outside of it" if outside else ""
        raise FileFormatError(f"{path}: nobody is counted in the area{where}")
    return Population(people, len(places), outside, people_outside)


def write_prior(path: str | Path, prior: FloatArray) -> int:
    """Write a prior as `cell,probability`, without the cells of probability 0; return the size in bytes."""
    rows = (f"{cell},{probability!r}\n" for cell, probability in enumerate(prior.tolist()) if probability)
    text = "cell,probability\n" + "".join(rows)
    return write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
