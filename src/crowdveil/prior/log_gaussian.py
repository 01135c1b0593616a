"""Assume that shares vary smoothly from cell to cell, and find the likeliest shares under that assumption.

The shares of the inputs (cells at every grade, and NULL) are π = e^f / Σ e^f, and f is assumed to be Gaussian around
the logarithm of a start q, with the covariance

    K((l,g),(k,h)) = ( ρ + (1-ρ)[g=h] ) ( s² e^{-d(l,k)² / 2 λ²} + r² [l=k] )  +  A² [g=h]

between cell l at grade g and cell k at grade h, and A² for NULL, on its own. In words: neighbouring cells have similar
shares (a smooth part with standard deviation s over a length λ, and a rough part r of every single cell), both grades
are found at similar places, and how many people are of each grade, or outside, is nearly free.

**The likeliest f** maximises  Σ_s n_s ln m_s - ½ (f - ln q)ᵀ K⁻¹ (f - ln q),  with m_s = Σ_i π_i P(s|i). With a factor
K = L Lᵀ and f = ln q + L z the second term is -½ |z|². Steps are B⁻¹ ∇, with

    B = 1 + Wᵀ W,      W_s = ( √n_s / m_s ) Σ_i π_i ( P(s|i) - m_s ) L_i,

each halved until the sum rises by a fair part of what the slope promises. B is the Gauss-Newton approximation of the
negative second derivative in z: that of the log-likelihood in π, Σ_s (n_s / m_s²) P(s|·) P(s|·)ᵀ, is exact, and is
carried over to z by the first derivative of π. Left out is the gradient in π times the second derivative of π, whose
expected value is zero at the true shares. B ≥ 1, so that a step always exists and its direction always rises. The sum
is not concave in f: what is found is a local maximum, the one to which the steps lead from the start.

**Why more reports help.** WᵀW grows in proportion to the reports. Along directions of z of which they tell much, the
estimate follows the likelihood; along all others it stays near the start, however many reports there are. Without the
second term those other directions follow the noise, because deconvolution amplifies it.

**The evidence** of an assumption is the probability of the reports under it, all f considered, by Laplace's method
with the same B: the maximum above minus ½ ln det B.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import scipy.linalg

from crowdveil.area import Area
from crowdveil.arrays import BoolArray, FloatArray, IntArray

GRADE_CORRELATION = 0.7
"""ρ: where there are more regular visitors, there are more occasional ones."""
LEVEL_DEVIATION = 2.0
"""A: the standard deviation of the logarithm of the shares of grades and of NULL."""
MAX_LANDMARKS = 600
"""With more cells than this, f varies only as far as the values at so many of them determine it."""
MAX_FACTOR = 5_000_000
"""Largest number of cells times landmarks."""
MAX_STEPS = 300
KEPT_STEPS = 3
"""After so many steps the curvature is computed anew."""
KEPT_GAIN = 0.4
"""A step on a parabola gains half of what its slope promises; below this share the curvature is computed anew."""
CONVERGED = 1e-6
"""Stop when a step would raise the logarithm of the probability by less than this."""
MIN_GAIN = 0.1
"""A step has to raise it by this fraction of what the slope promises; else steps may zigzag without end."""
MIN_STEP = 1e-9
"""Stop when no step of at least this fraction raises it, which only rounding can cause."""
JITTER = 1e-8
"""Added to the variance of every cell, so that rounding does not make the covariance indefinite."""


class Smoothness(NamedTuple):
    """How the shares of cells are assumed to vary from cell to cell."""

    length_cells: float
    """λ, in distances between neighbouring cells."""
    smooth: float
    """s: standard deviation of the smooth part, in logarithms of shares."""
    rough: float
    """r: standard deviation of the part that belongs to each cell alone."""


class Likeliest(NamedTuple):
    """The likeliest shares under one assumption."""

    shares: FloatArray
    """One for each input; they sum to 1."""
    evidence: float
    """ln of the probability of the reports under the assumption, up to a constant."""
    converged: bool


def factor(area: Area, apart_km: float, grades: int, null: bool, assumed: Smoothness) -> FloatArray:
    """Return L with K = L Lᵀ: one row for each input, cells at every grade first, then NULL."""
    cells = cell_factor(area, apart_km, assumed)
    n, width = cells.shape
    between = np.linalg.cholesky(
        np.full((grades, grades), GRADE_CORRELATION) + (1 - GRADE_CORRELATION) * np.eye(grades)
    )
    # Filled in place: with many cells this is the largest table, and copies of it would double the memory.
    root = np.zeros((grades * n + null, grades * (width + 1) + null))
    for g in range(grades):
        rows = slice(g * n, (g + 1) * n)
        for h in range(g + 1):
            root[rows, h * width : (h + 1) * width] = between[g, h] * cells
        root[rows, grades * width + g] = LEVEL_DEVIATION
    if null:
        root[-1, -1] = LEVEL_DEVIATION
    return root


def cell_factor(area: Area, apart_km: float, assumed: Smoothness) -> FloatArray:
    """Factor the covariance of cells; with many cells, of what some of them, the landmarks, tell about all.

    With C the covariance of landmarks and E that of cells and landmarks, E C⁻¹ Eᵀ is what the landmarks explain. The
    length is then at least the largest distance of a cell to the nearest landmark, so that every cell can vary, and
    there is no rough part: a landmark tells nothing of it.
    """
    n = len(area)
    number = min(n, MAX_LANDMARKS, max(1, MAX_FACTOR // n))
    length_km = assumed.length_cells * apart_km
    if number == n:
        covariance = assumed.smooth**2 * _decay(area.distances_km(np.arange(n)), length_km)
        covariance[np.diag_indices(n)] += assumed.rough**2 + JITTER
        return np.asarray(np.linalg.cholesky(covariance))
    landmarks, gap_km = _landmarks(area, number)
    near = assumed.smooth**2 * _decay(area.distances_km(landmarks), max(length_km, gap_km))
    root = np.linalg.cholesky(near[:, landmarks] + JITTER * np.eye(number))
    return np.asarray(scipy.linalg.solve_triangular(root, near, lower=True, check_finite=False).T)


def spacing_km(area: Area) -> float:
    """Return the median distance of a cell to the nearest other cell."""
    nearest_m = area.tree.query(area.xy_m, k=2)[0][:, 1]
    return float(np.median(nearest_m)) / 1000


def _decay(distance_km: FloatArray, length_km: float) -> FloatArray:
    # Below a millimetre, and for 0, no cell tells anything of another.
    return np.asarray(np.exp(-0.5 * (distance_km / max(length_km, 1e-6)) ** 2))


def _landmarks(area: Area, number: int) -> tuple[IntArray, float]:
    """Choose cells that are spread evenly, each the farthest from those before it; also return the largest gap."""
    chosen = [0]
    gap_km = area.distances_km([0])[0]
    while len(chosen) < number:
        chosen.append(int(gap_km.argmax()))
        gap_km = np.minimum(gap_km, area.distances_km(chosen[-1:])[0])
    return np.array(chosen, dtype=np.int64), float(gap_km.max())


def likeliest(table: FloatArray, counts: FloatArray, start: FloatArray, root: FloatArray) -> Likeliest:
    """Find the likeliest shares; `table` has P(s|i) of the symbols that were sent, `counts` how often.

    An input with a start of 0 keeps the share 0. Symbols that only such inputs send are left out.
    """
    there: BoolArray = start > 0
    sent: BoolArray = (start @ table > 0) & (counts > 0)
    rows, columns, n = root[there], table[np.ix_(there, sent)], counts[sent]
    log_start = np.log(start[there])

    def at(z: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        log_shares = log_start + rows @ z
        shares = np.exp(log_shares - log_shares.max())
        shares /= shares.sum()
        # A share may be too small for a double; its symbols are then nearly impossible, but not quite.
        chance = np.maximum(shares @ columns, np.finfo(float).tiny)
        return float(n @ np.log(chance) - z @ z / 2), shares, chance

    z = np.zeros(root.shape[1])
    value, shares, chance = at(z)
    evidence, converged = value, False
    curvature: _Curvature | None = None
    kept = 0
    for _ in range(MAX_STEPS):
        slope = rows.T @ (shares * (columns @ (n / chance) - n.sum())) - z
        fresh = curvature is None
        if curvature is None:
            curvature = _Curvature.at(columns, n, shares, chance, rows)
            evidence = value - curvature.half_log_determinant
        step = curvature.solve(slope)
        promised = float(slope @ step)
        if promised / 2 < CONVERGED and fresh:
            _, shares, _ = at(z + step)  # the last digits
            converged = True
            break
        length = 1.0
        while (found := at(z + length * step))[0] < value + MIN_GAIN * length * promised and length > MIN_STEP:
            length /= 2
        if found[0] <= value and fresh:
            break
        # The curvature, which costs most, is kept for some steps, as long as they gain what it promises.
        kept = 1 if fresh else kept + 1
        gains = length == 1.0 and found[0] - value >= KEPT_GAIN * promised and promised / 2 >= CONVERGED
        if not gains or kept >= KEPT_STEPS:
            curvature = None
        if found[0] > value:
            z = z + length * step
            value, shares, chance = found
    everywhere = np.zeros(len(start))
    everywhere[there] = shares
    return Likeliest(everywhere, evidence, converged)


class _Curvature(NamedTuple):
    """B = 1 + Wᵀ W, as the root of whichever of 1 + Wᵀ W and 1 + W Wᵀ is smaller.

    There are often fewer symbols than inputs. Then B⁻¹ v = v - Wᵀ (1 + W Wᵀ)⁻¹ W v (Woodbury), and both matrices have
    the same determinant (Sylvester).
    """

    lower: FloatArray
    bends: FloatArray | None
    """W, where the root is that of 1 + W Wᵀ."""

    @classmethod
    def at(cls, columns: FloatArray, n: FloatArray, shares: FloatArray, chance: FloatArray, rows: FloatArray) -> Self:
        """Compute W at some shares, and the root."""
        spread = (columns - chance) * (shares[:, None] * (np.sqrt(n) / chance))
        width = rows.shape[1]
        if len(n) >= len(shares):
            return cls(_root_of_one_plus(rows.T @ (spread @ spread.T) @ rows), None)
        bends = np.asarray(spread.T @ rows)
        if len(n) < width:
            return cls(_root_of_one_plus(bends @ bends.T), bends)
        return cls(_root_of_one_plus(bends.T @ bends), None)

    @property
    def half_log_determinant(self) -> float:
        """½ ln det B."""
        return float(np.log(np.diag(self.lower)).sum())

    def solve(self, slope: FloatArray) -> FloatArray:
        """Return B⁻¹ times a slope."""
        known = slope if self.bends is None else self.bends @ slope
        found = np.asarray(scipy.linalg.cho_solve((self.lower, True), known, check_finite=False))
        return found if self.bends is None else slope - self.bends.T @ found


def _root_of_one_plus(matrix: FloatArray) -> FloatArray:
    """Return the lower triangular root of 1 + a matrix, which is changed."""
    matrix[np.diag_indices(len(matrix))] += 1.0
    return np.asarray(np.linalg.cholesky(matrix))
