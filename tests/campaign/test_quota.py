"""How large a share of the next round should select, by hand."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import Plan, State, begin, next_policy, quota, quotas, reporting_share
from crowdveil.campaign.quota import people_to_come
from crowdveil.prior import Round
from tests.town import square_town

TOWN = square_town(4)
CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None}
EACH = Plan(TOWN, (5, 14), log(4), 100, numbers=(6, 4), rounds=4, **CLEAR)


def sent(plan: Plan, *rounds: tuple[int, int, int], nulls: int = 0) -> State:
    """The state after rounds in which so many sent the symbols of both places, and so many another."""
    policy = next_policy(begin(plan))
    closed = []
    for first, second, others in rounds:
        counts = np.zeros(policy.symbol_count, dtype=np.int64)
        counts[:3] = first, second, others
        closed.append(Round(policy, counts, nulls))
    return State(plan, begin(plan).prior, tuple(closed), null_share=begin(plan).null_share)


def test_each_place_asks_for_those_who_are_missing_among_those_to_come() -> None:
    assert quotas(begin(EACH)) == pytest.approx((6 / 100, 4 / 100))
    assert quotas(sent(EACH, (1, 2, 22))) == pytest.approx((5 / 75, 4 / 100))  # the second needs 2 of 75
    assert quotas(sent(EACH, (1, 2, 22), (0, 0, 25))) == pytest.approx((5 / 50, 4 / 100))
    assert quotas(sent(EACH, (9, 7, 9))) == pytest.approx((6 / 100, 4 / 100))


def test_of_people_without_a_place_none_are_counted() -> None:
    state = sent(EACH, (1, 2, 7), nulls=10)  # half report: 50 of all, 40 of those to come
    assert reporting_share(state) == 0.5
    assert quotas(state) == pytest.approx((5 / 40, 4 / 50))
    protected = Plan(TOWN, (5, 14), log(4), 100, numbers=(6, 4), rounds=4)
    assert quotas(sent(protected, (1, 2, 17))) == pytest.approx((5 / 80, 4 / 100))


def test_with_a_margin_enough_send_each_symbol_with_the_probability_that_was_named() -> None:
    state = sent(EACH, (1, 2, 22))

    def least(missing: int, to_come: int) -> float:
        return cv.minimum_beta(users=to_come, wanted=missing, confidence=0.9)

    assert quotas(state, 0.9) == pytest.approx((least(5, 75), least(2, 75)))
    almost = sent(EACH, (5, 3, 17))
    assert quotas(almost, 0.9) == pytest.approx((6 / 100, max(4 / 100, least(1, 75))))
    assert least(1, 30) > 6 / 100
    late = sent(EACH, (3, 2, 20), (2, 1, 47))  # one is missing at each, of 25 to come
    assert quotas(late, 0.9) == pytest.approx((least(1, 25), least(1, 25)))
    enough = sent(EACH, (6, 2, 17), (0, 0, 45))
    assert quotas(enough, 0.9) == pytest.approx((6 / 100, least(2, 30)))


def test_where_all_who_come_are_missing_they_are_all_asked_for_within_half_of_a_round() -> None:
    few = Plan(TOWN, (5, 14), log(4), 8, numbers=(4, 1), rounds=2, **CLEAR)
    state = sent(few, (0, 1, 3))  # four are missing at the first place, and four are to come
    assert quotas(state) == quotas(state, 0.9) == pytest.approx((0.5 / 1.125, 0.5 * 0.125 / 1.125))
    late = sent(few, (0, 0, 6))  # four and one are missing, and two are to come
    assert quotas(late) == pytest.approx((0.4, 0.1))
    one = 1 - 0.1**0.5  # of two people one sends the second symbol with a probability of 0.9
    assert quotas(late, 0.9) == pytest.approx((0.5 * 2 / (2 + one), 0.5 * one / (2 + one)))


def test_at_most_half_of_a_round_is_selected() -> None:
    plan = Plan(TOWN, (5, 14), log(4), 10, wanted=8, rounds=2, **CLEAR)
    assert quota(begin(plan)) == 0.5
    assert sum(quotas(begin(Plan(TOWN, (5, 14), log(4), 10, numbers=(6, 2), rounds=2, **CLEAR)))) == 0.5


def test_nobody_and_everybody_are_still_to_come() -> None:
    assert people_to_come(begin(EACH)) == 100
    assert people_to_come(sent(EACH, (1, 2, 22), nulls=10)) == 65
    assert people_to_come(sent(EACH, (1, 2, 122))) == 0
    assert quotas(sent(EACH, (1, 2, 122))) == pytest.approx((0.5 * 5 / 7, 0.5 * 2 / 7))  # as if one were to come
    panel = Plan(TOWN, (5, 14), log(4), 100, rounds=2, panel=True)
    assert people_to_come(begin(panel)) == 100
    assert people_to_come(sent(panel, (0, 0, 0))) == 100
    assert people_to_come(sent(panel, (1, 2, 3))) == 0


def test_in_the_protected_form_those_inside_have_a_place_to_report() -> None:
    protected = Plan(TOWN, (5, 14), log(4), 100, wanted=6, rounds=4, start_null_share=0.3)
    assert reporting_share(begin(protected)) == 0.7
