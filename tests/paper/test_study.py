"""A whole study, small."""

from __future__ import annotations

import json
from dataclasses import replace
from math import isclose
from pathlib import Path

import numpy as np
import pytest

from crowdveil.errors import FileFormatError, NotPrivateError
from crowdveil.paper import cities as cities
from crowdveil.paper import study
from crowdveil.paper.cities import CitySource
from crowdveil.paper.claims import claims_of
from crowdveil.paper.figures import QUICK
from crowdveil.paper.figures.attackers import _attack, best_guesses, guess_bounds
from crowdveil.paper.study import Study, run_study
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.simulate.records import Record, read_records
from tests.simulate.small import small_dataset

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("study")]  # what all look at is made once
PAPERS = ["two-targets", "epsilons", "deltas", "many-targets", "divergences", "runtimes", "rocs"]
FIGURES = [*PAPERS, "calibrations", "losses", "balance", "densest", "attackers", "several-uploads"]
SMALL = replace(
    QUICK,
    seeds=2,
    draws=1,
    densest_seeds=1,
    divergence_seeds=2,
    group_counts=(1, 2),
    repeats=1,
    loss_seeds=2,
    balance_targets=(2,),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    traces = folder / "traces.txt"
    traces.write_text("stands for New York", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(cities._RECIPES, "new-york", lambda _, offset: small_dataset(offset))
        patch.setattr(study, "QUICK", SMALL)
        cities.open_city.cache_clear()
        found = run_study(CitySource("new-york", str(traces)), folder / "out", quick=True, workers=1)
        cities.open_city.cache_clear()
    return found


def test_a_study_writes_its_figures_records_and_report(made: Study) -> None:
    for name in [*FIGURES, "map"]:
        for kind in ("png", "svg"):
            assert (made.folder / f"{name}.{kind}").stat().st_size > 1000
    records = json.loads((made.folder / "results.json").read_text(encoding="utf-8"))
    assert len(records) == len(made.records)
    assert {record["figure"] for record in records} == set(FIGURES)
    assert (made.folder / "report.html").read_text(encoding="utf-8").count("<svg") >= len(FIGURES)


def test_every_record_has_finite_numbers_within_its_interval(made: Study) -> None:
    for record in made.records:
        assert np.isfinite([record.value, record.ci_low, record.ci_high]).all()
        assert record.ci_low <= record.value <= record.ci_high
        assert record.n >= 1


def test_the_papers_printed_values_stand_beside_ours(made: Study) -> None:
    printed = {(r.figure, r.label, r.method): r.paper for r in made.records if r.paper is not None}
    assert printed["two-targets", "dense target", "none"] == 0.329
    assert printed["two-targets", "dense target", "algorithm-2"] == 0.217
    assert printed["two-targets", "sparser target", "algorithm-2"] == 0.145
    assert all(record.paper_source for record in made.records if record.paper is not None)


def test_every_single_target_is_in_the_report(made: Study) -> None:
    ranks = {r.extra["rank"] for r in made.records if r.figure == "densest" and r.method == "crowdveil"}
    assert ranks == set(range(21))


def test_a_claim_is_decided_by_the_records_alone(made: Study) -> None:
    """Records in which Laplace wins everywhere turn the claims about it around; few seeds leave them open."""

    def about_laplace(records: list[Record]) -> list[str]:
        claims = claims_of("new-york", records)
        return [claim.verdict for claim in claims if "lies above planar Laplace" in claim.text]

    def laplace_at(records: list[Record], value: float) -> list[Record]:
        made = []
        for record in records:
            values = [value] * len(record.extra["values"]) if record.method == "laplace" else record.extra["values"]
            made.append(replace(record, value=float(np.mean(values)), extra={**record.extra, "values": values}))
        return made

    compared = [r for r in made.records if "values" in r.extra]
    # As if each seed had been five alike, because two decide nothing.
    enough = [replace(r, n=5 * r.n, extra={**r.extra, "values": 5 * r.extra["values"]}) for r in compared]
    assert about_laplace(laplace_at(enough, -0.1)) == ["holds"] * 6
    assert about_laplace(laplace_at(enough, 1.0)) == ["does not hold"] * 6
    assert about_laplace(laplace_at(compared, 1.0)) == ["too few seeds to decide"] * 6


def test_the_attacker_never_exceeds_the_bound(made: Study) -> None:
    found = [r for r in made.records if r.figure == "attackers" and r.method not in ("bound", "no report")]
    assert len(found) == 12
    assert all(r.ci_high <= r.extra["bound"] for r in found)


def test_an_attack_on_a_policy_that_is_not_private_enough_is_noticed() -> None:
    """Held against the bound of a smaller ε than its own, a tight policy is found out."""
    dataset = small_dataset()
    prior = np.full(len(dataset.area), 1 / len(dataset.area))
    policy = optimal_policy(dataset.area, prior, [5], epsilon_per_km=2.0, beta=0.01)
    _attack(policy, prior, guess_bounds(dataset.area, prior, 2.0), 1)
    with pytest.raises(NotPrivateError, match="above the bound"):
        _attack(policy, prior, guess_bounds(dataset.area, prior, 1.0), 1)


def test_the_best_guess_after_a_hit_is_the_target_at_its_bound() -> None:
    """Theorem 1: where nothing saturates, the target's posterior is exactly what ε allows."""
    dataset = small_dataset()
    prior = np.full(len(dataset.area), 1 / len(dataset.area))
    policy = optimal_policy(dataset.area, prior, [5], epsilon_per_km=2.0, beta=0.01)
    guess, chance = best_guesses(policy, prior)
    assert guess[0] == 5
    assert isclose(chance[0], guess_bounds(dataset.area, prior, 2.0)[5], rel_tol=1e-5)


def test_a_study_goes_on_where_it_was_interrupted(made: Study, tmp_path: Path) -> None:
    """With all cases kept, a second run simulates nothing and finds the same."""
    kept = (made.folder / "cases.jsonl").read_text(encoding="utf-8")
    (tmp_path / "cases.jsonl").write_text(kept, encoding="utf-8")
    traces = tmp_path / "traces.txt"
    traces.write_text("stands for New York", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(cities._RECIPES, "new-york", lambda _, offset: small_dataset(offset))
        patch.setattr(study, "QUICK", SMALL)
        patch.setattr("crowdveil.paper.runner.run_case", lambda *_: pytest.fail("ran a case again"))
        cities.open_city.cache_clear()
        again = run_study(CitySource("new-york", str(traces)), tmp_path, quick=True, workers=1)
        cities.open_city.cache_clear()
    measures = ("coverage", "coverage_lost", "divergence_nats")
    simulated = [r for r in made.records if r.measure in measures]
    assert [r for r in again.records if r.measure in measures] == simulated


def test_records_read_back_as_they_were_written(made: Study, tmp_path: Path) -> None:
    assert read_records(made.folder / "results.json") == made.records
    bad = tmp_path / "results.json"
    for text, said in (("[{}]", "should have the fields"), ("{", "is no list of records"), ("3", "is no list")):
        bad.write_text(text, encoding="utf-8")
        with pytest.raises(FileFormatError, match=said):
            read_records(bad)
