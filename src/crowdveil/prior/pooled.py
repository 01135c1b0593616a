"""Estimate the prior from all rounds together, each with its own policy.

The maximum of the likelihood alone is right
in the limit and overfits some fifty reports a round, so people are assumed to spread smoothly: π = K w, where column c
of K is a bump of `bandwidth_km` around cell c (K = 1 for bandwidth 0), and w maximises

    Σ_r Σ_s n_rs ln ( Σ_c w_c M_r(s|c) )  +  a Σ_c q_c ln w_c,         M_r = Kᵀ P_r,   Σ w = 1,

by expectation-maximisation: the log-likelihood is concave in w, and a step never lowers the sum. Steps stop early,
which smooths too; where the held-out reports want no smoothing they go on to the maximum itself, by extrapolation. The
second term is what `strength` = a further people, spread like the start q, would say. Bandwidth and strength are those
under which reports that were held out are likeliest; the true π is never looked at. Which reports are held out is drawn
from a generator with a fixed seed: the same counts give the same estimate.

**A protected NULL** is one more input: people without a place send symbols too, with the chances of a row of their own.
Their share ν joins w as one more entry, which no bump smears into cells and into which no cell is smeared, and q gives
it `NULL_START`; what is estimated is ((1-ν) π, ν). NULL in the clear is counted, not estimated, and plays no part here.
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
"""Candidates, in distances between neighbouring cells. The first is the safe one, which others have to beat."""
STRENGTHS = (10.0, 40.0)
"""Candidates for a, in people; again the safe one first."""
FOLDS = 5
MANY_REPORTS = 20_000
"""Beyond so many reports one fold tells candidates apart."""
SURE = 2.0
"""Standard errors by which held-out reports must favour another candidate."""
CHOICE_STEPS, STEPS = 30, 100
"""Steps of expectation-maximisation while choosing, and for the estimate itself."""
LEAPS = 300
"""Extrapolations on the way to the maximum; some fifty are usual."""
MIN_SHARE = 1e-12
SETTLED = 1e-7
"""Stop earlier when a step changes no cell's share by more than this."""
NULL_START = 0.5
"""ν before anything was seen of it: as likely with a place as without."""
MAX_SMOOTHED = 3000
"""Beyond so many cells (the kernel is a table of cells by cells) only bandwidth 0 is tried."""


@dataclass(frozen=True, eq=False)
class PriorEstimate:
    """Where people are estimated to be, and how smooth they were taken to be."""

    prior: FloatArray = field(repr=False)
    bandwidth_km: float
    strength: float
    null_share: float = 0.0
    """ν: share of those who sent a symbol that have no place, where policies protect it; else 0."""


def pooled_estimate(
    rounds: Sequence[Round],
    start: ArrayLike | None = None,
    *,
    bandwidth_km: float | None = None,
    strength: float | None = None,
) -> PriorEstimate:
    """The smoothed estimate from all rounds; bandwidth and strength are chosen by held-out likelihood if not given."""
    area = _one_area(rounds)
    q = check_prior(start, len(area))
    for name, given in (("bandwidth_km", bandwidth_km), ("strength", strength)):
        if given is not None and not 0 <= given < np.inf:
            raise InputError(name, given, "should be 0 or more")
    table, null, counts = _sent(rounds)
    protected = null is not None
    if not counts.size:
        return PriorEstimate(q, bandwidth_km or 0.0, strength or 0.0, NULL_START if protected else 0.0)
    if protected:
        q = np.append((1 - NULL_START) * q, NULL_START)
    bandwidths = [b * _spacing_km(area) for b in BANDWIDTHS if b == 0 or len(area) <= MAX_SMOOTHED]
    # Products this thin gain little from more threads, and lose seconds where other work wants the processor too.
    with threadpool_limits(1, user_api="blas"):
        width, people = _choose(
            area,
            table,
            null,
            counts,
            q,
            [bandwidth_km] if bandwidth_km is not None else bandwidths,
            [strength] if strength is not None else list(STRENGTHS),
        )
        kernel = _kernel(area, width)
        mixed, sent = _mixed(kernel, table, null), counts.astype(np.float64)
        unsmoothed = kernel is None and (bandwidth_km is not None or len(bandwidths) > 1)
        shares = _settle(mixed, sent, q, people) if unsmoothed else _maximise(mixed, sent[None, :], q, people, STEPS)[0]
    nobody = float(shares[-1]) if protected else 0.0
    placed = shares[: len(area)]
    spread = placed if kernel is None else kernel @ placed
    total = spread.sum()
    # Without strength, reports that only NULL explains leave nothing of the cells: the start is all that is known then.
    found = spread / total if total > 0 else check_prior(start, len(area))
    return PriorEstimate(np.asarray(found), width, people, nobody)


