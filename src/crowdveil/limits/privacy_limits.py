"""Define the limits that a device's owner sets; they are kept in the device's ledger, never typed at every call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any, Literal, Self, get_args

from crowdveil.errors import InputError
from crowdveil.vocabulary import DEFAULT_EPSILON_PER_KM, DEFAULT_NULL_EPSILON

Span = Literal["lifetime", "twelve-months"]
"""Over what time the losses of reports add up: for ever, or over any twelve months."""

WHOLE = ("clear_reports", "min_cells", "cells_within_2_km")
MAY_BE_ZERO = ("clear_reports", "delta")
AT_LEAST = ("least_charge", "cell_km", "min_cells", "cells_within_2_km", "delta")
"""Limits that are stricter the larger they are."""


@dataclass(frozen=True)
class PrivacyLimits:
    """What a device accepts at most, or at least; set by its owner, never by a campaign."""

    epsilon_per_km: float = DEFAULT_EPSILON_PER_KM
    """Largest loss about the place in one report; by default a report is at most 4 times as likely from one place as
    from another 1 km away."""
    null_epsilon: float = DEFAULT_NULL_EPSILON
    """Largest loss ε₀ about being in the area at all, in one report."""
    grade_epsilon: float = DEFAULT_NULL_EPSILON
    """Largest loss about how regularly the place is visited, in one report: ε₁ times the steps between the most and
    the least regular visitor."""
    total_epsilon_per_km: float = 3 * DEFAULT_EPSILON_PER_KM
    """Largest sum of ε per km over all reports."""
    total_null_epsilon: float = 3 * DEFAULT_NULL_EPSILON
    """Largest sum of the losses about being in the area and about how regularly, over all reports."""
    clear_reports: int = 0
    """How many reports may say in the clear that there is no frequent place in the area; 0 means none."""
    span: Span = "lifetime"
    """Whether sums run over the whole life of the ledger, or over any twelve months. Twelve months protect less: what
    was learnt earlier stays known, and a place that does not change is told again."""
    least_charge: float = 0.1
    """A report is charged at least this on each account, however little its campaign says it reveals."""
    cell_km: float = 0.25
    """Finest map: the distance of neighbouring cells, the width of a tower's reach, and the side of a square as large
    as a region should each be at least this."""
    gap_km: float = 5.0
    """Coarsest map: no cell's nearest neighbour may be farther away. An isolated cell identifies its visitors."""
    min_cells: int = 16
    """Smallest number of cells in the area."""
    cells_within_2_km: int = 3
    """Smallest number of cells within 2 km of every cell, itself included; a region that is itself 2 km wide is
    exempt."""
    delta: float = 0.2
    """Smallest threshold that divides visitors into grades, δ and all below it: under it, profiles cannot tell a
    regular visit from a chance one. No constants that a campaign publishes make a place count that the shipped
    prediction puts below it."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            if limit.name != "span":
                self._check_number(limit.name)
        if self.span not in get_args(Span):
            raise InputError("span", self.span, f"should be one of {', '.join(get_args(Span))}")
        if self.delta >= 1:
            raise InputError("delta", self.delta, "should be below 1")

    def _check_number(self, name: str) -> None:
        value = getattr(self, name)
        kinds = (int,) if name in WHOLE else (int, float)
        number = isinstance(value, kinds) and not isinstance(value, bool)
        low_enough = number and (value >= 0 if name in MAY_BE_ZERO else value > 0)
        if not (low_enough and isfinite(value)):
            kind = "whole" if name in WHOLE else "finite"
            raise InputError(
                name, value, f"should be a {kind} number {'of at least' if name in MAY_BE_ZERO else 'above'} 0"
            )

    def stricter(self, other: PrivacyLimits) -> PrivacyLimits:
        """Return, of each limit, the stricter one of both; of spans that is `lifetime`, which is also the lesser."""
        return PrivacyLimits(
            **{
                one.name: (max if one.name in AT_LEAST else min)(getattr(self, one.name), getattr(other, one.name))
                for one in fields(self)
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the limits as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read limits from a JSON object that names every one of them."""
        names = {limit.name for limit in fields(cls)}
        if set(document) != names:
            odd = sorted(set(document) ^ names)[0]
            raise InputError(odd, document.get(odd), "should be one of the limits, and all of them should be given")
        return cls(**document)
