"""Decide one inequality of the claim "private at ε per km" exactly.

Definition 1: for all cells i, j and every symbol s,  P(s | i) ≤ e^{ε d(i,j)} P(s | j).

With whole weights w = P(s | i) · 2^B and v = P(s | j) · 2^B, and E · 2^-F a lower bound of e^{ε d(i,j)}, the
claim follows from w · 2^F ≤ E · v. A pair that satisfies Definition 1 only by less than 2^-165 is refused.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, log1p

from crowdveil.certify.exponential import FRACTION_BITS, exponent_below, power_below


class PrivacyClaim:
    """Decides w ≤ e^{ε d} v in whole numbers."""

    def __init__(self, epsilon_per_km: float) -> None:
        self.epsilon_per_km = epsilon_per_km
        # The same distances occur many times in an area.
        self._power = lru_cache(maxsize=65_536)(power_below)
        self._exponent = lru_cache(maxsize=65_536)(self._uncached_exponent)

    def _uncached_exponent(self, squared_m: int) -> int:
        return exponent_below(self.epsilon_per_km, squared_m)

    def holds(self, weight: int, other: int, squared_m: int) -> bool:
        """Decide P(s | i) ≤ e^{ε d(i,j)} P(s | j) for whole weights of cells √squared_m metres apart."""
        if weight <= other:
            return True
        if other == 0:
            return False
        exponent = self._exponent(squared_m)
        # e^x ≥ 2^x > weight / other once x has as many units as the quotient has bits.
        if exponent >> FRACTION_BITS > weight.bit_length() - other.bit_length():
            return True
        return weight << FRACTION_BITS <= self._power(exponent) * other

    def excess(self, weight: int, other: int, squared_m: int, screened: float) -> float:
        """Return ln(weight / other) - ε d, positive if and only if `holds` is false; `screened` is its float value."""
        if other == 0:
            return inf if weight else 0.0
        if abs(screened) > 1:
            return screened
        allowed = self._power(self._exponent(squared_m)) * other
        return log1p(((weight << FRACTION_BITS) - allowed) / allowed)
