"""The charts of records: bars, lines, dots, curves, waterfalls or calibration; and maps of one value per cell.

A panel is a `label` of the records; a series is a method under a profile and a rule. A method has the same colour and
marker in every figure. Values stand on the axes as the records hold them; only what is written is in percent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import as_floats
from crowdveil.errors import InputError
from crowdveil.plots.bars import draw_bars
from crowdveil.plots.calibration import draw_calibration
from crowdveil.plots.curves import draw_curves
from crowdveil.plots.dots import draw_dots
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import on_axis
from crowdveil.plots.lines import draw_lines
from crowdveil.plots.maps import map_figure
from crowdveil.plots.style import styled
from crowdveil.plots.waterfall import draw_waterfall
from crowdveil.simulate.records import Record

_CHARTS: dict[str, Callable[[FigureSpec, Sequence[Record]], Figure]] = {
    "bars": draw_bars,
    "lines": draw_lines,
    "dots": draw_dots,
    "curves": draw_curves,
    "waterfall": draw_waterfall,
    "calibration": draw_calibration,
}


def draw(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    """The figure of these records; refuses two that would stand at the same spot."""
    if not records:
        raise InputError("records", 0, "a figure needs at least one")
    with styled():
        return _CHARTS[spec.chart](spec, records)


def map_of_cells(
    area: Area, values: ArrayLike, targets: Sequence[int], title: str, label: str, *, percent: bool = False
) -> Figure:
    """A map of one value, 0 or more, per cell, with the targets starred; `label` heads the colour bar."""
    numbers = as_floats("values", values)
    if numbers.shape != (len(area),):
        raise InputError("values", numbers.shape, f"should be one number for each of the {len(area):,} cells")
    with styled():
        return map_figure(area, numbers, targets, title, label, lambda value: on_axis(value, percent=percent))
