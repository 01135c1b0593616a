"""Maps: the chance that a phone in each cell is selected, or any other value per cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from crowdveil.area import Area
from crowdveil.area.regions import regions
from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.formatting import in_plain_words, rounded_up
from crowdveil.plots.style import GROUND, INK, METADATA, QUIET, TARGET, StyledFigure, render, styled
from crowdveil.policy.describe import describe_value
from crowdveil.policy.policy import Policy

MAP_INCHES = 6.0
"""The longer side of the map."""
LEFT, RIGHT, TOP, BOTTOM = 0.85, 1.4, 0.9, 0.62
"""Room around the map in inches: axis, colour bar, title, axis."""
CAPTION_INCHES = 1.22
"""Room for the caption under the map."""
MIN_WIDTH_INCHES = 6.2
"""Room for the caption under a narrow map."""
DOTS_PER_INCH = 200
"""Of the file of a policy: a map has finer detail than a chart."""
RASTER_ABOVE = 5000
"""An SVG of more regions than this holds them as an image; text and marks stay vectors."""
DECADES = 4
"""How many powers of ten below the largest value the colours tell apart."""
COLOURS = "viridis"
AxesBox: TypeAlias = tuple[float, float, float, float]


def plot_policy(policy: Policy, *, title: str | None = None) -> Figure:
    """Draw the map of p_l, the chance of being selected in each cell, and return the matplotlib figure.

    Args:
        policy: The policy.
        title: What stands above the map (default: for how many targets it is).

    >>> import crowdveil as cv
    >>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
    >>> figure = plot_policy(cv.optimal_policy(grid, None, [7], epsilon_per_km=1.0, beta=0.1))
    """
    with styled():
        return _figure(policy, title if title is not None else _title(policy))


def draw_policy(policy: Policy, path: str | Path, *, title: str | None = None) -> None:
    """Write the map of a policy as PNG or SVG, by the ending of the file's name.

    The same policy and title give the same bytes with the same version of matplotlib.
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in METADATA:
        raise InputError("path", str(path), "should end in .png or .svg")
    picture = render(plot_policy(policy, title=title), ".png" if kind == ".png" else ".svg", DOTS_PER_INCH)
    try:
        target.write_bytes(picture)
    except OSError as error:
        raise InputError("path", str(path), f"cannot be written: {error.strerror or error}") from None


def caption(policy: Policy) -> list[str]:
    """What stands under the map, line by line: what is promised, what it yields, and which policy it is."""
    return [
        *_promise(policy),
        f"{describe_value(policy, _percent)}; {_percent(policy.beta)} of all are selected (β)",
        f"{len(policy):,} cells · policy {policy.hash[:12]}",
    ]


