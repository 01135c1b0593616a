"""Check the names of places: any script, at most 64 characters, one line, and each name once.

Names are shown to people beside others, in tables, on maps and in terminals. A name with control characters could move
the cursor, and one with marks that turn the direction of writing could make its neighbours read as something else.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from crowdveil.errors import InputError

MAX_NAME = 64
"""Characters of a name, counted after accents have been joined to their letters (NFC)."""

_NOT_SHOWN = ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")
_TURNS_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check_name(name: str) -> str:
    """Return a name in its one form (NFC, single blanks), or refuse it."""
    tidy = " ".join(part for part in unicodedata.normalize("NFC", name).split(" ") if part)
    for letter in tidy:
        if unicodedata.category(letter) in _NOT_SHOWN or letter in _TURNS_DIRECTION:
            raise InputError("name", name, f"should have no control character such as U+{ord(letter):04X}")
    if len(tidy) > MAX_NAME:
        raise InputError("name", name, f"should have at most {MAX_NAME} characters, not {len(tidy)}")
    return tidy


def shortened(name: str, length: int = MAX_NAME) -> str:
    """Cut a name that nobody chose, such as one from a link, to a length."""
    tidy = " ".join(unicodedata.normalize("NFC", name).split())
    return tidy if len(tidy) <= length else tidy[: length - 1].rstrip() + "…"


def unique_names(names: Iterable[str]) -> list[str]:
    """Number names that occur more than once: Café, Café (2), Café (3). Names that differ only in case are the same."""
    wanted = list(names)
    theirs = {name.casefold() for name in wanted}
    taken: set[str] = set()
    last: dict[str, int] = {}
    found = []
    for name in wanted:
        unique, folded = name, name.casefold()
        if folded in taken:
            count = last.get(folded, 1)
            while unique.casefold() in taken or unique.casefold() in theirs:
                count += 1
                suffix = f" ({count})"
                unique = shortened(name, MAX_NAME - len(suffix)) + suffix
            last[folded] = count
        taken.add(unique.casefold())
        found.append(unique)
    return found


def joined_name(names: list[str]) -> str:
    """Name one target that several places became: A + B, or A + 3 more where that is too long."""
    whole = " + ".join(names)
    if len(whole) <= MAX_NAME:
        return whole
    suffix = f" + {len(names) - 1} more"
    return shortened(names[0], MAX_NAME - len(suffix)) + suffix
