"""What series, axes and values are called in figures and tables."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from math import exp
from typing import Any, TypeVar

from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.style import METHODS
from crowdveil.simulate.records import LEVEL, Record

Slot = TypeVar("Slot", bound=Hashable)


def ordered(values: Iterable[Slot]) -> list[Slot]:
    """Keep the first of equal values, in their order."""
    return list(dict.fromkeys(values))


def series_name(record: Record, varying: Collection[str] = ()) -> str:
    """What people call the record's method; with its profile and rule where those are `varying`."""
    method = METHODS[record.method].name if record.method in METHODS else record.method
    return ", ".join(ordered(filter(None, [method, *pair_words(record, varying)])))


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


def pair_words(record: Record, varying: Collection[str]) -> list[str]:
    """Name the profile and the rule of a record, where those are `varying`."""
    profile = record.profile if "profile" in varying else ""
    rule = record.rule if "rule" in varying else ""
    return [word for word in (profile, "random place" if rule == "random" else rule) if word]


def on_axis(value: float, *, percent: bool) -> str:
    """Write a value beside an axis."""
    return f"{100 * value:.6g} %" if percent else f"{value:,.6g}"


def x_word(spec: FigureSpec, x: Any) -> str:
    """Write an x beside its axis."""
    if spec.x == "epsilon_per_km":
        return epsilon_name(x)
    return f"{x:g}" if isinstance(x, int | float) else str(x)
