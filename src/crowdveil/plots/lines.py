"""Lines: values over a number, with shaded intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from crowdveil.errors import InputError
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import x_word
from crowdveil.plots.panels import Panels, Series, records_of, series_of, settle, x_of
from crowdveil.plots.sheet import (
    GAP,
    PANEL_INCHES,
    TICK_SIZE,
    Sheet,
    diamond,
    error_bars,
    name_axes,
    other_keys,
    shared_limits,
    value_axis,
    value_ticks,
)
from crowdveil.simulate.records import Record


def draw_lines(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    """Draw a line for every series."""
    panels = Panels(records)
    sheet = Sheet(spec)
    series = series_of(records, panels)
    if not all(isinstance(x_of(spec, record), int | float) for record in records):
        raise InputError("x", spec.x, "should be a number in every record of lines")
    xs = sorted({x_of(spec, record) for record in records})
    wide = {1: 5.4, 2: 4.3}.get(len(panels), 2.9)
    limits = [shared_limits(spec, p, records, headroom=0.05, from_zero=p.records[0].measure != "auc") for p in panels]
    beside = sheet.room_for(text for one in limits for text in value_ticks(spec, one, PANEL_INCHES)["labels"])
    columns = sheet.columns(len(panels), wide, beside + GAP)
    settled = [
        [settle(records_of(s, p.records, panels), lambda r: float(x_of(spec, r))) for s in series] for p in panels
    ]
    single = any(more for row in settled for _, more in row)
    keys = [Line2D([], [], ls=s.dashes, lw=1.8, label=s.name, **s.point(6.5)) for s in series]
    keys += other_keys(records, shaded=True, single=single)
    sizes = [(wide, PANEL_INCHES)] * len(panels)
    axes = sheet.lay_out([p.title for p in panels], sizes, columns, keys, beside=beside)
    for one, ends, row in zip(axes, limits, settled, strict=True):
        value_axis(spec, one.yaxis, ends, PANEL_INCHES)
        _x_axis(spec, sheet, one, xs, wide)
        for style, (points, more) in zip(series, row, strict=True):
            if points:
                _line(one, style, dict(sorted(points.items())))
            for x, record in more:
                one.plot([x], [record.value], "o", ms=3.2, mew=0, color=style.colour, alpha=0.55)
    name_axes(spec, axes, columns)
    return sheet.figure


def _line(axes: Any, style: Series, points: dict[float, Record]) -> None:
    x, found = list(points), list(points.values())
    over = 4 if style.key[0] == "crowdveil" else 3
    axes.plot(x, [r.value for r in found], ls=style.dashes, lw=1.8, zorder=over, **style.point(6.5))
    if len(found) > 1:
        low, high = [r.ci_low for r in found], [r.ci_high for r in found]
        axes.fill_between(x, low, high, color=style.colour, alpha=0.15, lw=0, zorder=over - 1)
    else:
        axes.errorbar(x, found[0].value, error_bars(found[0]), color=style.colour, lw=1.1, capsize=2.2, zorder=over)
    printed = {at: r.paper for at, r in points.items() if r.paper is not None}
    if printed:
        axes.plot(list(printed), list(printed.values()), ls="none", zorder=5, **diamond(style.colour))


def _x_axis(spec: FigureSpec, sheet: Sheet, axes: Any, xs: Sequence[float], inches: float) -> None:
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
        half = sheet.width_of(x_word(spec, x), TICK_SIZE) / 2
        if at - half > free:
            ticks.append(x)
            free = at + half + 0.06
    axes.xaxis.set_ticks(ticks, [x_word(spec, x) for x in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
