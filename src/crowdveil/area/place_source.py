"""Define what the readers of places share: the text that they read, what they list, and how they refuse."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from crowdveil.errors import CrowdveilError, FileFormatError, InputError

MAX_NUMBER = 1_000_000_000
MAX_COUNTED = 1e12


class ListedPlace(NamedTuple):
    """One place of a list: a latitude and a longitude in degrees, or a cell, and what is said of it."""

    name: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    cell: int | None = None
    number: float | None = None
    """How many people are wanted there, or are counted there."""

    @property
    def wanted(self) -> int | None:
        """How many people are wanted there."""
        return None if self.number is None else int(self.number)


class PlaceSource(NamedTuple):
    """What places are read from: a text, and the file that holds it, if any."""

    text: str
    path: Path | None = None

    @property
    def lines(self) -> list[str]:
        """The lines of the text; only a line feed ends one."""
        return self.text.split("\n")

    def refusal(self, error: InputError, line: int | None = None) -> CrowdveilError:
        """Say an error about a part of this source, with the file and the line where there are any.

        The field "place" is left out: it stands for all that is written of one.
        """
        field = "" if error.field == "place" else error.field
        if self.path is None:
            where = "targets" if line is None else f"targets, line {line}"
            return InputError(f"{field} of {where}" if field else where, error.value, error.expected)
        where = str(self.path) if line is None else f"{self.path}, line {line}"
        return FileFormatError(f"{where}: {error if field else f'{error.shown}: {error.expected}'}")


ReadNumber: TypeAlias = Callable[[object], float | None]
"""How the number beside a place is read."""


def read_people(value: object) -> float | None:
    """Read how many people are counted at a place: a number of 0 or more, or nothing."""
    text = "" if value is None else str(value).strip()
    if not text:
        return None
    try:
        people = float(text)
    except ValueError:
        people = -1.0
    if isinstance(value, bool) or not 0 <= people <= MAX_COUNTED:
        raise InputError("people", value, "should be how many people are counted there: 0 or more, such as 250 or 12.5")
    return people


def read_number(value: object) -> int | None:
    """Read how many people are wanted at a place: a whole number, or nothing."""
    text = "" if value is None else str(value).strip()
    if not text:
        return None
    found = re.fullmatch(r"([0-9]{1,12})(?:\.0*)?", text)
    if found is None or isinstance(value, bool) or not 1 <= int(found[1]) <= MAX_NUMBER:
        what = f"should be a whole number from 1 to {MAX_NUMBER:,}; leave out a place where nobody is wanted"
        raise InputError("number", value, what)
    return int(found[1])
