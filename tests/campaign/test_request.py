"""What may be asked, and what is said of what may not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import SelectionRequest
from crowdveil.campaign.request import check_count, check_names, name_place


def test_people_are_wanted_at_any_target_or_a_number_at_each() -> None:
    anywhere = SelectionRequest((5, 14), 9)
    assert (anywhere.wanted, anywhere.numbers, anywhere.cover, anywhere.wanted_at) == (9, None, "any", (9,))
    same = SelectionRequest((5, 14), numbers=(4, 4))
    assert (same.wanted, same.numbers, same.cover, same.wanted_at) == (8, (4, 4), "each", (4, 4))
    own = SelectionRequest((5, 14), 7, numbers=[np.int64(4), 3])  # type: ignore[arg-type]
    assert (own.wanted, own.numbers, own.cover, own.wanted_at) == (7, (4, 3), "numbers", (4, 3))
    assert own.numbers is not None
    assert {type(number) for number in own.numbers} == {int}


def test_unless_it_is_said_people_are_chosen_as_often_as_it_comes_and_at_places_of_the_panel() -> None:
    plain = SelectionRequest((5, 14), 9)
    assert (plain.target_names, plain.at_most, plain.within_s, plain.other_cells) == (None, None, None, False)
    fair = SelectionRequest((5,), 9, at_most=1, within_s=1)
    assert (fair.at_most, fair.within_s) == (1, 1)


def test_places_are_counted_from_one_and_named_if_they_have_names() -> None:
    named = SelectionRequest((5, 14), 9, target_names=("Market", "Zoo"))
    assert [named.place_name(target) for target in range(2)] == ["1 (Market)", "2 (Zoo)"]
    assert [name_place(None, target) for target in range(2)] == ["1", "2"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "wanted = 0: should be a whole number, at least 1"),
        ({"wanted": 1.5}, "wanted = 1.5: should be a whole number, at least 1"),
        ({"wanted": True}, "wanted = True: should be a whole number, at least 1"),
        ({"wanted": -1}, "wanted = -1: should be a whole number, at least 1"),
        (
            {"numbers": (4,)},
            "numbers = '1 numbers': should have one number for each of the 2 targets that are named",
        ),
        ({"numbers": (4, 0)}, "numbers[1] = 0: should be a whole number, at least 1"),
        ({"numbers": (2.5, 4)}, "numbers[0] = 2.5: should be a whole number, at least 1"),
        (
            {"numbers": (4, 3), "wanted": 6},
            "wanted = 6: should be left out where `numbers` says how many are wanted at each target (7 in all)",
        ),
        (
            {"wanted": 9, "target_names": ("Market",)},
            "target_names = '1 names': should have one name for each of 2 targets",
        ),
        ({"wanted": 9, "target_names": ("Market", " ")}, "target_names = ' ': should be the name of a target"),
        ({"wanted": 9, "target_names": ("Market", 3)}, "target_names = 3: should be the name of a target"),
        ({"wanted": 9, "at_most": 0}, "at_most = 0: should be a whole number, at least 1"),
        ({"wanted": 9, "at_most": 2, "within_s": 0}, "within_s = 0: should be a whole number, at least 1"),
        ({"wanted": 9, "within_s": 60}, "within_s = 60: applies only with `at_most`"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_its_field(given: dict[str, Any], said: str) -> None:
    with pytest.raises(cv.InputError) as refused:
        SelectionRequest((5, 14), **given)
    assert str(refused.value) == said


def test_whole_numbers_of_any_kind_are_counts() -> None:
    check_count("people", 1)
    check_count("people", np.int64(3))  # type: ignore[arg-type]
    with pytest.raises(cv.InputError, match="people = 0: should be a whole number, at least 1"):
        check_count("people", 0)
    check_names(None, 3)
    check_names(("a", "b"), 2)
