"""How many people send the symbol of each place, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import Plan, RoundClosed, RoundOpened, State, advance, begin, next_policy, reporting_share
from crowdveil.campaign.capacity import PlacesAdvice, advise_places, place_capacities
from crowdveil.prior import Round, place_chances
from tests.town import people_around, square_town

TOWN = square_town(4)
PRIOR = people_around(TOWN, 3)
PLACES = (5, 14)
JOINT = np.outer([0.5, 0.2, 0.3], PRIOR)
CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None}


def closed_with(state: State, first: tuple[int, int], others: int, nulls: int = 0) -> State:
    """The state after a round in which so many sent the symbols of both places, and so many the last symbol."""
    policy = next_policy(state)
    counts = np.zeros(policy.symbol_count, dtype=np.int64)
    counts[:2], counts[-1] = first, others
    return advance(advance(state, RoundOpened(policy)), RoundClosed(Round(policy, counts, nulls)))


def test_before_the_first_report_senders_and_visitors_are_those_to_be_expected() -> None:
    plan = Plan(TOWN, PLACES, log(4), 600, rounds=1, panel=True, start=JOINT, start_null_share=0.1, start_trust=1.0)
    policy = next_policy(begin(plan))
    found = place_capacities(advance(begin(plan), RoundOpened(policy)))
    table = policy.table()
    for position, (place, one) in enumerate(zip(PLACES, found, strict=True)):
        sent = [
            0.9 * JOINT[grade, cell] * table[grade * 16 + cell, position] for grade in range(3) for cell in range(16)
        ]
        senders = 600 * (sum(sent) + 0.1 * table[-1, position])
        come = sum(
            chance * 0.9 * JOINT[grade, place] * table[grade * 16 + place, position]
            for grade, chance in enumerate(plan.grade_chances)
        )
        assert one.place == place
        assert one.senders == pytest.approx(senders)
        assert one.visitors == pytest.approx(600 * come, rel=1e-4)


def test_in_the_clear_reports_of_all_rounds_count_and_as_many_more_as_have_a_place_to_report() -> None:
    plan = Plan(TOWN, PLACES, log(4), 400, numbers=(9, 7), rounds=3, **CLEAR)
    state = closed_with(closed_with(begin(plan), (5, 2), 23, nulls=70), (4, 1), 25, nulls=70)
    assert reporting_share(state) == 60 / 200
    for one, people in zip(place_capacities(state), (9, 3), strict=True):
        assert one.senders == people
    policy = next_policy(state)
    opened = advance(state, RoundOpened(policy))
    shares = state.prior @ policy.table()
    expected = [9 + 200 * 0.3 * shares[0], 3 + 200 * 0.3 * shares[1]]
    found = place_capacities(opened)
    assert [one.senders for one in found] == pytest.approx(expected)
    chances = [place_chances(state.prior, one, PLACES) for one in (*state.policies, policy)]
    sent = [(5, 4, 200 * 0.3 * shares[0]), (2, 1, 200 * 0.3 * shares[1])]
    for position, one in enumerate(found):
        come = sum(people * chance[position, position] for people, chance in zip(sent[position], chances, strict=True))
        assert one.visitors == pytest.approx(come, rel=1e-4)


def test_where_any_place_will_do_all_places_share_the_senders() -> None:
    plan = Plan(TOWN, PLACES, log(4), 400, wanted=9, rounds=1, **CLEAR)
    state = begin(plan)
    policy = next_policy(state)
    counts = np.zeros(policy.symbol_count, dtype=np.int64)
    counts[0], counts[-1] = 7, 33
    found = place_capacities(advance(advance(state, RoundOpened(policy)), RoundClosed(Round(policy, counts))))
    assert [(one.place, one.senders) for one in found] == [(5, 7.0), (14, 7.0)]


def senders(plan: Plan, places: tuple[int, ...]) -> tuple[float, float]:
    """The senders of the place that has the fewest, and the least capacity, of a panel over some places."""
    policy = next_policy(begin(replace(plan, targets=places, target_names=None)))
    state = begin(plan)
    shares = policy.input_prior(state.prior, state.null_share) @ policy.table()
    return plan.users * float(shares[: len(places)].min()), float(policy.provenance["least_capacity"])


def test_the_longest_list_of_busiest_places_is_advised_in_which_each_has_enough_senders() -> None:
    plan = Plan(
        TOWN,
        tuple(range(15)),
        log(4),
        600,
        rounds=1,
        panel=True,
        start=JOINT,
        start_null_share=0.1,
        null_epsilon=log(3),
        grade_epsilon=log(2),
        target_names=tuple(f"place {number}" for number in range(15)),
    )
    busiest = sorted(range(15), key=lambda cell: -PRIOR[cell])
    lists = [tuple(busiest[:length]) for length in (15, 7, 3, 1)]
    found = [senders(plan, places) for places in lists]
    for (people, capacity), places in zip(found, lists, strict=True):
        if people == max(one for one, _ in found[: lists.index(places) + 1]):
            expected = PlacesAdvice(places, people, capacity, *found[0], None)
            assert advise_places(plan, int(people)) == expected
            assert expected.shorter == (len(places) < 15)
    best = found.index(max(found))
    most = advise_places(plan, 600)
    assert replace(most, advice=None) == PlacesAdvice(lists[best], *found[best], *found[0], None)
    assert most.advice is not None
    assert f"have {max(found)[0]:.1f} senders, and 600 are wanted" in most.advice
    assert all(max(found) >= one for one in found)


@pytest.mark.parametrize("wanted", [0, 2.5, True])
def test_how_many_senders_a_place_should_have_is_a_whole_number(wanted: Any) -> None:
    with pytest.raises(cv.InputError, match=f"wanted = {wanted}: should be a whole number, at least 1"):
        advise_places(Plan(TOWN, PLACES, log(4), 600, rounds=1, panel=True), wanted)
