"""Calibration: what was predicted against what came true, tenth by tenth, beside the line on which both are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import on_axis
from crowdveil.plots.panels import Panels, Series, records_of, series_of, x_of
from crowdveil.plots.sheet import GAP, MARGIN, Sheet, error_bars, other_keys
from crowdveil.plots.style import GRID, QUIET
from crowdveil.simulate.records import Record

SIDE_INCHES = 3.0
COUNT_SIZE = 7.0
COUNTS_AT = 1.035
"""Where counts are written, above everything that is drawn."""


def draw_calibration(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    """Draw a line for every series; where a panel has one only, with the number of predictions behind each point."""
    panels = Panels(records)
    sheet = Sheet(spec)
    series = series_of(records, panels)
    drawn = [[(s, found) for s in series if (found := records_of(s, p.records, panels))] for p in panels]
    alone = all(len(row) == 1 for row in drawn)
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    numbers = [on_axis(tick, percent=spec.percent) for tick in ticks]
    beside = sheet.room_for(numbers)
    columns = sheet.columns(len(panels), SIDE_INCHES, beside + GAP)
    keys = [] if alone else [Line2D([], [], ls=s.dashes, lw=1.6, label=s.name, **s.point(6)) for s in series]
    keys.append(Line2D([], [], ls=":", color=QUIET, lw=1.2, label="predicted = came true"))
    keys += other_keys(records, shaded=False, single=False)
    if alone:
        keys.append(Line2D([], [], ls="none", label="at the top: predictions in each tenth"))
    sizes = [(SIDE_INCHES, SIDE_INCHES)] * len(panels)
    axes = sheet.lay_out([p.title for p in panels], sizes, columns, keys, beside=beside, right=2 * MARGIN)
    for number, (one, row) in enumerate(zip(axes, drawn, strict=True)):
        one.plot([0, 1], [0, 1], ls=":", color=QUIET, lw=1.2)
        for style, found in row:
            _line(spec, one, style, found, counts=alone)
        one.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.1 if alone else 1.02))
        for axis in (one.xaxis, one.yaxis):
            axis.set_ticks(ticks, numbers)
            axis.grid(color=GRID, lw=0.8)
        if number % columns == 0:
            one.set_ylabel(spec.y_title)
        if number + columns >= len(axes):
            one.set_xlabel(spec.x_title)
    return sheet.figure


def _line(spec: FigureSpec, axes: Any, style: Series, records: Sequence[Record], *, counts: bool) -> None:
    in_order = sorted(records, key=lambda record: float(x_of(spec, record)))
    x = [float(x_of(spec, record)) for record in in_order]
    axes.plot(x, [record.value for record in in_order], ls=style.dashes, lw=1.6, zorder=3, **style.point(6))
    for at, record in zip(x, in_order, strict=True):
        axes.errorbar(at, record.value, error_bars(record), color=style.colour, lw=1.1, capsize=2.2, zorder=2)
        if counts:
            text = _count(int(record.extra["trials"]))
            axes.text(
                (record.extra["tenth"] + 0.5) / 10,
                COUNTS_AT,
                text,
                size=COUNT_SIZE,
                color=QUIET,
                ha="center",
                va="bottom",
                zorder=4,
            )


def _count(number: int) -> str:
    """Write a number in three or four characters."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:.0f}{name}" if number >= 10 * unit else f"{number / unit:.1f}{name}"
    return str(number)
