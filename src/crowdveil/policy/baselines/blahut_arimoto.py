"""Make the policy of the Blahut-Arimoto mechanism, which PRIVIC collects places with.

Biswas and Palamidessi, "PRIVIC: A privacy-preserving method for incremental collection of location data" (2022, PoPETs
2024). With weights c over the cells that may be reported and a rate b per km,

    P(y|x) = c_y e^{-b d(x,y)} / Z_x,        Z_x = Σ_k c_k e^{-b d(x,k)},

and c is what makes mutual information plus b times the mean distance least under a prior π. It is found by taking
turns: P from c as above, then c_y = Σ_x π_x P(y|x), that is c_y ← c_y q_y with q_y = Σ_x π_x e^{-b d(x,y)} / Z_x.

**Privacy.** For any two cells and whatever c,

    P(y|x) / P(y|x') = e^{b (d(x',y) - d(x,y))} · Z_x' / Z_x  ≤  e^{b d(x,x')} · e^{b d(x,x')} = e^{2 b d(x,x')}.

The first factor is the triangle inequality; the second too, since every term of Z_x' is at most e^{b d(x,x')} times
that of Z_x. So b = ε/2 gives ε per km, for every c on the way as for the last one. Nothing smaller than 2b would do:
if c is nearly all on x', then Z_x' / Z_x nears e^{b d(x,x')}, and y = x has the first factor e^{b d(x,x')} as well.

**Taking turns never increases the functional.** It is

    F(P, c) = Σ π_x P(y|x) ln( P(y|x) / c_y )  +  b Σ π_x P(y|x) d(x,y).

For given c, F = Σ_x π_x ( KL(P(·|x) || c_y e^{-b d(x,y)} / Z_x) - ln Z_x ), least at the P above, where it is F(c) =
-Σ π_x ln Z_x. For given P, the second sum does not contain c and the first is least at the marginal (its excess is KL
of the marginal from c). So each half of a turn can only decrease F.

**How far from the least.** F(c) is convex in c (minus a mean of logarithms of linear functions) with the gradient
-q_y, and Σ c_y q_y = 1. So for any c', F(c') ≥ F(c) - Σ (c'_y - c_y) q_y ≥ F(c) - (max q - 1): a proven gap, which
decides when to stop.

**Errors.** A little of the uniform is mixed into the last c, so that every c_y is at least `FLOOR` / n and Z_x at
least as much, however small a weight became. b·d is cut off at `REACH`; min(b·d, constant) is a metric again, so that
the proof of privacy holds as it stands. A double's relative error of 2^-53 in an exponent of at most `REACH`, and in a
sum of at most 3,000 positive terms, stays below `ERROR`; `tables` then makes room for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray
from crowdveil.policy.baselines.tables import check_table_size, table_policy, uniform_share
from crowdveil.policy.checks import check_epsilon, check_prior, check_targets
from crowdveil.policy.policy import Policy
from crowdveil.policy.rounding import round_private

REACH = 700.0
"""Beyond it e^{-bd} is below 1e-304."""
FLOOR = 1e-12
"""Share of the uniform in the last c."""
ERROR = 1e-12
"""Bound of the floating-point error of an entry."""
MAX_TURNS = 1_000
MAX_GAP = 1e-3
"""Nats from the least value of the functional at which to stop."""


class ReportWeights(NamedTuple):
    """The weights of the cells that may be reported, and how good they are proven to be."""

    weights: FloatArray
    """c."""
    value: float
    """F(c), in nats."""
    gap: float
    """F(c) is at most this much above the least value."""


def blahut_arimoto(
    area: Area,
    prior: ArrayLike | None,
    targets: ArrayLike,
    epsilon_per_km: float,
    *,
    max_turns: int = MAX_TURNS,
) -> Policy:
    """Make the Blahut-Arimoto policy for a prior, with the rate b = ε/2 that ε per km allows.

    It depends on no target; those that are named only decide which symbols count as selecting. However few turns are
    taken, it is private.
    """
    n = check_table_size(area)
    epsilon = check_epsilon(epsilon_per_km)
    pi = check_prior(prior, n)
    check_targets(targets, n)
    share = uniform_share(area, epsilon, ERROR)
    kernel = distance_kernel(area, epsilon / 2)
    found = best_weights(kernel, pi, max_turns=max_turns)
    weights = round_private(_table(kernel, found.weights), share)
    told: dict[str, str | float] = {"gap_nats": f"{found.gap:.3e}", "uniform_share": share}
    return table_policy(area, pi, targets, epsilon, weights, method="Blahut-Arimoto", **told)


def distance_kernel(area: Area, rate_per_km: float) -> FloatArray:
    """Compute e^{-b d(x,y)} for all pairs of cells."""
    # The cap keeps a huge rate from overflowing to infinity; what it changes is beyond the reach anyway.
    rate = min(rate_per_km, 1e300 / max(1.0, float(np.ptp(area.xy_m))))
    return np.asarray(np.exp(-np.minimum(rate * area.distances_km(np.arange(len(area))), REACH)))


def best_weights(
    kernel: FloatArray, prior: FloatArray, *, max_turns: int = MAX_TURNS, max_gap: float = MAX_GAP
) -> ReportWeights:
    """Take turns from equal weights until the proven gap is small, or turns run out."""
    c = np.full(len(kernel), 1 / len(kernel))
    for turn in range(max_turns + 1):
        z = kernel @ c
        q = kernel.T @ (prior / z)
        gap = float(q.max()) - 1
        if gap <= max_gap or turn == max_turns:
            break
        c = c * q
        c /= c.sum()
    return ReportWeights(c, -float(prior @ np.log(z)), max(gap, 0.0))


def _table(kernel: FloatArray, weights: FloatArray) -> FloatArray:
    floored = (1 - FLOOR) * weights + FLOOR / len(weights)
    table = kernel * floored
    table /= table.sum(axis=1, keepdims=True)
    return np.asarray(table)
