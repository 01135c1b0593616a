"""Choose the symbols of those who are not selected.

**Equal columns** (the paper): P(c|l) = (1 - p_l)/(n-1) for every other symbol c. They depend on l through p alone, so
that they say no more than "not selected", and a device sends just that; `equal_columns` writes out the paper's table.

**Informative** (ours): use for them the privacy that p has left. With a_l = ln(1 - p_l) and D_ij = ε·d(i, j), take

    R = metric closure of  max(0, (1-κ) D_ij - |a_i - a_j|),      P(c|l) = (1 - p_l) Q(c|l),    Q(c|l) ∝ e^{-R(l,c)/2}

*Private*: |ln Q(c|i) - ln Q(c|j)| ≤ R_ij, half from the numerator and half from the normaliser, both by the triangle
inequality. If R_ij comes from a positive term, |ln P(c|i) - ln P(c|j)| ≤ |a_i - a_j| + R_ij ≤ (1-κ) D_ij: the rest,
κ D_ij, is room for rounding. If it is 0, i and j share one row of whole numbers, and P(c|i)/P(c|j) = (1-p_i)/(1-p_j)
≤ e^{D_ij} since p is private. Adding a share μ of the uniform to every row of Q keeps this (a mixture's ratio is at
most the larger ratio) and keeps every weight far from 0. The optimum p is untouched.

**The metric closure, efficiently.** Passing through k shortens the path from i to j only if a_k is below both a_i and
a_j (a valley) or above both (a hill): otherwise |a_i-a_k| + |a_k-a_j| = |a_i-a_j| and the triangle inequality of D
decides. Valleys and hills alternate on a shortest path. A valley gains at most 2|a_k|, so only cells with p_k above
some η matter as valleys: the core K. Paths between core cells pass over one hill at a time (|K|²n) and are closed by
the algorithm of Floyd and Warshall on the core alone (|K|³); every other cell enters the core directly (|K|n²). What
valleys outside K could still save is below (η/D_min)·(length of path); η is set so that this stays below κ D_min / 2.

**With a protected NULL** all of this holds for n + 1 inputs and the metric in which NULL is ε₀ away from every cell and
no two cells are farther apart than 2ε₀: nothing above uses more of D than the triangle inequality. NULL gets a row, but
no symbol of its own.
"""

from __future__ import annotations

import numpy as np
import scipy

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import InputError
from crowdveil.policy.checks import MAX_TABLE_ENTRIES
from crowdveil.policy.policy import Completion, Policy
from crowdveil.policy.rounding import round_private

ROUNDING_RESERVE = 0.01
"""κ: share of ε that the refined symbols do not use, so that rounding has room."""
UNIFORM_SHARE = 0.01
"""μ: share of the uniform in every refined row."""
MAX_COMPLETION_CELLS = 3000
"""The completion needs a table of distances of all cells by all cells (72 MB at 3,000 cells), and its closure."""


def equal_columns(policy: Policy) -> FloatArray:
    """Write out the paper's n x n table: p_l in the column of the first target, (1-p_l)/(n-1) in all others."""
    n = len(policy)
    if n * n > MAX_TABLE_ENTRIES:
        raise InputError("area", f"{n:,} cells", f"should have at most {MAX_TABLE_ENTRIES:,} entries in its full table")
    table = np.repeat(((1 - policy.hit) / (n - 1))[:, None], n, axis=1)
    table[:, policy.targets[0]] = policy.hit
    return table


def informative_completion(
    area: Area, hit_weights: IntArray, epsilon_per_km: float, bits: int, null_epsilon: float | None = None
) -> Completion | None:
    """Refine `other` for given weights of `hit`; the module's docstring has the construction and its proof.

    With `null_epsilon` the last weight is that of NULL. The result is None where p leaves no privacy to distinguish any
    cells.
    """
    least_apart = check_informative(area, epsilon_per_km, bits, null_epsilon)
    n = len(area)
    log_rest = np.log(((1 << bits) - hit_weights).astype(np.float64)) - bits * np.log(2.0)
    direct = epsilon_per_km * (1 - ROUNDING_RESERVE) * area.distances_km(np.arange(n))
    if null_epsilon is not None:
        direct = _with_null(direct, null_epsilon * (1 - ROUNDING_RESERVE))
    direct -= np.abs(log_rest[:, None] - log_rest[None, :])
    np.maximum(direct, 0.0, out=direct)
    row = _indistinguishable_groups(direct)
    first = np.unique(row, return_index=True)[1]
    cells = first[first < n]
    if len(cells) == 1:
        return None
    away = _shortest_paths(direct, log_rest, least_apart)[np.ix_(first, cells)]
    chances = np.exp(-away / 2)
    chances /= chances.sum(axis=1, keepdims=True)
    null_row = None if null_epsilon is None else int(row[-1])
    return Completion(tuple(cells.tolist()), row[:n], round_private(chances, UNIFORM_SHARE, bits), null_row)


def _with_null(apart: FloatArray, null_apart: float) -> FloatArray:
    """Add NULL as the last input; it shortens the distance between any two cells to at most 2 ε₀."""
    n = len(apart)
    joined = np.full((n + 1, n + 1), null_apart)
    joined[:n, :n] = np.minimum(apart, 2 * null_apart)
    joined[n, n] = 0.0
    return joined


def check_informative(area: Area, epsilon_per_km: float, bits: int, null_epsilon: float | None = None) -> float:
    """Refuse areas too large and weights too coarse to be refined; return the least D of two inputs."""
    n = len(area)
    if n > MAX_COMPLETION_CELLS:
        raise InputError(
            "completion",
            "informative",
            f"should have at most {MAX_COMPLETION_CELLS:,} cells, because of a table of cells by cells; here {n:,}",
        )
    least_apart = epsilon_per_km * area.nearest_neighbour_km
    if null_epsilon is not None:
        least_apart = min(least_apart, null_epsilon)
    if np.ldexp(UNIFORM_SHARE / n, bits) * ROUNDING_RESERVE * least_apart < 8:
        raise InputError("bits", bits, "should be larger for an informative completion of this area; use 53")
    return least_apart


def _indistinguishable_groups(direct: FloatArray) -> IntArray:
    """Number the groups of cells connected by paths of length 0, in the order of their first member."""
    _, label = scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(direct == 0.0), directed=False)
    _, first, row = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[row]


def _shortest_paths(direct: FloatArray, log_rest: FloatArray, least_apart: float) -> FloatArray:
    """Compute the lengths of shortest paths; the module's docstring proves that core and hills suffice."""
    depth = float(-log_rest[np.argsort(log_rest)[:64]].sum())
    eta = ROUNDING_RESERVE * least_apart**2 / (4 * (least_apart + 2 * depth))
    core = np.flatnonzero(-np.expm1(log_rest) > eta)
    from_core = direct[core]
    between = np.minimum(direct[np.ix_(core, core)], _min_plus(from_core, from_core.T))
    for k in range(len(core)):
        np.minimum(between, between[:, k, None] + between[None, k], out=between)
    reach = _min_plus(between, from_core)
    shortest = np.minimum(direct, _min_plus(from_core.T, reach))
    shortest[core] = reach
    shortest[:, core] = reach.T
    return shortest


def _min_plus(one: FloatArray, two: FloatArray) -> FloatArray:
    """Compute the (min, +) product out[i, j] = min_k one[i, k] + two[k, j]."""
    if one.shape[1] == 0:
        return np.full((len(one), two.shape[1]), np.inf)
    across = np.ascontiguousarray(two.T)
    return np.array([(across + row).min(axis=1) for row in one])
