"""Read the place that a link to a map holds. Links are only read, never opened: no network is used.

Google Maps, OpenStreetMap, Apple Maps and others write coordinates into their links, and often more than one pair: that
of the pin, and that of the middle of the screen. The pin is taken where there is one.

    https://www.google.com/maps/place/Name/@40.75,-73.98,17z/data=...!3d40.7527!4d-73.9772   the pin, then the screen
    https://www.google.com/maps?q=40.7527,-73.9772
    https://www.openstreetmap.org/?mlat=40.7527&mlon=-73.9772#map=17/40.75/-73.98
    https://maps.apple.com/?ll=40.7527,-73.9772&q=Name
    geo:40.7527,-73.9772  and  geo:0,0?q=40.7527,-73.9772(Name)
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote_plus, urlsplit

from crowdveil.area.coordinates import WrittenPlace, read_coordinates, without_separators
from crowdveil.errors import InputError

_MAPS = r"(?:www\.)?(?:google\.[a-z.]+/maps|maps\.[a-z]+\.|goo\.gl/|osm\.org/|openstreetmap\.org/)"
"""How links to maps begin that were copied without https://."""

_LINK = re.compile(rf"(?<![^\W_])<?((?:https?://|geo:(?=[-+0-9])|{_MAPS})[^\s<>]+)>?", re.IGNORECASE)
_NUMBER = r"([+-]?[0-9]{1,3}(?:\.[0-9]+)?)"
_PIN = re.compile(rf"!3d{_NUMBER}!4d{_NUMBER}")
_SCREEN = re.compile(rf"/@{_NUMBER},{_NUMBER}(?=,|$|/)")
_FRAGMENT = re.compile(rf"(?:^|&)map=[0-9.]+/{_NUMBER}/{_NUMBER}(?:&|$)")
_GEO = re.compile(rf"{_NUMBER},{_NUMBER}(?:,{_NUMBER})?((?:;[^;?]*)*)(?:\?(.*))?")
_LABELLED = re.compile(r"(?:loc:)?\s*([^()]*?)\s*(?:\((.*)\))?", re.DOTALL)
_IN_QUERY = ("coordinate", "q", "query", "ll", "center")
"""What holds coordinates in the query of a link, the pin before the screen."""

_INSTEAD = "paste the latitude and longitude that the map shows for the place, such as 40.7527, -73.9772"


def find_link(text: str) -> tuple[str, str] | None:
    """Return the first link of a text and the name beside it, or None."""
    found = _LINK.search(text)
    if found is None:
        return None
    return found[1].rstrip(",.;"), without_separators(f"{text[: found.start()]} {text[found.end() :]}")


def read_link(link: str) -> WrittenPlace:
    """Read the place that a link holds, and the name in it if there is one."""
    if link.lower().startswith("geo:"):
        return _read_geo(link)
    try:
        parts = urlsplit(link if "://" in link else f"https://{link}")
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
    except ValueError:
        raise InputError("place", link, f"is a link that cannot be read; {_INSTEAD}") from None
    if "/maps/dir/" in parts.path:
        raise InputError("place", link, "is the link of a route; paste the link of one place")
    name = _name_in_path(parts.path)
    pins = set(_PIN.findall(parts.path))
    if len(pins) > 1:
        raise InputError("place", link, f"is a link to several places; paste the link of one, or {_INSTEAD}")
    if pins:
        latitude, longitude = pins.pop()
        return WrittenPlace(float(latitude), float(longitude), name)
    if "mlat" in query and "mlon" in query:
        return read_coordinates(f"{query['mlat']}, {query['mlon']}")._replace(name=name)
    for key in _IN_QUERY:
        if (place := _labelled(query.get(key, ""))) is not None:
            return place._replace(name=place.name or name or _name_in_query(query))
    if (place := _labelled(_last(parts.path))) is not None:
        return place
    for pattern, where in ((_SCREEN, parts.path), (_FRAGMENT, parts.fragment)):
        if found := pattern.search(where):
            return WrittenPlace(float(found[1]), float(found[2]), name)
    what = (
        f"is a link without coordinates in it, and no network is used; open it and copy the long address, or {_INSTEAD}"
    )
    raise InputError("place", link, what)


def _read_geo(link: str) -> WrittenPlace:
    found = _GEO.fullmatch(link[len("geo:") :])
    if found is None:
        raise InputError("place", link, "should be a geo: link such as geo:40.7527,-73.9772")
    crs = [one[len("crs=") :] for one in found[4].lower().strip(";").split(";") if one.startswith("crs=")]
    if crs not in ([], ["wgs84"]):
        raise InputError("place", link, "should be in WGS84, which is what maps and receivers show")
    query = {key: values[0] for key, values in parse_qs(found[5] or "").items()}
    place = _labelled(query.get("q", ""))
    if place is not None:
        return place
    return WrittenPlace(float(found[1]), float(found[2]), _name_in_query(query))


def _labelled(text: str) -> WrittenPlace | None:
    """Read coordinates with a label in brackets, such as 40.7527,-73.9772(Name); None for anything else."""
    found = _LABELLED.fullmatch(text)
    if found is None or not found[1]:
        return None
    try:
        place = read_coordinates(found[1])
    except InputError:
        return None
    return None if place.name else place._replace(name=found[2] or None)


def _last(path: str) -> str:
    """The part of a path that names the place: what follows /place/ or /search/."""
    found = re.search(r"/(?:place|search)/([^/]*)", path)
    return unquote_plus(found[1]) if found else ""


def _name_in_path(path: str) -> str | None:
    name = _last(path) if "/place/" in path else ""
    return None if _labelled(name) is not None else name.strip() or None


def _name_in_query(query: dict[str, str]) -> str | None:
    for key in ("name", "q", "query"):
        if query.get(key, "").strip() and _labelled(query[key]) is None:
            return query[key].strip()
    return None
