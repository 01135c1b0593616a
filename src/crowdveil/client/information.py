"""Bound how many bits a report carries in expectation, whatever anyone believed before.

With rows P(· | i) and any distribution q of symbols, the mutual information of input and symbol is, under every prior,

    I  ≤  max_i  KL( P(· | i) ‖ q )  in nats.

The least such bound is the capacity of the channel. Blahut's iteration moves q towards it; every step gives a valid
bound, so it may stop anywhere. For tables too large for that, q = P(· | outside) gives I ≤ ε₀, because no quotient with
that row exceeds e^{ε₀}.
"""

from __future__ import annotations

from functools import lru_cache
from math import log, log2
from typing import NamedTuple

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.policy.policy import Policy

MAX_ENTRIES = 4_000_000
"""Entries of the largest table that is looked at; a device has little memory."""
STEPS = 60


class Information(NamedTuple):
    """The information of a report in bits."""

    at_most_bits: float
    """In expectation, under every prior."""
    uniform_bits: float | None
    """If all inputs are equally likely; None where the table is too large."""


@lru_cache(maxsize=16)
def information(policy: Policy) -> Information:
    """Bound the information that a report under a policy carries."""
    if policy.input_count * policy.symbol_count > MAX_ENTRIES:
        most = log2(policy.symbol_count)
        return Information(most if policy.null_epsilon is None else min(most, policy.null_epsilon / log(2)), None)
    table = policy.table()
    prior = np.full(len(table), 1 / len(table))
    losses = _divergences(table, prior @ table)
    uniform, most = float(prior @ losses), float(losses.max())
    for _ in range(STEPS):
        prior = prior * np.exp(losses - losses.max())
        prior /= prior.sum()
        losses = _divergences(table, prior @ table)
        most = min(most, float(losses.max()))
    return Information(most / log(2), uniform / log(2))


def _divergences(table: FloatArray, symbols: FloatArray) -> FloatArray:
    """Return KL(row ‖ symbols) of every row in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(table > 0, table * np.log(table / symbols), 0.0)
    return np.asarray(terms.sum(axis=1))
