"""Running and resuming the cases of a study."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import numpy as np
import pytest

from crowdveil.paper import cases, runner
from crowdveil.paper.cases import Case, CaseResult, run_case
from crowdveil.paper.cities import CitySource
from crowdveil.paper.runner import digest_of, run_cases
from tests.simulate.small import small_dataset


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "open_city", lambda _, offset=0: small_dataset(offset))


def source(folder: Path, text: str = "traces") -> CitySource:
    file = folder / "traces.txt"
    file.write_text(text, encoding="utf-8")
    return CitySource("new-york", str(file))


def case(seeds: tuple[int, int] = (0, 3), **more: object) -> Case:
    target = (int(small_dataset().densest[0]),)
    asked = {"method": "laplace", "profile": "poisson", "rule": "random", "delta": 0.7, **more}
    return Case("f", "l", 0, target, epsilon_per_km=log(4), seeds=seeds, **asked)  # type: ignore[arg-type]


def test_a_case_gives_one_number_per_seed_and_the_same_ones_again(tmp_path: Path) -> None:
    where = source(tmp_path)
    first = run_case(where, case())
    assert len(first.coverage) == len(first.selected) == 3
    assert first == run_case(where, case())
    assert np.isfinite(first.coverage).all()


def test_seeds_can_be_split_over_cases_without_changing_them(tmp_path: Path) -> None:
    where = source(tmp_path)
    whole = run_case(where, case((0, 4), method="crowdveil", rounds=3))
    parts = [run_case(where, case((a, a + 2), method="crowdveil", rounds=3)) for a in (0, 2)]
    assert whole.coverage == parts[0].coverage + parts[1].coverage


def test_what_is_finished_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where, asked = source(tmp_path), [case(), case(delta=0.6)]
    first = run_cases(where, asked[:1], tmp_path, workers=1)
    ran: list[Case] = []

    def watch(place: CitySource, one: Case) -> CaseResult:
        ran.append(one)
        return run_case(place, one)

    monkeypatch.setattr(runner, "run_case", watch)
    told: list[tuple[int, int]] = []
    both = run_cases(where, asked, tmp_path, lambda done, total: told.append((done, total)), workers=1)
    assert ran == asked[1:]
    assert both[0] == first[0]
    assert told == [(1, 2), (2, 2)]


def test_many_seeds_are_run_in_portions_that_join_to_the_same_result(tmp_path: Path) -> None:
    where, long = source(tmp_path), case((0, 23))
    (result,) = run_cases(where, [long], tmp_path, workers=1)
    assert result == run_case(where, long)
    assert len((tmp_path / "cases.jsonl").read_text(encoding="utf-8").splitlines()) == 3


def test_figures_share_the_cases_they_have_in_common(tmp_path: Path) -> None:
    one = case()
    other = Case(**{**one.to_json(), "figure": "g", "label": "m"})
    results = run_cases(source(tmp_path), [one, other], tmp_path, workers=1)
    assert results[0] == results[1]
    assert len((tmp_path / "cases.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    where = source(tmp_path)
    right = run_cases(where, [case()], tmp_path, workers=1)
    kept = tmp_path / "cases.jsonl"
    kept.write_text(kept.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    assert run_cases(where, [case()], tmp_path, workers=1) == right
    assert json.loads(kept.read_text(encoding="utf-8").splitlines()[-1])["result"]["coverage"] == list(
        right[0].coverage
    )


def test_other_traces_are_other_cases(tmp_path: Path) -> None:
    first = digest_of(source(tmp_path))
    assert first != digest_of(source(tmp_path, "other traces"))
    run_cases(source(tmp_path), [case()], tmp_path, workers=1)
    run_cases(source(tmp_path, "other traces"), [case()], tmp_path, workers=1)
    assert len((tmp_path / "cases.jsonl").read_text(encoding="utf-8").splitlines()) == 2
