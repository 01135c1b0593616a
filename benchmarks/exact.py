"""Check Definition 1 to 60 digits, slowly and plainly, without any code of crowdveil's own checker.

for all cells i, j and every symbol s:    ln P(s | i) - ln P(s | j) ≤ ε d(i,j),      d in km
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from itertools import combinations

from crowdveil.area import Area

DIGITS = 60
INFINITE = Decimal("Infinity")


def smallest_epsilon(area: Area, table: Sequence[Sequence[float | int]]) -> Decimal:
    """The least ε per km at which a channel is private; floats count as exactly the numbers they are."""
    with localcontext() as context:
        context.prec = DIGITS
        logs = [[Decimal(one).ln() if one > 0 else None for one in row] for row in table]
        worst = Decimal(0)
        for i, j in combinations(range(len(logs)), 2):
            km = distance_km(area, i, j)
            for one, other in zip(logs[i], logs[j], strict=True):
                if one is None and other is None:
                    continue
                if one is None or other is None:
                    return INFINITE
                worst = max(worst, abs(one - other) / km)
        return worst


def distance_km(area: Area, i: int, j: int) -> Decimal:
    """From whole metres, to as many digits as the context has."""
    x, y = (int(one) for one in area.xy_m[i] - area.xy_m[j])
    return Decimal(x * x + y * y).sqrt() / 1000


def most(area: Area, hit: Sequence[int], cell: int, total: int, epsilon_per_km: float) -> int:
    """The largest whole weight of `hit` in a cell that keeps Definition 1 towards all others, out of a total."""
    with localcontext() as context:
        context.prec = DIGITS
        largest = total - 1
        for other, weight in enumerate(hit):
            if other != cell:
                power = (Decimal(epsilon_per_km) * distance_km(area, cell, other)).exp()
                # w ≤ E v, and T - v ≤ E (T - w)
                largest = min(largest, int(power * weight), int(total - (total - weight) / power))
        return largest
