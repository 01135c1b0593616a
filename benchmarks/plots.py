"""Plot the curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from benchmarks.growth import Curve
from benchmarks.line import Line

OURS = "tab:blue"
PEER_LOOKS = ("rs:", "m^:", "gD:")


def plot_growth(curves: dict[str, Curve], measured: Sequence[Line], path: Path) -> None:
    """Seconds by cells (with the peers that solve at all), by targets and by users."""
    figure = Figure(figsize=(14, 4.6), layout="constrained")
    cells, targets, users = figure.subplots(1, 3)
    for axes, name, title in (
        (cells, "cells", "a policy: crowdveil for 8 targets, others for 2 to 8"),
        (targets, "targets", "a policy on 1,600 cells"),
        (users, "users", "a campaign of six rounds on 400 cells"),
    ):
        points = curves[name]
        x, *heights = ([point[key] for point in points] for key in (name, "seconds", "low", "high"))
        _errorbar(axes, x, *heights, color=OURS, label="crowdveil")
        _finish(axes, name, "seconds", title)
    for axes, name in ((cells, "cells"), (targets, "targets")):
        x, floor = ([point[key] for point in curves[name]] for key in (name, "floor_seconds"))
        axes.plot(x, floor, marker=".", linestyle="--", color="0.5", label="floor: n·z exponentials")
    for look, (peer, solved) in zip(PEER_LOOKS, _solvers(measured).items(), strict=False):
        cells.plot(*zip(*solved, strict=True), look, label=peer)
    cells.set_ylim(top=1e5)  # room for the legend
    users.set_yscale("linear")
    users.set_ylim(bottom=0)
    for axes in (cells, targets):
        axes.legend(fontsize="small", loc="upper right" if axes is cells else "best")
    figure.savefig(path)


def plot_estimates(measured: Sequence[Line], path: Path) -> None:
    """Total variation to the truth by number of reports, for either town."""
    figure = Figure(figsize=(9.5, 4), layout="constrained")
    towns = sorted({line.figures["town"] for line in measured if "town" in line.figures}, reverse=True)
    for axes, town in zip(figure.subplots(1, len(towns), sharey=True, squeeze=False)[0], towns, strict=True):
        lines = [line for line in measured if line.figures.get("town") == town and line.figures["peer"] == "qif"]
        x = [line.figures["reports"] for line in lines]
        for key, label, color in (("ours", "crowdveil", OURS), ("theirs", "qif, Bayesian update", "tab:orange")):
            errors = [line.figures[key] for line in lines]
            heights = ([pick(some) for some in errors] for pick in (median, min, max))
            _errorbar(axes, x, *heights, color=color, label=label)
        _finish(axes, "reports", "total variation to the truth", f"{town} town, 400 cells")
        axes.legend(fontsize="small")
    figure.savefig(path)


def _solvers(measured: Sequence[Line]) -> dict[str, list[tuple[int, float]]]:
    """Cells and seconds of each peer that solves a linear program."""
    found: dict[str, list[tuple[int, float]]] = {}
    for line in measured:
        if "solver" in line.figures:
            point = line.figures["cells"], line.figures["seconds"]
            found.setdefault(line.figures["solver"], []).append(point)
    return found


def _finish(axes: Any, name: str, height: str, title: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"number of {name}")
    axes.set_ylabel(height)
    axes.set_title(title, fontsize="medium")
    axes.grid(alpha=0.3)


def _errorbar(axes: Any, x: list[int], middle: list[float], low: list[float], high: list[float], **look: str) -> None:
    below = [m - one for m, one in zip(middle, low, strict=True)]
    above = [one - m for m, one in zip(middle, high, strict=True)]
    axes.errorbar(x, middle, yerr=[below, above], marker="o", **look)
