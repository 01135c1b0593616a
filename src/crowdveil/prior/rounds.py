"""Hold what the server keeps of a round to learn from: its policy and how often each symbol was sent."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import IntArray, as_array, as_cells, frozen
from crowdveil.errors import InputError
from crowdveil.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Round:
    """What the server keeps of a round to learn from: its policy, how often each symbol was sent, and NULL."""

    policy: Policy = field(repr=False)
    counts: IntArray
    nulls: int = 0
    """How many sent in the clear that they have no frequent place; 0 where the policy protects them."""

    def __post_init__(self) -> None:
        symbols = self.policy.symbol_count
        counts = as_array("counts", self.counts, "should be whole numbers, one for each symbol")
        if counts.dtype.kind not in "iu" or counts.shape != (symbols,):
            shown = f"shape {counts.shape} of {counts.dtype}"
            raise InputError("counts", shown, f"should be whole numbers, one for each of {symbols} symbols")
        if (counts < 0).any():
            raise InputError("counts", int(counts.min()), "should not be negative")
        whole = isinstance(self.nulls, int | np.integer) and not isinstance(self.nulls, bool)
        if not whole or self.nulls < 0:
            raise InputError("nulls", self.nulls, "should be a whole number, not negative")
        if self.nulls and self.policy.null_epsilon is not None:
            raise InputError("nulls", self.nulls, "should be 0: under this policy NULL is never sent in the clear")
        object.__setattr__(self, "counts", frozen(counts.astype(np.int64)))

    @property
    def reports(self) -> int:
        """How many sent a symbol."""
        return int(self.counts.sum())

    @property
    def hits(self) -> int:
        """How many sent a selecting symbol."""
        return int(self.counts[list(self.policy.selecting)].sum())


def count_symbols(policy: Policy, symbols: ArrayLike, nulls: int = 0) -> Round:
    """Count reports by symbol."""
    sent = as_cells("symbols", symbols, policy.symbol_count)
    return Round(policy, np.bincount(sent.ravel(), minlength=policy.symbol_count), nulls)
