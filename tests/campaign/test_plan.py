"""What an operator may ask for, and what the answer is where it cannot be."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

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
