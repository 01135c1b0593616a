"""All methods side by side on one world."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from math import inf, log
from typing import Any

import numpy as np
import pytest

from crowdveil.area import Grid
from crowdveil.errors import InputError
from crowdveil.plots.comparison_report import claims
from crowdveil.prior import divergence
from crowdveil.simulate.compare import compare
from crowdveil.simulate.comparison import CAMPAIGNS, Comparison, ComparisonSettings, compare_methods
from crowdveil.simulate.dataset import Dataset, split_periods
from crowdveil.simulate.describe import describe_comparison, find_warnings, table_rows
from crowdveil.simulate.records import write_records
from crowdveil.simulate.simulation import Method, simulate
from crowdveil.traces import Visits, synthetic_visits
from tests.simulate.small import small_dataset

DATASET = small_dataset()
SETTINGS = ComparisonSettings(
    (int(DATASET.densest[0]),), log(4), seeds=3, methods=("none", "crowdveil", "laplace", "random")
)


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare_methods(DATASET, SETTINGS)


def test_every_method_has_one_record_in_the_order_asked_for(found: Comparison) -> None:
    assert [record.method for record in found.records] == list(SETTINGS.methods)
    for record in found.records:
        assert 0 <= record.ci_low <= record.value <= record.ci_high <= 1
        assert record.extra["reports"] == SETTINGS.reporters(DATASET)
        assert record.extra["wanted"] == found.wanted


def test_the_same_question_has_the_same_answer(found: Comparison) -> None:
    assert write_records(compare_methods(DATASET, SETTINGS).records) == write_records(found.records)


def test_progress_is_told_from_the_first_to_the_last(found: Comparison) -> None:
    told: list[tuple[int, int]] = []
    compare_methods(
        DATASET, replace(SETTINGS, methods=("none", "random")), lambda done, total: told.append((done, total))
    )
    assert told == [(done, 6) for done in range(1, 7)]


def test_private_methods_are_certified_below_epsilon_and_naming_the_place_is_not(found: Comparison) -> None:
    private = {record.method: record.extra["private_from_epsilon_per_km"] for record in found.records}
    assert private["none"] is None
    assert private["random"] == 0
    assert 0 < private["laplace"] <= log(4)
    assert 0 < private["crowdveil"] <= log(4)
    assert table_rows(found.records)[0][-1] == "no"


@pytest.mark.parametrize("method", CAMPAIGNS)
def test_an_outcome_carries_the_campaign_it_came_from(method: Method) -> None:
    crowd = SETTINGS.crowd(DATASET, 2)
    outcome = simulate(crowd, method, 2)
    assert outcome.campaign is not None
    state, reports = outcome.campaign
    true = crowd.graded_prior()[0] if method in ("crowdveil", "crowdveil-known") else crowd.prior()
    assert divergence(true.ravel(), state.prior.ravel()) == outcome.divergence[-1]
    assert len(reports) == outcome.reports
    assert len(state.closed) == outcome.policies


def test_the_campaign_on_the_maps_is_the_first_seeds(found: Comparison) -> None:
    assert found.campaign is not None
    outcome = simulate(SETTINGS.crowd(DATASET, 0), "crowdveil", 0)
    assert outcome.campaign is not None
    assert found.campaign.policies == outcome.campaign[0].policies
    assert compare_methods(DATASET, replace(SETTINGS, methods=("none",))).campaign is None


def test_differences_are_paired_by_seed(found: Comparison) -> None:
    mean, low, high = found.difference("none", "random")
    values = {record.method: record.value for record in found.records}
    assert mean == pytest.approx(values["none"] - values["random"])
    assert low <= mean <= high
    assert found.difference("none", "none") == (0, 0, 0)


def test_a_claim_holds_only_where_the_interval_of_the_difference_leaves_zero_out(found: Comparison) -> None:
    def verdict(ours: list[float], theirs: list[float]) -> str:
        coverage: dict[Method, list[float]] = {"crowdveil": ours, "random": theirs}
        some = replace(found, coverage=coverage, records=[r for r in found.records if r.method in coverage])
        return claims(some)[0].verdict

    assert verdict([0.5, 0.6, 0.7], [0.3, 0.41, 0.5]) == "holds"
    assert verdict([0.3, 0.41, 0.5], [0.5, 0.6, 0.7]) == "does not hold"
    assert verdict([0.5, 0.2, 0.6], [0.3, 0.4, 0.5]) == "too few seeds to decide"


def test_the_facts_count_users_periods_and_policies(found: Comparison) -> None:
    told = describe_comparison(found)
    assert told["frequent place"].startswith(f"{SETTINGS.reporters(DATASET)} of 150 users")
    assert told["periods"] == "12 weeks from 2024-01-01: 10 to learn from, 2 to test on"
    assert told["certified"].startswith(f"{3 * (6 + 1)} policies")
    assert find_warnings(DATASET, SETTINGS) == []


def test_delta_above_every_probability_names_the_highest_one() -> None:
    highest = float(DATASET.profiles["poisson"].probability.max())
    with pytest.raises(InputError, match=f"the highest probability is {highest:.4g}; use a smaller δ"):
        compare_methods(DATASET, replace(SETTINGS, profile="poisson", delta=highest))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"rounds": 151}, "rounds"),
        ({"rounds": 0}, "rounds"),
        ({"share": 1.01}, "share"),
        ({"targets": ()}, "targets"),
        ({"targets": (10_000,)}, "targets"),
        ({"profile": "mean"}, "profile"),
        ({"rule": "best"}, "rule"),
        ({"methods": ("magic",)}, "methods"),
        ({"seeds": 0}, "seeds"),
        ({"confidence": 1.0}, "confidence"),
        ({"epsilon_per_km": inf}, "epsilon_per_km"),
    ],
)
def test_a_question_without_an_answer_is_refused(changed: dict[str, object], field: str) -> None:
    with pytest.raises(InputError) as error:
        compare_methods(DATASET, replace(SETTINGS, **changed))  # type: ignore[arg-type]
    assert error.value.field == field


# --- a world from anyone's traces --------------------------------------------------------------------------------


def visits_at(longitude: float, latitude: float = 10.0) -> Visits:
    city = synthetic_visits(np.random.default_rng(1), users=30, weeks=3, latitude=latitude, longitude=11.0)
    east = (city.longitude - 11.0 + longitude + 180) % 360 - 180
    return Visits(city.users, city.user, city.utc_s, city.offset_s, city.latitude, east)


def test_a_grid_holds_nearly_all_visits_and_no_empty_cell() -> None:
    visits = visits_at(11.0)
    grid = Grid.around(visits)
    cells = grid.locate(visits.latitude, visits.longitude)
    assert 0.95 < np.mean(cells >= 0) < 1
    assert set(cells[cells >= 0].tolist()) == set(range(len(grid)))


def test_a_grid_may_lie_across_the_antimeridian() -> None:
    assert abs(len(Grid.around(visits_at(180.0))) - len(Grid.around(visits_at(11.0)))) <= 3


def test_a_visit_far_away_does_not_stretch_the_grid() -> None:
    visits = visits_at(11.0)
    latitude = visits.latitude.copy()
    latitude[0] = -33.0
    far = Visits(visits.users, visits.user, visits.utc_s, visits.offset_s, latitude, visits.longitude)
    assert abs(len(Grid.around(far)) - len(Grid.around(visits))) <= 2


def test_only_full_weeks_count_and_the_last_tenth_tests() -> None:
    visits = synthetic_visits(np.random.default_rng(1), users=50, weeks=21)
    periods, split = split_periods(visits)
    assert (periods.start, len(periods)) == (date(2024, 1, 1), 21)
    assert (len(split.train), len(split.test)) == (19, 2)
    later, _ = split_periods(visits, start=date(2024, 1, 3))
    assert len(later) == 20
    weekdays, _ = split_periods(
        visits.where(visits.local_s >= 1_704_067_200 + 5 * 86_400), period="day", weekdays_only=True
    )
    assert weekdays.start == date(2024, 1, 8)


def test_a_wrong_date_is_left_out_said_and_can_be_kept() -> None:
    visits = synthetic_visits(np.random.default_rng(1), users=50, weeks=12)
    utc_s = visits.utc_s.copy()
    utc_s[0] = 946_684_800
    messy = Visits(visits.users, visits.user, utc_s, visits.offset_s, visits.latitude, visits.longitude)
    told: list[str] = []
    few: dict[str, Any] = {"seeds": 1, "methods": ["none", "random"], "notify": told.append}
    found = compare(messy, **few)
    assert len(found.dataset.counts.periods) == 12
    assert "1 visit of 1 user with dates far from all others: 2000-01-01" in told[0]
    assert found.dataset.facts["dropped"] == "1 rows (date far from all others: 1)"
    kept = compare(messy, keep=["outlying-dates"], train=1_262, test=2, **few)
    assert kept.dataset.counts.periods.start == date(2000, 1, 1)


def test_a_test_in_which_hardly_anyone_is_active_is_said_with_figures() -> None:
    visits = synthetic_visits(np.random.default_rng(1), users=50, weeks=12)
    end = visits.local_s.min() // 86_400 * 86_400 + 70 * 86_400
    fading = visits.where((visits.local_s < end) | (visits.user < 4))
    told: list[str] = []
    compare(fading, seeds=1, methods=["none", "random"], train=10, test=1, notify=told.append)
    pattern = r"hardly anyone is active in the periods to test on: \d.* against [34]\d"
    assert any(re.search(pattern, text) for text in told)


def test_periods_beyond_the_test_are_left_out() -> None:
    visits = synthetic_visits(np.random.default_rng(1), users=50, weeks=8)
    periods, split = split_periods(visits, train=3, test=2)
    dataset = Dataset.from_visits(visits, Grid.around(visits), periods, split, name="mine")
    assert len(dataset.counts.periods) == 5
    assert dataset.counts.left_out["outside of the periods"] > 0
    assert dataset.visits_read == len(visits)


# --- histories that are hardly any -------------------------------------------------------------------------------


def history(users: int, visits: int, days: int, seed: int = 1) -> Visits:
    """Visits at random times of some days, and places of a small town."""
    generator = np.random.default_rng(seed)
    return Visits(
        tuple(map(str, range(users))),
        np.arange(visits) % users,
        1_704_067_200 + generator.integers(0, days * 86_400, visits),
        np.full(visits, 3600),
        generator.normal(48.0, 0.01, visits),
        generator.normal(11.0, 0.01, visits),
    )


@pytest.mark.parametrize(
    ("visits", "said", "told"),
    [
        (history(1, 5_000, 3_650), r"users = 1: should be two or more", ""),
        (history(1, 1, 1), r"0 full weeks.*should be at least 2", ""),
        (history(50, 2_000, 6), r"1 full week .*use days instead", ""),
        (
            history(20_000, 20_000, 300),
            r"nobody has a frequent place; the highest probability is",
            "seen in one week only",
        ),
        (history(3, 0, 1), r"visits = 0: should be at least one", ""),
    ],
    ids=["ten years of one user", "one visit", "one week", "one visit each", "no visit"],
)
def test_too_little_history_is_an_error_in_clear_words(visits: Visits, said: str, told: str) -> None:
    heard: list[str] = []
    with pytest.raises(InputError, match=said):
        compare(visits, seeds=1, methods=["none"], notify=heard.append)
    assert any(told in text for text in heard) or not told


def test_ten_years_of_two_users_and_one_week_by_days_are_compared() -> None:
    quiet: dict[str, Any] = {"seeds": 1, "methods": ["none", "random"], "rounds": 1, "notify": lambda _: None}
    assert len(compare(history(2, 100_000, 3_650), **quiet).dataset.counts.periods) == 521
    days = compare(history(20, 6_000, 6), period="day", **quiet)
    assert (len(days.dataset.split.train), len(days.dataset.split.test)) == (6, 1)
