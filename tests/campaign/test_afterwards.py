"""Why a campaign differs from its plan: one reason at a time, and all that is said of it."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.campaign import Plan, Reason, RoundOpened, SelectionRequest, State, advance, begin, forecast, next_policy
from crowdveil.campaign.afterwards import REASONS, _with_grades, compare_with_plan
from crowdveil.prior import Round
from tests.town import people_around, square_town

TOWN = square_town(4)
PRIOR = people_around(TOWN, 3)
OTHER = people_around(TOWN, 8)
PLACES = (5, 14)
GRADES = np.array([0.5, 0.2, 0.3])
START = np.outer(GRADES, PRIOR)
PLAN = Plan(TOWN, PLACES, log(4), 300, wanted=20, rounds=1, start=START, start_null_share=0.1, start_trust=1.0)
CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None, "start_null_share": None}


def counted(plan: Plan, people: int) -> tuple[int, ...]:
    """As many of each symbol as the plan's start leads to, in whole people."""
    policy = next_policy(begin(plan))
    shares = policy.input_prior(plan.start, begin(plan).null_share) @ policy.table()
    ends = np.rint(np.cumsum(shares / shares.sum()) * people).astype(int)
    return tuple(np.diff(ends, prepend=0).tolist())


def after(people: int = 300, *, prior: FloatArray = START, null_share: float = 0.1, plan: Plan = PLAN) -> State:
    """The state after a round in which so many answered, of which just this was learned."""
    closed = Round(next_policy(begin(plan)), np.array(counted(plan, people)))
    return State(plan, prior, (closed,), None, null_share)


def reasons(state: State, request: SelectionRequest | None = None) -> dict[str, Reason]:
    found = compare_with_plan(state, request)
    assert tuple(one.what for one in found.reasons) == REASONS
    assert sum(one.people for one in found.reasons) == pytest.approx(found.estimated.people - found.planned.people)
    return {one.what: one for one in found.reasons}


@pytest.mark.parametrize(
    ("changed", "what", "planned", "found"),
    [
        ({"people": 150}, "people who answered", 300, 150),
        ({"null_share": 0.4}, "people outside", 0.1, 0.4),
        ({"prior": np.outer([0.2, 0.2, 0.6], PRIOR)}, "how regular people are", 0.5, 0.2),
        ({"prior": np.outer(GRADES, OTHER)}, "where people are", None, None),
    ],
)
def test_if_the_plan_was_wrong_about_one_thing_that_one_is_the_reason(
    changed: dict[str, Any], what: str, planned: float | None, found: float | None
) -> None:
    told = reasons(after(**changed))
    reason = told.pop(what)
    assert reason.planned == pytest.approx(planned)
    assert reason.found == pytest.approx(found)
    assert abs(reason.people) > 0.3
    told.pop("this crowd")
    assert all(one.people == pytest.approx(0, abs=1e-9) for one in told.values())


def test_what_was_planned_and_what_is_estimated_are_the_forecasts_before_and_after() -> None:
    state = after(120, prior=np.outer([0.2, 0.2, 0.6], OTHER), null_share=0.3)
    opened = advance(begin(PLAN), RoundOpened(next_policy(begin(PLAN))))
    before, now = forecast(opened), forecast(state, to_come=0)
    assert now != forecast(state)
    found = compare_with_plan(state)
    assert (found.planned, found.planned_coverage) == (before.visitors, before.coverage)
    assert (found.estimated, found.estimated_coverage) == (now.visitors, now.coverage)
    steps = [
        before,
        forecast(opened, to_come=120),
        forecast(replace(opened, null_share=0.3), to_come=120),
        forecast(replace(opened, null_share=0.3, prior=np.outer([0.2, 0.2, 0.6], PRIOR)), to_come=120),
        forecast(replace(opened, null_share=0.3, prior=state.prior), to_come=120),
        now,
    ]
    for reason, was, came in zip(found.reasons, steps, steps[1:], strict=False):
        assert reason.people == pytest.approx(came.visitors.people - was.visitors.people), reason.what
    assert (found.reasons[4].planned, found.reasons[4].found) == (None, None)


def test_a_panel_is_compared_for_what_it_is_asked() -> None:
    plan = replace(PLAN, panel=True, wanted=0)
    request = SelectionRequest(PLACES[:1], 30)
    state = after(plan=plan, prior=np.outer(GRADES, OTHER))
    found = compare_with_plan(state, request)
    assert found.estimated == forecast(state, request, to_come=0).visitors
    assert found.planned_coverage == pytest.approx(found.planned.people / 30)
    with pytest.raises(cv.InputError, match="request = None: should say what is asked of the panel"):
        compare_with_plan(state)


def test_with_two_grades_the_share_of_regular_people_is_compared_too() -> None:
    plan = replace(PLAN, grade_chances=(0.7, 0.1), start=np.outer([0.6, 0.4], PRIOR))
    told = reasons(after(plan=plan, prior=np.outer([0.3, 0.7], PRIOR)))
    assert told["how regular people are"].planned == pytest.approx(0.6)
    assert told["how regular people are"].found == pytest.approx(0.3)
    assert told["how regular people are"].people < 0


def test_in_the_clear_people_without_a_place_are_missing_among_the_reports() -> None:
    plan = replace(PLAN, start=PRIOR, **CLEAR)
    closed = Round(next_policy(begin(plan)), np.array(counted(plan, 90)), nulls=60)
    told = reasons(State(plan, plan.start if plan.start is not None else PRIOR, (closed,)))
    assert (told["people who answered"].planned, told["people who answered"].found) == (300, 150)
    assert (told["people outside"].planned, told["people outside"].found) == (0, 0.4)
    assert (told["how regular people are"].planned, told["how regular people are"].people) == (None, 0)
    assert told["people outside"].people < 0 == told["where people are"].people


def test_visitors_of_a_grade_that_was_not_expected_at_all_may_be_anywhere() -> None:
    start = np.stack([0.75 * PRIOR, 0.25 * OTHER, 0 * PRIOR])
    plan = replace(PLAN, start=start)
    found = State(plan, np.outer([0.5, 0.2, 0.3], OTHER))
    mixed = _with_grades(begin(plan), found)
    assert mixed == pytest.approx(np.stack([0.5 * PRIOR, 0.2 * OTHER, np.full(16, 0.3 / 16)]))
    with pytest.raises(ValueError, match="read-only"):
        mixed[0, 0] = 1.0


def test_without_grades_the_plans_places_stay_as_they_were() -> None:
    plan = replace(PLAN, start=PRIOR, **CLEAR)
    assert _with_grades(begin(plan), State(plan, OTHER)).tolist() == begin(plan).prior.tolist()
