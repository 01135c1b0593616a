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
from crowdveil.campaign import Plan, RoundClosed, RoundOpened, advance, begin, compare_covers, forecast, next_policy
from crowdveil.campaign.advice import advise
from crowdveil.campaign.forecast import expected_people
from crowdveil.campaign.preview import equal_numbers, preview_state
from crowdveil.prior import count_symbols
from tests.town import live, people_around, square_town

TOWN = square_town(8)
PRIOR = people_around(TOWN, 3)
TARGETS = (int(PRIOR.argmax()), 12, 40)
CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None}


def plan_of(users: int = 300, **changes: Any) -> Plan:
    """A plan of one round in the clear form, of which the prior is known."""
    given: dict[str, Any] = {"rounds": 1, "start": PRIOR, **CLEAR, **changes}
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
