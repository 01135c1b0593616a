"""Certify a table of probabilities that stands in a CSV file: a row per true cell, a column per symbol."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify.certificate import Certificate
from crowdveil.certify.checker import certify_table
from crowdveil.codec import is_header, read_number, read_rows
from crowdveil.errors import FileFormatError
from crowdveil.vocabulary import Progress

SIMPLE_NAME = re.compile(r"[\w][\w .-]{0,39}")
"""Names of columns that can stand in a sentence."""


def certify_file(
    path: str | Path, area: Area, epsilon_per_km: float, *, progress: Progress | None = None
) -> Certificate:
    """Test the table in a CSV file; the certificate calls symbols by the names of the file's header, if it has one."""
    names, entries = read_symbol_table(path)
    certificate = certify_table(area, entries, epsilon_per_km, progress=progress)
    worst = certificate.witness
    if worst is None or not names:
        return certificate
    return replace(certificate, witness=replace(worst, symbol_name=names[worst.symbol]))


def read_symbol_table(path: str | Path) -> tuple[list[str], FloatArray | IntArray]:
    """Read the names of the symbols, if a header has simple ones, and rows of probabilities or whole-number weights."""
    rows = read_rows(path)
    names: list[str] = []
    if is_header(rows[0][1]):
        names = rows[0][1]
        rows = rows[1:]
    if not rows:
        raise FileFormatError(f"{path}: has a header but no rows")
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise FileFormatError(f"{path}, line {line}: {len(row)} columns: the first row has {width}")
    if len(set(names)) != width or not all(map(SIMPLE_NAME.fullmatch, names)):
        names = []
    if all(text.isdecimal() and len(text) < 19 for _, row in rows for text in row):
        return names, np.array([[int(text) for text in row] for _, row in rows])
    return names, np.array([[read_number(path, line, "probability", text) for text in row] for line, row in rows])
