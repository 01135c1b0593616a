"""Choose the half-life of `recency` on the training periods alone.

The last m training periods are held out for validation. For each candidate h the recency profile of the earlier
periods has the frequent places F_h = { (user, cell) : p > δ }. Its score is their visit rate,

    r(h) = #{ (f, t) : f ∈ F_h, t a validation period, f has a visit in t } / ( |F_h| · m ),

which is how often a place that would be reported is visited in a later period. The candidate with the largest r is
chosen; of equal ones the longest half-life, which is nearest to the paper's profile. A candidate without any frequent
place has no rate and is not chosen. Test periods are not used: `train` ends before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from crowdveil.errors import InputError
from crowdveil.profile.counts import Counts, Pairs
from crowdveil.profile.methods import check_half_life, recency
from crowdveil.profile.periods import is_whole
from crowdveil.profile.profile import Profile
from crowdveil.vocabulary import DEFAULT_DELTA

HALF_LIVES: tuple[float, ...] = (1, 2, 4, 8, 16, 32, float("inf"))
"""Default candidates in periods. Each doubles the last, because closer candidates differ by chance only."""


class HalfLifeScore(NamedTuple):
    """How well one candidate did on the validation periods."""

    half_life_periods: float
    places: int
    """Frequent places, |F_h|."""
    visited: int
    """Frequent places times validation periods with a visit."""
    visit_rate: float | None
    """visited / (places · m), or None without a frequent place."""


class HalfLifeChoice(NamedTuple):
    """The chosen half-life, and the table it was chosen from, shortest half-life first."""

    half_life_periods: float
    scores: tuple[HalfLifeScore, ...]
    teaching: range
    validation: range


def choose_half_life(
    counts: Counts,
    train: range,
    candidates: Sequence[float] = HALF_LIVES,
    *,
    validation: int = 5,
    delta: float = DEFAULT_DELTA,
) -> HalfLifeChoice:
    """Choose the half-life whose frequent places are visited most often in the last `validation` training periods."""
    counts.periods.check("train", train)
    if not is_whole(validation) or not 1 <= validation < len(train):
        raise InputError("validation", validation, f"should leave periods to learn from: 1 to {len(train) - 1}")
    half_lives = sorted({check_half_life(h) for h in candidates})
    if not half_lives:
        raise InputError("candidates", [], "should be one or more half-lives in periods")
    middle = train.stop - validation
    teaching, later = range(train.start, middle), range(middle, train.stop)
    happened = counts.pairs(later)
    if len(happened.user) == 0:
        raise InputError(
            "validation", later, "contains no visit; use more validation periods, or other training periods"
        )
    scores = tuple(_score(recency(counts, teaching, h), h, happened, validation, delta) for h in half_lives)
    if all(score.places == 0 for score in scores):
        raise InputError(
            "delta", delta, "leaves every user without a frequent place, for every candidate; use a smaller δ"
        )
    best = max((s for s in scores if s.places), key=lambda s: (Fraction(s.visited, s.places), s.half_life_periods))
    return HalfLifeChoice(best.half_life_periods, scores, teaching, later)


def _score(profile: Profile, half_life: float, happened: Pairs, validation: int, delta: float) -> HalfLifeScore:
    frequent = profile.frequent(delta)
    key = profile.user[frequent] * profile.cells + profile.cell[frequent]
    later = np.isin(happened.user * profile.cells + happened.cell, key)
    places, visited = len(key), int(happened.periods[later].sum())
    return HalfLifeScore(half_life, places, visited, visited / (places * validation) if places else None)
