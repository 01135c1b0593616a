"""A waterfall: from one value down to another, step by step, with what each step takes away.

A panel's records are values (`coverage`) and steps between them (`coverage_lost`), in order; the first and the last
value stand as whole bars, the steps hang between them. `short` in a record's `extra` is what stands under its bar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from crowdveil.errors import InputError
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import interval_name
from crowdveil.plots.panels import Panels, pair_of
from crowdveil.plots.sheet import GAP, PANEL_INCHES, Sheet, error_bars, name_axes, value_axis, value_ticks
from crowdveil.plots.style import INK, METHODS, QUIET
from crowdveil.simulate.records import Record

LOST, GAINED = "#d0694d", "#5aa37f"
PITCH_INCHES = 0.84
"""From one bar to the next; the words under them have to fit."""
LABEL_SIZE, VALUE_SIZE = 8.0, 8.0


def draw_waterfall(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    """Draw the first and the last value of every panel, and the steps between them."""
    panels = Panels(records)
    sheet = Sheet(spec)
    plans = [_plan(panel.records) for panel in panels]
    most = max(len(steps) for _, steps, _ in plans) + 2
    wide = most * PITCH_INCHES
    highest = max(end for record in records for end in (record.ci_high, record.value))
    limits = (0.0, min(1.12, 1.14 * highest))
    beside = sheet.room_for(value_ticks(spec, limits, PANEL_INCHES)["labels"])
    columns = sheet.columns(len(panels), wide, beside + GAP)
    keys = [Patch(facecolor=LOST, label="lost"), Line2D([], [], color=INK, lw=1.2, marker="|", ms=6, label="")]
    keys[-1].set_label(interval_name(records[0]))
    if any(step.value < 0 for _, steps, _ in plans for step in steps):
        keys.insert(1, Patch(facecolor=GAINED, label="gained"))
    lines = max(_short(record).count("\n") + 1 for record in records)
    axes = sheet.lay_out(
        [panel.title for panel in panels],
        [(wide, PANEL_INCHES)] * len(panels),
        columns,
        keys,
        beside=beside,
        below=0.24 + 0.16 * lines,
    )
    for one, (first, steps, last) in zip(axes, plans, strict=True):
        value_axis(spec, one.yaxis, limits, 2 * PANEL_INCHES)  # twice as many ticks as usual
        _whole(one, 0, first)
        level = first.value
        for place, step in enumerate(steps, start=1):
            level = _step(one, place, level, step)
        _whole(one, len(steps) + 1, last)
        bars = [first, *steps, last]
        one.xaxis.set_ticks(range(len(bars)), [_short(record) for record in bars], size=LABEL_SIZE)
        one.tick_params(axis="x", length=0)
        one.set_xlim(-0.55, most - 0.45)
    name_axes(spec, axes, columns)
    return sheet.figure


def _plan(records: Sequence[Record]) -> tuple[Record, list[Record], Record]:
    """Return the first value, the steps and the last value; those of other profiles and rules stand in the table."""
    steps = [record for record in records if record.measure == "coverage_lost"]
    values = [
        record for record in records if record.measure == "coverage" and steps and pair_of(record) == pair_of(steps[0])
    ]
    if len(values) < 2:
        raise InputError("records", len(records), "a waterfall needs two values and the steps between them")
    return values[0], steps, values[-1]


def _short(record: Record) -> str:
    return str(record.extra.get("short", record.method))


def _whole(axes: Any, x: float, record: Record) -> None:
    colour = METHODS[record.method].colour if record.method in METHODS else QUIET
    axes.bar(x, record.value, 0.74, color=colour)
    axes.errorbar(x, record.value, error_bars(record), color=INK, lw=1.1, capsize=2.2, capthick=1.1)
    _value(axes, x, max(record.value, record.ci_high), f"{100 * record.value:.1f}")


def _step(axes: Any, x: float, level: float, record: Record) -> float:
    """Hang a step from the level before it, and return the level after it."""
    after = level - record.value
    axes.bar(x, abs(record.value), 0.74, bottom=min(level, after), color=LOST if record.value >= 0 else GAINED)
    axes.plot([x - 1 + 0.37, x + 0.37], [level, level], color=QUIET, lw=0.8, zorder=1)
    axes.plot([x + 0.37, x + 1 - 0.37], [after, after], color=QUIET, lw=0.8, zorder=1)
    ends = [[max(0.0, record.ci_high - record.value)], [max(0.0, record.value - record.ci_low)]]
    axes.errorbar(x, after, ends, color=INK, lw=1.1, capsize=2.2, capthick=1.1)
    top = max(level, after, level - record.ci_low)
    _value(axes, x, top, f"{-100 * record.value:+.1f}".replace("-", "−"))
    return after


def _value(axes: Any, x: float, top: float, text: str) -> None:
    axes.annotate(text, (x, top), (0, 3), textcoords="offset points", ha="center", va="bottom", size=VALUE_SIZE)
