"""Plans made backwards, a year ahead, and explained afterwards."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil, log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import Plan, RoundClosed, RoundOpened, SelectionRequest, State, advance, begin, forecast
from crowdveil.campaign.afterwards import REASONS, compare_with_plan
from crowdveil.campaign.capacity import advise_places, place_capacities
from crowdveil.campaign.knowledge import Knowledge
from crowdveil.campaign.next_policy import check_plan_size, next_policy
from crowdveil.campaign.people_needed import _sizes, people_needed
from crowdveil.campaign.year import year_ahead
from crowdveil.policy.solver import stack
from crowdveil.prior import count_symbols
from tests.town import people_around, square_town

TOWN = square_town(7)
PRIOR = people_around(TOWN, 3)
BUSY = tuple(int(cell) for cell in np.argsort(-PRIOR)[:2])
PANEL = Plan(TOWN, BUSY, log(4), 600, rounds=1, panel=True)
KNOWN = Knowledge(PRIOR, regular_share=0.5, outside_share=0.1, roaming=False)


# --- backwards ------------------------------------------------------------------------------------------------


def test_a_larger_epsilon_needs_fewer_people_and_hopeless_plans_say_what_would_help() -> None:
    steps = []
    found = people_needed(
        PANEL,
        3,
        KNOWN,
        epsilons_per_km=(0.3, log(4), 2 * log(4)),
        max_people=4000,
        crowds=12,
        progress=lambda done, total: steps.append((done, total)),
    )
    hopeless, usual, loose = found
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert hopeless.people is None
    assert hopeless.advice is not None
    assert "A larger ε" in hopeless.advice
    assert hopeless.chance < 0.8
    assert usual.people is not None
    assert loose.people is not None
    assert loose.people <= usual.people < 4000
    for one in (usual, loose):
        assert one.advice is None
        assert one.chance >= 0.8
        assert one.selected <= 12


def test_where_too_few_people_come_at_all_a_larger_epsilon_is_not_advised() -> None:
    far = (int(PRIOR.argmin()), BUSY[0])
    known = replace(KNOWN, regular_share=0.05)
    (found,) = people_needed(replace(PANEL, targets=far), 30, known, max_people=300, crowds=8)
    assert found.people is None
    assert found.worst_place == 0
    assert found.advice is not None
    assert "Place 1" in found.advice
    assert "a larger ε would not" in found.advice
    assert found.limit == "asked"
    assert "Ask more people" in found.advice


def test_numbers_of_people_rise_in_steps_to_the_most() -> None:
    sizes = _sizes(50, 1000)
    assert sizes[0] == 50
    assert sizes[-1] == 1000
    assert all(few < many <= ceil(1.4 * few) for few, many in pairwise(sizes))
    assert _sizes(50, 20) == [20]


@pytest.mark.parametrize(
    ("plan", "given", "field"),
    [
        (replace(PANEL, panel=False, wanted=5), {}, "plan"),
        (PANEL, {"coming": 0}, "coming"),
        (PANEL, {"chance": 1.0}, "chance"),
        (PANEL, {"selected_for_one": 0}, "selected_for_one"),
        (PANEL, {"max_people": 0}, "max_people"),
    ],
)
def test_an_impossible_wish_is_refused(plan: Plan, given: dict[str, Any], field: str) -> None:
    with pytest.raises(cv.InputError) as refused:
        people_needed(plan, **{"coming": 3, **given})
    assert refused.value.field == field


# --- a year ahead ---------------------------------------------------------------------------------------------


def test_a_panel_covers_more_in_a_year_than_fresh_reports_or_a_split_limit() -> None:
    request = SelectionRequest(BUSY[:1], 20)
    found = year_ahead(PANEL, request, KNOWN, days=161, campaigns=23, crowds=12)
    by_kind = {(one.kind, one.reports): one for one in found}
    assert [one.mean for one in found] == sorted((one.mean for one in found), reverse=True)
    best, fresh, split = found[0], by_kind["fresh", 3], by_kind["split", 23]
    assert best.kind == "panel"
    assert best.mean > split.mean > 0
    assert best.mean > 4 * fresh.mean
    assert fresh.answered == 3
    assert fresh.mean == pytest.approx(fresh.first.mean * 3 / 23)
    assert split.epsilon_per_km == pytest.approx(3 * log(4) / 23)
    assert split.null_epsilon == pytest.approx(3 * log(64) / 23)
    thrice, four = by_kind["panel", 3], by_kind["panel", 4]
    assert (thrice.epsilon_per_km, thrice.null_epsilon) == pytest.approx((log(4), log(64)))
    assert thrice.within_defaults
    assert not by_kind["panel", 1].within_defaults
    assert four.null_epsilon == pytest.approx(0.75 * log(64))


def test_reports_that_fade_are_worth_renewing() -> None:
    request = SelectionRequest(BUSY[:1], 20)
    given: dict[str, Any] = {"days": 364, "campaigns": 52, "crowds": 12}
    kept = {one.reports: one for one in year_ahead(PANEL, request, KNOWN, **given) if one.kind == "panel"}
    fading = year_ahead(PANEL, request, KNOWN, fading_per_week=0.1, **given)
    faded = {one.reports: one for one in fading if one.kind == "panel"}
    assert faded[1].first == kept[1].first
    assert faded[1].mean == pytest.approx(kept[1].mean * np.mean(0.9 ** np.arange(52)))
    assert faded[4].mean / kept[4].mean > 2 * faded[1].mean / kept[1].mean
    assert faded[4].mean == pytest.approx(kept[4].mean * np.mean(0.9 ** np.arange(13)))


@pytest.mark.parametrize(
    ("plan", "given", "field"),
    [
        (replace(PANEL, panel=False, wanted=5), {}, "plan"),
        (PANEL, {"days": 0}, "days"),
        (PANEL, {"campaigns": 0}, "campaigns"),
        (PANEL, {"total_epsilon_per_km": 0.0}, "total_epsilon_per_km"),
        (PANEL, {"total_null_epsilon": -1.0}, "total_null_epsilon"),
        (PANEL, {"fading_per_week": 1.0}, "fading_per_week"),
    ],
)
def test_an_impossible_year_is_refused(plan: Plan, given: dict[str, Any], field: str) -> None:
    with pytest.raises(cv.InputError) as refused:
        year_ahead(plan, SelectionRequest(BUSY[:1], 5), **{"days": 70, "campaigns": 10, **given})
    assert refused.value.field == field


# --- capacity -------------------------------------------------------------------------------------------------


def after(plan: Plan, cells: np.ndarray[Any, np.dtype[np.int64]], grades: Any = None) -> State:
    """A panel after its people reported."""
    policy = next_policy(begin(plan))
    sent = cv.draw_many(policy, cells, cv.certify(policy), np.random.default_rng(4), grades)
    return advance(advance(begin(plan), RoundOpened(policy)), RoundClosed(count_symbols(policy, sent)))


def test_capacities_are_the_expected_senders_and_then_those_who_sent() -> None:
    plan = replace(PANEL, start=np.outer([0.5, 0.2, 0.3], PRIOR), start_null_share=0.1)
    policy = next_policy(begin(plan))
    opened = advance(begin(plan), RoundOpened(policy))
    expected = [one.senders for one in place_capacities(opened)]
    shares = policy.input_prior(plan.opening, 0.1) @ policy.table()
    assert expected == pytest.approx((plan.users * shares[:2]).tolist())
    generator = np.random.default_rng(1)
    cells = generator.choice(len(TOWN), plan.users, p=PRIOR)
    state = after(plan, cells, generator.choice(3, plan.users, p=[0.5, 0.2, 0.3]))
    found = place_capacities(state)
    assert [one.place for one in found] == list(BUSY)
    assert [one.senders for one in found] == state.closed[0].counts[:2].tolist()
    for position, one in enumerate(found):
        told = forecast(state, SelectionRequest((one.place,), int(one.senders)))
        assert one.visitors == pytest.approx(told.places[0].visitors.people, rel=0.02), position


def test_capacities_need_a_policy() -> None:
    with pytest.raises(cv.InputError, match="should have an open or a closed round"):
        place_capacities(begin(PANEL))


def test_where_outside_is_protected_closely_a_list_of_places_is_recommended() -> None:
    everywhere = replace(
        PANEL, targets=tuple(range(len(TOWN))), start=np.outer([0.5, 0.2, 0.3], PRIOR), start_null_share=0.1
    )
    tight = replace(everywhere, null_epsilon=log(4), grade_epsilon=log(2))
    found = advise_places(tight, 20)
    assert found.shorter
    assert found.all_senders is not None
    assert found.all_capacity is not None
    assert found.senders >= 20 > found.all_senders
    assert found.least_capacity > found.all_capacity
    assert sorted(PRIOR[list(found.places)]) == pytest.approx(np.sort(PRIOR)[-len(found.places) :])
    alike = advise_places(replace(everywhere, start=None), 1)
    assert not alike.shorter
    assert alike.places == everywhere.targets
    assert found.enough
    most = advise_places(tight, 500)
    assert not most.enough
    assert most.advice is not None
    assert "500 are wanted" in most.advice
    assert most.senders < 500
    assert most.senders >= found.senders


def test_places_are_advised_from_the_longest_list_that_a_policy_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere = replace(PANEL, targets=tuple(range(len(TOWN))), epsilon_per_km=1.0)
    inputs = 3 * len(TOWN) + 1
    monkeypatch.setattr(stack, "MAX_TABLE_ENTRIES", inputs * (10 + 2 + 3))
    with pytest.raises(cv.InputError, match=f"targets = '{len(TOWN)} places': should be at most 10 on a map of"):
        check_plan_size(everywhere)
    with pytest.raises(cv.InputError, match="at most 10 on a map of"):
        next_policy(begin(everywhere))
    found = advise_places(everywhere, 1)
    assert len(found.places) == 10
    assert found.shorter
    assert found.all_senders is None


def test_places_are_advised_for_panels_only() -> None:
    once = replace(PANEL, panel=False, wanted=3)
    with pytest.raises(cv.InputError, match="should be a panel"):
        advise_places(once, 1)


# --- afterwards -----------------------------------------------------------------------------------------------


def test_why_a_panel_covers_less_than_planned_is_said_reason_by_reason() -> None:
    plan = replace(PANEL, users=3000, start=np.outer([0.8, 0.1, 0.1], PRIOR), start_null_share=0.02)
    generator = np.random.default_rng(1)
    cells = generator.choice(len(TOWN), 1500, p=PRIOR)
    cells[generator.random(1500) < 0.2] = -1
    grades = np.where(cells < 0, 0, generator.choice(3, 1500, p=[0.2, 0.2, 0.6]))
    state = after(plan, cells, grades)
    request = SelectionRequest(BUSY, numbers=(40, 40))
    found = compare_with_plan(state, request)
    effects = {one.what: one.people for one in found.reasons}
    assert tuple(effects) == REASONS
    assert sum(effects.values()) == pytest.approx(found.estimated.people - found.planned.people)
    assert found.estimated == forecast(state, request).visitors
    assert found.estimated.people < 0.8 * found.planned.people
    assert min(effects, key=lambda what: effects[what]) == "how regular people are"
    answered, outside, regular, *_ = found.reasons
    assert (answered.planned, answered.found) == (3000, 1500)
    assert outside.found == state.null_share
    assert regular.planned == pytest.approx(0.8)
    assert regular.found == pytest.approx(float(state.grade_shares[0]))
    assert found.estimated_coverage == pytest.approx(found.estimated.people / 80)


def test_in_the_clear_form_people_outside_are_counted() -> None:
    clear: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None}
    plan = Plan(TOWN, BUSY, log(4), 500, wanted=20, rounds=1, start=PRIOR, **clear)
    policy = next_policy(begin(plan))
    generator = np.random.default_rng(1)
    sent = cv.draw_many(policy, generator.choice(len(TOWN), 200, p=PRIOR), cv.certify(policy), generator)
    state = advance(advance(begin(plan), RoundOpened(policy)), RoundClosed(count_symbols(policy, sent, nulls=300)))
    found = compare_with_plan(state)
    by_what = {one.what: one for one in found.reasons}
    assert by_what["people who answered"].people == 0
    assert (by_what["people outside"].planned, by_what["people outside"].found) == (0, 0.6)
    assert by_what["people outside"].people < 0
    assert by_what["how regular people are"].planned is None
    assert by_what["how regular people are"].people == 0


def test_nothing_is_compared_before_the_first_report() -> None:
    with pytest.raises(cv.InputError, match="closed round with reports"):
        compare_with_plan(begin(PANEL), SelectionRequest(BUSY, 5))
