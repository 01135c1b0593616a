"""Describe the columns of some symbols by their peaks, from which anyone computes the weights.

A symbol that stands for a place is sent most often there, and less and less often farther away. Written out for every
input that is a table; its *peaks* say the same in a few numbers. With D the distances of policy.py, the weight of the
symbol s at the input i is

    weights[i, s]  =  floor_s  +  max over the peaks (k, w) of s  of  ⌊ w · e^{-D(i, k)} ⌋

where k is an input and w its weight. e^-D is computed in whole-number arithmetic (fixed_point.py), so that a device
gets the same weights as the server, to the last unit. All weights of 64 places in 400 cells fit into a few kilobytes.

*Private.* e^{-D(i,k)} changes by at most e^{D(i,j)} from i to j (the triangle inequality), and so do the largest of
such terms and the sum with a constant. That is true of real numbers; rounding moves a weight by less than two units,
for which the floor makes room (rounding.py). The certificate checks the whole numbers themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdveil.area import Area
from crowdveil.arrays import IntArray, WordArray, as_array, as_cells, frozen
from crowdveil.errors import InputError
from crowdveil.policy.checks import MAX_TABLE_ENTRIES
from crowdveil.policy.fixed_point import FRACTION_BITS, exponential_of_minus, scaled, scaled_loss

MAX_PEAK_TERMS = 100_000_000
"""Peaks times inputs: more would keep a phone busy for too long."""
MAX_EXPONENTIALS = 500_000
"""Distances from peaks, those that are equal counted once, times grades: each takes a phone some 20 microseconds."""
_CHUNK = 1 << 18
"""Terms computed at once, so that the arrays stay in the processor's cache."""
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, eq=False, repr=False)
class Peaks:
    """The peaks of the first symbols of a policy, in the order of their symbols, then of their inputs."""

    symbol: IntArray
    """Which symbol each peak belongs to."""
    input: IntArray
    """At which input it stands: a row of the policy's weights."""
    weight: IntArray
    """Its height, out of 2^bits."""
    floor: IntArray
    """What is added to all weights of each symbol: one number for each symbol that has peaks."""

    def __repr__(self) -> str:
        return f"Peaks({len(self.weight)} peaks of {len(self.floor)} symbols)"


def check_peaks(peaks: Peaks, inputs: int, symbols: int, bits: int) -> Peaks:
    """Refuse peaks that do not fit a policy; return a frozen copy."""
    floor = _whole("peaks.floor", peaks.floor, bits)
    if not 0 < len(floor) < symbols:
        raise InputError(
            "peaks.floor", f"{len(floor)} numbers", f"should be fewer than the {symbols} symbols, at least 1"
        )
    if inputs * symbols > MAX_TABLE_ENTRIES:
        raise InputError("peaks", f"{inputs:,} x {symbols:,}", f"should give at most {MAX_TABLE_ENTRIES:,} weights")
    weight = _whole("peaks.weight", peaks.weight, bits)
    symbol = as_cells("peaks.symbol", peaks.symbol, len(floor))
    at = as_cells("peaks.input", peaks.input, inputs)
    if not len(weight) == len(symbol) == len(at):
        raise InputError("peaks", (len(symbol), len(at), len(weight)), "should be as many symbols, inputs and weights")
    if len(weight) * inputs > MAX_PEAK_TERMS:
        size = f"{len(weight):,} for {inputs:,} inputs"
        raise InputError("peaks", size, f"should give at most {MAX_PEAK_TERMS:,} terms")
    if (np.diff(symbol * inputs + at) <= 0).any():
        raise InputError("peaks", "their order", "should be sorted by symbol, then by input, each pair once")
    return Peaks(frozen(symbol), frozen(at), weight, floor)


def _whole(name: str, values: ArrayLike, bits: int) -> IntArray:
    array = as_array(name, values, "should be whole numbers")
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
        raise InputError(name, f"shape {array.shape} of {array.dtype}", "should be a list of whole numbers")
    if (array < 0).any() or (array > 1 << bits).any():
        raise InputError(name, int(array.max()), f"should lie between 0 and 2^{bits}")
    return frozen(array.astype(np.int64))


