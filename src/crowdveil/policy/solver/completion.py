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

**In the protected form** the last symbols, one for each grade h, are refined by the same Q, whose row depends on the
cell alone (grades share it) or on being outside. With W(i, h) the weights of these symbols (grade_symbols.py), the
privacy that they have left is, for cells l and k and for NULL,

    (1-κ) D_lk - max_g,h |ln W((l,g),h) - ln W((k,g),h)|    and    (1-κ) ε₀ - max_g,h |ln W((l,g),h) - ln W(NULL,h)|.

From one grade to another W alone keeps to its share of ε₁, and what is left between cells at different grades is no
less than at the same grade, by the triangle inequality. Where the first grade decides, and W falls as 1-p does, its
core suffices; elsewhere, the metric closure is computed by Floyd and Warshall's algorithm over all cells. A path that
passes NULL does so once: R_ij = min( R_ij, r_i + r_j ) with r_i = min_k R_ik + (what is left between k and NULL).
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
    area: Area, weights: IntArray, epsilon_per_km: float, bits: int, grades: int = 1, null_epsilon: float | None = None
) -> Completion | None:
    """Refine the last symbols, as many as there are grades; the module's docstring has the construction and its proof.

    `weights` are those of all inputs; with `null_epsilon` the last row is that of NULL. The result is None where p
    leaves no privacy to distinguish any cells.
    """
    least_apart = check_informative(area, epsilon_per_km, bits, null_epsilon)
    n = len(area)
    log_rest = np.log(weights[:, -grades:].astype(np.float64)) - bits * np.log(2.0)
    cells_rest = log_rest[: n * grades].reshape(grades, n, grades)
    direct = epsilon_per_km * (1 - ROUNDING_RESERVE) * area.distances_km(np.arange(n))
    left = direct - np.abs(np.subtract.outer(cells_rest[0, :, 0], cells_rest[0, :, 0]))
    first_decides = True
    for grade in range(grades):
        for column in cells_rest[grade].T if grade else cells_rest[0].T[1:]:
            also = direct - np.abs(np.subtract.outer(column, column))
            # Far below the room that κ leaves, differences are those of rounding.
            first_decides &= bool((also >= left - ROUNDING_RESERVE * least_apart / 8).all())
            np.minimum(left, also, out=left)
    np.maximum(left, 0.0, out=left)
    to_null = np.zeros((0, n))
    if null_epsilon is not None:
        used = np.abs(cells_rest - log_rest[-1]).max(axis=(0, 2))
        to_null = np.maximum((1 - ROUNDING_RESERVE) * null_epsilon - used, 0.0)[None, :]
    row = _indistinguishable_groups(_joined(left, to_null))
    first = np.unique(row, return_index=True)[1]
    cells = first[first < n]
    if len(cells) == 1:
        return None
    if first_decides:
        not_hit = np.log(((1 << bits) - weights[:n, 0]).astype(np.float64)) - bits * np.log(2.0)
        paths = _shortest_paths(left, not_hit, least_apart)
    else:
        paths = _all_shortest_paths(left)
    away = _through_null(paths, to_null)[np.ix_(first, cells)]
    chances = np.exp(-away / 2)
    chances /= chances.sum(axis=1, keepdims=True)
    rows = np.concatenate([np.tile(row[:n], grades), row[n:]])
    return Completion(tuple(cells.tolist()), rows, round_private(chances, UNIFORM_SHARE, bits))


def _joined(between: FloatArray, to_null: FloatArray) -> FloatArray:
    """Add NULL, if there is one, as the last row and column."""
    if not len(to_null):
        return between
    return np.block([[between, to_null.T], [to_null, np.zeros((1, 1))]])


def _through_null(between: FloatArray, to_null: FloatArray) -> FloatArray:
    """Add NULL to the shortest paths between cells, which may pass it."""
    if not len(to_null):
        return between
    nearest = (between + to_null).min(axis=1)[None, :]
    return _joined(np.minimum(between, nearest.T + nearest), nearest)


def _all_shortest_paths(direct: FloatArray) -> FloatArray:
    """Compute the lengths of shortest paths by the algorithm of Floyd and Warshall."""
    between = direct.copy()
    for k in range(len(between)):
        np.minimum(between, between[:, k, None] + between[None, k], out=between)
    return between


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
    core = core_of(log_rest, least_apart)
    from_core = direct[core]
    between = np.minimum(direct[np.ix_(core, core)], min_plus(from_core, from_core.T))
    for k in range(len(core)):
        np.minimum(between, between[:, k, None] + between[None, k], out=between)
    reach = min_plus(between, from_core)
    shortest = np.minimum(direct, min_plus(from_core.T, reach))
    shortest[core] = reach
    shortest[:, core] = reach.T
    return shortest


def core_of(log_rest: FloatArray, least_apart: float) -> IntArray:
    """Return the inputs with a probability of `hit` above η; the module's docstring says why these suffice."""
    depth = float(-log_rest[np.argsort(log_rest)[:64]].sum())
    eta = ROUNDING_RESERVE * least_apart**2 / (4 * (least_apart + 2 * depth))
    return np.flatnonzero(-np.expm1(log_rest) > eta)


def min_plus(one: FloatArray, two: FloatArray) -> FloatArray:
    """Compute the (min, +) product out[i, j] = min_k one[i, k] + two[k, j]."""
    if one.shape[1] == 0:
        return np.full((len(one), two.shape[1]), np.inf)
    across = np.ascontiguousarray(two.T)
    return np.array([(across + row).min(axis=1) for row in one])
