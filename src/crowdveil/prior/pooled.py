"""Estimate the prior from all rounds together, each with its own policy.

Maximum likelihood is right in the limit, but overfits some fifty reports a round, so the prior is assumed to be smooth:
π = K w, where column c of K is a Gaussian of `bandwidth_km` around cell c (K = 1 for bandwidth 0), and w maximises

    Σ_r Σ_s n_rs ln ( Σ_c w_c M_r(s|c) )  +  a Σ_c q_c ln w_c,         M_r = Kᵀ P_r,   Σ w = 1,

by expectation-maximisation: the log-likelihood is concave in w, and a step never lowers the sum. Steps stop early,
which smooths too; where held-out reports favour no smoothing, the maximum itself is computed, by extrapolation. The
second term has the effect of `strength` = a further reports that are distributed like the start q. Bandwidth and
strength are those that maximise the likelihood of held-out reports; the true π is not used. Which reports are held out
is drawn from a generator with a fixed seed: the same counts give the same estimate.

**The protected form** has more inputs: cells at every grade, each grade smoothed for itself, and NULL: people outside
send symbols too. Their share ν is one more entry of w, which is not smoothed, and which q gives the value
`START_NULL_SHARE`; what is estimated is ((1-ν) π, ν), with π joint over grades and cells. Without a start, q gives
every grade the same share. NULL in the clear is counted, not estimated, and is not used here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_prior
from crowdveil.prior.rounds import Round

BANDWIDTHS = (0.75, 0.0, 1.5)
"""Candidates, in distances between neighbouring cells; the first is used unless another is clearly better."""
STRENGTHS = (10.0, 40.0)
"""Candidates for a, in people; the first is used unless another is clearly better."""
FOLDS = 5
MANY_REPORTS = 20_000
"""With more reports than this one fold is enough to compare candidates."""
MIN_STANDARD_ERRORS = 2.0
"""Standard errors by which held-out reports must favour another candidate."""
CHOICE_STEPS, STEPS = 30, 100
"""Steps of expectation-maximisation while choosing, and for the estimate itself."""
MAX_EXTRAPOLATIONS = 300
"""Limit of extrapolations to the maximum; about fifty are usual."""
MIN_SHARE = 1e-12
CONVERGED = 1e-7
"""Stop when a step changes no cell's share by more than this."""
START_NULL_SHARE = 0.5
"""ν before the first report: a place is as likely as no place."""
MAX_SMOOTHED_CELLS = 3000
"""With more cells only bandwidth 0 is tried, because the kernel is a table of cells by cells."""


@dataclass(frozen=True, eq=False)
class PriorEstimate:
    """An estimated prior, and the smoothing that was used."""

    prior: FloatArray = field(repr=False)
    """π of every cell; with grades joint, of shape (grades, n)."""
    bandwidth_km: float
    strength: float
    null_share: float = 0.0
    """ν: share of those who sent a symbol that are outside, where policies protect it; else 0."""

    @property
    def grade_shares(self) -> FloatArray:
        """The share of each grade among those inside."""
        return np.asarray(np.atleast_2d(self.prior).sum(axis=1))


def pooled_estimate(
    rounds: Sequence[Round],
    start: ArrayLike | None = None,
    *,
    bandwidth_km: float | None = None,
    strength: float | None = None,
) -> PriorEstimate:
    """Estimate the prior from all rounds; bandwidth and strength, if not given, are chosen by held-out likelihood."""
    area = _one_area(rounds)
    policy = rounds[0].policy
    start_prior = check_prior(start, len(area), policy.grades)
    for name, given in (("bandwidth_km", bandwidth_km), ("strength", strength)):
        if given is not None and not 0 <= given < np.inf:
            raise InputError(name, given, "should be 0 or more")
    table, counts = _sent_symbols(rounds)
    start_share = 0.0 if policy.null_epsilon is None else START_NULL_SHARE
    if not counts.size:
        return PriorEstimate(start_prior, bandwidth_km or 0.0, strength or 0.0, start_share)
    q = policy.input_prior(start_prior, start_share)
    bandwidths = [b * _spacing_km(area) for b in BANDWIDTHS if b == 0 or len(area) <= MAX_SMOOTHED_CELLS]
    # Products this small gain little from more threads, and lose seconds where the processor has other work.
    with threadpool_limits(1, user_api="blas"):
        width, people = _choose(
            area,
            table,
            counts,
            q,
            [bandwidth_km] if bandwidth_km is not None else bandwidths,
            [strength] if strength is not None else list(STRENGTHS),
        )
        kernel = _kernel(area, width)
        mixed, sent = _smoothed_table(kernel, table), counts.astype(np.float64)
        unsmoothed = kernel is None and (bandwidth_km is not None or len(bandwidths) > 1)
        shares = (
            _squarem(mixed, sent, q, people)
            if unsmoothed
            else _expectation_maximisation(mixed, sent[None, :], q, people, STEPS)[0]
        )
    nobody = float(shares[-1]) if policy.null_epsilon is not None else 0.0
    placed = shares[: start_prior.size].reshape(start_prior.shape)
    spread = placed if kernel is None else placed @ kernel.T
    total = spread.sum()
    # With strength 0, reports that only NULL explains leave no share to any cell; then the start is returned.
    found = spread / total if total > 0 else start_prior
    return PriorEstimate(np.asarray(found), width, people, nobody)


