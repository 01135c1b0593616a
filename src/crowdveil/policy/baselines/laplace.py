"""Make the policy of planar Laplace noise, reported as the nearest cell: the standard of geo-indistinguishability.

A device at the centre of cell l adds noise of density ε²/(2π) e^{-εr}, r in km on the ground, and names the
cell whose centre is nearest to the noisy point. Naming a cell is post-processing, which keeps ε whatever the
regions are.

**Integration.** Consider the probability mass as flowing from l in all directions. Per radian, the mass

    T(r) = (1 + εr) e^{-εr} / (2π)

flows beyond the radius r. The mass of a region is what enters through its edges less what leaves. Through an edge
at signed distance h from l, with t along it counted from the point nearest to l and r² = h² + t², flows

    F = ∫ h T(r) / r² dt  =  sign(h) ∫ T(|h| cosh v) / cosh v dv,         t = |h| sinh v.

So P(c|l) = [c = l] + inflow - outflow. Rows sum to one by construction, an edge to infinity is no special case
(T decreases exponentially), and the second integrand is smooth however near the edge: it is analytic for |Im v| < π/2.

**Error.** With ε = 1 and z = |h| cosh v, within |Im v| ≤ 1.4 the integrand (1 + z) e^{-z} / (2π cosh v) stays
below M = 3, since Re z ≥ cos 1.4 · |z| and |cosh v| ≥ cos 1.4. Gauss-Legendre with N points on a piece of
length L then errs by less than (64/15) (L/2) M ρ^{-2N} / (1 - ρ^{-2}), where ρ - 1/ρ = 5.6/L: the `RULES`
keep that below 1e-17 a piece. Edges are exact up to rounding; what is left is floating-point error, some 1e-16 each.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.area.regions import VoronoiEdges, voronoi_edges
from crowdveil.arrays import FloatArray, as_floats
from crowdveil.errors import InputError
from crowdveil.policy.baselines.tables import check_table_size, table_policy, uniform_share
from crowdveil.policy.checks import check_epsilon, check_prior, check_targets
from crowdveil.policy.policy import Policy
from crowdveil.policy.rounding import round_private

ERROR = 1e-13
"""Bound of the error of an entry; measured against adaptive quadrature it is below 1e-15."""
REACH = 50.0
"""Edges are cut off at εr = 50: beyond it lies 1e-20 of the mass."""
RULES = ((0.01, 3), (0.045, 4), (0.2, 6), (1.0, 12))
"""Longest piece (in v) and points of the Gauss-Legendre rule for it."""
PAIRS_AT_ONCE = 1_000_000


def planar_laplace(area: Area, prior: ArrayLike | None, targets: ArrayLike, epsilon_per_km: float) -> Policy:
    """Make the policy P(c|l) = ∫ over the region of c of ε²/(2π) e^{-ε|x - l|} dx, by numerical integration.

    Outer regions are unbounded: noise that leaves the area counts for the nearest cell. Nothing is sampled.
    """
    n = check_table_size(area)
    epsilon = check_epsilon(epsilon_per_km)
    check_prior(prior, n)
    check_targets(targets, n)
    share = uniform_share(area, epsilon, ERROR)
    weights = round_private(laplace_table(area, epsilon), share)
    method = "planar Laplace, nearest cell"
    return table_policy(area, prior, targets, epsilon, weights, method=method, uniform_share=share)


def sample_planar_laplace(xy_km: ArrayLike, epsilon_per_km: float, generator: np.random.Generator) -> FloatArray:
    """Add planar Laplace noise to points in km of a ground plane, shape (..., 2). For simulation.

    The radius has the density ε² r e^{-εr}, which is Gamma(2, 1/ε); the direction is uniform. Do not pass degrees or
    metres of Web Mercator: those are not ground distances.
    """
    xy = as_floats("xy_km", xy_km)
    if xy.shape[-1:] != (2,):
        raise InputError("xy_km", xy.shape, "should have the shape (..., 2)")
    radius = generator.gamma(2.0, 1 / check_epsilon(epsilon_per_km), xy.shape[:-1])
    angle = generator.uniform(0.0, 2 * np.pi, xy.shape[:-1])
    noisy: FloatArray = xy + radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return noisy


def laplace_table(area: Area, epsilon_per_km: float) -> FloatArray:
    """Compute P(c|l) as floats, shape (n, n), with rows that sum to one."""
    n = check_table_size(area)
    if n == 1:
        return np.ones((1, 1))
    # At ε·d = 10,000 between neighbours no mass leaves its cell; a larger ε would only overflow.
    per_metre = min(check_epsilon(epsilon_per_km), 1e4 / area.nearest_neighbour_km) / 1000.0
    wall = voronoi_edges(area)
    count = len(wall.left)
    index, sign = np.arange(count), np.ones(count)
    crossing = scipy.sparse.coo_array(
        (np.concatenate([-sign, sign]), (np.tile(index, 2), np.concatenate([wall.left, wall.right]))),
        (count, n),
    ).tocsr()
    table = np.eye(n)
    rows = max(1, PAIRS_AT_ONCE // count)
    for start in range(0, n, rows):
        table[start : start + rows] += _flows(area, wall, slice(start, start + rows), per_metre) @ crossing
    np.maximum(table, 0.0, out=table)  # float error around masses below 1e-16
    table /= table.sum(axis=1, keepdims=True)
    return table


def _flows(area: Area, wall: VoronoiEdges, sources: slice, per_metre: float) -> FloatArray:
    """Compute the mass that crosses each edge from left to right, for some sources; lengths are in units of 1/ε."""
    xy = area.xy_m.astype(np.float64)
    across = xy[wall.right] - xy[wall.left]
    length = np.hypot(across[:, 0], across[:, 1])
    along = np.column_stack([-across[:, 1], across[:, 0]])
    middle = (xy[wall.right] + xy[wall.left]) / 2
    # Products of whole and half metres below 2^53 are exact until they are divided by the length.
    h = ((middle * across).sum(axis=1) - xy[sources] @ across.T) / length * per_metre
    foot = (xy[sources] @ along.T - (middle * along).sum(axis=1)) / length * per_metre
    near = np.abs(h) < REACH
    limit = np.sqrt(np.maximum(REACH**2 - h * h, 0.0))
    begin = np.clip(wall.begin_m * per_metre - foot, -limit, limit)
    end = np.clip(wall.end_m * per_metre - foot, -limit, limit)
    # Nothing flows through an edge on a line through the source.
    sideways = np.abs(h) <= 1e-18 * np.maximum(np.abs(begin), np.abs(end))
    passes = np.nonzero(near & ~sideways & (begin < end))
    flows = np.zeros(h.shape)
    side = h[passes]
    flows[passes] = np.sign(side) * _flow(np.abs(side), begin[passes], end[passes])
    return flows


def _flow(h: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
    """Compute ∫ T(h cosh v) / cosh v dv from asinh(begin / h) to asinh(end / h), with ε = 1."""
    first, last = np.arcsinh(begin / h), np.arcsinh(end / h)
    pieces = np.maximum(1, np.ceil((last - first) / RULES[-1][0])).astype(np.int64)
    owner = np.repeat(np.arange(len(h)), pieces)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    half = ((last - first) / pieces / 2)[owner]
    centre = first[owner] + (2 * number + 1) * half
    passed = np.zeros(len(owner))
    shortest = 0.0
    for longest, points in RULES:
        chosen = np.flatnonzero((2 * half > shortest) & (2 * half <= longest * (1 + 1e-9)))
        for node, weight in zip(*np.polynomial.legendre.leggauss(points), strict=True):
            cosh = np.cosh(centre[chosen] + node * half[chosen])
            z = h[owner[chosen]] * cosh
            passed[chosen] += weight * (1 + z) * np.exp(-z) / cosh
        shortest = longest * (1 + 1e-9)
    flow: FloatArray = np.bincount(owner, passed * half, minlength=len(h)) / (2 * np.pi)
    return flow
