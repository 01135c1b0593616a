"""The pictures of a study: records become bars, lines, dots or curves, and values of cells become maps.

A panel is a `label` of the records; a series is a method under a profile and a rule. A method has the same colour and
marker in every figure. Values stand on the axes as the records hold them; only what is written is in percent.

Sizes are inches and texts are measured before they are placed, so that nothing overlaps. matplotlib's settings are
changed while a function runs, and are as before when it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from math import ceil, exp, isclose, log10
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import matplotlib.style
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import as_floats
from crowdveil.errors import InputError
from crowdveil.plots.figure_spec import OURS, FigureSpec
from crowdveil.plots.maps import INK, METADATA, QUIET, STYLE, log_ticks, map_figure
from crowdveil.simulate.records import LEVEL, Record

DOTS_PER_INCH = 150
MAX_COLUMNS = 3
MAX_INCHES = 12.0
"""Of a figure's width; what would be wider gets fewer columns."""
MIN_INCHES = 6.0
MARGIN, GAP, NAME_INCHES, AXIS_INCHES, HEAD_INCHES = 0.2, 0.3, 0.22, 0.56, 0.3
"""Around the figure; between panels; for an axis's name; for its numbers too; for a panel's title."""
TICK_SIZE = 9.5
PANEL_INCHES = 2.6
"""Height of a panel."""
GRID, BAND = "#e3e6e9", "#f4f5f7"

_STYLE = {**STYLE, "text.parse_math": False, "axes.axisbelow": True}

Pair: TypeAlias = tuple[str, str]
"""Profile and rule."""
Slot = TypeVar("Slot", bound=Hashable)


class MethodStyle(NamedTuple):
    """How a method is drawn in every figure, and what people call it."""

    name: str
    colour: str
    marker: str


METHODS = {
    "none": MethodStyle("no obfuscation", "#4a4f55", "p"),
    "crowdveil-known": MethodStyle("crowdveil, π known", "#56b4e9", "s"),
    "crowdveil": MethodStyle("crowdveil (ours)", "#0067a5", "o"),
    "algorithm-1": MethodStyle("Algorithm 1, π known", "#e69f00", "v"),
    "algorithm-2": MethodStyle("Algorithm 2 as printed", "#d55e00", "^"),
    "laplace-posterior": MethodStyle("planar Laplace, by posterior", "#00875f", ">"),
    "laplace": MethodStyle("planar Laplace, nearest first", "#6cc3a4", "<"),
    "random": MethodStyle("random users", "#b3bac1", "X"),
}
"""From the ceiling to the floor, as legends and bars are ordered. Hues of Okabe and Ito, told apart by all eyes."""
SPARE = ("#cc79a7", "#882255", "#999933", "#332288", "#aa4499", "#661100")
"""For what is no method of the studies."""
TINTS = (0.0, 0.3, 0.58)
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1.2, 1.4)))


@dataclass(frozen=True)
class Picture:
    """A figure as its two files hold it."""

    svg: str
    png: bytes


