"""Turn a table of real numbers, cell by cell, into a policy of whole numbers.

**Rounding keeps privacy.** Let P be private, P(c|i) ≤ e^D P(c|j) with D = ε·d(i,j), and mix in a share m of
the uniform: P' = (1-m) P + m/n. Then

    P'(c|i) ≤ e^D (P'(c|j) - m/n) + m/n = e^D P'(c|j) - (m/n)(e^D - 1).

If every entry is published with an error of at most δ, P'(c|i) + δ ≤ e^D (P'(c|j) - δ) still holds as long as
δ (1 + e^D) ≤ (m/n)(e^D - 1), that is

    δ ≤ (m/n) · tanh(D/2)          for all pairs, hence for the least D, that of the two nearest cells.

Errors in computing P and errors in rounding count alike, so that this also covers tables that were integrated
numerically. `uniform_share` takes twice the m that this needs.
"""

from __future__ import annotations

from math import tanh

from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import IntArray
from crowdveil.errors import InputError
from crowdveil.policy.checks import DEFAULT_BITS, check_epsilon, check_prior, check_targets
from crowdveil.policy.policy import Policy
from crowdveil.policy.provenance import provenance

MAX_TABLE_CELLS = 3000
"""A table has n² weights: 72 MB at 3,000 cells."""
ROUNDING = 2.0**-50
"""Bound of the error of one rounded weight: four units of 2^-53, and the float error of mixing."""
MIN_SHARE = 1e-9
MAX_SHARE = 1e-3


def check_table_size(area: Area) -> int:
    """Refuse areas too large for a table of all cells by all cells; return the number of cells."""
    n = len(area)
    if n > MAX_TABLE_CELLS:
        raise InputError(
            "cells", n, f"should be at most {MAX_TABLE_CELLS:,}, because this policy is a table of cells by cells"
        )
    return n


def uniform_share(area: Area, epsilon_per_km: float, error: float) -> float:
    """Compute the uniform share that makes errors of size `error` safe: 2 n δ / tanh(D_min/2), at least 1e-9."""
    n = check_table_size(area)
    least_loss = check_epsilon(epsilon_per_km) * area.nearest_neighbour_km
    room = tanh(least_loss / 2)
    if 2 * n * (error + ROUNDING) > MAX_SHARE * room:
        what = (
            f"is too strict for a table of {n:,} cells as near as {area.nearest_neighbour_km * 1000:.0f} m: "
            f"rounding would need over {MAX_SHARE:.1%} of uniform noise; use larger cells"
        )
        raise InputError("epsilon_per_km", epsilon_per_km, what)
    return max(MIN_SHARE, 2 * n * (error + ROUNDING) / room)


def table_policy(
    area: Area,
    prior: ArrayLike | None,
    targets: ArrayLike,
    epsilon_per_km: float,
    weights: IntArray,
    **made: str | float,
) -> Policy:
    """Make a policy whose symbols are the cells and which selects everyone who names a target."""
    n = check_table_size(area)
    pi, cells = check_prior(prior, n), check_targets(targets, n)
    hit = weights[:, list(cells)].sum(axis=1) / float(1 << DEFAULT_BITS)
    beta = float(pi @ hit)
    return Policy(
        area=area,
        epsilon_per_km=check_epsilon(epsilon_per_km),
        targets=cells,
        weights=weights,
        symbols=tuple(str(cell) for cell in range(n)),
        selecting=cells,
        value=float(pi[list(cells)] @ hit[list(cells)]) / beta if beta else 0.0,
        beta=beta,
        provenance=provenance(pi, **made),
    )
