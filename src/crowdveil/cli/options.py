"""What people write behind options; an error names the option, the value and what would be right."""

from __future__ import annotations

import math
from collections.abc import Mapping

from crowdveil.area import Area
from crowdveil.area.extent import cell_at
from crowdveil.errors import CrowdveilError, InputError


def missing(option: str, what: str) -> CrowdveilError:
    """An option that has to be given, and what it is for."""
    return CrowdveilError(f"--{option} is missing: {what}")


def refuse(options: Mapping[str, object], why: str) -> None:
    """Options that mean nothing beside the others; None is one that was not given."""
    for name, value in options.items():
        if value is not None:
            raise InputError(name, str(value), f"{why}; leave it out")


def read_real(field: str, text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise InputError(field, text, "should be a number") from None


def read_whole(field: str, text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise InputError(field, text, "should be a whole number") from None


def read_epsilon(text: str) -> float:
    """A number, or the logarithm of one, such as ln4."""
    try:
        if text.strip().lower().startswith("ln"):
            return math.log(float(text.strip()[2:].strip(" ()")))
        return float(text)
    except ValueError:
        raise InputError("epsilon_per_km", text, "should be a number, such as 1.386 or ln4") from None


def read_targets(text: str, area: Area) -> list[int]:
    """Cells such as `3,17`, or places such as `40.75:-73.98,40.70:-74.01`."""
    targets = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if ":" in part:
            latitude, _, longitude = part.partition(":")
            try:
                targets.append(cell_at(area, float(latitude), float(longitude), "targets"))
            except ValueError as error:
                if isinstance(error, InputError):
                    raise
                raise InputError("targets", part, "a place is latitude:longitude, such as 40.75:-73.98") from None
        elif part.removeprefix("-").isdecimal() and len(part) < 20:
            targets.append(int(part))
        else:
            raise InputError("targets", part, "name cells such as 3,17 or places such as 40.75:-73.98")
    return targets
