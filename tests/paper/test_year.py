"""The study of a year: what its records mean, what is claimed, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from crowdveil.errors import InputError
from crowdveil.paper import communities, year_study
from crowdveil.paper.cities import CitySource
from crowdveil.paper.communities import Studied, open_community
from crowdveil.paper.year_claims import CLEAR, PROTECTED, year_claims
from crowdveil.paper.year_study import (
    EVERY_WEEK,
    YearEffort,
    YearTask,
    YearTaskResult,
    run_year_study,
    tasks_of,
    year_records,
)
from crowdveil.plots.report import FAILS, HOLDS, UNDECIDED
from crowdveil.plots.style import METHODS
from crowdveil.simulate.community import Community
from crowdveil.simulate.records import Record
from crowdveil.simulate.year import YEAR_METHODS
from tests.simulate.small import small_dataset

MEANS = {
    "none": 0.4, "fresh": 0.3, "today": 0.02, "split": 0.08, "panel-once": 0.3, "laplace-once": 0.2,
}  # fmt: skip


def results(
    means: dict[str, float] | None = None, *, protected: bool = False, spread: float = 0.001
) -> dict[YearTask, YearTaskResult]:
    """Eight repetitions of two campaigns with some mean coverage."""
    generator = np.random.default_rng(4)
    found = {}
    for seed in range(8):
        rows = {
            name: (mean + spread * generator.standard_normal(2)).clip(0).tolist()
            for name, mean in (MEANS | (means or {})).items()
        }
        found[YearTask("year", seed, protected)] = YearTaskResult(rows, [3, 3], 2)
    return found


def verdicts(records: list[Record]) -> list[str]:
    return [claim.verdict for claim in year_claims(records)]


def test_a_repetition_is_one_value_and_every_campaign_is_kept() -> None:
    found = results()
    records = year_records("town", found)
    one = next(r for r in records if r.figure == "year-mean" and r.method == "panel-once")
    assert one.n == 8
    assert one.extra["values"] == [np.mean(result.coverage["panel-once"]) for result in found.values()]
    weeks = [r for r in records if r.figure == "year-weeks" and r.method == "panel-once"]
    assert [r.extra["campaign"] for r in weeks] == [1, 2]
    assert weeks[1].extra["values"] == [result.coverage["panel-once"][1] for result in found.values()]


def test_claims_follow_from_the_records_alone() -> None:
    assert verdicts(year_records("town", results())) == [HOLDS] * 4
    assert verdicts(year_records("town", results({"today": 0.05}))) == [FAILS, HOLDS, HOLDS, HOLDS]
    assert verdicts(year_records("town", results({"split": 0.2}))) == [HOLDS, FAILS, HOLDS, HOLDS]
    assert verdicts(year_records("town", results({"laplace-once": 0.28}))) == [HOLDS, HOLDS, FAILS, HOLDS]
    assert verdicts(year_records("town", results({"none": 0.7}))) == [HOLDS, HOLDS, HOLDS, FAILS]
    assert UNDECIDED in verdicts(year_records("town", results(spread=0.2)))


def test_within_the_default_limits_only_panels_of_three_drawings_count() -> None:
    every = results() | results({"today": 0.03, "panel-thrice": 0.2}, protected=True)
    claims = [
        claim for claim in year_claims(year_records("town", every)) if claim.text.startswith(PROTECTED[:6].title())
    ]
    assert [claim.verdict for claim in claims] == [FAILS, HOLDS]
    assert "three times" in claims[0].text
    assert "three times" not in claims[1].text


def test_where_today_covers_nothing_no_ratio_is_made_up() -> None:
    claims = year_claims(year_records("town", results({"today": 0.0}, spread=0.0)))
    assert claims[0].verdict == HOLDS
    assert "which covers nothing" in claims[0].text


def test_every_method_of_a_year_has_a_name_and_a_look() -> None:
    assert set(YEAR_METHODS) <= set(METHODS)


def test_the_synthetic_city_has_half_a_year_to_learn_from_and_half_a_year_of_campaigns() -> None:
    community = open_community(CitySource("synthetic-city", users=60)).community
    assert (community.weeks.start, len(community.weeks)) == (26, 26)
    assert len(community.people) == 60


def test_only_some_cities_have_a_year() -> None:
    with pytest.raises(InputError, match="to study a year"):
        open_community(CitySource("tower-city"))


@pytest.mark.long
def test_a_study_of_a_year_writes_its_figures_records_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = small_dataset()
    small = Studied("A small city", "week", Community.of_counts(dataset.area, dataset.counts, 4))
    monkeypatch.setitem(communities.RECIPES, "new-york", lambda _: small)
    effort = YearEffort(clear=2, protected=1, fading=1, sizes=(60, 120), sized=1)
    monkeypatch.setattr(year_study, "QUICK", effort)
    open_community.cache_clear()
    done: list[tuple[int, int]] = []
    made = run_year_study(
        CitySource("new-york", "FILE"), tmp_path, quick=True, workers=1, progress=lambda *now: done.append(now)
    )
    open_community.cache_clear()
    assert done[-1] == (6, len(tasks_of(effort)))
    for figure in ("year-mean", "year-weeks", "year-fading", "year-sizes"):
        for kind in ("png", "svg"):
            assert (tmp_path / f"{figure}.{kind}").stat().st_size > 1000
    records = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert len(records) == len(made.records)
    methods = {label: {r["method"] for r in records if r["label"] == label} for label in (CLEAR, PROTECTED)}
    assert methods[CLEAR] == set(YEAR_METHODS)
    assert methods[PROTECTED] == set(YEAR_METHODS) - set(EVERY_WEEK)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "crowdveil study new-york --year --data FILE --out FOLDER --quick" in report
    for record in made.records:
        assert 0 <= record.ci_low <= record.value <= record.ci_high <= 1
    assert made.policies > 0
