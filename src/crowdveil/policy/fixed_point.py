"""Compute e^-x in whole-number arithmetic only, so that every language gets the same number.

Numbers are whole multiples of 2^-F, F = `FRACTION_BITS`; steps in between have 2F bits, and each rounds down.

*Exponent.* x = ε·d, with ε = a/b the exact value of its double and d = √q / 1000 km for q whole square metres:
⌊x 2^F⌋ = isqrt(⌊a² q 2^2F / (10^6 b²)⌋), because ⌊√⌊y⌋⌋ = ⌊√y⌋.

*Power.* Halve x until it is below 2^-8, add up the alternating series of e^-x, and square as often as was halved. With
2F = 128 bits the result, cut to F bits, is within one unit of 2^F e^-x: the sum has at most 20 terms, each off by less
than 2 units of 2^-128, and at most 16 squarings double that, which leaves an error below 2^-105.

The certificate does not rely on this: it checks the whole numbers that come out, whatever they stand for.
"""

from __future__ import annotations

from math import isqrt

FRACTION_BITS = 64
_STEP_BITS = 2 * FRACTION_BITS
_SMALL_BITS = 8
_NEGLIGIBLE = 64
"""Beyond this e^-x is less than 2^-92, and 0 in units of 2^-F."""


def scaled(number: float) -> int:
    """Return ⌊number · 2^F⌋ for a number of at least 0."""
    a, b = number.as_integer_ratio()
    return (a << FRACTION_BITS) // b


def scaled_loss(epsilon_per_km: float, squared_m: int) -> int:
    """Return ⌊ε · √squared_m / 1000 · 2^F⌋."""
    a, b = epsilon_per_km.as_integer_ratio()
    return isqrt((a * a * squared_m << _STEP_BITS) // (1_000_000 * b * b))


def exponential_of_minus(loss: int) -> int:
    """Return 2^F e^-x for x = loss · 2^-F, within one unit; exactly 2^F for x = 0."""
    if loss >= _NEGLIGIBLE << FRACTION_BITS:
        return 0
    small = loss << FRACTION_BITS
    halvings = max(0, small.bit_length() - (_STEP_BITS - _SMALL_BITS))
    small >>= halvings
    power = term = 1 << _STEP_BITS
    count = 0
    while term:
        count += 1
        term = (term * small >> _STEP_BITS) // count
        power += term if count % 2 == 0 else -term
    for _ in range(halvings):
        power = power * power >> _STEP_BITS
    return power >> FRACTION_BITS
