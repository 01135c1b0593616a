"""Charge every report on two accounts, whatever it says, and stop at the owner's limits.

    ε per km          what the report may reveal about where the place is
    ε₀ (and ε₁)       what it may reveal about being in the area at all, and about how regularly the place is visited

Nothing costs less than the least charge: fourteen campaigns with ε = 1e-9 would otherwise ask fourteen questions for
nothing. In the clear form a device without a frequent place says so openly, which no ε bounds; such reports are counted
and have a limit of their own.

Sums are rounded correctly (`fsum`), so that three times ln 4 is exactly the double 3 ln 4 of the default limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import floor, fsum, inf, isfinite
from typing import Any, Self

from crowdveil.errors import InputError, LimitReached
from crowdveil.formatting import percent_up
from crowdveil.limits.privacy_limits import PrivacyLimits
from crowdveil.wire import Terms

DID_NOT_ANSWER = "Your phone did not answer."
ROUNDING = 1e-9
"""Keeps 3 ln 4 - 2 ln 4 from counting as less than one ln 4."""


@dataclass(frozen=True)
class Charge:
    """What one report costs."""

    epsilon_per_km: float
    null_epsilon: float
    clear: bool

    @classmethod
    def of(cls, terms: Terms, limits: PrivacyLimits) -> Self:
        """Return what a report under these terms costs a device with these limits, whatever the report says."""
        least, clear = limits.least_charge, terms.null_epsilon is None
        null = 0.0 if terms.null_epsilon is None else max(terms.null_epsilon, terms.grade_spread, least)
        return cls(max(terms.epsilon_per_km, least), null, clear)


@dataclass(frozen=True)
class Spent:
    """What all reports so far cost."""

    epsilon_per_km: float = 0.0
    null_epsilon: float = 0.0
    clear_reports: int = 0
    reports: int = 0

    def __post_init__(self) -> None:
        for name in ("epsilon_per_km", "null_epsilon"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (number and isfinite(value) and value >= 0):
                raise InputError(f"already spent {name}", value, "should be a finite number of at least 0")
        for name in ("clear_reports", "reports"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise InputError(f"already spent {name}", value, "should be a whole number of at least 0")

    @classmethod
    def whole_limit(cls, limits: PrivacyLimits) -> Self:
        """Return what a device should assume that lost its ledger and cannot know what it reported."""
        return cls(limits.total_epsilon_per_km, limits.total_null_epsilon, limits.clear_reports)

    def as_dict(self) -> dict[str, Any]:
        """Return the sums as a JSON object."""
        return asdict(self)

    def plus(self, charges: Iterable[Charge]) -> Spent:
        """Add the charges of more reports, with one rounding for all of them together."""
        all_charges = list(charges)
        return Spent(
            fsum([self.epsilon_per_km, *(one.epsilon_per_km for one in all_charges)]),
            fsum([self.null_epsilon, *(one.null_epsilon for one in all_charges)]),
            self.clear_reports + sum(one.clear for one in all_charges),
            self.reports + len(all_charges),
        )


def check_totals(spent: Spent, charge: Charge, limits: PrivacyLimits) -> None:
    """Refuse a report that would take either sum, or the number of reports in the clear, past the owner's limit."""
    after = spent.plus([charge])
    if charge.clear and after.clear_reports > limits.clear_reports:
        raise LimitReached(
            "This campaign asks openly whether you regularly visit anywhere in its area, more often than your limit "
            f"allows. {DID_NOT_ANSWER}",
            f"The limit of reports in the clear is {limits.clear_reports}; {spent.clear_reports} were sent.",
        )
    over = {
        "ε per km": (spent.epsilon_per_km, charge.epsilon_per_km, limits.total_epsilon_per_km),
        "ε₀": (spent.null_epsilon, charge.null_epsilon, limits.total_null_epsilon),
    }
    if after.epsilon_per_km <= limits.total_epsilon_per_km and after.null_epsilon <= limits.total_null_epsilon:
        return
    used = describe_use(spent, limits)
    if not _used_up(spent, limits):
        used = f"This campaign would take you past your limit. {used} {DID_NOT_ANSWER}"
    figures = "; ".join(
        f"{name}: {before:.6g} of {limit:.6g} is used, and this report would add {more:.6g}"
        for name, (before, more, limit) in over.items()
    )
    raise LimitReached(used, f"{figures}.")


def more_reports(spent: Spent, charge: Charge, limits: PrivacyLimits) -> float:
    """Return how many reports like this one the limits allow; infinity if nothing is charged."""
    left = [inf]
    for name, total in (("epsilon_per_km", "total_epsilon_per_km"), ("null_epsilon", "total_null_epsilon")):
        cost = getattr(charge, name)
        if cost > 0:
            left.append(floor((getattr(limits, total) - getattr(spent, name)) / cost + ROUNDING))
    if charge.clear:
        left.append(limits.clear_reports - spent.clear_reports)
    return max(0, min(left))


def describe_use(spent: Spent, limits: PrivacyLimits) -> str:
    """Say how many campaigns were answered, and how much of the owner's limit is used."""
    number = "no" if spent.reports == 0 else f"{spent.reports:,}"
    campaigns = f"{number} {'campaign' if spent.reports < 2 else 'campaigns'}"
    when = "" if limits.span == "lifetime" else " in the last twelve months"
    if _used_up(spent, limits):
        stop = "This phone will not answer more unless you raise the limit."
        if limits.span == "twelve-months":
            stop = "This phone will not answer more until the oldest of them is twelve months old."
        if spent.reports == 0:
            return f"Your limit was used up before this record began. {stop}"
        return f"You have answered {campaigns}{when}, the most your limit allows. {stop}"
    share = _share_used(spent, limits)
    if share == 0:
        return f"You have answered {campaigns}{when}."
    return f"You have answered {campaigns}{when} and used {percent_up(share, 0).replace('%', ' %')} of your limit."


def _share_used(spent: Spent, limits: PrivacyLimits) -> float:
    return max(spent.epsilon_per_km / limits.total_epsilon_per_km, spent.null_epsilon / limits.total_null_epsilon)


def _used_up(spent: Spent, limits: PrivacyLimits) -> bool:
    return _share_used(spent, limits) >= 1
