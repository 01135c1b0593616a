"""The curves as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from benchmarks.growth import Curve
from benchmarks.line import Line

OURS = "tab:blue"


def plot_growth(curves: dict[str, Curve], measured: Sequence[Line], path: Path) -> None:
    """Seconds by cells (with the peers that solve at all), by targets and by users."""
    figure = Figure(figsize=(14, 4.4), layout="constrained")
    cells, targets, users = figure.subplots(1, 3)
    for axes, name, title in (
        (cells, "cells", "a policy for 8 targets"),
        (targets, "targets", "a policy on 1,600 cells"),
    ):
        points = curves[name]
        x, middle = ([point[key] for point in points] for key in (name, "seconds"))
        low, high = ([abs(point["seconds"] - point[key]) for point in points] for key in ("low", "high"))
        axes.errorbar(x, middle, yerr=[low, high], marker="o", color=OURS, label="crowdveil, optimum with proof")
        floor = [point["floor_seconds"] for point in points]
        axes.plot(x, floor, marker=".", linestyle="--", color="0.5", label="floor: n·z exponentials")
        _finish(axes, name, "seconds", title)
    for marker, (peer, solved) in zip("s^D", _solvers(measured).items(), strict=False):
        cells.plot(*zip(*solved, strict=True), marker=marker, linestyle=":", label=peer)
    points = curves["users"]
    users.plot([one["users"] for one in points], [one["seconds"] for one in points], marker="o", color=OURS)
    _finish(users, "users", "seconds", "a campaign of six rounds on 400 cells")
    for axes in (cells, targets):
        axes.legend(fontsize="small")
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
            middle = [median(some) for some in errors]
            spread = [[m - min(some) for m, some in zip(middle, errors, strict=True)]]
            spread += [[max(some) - m for m, some in zip(middle, errors, strict=True)]]
            axes.errorbar(x, middle, yerr=spread, marker="o", color=color, label=label)
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