def _one_area(rounds: Sequence[Round]) -> Area:
    if not rounds:
        raise InputError("rounds", [], "should be one or more rounds")
    area = rounds[0].policy.area
    for number, one in enumerate(rounds):
        if one.policy.area != area:
            expected = f"should be over the same area as the first, {area!r}"
            raise InputError(f"rounds[{number}]", repr(one.policy.area), expected)
        if (one.policy.null_weights is None) != (rounds[0].policy.null_weights is None):
            expected = "should protect NULL if and only if the first does; one campaign does one or the other"
            raise InputError(f"rounds[{number}].policy.null_epsilon", one.policy.null_epsilon, expected)
    return area


def _sent(rounds: Sequence[Round]) -> tuple[FloatArray, FloatArray | None, IntArray]:
    """P(s|l), P(s|NULL) and counts of every round's symbols that were sent at all, side by side; others say nothing.

    Sorted, so that the order in which rounds are given decides nothing: not even who is held out.
    """
    tables, nulls, counts = [], [], []
    for one in sorted(rounds, key=lambda one: (one.policy.hash, one.counts.tolist())):
        sent = np.flatnonzero(one.counts)
        tables.append(one.policy.table()[:, sent])
        counts.append(one.counts[sent])
        if one.policy.null_weights is not None:
            nulls.append(one.policy.null_table()[sent])
    return np.hstack(tables), np.concatenate(nulls) if nulls else None, np.concatenate(counts)


def _mixed(kernel: FloatArray | None, table: FloatArray, null: FloatArray | None) -> FloatArray:
    """M = Kᵀ P, and below it the row of NULL, which the kernel leaves alone."""
    mixed = table if kernel is None else kernel.T @ table
    return mixed if null is None else np.vstack([mixed, null])


def _choose(
    area: Area,
    table: FloatArray,
    null: FloatArray | None,
    counts: IntArray,
    q: FloatArray,
    bandwidths_km: Sequence[float],
    strengths: Sequence[float],
) -> tuple[float, float]:
    """The bandwidth (at the first strength), then the strength, under which held-out reports are likeliest."""
    if counts.sum() < FOLDS:
        return bandwidths_km[0], strengths[0]
    held = _folds(counts)

    @cache
    def likelihood(width_km: float, strength: float) -> FloatArray:
        """ln of the chance of each symbol, foreseen by each fold from the reports it keeps."""
        mixed = _mixed(_kernel(area, width_km), table, null)
        shares = _maximise(mixed, counts - held, q, strength, CHOICE_STEPS)
        # A symbol only seen in the held-out part may have become impossible: the worst score, but no NaN.
        return np.asarray(np.log(np.maximum(shares @ mixed, np.finfo(float).tiny)))

    width_km = _best(bandwidths_km, lambda candidate: likelihood(candidate, strengths[0]), held)
    return width_km, _best(strengths, lambda candidate: likelihood(width_km, candidate), held)


def _best(candidates: Sequence[float], score: Callable[[float], FloatArray], held: FloatArray) -> float:
    """The best candidate; a later one takes over only where its gain is `SURE` of its own standard errors.

    With g the gains of the m reports that were held out: Σ g > SURE √( Σ (g - mean g)² ).
    """
    best = candidates[0]
    for candidate in candidates[1:]:
        gain = score(candidate) - score(best)
        total = float((held * gain).sum())
        spread = float((held * (gain - total / held.sum()) ** 2).sum())
        if total > SURE * np.sqrt(spread):
            best = candidate
    return best


