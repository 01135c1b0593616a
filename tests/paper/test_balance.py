"""The figure of who covers which target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from crowdveil.paper import cities
from crowdveil.paper.balance_claims import GOALS, balance_claims
from crowdveil.paper.cases import Case, CaseResult, run_case
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures import QUICK, balance
from crowdveil.paper.runner import run_cases
from crowdveil.plots.charts import draw
from crowdveil.plots.report import FAILS, HOLDS, UNDECIDED
from crowdveil.simulate.records import Record
from tests.simulate.small import small_dataset

SOURCE = CitySource("gowalla", "nowhere")
SMALL = replace(QUICK, loss_seeds=2, balance_targets=(2, 4, 90))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(cities._RECIPES, "gowalla", lambda _, offset: small_dataset(offset))
    cities.open_city.cache_clear()
    yield
    cities.open_city.cache_clear()


@cache
def finished() -> list[tuple[Case, CaseResult]]:
    return [(case, run_case(SOURCE, case)) for case in balance.cases(SOURCE, SMALL)]


def made() -> list[Record]:
    return balance.records(SOURCE, finished())


def test_all_methods_of_a_seed_share_its_targets_and_fewer_are_among_more() -> None:
    by_setting: dict[tuple[int, tuple[int, int]], set[tuple[int, ...]]] = {}
    for case in balance.cases(SOURCE, SMALL):
        by_setting.setdefault((len(case.targets), case.seeds), set()).add(case.targets)
    assert all(len(found) == 1 for found in by_setting.values())
    assert {many for many, _ in by_setting} == {2, 4}, "a crowd of 150 is too small for 90 targets"
    for seed in ((0, 1), (1, 2)):
        (few,), (more,) = by_setting[2, seed], by_setting[4, seed]
        assert set(few) < set(more) <= set(small_dataset().densest[: balance.DENSEST].tolist())


def test_there_is_a_record_for_every_measure_method_and_number_of_targets() -> None:
    found = {(r.measure, r.method, r.targets): r for r in made()}
    methods = {*balance.METHODS, "each-protected"}
    assert set(found) == {(f"{m}_share", method, z) for m in balance.MEASURES for method in methods for z in (2, 4)}
    for record in found.values():
        assert record.ci_low <= record.value == pytest.approx(np.mean(record.extra["values"]))
        assert record.n == 2
    one = next(result for case, result in finished() if case.method == "each" and len(case.targets) == 4)
    assert found["visitors_share", "each", 4].extra["values"][0] == one.balance[0].visitors / 12


def test_finished_cases_are_read_back_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "traces").touch()
    source = replace(SOURCE, data=str(tmp_path / "traces"))
    cases = [case for case in balance.cases(source, SMALL) if case.method in ("any", "none")][:4]
    first, again = (run_cases(source, cases, tmp_path, workers=1) for _ in range(2))
    assert [asdict(one) for one in first] == [asdict(one) for one in again]
    assert len((tmp_path / "cases.jsonl").read_text(encoding="utf-8").splitlines()) == 4


def test_goals_are_decided_by_the_records_of_each_against_its_peers() -> None:
    def verdicts(level: float, times: int) -> list[str]:
        changed = []
        for record in made():
            values = times * [level if record.method == "each" else 1.0] * 2
            changed.append(replace(record, n=len(values), extra={**record.extra, "values": values}))
        return [claim.verdict for claim in balance_claims(changed)]

    assert verdicts(2.1, 5) == [HOLDS] * len(GOALS)
    assert verdicts(1.5, 5) == [FAILS, HOLDS, HOLDS, HOLDS, HOLDS]
    assert verdicts(0.8, 5) == [FAILS, HOLDS, FAILS, FAILS, FAILS]
    assert verdicts(2.1, 1) == [UNDECIDED] * len(GOALS)
    assert balance_claims([]) == []


def test_the_figure_has_a_panel_for_every_measure() -> None:
    figure = draw(balance.SPEC, made())
    assert len(figure.axes) == len(balance.MEASURES)


def test_the_synthetic_city_has_as_many_people_as_asked() -> None:
    dataset = open_city(CitySource("synthetic-city", users=60))
    assert dataset.counts.users == 60
    assert (len(dataset.split.train), len(dataset.split.test)) == (20, 4)
