"""From real chances to whole-number weights that stay private.

Let p be private for the symbol and its complement, D_ij = ε·d(i, j), and mix in a share m of the constant β:

    p' = (1 - m) p + m β

Privacy of p gives  p'_i ≤ e^D p'_j - m β (e^D - 1)  and  1-p'_j ≤ e^D (1-p'_i) - m (1-β)(e^D - 1): room to spare. If
every p' is then moved by at most δ (rounding to multiples of 2^-B, and the floating-point error of p), both families
still hold as long as  δ (1 + e^D) ≤ m · min(β, 1-β) · (e^D - 1),  that is

    δ ≤ m · min(β, 1-β) · tanh(D_min / 2),        D_min = ε · least distance of any two cells.

So m follows in closed form. Σ π p' = Σ π p = β stays, and the value only falls from V to (1-m) V + m Σ_T π_t.
This is a proof for real arithmetic plus an error estimate; the certificate (certify/) checks the result exactly.
"""

from __future__ import annotations

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import InputError

LEAST_MIX = 1e-8
"""Mixing in this much costs no one anything and lets a checker decide most inequalities in floating point."""
LARGEST_MIX = 1e-3
FLOAT_ERROR = 2.0**-50
"""Floating-point error of a chance, relative to the largest one and per unit of the largest score."""


def mix_share(area: Area, epsilon_per_km: float, beta: float, bits: int, largest: float, score: float) -> float:
    """The share m of the constant that makes rounding to `bits` bits safe."""
    delta = 2.0**-bits + FLOAT_ERROR * largest * (1 + max(0.0, score))
    room = min(beta, 1 - beta) * float(np.tanh(epsilon_per_km * area.nearest_neighbour_km / 2))
    share = delta / room if room > 0 else np.inf
    if share > LARGEST_MIX:
        least = beta * share / LARGEST_MIX
        what = f"is out of reach of {bits}-bit weights over cells {area.nearest_neighbour_km * 1000:.0f} m apart"
        raise InputError("beta", beta, f"{what}; it should lie at least {least:.3g} from 0 and from 1")
    return max(share, LEAST_MIX)


def to_weights(log_hit: FloatArray, beta: float, share: float, bits: int) -> IntArray:
    """Whole-number weights of hit and other, each row summing to 2^bits."""
    mixed = (1 - share) * np.exp(log_hit) + share * beta
    hit = np.rint(np.ldexp(mixed, bits)).astype(np.int64)
    return np.column_stack([hit, (1 << bits) - hit])