def _one_area(rounds: Sequence[Round]) -> Area:
    if not rounds:
        raise InputError("rounds", [], "should be one or more rounds")
    area = rounds[0].policy.area
    for number, one in enumerate(rounds):
        if one.policy.area != area:
            expected = f"should be over the same area as the first, {area!r}"
            raise InputError(f"rounds[{number}]", repr(one.policy.area), expected)
        if (one.policy.null_epsilon is None) != (rounds[0].policy.null_epsilon is None):
            expected = "should protect NULL if and only if the first round does"
            raise InputError(f"rounds[{number}].policy.null_epsilon", one.policy.null_epsilon, expected)
        if one.policy.grades != rounds[0].policy.grades:
            expected = f"should be the grades of the first round, {rounds[0].policy.grades}"
            raise InputError(f"rounds[{number}].policy.grades", one.policy.grades, expected)
    return area


def _sent_symbols(rounds: Sequence[Round]) -> tuple[FloatArray, IntArray]:
    """Return P(s|i) and the count of every symbol that was sent, for all rounds side by side.

    Symbols that were not sent carry no information. Rounds are sorted, so that their order has no influence, not even
    on which reports are held out.
    """
    tables, counts = [], []
    for one in sorted(rounds, key=lambda one: (one.policy.hash, one.counts.tolist())):
        sent = np.flatnonzero(one.counts)
        tables.append(one.policy.table()[:, sent])
        counts.append(one.counts[sent])
    return np.hstack(tables), np.concatenate(counts)


def _smoothed_table(kernel: FloatArray | None, table: FloatArray) -> FloatArray:
    """Compute M = Kᵀ P, grade by grade; the row of NULL, if there is one, is the last and is not smoothed."""
    if kernel is None:
        return table
    n = len(kernel)
    inside = len(table) - len(table) % n
    by_grade = [kernel.T @ table[start : start + n] for start in range(0, inside, n)]
    return np.vstack([*by_grade, table[inside:]]) if len(by_grade) > 1 or inside < len(table) else by_grade[0]


def _choose(
    area: Area,
    table: FloatArray,
    counts: IntArray,
    q: FloatArray,
    bandwidths_km: Sequence[float],
    strengths: Sequence[float],
) -> tuple[float, float]:
    """Choose the bandwidth (at the first strength), then the strength, by the likelihood of held-out reports."""
    if counts.sum() < FOLDS:
        return bandwidths_km[0], strengths[0]
    held = _folds(counts)

    @cache
    def likelihood(width_km: float, strength: float) -> FloatArray:
        """Return the log probability of each symbol, predicted for each fold from the reports outside of it."""
        mixed = _smoothed_table(_kernel(area, width_km), table)
        shares = _expectation_maximisation(mixed, counts - held, q, strength, CHOICE_STEPS)
        # A symbol seen only in the held-out part may have the probability 0: the worst score, but not NaN.
        return np.asarray(np.log(np.maximum(shares @ mixed, np.finfo(float).tiny)))

    width_km = _best(bandwidths_km, lambda candidate: likelihood(candidate, strengths[0]), held)
    return width_km, _best(strengths, lambda candidate: likelihood(width_km, candidate), held)


def _best(candidates: Sequence[float], score: Callable[[float], FloatArray], held: FloatArray) -> float:
    """Choose the best candidate; a later one must gain at least `MIN_STANDARD_ERRORS` standard errors.

    With g the gains of the m held-out reports: Σ g > MIN_STANDARD_ERRORS · √( Σ (g - mean g)² ).
    """
    best = candidates[0]
    for candidate in candidates[1:]:
        gain = score(candidate) - score(best)
        total = float((held * gain).sum())
        spread = float((held * (gain - total / held.sum()) ** 2).sum())
        if total > MIN_STANDARD_ERRORS * np.sqrt(spread):
            best = candidate
    return best


