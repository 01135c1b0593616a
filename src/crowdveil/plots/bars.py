"""Bars: a value for each method, with its interval, in groups where x has several values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log10
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import ordered, pair_words, written, x_word
from crowdveil.plots.panels import Pair, Panel, Panels, pair_of, rank_of, series_of, settle, x_of
from crowdveil.plots.sheet import (
    GAP,
    MARGIN,
    MIN_INCHES,
    NAME_INCHES,
    PANEL_INCHES,
    Sheet,
    diamond,
    error_bars,
    name_axes,
    other_keys,
    shared_limits,
    value_axis,
    value_ticks,
)
from crowdveil.plots.style import INK
from crowdveil.simulate.records import Record

BAR_INCHES, BETWEEN_GROUPS = 0.33, 0.26
"""From one bar to the next, at least; between groups of them."""
MAX_BAR_INCHES = 0.9
VALUE_SIZE = 7.5
MIN_PANEL_INCHES = 2.4


def draw_bars(spec: FigureSpec, records: Sequence[Record]) -> Figure:
    """Draw a bar for every record."""
    panels = Panels(records)
    sheet = Sheet(spec)
    series = series_of([_without_pair(record) for record in records], Panels([_without_pair(r) for r in records]))
    inks = {one.key[0]: one for one in series}
    # x makes groups where a bar would otherwise stand for several records.
    several = any(
        len({x_of(spec, r) for r in panel.records if (r.method, pair_of(r)) == key}) > 1
        for panel in panels
        for key in {(r.method, pair_of(r)) for r in panel.records}
    )

    def group(record: Record) -> tuple[Any, Pair | None]:
        return (x_of(spec, record) if several else None, pair_of(record) if panels.mixed else None)

    pitch = max([BAR_INCHES, *(sheet.width_of(_bar_text(spec, r), VALUE_SIZE) + 0.07 for r in records)])
    plans = [_BarPlan(spec, sheet, panels, panel, group, pitch) for panel in panels]
    wide = max(plan.inches for plan in plans)
    limits = [shared_limits(spec, panel, records, headroom=0.11, from_zero=True) for panel in panels]
    beside = sheet.room_for(text for one in limits for text in value_ticks(spec, one, PANEL_INCHES)["labels"])
    spare = MIN_INCHES - NAME_INCHES - beside - 2 * MARGIN - wide
    if len(panels) == 1 and spare > 0:
        pitch = min(pitch + spare / len(plans[0].starts), MAX_BAR_INCHES)
        plans = [_BarPlan(spec, sheet, panels, panels[0], group, pitch)]
    lines = max((text.count("\n") + 1 for plan in plans for text in plan.texts.values() if text), default=0)
    columns = sheet.columns(len(panels), wide, beside + GAP)
    single = any(plan.single for plan in plans)
    keys = [Patch(facecolor=one.colour, label=one.name) for one in series]
    keys += other_keys(records, shaded=False, single=single)
    below = 0.22 + 0.16 * lines + (0.2 if spec.x_title and several else 0.0)
    sizes = [(plan.inches, PANEL_INCHES) for plan in plans]
    axes = sheet.lay_out([p.title for p in panels], sizes, columns, keys, beside=beside, below=below)
    for one, ends, plan in zip(axes, limits, plans, strict=True):
        value_axis(spec, one.yaxis, ends, PANEL_INCHES)
        one.xaxis.set_ticks(list(plan.middles.values()), list(plan.texts.values()), size=8.5)
        one.tick_params(axis="x", length=0)
        one.set_xlim(0, plan.inches)
        for (place, method), record in plan.settled.items():
            x = plan.starts[place, method]
            one.bar(x, record.value, pitch * 0.86, color=inks[method].colour)
            one.errorbar(x, record.value, error_bars(record), color=INK, lw=1.1, capsize=2.2, capthick=1.1)
            _bar_value(spec, one, x, record, ends)
            if record.paper is not None:
                one.plot([x], [record.paper], ls="none", zorder=5, **diamond(INK))
        for (place, method), record in plan.single:
            one.plot([plan.starts[place, method]], [record.value], "o", ms=3.6, mew=0, color=INK, alpha=0.55, zorder=4)
    name_axes(spec, axes, columns)
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
        sheet: Sheet,
        panels: Panels,
        panel: Panel,
        group: Callable[[Record], tuple[Any, Any]],
        pitch: float,
    ) -> None:
        self.settled, self.single = settle(panel.records, lambda record: (group(record), record.method))
        groups = ordered(place for place, _ in self.settled)
        groups.sort(key=lambda place: (place[0] is not None and place[0],))
        self.starts: dict[Any, float] = {}
        self.middles: dict[Any, float] = {}
        self.texts: dict[Any, str] = {}
        members = {place: sorted((one for at, one in self.settled if at == place), key=rank_of) for place in groups}
        rooms = {}
        for place, methods in members.items():
            words = [] if place[0] is None else [x_word(spec, place[0])]
            if place[1] is not None:
                words += pair_words(self.settled[place, methods[0]], panels.varying)
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
