"""What is told before a launch holds although nobody knows where people are."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import crowdveil as cv
from crowdveil.campaign import Plan, SelectionRequest, begin
from crowdveil.campaign.knowledge import Knowledge, PossibleCrowd, possible_crowds
from crowdveil.campaign.next_policy import next_policy
from crowdveil.campaign.prediction import LikelyRange, _interval, possible_campaigns, predict
from crowdveil.campaign.preview import preview_state
from tests.town import people_around, square_town

TOWN = square_town(7)
PRIOR = people_around(TOWN, 3)
PLACES = (int(PRIOR.argmax()), 5, 30)
PANEL = Plan(TOWN, PLACES, log(4), 400, rounds=1, panel=True)
REQUEST = SelectionRequest(PLACES[:1], 16)
HABITS: dict[str, Any] = {"regular_share": 0.4, "outside_share": 0.1, "roaming": False}


def told(known: Knowledge, request: SelectionRequest = REQUEST, plan: Plan = PANEL, **given: Any) -> Any:
    return predict(possible_campaigns(plan, known, crowds=30, **given), request)


def width(interval: LikelyRange) -> float:
    return interval.high - interval.low


def test_the_more_is_known_the_narrower_is_what_is_told() -> None:
    nothing = told(Knowledge())
    population = told(Knowledge(PRIOR, "population", **HABITS))
    prior = told(Knowledge(PRIOR, **HABITS))
    assert width(nothing.coverage) > width(population.coverage) > width(prior.coverage) > 0
    assert (nothing.selected.low, nothing.selected.high) == (16, 16)
    for one in (nothing, population, prior):
        assert 0 <= one.coverage.low <= one.coverage.middle <= one.coverage.high <= 1
        assert one.visitors.high == pytest.approx(16 * one.coverage.high)
        assert one.visitors.mean <= one.possible[0].mean


def test_an_estimate_from_more_reports_tells_more() -> None:
    few, many = (told(Knowledge(PRIOR, "reports", number, **HABITS)) for number in (100, 100_000))
    assert width(few.coverage) > 1.2 * width(many.coverage)


def test_the_interval_holds_what_comes_of_crowds_that_the_planner_did_not_know() -> None:
    policy = next_policy(begin(PANEL))
    certificate = cv.certify(policy)
    generator = np.random.default_rng(8)
    campaigns = possible_campaigns(PANEL, Knowledge(PRIOR, "population", **HABITS), crowds=60, policy=policy)
    coverage = predict(campaigns, REQUEST).coverage
    held = []
    for crowd in range(40):
        # Counted people are wrong by a factor, cell by cell, and places where people are reported are reported more.
        shares = PRIOR * np.exp(0.6 * np.random.default_rng(crowd).standard_normal(len(TOWN)))
        shares[list(PLACES)] *= 2
        cells = generator.choice(len(TOWN), PANEL.users, p=shares / shares.sum())
        grades = generator.choice(3, PANEL.users, p=[0.4, 0.2, 0.4])
        sent = cv.draw_many(policy, cells, certificate, generator, grades)
        opened = cv.advance(begin(PANEL), cv.RoundOpened(policy))
        state = cv.advance(opened, cv.RoundClosed(cv.count_symbols(policy, sent)))
        reports = cv.Reports(np.arange(PANEL.users), np.zeros(PANEL.users, dtype=np.int64), sent)
        chosen = cv.select(state, reports, REQUEST).participants
        chances = np.where(cells[chosen] == PLACES[0], np.array(PANEL.grade_chances)[grades[chosen]], 0.01)
        realised = float((generator.random(len(chosen)) < chances).mean())
        held.append(coverage.low - 1e-9 <= realised <= coverage.high + 1e-9)
    assert np.mean(held) >= 0.9


def test_fewer_who_answer_and_more_who_are_outside_make_fewer_come() -> None:
    full = told(Knowledge(PRIOR, **HABITS))
    fewer = told(Knowledge(PRIOR, **HABITS, answering=0.1))
    outside = told(Knowledge(PRIOR, **{**HABITS, "outside_share": 0.9}))
    assert fewer.possible[0].mean < 0.2 * full.possible[0].mean
    assert fewer.visitors.mean < full.visitors.mean
    assert outside.visitors.mean < 0.6 * full.visitors.mean


def test_of_people_who_cover_the_whole_area_many_more_come() -> None:
    drivers = told(Knowledge(PRIOR, **{**HABITS, "roaming": True}))
    assert drivers.coverage.mean > told(Knowledge(PRIOR, **HABITS)).coverage.mean + 0.1


def test_places_that_a_panel_over_all_cells_is_asked_for_are_likely_busy() -> None:
    panel = replace(PANEL, targets=tuple(range(len(TOWN))))
    asked = possible_campaigns(panel, Knowledge(), REQUEST, crowds=30)
    unasked = possible_campaigns(panel, Knowledge(), SelectionRequest((12,), 16), crowds=30)
    assert predict(asked, REQUEST).coverage.mean > 1.5 * predict(unasked, REQUEST).coverage.mean


@pytest.mark.parametrize(
    "given", [{"null_epsilon": None, "grade_epsilon": None}, {"grade_epsilon": None}], ids=["clear", "one grade"]
)
def test_without_grades_who_has_no_regular_place_is_outside(given: dict[str, Any]) -> None:
    plan = replace(PANEL, **given)
    campaigns = possible_campaigns(plan, Knowledge(PRIOR, **HABITS), crowds=30)
    shares = np.array([one.null_share for one in campaigns.crowds])
    assert shares.mean() == pytest.approx(1 - 0.9 * 0.4, abs=0.05)
    sent = campaigns.counts.sum(axis=1) / plan.users
    expected = 1 - shares if plan.null_epsilon is None else np.ones(len(shares))
    assert np.abs(sent - expected).max() < 0.1
    assert 0 < predict(campaigns, REQUEST).coverage.mean < 1


def test_a_panel_stands_in_for_the_policies_of_several_rounds() -> None:
    plan = Plan(TOWN, PLACES[:2], log(4), 300, wanted=12, rounds=3, start=np.outer([0.4, 0.2, 0.4], PRIOR))
    for one in (plan, replace(plan, wanted=0, numbers=(6, 6))):
        campaigns = possible_campaigns(one, Knowledge(PRIOR, **HABITS), crowds=10)
        assert campaigns.policy.provenance["method"] == "panel"
        found = predict(campaigns)
        assert found.selected.mean == pytest.approx(12)
        assert 0.1 < found.coverage.mean < 0.9
    assert found.enough[0] < 1


@pytest.mark.parametrize("given", [{"rounds": 1}, {"rounds": 3, "algorithm": "algorithm-2"}])
def test_otherwise_the_policy_of_the_first_round_is_predicted(given: dict[str, Any]) -> None:
    plan = Plan(TOWN, PLACES[:2], log(4), 300, wanted=12, **given)
    campaigns = possible_campaigns(plan, Knowledge(), crowds=4)
    assert campaigns.policy == preview_state(plan).open_policy


def test_the_same_seed_tells_the_same() -> None:
    assert told(Knowledge()) == told(Knowledge())
    assert told(Knowledge()) != told(Knowledge(), seed=1)


def test_people_come_to_their_own_place_and_pass_by_at_others() -> None:
    prior = np.array([[0.3, 0.1, 0.0], [0.3, 0.2, 0.1]])
    crowd = PossibleCrowd(prior, 0.5, np.array([0.64, 0.16]), 1.0)
    come = crowd.coming((0, 1))
    mean = 0.4 * 0.8 + 0.6 * 0.4
    assert come.shape == (7, 3)
    assert come[0].tolist() == pytest.approx([0.64, 0.8 / mean * 0.15, 1 - 0.36 * (1 - 0.8 / mean * 0.15)])
    assert come[4].tolist()[:2] == pytest.approx([0.4 / mean * 0.3, 0.16])
    assert come[6].tolist() == [0, 0, 0]


def test_drawn_crowds_agree_with_what_is_known() -> None:
    joint = np.outer([0.5, 0.1, 0.4], PRIOR)
    generator = np.random.default_rng(2)
    crowds = possible_crowds(PANEL, Knowledge(joint, "reports", 1_000_000, outside_share=0.2), PLACES, 60, generator)
    for one in crowds:
        assert one.prior.sum() == pytest.approx(1)
        assert (one.prior > 0).all()
        assert 0 < one.null_share < 1
    grades = np.mean([one.prior.sum(axis=1) for one in crowds], axis=0)
    assert grades == pytest.approx([0.5, 0.1, 0.4], abs=0.05)
    assert np.mean([one.null_share for one in crowds]) == pytest.approx(0.2, abs=0.03)
    log_errors = [np.log(one.prior.sum(axis=0) / PRIOR)[PRIOR > 0.01] for one in crowds]
    assert np.std(log_errors) < 0.45


def test_an_interval_of_one_part_is_that_of_its_distribution() -> None:
    people, chance = 40, 0.3
    counts = np.arange(people + 1.0)
    found = _interval([(counts, binom.pmf(counts, people, chance))])
    assert (found.low, found.high) == binom.interval(0.95, people, chance)
    assert found.middle == binom.median(people, chance)
    assert found.mean == pytest.approx(12)
    two = _interval([(np.array([1.0]), np.ones(1)), (np.array([3.0]), np.ones(1))])
    assert two == LikelyRange(1.0, 1.0, 3.0, 2.0)


def test_what_a_panel_learned_is_knowledge_for_the_next() -> None:
    policy = next_policy(begin(PANEL))
    counts = np.full(policy.symbol_count, 20)
    opened = cv.advance(begin(PANEL), cv.RoundOpened(policy))
    with pytest.raises(cv.InputError, match="closed round with reports"):
        Knowledge.from_state(opened)
    state = cv.advance(opened, cv.RoundClosed(cv.Round(policy, counts)))
    known = Knowledge.from_state(state)
    assert known.reports == counts.sum()
    assert known.source == "reports"
    assert known.outside_share == state.null_share


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"known_from": "prior"}, "known_from"),
        ({"shape": PRIOR, "known_from": "nothing"}, "known_from"),
        ({"shape": PRIOR, "known_from": "hearsay"}, "known_from"),
        ({"shape": PRIOR, "known_from": "reports"}, "reports"),
        ({"shape": PRIOR, "reports": 5}, "reports"),
        ({"shape": PRIOR, "known_from": "reports", "reports": 0}, "reports"),
        ({"shape": -PRIOR}, "shape"),
        ({"shape": 0 * PRIOR}, "shape"),
        ({"regular_share": 1.1}, "regular_share"),
        ({"outside_share": -0.1}, "outside_share"),
        ({"answering": 0.0}, "answering"),
        ({"answering": 1.5}, "answering"),
    ],
)
def test_impossible_knowledge_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(cv.InputError) as refused:
        Knowledge(**given)
    assert refused.value.field == field


def test_knowledge_of_another_area_is_refused() -> None:
    with pytest.raises(cv.InputError, match=r"cells, or grades and cells"):
        possible_campaigns(PANEL, Knowledge(PRIOR[:-1]), crowds=2)
