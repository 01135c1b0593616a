"""Small towns where people live around a few centres, for tests that learn where people are."""

from __future__ import annotations

import numpy as np

import crowdveil as cv
from crowdveil.arrays import FloatArray, IntArray

KM_DEGREES = 0.00895
"""A little less than one kilometre, in degrees of latitude, or of longitude at the equator."""


def square_town(side: int) -> cv.Grid:
    """side x side cells of 1 km."""
    return cv.Grid.from_bounds(0.0, 0.0, side * KM_DEGREES, side * KM_DEGREES, cell_km=1.0)


def people_around(area: cv.Area, seed: int, centres: int = 2, width_km: float = 1.0, floor: float = 0.01) -> FloatArray:
    """A smooth prior: bumps around some centres, and a few people everywhere."""
    generator = np.random.default_rng(seed)
    middles = area.xy_m[generator.choice(len(area), centres)]
    apart_km = (area.xy_m[:, None, :] - middles[None, :, :]) / 1000.0
    prior = np.exp(-(apart_km**2).sum(axis=2) / 2 / width_km**2).sum(axis=1) + floor
    return np.asarray(prior / prior.sum())


def live(prior: FloatArray, users: int, generator: np.random.Generator) -> IntArray:
    """The place of each user."""
    return np.asarray(generator.choice(len(prior), users, p=prior), dtype=np.int64)
