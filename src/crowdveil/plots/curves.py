"""Curves: receiver operating characteristics, with the area under each in the legend."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import on_axis
from crowdveil.plots.panels import Panels, records_of, series_of
from crowdveil.plots.sheet import AXIS_INCHES, GAP, MARGIN, Sheet
from crowdveil.plots.style import GRID, QUIET
from crowdveil.simulate.records import Record

CURVE_INCHES = 3.2


def draw_curves(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    """Draw the curve that each record holds in its `extra`."""
    panels = Panels(records)
    sheet = Sheet(spec)
    series = series_of(records, panels)
    keys = [
        [(s, r, f"{s.name} (AUC {r.value:.3f})") for s in series for r in records_of(s, panel.records, panels)]
        for panel in panels
    ]
    wide = max([CURVE_INCHES, *(0.5 + sheet.width_of(text, 9) for panel in keys for _, _, text in panel)])
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    numbers = [on_axis(tick, percent=spec.percent) for tick in ticks]
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
