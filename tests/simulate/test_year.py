"""A campaign every week, by people whose loss of privacy is limited for life."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import log

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.campaign.groups import groups_of
from crowdveil.errors import InputError, NotPrivateError
from crowdveil.policy.grades import chances_of_grades
from crowdveil.profile import Counts
from crowdveil.simulate.community import Community, without_gaps
from crowdveil.simulate.year import (
    PROTECTED_LIFETIME,
    YEAR_METHODS,
    Losses,
    YearMethod,
    YearResult,
    YearSettings,
    _pooled,
    _Year,
    simulate_fading,
    simulate_year,
)
from tests.simulate.small import small_dataset

DATASET = small_dataset()
WEEKS = 5
CLEAR = YearSettings(places=6, share_wanted=0.1)
PROTECTED = replace(CLEAR, lifetime=PROTECTED_LIFETIME)
UNLIMITED: tuple[YearMethod, ...] = ("none", "fresh", "random")


@cache
def community() -> Community:
    return Community.of_counts(DATASET.area, DATASET.counts, WEEKS)


@cache
def result(settings: YearSettings = CLEAR, seed: int = 0) -> YearResult:
    methods = tuple(m for m in YEAR_METHODS if settings is CLEAR or m not in ("fresh", "split"))
    return simulate_year(community(), settings, methods, seed)


@pytest.mark.parametrize("settings", [CLEAR, PROTECTED], ids=["clear", "protected"])
def test_nobody_loses_more_than_the_lifetime_limit(settings: YearSettings) -> None:
    found = result(settings)
    for method, policies in found.policies.items():
        if method in UNLIMITED:
            continue
        assert policies, method
        assert sum(one.epsilon_per_km for one in policies) <= settings.lifetime.epsilon_per_km * (1 + 1e-9)
        if settings.protected and not method.startswith("laplace"):
            assert sum(one.null_epsilon or 0.0 for one in policies) <= log(64) * 3 * (1 + 1e-9)
            assert sum((one.grade_epsilon or 0.0) * (one.grades - 1) for one in policies) <= log(64) * 3 * (1 + 1e-9)
    assert sum(one.epsilon_per_km for one in result().policies["fresh"]) > CLEAR.lifetime.epsilon_per_km


def test_everything_is_drawn_from_certified_policies() -> None:
    assert all(cv.certify(policy).ok for policies in result().policies.values() for policy in policies)


@pytest.mark.usefixtures("refusing_checker")
@pytest.mark.parametrize("method", [m for m in YEAR_METHODS if m not in ("none", "random")])
def test_nothing_is_drawn_from_a_policy_that_is_not_certified(method: YearMethod) -> None:
    with pytest.raises(NotPrivateError):
        simulate_year(community(), CLEAR, [method])


def test_nobody_reports_after_the_limit_is_used_up() -> None:
    found = result()
    assert (found.reports["today"][: CLEAR.reports] == found.reports["fresh"][: CLEAR.reports]).all()
    assert (found.reports["today"][: CLEAR.reports] > 0).all()
    assert (found.reports["today"][CLEAR.reports :] == 0).all()
    assert (found.coverage["today"][CLEAR.reports :] == 0).all()


@pytest.mark.parametrize(("times", "drawn"), [("once", [0]), ("twice", [0, 3]), ("thrice", [0, 2, 4])])
def test_a_panel_reports_only_when_it_is_drawn_and_answers_every_week(times: str, drawn: list[int]) -> None:
    found = result()
    for kind in ("panel", "list", "laplace"):
        method: YearMethod = f"{kind}-{times}"  # type: ignore[assignment]
        assert np.flatnonzero(found.reports[method]).tolist() == drawn
        assert len(found.policies[method]) == len(drawn)
    assert result().coverage["panel-once"].shape == (WEEKS,)


@pytest.mark.parametrize("settings", [CLEAR, PROTECTED], ids=["clear", "protected"])
def test_pooling_reports_of_places_that_never_stay_is_as_good_as_none_of_them(settings: YearSettings) -> None:
    """The very same people are selected, with the same draws, when earlier reports say nothing."""
    year = _Year(community(), replace(settings, stays=0.0), 0)
    first, second = (
        year.drawing("panel", settings.lifetime.divided(2), week, np.random.default_rng(week))
        for week in (community().weeks[0], community().weeks[2])
    )
    asked = year.campaigns[3]
    chances = chances_of_grades(settings.thresholds) if settings.protected else None
    groups, group = _pooled([first, second], asked.targets, chances, 0.0)
    alone = groups_of([second.policy], second.prior, asked.targets, second.outside, chances)
    assert np.abs(groups.at_any[group] - alone.at_any[second.symbols]).max() <= 2e-6
    sure, _ = _pooled([first, second], asked.targets, chances, 1.0)
    assert sure.at_any.max() > groups.at_any.max()


def test_two_reports_from_the_same_place_say_what_both_say_together() -> None:
    year = _Year(community(), CLEAR, 0)
    drawing = year.drawing("panel", Losses(log(4)), community().weeks[0], np.random.default_rng(1))
    target = year.campaigns[0].targets[0]
    groups, group = _pooled([drawing, drawing], [target], None, 1.0)
    table = drawing.policy.table()
    for person in range(0, len(drawing.people), 9):
        both = drawing.prior * table[:, drawing.symbols[person]] ** 2
        assert groups.at_any[group[person]] == pytest.approx(both[target] / both.sum(), abs=1e-6)


def test_all_methods_meet_the_same_campaigns_and_reporters() -> None:
    found = result()
    assert [one.week for one in found.campaigns] == list(community().weeks)
    first = {method: int(reports[0]) for method, reports in found.reports.items()}
    assert len(set(first.values())) == 1
    assert result(PROTECTED).campaigns == found.campaigns
    assert result(PROTECTED).reports["panel-once"][0] == community().counts.users > first["panel-once"]
    for coverage in found.coverage.values():
        assert ((coverage >= 0) & (coverage <= 1)).all()


def test_the_same_seed_gives_the_same_year_and_another_seed_another_one() -> None:
    again = simulate_year(community(), CLEAR, ["panel-twice", "fresh"], 0)
    for method in ("panel-twice", "fresh"):
        assert again.coverage[method].tolist() == result().coverage[method].tolist()
    assert simulate_year(community(), CLEAR, ["none"], 1).campaigns != again.campaigns


def test_profiles_and_places_know_nothing_of_the_week_and_of_later_ones() -> None:
    """Whatever people do from a week on: who reports which place in it, where targets are drawn and how many are wanted
    stay as they are."""
    counts, first = DATASET.counts, community().weeks.start
    generator = np.random.default_rng(3)
    for week in (first, first + 2):
        past = counts.period < week
        key = np.unique(generator.integers(0, counts.users * counts.cells * (len(counts.periods) - week), 3000))
        pair, late = np.divmod(key, len(counts.periods) - week)
        who, where = np.divmod(pair, counts.cells)
        rows = np.array(
            [
                np.concatenate([counts.user[past], who]),
                np.concatenate([counts.cell[past], where]),
                np.concatenate([counts.period[past], late + week]),
                np.concatenate([counts.visits[past], np.ones(len(key), dtype=np.int64)]),
            ]
        )
        rows = rows[:, np.lexsort(rows[2::-1])]
        other = Community.of_counts(DATASET.area, Counts(counts.users, counts.cells, counts.periods, *rows), WEEKS)
        for profile in ("logistic", "recency"):
            mine, theirs = community().profile(profile, week), other.profile(profile, week)
            assert mine.probability.tolist() == theirs.probability.tolist()
            assert (mine.user.tolist(), mine.cell.tolist()) == (theirs.user.tolist(), theirs.cell.tolist())
        assert other.busiest(6) == community().busiest(6)
        changed = simulate_year(other, CLEAR, ["panel-once", "today"])
        asked = week - first + 1
        assert changed.campaigns[:asked] == result().campaigns[:asked]
        assert changed.policies["today"][:asked] == result().policies["today"][:asked]
        assert changed.coverage["panel-once"].tolist() != result().coverage["panel-once"].tolist()


def test_without_noise_a_panel_finds_everyone_at_the_target() -> None:
    loud = replace(CLEAR, lifetime=Losses(200.0), fresh_places="list", share_wanted=0.6)
    found = simulate_year(community(), loud, ["none", "panel-once", "list-once", "random"])
    first = {method: float(coverage[0]) for method, coverage in found.coverage.items()}
    assert first["panel-once"] >= first["none"] > 0
    assert first["list-once"] >= first["none"]


def test_a_panel_fades_from_the_week_it_was_drawn_in() -> None:
    found = simulate_fading(community(), CLEAR, "panel", Losses(log(64)), 0)
    assert found.shape == (WEEKS, WEEKS)
    assert np.isfinite(found[np.triu_indices(WEEKS)]).all()
    assert np.isnan(found[np.tril_indices(WEEKS, -1)]).all()


def test_a_larger_crowd_has_the_people_of_the_smaller_one_several_times() -> None:
    many = community().resampled(400, 1)
    assert len(many.people) == 400
    found = simulate_year(many, PROTECTED, ["panel-once"])
    assert found.reports["panel-once"][0] == 400
    assert found.campaigns[0].wanted > result(PROTECTED).campaigns[0].wanted


def test_weeks_without_any_visit_are_left_out() -> None:
    counts = DATASET.counts
    kept = ~np.isin(counts.period, [3, 4])
    rows = (counts.user[kept], counts.cell[kept], counts.period[kept], counts.visits[kept])
    full = without_gaps(Counts(counts.users, counts.cells, counts.periods, *rows))
    assert len(full.periods) == len(counts.periods) - 2
    assert full.empty_periods(range(len(full.periods))) == ()
    assert full.visits.sum() == counts.visits[kept].sum()
    assert without_gaps(counts) is counts


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"profile": "poisson"}, "profile"),
        ({"share_wanted": 0.0}, "share_wanted"),
        ({"targets": 7}, "targets"),
        ({"reports": 0}, "reports"),
        ({"lifetime": Losses(1.0, null_epsilon=2.0)}, "lifetime"),
    ],
)
def test_settings_that_no_year_can_have_are_refused(settings: dict[str, object], field: str) -> None:
    with pytest.raises(InputError, match=field):
        replace(CLEAR, **settings)  # type: ignore[arg-type]


def test_a_year_needs_weeks_to_learn_from_and_fewer_places_than_cells() -> None:
    with pytest.raises(InputError, match="campaigns"):
        Community.of_counts(DATASET.area, DATASET.counts, len(DATASET.counts.periods))
    with pytest.raises(InputError, match="places"):
        simulate_year(community(), replace(CLEAR, places=len(DATASET.area)), ["none"])
    with pytest.raises(InputError, match="method"):
        simulate_year(community(), CLEAR, ["weekly"])  # type: ignore[list-item]
