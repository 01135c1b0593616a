"""Give the weights of a policy or a table, symbol by symbol: their logarithms, and the exact whole numbers.

Only quotients within one symbol matter, so logarithms are taken relative to the symbol's largest weight r:

    g_l = ln(w_l / r) ≤ 0,      ln(w_i / w_j) = g_i - g_j.

*Error.* For w ≥ r/2, g = log1p(-(r-w)/r): the difference is exact for whole numbers and rounded once for
doubles, log1p magnifies a relative error at most 1.45 times there, and 4 roundings plus the function's own
error make less than 10 · 2^-53 |g|. Otherwise |g| ≥ ln 2, and g = ln(w) - ln(r) after scaling both by the
power of two that puts r in [1, 2), so that 4 roundings make less than 20 · 2^-53 |g|. `LOG_ERROR` = 1e-14 =
90 · 2^-53 is four times that, which allows for a `log` that is wrong in its last digits. A completion adds two
logarithms, and their errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import BoolArray, FloatArray, IntArray
from crowdveil.policy.policy import Policy

LOG_ERROR = 1e-14
"""An upper bound of the relative error of every logarithm here (proof above)."""

_SMALLEST_DOUBLE_BITS = 1074
"""Every finite double is a whole multiple of 2^-1074."""

Weights = NDArray[Any]
"""Whole numbers or doubles, none negative."""


@dataclass(frozen=True)
class Columns:
    """Weights of symbols by input: `first[i, s]`; `second[row[i], :]`, if given, refines the last `refined` symbols."""

    first: Weights
    name: Callable[[int], str]
    second: Weights | None = None
    row: IntArray | None = None
    refined: int = 1

    @classmethod
    def of(cls, policy: Policy) -> Columns:
        """Take the symbols of a policy, in the order of `policy.symbol_name`, for all of its inputs."""
        refined = policy.completion
        if refined is None:
            return cls(policy.weights, policy.symbol_name)
        return cls(policy.weights, policy.symbol_name, refined.weights, refined.row, policy.grades)

    def rows(self, start: int, stop: int) -> Columns:
        """Take some of the inputs only."""
        row = None if self.row is None else self.row[start:stop]
        return Columns(self.first[start:stop], self.name, self.second, row, self.refined)

    @property
    def count(self) -> int:
        """Number of symbols."""
        columns = int(self.first.shape[1])
        return columns if self.second is None else self._plain + self.refined * int(self.second.shape[1])

    @property
    def _plain(self) -> int:
        """Number of symbols that are not refined."""
        return int(self.first.shape[1]) - (0 if self.second is None else self.refined)

    def _columns_of(self, symbol: int) -> tuple[int, int | None]:
        """Return the column of `first` and, for a refined symbol, that of `second`."""
        if self.second is None or symbol < self._plain:
            return symbol, None
        late, refined = divmod(symbol - self._plain, int(self.second.shape[1]))
        return self._plain + late, refined

    def varies(self, symbol: int) -> bool:
        """Tell whether inputs differ in this symbol; they do not if none ever sends it."""
        if self.never(symbol).all():
            return False
        at, refined = self._columns_of(symbol)
        different = bool(np.ptp(self.first[:, at]))
        if self.second is not None and refined is not None:
            different |= bool(np.ptp(self.second[:, refined]))
        return different

    def never(self, symbol: int) -> BoolArray:
        """Tell which inputs never send this symbol."""
        at, refined = self._columns_of(symbol)
        zero: BoolArray = self.first[:, at] == 0
        if self.second is not None and refined is not None:
            zero = zero | (self.second[:, refined] == 0)[self.row]
        return zero

    def logs(self, symbol: int) -> tuple[FloatArray, float]:
        """Return g_i of every input (-inf for weight 0), and an upper bound of their errors."""
        at, refined = self._columns_of(symbol)
        g = self._first_logs[at]
        error = LOG_ERROR * _largest_magnitude(g)
        if self.second is not None and refined is not None:
            more = self._second_logs[refined]
            error += LOG_ERROR * _largest_magnitude(more)
            g = g + more[self.row]
        return g, error

    @cached_property
    def _first_logs(self) -> list[FloatArray]:
        """The logs of every column of `first`, since many refined symbols need the same."""
        return [relative_logs(column) for column in self.first.T]

    @cached_property
    def _second_logs(self) -> list[FloatArray]:
        """The logs of every column of `second`, each of which refines several symbols if there are grades."""
        assert self.second is not None
        return [relative_logs(column) for column in self.second.T]

    def log_quotients(self, cells: IntArray, others: IntArray, symbols: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return ln(w_i / w_j) one by one, not as a difference of logarithms, and a bound of each one's error."""
        if self.second is None or self.row is None:
            value = log_quotient(self.first[cells, symbols], self.first[others, symbols])
            return value, LOG_ERROR * np.abs(value)
        width = int(self.second.shape[1])
        at = np.where(symbols < self._plain, symbols, self._plain + (symbols - self._plain) // width)
        value = log_quotient(self.first[cells, at], self.first[others, at])
        error = LOG_ERROR * np.abs(value)
        late = np.flatnonzero(symbols >= self._plain)
        if len(late):
            refined = (symbols[late] - self._plain) % width
            second = log_quotient(
                self.second[self.row[cells[late]], refined], self.second[self.row[others[late]], refined]
            )
            value[late] += second
            error[late] += LOG_ERROR * (np.abs(second) + np.abs(value[late]))
        return value, error

    def exact(self, cell: int, symbol: int) -> int:
        """Return the weight as a whole number, in a unit that all inputs share for this symbol."""
        at, refined = self._columns_of(symbol)
        weight = _whole(self.first[cell, at])
        if self.second is not None and self.row is not None and refined is not None:
            weight *= _whole(self.second[self.row[cell], refined])
        return weight


def relative_logs(weights: Weights) -> FloatArray:
    """Return ln(w / max w), -inf for weight 0; the module's docstring bounds the error."""
    largest = weights.max()
    if largest == 0:
        return np.full(len(weights), -np.inf)
    mantissa, exponent = np.frexp(np.float64(largest))
    with np.errstate(divide="ignore"):
        far = np.log(np.ldexp(weights, 1 - exponent)) - np.log(2 * mantissa)
    short = largest - weights
    near = np.log1p(-np.minimum(short / np.float64(largest), 0.75))
    return np.asarray(np.where(short <= weights, near, far))


def log_quotient(weights: Weights, others: Weights) -> FloatArray:
    """Return ln(w / v) for positive weights, from log1p((w-v)/v): accurate even where w and v nearly agree."""
    low, high = np.minimum(weights, others), np.maximum(weights, others)
    with np.errstate(over="ignore"):
        above = (high - low) / low
    value = np.log1p(above)
    huge = np.isinf(above)
    if huge.any():
        value[huge] = np.log(high[huge]) - np.log(low[huge])
    return np.where(weights >= others, value, -value)


def _largest_magnitude(g: FloatArray) -> float:
    finite = g[np.isfinite(g)]
    return float(np.abs(finite).max()) if len(finite) else 0.0


def _whole(weight: Any) -> int:
    if isinstance(weight, np.floating):
        numerator, denominator = float(weight).as_integer_ratio()
        return numerator * ((1 << _SMALLEST_DOUBLE_BITS) // denominator)
    return int(weight)
