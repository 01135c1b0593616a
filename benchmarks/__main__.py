"""Print one table, write results.json and the plots, and fail if a line misses its limit without stating a reason."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import crowdveil as cv
from benchmarks.certifying import certificates
from benchmarks.drawing import draws
from benchmarks.estimating import estimates
from benchmarks.growth import growth, told
from benchmarks.limits import campaigns, large_areas
from benchmarks.line import Line
from benchmarks.plots import plot_estimates, plot_growth
from benchmarks.profiling import profiling
from benchmarks.reading import reading
from benchmarks.service import service
from benchmarks.solving import against_qif, against_the_paper, against_the_reduced_program
from benchmarks.stacks import stacks

HERE = Path(__file__).parent
PARTS: dict[str, Callable[[], Iterable[Line]]] = {
    "draws": draws,
    "estimates": estimates,
    "certificates": certificates,
    "service": service,
    "large": large_areas,
    "reduced": against_the_reduced_program,
    "qif": against_qif,
    "paper": against_the_paper,
    "stacks": stacks,
    "profiling": profiling,
    "reading": reading,
}
"""What is measured, in this order; each gives the lines it adds to the table."""


def main() -> int:
    """Measure everything, or the parts that are named; 0 if every line is met or says why not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}, growth; all unless named")
    parts = parser.parse_args().parts or [*PARTS, "growth"]
    if unknown := set(parts) - {*PARTS, "growth"}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    console = Console(width=None if sys.stdout.isatty() else 200)
    start = time.perf_counter()
    measured: list[Line] = []
    for name in (one for one in PARTS if one in parts):
        _say(console, start, (PARTS[name].__doc__ or "").strip().rstrip("."))
        for line in PARTS[name]():
            _say(console, start, f"  {line.what}: {line.figure}, {line.verdict}")
            measured.append(line)
    curves: dict[str, list[dict[str, Any]]] = {}
    if "growth" in parts:
        _say(console, start, "growth with cells, targets and users")
        curves = growth()
        measured += campaigns(curves["users"])
        plot_growth(curves, measured, HERE / "growth.svg")
    if "estimates" in parts:
        plot_estimates(measured, HERE / "estimates.svg")
    _show(console, measured)
    for words in told(curves) if curves else ():
        console.print(words, markup=False, highlight=False)
    minutes = (time.perf_counter() - start) / 60
    record = {
        "crowdveil": cv.__version__,
        "python": platform.python_version(),
        "minutes": minutes,
        "lines": [{**asdict(line), "verdict": line.verdict} for line in measured],
        "growth": curves,
    }
    (HERE / "results.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    console.print(f"\n{minutes:.1f} minutes; written: results.json and the plots (*.svg), in benchmarks/")
    return 0 if all(line.settled for line in measured) else 1


def _say(console: Console, start: float, words: str) -> None:
    console.print(f"[{time.perf_counter() - start:5.0f} s] {words}", markup=False, highlight=False, soft_wrap=True)


def _show(console: Console, measured: Sequence[Line]) -> None:
    """The table; what is not equal stands below it, once, under the numbers of its lines."""
    table = Table("#", "what", "crowdveil", "peer or limit", "ratio or figure", "asked", "verdict", "not equal")
    texts: dict[str, list[int]] = {}
    for number, line in enumerate(measured, 1):
        if line.unequal:
            texts.setdefault(line.unequal, []).append(number)
        letter = _letter(list(texts).index(line.unequal)) if line.unequal else ""
        table.add_row(
            str(number),
            line.what,
            line.ours,
            line.peer,
            line.figure,
            line.asked,
            line.verdict,
            letter,
            end_section=True,
        )
    console.print(table)
    for index, text in enumerate(texts):
        console.print(f"({_letter(index)}) not equal: {text}", markup=False, highlight=False)
    for number, line in enumerate(measured, 1):
        if line.note:
            console.print(f"{number}: {line.note}", markup=False, highlight=False)
    behind = [(number, line) for number, line in enumerate(measured, 1) if not line.met]
    console.print(f"\n{len(measured) - len(behind)} of {len(measured)} lines ahead or kept", highlight=False)
    for number, line in behind:
        reason = line.note if line.absent else line.why or "NO REASON KNOWN"
        console.print(f"{line.verdict} {number}, {line.what}: {reason}", markup=False, highlight=False)


def _letter(index: int) -> str:
    return chr(ord("a") + index)


if __name__ == "__main__":
    sys.exit(main())
