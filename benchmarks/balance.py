"""Print the figure `balance` of the studies as a table: who covers which target, on any data set.

    python -m benchmarks.balance new-york ../shared/data/dataset_TSMC2014_NYC.txt.xz
    python -m benchmarks.balance gowalla ../shared/data/gowalla_new_york.txt.gz
    python -m benchmarks.balance synthetic-city --users 300

3 people are wanted at each of 2 to 16 targets, drawn anew for every seed among the 40 densest cells; ε = ln 4 per km, π
known, default profile. Values are visitors in a test week for each person wanted, with 95 % intervals over the seeds;
"number" is the share of targets at which as many were seen as were wanted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from crowdveil.paper.cities import CitySource
from crowdveil.paper.figures import FULL
from crowdveil.paper.figures.balance import MEASURES, cases, records
from crowdveil.paper.runner import run_cases
from crowdveil.simulate.records import Record

HEADS = {"visitors": "all", "where_selected": "own", "median": "median", "least": "least", "supplied": "number"}
"""Short names of the measures."""


def table(made: Sequence[Record]) -> list[str]:
    """One line for each number of targets and method."""
    lines = [f"{'targets':>7}  {'method':20}" + "".join(f"{HEADS[one]:>24}" for one in MEASURES)]
    for targets, method in dict.fromkeys((record.targets, record.method) for record in made):
        at = {record.measure: record for record in made if (record.targets, record.method) == (targets, method)}
        cells = (at[f"{one}_share"] for one in MEASURES)
        shown = "".join(f"{f'{r.value:.3f} ({r.ci_low:.3f}-{r.ci_high:.3f})':>24}" for r in cells)
        lines.append(f"{targets:7}  {method:20}{shown}")
    return lines


def main() -> None:
    """Simulate every method, and print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.balance", description=__doc__.splitlines()[0])
    options.add_argument("name", choices=("new-york", "gowalla", "synthetic-city"))
    options.add_argument("traces", nargs="?")
    options.add_argument("--users", type=int, default=CitySource.users)
    options.add_argument("--seeds", type=int, default=FULL.loss_seeds)
    options.add_argument("--targets", type=int, nargs="+", default=list(FULL.balance_targets))
    options.add_argument("--workers", type=int)
    given = options.parse_args()
    source = CitySource(given.name, given.traces, users=given.users)
    asked = cases(source, replace(FULL, loss_seeds=given.seeds, balance_targets=tuple(given.targets)))
    with TemporaryDirectory() as folder:
        found = run_cases(source, asked, Path(folder), workers=given.workers)
    crowd = f" of {given.users:,}" if given.name == "synthetic-city" else ""
    sys.stdout.write(f"{given.name}{crowd}, {given.seeds} seeds, {found[-1].reports:,} people with a frequent place\n")
    sys.stdout.write("\n".join(table(records(source, list(zip(asked, found, strict=True))))) + "\n")


if __name__ == "__main__":
    main()
