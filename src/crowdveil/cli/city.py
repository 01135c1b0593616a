"""A small synthetic city for the demo: districts, and a river and a park where nobody stays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdveil.area import Grid
from crowdveil.arrays import FloatArray

BOUNDS = (47.911, 10.867, 48.089, 11.133)
"""About 20 x 20 km of nowhere in particular."""
DISTRICTS = 6
TARGETS = 4


@dataclass(frozen=True)
class City:
    """An area, where its people are, and the places to cover."""

    area: Grid
    prior: FloatArray
    targets: list[int]


def synthetic_city(seed: int) -> City:
    """Districts with Gaussian flanks, a river, a park; targets at the busiest cells, well apart."""
    generator = np.random.default_rng(seed)
    area = Grid.from_bounds(*BOUNDS, cell_km=1.0)
    xy_km = area.xy_m / 1000
    centres_km = generator.uniform(-7, 7, (DISTRICTS, 2))
    spread_km = generator.uniform(1.2, 3.5, DISTRICTS)
    weight = generator.dirichlet(np.full(DISTRICTS, 2.0))
    distance_km = np.linalg.norm(xy_km[:, None] - centres_km[None], axis=2)
    people = np.sum(weight / spread_km**2 * np.exp(-0.5 * (distance_km / spread_km) ** 2), axis=1) + 2e-4
    river_km = 2.5 * np.sin(xy_km[:, 0] / 4) - 1
    on_river = np.abs(xy_km[:, 1] - river_km) < 0.6
    in_park = np.linalg.norm(xy_km - generator.uniform(-5, 5, 2), axis=1) < 1.6
    people[on_river | in_park] = 0
    prior: FloatArray = people / people.sum()
    return City(area, prior, _busy_and_apart(area, prior))


def _busy_and_apart(area: Grid, prior: FloatArray) -> list[int]:
    targets: list[int] = []
    for cell in np.argsort(-prior, kind="stable").tolist():
        if all(area.distance_km(cell, other) >= 4 for other in targets):
            targets.append(cell)
        if len(targets) == TARGETS:
            break
    return sorted(targets)
