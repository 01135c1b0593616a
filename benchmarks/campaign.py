"""Run one campaign in a process of its own, so that its memory can be measured: python -m benchmarks.campaign USERS."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from benchmarks.alone import peak_mb
from benchmarks.cases import EPSILON_PER_KM, city
from crowdveil.profile import Profile
from crowdveil.profile.place import choose_places
from crowdveil.simulate.simulation import Crowd, simulate

PLACES_EACH = 3
DELTA = 0.7


def main(users: int) -> None:
    """From profiles of so many users on 400 cells to the selected: places, six rounds, selection."""
    case = city(20, 4)
    generator = np.random.default_rng(1)
    cells = len(case.area)
    visited = generator.choice(cells, (users, PLACES_EACH), p=case.prior)
    key = np.unique(np.repeat(np.arange(users), PLACES_EACH) * cells + visited.ravel())
    profile = Profile(users, cells, key // cells, key % cells, generator.uniform(0.4, 1.0, len(key)))
    start = time.perf_counter()
    places = choose_places(profile, DELTA, "target-aware", generator, case.targets)
    outcome = simulate(Crowd(case.area, tuple(case.targets), places, EPSILON_PER_KM), "crowdveil", 1)
    seconds = time.perf_counter() - start
    print(json.dumps({"users": users, "seconds": seconds, "peak_mb": peak_mb(), "selected": len(outcome.selected)}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
