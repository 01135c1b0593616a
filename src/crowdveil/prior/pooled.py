"""Estimate the prior from all rounds together, each with its own policy.

Maximum likelihood is right in the limit, but follows the noise of the reports long before: policies blur places, and
undoing that amplifies noise. So shares are assumed to vary smoothly from cell to cell, and the estimate is the
likeliest under that assumption and the reports (`log_gaussian`). The more reports there are, the more of it they
decide. Some assumptions are compared: the first of `ASSUMPTIONS` is used unless the reports are far more probable
under a rougher one (`MIN_EVIDENCE`). A start that was given is compared in the same way with one that is half spread
evenly, so that reports overrule a start that is wrong. The true π is not used, and nothing is drawn at random: the same
counts give the same estimate.

**The protected form** has more inputs: cells at every grade, and NULL: people outside send symbols too. What is
estimated is ((1-ν) π, ν), with π joint over grades and cells and ν the share outside, which the start gives the value
`START_NULL_SHARE`. Without a start, every grade has the same share at first. NULL in the clear is counted, not
estimated, and is not used here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_prior
from crowdveil.policy.policy import Policy
from crowdveil.prior.log_gaussian import Likeliest, Smoothness, factor, likeliest, spacing_km
from crowdveil.prior.rounds import Round

ASSUMPTIONS = (Smoothness(2.5, 1.0, 0.5), Smoothness(2.5, 1.0, 0.85), Smoothness(2.5, 1.0, 1.5))
"""Neighbours are alike, or differ more and more. The first is used unless another is clearly better."""
MIN_EVIDENCE = 20.0
"""How much larger, in nats, the evidence of a rougher assumption must be."""
MIN_EVIDENCE_AGAINST_START = 6.0
"""How much larger, in nats, the evidence must be if half of the start is spread evenly than under the start itself: the
reports are then 400 times as probable. Where starts were right, or nearly so, it was never above 1.5."""
MANY_REPORTS = 5_000
"""With fewer reports no rougher assumption is tried, because they could not support it so clearly."""
START_NULL_SHARE = 0.5
"""ν before the first report: a place is as likely as no place."""


@dataclass(frozen=True, eq=False)
class PriorEstimate:
    """An estimated prior, and the smoothness that was assumed."""

    prior: FloatArray = field(repr=False)
    """π of every cell; with grades joint, of shape (grades, n)."""
    smoothness: Smoothness
    null_share: float = 0.0
    """ν: share of those who sent a symbol that are outside, where policies protect it; else 0."""
    contradicted: bool = False
    """Whether the reports are far more probable if half of the start that was given is spread evenly; then that is used
    in its place."""

    @property
    def grade_shares(self) -> FloatArray:
        """The share of each grade among those inside."""
        return np.asarray(np.atleast_2d(self.prior).sum(axis=1))


def pooled_estimate(
    rounds: Sequence[Round], start: ArrayLike | None = None, *, smoothness: Smoothness | None = None
) -> PriorEstimate:
    """Estimate the prior from all rounds; the smoothness, if not given, is chosen by the reports."""
    area = _one_area(rounds)
    policy = rounds[0].policy
    start_prior = check_prior(start, len(area), policy.grades)
    if smoothness is not None and not all(0 <= part < np.inf for part in smoothness):
        raise InputError("smoothness", tuple(smoothness), "should be three numbers of 0 or more")
    table, counts = _sent_symbols(rounds)
    null = policy.null_epsilon is not None
    start_share = START_NULL_SHARE if null else 0.0
    if not counts.size:
        return PriorEstimate(start_prior, smoothness or ASSUMPTIONS[0], start_share)
    q = policy.input_prior(start_prior, start_share)
    apart_km = spacing_km(area)
    contradicted = False

    @cache
    def root(assumed: Smoothness) -> FloatArray:
        return factor(area, apart_km, policy.grades, null, assumed)

    def under(assumed: Smoothness, believed: FloatArray) -> Likeliest:
        return likeliest(table, counts.astype(np.float64), believed, root(assumed))

    # Products this small gain little from more threads, and lose seconds where the processor has other work.
    with threadpool_limits(1, user_api="blas"):
        used = smoothness or ASSUMPTIONS[0]
        found = under(used, q)
        if start is not None:
            half_even = (q + policy.input_prior(None, start_share)) / 2
            doubted = under(used, half_even)
            contradicted = doubted.evidence > found.evidence + MIN_EVIDENCE_AGAINST_START
            if contradicted:
                q, found = half_even, doubted
        if smoothness is None and counts.sum() >= MANY_REPORTS:
            rougher = {assumed: under(assumed, q) for assumed in ASSUMPTIONS[1:]}
            best = max(rougher, key=lambda assumed: rougher[assumed].evidence)
            if rougher[best].evidence > found.evidence + MIN_EVIDENCE:
                used, found = best, rougher[best]
    return replace(_estimate(found, start_prior, used, null), contradicted=contradicted)


def estimates_of_crowds(policy: Policy, counts: IntArray, start: ArrayLike | None = None) -> tuple[PriorEstimate, ...]:
    """Estimate the prior from each of several crowds that may have reported under a policy, one row of counts for each.

    Each is what `pooled_estimate` gives for one round, under the first of `ASSUMPTIONS`; what all crowds share is
    computed once.
    """
    start_prior = check_prior(start, len(policy), policy.grades)
    null = policy.null_epsilon is not None
    q = policy.input_prior(start_prior, START_NULL_SHARE if null else 0.0)
    with threadpool_limits(1, user_api="blas"):
        root = factor(policy.area, spacing_km(policy.area), policy.grades, null, ASSUMPTIONS[0])
        table = policy.table()
        found = [likeliest(table, one.astype(np.float64), q, root) for one in counts]
    return tuple(_estimate(one, start_prior, ASSUMPTIONS[0], null) for one in found)


def _estimate(found: Likeliest, start: FloatArray, used: Smoothness, null: bool) -> PriorEstimate:
    placed = found.shares[: start.size].reshape(start.shape)
    total = placed.sum()
    # Where next to nobody is inside, rounding may leave no share to any cell; then the start is returned.
    prior = placed / total if total > 0 else start
    return PriorEstimate(np.asarray(prior), used, float(found.shares[-1]) if null else 0.0)


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
    by rounding.
    """
    tables, counts = [], []
    for one in sorted(rounds, key=lambda one: (one.policy.hash, one.counts.tolist())):
        sent = np.flatnonzero(one.counts)
        tables.append(one.policy.table()[:, sent])
        counts.append(one.counts[sent])
    return np.hstack(tables), np.concatenate(counts)
