"""Compute a rational number just below e^x, in whole-number arithmetic only.

Numbers are whole multiples of 2^-F, F = `FRACTION_BITS`; every step rounds down, so every result is a lower
bound.

*Exponent.* x = ε·d, with ε = a/b the exact value of its double and d = √q / 1000 km for q whole square
metres. So x² = a² q / (10^6 b²), and X = isqrt(⌊x² 2^2F⌋) is exactly ⌊x 2^F⌋, because ⌊√⌊y⌋⌋ = ⌊√y⌋.

*Power.* Choose k with r = ⌊X / 2^k⌋ · 2^-F ≤ 2^-8. All Taylor terms of e^r are positive; cutting the series
off and rounding each term down leaves y ≤ e^r. Squaring k times, each time rounding down, keeps y^(2^k) ≤
e^(r 2^k) ≤ e^x.

*Tightness.* In units of 2^-F: X and r are each less than 1 too small; the terms shrink by 2^-8 at least, so
there are at most F/8 + 1 = 25, each less than 2 too small, and the tail is less than 1: y is less than 2^6
too small, and y ≥ 1. A squaring doubles the relative error and adds at most one unit, so after k squarings it
is below 2^k (2^6 + 2) units. For x < 4096, k ≤ 20: the relative error is below 2^(27 - F) = 2^-165.
"""

from __future__ import annotations

from math import isqrt

FRACTION_BITS = 192
_SMALL_BITS = 8
MAX_EXPONENT = 4096
"""Larger exponents are never needed: no two positive doubles have a ratio near e^4096."""


def exponent_below(epsilon_per_km: float, squared_m: int) -> int:
    """Return ⌊ε · √squared_m / 1000 · 2^F⌋."""
    a, b = epsilon_per_km.as_integer_ratio()
    return isqrt((a * a * squared_m << 2 * FRACTION_BITS) // (1_000_000 * b * b))


def power_below(exponent: int) -> int:
    """Return a whole number P with P · 2^-F ≤ e^(exponent · 2^-F), with a relative error below 2^-165."""
    if not 0 <= exponent < MAX_EXPONENT << FRACTION_BITS:
        raise ValueError(f"exponent {exponent} · 2^-{FRACTION_BITS}: should be from 0 to {MAX_EXPONENT}")
    halvings = max(0, exponent.bit_length() - (FRACTION_BITS - _SMALL_BITS))
    small = exponent >> halvings
    term = power = 1 << FRACTION_BITS
    count = 0
    while term:
        count += 1
        term = (term * small >> FRACTION_BITS) // count
        power += term
    for _ in range(halvings):
        power = power * power >> FRACTION_BITS
    return power
