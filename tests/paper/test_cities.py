"""The cities of the studies."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest

from crowdveil.errors import InputError
from crowdveil.paper import cities as cities
from crowdveil.paper.cases import Case, run_case
from crowdveil.paper.cities import OFFSETS_M, CitySource, offsets, open_city
from crowdveil.traces import Visits, read_cabspotting, synthetic_visits
from tests.profile.people import NEW_YORK, needs_new_york
from tests.simulate.small import small_dataset
from tests.traces.files import real

NEW_YORK_SOURCE = CitySource("new-york", str(NEW_YORK))


def test_coverage_is_the_share_of_test_periods_with_a_visit_to_any_target() -> None:
    dataset = small_dataset()
    targets = tuple(int(cell) for cell in dataset.densest[:2])
    rows = dataset.counts
    for user, share in enumerate(dataset.coverage(targets).tolist()):
        mine = (rows.user == user) & np.isin(rows.cell, targets)
        periods = {period for period in rows.period[mine].tolist() if period in dataset.split.test}
        assert share == len(periods) / len(dataset.split.test)


def test_the_densest_cells_are_found_in_the_training_periods_alone() -> None:
    dataset = small_dataset()
    rows = dataset.counts.during(dataset.split.train)
    visits = np.bincount(rows.cell, rows.visits, minlength=len(dataset.area))
    assert visits[dataset.densest[0]] == visits.max()
    assert (np.diff(visits[dataset.densest]) <= 0).all()


def test_the_tower_city_needs_no_file_and_is_the_same_every_time() -> None:
    dataset = open_city(CitySource("tower-city"))
    assert (len(dataset.area), dataset.counts.users) == (250, 5378)
    assert (len(dataset.split.train), len(dataset.split.test)) == (9, 1)
    assert offsets("tower-city") == 1
    open_city.cache_clear()
    assert open_city(CitySource("tower-city")).counts.visits.sum() == dataset.counts.visits.sum()


def test_call_logs_are_read_where_somebody_has_them(tmp_path: Path) -> None:
    (tmp_path / "towers.csv").write_text("id,lat,lon\na,5.30,-4.00\nb,5.31,-4.01\nc,5.33,-4.02\n", encoding="utf-8")
    calls = [
        f"{user},2012-04-{day:02d} {hour:02d}:10:00,{'abc'[(user + (hour > 15)) % 3]}"
        for user in range(20)
        for day in range(2, 14)
        for hour in (8, 9, 12, 18)
    ]
    (tmp_path / "calls.csv").write_text("\n".join(calls) + "\n", encoding="utf-8")
    dataset = open_city(CitySource("tower-city", str(tmp_path / "calls.csv"), str(tmp_path / "towers.csv")))
    assert (len(dataset.area), dataset.counts.users, dataset.title) == (3, 20, "Call logs by tower")
    assert dataset.counts.periods.start.isoformat() == "2012-04-02"


def test_what_is_missing_is_named() -> None:
    with pytest.raises(
        InputError, match="should be one of new-york, gowalla, san-francisco, tower-city, synthetic-city, own"
    ):
        open_city(CitySource("atlantis"))
    with pytest.raises(InputError, match="the study new-york needs its traces"):
        open_city(CitySource("new-york"))
    with pytest.raises(InputError, match="tower positions"):
        open_city(CitySource("tower-city", "calls.csv"))


def test_own_traces_are_cut_as_compare_cuts_them(tmp_path: Path) -> None:
    visits = synthetic_visits(np.random.default_rng(3), users=30, weeks=10)
    rows = [
        f"{user},{utc_s},{latitude},{longitude}"
        for user, utc_s, latitude, longitude in zip(
            visits.user, visits.utc_s, visits.latitude, visits.longitude, strict=True
        )
    ]
    file = tmp_path / "mine.csv"
    file.write_text("\n".join(["who,time,latitude,longitude", *rows]) + "\n", encoding="utf-8")
    columns = (("user", "who"),)
    dataset = open_city(CitySource("own", str(file), zone="Europe/Berlin", columns=columns, cell_km=2.0))
    assert (dataset.name, dataset.title, dataset.counts.users) == ("own", "mine.csv", 30)
    assert (len(dataset.split.train), len(dataset.split.test)) == (9, 1)
    assert dataset.area.nearest_neighbour_km == 2.0
    assert offsets("own") == 1
    daily = open_city(CitySource("own", str(file), zone="Europe/Berlin", columns=columns, period="day"))
    assert len(daily.split.train) + len(daily.split.test) == 70


def test_own_call_logs_are_cut_by_tower(tmp_path: Path) -> None:
    (tmp_path / "towers.csv").write_text("id,lat,lon\na,5.30,-4.00\nb,5.31,-4.01\nc,5.33,-4.02\n", encoding="utf-8")
    calls = [f"{user},2012-04-{day:02d} 08:10:00,{'abc'[user % 3]}" for user in range(9) for day in range(2, 24)]
    (tmp_path / "calls.csv").write_text("\n".join(calls) + "\n", encoding="utf-8")
    dataset = open_city(CitySource("own", str(tmp_path / "calls.csv"), str(tmp_path / "towers.csv")))
    assert (len(dataset.area), dataset.counts.users, len(dataset.counts.periods)) == (3, 9, 3)


@pytest.mark.long
def test_gowalla_is_cut_into_eighteen_weeks_and_the_four_after_them() -> None:
    dataset = open_city(CitySource("gowalla", str(real("gowalla_new_york.txt.gz"))))
    assert dataset.counts.users == 3_949  # of 7,115 in the file
    assert (len(dataset.split.train), len(dataset.split.test)) == (18, 4)
    assert dataset.counts.periods.start.isoformat() == "2010-05-01"
    assert dataset.counts.empty_periods(range(22)) == ()
    assert dataset.half_life.validation.stop <= dataset.split.train.stop


@pytest.mark.long
@needs_new_york
def test_new_york_is_cut_as_the_first_measurements_cut_it() -> None:
    dataset = open_city(NEW_YORK_SOURCE)
    assert (len(dataset.area), dataset.counts.users) == (204, 1083)
    assert dataset.half_life.half_life_periods == 4
    assert dataset.half_life.validation.stop <= dataset.split.train.stop


@pytest.mark.long
@needs_new_york
def test_the_grid_can_be_shifted() -> None:
    cities = [open_city(NEW_YORK_SOURCE, offset) for offset in range(len(OFFSETS_M))]
    assert len({dataset.area for dataset in cities}) == len(OFFSETS_M)
    assert {dataset.half_life.half_life_periods for dataset in cities} == {4}


@pytest.mark.long
@needs_new_york
@pytest.mark.parametrize(("method", "first_measured"), [("none", 0.32), ("algorithm-1", 0.215), ("laplace", 0.17)])
def test_new_york_gives_the_first_measurements_again(method: str, first_measured: float) -> None:
    """Dense target, π known, ε = ln 4 per km, δ = 0.7: 100 seeds have a standard error of 0.8 points."""
    target = (int(open_city(NEW_YORK_SOURCE).densest[0]),)
    seeds = (0, 100)
    case = Case("f", "l", 0, target, method, "poisson", "random", log(4), 0.7, seeds)  # type: ignore[arg-type]
    found = np.mean(run_case(NEW_YORK_SOURCE, case).coverage)
    assert found == pytest.approx(first_measured, abs=0.025)


@pytest.mark.long
def test_san_francisco_has_the_published_cabs_on_seventeen_weekdays(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Visits] = []

    def read_once(path: str) -> Visits:
        read.append(read_cabspotting(path))
        return read[-1]

    monkeypatch.setattr(cities, "read_cabspotting", read_once)
    dataset = open_city(CitySource("san-francisco", str(real("cabspotting_5min.csv.xz"))))
    assert dataset.counts.users == 537
    assert (len(dataset.split.train), len(dataset.split.test)) == (13, 4)
    assert dataset.counts.empty_periods(range(17)) == ()

    (visits,) = read
    assert len(visits) + sum(visits.dropped.values()) == 2_258_536
    assert len(visits.users) == 537
    assert set(visits.offset_s.tolist()) == {-7 * 3600}
    days = np.array([visits.utc_s.min(), visits.utc_s.max()]).astype("datetime64[s]").astype("datetime64[D]")
    assert [str(day) for day in days] == ["2008-05-17", "2008-06-10"]
