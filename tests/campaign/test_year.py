"""A year ahead, option by option, from predictions of single campaigns."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign import LikelyRange, Plan, SelectionRequest, YearOption, possible_campaigns, predict, year_ahead
from crowdveil.campaign.knowledge import Knowledge
from crowdveil.campaign.year import _share
from tests.town import people_around, square_town

TOWN = square_town(4)
PRIOR = people_around(TOWN, 3)
BUSY = tuple(int(cell) for cell in np.argsort(-PRIOR)[:9])
KNOWN = Knowledge(PRIOR, regular_share=0.5, outside_share=0.1, roaming=False)
REQUEST = SelectionRequest(BUSY[1:2], 10)
CROWDS = 3


def panel(places: int, **given: Any) -> Plan:
    names = tuple(f"place {number}" for number in range(places))
    return Plan(TOWN, BUSY[:places], log(4), 200, rounds=1, panel=True, target_names=names, **given)


def first_coverage(plan: Plan, places: tuple[int, ...]) -> LikelyRange:
    return predict(possible_campaigns(plan, KNOWN, crowds=CROWDS, places=places), REQUEST).coverage


@pytest.mark.parametrize(
    ("places", "reported"), [(6, BUSY[:6]), (8, REQUEST.targets), (9, REQUEST.targets)], ids=["some", "half", "most"]
)
def test_every_option_is_the_prediction_of_a_campaign_that_fades_until_the_next_report(
    places: int, reported: tuple[int, ...]
) -> None:
    """Five campaigns in 60 days, on days 0, 12, 24, 36 and 48; a report loses a tenth of its coverage in a week."""
    plan = panel(places)
    alone = replace(plan, targets=REQUEST.targets, target_names=None)
    since = {1: [0, 12, 24, 36, 48], 2: [0, 12, 24, 6, 18], 3: [0, 12, 4, 16, 8], 4: [0, 12, 9, 6, 3]}
    total, total_null = 3 * log(4), 3 * log(64)
    expected = []
    for reports, days in since.items():
        used = _share(plan, reports, total, total_null)
        first = first_coverage(used, reported)
        mean = first.mean * sum(0.9 ** (day / 7) for day in days) / 5
        within = reports >= 3
        expected.append(YearOption("panel", reports, total / reports, used.null_epsilon, 5, first, mean, within))
    first = first_coverage(alone, reported)
    expected.append(YearOption("fresh", 3, log(4), log(64), 3, first, first.mean * 3 / 5, True))
    used = _share(alone, 5, total, total_null)
    first = first_coverage(used, reported)
    expected.append(YearOption("split", 5, total / 5, used.null_epsilon, 5, first, first.mean, True))
    found = year_ahead(plan, REQUEST, KNOWN, days=60, campaigns=5, fading_per_week=0.1, crowds=CROWDS)
    assert [one.mean for one in found] == sorted((one.mean for one in found), reverse=True)
    by_kind = {(one.kind, one.reports): one for one in found}
    assert len(by_kind) == len(found) == len(expected)
    for one in expected:
        again = by_kind[one.kind, one.reports]
        assert replace(again, mean=0.0) == replace(one, mean=0.0)
        assert again.mean == pytest.approx(one.mean)


def options(plan: Plan | None = None, **given: Any) -> dict[tuple[str, int], YearOption]:
    asked: dict[str, Any] = {"days": 10, "campaigns": 2, "crowds": 1, **given}
    plan = panel(2) if plan is None else plan
    return {(one.kind, one.reports): one for one in year_ahead(plan, REQUEST, KNOWN, **asked)}


def test_unless_it_is_measured_reports_do_not_fade_and_three_are_allowed_in_a_life() -> None:
    found = options(days=3650, campaigns=9)
    assert sorted(found) == [("fresh", 3), ("panel", 1), ("panel", 2), ("panel", 3), ("panel", 4), ("split", 9)]
    for one in found.values():
        assert one.mean == pytest.approx(one.first.mean * one.answered / 9)
    assert sorted(options()) == [("fresh", 2), ("panel", 1), ("panel", 2), ("split", 2)]
    assert sorted(options(campaigns=1)) == [("fresh", 1), ("panel", 1), ("split", 1)]


@pytest.mark.parametrize(
    ("total", "total_null", "fresh"),
    [
        (0.3, 9.0, 3),  # 0.3 / 0.1 is 2.9999999999999996
        (0.29, 9.0, 2),
        (9.0, 3.6, 3),  # 3.6 / 1.2
        (9.0, 2.0, 1),
        (0.05, 9.0, 0),
    ],
)
def test_fresh_reports_are_given_until_either_limit_is_reached(total: float, total_null: float, fresh: int) -> None:
    plan = panel(2, null_epsilon=1.2)
    limits = {"total_epsilon_per_km": total, "total_null_epsilon": total_null}
    plan = replace(plan, epsilon_per_km=0.1)
    found = options(plan, campaigns=7, **limits)
    assert found["fresh", fresh].answered == fresh
    assert found["fresh", fresh].mean == pytest.approx(found["fresh", fresh].first.mean * fresh / 7)


def test_in_the_clear_only_the_limit_on_places_applies_and_no_device_accepts_it_by_default() -> None:
    plan = panel(2, null_epsilon=None, grade_epsilon=None)
    found = options(plan, campaigns=4, total_null_epsilon=1e-3)
    assert found["fresh", 3].null_epsilon is None
    assert not any(one.within_defaults for one in found.values())


def test_devices_accept_by_default_at_most_the_default_of_both_losses() -> None:
    usual, more = log(4), log(64) * 1.5
    assert options()["fresh", 2].within_defaults
    assert not options(replace(panel(2), null_epsilon=more), total_null_epsilon=9 * more)["fresh", 2].within_defaults
    assert not options(replace(panel(2), epsilon_per_km=1.5 * usual), total_epsilon_per_km=9.0)[
        "fresh", 2
    ].within_defaults
    assert options(total_epsilon_per_km=2 * usual)["panel", 2].within_defaults
    assert not options(total_epsilon_per_km=3 * usual)["panel", 2].within_defaults


def test_one_of_several_reports_gets_its_part_of_both_limits_and_never_more_than_planned() -> None:
    plan = replace(panel(2), null_epsilon=2.0, grade_epsilon=0.6)
    part = _share(plan, 4, 2.0, 4.0)  # half of the plan's ε₀
    assert (part.epsilon_per_km, part.null_epsilon, part.grade_epsilon) == (0.5, 1.0, 0.3)
    same = _share(plan, 4, 2.0, 80.0)
    assert (same.epsilon_per_km, same.null_epsilon, same.grade_epsilon) == (0.5, 2.0, 0.6)
    alone = _share(replace(plan, grade_epsilon=None), 4, 2.0, 4.0)
    assert (alone.epsilon_per_km, alone.null_epsilon, alone.grade_epsilon) == (0.5, 1.0, None)
    clear = _share(replace(plan, null_epsilon=None, grade_epsilon=None), 4, 2.0, 4.0)
    assert (clear.epsilon_per_km, clear.null_epsilon, clear.grade_epsilon) == (0.5, None, None)


@pytest.mark.parametrize("limit", ["total_epsilon_per_km", "total_null_epsilon"])
def test_a_limit_of_less_than_one_is_a_limit_but_none_is_not(limit: str) -> None:
    asked: dict[str, Any] = {limit: 0.5}
    assert options(**asked)
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(cv.InputError, match=f"{limit} = {wrong}: should be above 0"):
            options(**{**asked, limit: wrong})
