"""Read one place as people write it: a latitude and a longitude, with or without a name.

    40.7527, -73.9772                 two numbers, with a comma, a colon or a blank between them
    40.7527° N 73.9772° W             letters after the numbers or before them, the latitude first or last
    40°45'10"N 73°58'38"W             degrees, minutes and seconds
    N 40° 45.166 W 073° 58.633        degrees and decimal minutes
    Grand Central: 40.7527, -73.9772  a name before the coordinates, or after them

What could be read in two ways is refused. Two whole numbers are cells and not degrees; a third number may be a zoom, a
height or the name of a place; one letter for two numbers leaves the other's side open.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from crowdveil.errors import InputError

EXAMPLE = "40.7527, -73.9772"
NO_COORDINATES = f"should be a latitude and a longitude, such as {EXAMPLE}"

# Signs as they are typeset, as keyboards have them. Each stands for one character, so that positions stay the same.
_TYPED = str.maketrans(
    dict.fromkeys("º˚", "°") | dict.fromkeys("′’‘ʹ´`", "'") | dict.fromkeys("″”“ʺ", '"') | dict.fromkeys("−–", "-")
)

_DECIMALS = r"(?:\.[0-9]*)?"
_DEGREES = rf"[0-9]{{1,3}}{_DECIMALS}\s*°?"
_MINUTES = rf"[0-9]{{1,3}}\s*°\s*[0-9]{{1,2}}{_DECIMALS}\s*"
_SECONDS = rf"[0-9]{{1,3}}\s*°\s*[0-9]{{1,2}}\s*'\s*[0-9]{{1,2}}{_DECIMALS}\s*(?:\"|'')"
_ANGLE = rf"(?:{_SECONDS}|{_MINUTES}'|{_DEGREES})"
_ANGLE_WITH_LETTER = rf"(?:{_SECONDS}|{_MINUTES}'?|{_DEGREES})"  # with letters, receivers leave the ' of minutes out
_BETWEEN = r"(?:\s*[,:]\s*|\s+)"
_SIGN = "[+-]?"
_OPEN, _CLOSE = r"[(\[]?\s*", r"\s*[)\]]?"
_FROM = r"(?<![0-9A-Za-z.])"

_FIRST, _SECOND = (rf"(?P<{name}>{_SIGN}{_ANGLE_WITH_LETTER})" for name in ("first", "second"))
_LETTER, _OTHER = (rf"(?P<{name}>[NSEW])" for name in ("letter", "other"))
_LETTERS_AFTER = rf"{_FROM}{_FIRST}\s*{_LETTER}{_BETWEEN}?{_SECOND}\s*{_OTHER}(?![^\W_])"
_LETTERS_BEFORE = rf"(?<![^\W_]){_LETTER}\s*{_FIRST}{_BETWEEN}?{_OTHER}\s*{_SECOND}(?![^\W_]|\.)"
_PLAIN = rf"{_FROM}(?P<first>{_SIGN}{_ANGLE})(?P<between>{_BETWEEN})(?P<second>{_SIGN}{_ANGLE})(?![^\W_]|\.)"

_LETTER_AT_START = re.compile(r"\s*[NSEW](?![^\W_]).*", re.IGNORECASE | re.DOTALL)
_LETTER_AT_END = re.compile(r"(?:.*[\s,])?[NSEW]\s*", re.IGNORECASE | re.DOTALL)


def _before_and_after_name(pair: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    flags = re.IGNORECASE | re.DOTALL
    before = re.compile(rf"\s*{_OPEN}{pair}{_CLOSE}(?P<name>.*)", flags)
    return before, re.compile(rf"(?P<name>.*?){_OPEN}{pair}{_CLOSE}\s*", flags)


_FORMS = tuple(map(_before_and_after_name, (_LETTERS_AFTER, _LETTERS_BEFORE, _PLAIN)))


class WrittenPlace(NamedTuple):
    """A place as it was written: not yet known to lie anywhere."""

    latitude: float
    longitude: float
    name: str | None = None


def read_coordinates(text: str) -> WrittenPlace:
    """Read a latitude and a longitude, and the name beside them if there is one."""
    text = re.sub(r"(\s)\s+", r"\1", text)  # patterns take time that grows with the length of blanks
    typed = text.translate(_TYPED)
    for patterns in _FORMS:
        for pattern, letter_beside in zip(patterns, (_LETTER_AT_START, _LETTER_AT_END), strict=True):
            found = pattern.fullmatch(typed)
            if found is None:
                continue
            beside = text[found.start("name") : found.end("name")]
            if "letter" in pattern.groupindex:
                return WrittenPlace(*_lettered(found, text), _name(beside, text))
            if letter_beside.fullmatch(beside):
                raise InputError("place", text, "should have a letter of N, S, E and W at both numbers, or at none")
            return WrittenPlace(*_plain(found, beside, text), _name(beside, text))
    if re.search(r"[0-9],[0-9]", typed):
        raise InputError("place", text, f"should have decimal points, such as {EXAMPLE}")
    raise InputError("place", text, NO_COORDINATES)


def read_angle(text: str, letters: str) -> float:
    """Read one of the two: `letters` is NS for a latitude, EW for a longitude."""
    typed = text.translate(_TYPED).strip()
    try:
        return _finite(float(typed), text)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
    found = re.fullmatch(rf"([{letters}])?\s*({_SIGN}{_ANGLE_WITH_LETTER})\s*([{letters}])?", typed, re.IGNORECASE)
    if found is None or (found[1] and found[3]):
        raise InputError("place", text, f"should be degrees, such as 40.7527, or with {' or '.join(letters)}")
    return _value(found[2], found[1] or found[3] or "", text)


def _finite(number: float, text: str) -> float:
    if not abs(number) <= 180:  # NaN too
        raise InputError("place", text, "should be degrees from -180 to 180")
    return number


def _plain(found: re.Match[str], beside: str, text: str) -> tuple[float, float]:
    first, between, second = found.group("first", "between", "second")
    with_colon = between.strip() == ":" and not beside.strip()  # such as 40:-73, which no list of cells has
    if not with_colon and not re.search("[.°]", first + second):
        raise InputError("place", text, f"whole numbers are cells; write degrees with decimals or °, such as {EXAMPLE}")
    return _value(first, "", text), _value(second, "", text)


def _lettered(found: re.Match[str], text: str) -> tuple[float, float]:
    """The latitude and the longitude of a pair with letters, whichever stands first."""
    first, letter, second, other = found.group("first", "letter", "second", "other")
    letter, other = letter.upper(), other.upper()
    if (letter in "NS") == (other in "NS"):
        raise InputError("place", text, "should have one of N and S, and one of E and W")
    one, two = _value(first, letter, text), _value(second, other, text)
    return (one, two) if letter in "NS" else (two, one)


def _value(angle: str, letter: str, text: str) -> float:
    """The degrees of an angle such as -40°45'10"; south and west are negative."""
    if letter and angle[0] in "+-":
        raise InputError("place", text, "should have signs or letters, not both")
    degrees, minutes, seconds = [*map(float, re.findall(r"[0-9]+(?:\.[0-9]*)?", angle)), 0.0, 0.0][:3]
    if minutes >= 60 or seconds >= 60:
        raise InputError("place", text, "should have minutes and seconds below 60")
    size = degrees + minutes / 60 + seconds / 3600
    return _finite(-size if angle[0] == "-" or letter.upper() in ("S", "W") else size, text)


def without_separators(beside: str) -> str:
    """What stands beside coordinates or a link, without what separates it from them."""
    name = beside.strip().strip(",:|=-–—").strip()
    for opening, closing in ("()", "[]", '""', "“”", "''"):
        if len(name) > 1 and name[0] == opening and name[-1] == closing:
            name = name[1:-1].strip()
    return name


def _name(beside: str, text: str) -> str | None:
    name = without_separators(beside)
    bare = any(letter.isdigit() for letter in name) and not any(letter.isalpha() for letter in name)
    if bare or re.search(r"[0-9]\.[0-9]+[^.]*[0-9]\.[0-9]", name):
        raise InputError(
            "place", text, "has more than two numbers; put semicolons between places, and letters in names"
        )
    return name or None