def map_figure(
    area: Area,
    values: FloatArray,
    targets: Sequence[int],
    title: str,
    label: str,
    written: Callable[[float], str],
    below_inches: float = 0.0,
) -> Figure:
    """A map of one value, 0 or more, per cell; `label` heads the colour bar, whose ticks are `written`."""
    polygons = [polygon / 1000 for polygon in regions(area)]
    corners = np.vstack(polygons)
    low, high = corners.min(axis=0), corners.max(axis=0)
    extent = high - low
    # A long thin area still gets a map one can read: the short side is never under a quarter of the long one.
    size = np.maximum(extent / extent.max(), 0.25) * MAP_INCHES
    bottom = BOTTOM + below_inches
    width = round(max(MIN_WIDTH_INCHES, LEFT + float(size[0]) + RIGHT), 2)
    height = round(bottom + float(size[1]) + TOP, 2)
    figure = StyledFigure(figsize=(width, height), facecolor="white")

    def box(x: float, y: float, w: float, h: float) -> AxesBox:
        return (x / width, y / height, w / width, h / height)

    chart = figure.add_axes(box(LEFT, bottom, float(size[0]), float(size[1])), facecolor=GROUND)
    middle, half = (low + high) / 2, size / (size / extent).min() / 2 * 1.01
    chart.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
    chart.set(aspect="equal", xlabel="km east", ylabel="km north")
    for axis, inches in ((chart.xaxis, size[0]), (chart.yaxis, size[1])):
        axis.set_major_locator(MaxNLocator(max(2, int(inches * 1.3)), steps=[1, 2, 5, 10]))
    chart.tick_params(length=3)

    usual_km = float(np.sqrt(np.median([_area(polygon) for polygon in polygons])))
    cell_points = usual_km * 72 * float(size[0]) / (2 * float(half[0]))
    coloured = _cells(polygons, values, _norm(values), cell_points)
    chart.add_collection(coloured, autolim=False)
    bar = figure.add_axes(box(LEFT + float(size[0]) + 0.18, bottom, 0.16, float(size[1])))
    _colour_bar(figure, coloured, bar, values, label, written)
    if len(targets):
        _targets(chart, area.xy_m[list(targets)] / 1000, cell_points)
    figure.text(LEFT / width, 1 - 0.34 / height, title, size=12.5, weight="bold", va="center", parse_math=False)
    return figure


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten, with 2 and 5 between them when there are few."""
    steps = (1, 2, 5) if high < 300 * low else (1,)
    ticks = [step * 10.0**power for power in range(floor(log10(low)), ceil(log10(high)) + 1) for step in steps]
    return [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


# --- parts of the figure ------------------------------------------------------------------------------------


def _figure(policy: Policy, title: str) -> Figure:
    def percent(chance: float) -> str:
        return f"{100 * chance:.6g} %"

    label = "chance of\nbeing selected"
    figure = map_figure(policy.area, policy.hit[: len(policy)], policy.targets, title, label, percent, CAPTION_INCHES)
    width, height = figure.get_size_inches()
    promise, *rest = caption(policy)
    at = (BOTTOM + CAPTION_INCHES - 0.72) / height
    figure.text(LEFT / width, at, promise, size=10.5, weight="bold", va="top", parse_math=False)
    for number, line in enumerate(rest, start=1):
        figure.text(LEFT / width, at - number * 0.235 / height, line, color=QUIET, va="top", parse_math=False)
    return figure


def _norm(values: FloatArray) -> Normalize:
    """Powers of ten when the values span them, else even steps from 0."""
    positive = values[values > 0]
    if not positive.size:
        return Normalize(0.0, 1.0)
    least, most = float(positive.min()), float(positive.max())
    if most < 15 * least:
        return Normalize(0.0, most)
    return LogNorm(max(least, most / 10**DECADES), most)


def _cells(polygons: list[FloatArray], values: FloatArray, norm: Normalize, cell_points: float) -> Any:
    outlined = cell_points > 6
    cells = PolyCollection(
        polygons,
        array=np.maximum(values, norm.vmin or 0.0),
        cmap=COLOURS,
        norm=norm,
        # Regions too small for outlines get hard edges of their own colour, or pale seams would show.
        edgecolors="white" if outlined else "face",
        linewidths=min(0.7, cell_points / 28) if outlined else 0.3,
        antialiaseds=outlined,
    )
    cells.set_rasterized(len(polygons) > RASTER_ABOVE)
    return cells


def _area(polygon: FloatArray) -> float:
    x, y = polygon.T
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2


def _colour_bar(
    figure: Figure, cells: Any, where: Any, values: FloatArray, label: str, written: Callable[[float], str]
) -> None:
    norm = cells.norm
    powers = isinstance(norm, LogNorm)
    extend: Literal["min", "neither"] = "min" if powers and values.min() < norm.vmin else "neither"
    bar = figure.colorbar(cells, cax=where, extend=extend, extendfrac=0.03)
    bar.outline.set_visible(False)
    bar.ax.set_title(label, loc="left", size="medium", color=INK, parse_math=False)
    if powers:
        bar.set_ticks(log_ticks(norm.vmin, norm.vmax))
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
    bar.ax.tick_params(length=3)


def _targets(chart: Any, xy: FloatArray, cell_points: float) -> None:
    """A red star with a white edge on every target, smaller where cells are small or targets many."""
    size = float(np.clip(0.7 * cell_points, 9.5 if len(xy) > 30 else 11.0, 15.0))
    star: dict[str, Any] = {
        "marker": "*",
        "linestyle": "none",
        "markerfacecolor": TARGET,
        "markeredgecolor": "white",
        "markeredgewidth": 0.9,
    }
    chart.add_line(Line2D(xy[:, 0], xy[:, 1], markersize=size, zorder=3, **star))
    key = Line2D([], [], markersize=12, label="target" if len(xy) == 1 else "targets", **star)
    corner = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.1}
    chart.legend(handles=[key], frameon=False, handletextpad=0.1, fontsize=10, **corner)


# --- words --------------------------------------------------------------------------------------------------


def _title(policy: Policy) -> str:
    count = len(policy.targets)
    return f"Who is selected, for {count:,} target{'s' * (count > 1)}"


def _promise(policy: Policy) -> tuple[str, str]:
    """What ε means; a picture is no certificate, but what gives places away is not called private."""
    sent = policy.weights > 0
    if (sent.any(axis=0) & ~sent.all(axis=0)).any():
        return "Not private", "some cells never send what others do"
    return f"ε = {rounded_up(policy.epsilon_per_km, 5)} per km", in_plain_words(policy.epsilon_per_km)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share >= 0.0001 or share == 0 else f"{100 * share:.2g} %"
