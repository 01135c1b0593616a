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
    """Weight of symbol s in cell l: `first[l, s]`; `second[row[l], :]`, if given, refines the last symbol."""

    first: Weights
    name: Callable[[int], str]
    second: Weights | None = None
    row: IntArray | None = None

    @classmethod
    def of(cls, policy: Policy) -> Columns:
        """Take the symbols of a policy, in the order of `policy.symbol_name`."""
        refined = policy.completion
        if refined is None:
            return cls(policy.weights, policy.symbol_name)
        return cls(policy.weights, policy.symbol_name, refined.weights, refined.row)

    @classmethod
    def with_null(cls, policy: Policy) -> Columns:
        """Take the same with one more row, the last, for a device without a place."""
        first, row = policy.inputs()
        return cls(first, policy.symbol_name, None if policy.completion is None else policy.completion.weights, row)

    @property
    def count(self) -> int:
        """Number of symbols."""
        return int(self.first.shape[1]) + (0 if self.second is None else self.second.shape[1] - 1)

    def varies(self, symbol: int) -> bool:
        """Tell whether cells differ in this symbol; they do not if none ever sends it."""
        if self.never(symbol).all():
            return False
        at = min(symbol, self.first.shape[1] - 1)
        different = bool(np.ptp(self.first[:, at]))
        if self.second is not None and symbol >= self.first.shape[1] - 1:
            different |= bool(np.ptp(self.second[:, symbol - at]))
        return different

    def never(self, symbol: int) -> BoolArray:
        """Tell which cells never send this symbol."""
        at = min(symbol, self.first.shape[1] - 1)
        zero: BoolArray = self.first[:, at] == 0
        if self.second is not None and symbol >= self.first.shape[1] - 1:
            zero = zero | (self.second[:, symbol - at] == 0)[self.row]
        return zero

    def logs(self, symbol: int) -> tuple[FloatArray, float]:
        """Return g_l of every cell (-inf for weight 0), and an upper bound of their errors."""
        at = min(symbol, self.first.shape[1] - 1)
        g = self._first_logs(at)
        error = LOG_ERROR * _largest_magnitude(g)
        if self.second is not None and symbol >= self.first.shape[1] - 1:
            refined = relative_logs(self.second[:, symbol - at])
            error += LOG_ERROR * _largest_magnitude(refined)
            g = g + refined[self.row]
        return g, error

    def _first_logs(self, at: int) -> FloatArray:
        """Return the logs of a column of `first`; the last is cached, since every refined symbol needs it."""
        return self._last_logs if at == self.first.shape[1] - 1 else relative_logs(self.first[:, at])

    @cached_property
    def _last_logs(self) -> FloatArray:
        return relative_logs(self.first[:, -1])

    def log_quotients(self, cells: IntArray, others: IntArray, symbols: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return ln(w_i / w_j) one by one, not as a difference of logarithms, and a bound of each one's error."""
        last = self.first.shape[1] - 1
        at = np.minimum(symbols, last)
        value = log_quotient(self.first[cells, at], self.first[others, at])
        error = LOG_ERROR * np.abs(value)
        if self.second is not None and self.row is not None:
            late = np.flatnonzero(symbols >= last)
            refined = (symbols - at)[late]
            second = log_quotient(
                self.second[self.row[cells[late]], refined], self.second[self.row[others[late]], refined]
            )
            value[late] += second
            error[late] += LOG_ERROR * (np.abs(second) + np.abs(value[late]))
        return value, error

    def exact(self, cell: int, symbol: int) -> int:
        """Return the weight as a whole number, in a unit that all cells share for this symbol."""
        at = min(symbol, self.first.shape[1] - 1)
        weight = _whole(self.first[cell, at])
        if self.second is not None and self.row is not None and symbol >= self.first.shape[1] - 1:
            weight *= _whole(self.second[self.row[cell], symbol - at])
        return weight


def relative_logs(weights: Weights) -> FloatArray:
    """Return ln(w / max w), -inf for weight 0; the module's docstring bounds the error."""
    largest = weights.max()
    if largest == 0:
        return np.full(len(weights), -np.inf)
    mantissa, exponent = np.frexp(np.float64(largest))
    with np.errstate(divide="ignore"):
        far = np.log(np.ldexp(weights.astype(np.float64), 1 - exponent)) - np.log(2 * mantissa)
    short = largest - weights
    near = np.log1p(-np.minimum(short / np.float64(largest), 0.75))
    return np.asarray(np.where(short <= weights, near, far))


def log_quotient(weights: Weights, others: Weights) -> FloatArray:
    """Return ln(w / v) for positive weights, from log1p((w-v)/v): accurate even where w and v nearly agree."""
    low, high = np.minimum(weights, others), np.maximum(weights, others)
    with np.errstate(over="ignore"):
        above = (high - low) / low.astype(np.float64)
    value = np.log1p(above)
    huge = np.isinf(above)
    if huge.any():
        value[huge] = np.log(high[huge].astype(np.float64)) - np.log(low[huge].astype(np.float64))
    return np.where(weights >= others, value, -value)


def _largest_magnitude(g: FloatArray) -> float:
    finite = g[np.isfinite(g)]
    return float(np.abs(finite).max()) if len(finite) else 0.0


def _whole(weight: Any) -> int:
    if isinstance(weight, np.floating):
        numerator, denominator = float(weight).as_integer_ratio()
        return numerator * ((1 << _SMALLEST_DOUBLE_BITS) // denominator)
    return int(weight)
