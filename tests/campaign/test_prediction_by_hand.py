"""Predictions, worked out crowd by crowd and symbol by symbol."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.campaign import LikelyRange, Plan, PossibleCampaigns, SelectionRequest, begin, next_policy
from crowdveil.campaign.forecast import at_most
from crowdveil.campaign.knowledge import Knowledge, PossibleCrowd, possible_crowds
from crowdveil.campaign.prediction import _counts, _interval, _mix, possible_campaigns, predict
from crowdveil.campaign.preview import preview_policy
from crowdveil.prior import PriorEstimate, estimates_of_crowds
from tests.town import people_around, square_town

TOWN = square_town(4)
PRIOR = people_around(TOWN, 3)
OTHER = people_around(TOWN, 8)
PLACES = (5, 14)
PANEL = Plan(TOWN, PLACES, log(4), 200, rounds=1, panel=True, grade_chances=(0.7, 0.3, 0.1))
CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None}


# --- which crowds report what -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("places", "request_for", "given", "expected"),
    [
        (2, (14,), None, (0, 1)),
        (2, None, None, (0, 1)),
        (6, (14,), None, tuple(range(6))),
        (8, (14,), None, (14,)),  # a panel over half of its area or more: only those that are asked for are busy
        (9, None, None, tuple(range(9))),
        (9, (14,), (3, 4), (3, 4)),
    ],
)
def test_the_places_that_are_asked_for_are_where_people_report(
    places: int, request_for: tuple[int, ...] | None, given: tuple[int, ...] | None, expected: tuple[int, ...]
) -> None:
    plan = replace(PANEL, targets=tuple(range(places)))
    request = None if request_for is None else SelectionRequest(request_for, 5)
    found = possible_campaigns(plan, None, request, crowds=3, seed=7, places=given)
    drawn = possible_crowds(plan, Knowledge(), expected, 3, np.random.default_rng(7))
    assert [one.prior.tolist() for one in found.crowds] == [one.prior.tolist() for one in drawn]
    assert (found.plan, found.policy) == (plan, next_policy(begin(plan)))


def test_so_many_of_those_invited_answer_under_the_policy_that_is_given_and_teach_from_the_plans_start() -> None:
    plan = replace(PANEL, start=np.outer([0.6, 0.3, 0.1], OTHER), start_trust=1.0)
    policy = next_policy(begin(replace(plan, epsilon_per_km=0.5)))
    found = possible_campaigns(plan, Knowledge(PRIOR, answering=0.372), crowds=3, policy=policy)
    assert found.policy is policy
    assert found.counts.sum(axis=1).tolist() == [74, 74, 74]
    again = estimates_of_crowds(policy, found.counts, plan.start)
    uniform = estimates_of_crowds(policy, found.counts)
    for estimate, same, other in zip(found.estimates, again, uniform, strict=True):
        assert estimate.prior.tolist() == same.prior.tolist() != other.prior.tolist()


def test_a_hundred_crowds_are_drawn_unless_otherwise_said() -> None:
    found = possible_campaigns(replace(PANEL, users=2))
    assert len(found.crowds) == len(found.counts) == len(found.estimates) == 100


def test_crowds_send_symbols_by_the_policy_and_in_the_clear_who_is_outside_sends_none() -> None:
    for plan in (PANEL, replace(PANEL, **CLEAR)):
        found = possible_campaigns(replace(plan, users=100_000), Knowledge(outside_share=0.3), crowds=4)
        table = found.policy.table()
        for crowd, counts in zip(found.crowds, found.counts, strict=True):
            inside = (1 - crowd.null_share) * crowd.prior.ravel()
            shares = inside @ table[: len(inside)]
            if plan.null_epsilon is not None:
                shares = shares + crowd.null_share * table[-1]
            assert counts / 100_000 == pytest.approx(shares, abs=0.006)


@pytest.mark.parametrize(
    ("given", "of"),
    [
        ({"rounds": 1, "wanted": 9}, "first round"),
        ({"rounds": 1, "numbers": (5, 4)}, "first round"),
        ({"rounds": 3, "wanted": 9, "algorithm": "algorithm-2"}, "first round"),
        ({"rounds": 3, "wanted": 9}, "panel"),
        ({"rounds": 3, "numbers": (5, 4), **CLEAR}, "panel"),
        ({"rounds": 3, "wanted": 9, "grade_epsilon": None}, "panel"),
    ],
)
def test_of_several_rounds_a_panel_over_the_targets_stands_in_for_their_policies(
    given: dict[str, Any], of: str
) -> None:
    plan = Plan(TOWN, PLACES, log(4), 200, **given)
    policy = possible_campaigns(plan, crowds=1).policy
    if of == "panel":
        assert policy == next_policy(begin(replace(plan, panel=True, wanted=0, numbers=None)))
        assert (policy.provenance["method"], policy.targets) == ("panel", PLACES)
    else:
        assert policy == preview_policy(plan)


# --- what comes of it -------------------------------------------------------------------------------------------


def campaigns(plan: Plan = PANEL) -> PossibleCampaigns:
    """Two crowds that differ from what is estimated of them."""
    policy = next_policy(begin(plan))
    crowds = tuple(
        PossibleCrowd(np.outer([0.5, 0.2, 0.3], where), outside, np.array([0.8, 0.4, 0.05]), 0.5)
        for where, outside in ((PRIOR, 0.1), (OTHER, 0.4))
    )
    counts = np.array([[9, 4, 60, 50, 40, 37], [3, 8, 90, 40, 30, 29]])[:, : policy.symbol_count]
    joint = np.outer([0.3, 0.3, 0.4], np.roll(PRIOR, 3))
    estimates = estimates_of_crowds(policy, counts, joint)
    return PossibleCampaigns(plan, policy, crowds, counts, tuple(estimates))


def in_truth(one: PossibleCampaigns, crowd: PossibleCrowd, targets: tuple[int, ...]) -> FloatArray:
    """The chance that the sender of each symbol comes to each target, and to any, input by input."""
    table, come = one.policy.table(), crowd.coming(targets)
    weights = [(1 - crowd.null_share) * share for share in crowd.prior.ravel()] + [crowd.null_share]
    found = np.zeros((table.shape[1], come.shape[1]))
    for symbol in range(table.shape[1]):
        sent = sum(weight * table[i, symbol] for i, weight in enumerate(weights))
        for t in range(come.shape[1]):
            both = sum(weight * table[i, symbol] * come[i, t] for i, weight in enumerate(weights))
            found[symbol, t] = both / sent if sent else 0.0
    return found


def best_symbols(one: PossibleCampaigns, estimate: PriorEstimate, targets: tuple[int, ...]) -> list[int]:
    """The symbols by the chance that the server computes from its estimate, among equals the lower symbol first."""
    chances = cv.target_chances(estimate.prior, one.policy, targets, estimate.null_share, one.plan.grade_chances)
    return sorted(range(len(chances)), key=lambda symbol: (-round(float(chances[symbol]), 6), symbol))


def test_those_whom_the_server_would_select_come_as_they_do_in_truth() -> None:
    one = campaigns()
    request = SelectionRequest((14, 5), 20)
    means, variances, possible = [], [], []
    for crowd, sizes, estimate in zip(one.crowds, one.counts, one.estimates, strict=True):
        truth, room = in_truth(one, crowd, request.targets), 20
        mean, variance = np.zeros(3), np.zeros(3)
        for symbol in best_symbols(one, estimate, request.targets):
            people = min(room, int(sizes[symbol]))
            room -= people
            mean += people * truth[symbol]
            variance += people * truth[symbol] * (1 - truth[symbol])
        means.append(mean)
        variances.append(variance)
        possible.append(sizes @ truth[:, :2])
    found = predict(one, request)
    assert found.selected == LikelyRange(20, 20, 20, 20)
    assert found.visitors.mean == pytest.approx(np.mean(means, axis=0)[2], rel=0.02)
    assert found.coverage.mean == pytest.approx(found.visitors.mean / 20)
    for target in range(2):
        assert found.places[target].mean == pytest.approx(np.mean(means, axis=0)[target], rel=0.02)
        assert found.possible[target].mean == pytest.approx(np.mean(possible, axis=0)[target])
        nobody = [at_most(mean[target], spread[target])[0] for mean, spread in zip(means, variances, strict=True)]
        assert found.enough[target] == pytest.approx(1 - np.mean(nobody))
        twice = predict(one, request, at_least=(2, 2)).enough[target]
        one_at_most = [at_most(mean[target], spread[target])[1] for mean, spread in zip(means, variances, strict=True)]
        assert twice == pytest.approx(1 - np.mean(one_at_most))


def test_where_each_target_has_its_number_so_many_are_enough_there() -> None:
    one = campaigns()
    request = SelectionRequest((5, 14), numbers=(7, 5))
    found = predict(one, request)
    assert found.selected == LikelyRange(12, 12, 12, 12)
    assert found.enough == predict(one, request, at_least=(7, 5)).enough
    assert found.enough != predict(one, request, at_least=(1, 1)).enough


def test_the_plan_says_what_is_asked_for_unless_it_is_a_panel() -> None:
    with pytest.raises(cv.InputError, match="request = None: should say what is asked of the panel"):
        predict(campaigns())
    plan = Plan(TOWN, PLACES, log(4), 200, wanted=9, rounds=1)
    asked = possible_campaigns(plan, crowds=2)
    assert predict(asked) == predict(asked, plan.request)
    with pytest.raises(cv.InputError, match="targets = 'cell 3': should be one of the 2 places of the panel"):
        predict(campaigns(), SelectionRequest((3,), 5))


def test_a_symbol_that_nobody_can_send_brings_nobody() -> None:
    plan = replace(PANEL, targets=(5,), grade_epsilon=None, null_epsilon=None)
    total = 1 << 30
    weights = np.column_stack([np.full(16, total // 4), np.full(16, total - total // 4), np.zeros(16, dtype=np.int64)])
    policy = cv.Policy(TOWN, log(4), (5,), weights, symbols=("hit", "spare", "other"), bits=30)
    crowd = PossibleCrowd(PRIOR[None, :], 0.2, np.array([1.0]), 1e-9)
    counts = np.array([[40, 120, 0]])
    one = PossibleCampaigns(plan, policy, (crowd,), counts, estimates_of_crowds(policy, counts))
    found = predict(one, SelectionRequest((5,), 160))
    assert found.visitors.mean == pytest.approx(160 * PRIOR[5], rel=0.02)


# --- mixtures ---------------------------------------------------------------------------------------------------


def test_a_mixture_is_of_all_crowds_alike() -> None:
    """Of two crowds 5 and 4 are selected; 2 and 4 come to the first place for sure, 1 and 0 to the second."""
    means = np.array([[2.0, 1.0, 3.0], [4.0, 0.0, 4.0]])
    found = _mix((3, 1), means, np.zeros((2, 3)), np.array([5, 4]), np.array([[9.0, 3.0], [7.0, 2.0]]))
    assert found.selected == LikelyRange(4, 4, 5, 4.5)
    assert found.visitors == LikelyRange(3, 3, 4, 3.5)
    assert found.coverage == LikelyRange(0.6, 0.6, 1, 0.8)
    assert found.places == (LikelyRange(2, 2, 4, 3), LikelyRange(0, 0, 1, 0.5))
    assert found.possible == (LikelyRange(7, 7, 9, 8), LikelyRange(2, 2, 3, 2.5))
    assert found.enough == (0.5, 0.5)
    assert _mix((4, 2), means, np.zeros((2, 3)), np.array([5, 4]), means[:, :2]).enough == (0.5, 0.0)
    assert _mix((2, 0), means, np.zeros((2, 3)), np.array([5, 4]), means[:, :2]).enough == (1.0, 1.0)


@pytest.mark.parametrize(("selected", "coverage"), [(1, 1.0), (0, 0.0)])
def test_the_coverage_of_one_person_or_none_is_a_share(selected: int, coverage: float) -> None:
    come = np.array([[1.0 * selected, 1.0 * selected]])
    found = _mix((1,), come, np.zeros((1, 2)), np.array([selected]), np.ones((1, 1)))
    assert found.coverage == LikelyRange(coverage, coverage, coverage, coverage)


def test_more_visitors_than_people_selected_are_not_counted() -> None:
    come = np.array([[3.0, 3.0]])
    assert _mix((1,), come, np.zeros((1, 2)), np.array([2]), np.ones((1, 1))).coverage == LikelyRange(1, 1, 1, 1)


def test_numbers_of_people_have_the_probabilities_of_their_distribution() -> None:
    for mean, variance in ((2.5, 2.5), (2.5, 5.0)):
        counts, chances = _counts(mean, variance)
        assert counts.tolist() == list(range(len(counts)))
        expected = poisson.pmf(counts, 2.5) if variance == mean else nbinom.pmf(counts, 2.5, 0.5)
        assert chances == pytest.approx(expected, abs=1e-9)
        assert chances.sum() == pytest.approx(1, abs=1e-15)
    assert [one.tolist() for one in _counts(0.0, 0.0)] == [[0.0], [1.0]]


def test_at_most_one_in_forty_lies_beyond_either_end() -> None:
    values = np.array([7.0, 3.0, 5.0, 1.0])
    found = _interval([(values, np.array([0.025, 0.475, 0.475, 0.025]))])
    assert (found.low, found.middle, found.high) == (1, 3, 5)
    assert found.mean == pytest.approx(4)
    found = _interval([(values, np.array([0.026, 0.474, 0.476, 0.024]))])
    assert (found.low, found.middle, found.high) == (3, 5, 7)
    found = _interval([(values, np.array([0.024, 0.476, 0.474, 0.026]))])
    assert (found.low, found.middle, found.high) == (1, 3, 5)
