"""Estimate how likely a user is to be in a cell at least once in the next period, by one of three methods.

A user's visits to a cell in the n training periods are v_0, ..., v_{n-1}, the latest last.

**frequency** (the paper). The share of periods with a visit:

    p = #{ t : v_t > 0 } / n.

**poisson** (the paper). Visits as a Poisson process of the mean rate:

    p = 1 - e^{-λ},        λ = Σ_t v_t / n.

**recency** (ours). Many people change their habits, so that old visits say less than recent ones. With a = n - 1 - t
the age of a period,

    p = 1 - e^{-λ},        λ = Σ_a w_a v_a / Σ_a w_a,        w_a = 2^{-a / h},

h the half-life in periods. Counting ages from 1 instead of 0 multiplies all weights by the same number and changes
nothing. As h → ∞ every weight is 1, so this is `poisson`; h = ∞ is allowed and is `poisson` to the last bit. Periods
without any data (a gap in the trace) count as periods without a visit, for all three.

Each p lies in [0, 1]: a share does, and λ ≥ 0. One more visit in any period never lowers p, because every weight is at
least 0 and x → 1 - e^{-x} is increasing; `expm1` keeps the digits of small λ.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.profile.counts import Counts
from crowdveil.profile.profile import Profile


def frequency(counts: Counts, train: range) -> Profile:
    """Compute the share of the training periods with a visit."""
    pairs = counts.pairs(train)
    probability = pairs.periods / len(train)
    return Profile(counts.users, counts.cells, pairs.user, pairs.cell, probability, "frequency", train=train)


def poisson(counts: Counts, train: range) -> Profile:
    """Compute 1 - e^{-λ}, with λ the mean number of visits in a training period."""
    pairs = counts.pairs(train)
    probability = -np.expm1(-(pairs.visits / len(train)))
    return Profile(counts.users, counts.cells, pairs.user, pairs.cell, probability, "poisson", train=train)


def recency(counts: Counts, train: range, half_life_periods: float) -> Profile:
    """Compute 1 - e^{-λ}, with λ the mean number of visits under weights that halve every `half_life_periods`."""
    half_life = check_half_life(half_life_periods)
    rows = counts.during(train)
    first = rows.first_of_pairs()
    weight = age_weights(len(train), half_life)
    weighted = weight[train.stop - 1 - rows.period] * rows.visits
    probability = -np.expm1(-(np.add.reduceat(weighted, first) / weight.sum()))
    told = {"half_life_periods": half_life}
    columns = (rows.user[first], rows.cell[first], probability)
    return Profile(counts.users, counts.cells, *columns, "recency", told, train)


def age_weights(periods: int, half_life_periods: float) -> FloatArray:
    """Return w_a = 2^{-a/h} for the ages a = 0 .. periods - 1; the first is 1, so that the sum is never 0."""
    with np.errstate(over="ignore"):  # a / h beyond all doubles is a weight of 0
        weights: FloatArray = np.exp2(-(np.arange(periods) / half_life_periods))
    return weights


def check_half_life(half_life_periods: float) -> float:
    """Return a half-life in periods: above 0; infinity means that old visits count like new ones."""
    try:
        half_life = float(half_life_periods)
    except (TypeError, ValueError):
        half_life = float("nan")
    if not half_life > 0:
        raise InputError("half_life_periods", half_life_periods, "should be a number of periods above 0, or infinity")
    return half_life
