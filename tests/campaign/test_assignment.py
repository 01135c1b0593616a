"""Who goes where, so that the most come."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import crowdveil as cv
from crowdveil.arrays import IntArray
from crowdveil.campaign.assignment import assign, assign_crowds
from crowdveil.campaign.groups import assign_groups, groups_of
from tests.town import live, people_around, square_town


@st.composite
def crowds(draw: st.DrawFn, most_worth: int = 6) -> tuple[IntArray, IntArray, IntArray]:
    """A few groups and places; few different numbers, so that ties are common."""
    groups, places = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    whole = st.integers(0, most_worth)
    sizes = draw(st.lists(st.integers(0, 3), min_size=groups, max_size=groups))
    worth = draw(st.lists(st.lists(whole, min_size=places, max_size=places), min_size=groups, max_size=groups))
    wanted = draw(st.lists(st.integers(1, 4), min_size=places, max_size=places))
    return np.array(sizes), np.array(worth), np.array(wanted)


def best_possible(sizes: IntArray, worth: IntArray, wanted: IntArray) -> int:
    """The optimum, person by person, by another algorithm."""
    pairs = worth[np.ix_(np.repeat(np.arange(len(sizes)), sizes), np.repeat(np.arange(len(wanted)), wanted))]
    people, seats = linear_sum_assignment(pairs, maximize=True)
    return int(pairs[people, seats].sum())


def best_pair_first(sizes: IntArray, worth: IntArray, wanted: IntArray) -> IntArray:
    """The greedy rule."""
    free, missing = sizes.copy(), wanted.copy()
    found = np.zeros(worth.shape, dtype=np.int64)
    for pair in np.argsort(-worth.ravel(), kind="stable").tolist():
        group, place = divmod(pair, worth.shape[1])
        people = min(free[group], missing[place])
        free[group] -= people
        missing[place] -= people
        found[group, place] += people
    return found


@settings(deadline=None, derandomize=True, max_examples=400)
@given(crowds())
def test_the_most_that_can_come_are_sent(crowd: tuple[IntArray, IntArray, IntArray]) -> None:
    sizes, worth, wanted = crowd
    found = assign(sizes, worth, wanted)
    assert (found >= 0).all()
    assert (found.sum(axis=1) <= sizes).all()
    assert (found.sum(axis=0) <= wanted).all()
    assert found.sum() == min(sizes.sum(), wanted.sum())
    assert (found * worth).sum() == best_possible(sizes, worth, wanted)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(crowds(), st.integers(2, 5))
def test_an_assignment_does_not_depend_on_the_unit_in_which_people_are_counted(
    crowd: tuple[IntArray, IntArray, IntArray], unit: int
) -> None:
    sizes, worth, wanted = crowd
    assert (assign(sizes * unit, worth, wanted * unit) == unit * assign(sizes, worth, wanted)).all()


@settings(deadline=None, derandomize=True, max_examples=100)
@given(crowds(), st.lists(st.lists(st.integers(0, 3), min_size=7, max_size=7), min_size=1, max_size=5))
def test_crowds_that_are_assigned_together_are_assigned_as_each_alone(
    crowd: tuple[IntArray, IntArray, IntArray], sizes: list[list[int]]
) -> None:
    _, worth, wanted = crowd
    several = np.array(sizes)[:, : len(worth)]
    together = assign_crowds(several, worth, wanted)
    assert [one.tolist() for one in together] == [assign(one, worth, wanted).tolist() for one in several]


def test_many_large_crowds_are_assigned_in_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, worth, wanted = np.arange(12).reshape(4, 3), np.array([[3, 1], [2, 2], [1, 3]]), np.array([4, 5])
    together = assign_crowds(sizes, worth, wanted)
    monkeypatch.setattr("crowdveil.campaign.assignment._ENTRIES_AT_ONCE", 1)
    assert (assign_crowds(sizes, worth, wanted) == together).all()


def test_for_one_place_the_best_groups_come_first_and_of_equals_the_first() -> None:
    worth = np.array([[3], [7], [7], [5]])
    assert assign(np.array([9, 2, 2, 9]), worth, np.array([5])).ravel().tolist() == [0, 2, 2, 1]
    assert assign(np.array([9, 2, 2, 9]), worth, np.array([3])).ravel().tolist() == [0, 2, 1, 0]


def test_the_best_pair_first_can_spend_people_at_the_wrong_place() -> None:
    sizes, worth, wanted = np.array([1, 1]), np.array([[50, 49], [40, 1]]), np.array([1, 1])
    assert (best_pair_first(sizes, worth, wanted) * worth).sum() == 51
    assert assign(sizes, worth, wanted).tolist() == [[0, 1], [1, 0]]


@pytest.mark.long
def test_the_best_pair_first_loses_up_to_two_percent_of_a_small_crowd_and_nothing_of_a_large_one() -> None:
    town = square_town(15)
    lost: dict[int, list[float]] = {220: [], 3000: []}
    for users, losses in lost.items():
        for seed in range(10):
            generator = np.random.default_rng(seed)
            prior = people_around(town, seed)
            targets = generator.choice(np.argsort(-prior)[:40], 8, replace=False)
            policy = cv.planar_laplace(town, None, targets.tolist(), log(4))
            sent = cv.draw_many(policy, live(prior, users, generator), cv.certify(policy), generator)
            groups = groups_of([policy], prior, targets.tolist())
            sizes, wanted = np.bincount(sent, minlength=len(groups)), np.full(8, 3)
            exact = (assign_groups(groups, groups.at, sizes, wanted.tolist()) * groups.at).sum()
            worth = np.rint(groups.at * 1e6).astype(np.int64)
            losses.append(1 - (best_pair_first(sizes, worth, wanted) * groups.at).sum() / exact)
    assert 0.0005 < np.mean(lost[220]) < 0.01
    assert max(lost[220]) < 0.03
    assert max(lost[3000]) < 1e-3


@pytest.mark.parametrize(("groups", "places", "people", "each"), [(7800, 64, 10**6, 150), (7800, 100, 8000, 50)])
def test_thousands_of_groups_are_assigned(groups: int, places: int, people: int, each: int) -> None:
    generator = np.random.default_rng(1)
    sizes = generator.multinomial(people, generator.dirichlet(np.full(groups, 0.5)))
    worth = (generator.beta(0.1, 2, (groups, places)) * 1e6).astype(np.int64)
    found = assign(sizes, worth, np.full(places, each))
    assert found.sum(axis=0).tolist() == [each] * places
    assert (found.sum(axis=1) <= sizes).all()
