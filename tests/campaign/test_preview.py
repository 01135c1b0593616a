"""What a plan promises before it starts."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import pytest

from crowdveil.campaign import Plan, begin, compare_covers, forecast, next_policy
from crowdveil.campaign.preview import other_covers, preview_policy, preview_state
from tests.town import people_around, square_town

TOWN = square_town(4)
CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None}


def plan_of(**given: Any) -> Plan:
    targets = given.pop("targets", (5, 14))
    return Plan(
        TOWN, targets, log(4), given.pop("users", 200), rounds=1, start=people_around(TOWN, 3), **CLEAR, **given
    )


def test_as_many_people_as_the_plan_wants_are_divided_over_its_places() -> None:
    told = [(one.wanted, one.numbers) for one in other_covers(plan_of(wanted=9))]
    assert told == [(9, None), (8, (4, 4))]
    told = [(one.wanted, one.numbers) for one in other_covers(plan_of(numbers=(8, 3)))]
    assert told == [(11, None), (12, (6, 6)), (11, (8, 3))]
    told = [(one.wanted, one.numbers) for one in other_covers(plan_of(numbers=(4, 4)))]
    assert told == [(8, None), (8, (4, 4))]


def test_each_cover_is_forecast_for_its_own_first_round() -> None:
    for one, plan in zip(compare_covers(plan_of(numbers=(8, 3))), other_covers(plan_of(numbers=(8, 3))), strict=True):
        assert (one.cover, one.numbers) == (plan.cover, plan.numbers)
        assert one.forecast == forecast(preview_state(plan))


def test_a_panel_is_previewed_under_the_policy_that_is_published() -> None:
    plan = Plan(TOWN, (5, 14), log(4), 200, rounds=1, panel=True)
    state = preview_state(plan)
    assert state.open_policy == preview_policy(plan) == next_policy(begin(plan))
    assert state.open_policy is not None
    assert state.open_policy.provenance["method"] == "panel"


@pytest.mark.parametrize(("how_many", "selecting"), [({"wanted": 9}, 1), ({"numbers": (4, 5)}, 2)])
def test_a_preview_leaves_out_only_what_the_policy_says_of_those_who_are_not_selected(
    how_many: dict[str, Any], selecting: int
) -> None:
    plan = plan_of(**how_many)
    policy, published = preview_policy(plan), next_policy(begin(plan))
    assert policy.symbol_count == selecting + 1 < published.symbol_count
    assert len(policy.selecting) == selecting
    assert policy.table()[:, :selecting] == pytest.approx(published.table()[:, :selecting], abs=1e-6)
    assert policy.value == pytest.approx(published.value, abs=1e-6)


def test_algorithm_2_is_compared_with_nothing() -> None:
    assert [one.cover for one in other_covers(replace(plan_of(wanted=9), algorithm="algorithm-2"))] == ["any"]
