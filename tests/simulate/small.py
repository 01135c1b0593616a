"""A small city for tests of the studies, as if it were one of theirs."""

from __future__ import annotations

from datetime import date
from functools import cache

import numpy as np

from crowdveil.area import Grid
from crowdveil.paper.cities import CitySource
from crowdveil.profile import Periods, choose_half_life, count_visits
from crowdveil.simulate.dataset import Dataset
from crowdveil.traces import synthetic_visits

SOURCE = CitySource("new-york", "nowhere")
"""Its name decides which figures are made; the traces come from here."""


@cache
def small_dataset(offset: int = 0) -> Dataset:
    """150 people in 60 cells, 12 weeks; another position of the grid for every offset."""
    visits = synthetic_visits(np.random.default_rng(5), users=150, weeks=12, radius_km=4.0, visits_per_week=12.0)
    box = Grid.from_bounds(47.965, 10.948, 48.035, 11.052)
    grid = Grid.build(
        box.origin,
        box.cell_m,
        box.rows,
        box.columns,
        (box.first_centre_m[0] + 250 * offset, box.first_centre_m[1]),
    )
    counts = count_visits(visits, grid, Periods(date(2024, 1, 1), 12))
    split = counts.periods.split(10, 2)
    half_life = choose_half_life(counts, split.train, validation=3)
    return Dataset(
        "new-york", "A small city", grid, counts, split, half_life, len(visits), sum(counts.left_out.values())
    )
