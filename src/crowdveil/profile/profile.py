"""Define the profile: how likely each user is to be in each cell at least once in the next period.

A profile is sparse: a pair of user and cell that is not kept has the probability 0. It is made on the device and does
not leave it; a simulation has one profile of many users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import BoolArray, FloatArray, IntArray, as_cells, as_floats, frozen
from crowdveil.dataframes import Backend, make_frame
from crowdveil.errors import InputError
from crowdveil.profile.counts import MAX_KEY


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """Probability per user and cell, sorted by user and cell."""

    users: int
    cells: int
    user: IntArray
    cell: IntArray
    probability: FloatArray
    method: str = "given"
    parameters: Mapping[str, float] = field(default_factory=dict)
    """Parameters of the method, such as the half-life."""
    train: range = range(0)
    """Periods it was made from; empty if it was not made from periods."""

    def __post_init__(self) -> None:
        if self.users < 0 or self.cells < 1 or self.users * self.cells >= MAX_KEY:
            raise InputError("users, cells", [self.users, self.cells], "should be at least 0 users and 1 cell")
        user = as_cells("user", self.user, self.users)
        cell = as_cells("cell", self.cell, self.cells)
        probability = as_floats("probability", self.probability)
        for name, column in (("user", user), ("cell", cell), ("probability", probability)):
            if column.shape != user.shape or column.ndim != 1:
                raise InputError(name, column.shape, f"should have one entry for each of {len(user)} rows")
        bad = ~((probability >= 0) & (probability <= 1))
        if bad.any():
            raise InputError("probability", float(probability[bad][0]), "should lie between 0 and 1")
        if (np.diff(user * self.cells + cell) <= 0).any():
            raise InputError("rows", len(user), "should be sorted by user and cell, each pair once")
        for name, value in (("user", user), ("cell", cell), ("probability", probability)):
            object.__setattr__(self, name, frozen(value))
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))

    def __len__(self) -> int:
        return len(self.user)

    def __repr__(self) -> str:
        told = "".join(f", {name} = {value:g}" for name, value in self.parameters.items())
        return f"Profile({self.method}{told}: {len(self):,} pairs of {self.users:,} users and {self.cells:,} cells)"

    @cached_property
    def _key(self) -> IntArray:
        key: IntArray = self.user * self.cells + self.cell
        return key

    def of(self, user: int) -> dict[int, float]:
        """Return one user's profile, cell → probability, as a device holds it; other cells have the probability 0."""
        (who,) = as_cells("user", [user], self.users).tolist()
        begin, end = np.searchsorted(self.user, [who, who + 1]).tolist()
        return dict(zip(self.cell[begin:end].tolist(), self.probability[begin:end].tolist(), strict=True))

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Give one row per pair of user and cell, as a data frame with the columns user, cell and probability.

        Args:
            backend: "pandas", "polars" or "pyarrow" (default: the first of them that is installed).

        >>> Profile(1, 9, np.array([0, 0]), np.array([2, 7]), np.array([0.9, 0.2])).to_frame("polars").shape
        (2, 3)
        """
        return make_frame({"user": self.user, "cell": self.cell, "probability": self.probability}, backend)

    def frequent(self, delta: float) -> BoolArray:
        """Tell which rows are frequent places: those with a probability above δ."""
        above: BoolArray = self.probability > check_delta(delta)
        return above

    def at(self, user: ArrayLike, cell: ArrayLike) -> FloatArray:
        """Return the probability of some pairs of user and cell (arrays that broadcast), 0 where no row is kept."""
        key = as_cells("user", user, self.users) * self.cells + as_cells("cell", cell, self.cells)
        if len(self) == 0:
            return np.zeros(key.shape)
        place = np.minimum(np.searchsorted(self._key, key), len(self) - 1)
        return np.where(self._key[place] == key, self.probability[place], 0.0)


def check_delta(delta: float) -> float:
    """Refuse a threshold δ that is not at least 0 and below 1: no probability exceeds 1."""
    if not 0 <= delta < 1:
        raise InputError("delta", delta, "should be at least 0 and below 1")
    return delta


def check_thresholds(thresholds: Sequence[float]) -> tuple[float, ...]:
    """Refuse thresholds of grades that are not probabilities below 1, each below the one before it."""
    falling = tuple(check_delta(float(one)) for one in thresholds)
    if not falling or any(later >= earlier for earlier, later in pairwise(falling)):
        raise InputError(
            "thresholds", list(thresholds), "should be one or more probabilities, falling, such as 0.5, 0.2"
        )
    return falling