def _folds(counts: IntArray) -> FloatArray:
    """Each report into a fold by chance, always the same chance; shape (folds, symbols).

    Dealing a symbol's reports out in turn would put the same mix into every fold, and reports that were held out
    would look as if they had been foreseen.
    """
    dealt = np.random.default_rng(FOLDS).multinomial(counts, np.full(FOLDS, 1 / FOLDS))
    used = FOLDS if counts.sum() <= MANY_REPORTS else 1
    return np.ascontiguousarray(dealt.T[:used], dtype=np.float64)


def _spacing_km(area: Area) -> float:
    """How far apart neighbours usually are: the median distance to the nearest other cell."""
    nearest_m = area.tree.query(area.xy_m, k=2)[0][:, 1]
    return float(np.median(nearest_m)) / 1000


def _kernel(area: Area, bandwidth_km: float) -> FloatArray | None:
    """Column c: a Gaussian bump around cell c that sums to one; None where it is the identity."""
    if bandwidth_km < area.nearest_neighbour_km / 40:  # e^(-40²/2) is no double above 0
        return None
    everywhere = np.arange(len(area))
    bumps = np.exp(-0.5 * (area.distances_km(everywhere, everywhere) / bandwidth_km) ** 2)
    return np.asarray(bumps / bumps.sum(axis=0))


def _maximise(mixed: FloatArray, counts: FloatArray, q: FloatArray, strength: float, steps: int) -> FloatArray:
    """Take some steps from q, for each row of counts; fewer where a step changes next to nothing."""
    shares = np.tile(q, (len(counts), 1))
    for _ in range(steps):
        found = _step(mixed, counts, q, strength, shares)
        change = float(np.abs(found - shares).max())
        shares = found
        if change <= SETTLED:
            break
    return shares


def _step(mixed: FloatArray, counts: FloatArray, q: FloatArray, strength: float, shares: FloatArray) -> FloatArray:
    """w_c ← ( Σ_s n_s w_c M(s|c) / Σ w M(s|·)  +  a q_c ) / ( Σ n + a ), row by row."""
    chance = shares @ mixed
    # Where q is zero for every cell that sends a symbol, its reports cannot be explained; they are left out.
    weight = np.divide(counts, chance, out=np.zeros_like(chance), where=chance > 0)
    found = shares * (weight @ mixed.T) + strength * q
    total = found.sum(axis=-1, keepdims=True)
    # Without strength and without a report that can be explained, there is nothing to learn from.
    return np.asarray(np.divide(found, total, out=shares.copy(), where=total > 0))


def _settle(mixed: FloatArray, counts: FloatArray, q: FloatArray, strength: float) -> FloatArray:
    """Steps to the maximum, extrapolated (SQUAREM of Varadhan and Roland, 2008: a tenth of the steps, or fewer).

    Two steps w → w' → w'' have the differences r = w' - w and v = (w'' - w') - r. With α = max(1, |r| / |v|) the leap
    goes to w + 2 α r + α² v, which is w'' for α = 1; a step from there repairs it. A leap that would lower what is
    maximised is not taken, so that, as with plain steps, it never falls.
    """

    def worth(shares: FloatArray) -> float:
        chance = shares @ mixed
        known = (counts > 0) & (chance > 0)
        there = (q > 0) & (shares > 0)
        return float(counts[known] @ np.log(chance[known]) + strength * (q[there] @ np.log(shares[there])))

    shares = q
    for _ in range(LEAPS):
        once = _step(mixed, counts, q, strength, shares)
        twice = _step(mixed, counts, q, strength, once)
        r = once - shares
        v = twice - once - r
        if np.abs(r).max() <= SETTLED or not v.any():
            return twice
        alpha = max(1.0, float(np.linalg.norm(r) / np.linalg.norm(v)))
        # A leap may miss the simplex; no cell that has a share may lose it for good.
        leap = np.maximum(shares + 2 * alpha * r + alpha**2 * v, MIN_SHARE * (twice > 0))
        leap /= leap.sum()
        shares = _step(mixed, counts, q, strength, leap) if worth(leap) >= worth(twice) else twice
    return shares
