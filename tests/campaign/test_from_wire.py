"""An operator's message becomes a plan or a request, field by field, and what was found becomes a message."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import Expected, Forecast, PlaceForecast, Selection, SelectionRequest
from crowdveil.campaign.from_wire import (
    NO_SEED,
    expectation_message,
    plan_from_wire,
    request_from_wire,
    round_seats,
    selection_message,
)
from crowdveil.policy.grades import chances_of_grades
from crowdveil.wire import (
    PROTOCOL,
    AuditSelection,
    CampaignPlan,
    Expectation,
    ExpectedPeople,
    ExpectedPlace,
    PanelRequest,
)
from tests.town import people_around, square_town

AREA = square_town(4)
SEED = "5eed" * 16
PRIOR = people_around(AREA, 1)


def message(**changes: Any) -> CampaignPlan:
    given: dict[str, Any] = {
        "protocol": PROTOCOL,
        "name": "Noise",
        "offer": "A coffee",
        "area": AREA.describe(),
        "targets": (5, 14),
        "epsilon_per_km": 1.25,
        "users": 130,
        "wanted": 9,
        **changes,
    }
    return CampaignPlan.model_validate({key: value for key, value in given.items() if value is not ...})


def test_every_field_of_a_plan_is_the_messages() -> None:
    told = message(
        target_names=("Market", "Zoo"),
        rounds=4,
        confidence=0.9,
        algorithm="algorithm-2",
        delta=0.6,
        lower_deltas=(0.3, 0.1),
        null_epsilon=2.5,
        grade_epsilon=1.5,
    )
    plan = plan_from_wire(told, SEED)
    assert plan.area == AREA
    assert (plan.targets, plan.target_names) == ((5, 14), ("Market", "Zoo"))
    assert (plan.epsilon_per_km, plan.null_epsilon, plan.grade_epsilon) == (1.25, 2.5, 1.5)
    assert (plan.users, plan.wanted, plan.numbers, plan.rounds) == (130, 9, None, 4)
    assert (plan.confidence, plan.algorithm, plan.seed, plan.panel) == (0.9, "algorithm-2", SEED, False)
    assert plan.grade_chances == chances_of_grades((0.6, 0.3, 0.1))
    assert plan.start is None
    each = plan_from_wire(message(wanted=None, numbers=(4, 3)), SEED)
    assert (each.wanted, each.numbers) == (7, (4, 3))
    panel = plan_from_wire(message(wanted=None, panel=True, rounds=1), NO_SEED)
    assert (panel.panel, panel.wanted, panel.numbers, panel.seed) == (True, 0, None, "0" * 64)


def test_an_area_that_was_made_before_is_taken_as_it_is() -> None:
    assert plan_from_wire(message(), SEED, AREA).area is AREA


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"round_size": 27, "rounds": 5},
            "round_size = 27: times 5 rounds should be at most the number of users, 130",
        ),
        (
            {"epsilon_per_km": 1000.5},
            "epsilon_per_km = 1000.5: should be at most 1000; devices usually accept ln 4 = 1.386",
        ),
        (
            {"prior": (0.5, 0.5)},
            "prior = '2 entries': should have 16 entries, one for each cell, or 48, regular visitors first",
        ),
        ({"prior": (0.5, 0.5), "null_epsilon": None, "grade_epsilon": None}, "prior = '2 numbers': should have one"),
    ],
)
def test_what_cannot_be_is_refused_by_its_field(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(cv.InputError) as refused:
        plan_from_wire(message(**changes), SEED)
    assert str(refused.value).startswith(said)


def test_what_just_fits_is_a_plan() -> None:
    assert plan_from_wire(message(round_size=26, rounds=5), SEED).rounds == 5
    assert plan_from_wire(message(epsilon_per_km=1000.0), SEED).epsilon_per_km == 1000
    panel = message(wanted=None, panel=True, rounds=2, renewal_s=9 * 10**6, round_size=100)  # everyone answers again
    assert plan_from_wire(panel, SEED).round_users() == [130, 130]


def test_shares_of_cells_alone_are_divided_evenly_over_the_grades() -> None:
    start = plan_from_wire(message(prior=tuple(PRIOR.tolist())), SEED).start
    assert start is not None
    assert start == pytest.approx(np.stack([PRIOR / 3] * 3))


def test_joint_shares_begin_with_the_regular_visitors() -> None:
    joint = np.outer([0.5, 0.3, 0.2], PRIOR)
    start = plan_from_wire(message(prior=tuple(joint.ravel().tolist())), SEED).start
    assert start is not None
    assert start == pytest.approx(joint)
    clear = {"null_epsilon": None, "grade_epsilon": None}
    start = plan_from_wire(message(prior=tuple(PRIOR.tolist()), **clear), SEED).start
    assert start is not None
    assert start == pytest.approx(PRIOR)


def test_a_round_has_its_share_of_the_users_or_the_size_that_was_asked_for() -> None:
    usual = message(rounds=4)
    assert [round_seats(usual, plan_from_wire(usual, SEED), number) for number in range(4)] == [33, 33, 32, 32]
    small = message(rounds=4, round_size=20)
    assert [round_seats(small, plan_from_wire(small, SEED), number) for number in range(4)] == [20] * 4


def test_every_field_of_a_request_is_the_messages() -> None:
    asked = PanelRequest(
        protocol=PROTOCOL,
        targets=(5, 14),
        target_names=("Market", "Zoo"),
        numbers=(4, 3),
        at_most=2,
        within_s=3600,
        other_cells=True,
    )
    expected = SelectionRequest((5, 14), 7, (4, 3), ("Market", "Zoo"), 2, 3600, True)
    assert request_from_wire(asked) == expected
    assert request_from_wire(PanelRequest(protocol=PROTOCOL, targets=(5,), wanted=6)) == SelectionRequest((5,), 6)


def test_every_field_of_a_selection_is_in_its_message() -> None:
    found = Selection(
        np.array([7, 3]), np.array([0.5, 0.25]), np.array([1, 0]), np.array([True, False]), missing=(0, 2)
    )
    asked = PanelRequest(protocol=PROTOCOL, targets=(5, 14), numbers=(2, 2))
    assert selection_message(found, request=asked, made=12, rounds=1, seed=SEED) == AuditSelection(
        participants=(7, 3),
        targets=(1, 0),
        chances=(0.5, 0.25),
        chosen=("symbol", "filled"),
        missing=(0, 2),
        request=asked,
        made=12,
        rounds=1,
        seed=SEED,
    )


def test_every_field_of_a_forecast_is_in_its_message() -> None:
    market = PlaceForecast(4, 3.5, 3.0, Expected(2.5, 1, 4), 30.5)
    zoo = PlaceForecast(3, 2.5, 2.0, Expected(1.5, 0, 3), 20.5)
    found = Forecast((market, zoo), 6.0, Expected(4.0, 2, 6))
    request = SelectionRequest((5, 14), numbers=(4, 3))
    assert expectation_message(request, found) == Expectation(
        cover="numbers",
        numbers=(4, 3),
        selected=6.0,
        visitors=ExpectedPeople(people=4.0, low=2, high=6),
        places=(
            ExpectedPlace(
                wanted=4,
                selected=3.5,
                by_symbol=3.0,
                visitors=ExpectedPeople(people=2.5, low=1, high=4),
                possible=30.5,
            ),
            ExpectedPlace(
                wanted=3,
                selected=2.5,
                by_symbol=2.0,
                visitors=ExpectedPeople(people=1.5, low=0, high=3),
                possible=20.5,
            ),
        ),
    )
    any_target = replace(found, places=(replace(market, wanted=None),))
    told = expectation_message(SelectionRequest((5,), 9), any_target)
    assert (told.cover, told.numbers, told.places[0].wanted) == ("any", None, None)


def test_the_largest_epsilon_is_far_above_anything_private() -> None:
    assert plan_from_wire(message(epsilon_per_km=999.0), SEED).epsilon_per_km > 100 * log(4)