def _folds(counts: IntArray) -> FloatArray:
    """Assign each report to a fold at random, with a fixed seed; shape (folds, symbols).

    Assigning a symbol's reports in turn would give every fold the same composition, and held-out reports would look
    more predictable than they are.
    """
    dealt = np.random.default_rng(FOLDS).multinomial(counts, np.full(FOLDS, 1 / FOLDS))
    used = FOLDS if counts.sum() <= MANY_REPORTS else 1
    return np.ascontiguousarray(dealt.T[:used], dtype=np.float64)


def _spacing_km(area: Area) -> float:
    """Return the median distance of a cell to the nearest other cell."""
    nearest_m = area.tree.query(area.xy_m, k=2)[0][:, 1]
    return float(np.median(nearest_m)) / 1000


def _kernel(area: Area, bandwidth_km: float) -> FloatArray | None:
    """Return the smoothing kernel: column c is a Gaussian around cell c that sums to one; None for the identity."""
    if bandwidth_km < area.nearest_neighbour_km / 40:  # e^(-40²/2) is no double above 0
        return None
    everywhere = np.arange(len(area))
    bumps = np.exp(-0.5 * (area.distances_km(everywhere, everywhere) / bandwidth_km) ** 2)
    return np.asarray(bumps / bumps.sum(axis=0))


def _expectation_maximisation(
    mixed: FloatArray, counts: FloatArray, q: FloatArray, strength: float, steps: int
) -> FloatArray:
    """Take up to `steps` steps from q, for each row of counts; stop early once converged."""
    shares = np.tile(q, (len(counts), 1))
    for _ in range(steps):
        found = _step(mixed, counts, q, strength, shares)
        change = float(np.abs(found - shares).max())
        shares = found
        if change <= CONVERGED:
            break
    return shares


def _step(mixed: FloatArray, counts: FloatArray, q: FloatArray, strength: float, shares: FloatArray) -> FloatArray:
    """Compute w_c ← ( Σ_s n_s w_c M(s|c) / Σ w M(s|·)  +  a q_c ) / ( Σ n + a ), row by row."""
    chance = shares @ mixed
    # Where q is zero for every cell that sends a symbol, its reports cannot be explained; they are left out.
    weight = np.divide(counts, chance, out=np.zeros_like(chance), where=chance > 0)
    found = shares * (weight @ mixed.T) + strength * q
    total = found.sum(axis=-1, keepdims=True)
    # With strength 0 and no report that can be explained, the shares stay as they are.
    return np.asarray(np.divide(found, total, out=shares.copy(), where=total > 0))


def _squarem(mixed: FloatArray, counts: FloatArray, q: FloatArray, strength: float) -> FloatArray:
    """Find the maximum by extrapolated steps (SQUAREM, Varadhan and Roland 2008), a tenth of the plain ones or fewer.

    Two steps w → w' → w'' have the differences r = w' - w and v = (w'' - w') - r. With α = max(1, |r| / |v|) the
    extrapolation goes to w + 2 α r + α² v, which is w'' for α = 1, and is followed by a plain step. An extrapolation
    that would lower the objective is not used, so that, as with plain steps, the objective never falls.
    """

    def objective(shares: FloatArray) -> float:
        chance = shares @ mixed
        known = (counts > 0) & (chance > 0)
        there = (q > 0) & (shares > 0)
        return float(counts[known] @ np.log(chance[known]) + strength * (q[there] @ np.log(shares[there])))

    shares = q
    for _ in range(MAX_EXTRAPOLATIONS):
        once = _step(mixed, counts, q, strength, shares)
        twice = _step(mixed, counts, q, strength, once)
        r = once - shares
        v = twice - once - r
        if np.abs(r).max() <= CONVERGED or not v.any():
            return twice
        alpha = max(1.0, float(np.linalg.norm(r) / np.linalg.norm(v)))
        # An extrapolation may leave the simplex; a positive share must stay positive.
        extrapolated = np.maximum(shares + 2 * alpha * r + alpha**2 * v, MIN_SHARE * (twice > 0))
        extrapolated /= extrapolated.sum()
        shares = (
            _step(mixed, counts, q, strength, extrapolated) if objective(extrapolated) >= objective(twice) else twice
        )
    return shares
