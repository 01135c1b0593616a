"""Say how likely the visitors of each grade are to come, from the thresholds that divide the grades.

A place with the probability p of a visit has the grade g if p lies between the thresholds t_g < p ≤ t_{g-1}, with
t_{-1} = 1 above the first and 0 below the last. The server sees grades, never probabilities. Among the pairs of people
and places of real traces, the number with a probability near p falls about like 1/p² (New York, two data sets; see
docs/explanations/profiles.md), under which the mean of p between a and b is

    ( ∫ p · p⁻² dp ) / ( ∫ p⁻² dp )  =  ln(b/a) / ( 1/a - 1/b ).

Below `RAREST` nobody is expected at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log
from typing import Final

RAREST: Final = 0.01


def chances_of_grades(thresholds: Sequence[float]) -> tuple[float, ...]:
    """Return the expected chance of a visit for each grade: one more than there are thresholds, falling.

    >>> [round(chance, 2) for chance in chances_of_grades((0.5, 0.2))]
    [0.69, 0.31, 0.03]
    """
    return tuple(_mean(low, high) for high, low in pairwise((1.0, *thresholds, 0.0)))


def _mean(low: float, high: float) -> float:
    low = max(low, min(RAREST, high / 2))
    return log(high / low) / (1 / low - 1 / high) if low < high else high