def weights_of(
    peaks: Peaks,
    area: Area,
    epsilon_per_km: float,
    null_epsilon: float | None = None,
    grade_epsilon: float | None = None,
    grades: int = 1,
) -> IntArray:
    """Compute the weights of all symbols that have peaks, for every input: shape (inputs, symbols)."""
    _check_exponentials(peaks, area, grades)
    decay = _Decay(area, epsilon_per_km, null_epsilon, grade_epsilon, grades)
    columns = np.zeros((len(peaks.floor), decay.inputs), dtype=np.int64)
    order = np.argsort(peaks.input, kind="stable")
    ends = np.flatnonzero(np.diff(peaks.input[order], append=-1)) + 1
    for here in np.split(order, ends[:-1]):
        power, is_one = decay.from_input(int(peaks.input[here[0]]))
        step = max(1, _CHUNK // decay.inputs)
        for start in range(0, len(here), step):
            some = here[start : start + step]
            weight, symbol = peaks.weight[some, None], peaks.symbol[some]
            terms = np.where(is_one, weight, _high_words(weight.astype(np.uint64), power).astype(np.int64))
            columns[symbol] = np.maximum(columns[symbol], terms)
    return np.ascontiguousarray(columns.T) + peaks.floor


def _check_exponentials(peaks: Peaks, area: Area, grades: int) -> None:
    """Refuse peaks with too many different distances from them: a small file could keep a phone busy for hours."""
    cells = np.unique(peaks.input[peaks.input < len(area) * grades] % len(area))
    most = MAX_EXPONENTIALS // grades
    if len(cells) * len(area) <= most:
        return
    found = np.zeros(0, dtype=np.int64)
    step = max(1, _CHUNK // len(area))
    for start in range(0, len(cells), step):
        apart = area.xy_m[cells[start : start + step], None] - area.xy_m
        found = np.union1d(found, (apart * apart).sum(axis=2))
        if len(found) > most:
            raise InputError(
                "peaks",
                f"in {len(cells):,} of {len(area):,} cells",
                f"should need at most {MAX_EXPONENTIALS:,} exponentials, one for each distance and each difference in "
                "grades; name fewer places, or use squares, whose distances repeat",
            )


def _high_words(one: WordArray, other: WordArray) -> WordArray:
    """Return ⌊one · other / 2^64⌋, by halves of 32 bits: no sum below reaches 2^64."""
    high, low = one >> _HALF, one & _LOW
    other_high, other_low = other >> _HALF, other & _LOW
    middle = high * other_low + (low * other_low >> _HALF)
    found: WordArray = high * other_high + (middle >> _HALF) + (low * other_high + (middle & _LOW) >> _HALF)
    return found


class _Decay:
    """e^{-D(i, k)} in units of 2^-F, from one input k to all others."""

    def __init__(
        self,
        area: Area,
        epsilon_per_km: float,
        null_epsilon: float | None,
        grade_epsilon: float | None,
        grades: int,
    ) -> None:
        self.area, self.epsilon_per_km, self.grades = area, epsilon_per_km, grades
        self.inputs = len(area) * grades + (null_epsilon is not None)
        self.null_loss = None if null_epsilon is None else scaled(null_epsilon)
        self.grade_loss = 0 if grade_epsilon is None else scaled(grade_epsilon)
        self._losses: dict[int, int] = {}
        self._powers: dict[int, int] = {}

    def from_input(self, at: int) -> tuple[WordArray, NDArray[np.bool_]]:
        """Return the decay to every input, and where it is 2^F, one more than 64 bits hold; 0 stands there."""
        grade, cell = divmod(at, len(self.area))
        if grade == self.grades:  # NULL
            assert self.null_loss is not None
            powers = [self._power(self.null_loss)] * (self.inputs - 1) + [1 << FRACTION_BITS]
        else:
            apart = self.area.xy_m - self.area.xy_m[cell]
            squared, where = np.unique((apart * apart).sum(axis=1), return_inverse=True)
            losses = [self._loss(one) for one in squared.tolist()]
            parts = [self._powers_of(losses, abs(other - grade))[where] for other in range(self.grades)]
            powers = np.concatenate(parts).tolist()
            if self.null_loss is not None:
                powers.append(self._power(self.null_loss))
        found = np.array(powers, dtype=object)
        is_one = (found == 1 << FRACTION_BITS).astype(bool)
        return np.where(is_one, 0, found).astype(np.uint64), is_one

    def _powers_of(self, losses: list[int], steps: int) -> NDArray[Any]:
        far = steps * self.grade_loss
        found = [loss + far for loss in losses]
        if self.null_loss is not None:
            found = [min(loss, 2 * self.null_loss) for loss in found]
        return np.array([self._power(loss) for loss in found], dtype=object)

    def _loss(self, squared_m: int) -> int:
        if squared_m not in self._losses:
            self._losses[squared_m] = scaled_loss(self.epsilon_per_km, squared_m)
        return self._losses[squared_m]

    def _power(self, loss: int) -> int:
        if loss not in self._powers:
            self._powers[loss] = exponential_of_minus(loss)
        return self._powers[loss]
