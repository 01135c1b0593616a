"""Start many small campaigns while the policy of a large one is being made, and without it.

    python -m benchmarks.side_by_side --small 200

Prints the seconds until the first rounds of all small campaigns are open, both ways in turn, and how long the large one
took. One server in a process of its own, as `crowdveil serve` runs it, on SQLite.
"""

from __future__ import annotations

import argparse
import sys
from math import log
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

import numpy as np

import crowdveil as cv
from crowdveil.client import HttpTransport, Operator
from crowdveil.server.local import local_server
from crowdveil.wire import PROTOCOL, CampaignPlan

LARGE, SMALL = 20, 6
"""Cells on a side."""
TARGETS, EACH, PEOPLE = 64, 7, 640
"""Of the large campaign: 70 % of everyone is wanted, so that its targets compete and the optimum has to be searched."""
PATIENCE_S = 600.0


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.side_by_side", description=__doc__.splitlines()[0])
    options.add_argument("--small", type=int, default=200, help="how many small campaigns")
    options.add_argument("--times", type=int, default=3, help="how often each way is measured")
    given = options.parse_args()
    alone, beside = [], []
    for number in range(given.times):
        alone.append(until_open(given.small)[0])
        seconds, large = until_open(given.small, large=True)
        beside.append(seconds)
        sys.stdout.write(
            f"{number + 1}: {given.small} small campaigns {alone[-1]:.1f} s alone, {seconds:.1f} s beside a large one, "
            f"whose policy took {large}\n"
        )
        sys.stdout.flush()
    ratio = median(beside) / median(alone)
    sys.stdout.write(f"median {median(alone):.1f} s, {median(beside):.1f} s: {ratio:.2f} times as long (limit 2)\n")
    return int(ratio > 2)


def until_open(small: int, *, large: bool = False) -> tuple[float, str]:
    """Return the seconds until all small campaigns are open, and those of the large one in words."""
    with TemporaryDirectory() as folder, local_server(Path(folder)) as server:
        by = Operator(HttpTransport(server.url), server.token)
        names = [f"small-{number}" for number in range(small)]
        for name in names:
            by.create(name, plan_of(SMALL, (3, 20), users=60, wanted=6))
        if large:
            cells = np.random.default_rng(1).choice(LARGE**2, TARGETS, replace=False)
            targets = tuple(sorted(cells.tolist()))
            by.create("large", plan_of(LARGE, targets, users=PEOPLE, numbers=(EACH,) * TARGETS))
            by.set_state("large", "open")
            sleep(1.0)  # its policy is being made
        began = monotonic()
        for name in names:
            by.set_state(name, "open")
        waiting = set(names)
        while waiting:
            waiting = {name for name in waiting if not is_open(by, name)}
            if monotonic() - began > PATIENCE_S:
                raise RuntimeError(f"{len(waiting)} campaigns are not open after {PATIENCE_S:g} s")
        seconds, done = monotonic() - began, large and is_open(by, "large")
        while large and not is_open(by, "large") and monotonic() - began < PATIENCE_S:
            sleep(0.1)
        words = f"{monotonic() - began + 1:.0f} s" + (" (done before the small ones)" if done else "")
        return seconds, words


def plan_of(side: int, targets: tuple[int, ...], **changes: Any) -> CampaignPlan:
    """Plan a campaign over a square of 1 km cells."""
    grid = cv.Grid.on_lattice(40.0, -74.0, 40.0 + side / 111.4, -74.0 + side / 85.5, cell_km=1.0)
    given = {"protocol": PROTOCOL, "name": "x", "offer": "x", "area": grid.describe(), "targets": targets}
    given |= {"epsilon_per_km": log(4), "rounds": 1, "enrolment": "open", **changes}
    return CampaignPlan.model_validate(given)


def is_open(by: Operator, name: str) -> bool:
    """Whether a round of a campaign is open."""
    return any(one.state == "open" for one in by.view(name).rounds)


if __name__ == "__main__":
    sys.exit(main())
