"""Records become panels and series: a panel is a label, a series is a method under a profile and a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from matplotlib.colors import to_hex, to_rgb

from crowdveil.errors import InputError
from crowdveil.plots.figure_spec import OURS, FigureSpec
from crowdveil.plots.labels import Slot, ordered, pair_words, series_name
from crowdveil.plots.style import DASHES, METHODS, SPARE_COLOURS, TINTS
from crowdveil.simulate.records import Record

Pair: TypeAlias = tuple[str, str]
"""Profile and rule."""


def pair_of(record: Record) -> Pair:
    """Return the profile and the rule of a record."""
    return record.profile, record.rule


def x_of(spec: FigureSpec, record: Record) -> Any:
    """Return what stands on the x axis for a record."""
    if spec.x in record.extra:
        return record.extra[spec.x]
    try:
        return getattr(record, spec.x)
    except AttributeError:
        raise InputError("x", spec.x, "should be a field of the records or a key of their extra") from None


def rank_of(method: str) -> int:
    """Return the place of a method in legends; unknown ones come last."""
    return list(METHODS).index(method) if method in METHODS else len(METHODS)


@dataclass(frozen=True)
class Panel:
    """The records that share a label."""

    title: str
    records: list[Record]


class Panels(list[Panel]):
    """The records by label; a panel's title says the profile and rule where its label does not."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.varying = [part for part in ("profile", "rule") if len({getattr(r, part) for r in records}) > 1]
        by_label = {label: [r for r in records if r.label == label] for label in ordered(r.label for r in records)}
        self.mixed = any(len({pair_of(r) for r in some}) > 1 for some in by_label.values())
        """Whether several pairs of profile and rule meet in one panel."""
        for label, some in by_label.items():
            told = [] if self.mixed else [word for word in pair_words(some[0], self.varying) if word not in label]
            self.append(Panel(", ".join([label, *told]) if label else ", ".join(told), some))


def settle(
    records: Iterable[Record], slot: Callable[[Record], Slot]
) -> tuple[dict[Slot, Record], list[tuple[Slot, Record]]]:
    """The one record of each slot, and those about single positions of the grid next to one about all of them."""
    records = list(records)
    overall = {slot(record) for record in records if record.offset is None}
    settled: dict[Slot, Record] = {}
    single = []
    for record in records:
        place = slot(record)
        if record.offset is not None and place in overall:
            single.append((place, record))
        elif place in settled:
            raise InputError("records", f"{record.figure}, {place}", "two of them would stand at the same spot")
        else:
            settled[place] = record
    return settled, single


@dataclass(frozen=True)
class Series:
    """A method under a profile and a rule, and how it is drawn."""

    key: tuple[str, Pair]
    name: str
    colour: str
    marker: str
    dashes: Any
    plain: bool
    """Whether markers are filled; those of a method's second profile and rule are not."""

    def point(self, size: float) -> dict[str, Any]:
        """Settings of a marker."""
        face, edge = (self.colour, "white") if self.plain else ("white", self.colour)
        width = 0.8 if self.plain else 1.3
        return {"marker": self.marker, "ms": size, "mfc": face, "mec": edge, "mew": width, "color": self.colour}


def series_of(records: Sequence[Record], panels: Panels) -> list[Series]:
    """Every series, from the ceiling to the floor; told apart by profile and rule only where those mix."""
    pairs = ordered(pair_of(record) for record in records)
    methods = sorted(ordered(record.method for record in records), key=rank_of)
    pairs.sort(key=lambda pair: pair != OURS)  # the first is drawn boldest
    found = []
    strangers = 0
    for method in methods:
        own = [pair for pair in pairs if any(r.method == method and pair_of(r) == pair for r in records)]
        for pair in own if panels.mixed else own[:1]:
            profile, rule = (ordered(one[part] for one in own).index(pair[part]) for part in (0, 1))
            ink = METHODS.get(method)
            one = next(r for r in records if r.method == method and pair_of(r) == pair)
            name = series_name(one, panels.varying if panels.mixed else ())
            if ink is None or (panels.mixed and len(methods) == 1 and len(pairs) > 2):
                colour, dashes = SPARE_COLOURS[strangers % len(SPARE_COLOURS)], DASHES[strangers % len(DASHES)]
                found.append(Series((method, pair), name, colour, "hdH8"[strangers % 4], dashes, True))
                strangers += 1
            else:
                colour, dashes = _tinted(ink.colour, TINTS[profile % len(TINTS)]), DASHES[rule % len(DASHES)]
                found.append(Series((method, pair), name, colour, ink.marker, dashes, profile + rule == 0))
    return found


def records_of(series: Series, records: Iterable[Record], panels: Panels) -> list[Record]:
    """Return the records of a series."""
    method, pair = series.key
    return [r for r in records if r.method == method and (not panels.mixed or pair_of(r) == pair)]


def _tinted(colour: str, share: float) -> str:
    red, green, blue = (channel + (1 - channel) * share for channel in to_rgb(colour))
    return to_hex((red, green, blue))
