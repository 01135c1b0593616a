"""What an operator may ask for, and what the answer is where it cannot be."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import Plan
from tests.town import square_town

TOWN = square_town(12)


def plan_of(**changes: Any) -> Plan:
    given: dict[str, Any] = {"targets": (5, 14, 20), "epsilon_per_km": log(4), "users": 60, "rounds": 3, **changes}
    return Plan(TOWN, **given)


def test_numbers_for_targets_add_up_to_the_people_wanted() -> None:
    assert plan_of(wanted=6).cover == "any"
    each = plan_of(numbers=(4, 4, 4))
    assert (each.cover, each.wanted) == ("each", 12)
    own = plan_of(numbers=[3, 5, 2])
    assert (own.cover, own.wanted, own.numbers) == ("numbers", 10, (3, 5, 2))
    assert replace(own, seed="7").numbers == (3, 5, 2)


def test_targets_have_names_and_are_counted_from_one() -> None:
    named = plan_of(wanted=6, target_names=("Library", "Station", "Zoo"))
    assert [named.place_name(target) for target in range(3)] == ["1 (Library)", "2 (Station)", "3 (Zoo)"]
    assert plan_of(wanted=6).place_name(2) == "3"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"numbers": (3, 5, 2, 1)}, "numbers = '4 numbers': should have one number for each of the 3 targets"),
        ({"numbers": (3, 5)}, "numbers = '2 numbers': should have one number for each of the 3 targets"),
        ({"numbers": (3, 61, 2)}, r"numbers\[1\] = 61: should be at most the number of users, 60"),
        ({"numbers": (30, 30, 30)}, "numbers = '90 people in all': should add up to at most the number of users, 60"),
        ({"numbers": (3, 0, 2)}, r"numbers\[1\] = 0: should be a whole number, at least 1"),
        ({"numbers": (3, -2, 2)}, r"numbers\[1\] = -2: should be a whole number"),
        ({"numbers": (3, 1.5, 2)}, r"numbers\[1\] = 1.5: should be a whole number"),
        ({"numbers": (3, 5, 2), "wanted": 6}, r"wanted = 6: should be left out .*\(10 in all\)"),
        ({}, "wanted = 0: should be a whole number, at least 1"),
        ({"numbers": (3, 5, 2), "algorithm": "algorithm-2"}, "numbers = .*should be left out with algorithm-2"),
        ({"wanted": 6, "target_names": ("a", "b")}, "target_names = '2 names': should have one name for each of 3"),
        ({"wanted": 6, "target_names": ("a", " ", "c")}, "target_names = ' ': should be the name of a target"),
    ],
)
def test_numbers_and_names_that_do_not_fit_are_refused_by_their_field(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(cv.InputError, match=said):
        plan_of(**changes)


def test_a_hundred_targets_can_have_numbers() -> None:
    many = plan_of(targets=tuple(range(100)), users=1000, numbers=(2,) * 100)
    assert (many.cover, many.wanted) == ("each", 200)


PANEL = "should be left out for a panel; each selection says how many people it wants, and where"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"panel": True, "wanted": 6}, f"wanted = 6: {PANEL}"),
        ({"panel": True, "numbers": (3, 5, 2)}, f"numbers = (3, 5, 2): {PANEL}"),
        (
            {"panel": True, "algorithm": "algorithm-2"},
            "algorithm = 'algorithm-2': should be crowdveil for a panel",
        ),
        (
            {"numbers": (3, 5, 2), "algorithm": "algorithm-2"},
            "numbers = (3, 5, 2): should be left out with algorithm-2, which selects people for any target; give "
            "`wanted` instead",
        ),
        ({"numbers": (3, 61, 2)}, "numbers[1] = 61: should be at most the number of users, 60"),
        (
            {"numbers": (30, 29, 2)},
            "numbers = '61 people in all': should add up to at most the number of users, 60; nobody is selected twice",
        ),
        ({"wanted": 61}, "wanted = 61: should be at most the number of users, 60"),
        ({"wanted": 6, "rounds": 61}, "rounds = 61: should be at most the number of users, 60"),
        ({"wanted": 6, "rounds": 0}, "rounds = 0: should be a whole number, at least 1"),
        ({"wanted": 6, "users": 0}, "users = 0: should be a whole number, at least 1"),
        ({"wanted": 6, "confidence": 1.0}, "confidence = 1.0: should lie strictly between 0 and 1"),
        ({"wanted": 6, "confidence": 0.0}, "confidence = 0.0: should lie strictly between 0 and 1"),
        ({"wanted": 6, "algorithm": "mine"}, "algorithm = 'mine': should be one of crowdveil, algorithm-2"),
        ({"wanted": 6, "seed": 7}, "seed = 7: should be text"),
        (
            {"wanted": 6, "null_epsilon": None, "grade_epsilon": 1.5},
            "grade_epsilon = 1.5: should be None in the clear form, like null_epsilon",
        ),
        (
            {"wanted": 6, "grade_chances": (0.5,)},
            "grade_chances = (0.5,): should be 2 to 8 chances, one for each grade",
        ),
        (
            {"wanted": 6, "grade_chances": (0.1,) * 9},
            f"grade_chances = {(0.1,) * 9}: should be 2 to 8 chances, one for each grade",
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_these_words(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(cv.InputError) as refused:
        plan_of(**changes)
    assert str(refused.value) == said


def test_what_just_fits_is_planned() -> None:
    assert plan_of(wanted=60).wanted == 60
    assert plan_of(numbers=(58, 1, 1)).wanted == 60
    assert plan_of(wanted=6, rounds=60).round_users() == [1] * 60
    one = plan_of(targets=(5,), numbers=(60,), rounds=1)
    assert (one.numbers, one.cover) == ((60,), "each")
    assert plan_of(wanted=6, grade_chances=(0.1,) * 8).grades == 8
    assert plan_of(wanted=6, grade_chances=(0.1,) * 2).grades == 2


def test_a_plan_says_what_its_campaign_is_asked_and_a_panel_is_given_it() -> None:
    plan = plan_of(numbers=(3, 5, 2), target_names=["Library", "Station", "Zoo"])
    assert plan.target_names == ("Library", "Station", "Zoo")
    request = plan.request
    assert (request.targets, request.wanted, request.numbers) == ((5, 14, 20), 10, (3, 5, 2))
    assert request.target_names == ("Library", "Station", "Zoo")
    panel = plan_of(panel=True, rounds=100)
    assert (panel.wanted, panel.numbers, panel.round_users()) == (0, None, [60] * 100)
    with pytest.raises(cv.InputError) as refused:
        _ = panel.request
    assert str(refused.value) == "request = None: should say what is asked of the panel: places, and how many people"


def test_a_panel_may_be_over_all_cells_and_a_campaign_over_all_but_one() -> None:
    cells = tuple(range(len(TOWN)))
    assert plan_of(targets=cells, panel=True).targets == cells
    with pytest.raises(cv.InputError, match="targets"):
        plan_of(targets=cells, wanted=6)
    assert plan_of(targets=cells[1:], wanted=6).targets == cells[1:]


def test_a_plan_keeps_to_what_it_was_given() -> None:
    assert plan_of(wanted=6, start_null_share=0.25).start_null_share == 0.25
    start = np.full((3, len(TOWN)), 2.0)
    with pytest.raises(cv.InputError, match=r"sum of prior = 864\.0: should be 1"):
        plan_of(wanted=6, start=start)
    kept = plan_of(wanted=6, start=start / 864).start
    assert kept is not None
    assert kept.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="read-only"):
        kept[0, 0] = 1.0
    clear = plan_of(wanted=6, null_epsilon=None, grade_epsilon=None, grade_chances=(0.7, 0.1))
    assert (clear.grade_chances, clear.grades) == ((1.0,), 1)
    strict = plan_of(wanted=6, epsilon_per_km=np.float64(1), null_epsilon=2, grade_epsilon=3)
    assert (strict.epsilon_per_km, strict.null_epsilon, strict.grade_epsilon) == (1.0, 2.0, 3.0)
    assert {type(one) for one in (strict.epsilon_per_km, strict.null_epsilon, strict.grade_epsilon)} == {float}
