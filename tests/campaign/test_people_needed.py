"""How many people have to be asked, found again by asking every number."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import (
    LikelyRange,
    PeopleNeeded,
    Plan,
    Prediction,
    SelectionRequest,
    possible_campaigns,
    predict,
)
from crowdveil.campaign.knowledge import Knowledge
from crowdveil.campaign.people_needed import _advice, _sizes, people_needed
from tests.town import people_around, square_town

TOWN = square_town(4)
PRIOR = people_around(TOWN, 3)
BUSY = tuple(int(cell) for cell in np.argsort(-PRIOR)[:2])
PANEL = Plan(TOWN, BUSY, log(4), 600, rounds=1, panel=True)
KNOWN = Knowledge(PRIOR, regular_share=0.5, outside_share=0.1, roaming=False)
CROWDS = 6


def asking(people: int, coming: int, each: int, plan: Plan = PANEL) -> tuple[Prediction, int]:
    """What comes of asking so many people, of whom so many are selected for each one who should come."""
    selected = min(coming * each, people // len(plan.targets))
    campaigns = possible_campaigns(replace(plan, users=people), KNOWN, crowds=CROWDS)
    request = SelectionRequest(plan.targets, numbers=(selected,) * len(plan.targets))
    return predict(campaigns, request, at_least=(coming,) * len(plan.targets)), selected


@pytest.mark.parametrize(
    ("coming", "each", "most", "chances"),
    [(12, 3, 700, (0.003, 0.05, 0.2, 0.25, 0.6, 0.8, 0.83, 0.9)), (3, 4, 400, (0.6, 0.87)), (40, 30, 151, (0.7,))],
)
def test_the_least_number_of_people_that_is_enough_is_found(
    coming: int, each: int, most: int, chances: tuple[float, ...]
) -> None:
    tried = {people: asking(people, coming, each) for people in _sizes(50, most)}
    for chance in chances:
        enough = [people for people, (told, _) in tried.items() if min(told.enough) >= chance]
        told, selected = tried[enough[0] if enough else most]
        worst = int(np.argmin(told.enough))
        (found,) = people_needed(
            PANEL, coming, KNOWN, chance=chance, selected_for_one=each, max_people=most, crowds=CROWDS
        )
        assert (found.advice is None) == bool(enough)
        assert (found.limit is None) == bool(enough)
        assert replace(found, advice=None, limit=None) == PeopleNeeded(
            log(4), enough[0] if enough else None, selected, told.enough[worst], worst, told.coverage, None, None, True
        )


def test_which_loss_devices_accept_by_default_is_said() -> None:
    given: dict[str, Any] = {"max_people": 100, "crowds": 2}
    options = people_needed(PANEL, 3, KNOWN, epsilons_per_km=[log(2), log(4), log(4.01)], **given)
    assert [one.within_defaults for one in options] == [True, True, False]


def test_a_chance_that_is_just_reached_is_enough() -> None:
    given: dict[str, Any] = {"max_people": 300, "crowds": CROWDS}
    (found,) = people_needed(PANEL, 3, KNOWN, chance=0.7, **given)
    (again,) = people_needed(PANEL, 3, KNOWN, chance=found.chance, **given)
    assert again == found


def test_at_least_fifty_people_or_one_for_each_place_are_asked() -> None:
    (found,) = people_needed(PANEL, 1, KNOWN, chance=0.01, max_people=200, crowds=CROWDS)
    assert found.people == 50
    town = square_town(8)
    everywhere = Plan(town, tuple(range(60)), log(4), 600, rounds=1, panel=True)
    (found,) = people_needed(everywhere, 1, chance=1e-6, max_people=200, crowds=2)
    assert (found.people, found.selected) == (60, 1)


def test_at_most_a_hundred_thousand_people_are_asked_and_four_selected_for_each_who_should_come() -> None:
    far = Knowledge(np.eye(16)[15] + 1e-9, regular_share=0.01, outside_share=0.9, roaming=False)
    (found,) = people_needed(replace(PANEL, targets=(0,)), 3000, far, crowds=3)
    assert found.people is None
    assert found.advice is not None
    assert found.advice.startswith(
        "Place 1 cannot count on 3,000 people, even if 100,000 are asked and 12,000 selected for it: only about "
    )
    defaults = {name: one.default for name, one in signature(people_needed).parameters.items()}
    assert (defaults["chance"], defaults["crowds"]) == (0.8, 40)


@pytest.mark.parametrize("chance", [0.0, 1.0, -0.5, float("nan")])
def test_a_chance_that_is_none_is_refused(chance: float) -> None:
    with pytest.raises(cv.InputError, match=f"chance = {chance}: should lie strictly between 0 and 1"):
        people_needed(PANEL, 3, chance=chance)


def test_numbers_of_people_are_round_and_a_quarter_larger_each_time() -> None:
    # 50 · 1.25ᵏ: 50, 62.5, 78.1, 97.7, 122.1, 152.6, 190.7, 238.4
    assert _sizes(50, 200) == [50, 63, 79, 98, 130, 160, 200]
    assert _sizes(50, 201) == [50, 63, 79, 98, 130, 160, 200, 201]
    assert _sizes(800, 1300) == [800, 1000, 1300]
    assert _sizes(50, 50) == [50]


# --- advice -----------------------------------------------------------------------------------------------------


def told(possible: float, low: float, high: float) -> Prediction:
    one = LikelyRange(low, (low + high) / 2, high, (low + high) / 2)
    there = LikelyRange(0.0, possible, 2 * possible, possible)
    return Prediction(one, one, one, (one, one), (one, there), (0.9, 0.1))


NAMED = replace(PANEL, target_names=("Market", "Zoo"))


def test_where_too_few_come_at_all_more_people_or_another_place_are_advised() -> None:
    start = (
        "Place 2 (Zoo) cannot count on 2,500 people, even if 30,000 are asked and 10,000 selected for it: only about"
    )
    # 30,000 · 2,500 / 1,999.6 = 37,507 people have 2,500 who come there
    assert _advice(NAMED, told(1999.6, 2, 8), 1, 2500, 30_000, 10_000, 4) == (
        "asked",
        f"{start} 2,000 of them come there at all. Ask more people, 38,000 or more. Also larger cells, another place "
        "or fewer people at this place would help; a larger ε would not.",
    )
    for nobody in (0.0, 749.0):  # 30,000 · 2,500 / 749 = 100,134, more than can be asked
        assert _advice(NAMED, told(nobody, 0, 0), 1, 2500, 30_000, 10_000, 4) == (
            "place",
            f"{start} {nobody:,.0f} of them come there at all. Larger cells, another place or fewer people at this "
            "place would help; a larger ε would not.",
        )


@pytest.mark.parametrize("possible", [2500.0, 4000.0])
@pytest.mark.parametrize(
    ("selected", "limit", "advice"),
    [
        (10_000, "selected", "At most 4 are selected for each one who should come; allow more."),
        (9_999, "asked", "Ask more people: 20,000 are needed to select 4 for each."),
    ],
)
def test_where_enough_come_but_few_of_those_selected_the_limit_is_named(
    possible: float, selected: int, limit: str, advice: str
) -> None:
    assert _advice(NAMED, told(possible, 1200, 1800), 1, 2500, 15_000, selected, 4) == (
        limit,
        f"Place 2 (Zoo) cannot count on 2,500 people, even if 15,000 are asked and {selected:,} selected for it: about "
        f"{possible:,.0f} of them come there, and 1,200 to 1,800 of those who are selected. {advice} A larger ε or "
        "larger cells would help too, and so would knowing more of where people are.",
    )
