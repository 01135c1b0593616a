"""Give the distances D of policy.py between inputs: cells at every grade, and NULL last.

    D((l, g), (l', g'))  =  min( ε d(l, l') + ε₁ |g - g'|,  2 ε₀ )        D((l, g), NULL)  =  ε₀

Without protection there are cells alone, and D = ε d.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, as_cells
from crowdveil.policy.solver.protected_closure import Protection

MAX_PAIRS = 2_500_000
"""Up to this many pairs of inputs (20 MB) all distances are kept."""


class InputMetric:
    """The distances between the inputs of a policy."""

    def __init__(self, area: Area, epsilon_per_km: float, protection: Protection | None) -> None:
        self.area, self.epsilon_per_km, self.protection = area, epsilon_per_km, protection
        self.grades = 1 if protection is None else protection.grades
        self.count = len(area) * self.grades + (protection is not None)

    @property
    def least(self) -> float:
        """The least distance of two inputs."""
        apart = self.epsilon_per_km * self.area.nearest_neighbour_km
        return apart if self.protection is None else min(apart, self.protection.least)

    @property
    def is_small(self) -> bool:
        """Whether all pairs of inputs can be looked at."""
        return self.count**2 <= MAX_PAIRS

    def rows(self, inputs: ArrayLike) -> FloatArray:
        """Return the distances from some inputs to all: shape (given, inputs)."""
        given = as_cells("inputs", inputs, self.count)
        n = len(self.area)
        if self.protection is None:
            return np.asarray(self.epsilon_per_km * self.area.distances_km(given))
        grade, cell = np.divmod(given, n)
        null = grade == self.grades
        ground = self.epsilon_per_km * self.area.distances_km(np.where(null, 0, cell))
        steps = (self.protection.grade_epsilon or 0.0) * np.abs(np.subtract.outer(grade, np.arange(self.grades)))
        found: FloatArray = np.full((len(given), self.count), self.protection.null_epsilon)
        found[:, :-1] = (ground[:, None, :] + steps[:, :, None]).reshape(len(given), n * self.grades)
        np.minimum(found[:, :-1], 2 * self.protection.null_epsilon, out=found[:, :-1])
        found[null] = self.protection.null_epsilon
        found[null, -1] = 0.0
        return found

    @cached_property
    def pairs(self) -> FloatArray:
        """All distances, for small areas: shape (inputs, inputs)."""
        return self.rows(np.arange(self.count))
