"""Dots: a row for each x, a dot for each series, with its interval behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import ordered, x_word
from crowdveil.plots.panels import Panels, Series, records_of, series_of, x_of
from crowdveil.plots.sheet import GAP, Sheet, diamond, error_bars, other_keys, shared_limits, value_axis
from crowdveil.plots.style import BAND
from crowdveil.simulate.records import Record

LANE_INCHES = 0.066
"""Between series of the same row."""


def draw_dots(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    """Draw a dot for every record, in a row for its x."""
    panels = Panels(records)
    sheet = Sheet(spec)
    series = series_of(records, panels)
    rows = [_rows(spec, panel.records) for panel in panels]
    # Panels with the same rows stand side by side; others below each other, on the same axis of values.
    alike = all(row == rows[0] for row in rows)
    columns = sheet.columns(len(panels), 3.3, GAP) if alike else 1
    wide = 7.2 if columns == 1 else 8.4 / columns
    row_inches = max(0.27, LANE_INCHES * (len(series) + 1.2))
    texts = {x: x_word(spec, x) for row in rows for x in row}
    small = any(record.offset is not None for record in records)
    keys = [Line2D([], [], ls="none", label=s.name, **s.point(7)) for s in series]
    keys += other_keys([r for r in records if r.offset is None], shaded=True, single=small)
    sizes = [(wide, len(row) * row_inches) for row in rows]
    beside = sheet.room_for(texts.values())
    axes = sheet.lay_out([p.title for p in panels], sizes, columns, keys, beside=beside, gap=GAP)
    for number, (one, panel, row) in enumerate(zip(axes, panels, rows, strict=True)):
        limits = shared_limits(spec, panel, records, headroom=0.03, from_zero=panel.records[0].measure != "auc")
        value_axis(spec, one.xaxis, limits, wide / 2)
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
            for record in records_of(ink, panel.records, panels):
                _dot(one, ink, record, height[x_of(spec, record)] + shift)
        if named:
            one.set_ylabel(spec.x_title)
        if number + columns >= len(panels):
            one.set_xlabel(spec.y_title)
    return sheet.figure


def _rows(spec: FigureSpec, records: Sequence[Record]) -> list[Any]:
    found = ordered(x_of(spec, record) for record in records)
    return sorted(found) if all(isinstance(x, int | float) for x in found) else found


def _dot(axes: Any, ink: Series, record: Record, y: float) -> None:
    if record.offset is not None:
        axes.plot([record.value], [y], zorder=3, **{**ink.point(4.8), "mew": 0.4 if ink.plain else 0.9})
        return
    axes.errorbar(record.value, y, xerr=error_bars(record), color=ink.colour, alpha=0.4, lw=2.4, zorder=2)
    axes.plot([record.value], [y], zorder=4, **ink.point(7))
    if record.paper is not None:
        axes.plot([record.paper], [y], ls="none", zorder=5, **diamond(ink.colour))
