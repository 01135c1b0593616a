"""Plan a year ahead: how often people should report, and at which ε, within what their devices allow in a lifetime.

Three ways to answer C campaigns over some time, within a lifetime limit L on the sum of ε per km, and one on ε₀:

    panel   everyone reports r times, at L/r each, on a schedule; each campaign uses the newest report
    fresh   everyone reports for each campaign, at the plan's ε, until the limit is reached; later ones get nobody
    split   everyone reports for each campaign, at L/C

All are forecast on the same crowds, so that they differ by nothing else. In truth devices that are asked for one place
alone report it a little more often than among many, which favours fresh reports.

A report says where people were, and people move. `fading_per_week` is the share of its coverage that a report loses in
a week: t weeks after it a campaign covers (1 - f)^t of what it would have covered at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from crowdveil.campaign.knowledge import Knowledge
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.prediction import DEFAULT_CROWDS, LikelyRange, possible_campaigns, predict
from crowdveil.campaign.request import SelectionRequest, check_count
from crowdveil.errors import InputError
from crowdveil.vocabulary import DEFAULT_EPSILON_PER_KM, DEFAULT_NULL_EPSILON, Progress

FADING_PER_WEEK: Final = 0.0
"""Until it is measured on traces, reports are assumed not to fade."""
LIFETIME_REPORTS: Final = 3
"""How many reports at the default ε a device allows by default (`limits.PrivacyLimits`)."""
DAYS_PER_WEEK = 7

YearKind = Literal["panel", "fresh", "split"]


@dataclass(frozen=True)
class YearOption:
    """One way to answer all campaigns, and what it covers."""

    kind: YearKind
    reports: int
    """How often each person reports."""
    epsilon_per_km: float
    """ε of each report."""
    null_epsilon: float | None
    """ε₀ of each report."""
    answered: int
    """How many campaigns get anybody."""
    first: LikelyRange
    """The coverage of a campaign right after a report."""
    mean: float
    """The expected coverage of all campaigns; those that get nobody count 0."""
    within_defaults: bool
    """Whether devices accept such a report by default; otherwise owners have to allow more."""


def year_ahead(
    plan: Plan,
    request: SelectionRequest,
    known: Knowledge | None = None,
    *,
    days: int,
    campaigns: int,
    total_epsilon_per_km: float = LIFETIME_REPORTS * DEFAULT_EPSILON_PER_KM,
    total_null_epsilon: float = LIFETIME_REPORTS * DEFAULT_NULL_EPSILON,
    fading_per_week: float = FADING_PER_WEEK,
    crowds: int = DEFAULT_CROWDS,
    progress: Progress | None = None,
) -> tuple[YearOption, ...]:
    """Compare a panel, with 1 to 4 reports, with fresh reports and a split limit; the best is the first.

    Args:
        plan: A panel over all places that may be asked for.
        request: A campaign like those that will come: for how many places, how many people.
        known: What is known of the people.
        days: How long campaigns will go on.
        campaigns: How many there will be, evenly spread.
        total_epsilon_per_km: The lifetime limit on the sum of ε per km.
        total_null_epsilon: The lifetime limit on the sum of ε₀, and of what is told about how regularly.
        fading_per_week: The share of its coverage that a report loses in a week.
        crowds: How many crowds are drawn.
        progress: Called after each way, with how many are done and how many there are.
    """
    if not plan.panel:
        raise InputError("plan", "no panel", "should be a panel over all places that may be asked for")
    for name, count in (("days", days), ("campaigns", campaigns)):
        check_count(name, count)
    for name, limit in (("total_epsilon_per_km", total_epsilon_per_km), ("total_null_epsilon", total_null_epsilon)):
        if not limit > 0:
            raise InputError(name, limit, "should be above 0")
    if not 0 <= fading_per_week < 1:
        raise InputError("fading_per_week", fading_per_week, "should be a share from 0 to below 1")
    age_weeks = np.arange(campaigns) * days / campaigns / DAYS_PER_WEEK
    reported = plan.targets if 2 * len(plan.targets) < len(plan.area) else request.targets
    alone = replace(plan, targets=request.targets, target_names=None)
    total = {"total": total_epsilon_per_km, "total_null": total_null_epsilon}

    def option(
        kind: YearKind, used: Plan, reports: int, answered: int, fades: np.ndarray[tuple[int], np.dtype[np.float64]]
    ) -> YearOption:
        first = predict(possible_campaigns(used, known, crowds=crowds, places=reported), request).coverage
        weight = float(((1 - fading_per_week) ** fades).sum()) / campaigns
        accepted = used.epsilon_per_km <= DEFAULT_EPSILON_PER_KM * (1 + 1e-9)
        null = used.null_epsilon
        accepted = accepted and null is not None and null <= DEFAULT_NULL_EPSILON * (1 + 1e-9)
        return YearOption(kind, reports, used.epsilon_per_km, null, answered, first, weight * first.mean, accepted)

    found: list[YearOption] = []
    schedules = min(campaigns, LIFETIME_REPORTS + 1)

    def tell() -> None:
        if progress is not None:
            progress(len(found), schedules + 2)

    for reports in range(1, schedules + 1):
        fades = age_weeks % (days / reports / DAYS_PER_WEEK)
        found.append(option("panel", _share(plan, reports, **total), reports, campaigns, fades))
        tell()
    allowed = int((total_epsilon_per_km + 1e-9) / plan.epsilon_per_km)
    if plan.null_epsilon is not None:
        allowed = min(allowed, int((total_null_epsilon + 1e-9) / plan.null_epsilon))
    answered = min(campaigns, allowed)
    found.append(option("fresh", alone, answered, answered, np.zeros(answered)))
    tell()
    found.append(option("split", _share(alone, campaigns, **total), campaigns, campaigns, np.zeros(campaigns)))
    tell()
    return tuple(sorted(found, key=lambda one: -one.mean))


def _share(plan: Plan, reports: int, total: float, total_null: float) -> Plan:
    """Return the plan with the losses of one of so many reports; ε₀ and ε₁ are never above the plan's."""
    null, grade = plan.null_epsilon, plan.grade_epsilon
    if null is not None:
        part = min(1.0, total_null / reports / null)
        null, grade = part * null, None if grade is None else part * grade
    return replace(plan, epsilon_per_km=total / reports, null_epsilon=null, grade_epsilon=grade)
