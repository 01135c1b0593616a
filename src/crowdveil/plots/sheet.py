"""The sheet of a figure: title, legend and panels, laid out from the top, and the axis that values stand on.

Sizes are inches, and texts are measured before they are placed, so that nothing overlaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log10
from typing import Any, cast

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator

from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import interval_name, on_axis, ordered
from crowdveil.plots.maps import log_ticks
from crowdveil.plots.panels import Panel
from crowdveil.plots.style import GRID, INK, QUIET, StyledFigure
from crowdveil.simulate.records import Record

MAX_COLUMNS = 3
MAX_INCHES = 12.0
"""Of a figure's width; what would be wider gets fewer columns."""
MIN_INCHES = 6.0
MARGIN, GAP, NAME_INCHES, AXIS_INCHES, HEAD_INCHES = 0.2, 0.3, 0.22, 0.56, 0.3
"""Around the figure; between panels; for an axis's name; for its numbers too; for a panel's title."""
TICK_SIZE = 9.5
PANEL_INCHES = 2.6
"""Height of a panel."""


class Sheet:
    """A figure in the making: measures texts, then lays out title, legend and panels from the top."""

    def __init__(self, spec: FigureSpec) -> None:
        self.spec = spec
        self.figure = StyledFigure(figsize=(MIN_INCHES, MIN_INCHES), facecolor="white")
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
    return Line2D([], [], ls="none", label="printed in the paper", **diamond(INK))


def _single_key() -> Any:
    return Line2D([], [], ls="none", marker="o", ms=3.6, color=QUIET, mew=0, label="one position of the grid")


def diamond(colour: str) -> dict[str, Any]:
    """Return the settings of the mark for a value that the paper prints."""
    return {"marker": "D", "ms": 6.2, "mfc": "white", "mec": colour, "mew": 1.4}


def other_keys(records: Sequence[Record], *, shaded: bool, single: bool) -> list[Any]:
    """What the legend says besides the series."""
    keys: list[Any] = [_paper_key()] if any(record.paper is not None for record in records) else []
    for name in ordered(interval_name(r) for r in records if r.ci_low < r.value or r.ci_high > r.value):
        if shaded:
            keys.append(Patch(facecolor=QUIET, alpha=0.3, label=name))
        else:
            keys.append(Line2D([], [], color=INK, lw=1.2, marker="|", ms=6, label=name))
    return [*keys, _single_key()] if single else keys


def error_bars(record: Record) -> list[list[float]]:
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


def value_axis(spec: FigureSpec, axis: Any, limits: tuple[float, float], inches: float) -> None:
    """Scale, ticks and light lines of the axis that values stand on."""
    name = axis.axis_name
    if spec.log:
        axis.axes.set(**{f"{name}scale": "log"})
        axis.set_minor_locator(NullLocator())
    axis.set_ticks(**value_ticks(spec, limits, inches))
    axis.axes.set(**{f"{name}lim": limits})
    axis.grid(color=GRID, lw=0.8)


def value_ticks(spec: FigureSpec, limits: tuple[float, float], inches: float) -> dict[str, list[Any]]:
    """Where ticks stand on an axis of values, and what they say."""
    if spec.log:
        ticks = log_ticks(*limits)
    else:
        locator = MaxNLocator(max(3, int(inches * 2.2)), steps=[1, 2, 5, 10])
        ticks = [float(tick) for tick in locator.tick_values(*limits) if limits[0] <= tick <= limits[1]]
    return {"ticks": ticks, "labels": [on_axis(tick, percent=spec.percent) for tick in ticks]}


def shared_limits(spec: FigureSpec, panel: Panel, records: Sequence[Record], **room: Any) -> tuple[float, float]:
    """Limits shared by all panels of the same measure."""
    measure = panel.records[0].measure
    same = [record for record in records if record.measure == measure]
    return _limits(spec, same, **room)


def name_axes(spec: FigureSpec, axes: Sequence[Any], columns: int) -> None:
    """The value's name on the left of each row, the other on the lowest panel of each column."""
    for number, one in enumerate(axes):
        if number % columns == 0:
            one.set_ylabel(spec.y_title)
        if number + columns >= len(axes):
            one.set_xlabel(spec.x_title)
