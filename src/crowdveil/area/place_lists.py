"""List places as people have them: a CSV table, GeoJSON, pasted text, links to maps, or numbers of cells.

What a source is, its content decides, whether it is a file or a text: GeoJSON begins with a brace; a table has a
heading that names a latitude and a longitude, or a cell; whole numbers alone are cells; anything else is text with one
place in a line, or several with semicolons between them. Where a place lies is decided later, in `read_targets`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from crowdveil.area.coordinates import EXAMPLE, NO_COORDINATES, read_coordinates
from crowdveil.area.map_links import find_link, read_link
from crowdveil.area.place_features import is_geojson, list_features
from crowdveil.area.place_names import check_name, shortened
from crowdveil.area.place_source import ListedPlace, PlaceSource, ReadNumber, read_number
from crowdveil.area.place_tables import is_table, list_rows
from crowdveil.codec import read_text
from crowdveil.errors import FileFormatError, InputError

MAX_CHARACTERS = 5_000
"""Of one place; links to maps have a few hundred."""

READ_FILES = (".csv", ".tsv", ".txt", ".json", ".geojson")
OTHER_FILES = (".kml", ".kmz", ".gpx", ".xls", ".xlsx", ".ods", ".shp")
ANY_PLACE = f"should be a place such as {EXAMPLE}, cells such as 3,17, a link to a map, or the name of a file"

_CELLS = re.compile(r"[\s,]*(?:-?[0-9]+\s*,[\s,]*)*(?:-?[0-9]+\s*)?|\s*-?[0-9]+(?:\s*\n\s*-?[0-9]+)*\s*")
# A semicolon before `name=` belongs to a geo: link.
_BETWEEN_PLACES = re.compile(r";(?![A-Za-z][\w-]*=)")


def list_places(source: str | Path, number: ReadNumber = read_number) -> list[ListedPlace]:
    """Read places from a file or a text, in their order, with the number beside each; there is at least one."""
    opened = _open(source)
    if is_geojson(opened.text):
        found = list_features(opened, number)
    elif is_table(opened):
        found = list_rows(opened, number)
    elif _CELLS.fullmatch(opened.text):
        found = _cells(opened)
    else:
        found = _lines(opened)
    if not found:
        raise opened.refusal(InputError("place", "", f"should name at least one place, such as {EXAMPLE}"))
    return found


def _open(source: str | Path) -> PlaceSource:
    if isinstance(source, str) and not _names_a_file(source):
        text, path = source, None
    else:
        path = Path(source)
        if path.suffix.lower() in OTHER_FILES:
            raise FileFormatError(f"{path}: files of this kind are not read; save the places as CSV or GeoJSON")
        text = read_text(path).removeprefix("\ufeff")
    return PlaceSource(text.replace("\r\n", "\n").replace("\r", "\n"), path)


def _names_a_file(text: str) -> bool:
    """Whether a text is the name of a file. Numbers are cells, even where a file has such a name."""
    if "\n" in text or "\0" in text or _CELLS.fullmatch(text) or find_link(text) is not None:
        return False
    try:
        there = Path(text).exists() and not Path(text).is_dir()
    except OSError:  # longer than names of files may be
        return False
    return there or text.lower().endswith((*READ_FILES, *OTHER_FILES))


def _cells(source: PlaceSource) -> list[ListedPlace]:
    parts = re.findall("-?[0-9]+", source.text)
    for part, count in Counter(parts).items():
        if len(part) > 18:
            raise source.refusal(InputError("place", part, "is larger than the number of any cell"))
        if count > 1:
            raise source.refusal(InputError("place", int(part), "is named twice"))
    return [ListedPlace(cell=int(part)) for part in parts]


def _lines(source: PlaceSource) -> list[ListedPlace]:
    number_lines = source.path is not None or sum(bool(line.strip()) for line in source.lines) > 1
    found = []
    for number, line in enumerate(source.lines, 1):
        for part in filter(None, (part.strip() for part in _BETWEEN_PLACES.split(line))):
            try:
                found.append(_place(part))
            except InputError as error:
                raise source.refusal(error, number if number_lines else None) from None
    return found


def _place(text: str) -> ListedPlace:
    """Read one place of a text: its coordinates or a link, and a name beside it."""
    if len(text) > MAX_CHARACTERS:
        raise InputError("place", text, f"should have at most {MAX_CHARACTERS:,} characters for one place")
    if _CELLS.fullmatch(text):
        what = f"is it cells or degrees? Cells are separated by commas and stand alone; degrees are such as {EXAMPLE}"
        raise InputError("place", text, what)
    link = find_link(text)
    if link is not None:
        address, beside = link
        place = read_link(address)
        name = beside or (place.name and shortened(place.name))
    else:
        try:
            place = read_coordinates(text)
        except InputError as error:
            raise InputError("place", text, ANY_PLACE if error.expected == NO_COORDINATES else error.expected) from None
        name = place.name
    return ListedPlace(check_name(name) if name else None, place.latitude, place.longitude)
