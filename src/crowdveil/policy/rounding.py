"""Round real probabilities to whole-number weights that stay private.

Let p be private for the symbol and its complement, D_ij = ε·d(i, j), and mix in a share m of the constant β:

    p' = (1 - m) p + m β

Privacy of p gives  p'_i ≤ e^D p'_j - m β (e^D - 1)  and  1-p'_j ≤ e^D (1-p'_i) - m (1-β)(e^D - 1): both have slack. If
every p' is then moved by at most δ (rounding to multiples of 2^-B, and the floating-point error of p), both families
still hold as long as  δ (1 + e^D) ≤ m · min(β, 1-β) · (e^D - 1),  that is

    δ ≤ m · min(β, 1-β) · tanh(D_min / 2),        D_min = ε · least distance of any two cells.

Grades and NULL are more rows, mixed with the same constant, at the distances ε₁ and ε₀: D_min is then the least of all.
Where the complement is split into symbols (grade_symbols.py), rounding these moves them further, by up to a share δ' of
the complement: the second family then needs  δ + δ' ≤ m · (1-β) · tanh(D_min / 2).
So m follows in closed form. Σ π p' = Σ π p = β stays, and the value only falls from V to (1-m) V + m Σ_T π_t.
**Stacks** (peaks.py). A column that is computed from its peaks is private but for the last step, which moves weights by
less than two units; with a floor f the first family holds as long as  2 (1 + e^D) ≤ f (e^D - 1)  in units of 2^-B, that
is  f ≥ 2 / tanh(D_min / 2). Let F be the sum of all floors, and scale the peaks by 1 - m with m > F: the rest becomes
(1 - m) r + (m - F), where r is private but for an error δ_r: of the program that found it (as measured, at least
`REST_ERROR`), of rounding K columns (2K units), and of splitting it (δ'). So
m - F ≥ δ_r / tanh(D_min / 2). Scaling changes no column's value.
This is a proof for real arithmetic plus an error estimate; the certificate (certify/) then checks the result exactly.
"""

from __future__ import annotations

from math import ceil, tanh

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import InputError
from crowdveil.policy.checks import DEFAULT_BITS, MAX_BITS

MIN_MIX = 1e-8
"""This share costs next to nothing and lets the checker decide most inequalities in floating point."""
MAX_MIX = 1e-2
MAX_VALUE_LOSS = 1e-6
"""A published policy loses at most this share of the optimum's value."""
FLOAT_ERROR = 2.0**-50
"""Floating-point error of a probability, relative to the largest one and per unit of the largest score."""


def mix_share(
    area: Area,
    epsilon_per_km: float,
    beta: float,
    bits: int,
    *,
    largest: float = 0.0,
    score: float = 0.0,
    advantage: float = 0.0,
    least_epsilon: float | None = None,
    split_error: float = 0.0,
) -> float:
    """Compute the share m of the constant that makes rounding to `bits` bits safe.

    `largest` and `score` are the largest probability and score of the optimum; `advantage` is 1 - Σ_T π_t / V, the
    optimum's advantage over selecting at random, of which a share m is lost. `least_epsilon` is the smaller of ε₀ and
    ε₁, and `split_error` is δ', by which the symbols into which the complement is split are moved further.
    """
    delta = 2.0**-bits + FLOAT_ERROR * largest * (1 + max(0.0, score))
    share = MIN_MIX
    least_loss = epsilon_per_km * area.nearest_neighbour_km
    if least_epsilon is not None and least_epsilon < least_loss:
        least_loss = least_epsilon
    steep = float(np.tanh(least_loss / 2))
    for moved, room in ((delta, beta * steep), (delta + split_error, (1 - beta) * steep)):
        share = max(share, moved / room if room > 0 else np.inf)
    if share > MAX_MIX or share * advantage > MAX_VALUE_LOSS:
        if least_loss == least_epsilon:
            what = f"is out of reach of {bits}-bit weights at β = {beta:.4g}, because rounding would cost too much"
            expected = f"{what}; use a larger one, or up to {MAX_BITS} bits"
            raise InputError("null_epsilon or grade_epsilon", least_epsilon, expected)
        what = f"is out of reach of {bits}-bit weights at ε = {epsilon_per_km:.4g} per km over cells as near as"
        what += f" {area.nearest_neighbour_km * 1000:.0f} m: rounding would cost too much; use larger cells"
        raise InputError("beta", beta, f"{what}, more bits (up to {MAX_BITS}), or a β farther from 0 and 1")
    return share


MIN_FLOOR = 1e-10
"""Share of a column's mean: costs no more than this of its value, and lets the checker decide most inequalities in
floating point."""
REST_ERROR = 1e-9
"""Linear programs usually keep their rows to this, but not always."""


def stack_floor(least_loss: float, mean: float, bits: int) -> int:
    """Return the floor, in units of 2^-bits, that makes rounding a column safe; `mean` is its mean probability."""
    return max(ceil(2 / tanh(least_loss / 2)), round(MIN_FLOOR * mean * (1 << bits)), 1)


def stack_share(
    least_loss: float, floors: float, columns: int, bits: int, split_error: float, rest_error: float = 0.0
) -> float:
    """Return m, by which the peaks of a stack are scaled down.

    `floors` is the sum of all floors; `rest_error` is by how much the rest was found not to be private.
    """
    error = max(REST_ERROR, 2 * rest_error) + 2 * columns * 2.0**-bits + split_error
    share = floors + error / tanh(least_loss / 2)
    if share > MAX_MIX:
        expected = f"is out of reach of {bits}-bit weights over inputs that may differ by e^{least_loss:.3g} only"
        raise InputError("epsilon_per_km", least_loss, f"{expected}; use larger cells, a larger ε, or more bits")
    return share


def to_weights(log_hit: FloatArray, beta: float, share: float, bits: int) -> IntArray:
    """Round to whole-number weights of `hit`; what is left of 2^bits is the complement."""
    mixed = (1 - share) * np.exp(log_hit) + share * beta
    return np.rint(np.ldexp(mixed, bits)).astype(np.int64)


def round_private(table: FloatArray, share: float, bits: int = DEFAULT_BITS) -> IntArray:
    """Round (1-m) P + m/n to whole weights, each row summing to 2^bits, by largest remainder.

    Entries are rounded down; what a row then lacks (or, by float error, has too much) is spread evenly, and
    the rest goes to the largest remainders, so no entry moves by more than four units.
    """
    n = table.shape[1]
    scaled = ((1 - share) * table + share / n) * float(1 << bits)
    weights: IntArray = np.floor(scaled).astype(np.int64)
    lacking = (1 << bits) - weights.sum(axis=1)
    each, rest = np.divmod(lacking, n)
    by_remainder = np.argsort(weights - scaled, axis=1, kind="stable")
    extra = np.zeros_like(weights)
    np.put_along_axis(extra, by_remainder, np.arange(n)[None, :] < rest[:, None], axis=1)
    weights += each[:, None] + extra
    return weights
