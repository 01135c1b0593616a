"""What is lost where, and whether predictions come true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from crowdveil.paper import cities
from crowdveil.paper.cases import run_case
from crowdveil.paper.cities import CitySource
from crowdveil.paper.claims import common_claims
from crowdveil.paper.figures import QUICK, calibrations, losses, rocs
from crowdveil.paper.figures.calibrations import tenths
from crowdveil.paper.figures.rocs import GROUPS
from crowdveil.paper.side_by_side import write_side_by_side
from crowdveil.plots.report import HOLDS, UNDECIDED
from crowdveil.profile import PROFILE_METHODS, Counts, Periods, Profile
from crowdveil.simulate.ceilings import choose_by_profile, choose_with_hindsight, promised
from crowdveil.simulate.records import Record, write_records
from crowdveil.simulate.simulation import arrivals, coverage_of
from tests.simulate.small import small_dataset

SOURCE = CitySource("gowalla", "nowhere")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(cities._RECIPES, "gowalla", lambda _, offset: small_dataset(offset))
    cities.open_city.cache_clear()
    yield
    cities.open_city.cache_clear()


@cache
def records_of_losses(seeds: int) -> list[Record]:
    cases = losses.cases(SOURCE, replace(QUICK, loss_seeds=seeds))
    return losses.records(SOURCE, [(case, run_case(SOURCE, case)) for case in cases])


def test_hindsight_is_the_best_selection_of_as_many_people() -> None:
    share = np.array([0.0, 0.5, 0.25, 1.0, 0.75, 0.0])
    best = max(float(share[list(some)].mean()) for some in combinations(range(6), 3))
    assert coverage_of(choose_with_hindsight(share, 3), share) == best


def test_a_profile_promises_a_visit_to_any_of_the_targets() -> None:
    profile = Profile(3, 4, np.array([0, 0, 1, 2]), np.array([1, 2, 1, 3]), np.array([0.5, 0.6, 0.7, 1.0]))
    assert promised(profile, (1, 2)).tolist() == pytest.approx([0.8, 0.7, 0.0])
    assert choose_by_profile(profile, (1, 2), 2, seed=1).tolist() == [0, 1]


def test_of_equal_promises_the_first_to_come_is_chosen() -> None:
    profile = Profile(50, 1, np.arange(50), np.zeros(50, dtype=np.int64), np.full(50, 0.5))
    assert choose_by_profile(profile, (0,), 5, seed=3).tolist() == arrivals(50, 3)[:5].tolist()


def test_losses_add_up_from_hindsight_to_ours_within_every_seed() -> None:
    made = records_of_losses(2)
    level = {(r.method, r.profile): np.array(r.extra["values"]) for r in made if r.measure == "coverage"}
    lost = {r.method: np.array(r.extra["values"]) for r in made if r.measure == "coverage_lost"}
    assert set(lost) == {"profile", "privacy", "prior"}
    assert {profile for method, profile in level if method == "by-profile"} == set(PROFILE_METHODS)
    ours = next(r for r in made if r.method == "crowdveil")
    top, bottom = level["hindsight", ours.profile], level["crowdveil", ours.profile]
    np.testing.assert_allclose(top - sum(lost.values()), bottom)
    assert (lost["profile"] >= 0).all()
    assert len(top) == ours.n == 2


def test_a_seed_draws_its_targets_among_the_densest_cells() -> None:
    drawn = [losses.draw_targets(SOURCE, seed) for seed in range(5)]
    densest = set(small_dataset().densest[: losses.DENSEST].tolist())
    assert all(set(targets) <= densest and len(targets) == losses.TARGETS for targets in drawn)
    assert len(set(drawn)) > 1


def test_the_figure_runs_in_the_protected_form() -> None:
    assert all(case.null_epsilon and case.grade_epsilon for case in losses.cases(SOURCE, QUICK))


def counts_of(visits: list[tuple[int, int, int]]) -> Counts:
    user, cell, period = np.array(sorted(visits)).T
    return Counts(40, 3, Periods(date(2024, 1, 1), 6), user, cell, period, np.ones(len(user), dtype=np.int64))


def test_each_tenth_says_what_was_predicted_and_how_much_came_true() -> None:
    """Twenty people with 0.25 come in 1 of 4 weeks, twenty with 0.95 in 2 of 4."""
    profile = Profile(
        40,
        3,
        np.arange(40),
        np.zeros(40, dtype=np.int64),
        np.repeat([0.25, 0.95], 20),
        "recency",
        train=range(2),
    )
    happened = [(user, 0, 2) for user in range(40)] + [(user, 0, 5) for user in range(20, 40)]
    happened.append((3, 2, 4))  # nobody predicted this
    low, high = tenths("here", profile, counts_of(happened), range(2, 6))
    assert (low.extra["tenth"], low.extra["predicted"], low.value, low.extra["trials"]) == (2, 0.25, 0.25, 80)
    assert (high.extra["tenth"], high.value, high.extra["trials"]) == (9, 0.5, 80)
    assert high.extra["predicted"] == pytest.approx(0.95)
    assert (low.ci_low, low.ci_high, low.n) == (0.25, 0.25, 20)


def test_a_certain_prediction_belongs_to_the_last_tenth() -> None:
    profile = Profile(40, 3, np.array([0]), np.array([0]), np.array([1.0]), train=range(2))
    (only,) = tenths("here", profile, counts_of([(0, 0, 3)]), range(2, 6))
    assert (only.extra["tenth"], only.value) == (9, 0.25)


def test_the_interval_of_a_tenth_covers_the_truth_in_nineteen_of_twenty_cases() -> None:
    """People differ: each has a chance of their own, so that their weeks are not independent."""
    generator = np.random.default_rng(4)
    covered = 0
    for _ in range(400):
        chance = generator.beta(2, 2, 40)
        came = generator.random((40, 4)) < chance[:, None]
        visits = [(user, 0, 2 + week) for user, week in zip(*np.nonzero(came), strict=True)]
        profile = Profile(40, 3, np.arange(40), np.zeros(40, dtype=np.int64), np.full(40, 0.5), train=range(2))
        (found,) = tenths("here", profile, counts_of(visits), range(2, 6))
        covered += found.ci_low <= 0.5 <= found.ci_high
    assert 0.92 <= covered / 400 <= 0.98


def test_every_profile_has_a_curve_and_its_tenths() -> None:
    curves, tens = rocs.records(SOURCE, QUICK), calibrations.records(SOURCE, QUICK)
    assert [record.method for record in curves] == list(PROFILE_METHODS)
    assert {record.profile for record in tens} == set(PROFILE_METHODS)
    assert all(record.n == GROUPS and record.ci_low < record.value < record.ci_high for record in curves)
    for name in PROFILE_METHODS:
        trials = sum(record.extra["trials"] for record in tens if record.profile == name)
        assert trials == len(small_dataset().profiles[name]) * len(small_dataset().split.test)


def test_whether_a_part_loses_anything_is_decided_by_its_interval() -> None:
    made = records_of_losses(2)
    undecided = [claim.verdict for claim in common_claims(made) if "loses coverage" in claim.text]
    assert undecided == [UNDECIDED] * 4
    clear = [replace(r, n=9, value=0.3, ci_low=0.2, ci_high=0.4) if r.measure == "coverage_lost" else r for r in made]
    assert [claim.verdict for claim in common_claims(clear) if "loses coverage" in claim.text][:3] == [HOLDS] * 3


@pytest.mark.long
def test_finished_studies_are_shown_side_by_side(tmp_path: Path) -> None:
    made = [*records_of_losses(2), *rocs.records(SOURCE, QUICK), *calibrations.records(SOURCE, QUICK)]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(write_records(made), encoding="utf-8")
    found = write_side_by_side(tmp_path, tmp_path / "together")
    assert found.titles == ["A small city (one)", "A small city (two)"]
    for name in ("losses", "rocs", "calibrations"):
        assert (tmp_path / "together" / f"{name}.png").stat().st_size > 1000
    report = (tmp_path / "together" / "report.html").read_text(encoding="utf-8")
    assert "A small city (two)" in report
    assert "too few seeds to decide" in report
    # What was written before is not taken for another study.
    assert write_side_by_side(tmp_path, tmp_path / "together").titles == found.titles
