"""Explain after a campaign why it covers more or less than was planned.

The plan assumed how many answer, how many of them are outside, how regular they are and where they are; the reports say
otherwise. From the plan's assumptions to the estimate one of them is replaced after the other, in this order, and each
time the people who come are forecast anew: the difference is what this assumption cost or gained. What is left is how
the symbols fell in this crowd, and in a campaign of several rounds what its later policies gained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdveil.arrays import FloatArray, frozen
from crowdveil.campaign.forecast import Expected, forecast
from crowdveil.campaign.request import SelectionRequest
from crowdveil.campaign.state import RoundOpened, State, advance, begin
from crowdveil.errors import InputError

REASONS = ("people who answered", "people outside", "how regular people are", "where people are", "this crowd")
"""What may differ from the plan, in the order in which it is replaced."""


@dataclass(frozen=True)
class Reason:
    """One assumption of the plan, and what it changed."""

    what: str
    planned: float | None
    """What the plan assumed: people, or a share; None where it is more than a number."""
    found: float | None
    """What the reports say."""
    people: float
    """How many people more come than if the plan had been right about it; negative where fewer do."""


@dataclass(frozen=True)
class PlanComparison:
    """Planned, estimated, and why they differ."""

    planned: Expected
    """Who was expected to come, under the plan's assumptions."""
    estimated: Expected
    """Who is expected to come of those who are selected, after the reports."""
    planned_coverage: float
    estimated_coverage: float
    reasons: tuple[Reason, ...]
    """They add up to the difference of the people expected."""
    contradicted: bool = False
    """Whether the reports contradict the plan's start so clearly that only half of it is still believed."""


def compare_with_plan(state: State, request: SelectionRequest | None = None) -> PlanComparison:
    """Compare what a campaign or panel was planned to bring with what its reports say, reason by reason.

    `request` is what is asked of a panel (default: what the plan asks for). The plan's assumptions are its start, the
    share outside that it starts with, and that everyone who is invited answers.
    """
    plan, rounds = state.plan, [state.closed[number] for number in state.used_rounds]
    answered = sum(one.reports + one.nulls for one in rounds)
    if not answered:
        raise InputError("state", "no reports", "should have a closed round with reports")
    request = plan.request if request is None else request
    opened = advance(begin(plan), RoundOpened(rounds[0].policy))
    inside = sum(one.reports for one in rounds)
    outside = (answered - inside) / answered if plan.null_epsilon is None else state.null_share
    graded = _with_grades(opened, state)
    # In the clear form nobody is outside before the first report; who was then is missing among the reports.
    steps = [
        (opened, plan.users),
        (opened, answered),
        (replace(opened, null_share=state.null_share), inside),
        (replace(opened, null_share=state.null_share, prior=graded), inside),
        (replace(opened, null_share=state.null_share, prior=state.prior), inside),
    ]
    told = [forecast(one, request, to_come=people) for one, people in steps]
    told.append(forecast(state, request, to_come=0))
    people = [one.visitors.people for one in told]
    assumed: list[tuple[float | None, float | None]] = [
        (plan.users, answered),
        (opened.null_share, outside),
        (float(opened.grade_shares[0]), float(state.grade_shares[0])) if plan.grades > 1 else (None, None),
        (None, None),
        (None, None),
    ]
    reasons = tuple(
        Reason(what, was, now, after - before)
        for what, (was, now), before, after in zip(REASONS, assumed, people, people[1:], strict=False)
    )
    first, last = told[0], told[-1]
    return PlanComparison(
        first.visitors, last.visitors, first.coverage, last.coverage, reasons, contradicted=state.contradicted
    )


def _with_grades(opened: State, found: State) -> FloatArray:
    """Return where the plan thought people to be, with the grades that were found."""
    if opened.plan.grades == 1:
        return opened.prior
    was = opened.grade_shares[:, None]
    n = len(opened.plan.area)
    each = np.divide(opened.prior, was, out=np.full(opened.prior.shape, 1 / n), where=was > 0)
    return frozen(found.grade_shares[:, None] * each)
