"""How many people will come where, before anybody is asked."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, nbinom, poisson

import crowdveil as cv
from crowdveil.campaign import (
    Plan,
    RoundClosed,
    RoundOpened,
    SelectionRequest,
    advance,
    begin,
    compare_covers,
    forecast,
    next_policy,
)
from crowdveil.campaign.advice import advise
from crowdveil.campaign.forecast import Expected, _crowds, at_most, expected_people, forecast_groups
from crowdveil.campaign.groups import Groups
from crowdveil.campaign.preview import equal_numbers, preview_state
from crowdveil.prior import Round, count_symbols
from tests.town import live, people_around, square_town

TOWN = square_town(8)
PRIOR = people_around(TOWN, 3)
TARGETS = (int(PRIOR.argmax()), 12, 40)
CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None}


def plan_of(users: int = 300, **changes: Any) -> Plan:
    """A plan of one round in the clear form, of which the prior is known."""
    given: dict[str, Any] = {"rounds": 1, "start": PRIOR, "start_trust": 1.0, **CLEAR, **changes}
    return Plan(TOWN, given.pop("targets", TARGETS), log(4), users, **given)


@pytest.mark.parametrize("how_many", [{"wanted": 12}, {"numbers": (4, 4, 4)}, {"numbers": (8, 3, 1)}])
@pytest.mark.parametrize("users", [80, 2000])
def test_as_many_come_as_were_forecast_and_the_intervals_hold(how_many: dict[str, Any], users: int) -> None:
    plan = plan_of(users, **how_many)
    policy = next_policy(begin(plan))
    certificate = cv.certify(policy)
    opened = advance(begin(plan), RoundOpened(policy))
    found = forecast(opened)
    generator = np.random.default_rng(1)
    came, inside = [], []
    for _ in range(150):
        places = live(PRIOR, users, generator)
        sent = cv.draw_many(policy, places, certificate, generator)
        # The estimate is not what is tested here: people are selected under the true prior.
        state = cv.State(plan, opened.prior, (count_symbols(policy, sent),))
        chosen = cv.select(state, cv.Reports(np.arange(users), np.zeros(users, dtype=np.int64), sent))
        there = [int((places[chosen.participants] == target).sum()) for target in plan.targets]
        came.append(there)
        pairs = zip([place.visitors for place in found.places], there, strict=True)
        inside.append([expected.low <= number <= expected.high for expected, number in pairs])
    mean, error = np.mean(came, axis=0), np.std(came, axis=0) / np.sqrt(len(came))
    expected = np.array([place.visitors.people for place in found.places])
    optimism = 0.05 if users < 100 else 0.01  # whole people can be shared out less finely than fractions of them
    assert (np.abs(mean - expected) < 4 * error + optimism * expected + 0.02).all()
    assert np.mean(inside) > 0.95
    assert found.visitors.people == pytest.approx(expected.sum(), abs=1e-4)


def test_once_all_have_reported_the_forecast_counts_who_is_selected() -> None:
    plan = plan_of(users=120, numbers=(4, 3, 2), rounds=2)
    state, generator = begin(plan), np.random.default_rng(5)
    rows = []
    for number in range(2):
        policy = next_policy(state)
        sent = cv.draw_many(policy, live(PRIOR, 60, generator), cv.certify(policy), generator)
        state = advance(advance(state, RoundOpened(policy)), RoundClosed(count_symbols(policy, sent)))
        rows += [(60 * number + who, number, symbol) for who, symbol in enumerate(sent.tolist())]
    columns = np.array(rows)
    chosen = cv.select(state, cv.Reports(columns[:, 0], columns[:, 1], columns[:, 2]))
    found = forecast(state)
    for target, place in enumerate(found.places):
        assert place.selected == len(chosen.at_target(target)) == plan.numbers[target]  # type: ignore[index]
        assert place.by_symbol == chosen.by_symbol[chosen.targets == target].sum()
    assert found.selected == len(chosen)
    assert found.filled == len(chosen) - chosen.hits
    assert 0 < found.coverage < 1
    early = forecast(cv.State(plan, state.prior, state.closed[:1]), to_come=0)
    assert early.selected == 9


def test_a_forecast_needs_a_policy() -> None:
    with pytest.raises(cv.InputError, match="should have an open or a closed round"):
        forecast(begin(plan_of(wanted=5)))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.floats(0.01, 400), st.floats(0.05, 3))
def test_intervals_are_those_of_the_binomial_the_poisson_and_the_negative_binomial(mean: float, ratio: float) -> None:
    found = expected_people(mean, ratio * mean)
    assert found.low <= mean + 1
    assert found.high >= mean - 1
    if ratio < 1 - 1e-6 and (mean / (1 - ratio)).is_integer():
        low, high = binom.interval(0.95, mean / (1 - ratio), 1 - ratio)
        assert (found.low, found.high) == (low, high)
    if ratio > 1 + 1e-6:
        low, high = nbinom.interval(0.95, mean / (ratio - 1), 1 / ratio)
        assert (found.low, found.high) == (low, high)
    assert expected_people(mean, mean).high == poisson.ppf(0.975, mean)


def test_the_interval_of_a_whole_number_of_equal_people_is_the_binomials() -> None:
    for people, chance in ((3, 0.4), (30, 0.4), (500, 0.9)):
        found = expected_people(people * chance, people * chance * (1 - chance))
        assert (found.low, found.high) == tuple(binom.interval(0.95, people, chance))
    nobody = expected_people(0.0, 0.0)
    assert (nobody.people, nobody.low, nobody.high) == (0.0, 0, 0)


# --- by hand --------------------------------------------------------------------------------------------------

THREE = Groups(
    begin=np.array([0, 3]),
    at_any=np.array([0.8, 0.7, 0.4]),
    at=np.array([[0.8, 0.0], [0.1, 0.6], [0.2, 0.2]]),
    names=np.array([[True, False], [False, True], [False, False]]),
)
"""Senders of the symbols of two places, and others."""
TWO_CROWDS = np.array([[2, 3, 5], [1, 4, 0]])
POSSIBLE = np.array([30.5, 20.5])


def test_a_forecast_is_the_mean_over_crowds_where_any_target_will_do() -> None:
    """Six are wanted. Of the first crowd 2, 3 and 1 are taken, of the second 1 and 4: there are no more."""
    found = forecast_groups(THREE, TWO_CROWDS, SelectionRequest((5, 14), 6), POSSIBLE)
    first, second = found.places
    assert (first.wanted, second.wanted) == (None, None)
    # The likeliest place of the third group is the first: its chances are equal.
    assert (first.selected, second.selected) == ((2 + 1 + 1) / 2, (3 + 4) / 2)
    assert (first.by_symbol, second.by_symbol) == ((2 + 1) / 2, (3 + 4) / 2)
    assert (first.possible, second.possible) == (30.5, 20.5)
    # At the first place 2.1 and 1.2 are expected, with variances of 0.75 and 0.52; their means vary by 0.45².
    assert first.visitors == close(expected_people(1.65, 0.635 + 0.45**2))
    assert second.visitors == close(expected_people(2.2, 0.92 + 0.2**2))
    assert found.visitors == close(expected_people(3.85, 1.095 + 0.25**2))
    assert (found.selected, found.filled) == (5.5, 0.5)
    assert found.coverage == pytest.approx(3.85 / 5.5)


def test_a_forecast_is_the_mean_over_crowds_where_each_target_has_its_number() -> None:
    """Two and three are wanted: in the second crowd one sender of the second symbol fills up at the first place."""
    found = forecast_groups(THREE, TWO_CROWDS, SelectionRequest((5, 14), numbers=(2, 3)), POSSIBLE)
    first, second = found.places
    assert (first.wanted, second.wanted) == (2, 3)
    assert (first.selected, second.selected, found.selected) == (2, 3, 5)
    assert (first.by_symbol, second.by_symbol, found.filled) == (1.5, 3, 0.5)
    # All who are selected count where they come: 1.9 and 1.2 at the first place.
    assert first.visitors == close(expected_people(1.55, (0.59 + 0.52) / 2 + 0.35**2))
    assert second.visitors == close(expected_people(2.1, (0.72 + 0.96) / 2 + 0.3**2))


def close(expected: Expected) -> Any:
    """The same whole numbers, and nearly the same mean."""

    class Close:
        def __eq__(self, other: object) -> bool:
            assert isinstance(other, Expected)
            return (other.low, other.high) == (expected.low, expected.high) and other.people == pytest.approx(
                expected.people
            )

    return Close()


def test_of_a_panel_only_the_last_round_that_was_answered_counts() -> None:
    plan = Plan(TOWN, TARGETS, log(4), 300, rounds=3, panel=True)
    policy = next_policy(begin(plan))
    counts = np.arange(policy.symbol_count)
    state = advance(begin(plan), RoundOpened(policy))
    once = advance(state, RoundClosed(Round(policy, counts)))
    both = advance(advance(once, RoundOpened(policy)), RoundClosed(Round(policy, counts[::-1])))
    alone = cv.State(plan, both.prior, both.closed[1:], None, both.null_share)  # where people are is learnt from all
    request = SelectionRequest(TARGETS, 500)
    found, expected = forecast(both, request), forecast(alone, request)
    assert found.selected == expected.selected == counts.sum()
    for one, other in zip(found.places, expected.places, strict=True):
        assert (one.selected, one.by_symbol, one.visitors) == (other.selected, other.by_symbol, close(other.visitors))


def test_in_the_clear_as_many_more_report_as_have_a_place_so_far() -> None:
    plan = plan_of(400, wanted=400, rounds=2)
    policy = next_policy(begin(plan))
    counts = np.zeros(policy.symbol_count, dtype=np.int64)
    counts[0] = 60
    state = advance(begin(plan), RoundOpened(policy))
    closed = advance(state, RoundClosed(Round(policy, counts, nulls=140)))
    found = forecast(closed)  # 30 % of the 200 who are still to come
    assert found.selected == 60 + 60
    assert found.places[0].possible == pytest.approx(400 * 0.3 * closed.prior[TARGETS[0]])
    assert forecast(closed, to_come=10).selected == 60 + 3


def test_of_people_who_may_be_outside_fewer_send_the_symbols_of_places() -> None:
    start = np.outer([0.5, 0.2, 0.3], PRIOR)
    few, many = (
        forecast(
            preview_state(Plan(TOWN, TARGETS, log(4), 300, rounds=1, panel=True, start=start, start_null_share=one)),
            SelectionRequest(TARGETS, numbers=(30, 30, 30)),
        )
        for one in (0.0, 0.6)
    )
    shares = []
    for one in (0.0, 0.6):
        plan = Plan(TOWN, TARGETS, log(4), 300, rounds=1, panel=True, start=start, start_null_share=one)
        policy = next_policy(begin(plan))
        shares.append((policy.input_prior(start, one) @ policy.table())[:3])
    for place in range(3):
        assert few.places[place].by_symbol == pytest.approx(300 * shares[0][place], rel=0.1)
        assert many.places[place].by_symbol == pytest.approx(300 * shares[1][place], rel=0.1)
        assert many.places[place].possible == pytest.approx(0.4 * few.places[place].possible)
    assert shares[1][0] < 0.8 * shares[0][0]


@pytest.mark.parametrize(("groups", "places", "number"), [(3, 2, 1000), (250, 3, 666), (250, 4, 500), (5000, 8, 64)])
def test_the_fewer_pairs_of_groups_and_places_the_more_crowds_are_drawn(groups: int, places: int, number: int) -> None:
    known = np.arange(groups)
    crowds = _crowds(known, np.full(groups, 1 / groups), 40, places)
    assert crowds.shape == (number, groups)
    assert (crowds.sum(axis=1) == known.sum() + 40).all()
    assert (crowds >= known).all()


def test_crowds_are_drawn_by_the_shares_of_symbols_and_some_send_none() -> None:
    crowds = _crowds(np.array([5, 0, 7]), np.array([0.0, 0.6, 0.1]), 1000, 1)
    assert (crowds[:, 0] == 5).all()
    assert crowds.mean(axis=0) == pytest.approx([5, 600, 107], abs=2)
    assert crowds.std(axis=0) == pytest.approx([0, (1000 * 0.24) ** 0.5, (1000 * 0.09) ** 0.5], rel=0.1)
    assert _crowds(np.array([5, 0, 7]), np.array([0.0, 0.6, 0.1]), 0, 1).tolist() == [[5, 0, 7]]


@pytest.mark.parametrize(("mean", "variance"), [(0.5, 0.25), (4.0, 3.0), (4.0, 4.0), (4.0, 9.0), (250.0, 300.0)])
def test_the_probabilities_of_all_numbers_of_people_are_told(mean: float, variance: float) -> None:
    found = at_most(mean, variance)
    counts = np.arange(len(found))
    if variance < mean:
        expected = binom.cdf(counts, mean / (1 - variance / mean), 1 - variance / mean)
    elif variance == mean:
        expected = poisson.cdf(counts, mean)
    else:
        expected = nbinom.cdf(counts, mean**2 / (variance - mean), mean / variance)
    assert found == pytest.approx(expected)
    chances = np.diff(found, prepend=0.0)
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    assert chances @ counts == pytest.approx(mean, rel=1e-6)


def test_a_binomial_of_a_fraction_of_a_person_more_is_one_too() -> None:
    # 0.3 people with a variance of 0.2 are 0.9 people, each of whom comes with a chance of a third.
    assert at_most(0.3, 0.2)[:3].tolist() == pytest.approx([(2 / 3) ** 0.9, 1, 1])
    assert at_most(0.0, 0.0).tolist() == [1.0]
    assert at_most(3.0, 0.0).tolist() == [0.0] * 3 + [1.0] * (len(at_most(3.0, 0.0)) - 3)


# --- which policy ---------------------------------------------------------------------------------------------


def test_in_a_large_crowd_all_who_are_selected_have_the_highest_chance_there_is() -> None:
    plan = plan_of(3000, numbers=(3, 3, 3))
    policy = next_policy(begin(plan))
    assert (policy.provenance["method"], policy.provenance["regime"]) == ("per target", "unsaturated")
    found = forecast(advance(begin(plan), RoundOpened(policy)))
    assert found.filled < 0.02 * found.selected
    bounds = [cv.lemma2_bound(TOWN, PRIOR, target, epsilon_per_km=log(4)) for target in TARGETS]
    assert found.visitors.people > 0.98 * 3 * sum(bounds)
    without_margin = cv.policy_per_target(TOWN, PRIOR, TARGETS, epsilon_per_km=log(4), betas=[3 / 3000] * 3)
    assert people(begin(plan), without_margin) < 0.9 * found.visitors.people


def test_where_targets_compete_quotas_suffice_on_average_and_have_no_margin() -> None:
    for seed, users in ((3, 20), (3, 60), (4, 60)):
        prior = people_around(TOWN, seed, centres=4)
        plan = plan_of(users, targets=(3, 12, 40, 44, 60), numbers=(2,) * 5, start=prior)
        state = begin(plan)
        taken = next_policy(state)
        assert taken.provenance["regime"] == "saturated"
        assert taken.beta == pytest.approx(sum(cv.quotas(state)), rel=1e-6)


@pytest.mark.parametrize(("users", "margin"), [(100, None), (400, None), (900, 0.8), (3000, 0.99)])
def test_the_largest_margin_is_taken_with_which_targets_do_not_compete(users: int, margin: float | None) -> None:
    plan = plan_of(users, targets=(3, 12, 40, 44, 60), numbers=(2,) * 5, start=people_around(TOWN, seed=3, centres=4))
    policy = next_policy(begin(plan))
    assert policy.beta == pytest.approx(sum(cv.quotas(begin(plan), margin)), rel=1e-6)
    assert policy.provenance["regime"] == ("saturated" if users == 100 else "unsaturated")


def people(state: cv.State, policy: cv.Policy) -> float:
    return forecast(advance(state, RoundOpened(policy))).visitors.people


# --- covers and advice ----------------------------------------------------------------------------------------


def test_with_a_number_for_each_the_least_visited_place_gets_more_and_all_together_less() -> None:
    any_target, each, own = compare_covers(plan_of(600, numbers=(14, 5, 5)))
    assert [one.cover for one in (any_target, each, own)] == ["any", "each", "numbers"]
    assert (any_target.numbers, each.numbers, own.numbers) == (None, (8, 8, 8), (14, 5, 5))

    def least(one: cv.CoverForecast) -> float:
        return min(place.visitors.people for place in one.forecast.places)

    assert least(each) > 2 * least(any_target)
    assert any_target.forecast.visitors.people > own.forecast.visitors.people > each.forecast.visitors.people


def test_only_covers_that_can_be_are_compared() -> None:
    assert [one.cover for one in compare_covers(plan_of(wanted=9))] == ["any", "each"]
    assert [one.cover for one in compare_covers(plan_of(numbers=(3, 3, 3)))] == ["any", "each"]
    assert [one.cover for one in compare_covers(plan_of(wanted=9, algorithm="algorithm-2"))] == ["any"]
    assert [one.cover for one in compare_covers(plan_of(users=2, wanted=1))] == ["any"]
    assert equal_numbers(2, 3, 100) == (1, 1, 1)
    assert equal_numbers(100, 3, 100) == (33, 33, 33)


def test_a_place_that_cannot_have_its_number_is_named_with_what_it_can_have_and_what_would_help() -> None:
    plan = plan_of(100, numbers=(3, 9, 3), target_names=("Market", "Library", "Zoo"))
    found = forecast(preview_state(plan))
    said = {one.split(":")[0].split(" c")[0].split(" g")[0]: one for one in advise(plan, found)}
    possible = found.places[1].possible
    assert possible == pytest.approx(100 * PRIOR[12])
    assert 0.5 < possible < 9
    text = said["Place 2 (Library)"]
    assert f"cannot have its 9 people: of all 100 people only {possible:.2g} are expected there" in text
    assert "Larger cells, or a smaller number, would help, or about" in text
    assert "Place 1 (Market)" not in said


def test_a_place_that_nobody_has_is_pointed_out_and_never_a_silent_zero() -> None:
    empty = PRIOR.copy()
    empty[40] = 0.0
    for how_many in ({"wanted": 9}, {"numbers": (3, 3, 3)}):
        plan = plan_of(300, start=empty / empty.sum(), **how_many)
        found = forecast(preview_state(plan))
        assert found.places[2].visitors.people == found.places[2].possible == 0
        (said,) = (one for one in advise(plan, found) if one.startswith("Place 3"))
        assert "almost nobody of the 300 people comes there (0 expected in all)" in said


def test_where_any_target_will_do_a_place_that_is_passed_over_is_pointed_out() -> None:
    plan = plan_of(3000, wanted=10)
    found = forecast(preview_state(plan))
    told = advise(plan, found)
    assert found.places[2].visitors.people < 0.5 < found.places[2].possible
    assert any(
        one.startswith("Place 3 gets almost nobody") and "A number of people for each place" in one for one in told
    )


def test_a_hundred_places_are_planned_and_forecast() -> None:
    town = square_town(12)
    plan = Plan(town, tuple(range(0, 100)), log(4), 5000, numbers=(2,) * 100, rounds=2, **CLEAR)
    found = forecast(preview_state(plan))
    assert len(found.places) == 100
    assert found.selected == pytest.approx(200)
    assert all(place.visitors.people > 0 for place in found.places)