def draw(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    """The figure of these records; refuses two that would stand at the same spot."""
    if not records:
        raise InputError("records", 0, "a figure needs at least one")
    with matplotlib.style.context(["default", _STYLE]):
        return _CHARTS[spec.chart](spec, records)


def map_of_cells(
    area: Area, values: ArrayLike, targets: Sequence[int], title: str, label: str, *, percent: bool = False
) -> Figure:
    """A map of one value, 0 or more, per cell, with the targets starred; `label` heads the colour bar."""
    numbers = as_floats("values", values)
    if numbers.shape != (len(area),):
        raise InputError("values", numbers.shape, f"should be one number for each of the {len(area):,} cells")
    with matplotlib.style.context(["default", _STYLE]):
        return map_figure(area, numbers, targets, title, label, lambda value: _on_axis(value, percent=percent))


def save(figure: Figure, folder: str | Path, name: str) -> Picture:
    """Write NAME.png and NAME.svg; the same figure gives the same bytes with the same version of matplotlib."""
    files = {}
    with matplotlib.style.context(["default", _STYLE]):
        for kind in (".png", ".svg"):
            buffer = BytesIO()
            figure.savefig(buffer, format=kind[1:], dpi=DOTS_PER_INCH, metadata=METADATA[kind])
            files[kind] = buffer.getvalue()
    for kind, content in files.items():
        path = Path(folder) / f"{name}{kind}"
        try:
            path.write_bytes(content)
        except OSError as error:
            raise InputError("path", str(path), f"cannot be written: {error.strerror or error}") from None
    return Picture(files[".svg"].decode(), files[".png"])


# --- words --------------------------------------------------------------------------------------------------


def series_name(record: Record, varying: Collection[str] = ()) -> str:
    """What people call the record's method; with its profile and rule where those are `varying`."""
    method = METHODS[record.method].name if record.method in METHODS else record.method
    return ", ".join(_ordered(filter(None, [method, *_pair_words(record, varying)])))


def epsilon_name(epsilon_per_km: float) -> str:
    """ln 4 for 1.386…; other numbers in four digits."""
    if 0 < epsilon_per_km < 12:
        base = exp(epsilon_per_km)
        if abs(base - round(base)) <= 1e-9:
            return f"ln {round(base)}"
    return f"{epsilon_per_km:.4g}"


def interval_name(record: Record) -> str:
    """What the record's ci_low and ci_high are: its `extra` may say that they are something else."""
    return str(record.extra.get("interval", f"{100 * LEVEL:g} % interval"))


def written(value: float, *, percent: bool) -> str:
    """A value as people read it: percent with one decimal, other numbers in three digits."""
    if percent:
        return f"{100 * value:.1f} %"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _pair_words(record: Record, varying: Collection[str]) -> list[str]:
    profile = record.profile if "profile" in varying else ""
    rule = record.rule if "rule" in varying else ""
    return [word for word in (profile, "random place" if rule == "random" else rule) if word]


def _on_axis(value: float, *, percent: bool) -> str:
    return f"{100 * value:.6g} %" if percent else f"{value:,.6g}"


def _x_word(spec: FigureSpec, x: Any) -> str:
    if spec.x == "epsilon_per_km":
        return epsilon_name(x)
    return f"{x:g}" if isinstance(x, int | float) else str(x)


# --- records into panels and series -----------------------------------------------------------------------------


def _ordered(values: Iterable[Slot]) -> list[Slot]:
    return list(dict.fromkeys(values))


def _pair(record: Record) -> Pair:
    return record.profile, record.rule


def _x(spec: FigureSpec, record: Record) -> Any:
    if spec.x in record.extra:
        return record.extra[spec.x]
    try:
        return getattr(record, spec.x)
    except AttributeError:
        raise InputError("x", spec.x, "should be a field of the records or a key of their extra") from None


def _rank(method: str) -> int:
    return list(METHODS).index(method) if method in METHODS else len(METHODS)


@dataclass(frozen=True)
class _Panel:
    title: str
    records: list[Record]


class _Panels(list[_Panel]):
    """The records by label; a panel's title says the profile and rule where its label does not."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.varying = [part for part in ("profile", "rule") if len({getattr(r, part) for r in records}) > 1]
        by_label = {label: [r for r in records if r.label == label] for label in _ordered(r.label for r in records)}
        self.mixed = any(len({_pair(r) for r in some}) > 1 for some in by_label.values())
        """Whether several pairs of profile and rule meet in one panel."""
        for label, some in by_label.items():
            told = [] if self.mixed else [word for word in _pair_words(some[0], self.varying) if word not in label]
            self.append(_Panel(", ".join([label, *told]) if label else ", ".join(told), some))


def _settled(
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
class _Series:
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


def _series(records: Sequence[Record], panels: _Panels) -> list[_Series]:
    """Every series, from the ceiling to the floor; told apart by profile and rule only where those mix."""
    pairs = _ordered(_pair(record) for record in records)
    methods = sorted(_ordered(record.method for record in records), key=_rank)
    pairs.sort(key=lambda pair: pair != OURS)  # the first is drawn boldest
    found = []
    strangers = 0
    for method in methods:
        own = [pair for pair in pairs if any(r.method == method and _pair(r) == pair for r in records)]
        for pair in own if panels.mixed else own[:1]:
            profile, rule = (_ordered(one[part] for one in own).index(pair[part]) for part in (0, 1))
            ink = METHODS.get(method)
            one = next(r for r in records if r.method == method and _pair(r) == pair)
            name = series_name(one, panels.varying if panels.mixed else ())
            if ink is None or (panels.mixed and len(methods) == 1 and len(pairs) > 2):
                colour, dashes = SPARE[strangers % len(SPARE)], DASHES[strangers % len(DASHES)]
                found.append(_Series((method, pair), name, colour, "hdH8"[strangers % 4], dashes, True))
                strangers += 1
            else:
                colour, dashes = _tinted(ink.colour, TINTS[profile % len(TINTS)]), DASHES[rule % len(DASHES)]
                found.append(_Series((method, pair), name, colour, ink.marker, dashes, profile + rule == 0))
    return found


def _of(series: _Series, records: Iterable[Record], panels: _Panels) -> list[Record]:
    method, pair = series.key
    return [r for r in records if r.method == method and (not panels.mixed or _pair(r) == pair)]


def _tinted(colour: str, share: float) -> str:
    red, green, blue = (channel + (1 - channel) * share for channel in to_rgb(colour))
    return to_hex((red, green, blue))


# --- the sheet: title, legend, panels ----------------------------------------------------------------------------


class _Sheet:
    """A figure in the making: measures texts, then lays out title, legend and panels from the top."""

    def __init__(self, spec: FigureSpec) -> None:
        self.spec = spec
        self.figure = Figure(figsize=(MIN_INCHES, MIN_INCHES), facecolor="white")
        self.renderer: Any = cast(Any, FigureCanvasAgg(self.figure)).get_renderer()

    def width_of(self, text: str, size: float, weight: str = "normal") -> float:
        """Of a text's longest line."""
        font = FontProperties(size=size, weight=weight)
        lines = text.split("\n")
        return float(max(self.renderer.get_text_width_height_descent(line, font, False)[0] for line in lines)) / 100

    def wrapped(self, text: str, size: float, weight: str, inches: float) -> list[str]:
        """Lines no wider than so many inches, unless a single word is."""
        lines = [""]
        for word in text.split():
            longer = f"{lines[-1]} {word}".strip()
            if lines[-1] and self.width_of(longer, size, weight) > inches:
                lines.append(word)
            else:
                lines[-1] = longer
        return lines

    def lay_out(
        self,
        titles: Sequence[str],
        sizes: Sequence[tuple[float, float]],
        columns: int,
        keys: Sequence[Any],
        *,
        beside: float,
        right: float = MARGIN,
        below: float = AXIS_INCHES,
        gap: float | None = None,
    ) -> list[Any]:
        """Axes of the given sizes, row by row; ticks take so much room beside them, and under them."""
        figure = self.figure
        left = MARGIN + NAME_INCHES + beside
        step = max(size[0] for size in sizes) + (beside + GAP if gap is None else gap)
        wide = max(size[0] for size in sizes)
        width = max(MIN_INCHES, left + wide + (columns - 1) * step + right)
        title = self.wrapped(self.spec.title, 12.5, "bold", width - 2 * MARGIN)
        heads = [self.wrapped(text, 10, "bold", wide) if text else [] for text in titles]
        head = max(map(len, heads)) * 0.18 + (HEAD_INCHES - 0.18)
        legend, legend_inches = self._legend(keys, width - 2 * MARGIN) if keys else (None, 0.0)
        top = MARGIN + 0.23 * len(title) + (0.22 if self.spec.paper else 0.0)
        rows = [range(start, min(start + columns, len(sizes))) for start in range(0, len(sizes), columns)]
        row_inches = [max(sizes[n][1] for n in row) + head + below for row in rows]
        height = top + 0.06 + legend_inches + sum(row_inches) + MARGIN / 2
        figure.set_size_inches(width, height)

        def at(x: float, y: float) -> tuple[float, float]:
            return x / width, 1 - y / height

        for number, line in enumerate(title):
            figure.text(*at(MARGIN, MARGIN + 0.23 * number), line, size=12.5, weight="bold", va="top")
        if self.spec.paper:
            note = f"In the paper: {self.spec.paper}"
            figure.text(*at(MARGIN, MARGIN + 0.23 * len(title) + 0.03), note, size=9, color=QUIET, va="top")
        if legend is not None:
            legend.set_bbox_to_anchor(at(MARGIN, top + 0.06), transform=figure.transFigure)
        made = []
        down = top + 0.06 + legend_inches
        for row, inches in zip(rows, row_inches, strict=True):
            for column, number in enumerate(row):
                w, h = sizes[number]
                x, y = at(left + column * step, down + head + h)
                axes = figure.add_axes((x, y, w / width, h / height))
                axes.set_title("\n".join(heads[number]), loc="left", size=10, weight="bold", pad=7)
                axes.spines[["top", "right"]].set_visible(False)
                axes.tick_params(length=3)
                made.append(axes)
            down += inches
        return made

    def _legend(self, keys: Sequence[Any], inches: float) -> tuple[Any, float]:
        """The legend in as many columns as fit, and its height."""
        for columns in range(min(len(keys), 4), 0, -1):
            legend = self.figure.legend(
                handles=list(keys), ncols=columns, loc="upper left", frameon=False, fontsize=9, borderpad=0,
                borderaxespad=0, handlelength=2.2, columnspacing=1.8, handletextpad=0.6, labelspacing=0.45,
            )  # fmt: skip
            box = legend.get_window_extent(self.renderer)
            if box.width / 100 <= inches or columns == 1:
                break
            legend.remove()
        return legend, box.height / 100 + 0.14

    def room_for(self, texts: Iterable[str]) -> float:
        """What the longest of the ticks' texts takes beside a panel."""
        return max(self.width_of(text, TICK_SIZE) for text in texts) + 0.1

    def columns(self, panels: int, inches: float, gap: float) -> int:
        """How many panels of a width stand side by side: rows are filled evenly."""
        fitting = int((MAX_INCHES - 2 * MARGIN - NAME_INCHES + GAP) // (inches + gap))
        most = max(1, min(MAX_COLUMNS, fitting))
        return ceil(panels / ceil(panels / most))


def _paper_key() -> Any:
    return Line2D([], [], ls="none", label="printed in the paper", **_diamond(INK))


def _single_key() -> Any:
    return Line2D([], [], ls="none", marker="o", ms=3.6, color=QUIET, mew=0, label="one position of the grid")


def _diamond(colour: str) -> dict[str, Any]:
    return {"marker": "D", "ms": 6.2, "mfc": "white", "mec": colour, "mew": 1.4}


def _other_keys(records: Sequence[Record], *, shaded: bool, single: bool) -> list[Any]:
    """What the legend says besides the series."""
    keys: list[Any] = [_paper_key()] if any(record.paper is not None for record in records) else []
    for name in _ordered(interval_name(r) for r in records if r.ci_low < r.value or r.ci_high > r.value):
        if shaded:
            keys.append(Patch(facecolor=QUIET, alpha=0.3, label=name))
        else:
            keys.append(Line2D([], [], color=INK, lw=1.2, marker="|", ms=6, label=name))
    return [*keys, _single_key()] if single else keys


def _interval(record: Record) -> list[list[float]]:
    """How far the interval reaches below and above the value, as error bars want it."""
    return [[max(0.0, record.value - record.ci_low)], [max(0.0, record.ci_high - record.value)]]


def _limits(spec: FigureSpec, records: Sequence[Record], *, headroom: float, from_zero: bool) -> tuple[float, float]:
    """Ends of a value axis that shows every value and interval, with so much of its length free at the top."""
    ends = [end for r in records for end in (r.value, r.ci_low, r.ci_high, r.paper) if end is not None]
    if spec.log:
        positive = [end for end in ends if end > 0] or [1.0]
        low, high = log10(min(positive)), log10(max(positive))
        length = max(high - low, 0.3) / (1 - headroom - 0.06)
        return 10 ** (low - 0.06 * length), 10 ** (low + length * 0.94)
    low, high = min(ends), max(ends)
    if from_zero:
        low = 0.0
    length = (high - low or abs(high) or 1.0) / (1 - headroom - (0.0 if from_zero else 0.06))
    return (0.0, length) if from_zero else (low - 0.06 * length, low + 0.94 * length)


def _value_axis(spec: FigureSpec, axis: Any, limits: tuple[float, float], inches: float) -> None:
    """Scale, ticks and light lines of the axis that values stand on."""
    name = axis.axis_name
    if spec.log:
        axis.axes.set(**{f"{name}scale": "log"})
        axis.set_minor_locator(NullLocator())
    axis.set_ticks(**_ticks(spec, limits, inches))
    axis.axes.set(**{f"{name}lim": limits})
    axis.grid(color=GRID, lw=0.8)


def _ticks(spec: FigureSpec, limits: tuple[float, float], inches: float) -> dict[str, list[Any]]:
    """Where ticks stand on an axis of values, and what they say."""
    if spec.log:
        ticks = log_ticks(*limits)
    else:
        locator = MaxNLocator(max(3, int(inches * 2.2)), steps=[1, 2, 5, 10])
        ticks = [float(tick) for tick in locator.tick_values(*limits) if limits[0] <= tick <= limits[1]]
    return {"ticks": ticks, "labels": [_on_axis(tick, percent=spec.percent) for tick in ticks]}


def _by_measure(spec: FigureSpec, panel: _Panel, records: Sequence[Record], **room: Any) -> tuple[float, float]:
    """Limits shared by all panels of the same measure."""
    measure = panel.records[0].measure
    same = [record for record in records if record.measure == measure]
    return _limits(spec, same, **room)


def _titles(spec: FigureSpec, axes: Sequence[Any], columns: int) -> None:
    """The value's name on the left of each row, the other on the lowest panel of each column."""
    for number, one in enumerate(axes):
        if number % columns == 0:
            one.set_ylabel(spec.y_title)
        if number + columns >= len(axes):
            one.set_xlabel(spec.x_title)


# --- bars ------------------------------------------------------------------------------------------------------

BAR_INCHES, BETWEEN_GROUPS = 0.33, 0.26
"""From one bar to the next, at least; between groups of them."""
MAX_BAR_INCHES = 0.9
VALUE_SIZE = 7.5
MIN_PANEL_INCHES = 2.4


def _bars(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    panels = _Panels(records)
    sheet = _Sheet(spec)
    series = _series([_without_pair(record) for record in records], _Panels([_without_pair(r) for r in records]))
    inks = {one.key[0]: one for one in series}
    # x makes groups where a bar would otherwise stand for several records.
    several = any(
        len({_x(spec, r) for r in panel.records if (r.method, _pair(r)) == key}) > 1
        for panel in panels
        for key in {(r.method, _pair(r)) for r in panel.records}
    )

    def group(record: Record) -> tuple[Any, Pair | None]:
        return (_x(spec, record) if several else None, _pair(record) if panels.mixed else None)

    pitch = max([BAR_INCHES, *(sheet.width_of(_bar_text(spec, r), VALUE_SIZE) + 0.07 for r in records)])
    plans = [_BarPlan(spec, sheet, panels, panel, group, pitch) for panel in panels]
    wide = max(plan.inches for plan in plans)
    limits = [_by_measure(spec, panel, records, headroom=0.11, from_zero=True) for panel in panels]
    beside = sheet.room_for(text for one in limits for text in _ticks(spec, one, PANEL_INCHES)["labels"])
    spare = MIN_INCHES - NAME_INCHES - beside - 2 * MARGIN - wide
    if len(panels) == 1 and spare > 0:
        pitch = min(pitch + spare / len(plans[0].starts), MAX_BAR_INCHES)
        plans = [_BarPlan(spec, sheet, panels, panels[0], group, pitch)]
    lines = max((text.count("\n") + 1 for plan in plans for text in plan.texts.values() if text), default=0)
    columns = sheet.columns(len(panels), wide, beside + GAP)
    single = any(plan.single for plan in plans)
    keys = [Patch(facecolor=one.colour, label=one.name) for one in series]
    keys += _other_keys(records, shaded=False, single=single)
    below = 0.22 + 0.16 * lines + (0.2 if spec.x_title and several else 0.0)
    sizes = [(plan.inches, PANEL_INCHES) for plan in plans]
    axes = sheet.lay_out([p.title for p in panels], sizes, columns, keys, beside=beside, below=below)
    for one, ends, plan in zip(axes, limits, plans, strict=True):
        _value_axis(spec, one.yaxis, ends, PANEL_INCHES)
        one.xaxis.set_ticks(list(plan.middles.values()), list(plan.texts.values()), size=8.5)
        one.tick_params(axis="x", length=0)
        one.set_xlim(0, plan.inches)
        for (place, method), record in plan.settled.items():
            x = plan.starts[place, method]
            one.bar(x, record.value, pitch * 0.86, color=inks[method].colour)
            one.errorbar(x, record.value, _interval(record), color=INK, lw=1.1, capsize=2.2, capthick=1.1)
            _bar_value(spec, one, x, record, ends)
            if record.paper is not None:
                one.plot([x], [record.paper], ls="none", zorder=5, **_diamond(INK))
        for (place, method), record in plan.single:
            one.plot([plan.starts[place, method]], [record.value], "o", ms=3.6, mew=0, color=INK, alpha=0.55, zorder=4)
    _titles(spec, axes, columns)
    if not several:
        for one in axes:
            one.set_xlabel("")
    return sheet.figure


def _without_pair(record: Record) -> Record:
    """Bars tell profile and rule by where they stand, so that the legend need not."""
    return replace(record, profile="", rule="")


class _BarPlan:
    """Where the bars of a panel stand, in inches from its left."""

    def __init__(
        self,
        spec: FigureSpec,
        sheet: _Sheet,
        panels: _Panels,
        panel: _Panel,
        group: Callable[[Record], tuple[Any, Any]],
        pitch: float,
    ) -> None:
        self.settled, self.single = _settled(panel.records, lambda record: (group(record), record.method))
        groups = _ordered(place for place, _ in self.settled)
        groups.sort(key=lambda place: (place[0] is not None and place[0],))
        self.starts: dict[Any, float] = {}
        self.middles: dict[Any, float] = {}
        self.texts: dict[Any, str] = {}
        members = {place: sorted((one for at, one in self.settled if at == place), key=_rank) for place in groups}
        rooms = {}
        for place, methods in members.items():
            words = [] if place[0] is None else [_x_word(spec, place[0])]
            if place[1] is not None:
                words += _pair_words(self.settled[place, methods[0]], panels.varying)
            self.texts[place] = "\n".join(words)
            rooms[place] = max(len(methods) * pitch, sheet.width_of(self.texts[place], 8.5))
        taken = sum(rooms.values()) + BETWEEN_GROUPS * (len(groups) - 1)
        self.inches = max(MIN_PANEL_INCHES, taken + 0.24)
        x = (self.inches - taken) / 2
        for place, methods in members.items():
            room, bars = rooms[place], len(methods) * pitch
            self.middles[place] = x + room / 2
            for number, method in enumerate(methods):
                self.starts[place, method] = x + (room - bars) / 2 + (number + 0.5) * pitch
            x += room + BETWEEN_GROUPS


def _bar_value(spec: FigureSpec, axes: Any, x: float, record: Record, limits: tuple[float, float]) -> None:
    """The value above the bar, its interval, and the paper's mark if that is in the way."""
    points = PANEL_INCHES * 72

    def height(value: float) -> float:
        low, high = (log10(end) for end in limits) if spec.log else limits
        return points * ((log10(value) if spec.log else value) - low) / (high - low)

    top, rise = max(record.value, record.ci_high), 3.0
    if record.paper is not None and -7 < height(record.paper) - height(top) < 16:
        top, rise = record.paper, 7.0
    style = {"textcoords": "offset points", "ha": "center", "va": "bottom", "size": VALUE_SIZE}
    axes.annotate(_bar_text(spec, record), (x, top), (0, rise), **style)


def _bar_text(spec: FigureSpec, record: Record) -> str:
    return written(record.value, percent=spec.percent).removesuffix(" %")  # the axis says percent


# --- lines -----------------------------------------------------------------------------------------------------


def _lines(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    panels = _Panels(records)
    sheet = _Sheet(spec)
    series = _series(records, panels)
    if not all(isinstance(_x(spec, record), int | float) for record in records):
        raise InputError("x", spec.x, "should be a number in every record of lines")
    xs = sorted({_x(spec, record) for record in records})
    wide = {1: 5.4, 2: 4.3}.get(len(panels), 2.9)
    limits = [_by_measure(spec, p, records, headroom=0.05, from_zero=p.records[0].measure != "auc") for p in panels]
    beside = sheet.room_for(text for one in limits for text in _ticks(spec, one, PANEL_INCHES)["labels"])
    columns = sheet.columns(len(panels), wide, beside + GAP)
    settled = [[_settled(_of(s, p.records, panels), lambda r: float(_x(spec, r))) for s in series] for p in panels]
    single = any(more for row in settled for _, more in row)
    keys = [Line2D([], [], ls=s.dashes, lw=1.8, label=s.name, **s.point(6.5)) for s in series]
    keys += _other_keys(records, shaded=True, single=single)
    sizes = [(wide, PANEL_INCHES)] * len(panels)
    axes = sheet.lay_out([p.title for p in panels], sizes, columns, keys, beside=beside)
    for one, ends, row in zip(axes, limits, settled, strict=True):
        _value_axis(spec, one.yaxis, ends, PANEL_INCHES)
        _x_axis(spec, sheet, one, xs, wide)
        for ink, (points, more) in zip(series, row, strict=True):
            if points:
                _line(one, ink, dict(sorted(points.items())))
            for x, record in more:
                one.plot([x], [record.value], "o", ms=3.2, mew=0, color=ink.colour, alpha=0.55)
    _titles(spec, axes, columns)
    return sheet.figure


def _line(axes: Any, ink: _Series, points: dict[float, Record]) -> None:
    x, found = list(points), list(points.values())
    over = 4 if ink.key[0] == "crowdveil" else 3
    axes.plot(x, [r.value for r in found], ls=ink.dashes, lw=1.8, zorder=over, **ink.point(6.5))
    if len(found) > 1:
        low, high = [r.ci_low for r in found], [r.ci_high for r in found]
        axes.fill_between(x, low, high, color=ink.colour, alpha=0.15, lw=0, zorder=over - 1)
    else:
        axes.errorbar(x, found[0].value, _interval(found[0]), color=ink.colour, lw=1.1, capsize=2.2, zorder=over)
    printed = {at: r.paper for at, r in points.items() if r.paper is not None}
    if printed:
        axes.plot(list(printed), list(printed.values()), ls="none", zorder=5, **_diamond(ink.colour))


def _x_axis(spec: FigureSpec, sheet: _Sheet, axes: Any, xs: Sequence[float], inches: float) -> None:
    """A tick at every x that has room for its number; logarithmic where steps grow with x."""
    steps = np.diff(xs)
    powers = len(xs) > 2 and xs[0] > 0 and xs[-1] >= 8 * xs[0] and not isclose(steps.max(), steps.min(), rel_tol=1e-6)
    place = np.log(xs) if powers else np.asarray(xs, dtype=np.float64)
    length = float(np.ptp(place)) or 1.0
    low, high = float(place.min()) - 0.05 * length, float(place.max()) + 0.05 * length
    if powers:
        axes.set_xscale("log")
    axes.set_xlim(*(np.exp([low, high]) if powers else (low, high)))
    ticks: list[float] = []
    free = -1.0
    for x, at in zip(xs, (place - low) / (high - low) * inches, strict=True):
        half = sheet.width_of(_x_word(spec, x), TICK_SIZE) / 2
        if at - half > free:
            ticks.append(x)
            free = at + half + 0.06
    axes.xaxis.set_ticks(ticks, [_x_word(spec, x) for x in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


# --- dots ------------------------------------------------------------------------------------------------------

LANE_INCHES = 0.066
"""Between series of the same row."""


def _dots(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    panels = _Panels(records)
    sheet = _Sheet(spec)
    series = _series(records, panels)
    rows = [_rows(spec, panel.records) for panel in panels]
    # Panels with the same rows stand side by side; others below each other, on the same axis of values.
    alike = all(row == rows[0] for row in rows)
    columns = sheet.columns(len(panels), 3.3, GAP) if alike else 1
    wide = 7.2 if columns == 1 else 8.4 / columns
    row_inches = max(0.27, LANE_INCHES * (len(series) + 1.2))
    texts = {x: _x_word(spec, x) for row in rows for x in row}
    small = any(record.offset is not None for record in records)
    keys = [Line2D([], [], ls="none", label=s.name, **s.point(7)) for s in series]
    keys += _other_keys([r for r in records if r.offset is None], shaded=True, single=small)
    sizes = [(wide, len(row) * row_inches) for row in rows]
    beside = sheet.room_for(texts.values())
    axes = sheet.lay_out([p.title for p in panels], sizes, columns, keys, beside=beside, gap=GAP)
    for number, (one, panel, row) in enumerate(zip(axes, panels, rows, strict=True)):
        limits = _by_measure(spec, panel, records, headroom=0.03, from_zero=panel.records[0].measure != "auc")
        _value_axis(spec, one.xaxis, limits, wide / 2)
        height = {x: float(place) for place, x in enumerate(row)}
        one.set_ylim(len(row) - 0.5, -0.5)
        for place in range(1, len(row), 2):
            one.axhspan(place - 0.5, place + 0.5, color=BAND, lw=0, zorder=0)
        # A panel of one row is named by its title.
        named = len(row) > 1 and number % columns == 0
        one.yaxis.set_ticks(list(height.values()), [texts[x] for x in row] if named else [""] * len(row))
        one.tick_params(axis="y", length=0)
        one.spines["left"].set_visible(False)
        for lane, ink in enumerate(series):
            shift = (lane - (len(series) - 1) / 2) * LANE_INCHES / row_inches
            for record in _of(ink, panel.records, panels):
                _dot(one, ink, record, height[_x(spec, record)] + shift)
        if named:
            one.set_ylabel(spec.x_title)
        if number + columns >= len(panels):
            one.set_xlabel(spec.y_title)
    return sheet.figure


def _rows(spec: FigureSpec, records: Sequence[Record]) -> list[Any]:
    found = _ordered(_x(spec, record) for record in records)
    return sorted(found) if all(isinstance(x, int | float) for x in found) else found


def _dot(axes: Any, ink: _Series, record: Record, y: float) -> None:
    if record.offset is not None:
        axes.plot([record.value], [y], zorder=3, **{**ink.point(4.8), "mew": 0.4 if ink.plain else 0.9})
        return
    axes.errorbar(record.value, y, xerr=_interval(record), color=ink.colour, alpha=0.4, lw=2.4, zorder=2)
    axes.plot([record.value], [y], zorder=4, **ink.point(7))
    if record.paper is not None:
        axes.plot([record.paper], [y], ls="none", zorder=5, **_diamond(ink.colour))


# --- curves ----------------------------------------------------------------------------------------------------

CURVE_INCHES = 3.2


def _curves(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    panels = _Panels(records)
    sheet = _Sheet(spec)
    series = _series(records, panels)
    keys = [
        [(s, r, f"{s.name} (AUC {r.value:.3f})") for s in series for r in _of(s, panel.records, panels)]
        for panel in panels
    ]
    wide = max([CURVE_INCHES, *(0.5 + sheet.width_of(text, 9) for panel in keys for _, _, text in panel)])
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    numbers = [_on_axis(tick, percent=spec.percent) for tick in ticks]
    beside = sheet.room_for(numbers)
    columns = sheet.columns(len(panels), wide, beside + GAP)
    sizes = [(wide, CURVE_INCHES)] * len(panels)
    below = AXIS_INCHES + 0.16 + 0.19 * max(map(len, keys))
    titles = [panel.title for panel in panels]
    axes = sheet.lay_out(titles, sizes, columns, [], beside=beside, right=2 * MARGIN, below=below)
    for one, panel in zip(axes, keys, strict=True):
        one.plot([0, 1], [0, 1], ls=":", color=QUIET, lw=1)
        handles = []
        for ink, record, text in panel:
            curve = record.extra["curve"]
            handles += one.plot(curve["x"], curve["y"], color=ink.colour, ls=ink.dashes, lw=1.9, label=text)
        one.set(xlim=(0, 1), ylim=(0, 1.01), xlabel=spec.x_title)
        for axis in (one.xaxis, one.yaxis):
            axis.set_ticks(ticks, numbers)
            axis.grid(color=GRID, lw=0.8)
        # Under the panel, where no curve can run.
        one.legend(
            handles=handles, loc="upper left", bbox_to_anchor=(0, -0.5 / CURVE_INCHES), frameon=False, fontsize=9,
            borderpad=0, borderaxespad=0, handlelength=2.2, labelspacing=0.45,
        )  # fmt: skip
    for one in axes[::columns]:
        one.set_ylabel(spec.y_title)
    return sheet.figure


_CHARTS: dict[str, Callable[[FigureSpec, Sequence[Record]], Figure]] = {
    "bars": _bars,
    "lines": _lines,
    "dots": _dots,
    "curves": _curves,
}
