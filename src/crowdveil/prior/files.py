"""Read and write priors as CSV: how probable each cell is, for people who edit tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from crowdveil.area import Area
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


def write_prior(path: str | Path, prior: FloatArray) -> int:
    """Write a prior as `cell,probability`, without the cells of probability 0; return the size in bytes."""
    rows = (f"{cell},{probability!r}\n" for cell, probability in enumerate(prior.tolist()) if probability)
    text = "cell,probability\n" + "".join(rows)
    return write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
