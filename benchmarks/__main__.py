"""Print one table, write results.json and the growth plot, and fail if a line is not met."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import crowdveil as cv
from benchmarks import lines, service
from benchmarks.line import Line

HERE = Path(__file__).parent


def main() -> int:
    """Measure everything; 0 if every line is met."""
    console = Console(width=None if sys.stdout.isatty() else 150)
    measured: list[Line] = []
    parts: tuple[Callable[[], Iterable[Line]], ...] = (
        lines.draws,
        service.service,
        lines.campaigns,
        lines.large_areas,
        lines.against_the_reduced_program,
        lines.against_the_paper,
    )
    for part in parts:
        console.print(f"measuring: {(part.__doc__ or '').strip().rstrip('.')} ...")
        measured += part()
    console.print("measuring: growth with cells and targets ...")
    curves = lines.growth()
    console.print(_table(measured))
    for line in measured:
        if line.note:
            console.print(f"- {line.what}: {line.note}")
    for name, points in curves.items():
        console.print(f"\ngrowth with {name} (seconds; times the floor of n·z exponentials)")
        for point in points:
            size = f"n = {point['cells']:>6,.0f}, z = {point['targets']:>2.0f}"
            console.print(f"  {size}: {point['seconds']:.4f} s, {point['ratio_to_floor']:,.0f} x")
    _plot(curves)
    record = {
        "crowdveil": cv.__version__,
        "python": platform.python_version(),
        "lines": [{**asdict(line), "met": line.met} for line in measured],
        "growth": curves,
    }
    (HERE / "results.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    console.print("\nwritten: benchmarks/results.json, benchmarks/growth.png")
    return 0 if all(line.met for line in measured) else 1


def _table(measured: list[Line]) -> Table:
    table = Table("what", "ours", "peer or limit", "ratio or figure", "asked", "met")
    for line in measured:
        unit = "x" if line.better == "at least" else ""
        asked = f"{line.better} {line.required:,.4g}{unit}"
        figure = f"{line.measured:,.4g}{unit}"
        table.add_row(line.what, line.ours, line.peer, figure, asked, "yes" if line.met else "NO")
    return table


def _plot(curves: dict[str, list[dict[str, float]]]) -> None:
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    for axes, (name, points) in zip(figure.subplots(1, 2), curves.items(), strict=True):
        x = [point[name] for point in points]
        low = [point["seconds"] - point["low"] for point in points]
        high = [point["high"] - point["seconds"] for point in points]
        axes.errorbar(x, [p["seconds"] for p in points], yerr=[low, high], marker="o", label="optimal policy")
        axes.plot(x, [p["floor_seconds"] for p in points], marker=".", linestyle="--", label="floor: n·z exponentials")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(f"number of {name}")
        axes.set_ylabel("seconds")
        axes.set_title("8 targets" if name == "cells" else "1,600 cells")
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(HERE / "growth.png", dpi=120)


if __name__ == "__main__":
    sys.exit(main())
