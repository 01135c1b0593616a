"""List the places of a CSV table: a heading, then one place in each row.

    name,latitude,longitude,number
    Grand Central,40.7527,-73.9772,3

Columns are found by their usual names and may stand in any order; others are ignored. They are separated by commas,
semicolons or tabs; with the latter two, decimals may have commas, as spreadsheets of many countries write them.
"""

from __future__ import annotations

import csv
import io
import re

from crowdveil.area.coordinates import read_angle
from crowdveil.area.extent import LATITUDE_NAMES, LONGITUDE_NAMES
from crowdveil.area.place_names import check_name
from crowdveil.area.place_source import ListedPlace, PlaceSource, ReadNumber, read_number
from crowdveil.codec import is_header
from crowdveil.errors import InputError

NAME_NAMES = ("name", "shop", "place", "title")
NUMBER_NAMES = ("number", "wanted", "people")
CELL_NAMES = ("cell",)
WANTED = "name,latitude,longitude,number"


def is_table(source: PlaceSource) -> bool:
    """Whether a text has a heading of columns; a file that is called a table and has none is refused."""
    at, first = _first_line(source)
    headings = _headings(first)
    has_place = _has(headings, LATITUDE_NAMES) and _has(headings, LONGITUDE_NAMES)
    if (has_place or _has(headings, CELL_NAMES)) and is_header(headings):
        return True
    if source.path is not None and source.path.suffix.lower() in (".csv", ".tsv") and re.fullmatch("[^0-9]+", first):
        raise source.refusal(InputError("heading", first, f"should name the columns, such as {WANTED}"), at + 1)
    return False


def list_rows(source: PlaceSource, number: ReadNumber = read_number) -> list[ListedPlace]:
    """Read every row of a table."""
    at, first = _first_line(source)
    separator = _separator(first)
    try:
        columns = _Columns(_headings(first), number, decimal_comma=separator != ",")
    except InputError as error:
        raise source.refusal(error, at + 1) from None
    reader = csv.reader(io.StringIO("\n".join(source.lines[at + 1 :])), delimiter=separator, skipinitialspace=True)
    found, line = [], at + 2
    try:
        for entries in reader:
            row = [entry.strip() for entry in entries]
            if any(row):
                found.append(columns.place(row))
            line = at + 2 + reader.line_num  # a row with line breaks in a name is known by its first line
    except csv.Error as error:
        raise source.refusal(InputError("place", str(error), "is not CSV"), line) from None
    except InputError as error:
        raise source.refusal(error, line) from None
    return found


class _Columns:
    """Where the columns of a table are, by what they hold."""

    def __init__(self, headings: list[str], number: ReadNumber, *, decimal_comma: bool) -> None:
        known = {"name": NAME_NAMES, "latitude": LATITUDE_NAMES, "longitude": LONGITUDE_NAMES}
        known |= {"cell": CELL_NAMES, "number": NUMBER_NAMES}
        self.read_number = number
        self.decimal_comma, self.width = decimal_comma, len(headings)
        self.at: dict[str, int] = {}
        for field, names in known.items():
            present = [name for name in names if name in headings]
            for name in present:
                if headings.count(name) > 1:
                    raise InputError("heading", name, "should stand above one column only")
            if field == "number" and len(present) > 1:
                raise InputError("heading", present, "should be one column: they all say how many people are wanted")
            if present:
                self.at[field] = headings.index(present[0])

    def place(self, row: list[str]) -> ListedPlace:
        """Read one row."""
        if any(row[self.width :]):
            what = f"has {len(row)} entries for {self.width} headings; put a name with separators in double quotes"
            raise InputError("row", row, what)
        given = {field: row[at] if at < len(row) else "" for field, at in self.at.items()}
        name = check_name(given.get("name", "")) or None
        number = self.read_number(given.get("number"))
        if "latitude" in given and "longitude" in given:
            latitude, longitude = (self._degrees(field, given[field]) for field in ("latitude", "longitude"))
            return ListedPlace(name, latitude, longitude, number=number)
        if not re.fullmatch("[0-9]{1,18}", given["cell"]):
            raise InputError("cell", given["cell"], "should be the number of a cell")
        return ListedPlace(name, cell=int(given["cell"]), number=number)

    def _degrees(self, field: str, text: str) -> float:
        plain = text.replace(",", ".") if self.decimal_comma and re.fullmatch("[+-]?[0-9]+,[0-9]+", text) else text
        try:
            return read_angle(plain, "NS" if field == "latitude" else "EW")
        except InputError as error:
            raise InputError(field, text, error.expected) from None


def _first_line(source: PlaceSource) -> tuple[int, str]:
    """The first line that is not empty, and how many are before it."""
    return next(((at, line.strip()) for at, line in enumerate(source.lines) if line.strip()), (0, ""))


def _separator(line: str) -> str:
    return next((one for one in "\t;" if one in line), ",")


def _headings(line: str) -> list[str]:
    try:
        row = next(csv.reader([line], delimiter=_separator(line), skipinitialspace=True), [])
    except csv.Error:  # longer than any heading
        return []
    return [entry.strip().lower() for entry in row]


def _has(headings: list[str], names: tuple[str, ...]) -> bool:
    return any(name in headings for name in names)
