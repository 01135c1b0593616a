"""What is said of places that cannot have their people, word by word."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

from crowdveil.campaign import Expected, Forecast, PlaceForecast, Plan
from crowdveil.campaign.advice import advise
from tests.town import square_town

TOWN = square_town(4)
CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None}


def said(plan: Plan, *places: tuple[float, float]) -> tuple[str, ...]:
    """What is said where so many people are possible at each place, and so many of the selected are expected."""
    wanted = plan.numbers or (None,) * len(places)
    told = tuple(
        PlaceForecast(number, float(number or 1), 0.0, Expected(visitors, 0, 9), possible)
        for number, (possible, visitors) in zip(wanted, places, strict=True)
    )
    return advise(plan, Forecast(told, 10.0, Expected(1.0, 0, 9)))


def plan_of(users: int, *numbers: int, **given: Any) -> Plan:
    targets = tuple(range(5, 5 + len(numbers)))
    return Plan(TOWN, targets, log(4), users, numbers=numbers, rounds=1, **CLEAR, **given)


def anywhere(users: int, targets: int) -> Plan:
    return Plan(TOWN, tuple(range(5, 5 + targets)), log(4), users, wanted=10, rounds=1, **CLEAR)


def test_of_a_place_where_almost_nobody_comes_it_is_said_how_many_people_would_have_to_be_invited() -> None:
    plan = plan_of(3000, 4, 4, target_names=("Market", "Zoo"))
    assert said(plan, (400.0, 3.0), (0.35, 0.01)) == (
        # 3,000 · 4 / 0.35 = 34,285.7
        "Place 2 (Zoo): almost nobody of the 3,000 people comes there (0.35 expected in all). Larger cells, or another "
        "place, would help, or about 35,000 people invited.",
    )
    # Where people are wanted at any target, one is enough: 3,000 / 0.35 = 8,571.4
    (told,) = said(anywhere(3000, 2), (400.0, 3.0), (0.35, 0.01))
    assert told.endswith("would help, or about 8,600 people invited.")


@pytest.mark.parametrize(
    ("possible", "ending"),
    [
        (0.125, "would help, or about 200,000 people invited."),  # 200 · 125 / 0.125, a thousand times as many
        (0.1249, "would help."),  # 200,160 people, whom nobody would invite
        (0.0, "would help."),
    ],
)
def test_no_number_of_people_is_said_that_nobody_would_invite(possible: float, ending: str) -> None:
    (told,) = said(plan_of(200, 125), (possible, 0.0))
    assert told.startswith("Place 1: almost nobody of the 200 people comes there (")
    assert told.endswith(ending)


def test_of_a_place_with_fewer_people_than_wanted_it_is_said_what_it_can_have() -> None:
    assert said(plan_of(300, 9), (3.5, 1.24)) == (
        # 300 · 9 / 3.5 = 771.4
        "Place 1 cannot have its 9 people: of all 300 people only 3.5 are expected there, and 1.2 of those who are "
        "selected. Larger cells, or a smaller number, would help, or about 780 people invited.",
    )
    assert said(plan_of(90, 1), (0.95, 0.6)) == (
        # 90 / 0.95 = 94.7
        "Place 1 cannot have its 1 person: of all 90 people only 0.95 are expected there, and 0.6 of those who are "
        "selected. Larger cells, or a smaller number, would help, or about 95 people invited.",
    )
    (told,) = said(plan_of(20_000, 2500), (1234.4, 10.6))
    assert "cannot have its 2,500 people: of all 20,000 people only 1,234 are expected there, and 11 of" in told
    assert said(plan_of(300, 9), (9.0, 5.0)) == ()


def test_a_place_that_gets_almost_nobody_of_the_selected_is_pointed_out() -> None:
    anyone = said(anywhere(300, 2), (20.0, 0.49), (12.4, 4.0))
    assert anyone == (
        "Place 1 gets almost nobody: 0.49 of those who are selected are expected there, of 20 in all. A number of "
        "people for each place, a larger ε or larger cells would help.",
    )
    more = "More people invited, a larger ε or larger cells would help."
    alone = said(anywhere(300, 1), (20.0, 0.49))
    assert alone == (
        f"Place 1 gets almost nobody: 0.49 of those who are selected are expected there, of 20 in all. {more}",
    )
    several = said(plan_of(300, 20, 20), (20.0, 1.9), (25.0, 2.0))
    assert several == (
        f"Place 1 gets almost nobody: 1.9 of those who are selected are expected there, of 20 in all. {more}",
    )


def test_half_a_person_or_a_tenth_of_those_wanted_is_not_almost_nobody() -> None:
    assert said(anywhere(300, 2), (0.5, 0.5), (12.0, 0.5)) == ()
    assert said(plan_of(300, 20, 2), (20.0, 2.0), (2.0, 0.5)) == ()
    assert len(said(anywhere(300, 2), (0.49, 0.4), (12.0, 0.49))) == 2
    assert len(said(plan_of(300, 20, 2), (20.0, 1.95), (2.0, 0.45))) == 2


@pytest.mark.parametrize(
    ("users", "wanted", "possible", "rounded"),
    [(4, 3, 2.0, "6"), (90, 1, 0.95, "95"), (99, 2, 1.98, "100"), (100, 2, 1.98, "110"), (40_000, 9, 7.0, "52,000")],
)
def test_numbers_of_people_to_invite_are_rounded_up_to_two_digits(
    users: int, wanted: int, possible: float, rounded: str
) -> None:
    (told,) = said(plan_of(users, wanted), (possible, possible))
    assert told.endswith(f"or about {rounded} people invited.")
