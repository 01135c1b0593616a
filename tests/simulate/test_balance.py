"""A number of people for each target: who is selected for which, and who comes."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError, NotPrivateError
from crowdveil.simulate.balance import (
    BALANCE_METHODS,
    BalanceMethod,
    CoveredTargets,
    balance_of,
    cover_targets,
    cover_targets_again,
    promised_at,
)
from crowdveil.simulate.comparison import ComparisonSettings
from crowdveil.simulate.simulation import Crowd
from tests.simulate.small import small_dataset

DATASET = small_dataset()
TARGETS = tuple(DATASET.densest[[1, 4, 9]].tolist())
NUMBERS = (3, 2, 4)
CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None}
EACH: tuple[BalanceMethod, ...] = ("each", "each-panel", "laplace-posterior", "each-learnt")


def crowd(**more: Any) -> Crowd:
    return ComparisonSettings(TARGETS, log(4), wanted=sum(NUMBERS), rounds=2, **(CLEAR | more)).crowd(DATASET, 1)


def promised() -> FloatArray:
    return promised_at(DATASET.profiles["logistic"], TARGETS)


def covered(method: BalanceMethod, seed: int = 1, **more: Any) -> CoveredTargets:
    return cover_targets(crowd(**more), NUMBERS, promised(), method, seed)


@pytest.mark.parametrize("protection", [CLEAR, {"null_epsilon": log(64), "grade_epsilon": log(8)}])
@pytest.mark.parametrize("method", BALANCE_METHODS)
def test_everyone_is_selected_once_and_for_one_target(method: BalanceMethod, protection: dict[str, Any]) -> None:
    found = covered(method, **protection)
    assert len(np.unique(found.selected)) == len(found.selected) == len(found.targets) <= sum(NUMBERS)
    chosen = np.bincount(found.targets, minlength=3)
    if method in EACH:
        assert chosen.tolist() == list(NUMBERS)
    elif not method.startswith("any"):
        assert (chosen <= NUMBERS).all()
    assert all(cv.certify(policy).ok for policy in found.policies)


@pytest.mark.parametrize("method", BALANCE_METHODS)
def test_the_same_seed_gives_the_same_selection(method: BalanceMethod) -> None:
    first, again = (covered(method) for _ in range(2))
    assert first.selected.tolist() == again.selected.tolist()
    assert first.targets.tolist() == again.targets.tolist()
    if method not in ("none", "by-profile"):
        assert first.selected.tolist() != covered(method, seed=2).selected.tolist()


@pytest.mark.parametrize("method", BALANCE_METHODS)
def test_drawing_again_from_the_same_policy_is_the_same_as_beginning_anew(method: BalanceMethod) -> None:
    again = cover_targets_again(crowd(), NUMBERS, promised(), method, (1, 2))
    for seed, found in zip((1, 2), again, strict=True):
        assert found.selected.tolist() == covered(method, seed=seed).selected.tolist()


def test_without_obfuscation_people_are_selected_for_the_place_that_they_name_only() -> None:
    found = covered("none")
    assert len(found.selected) > 0
    assert crowd().places[found.selected].tolist() == np.array(TARGETS)[found.targets].tolist()


def test_nobody_finds_people_who_promise_more_than_those_whose_profiles_are_known() -> None:
    def promise(method: BalanceMethod) -> float:
        found = covered(method)
        return float(promised()[found.selected, found.targets].sum())

    best = promise("by-profile")
    assert all(promise(method) <= best for method in BALANCE_METHODS)
    assert promise("none") <= best


def test_any_target_selects_as_many_people_but_need_not_share_them_out() -> None:
    found = covered("any")
    assert len(found.selected) == sum(NUMBERS)
    assert np.bincount(found.targets, minlength=3).tolist() != list(NUMBERS)


@pytest.mark.usefixtures("refusing_checker")
def test_every_symbol_comes_from_a_certified_policy() -> None:
    for method in BALANCE_METHODS:
        if method in ("none", "by-profile"):
            covered(method)
        else:
            with pytest.raises(NotPrivateError):
                covered(method)


def test_visitors_are_counted_where_they_come_whomever_they_were_selected_for() -> None:
    users = len(crowd().places)
    share = np.zeros((users, 3))
    share[:3] = [[1.0, 0.5, 0.0], [0.0, 0.25, 0.0], [0.5, 0.0, 0.0]]
    found = CoveredTargets(np.array([0, 1, 2]), np.array([0, 0, 0]), np.ones(3))
    counted = balance_of(found, share, crowd(), (2, 3, 1))
    assert counted.visitors == 2.25
    assert counted.where_selected == 1.5
    assert counted.median == 0.75
    assert counted.least == counted.least_where_selected == 0.0
    assert counted.supplied == pytest.approx(1 / 3)


def test_the_least_target_is_one_that_somebody_would_report() -> None:
    somebody = crowd()
    only_first = Crowd(somebody.area, TARGETS, np.full(4, TARGETS[0]), log(4))
    share = np.zeros((4, 3))
    share[:, 0] = 0.5
    found = CoveredTargets(np.arange(4), np.zeros(4, dtype=np.int64), np.ones(4))
    counted = balance_of(found, share, only_first, (4, 1, 1))
    assert counted.least == counted.least_where_selected == 2.0
    for_others = CoveredTargets(np.arange(4), np.array([0, 1, 1, 2]), np.ones(4))
    assert balance_of(for_others, share, only_first, (4, 1, 1)).least_where_selected == 0.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"numbers": (3, 2)}, "one for each of 3 targets"),
        ({"method": "each-one"}, "should be one of none"),
        ({"places": np.full(150, -1)}, "nobody has a frequent place"),
    ],
)
def test_what_cannot_be_simulated_is_refused(change: dict[str, Any], said: str) -> None:
    somebody = crowd()
    places = change.get("places", somebody.places)
    given = Crowd(somebody.area, TARGETS, places, log(4))
    with pytest.raises(InputError, match=said):
        cover_targets(given, change.get("numbers", NUMBERS), promised(), change.get("method", "each"), 1)
