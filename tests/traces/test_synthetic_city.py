"""The synthetic city behaves like the real one where it matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crowdveil.area import Grid, Towers
from crowdveil.errors import InputError
from crowdveil.traces import Visits, synthetic_visits, tower_positions

WEEK_S = 7 * 86_400


@pytest.fixture(scope="module")
def city() -> Visits:
    return synthetic_visits(np.random.default_rng(5), users=2000, weeks=20)


def cells(visits: Visits) -> Any:
    area = Grid.from_bounds(47.85, 10.78, 48.15, 11.22, cell_km=1.0)
    return area, area.locate(visits.latitude, visits.longitude)


def test_the_same_seed_gives_the_same_city_and_another_seed_another() -> None:
    one, same, other = (synthetic_visits(np.random.default_rng(s), users=50, weeks=2) for s in (1, 1, 2))
    assert np.array_equal(one.latitude, same.latitude)
    assert np.array_equal(one.utc_s, same.utc_s)
    assert len(one) != len(other) or not np.array_equal(one.latitude, other.latitude)


def test_nearly_all_visits_lie_in_the_city_and_all_in_the_weeks(city: Visits) -> None:
    _, cell = cells(city)
    assert (cell >= 0).mean() > 0.98
    day = (city.local_s - 1_704_067_200) // 86_400
    assert 0 <= day.min() <= day.max() == 20 * 7 - 1


def test_favourite_places_take_the_shares_they_take_in_new_york(city: Visits) -> None:
    area, cell = cells(city)
    inside = cell >= 0
    table = np.zeros((len(city.users), len(area)))
    np.add.at(table, (city.user[inside], cell[inside]), 1)
    busy = table[table.sum(axis=1) >= 100]
    shares = -np.sort(-busy, axis=1)[:, :3] / busy.sum(axis=1, keepdims=True)
    first, second, third = np.median(shares, axis=0)
    assert 0.20 < first < 0.36
    assert 0.10 < second < 0.25
    assert 0.05 < third < 0.14


def test_activity_is_heavy_tailed_and_many_stop(city: Visits) -> None:
    count = np.bincount(city.user, minlength=len(city.users))
    assert np.percentile(count, 99) > 4 * np.median(count)
    end = city.utc_s.max()
    last = np.zeros(len(city.users), dtype=np.int64)
    np.maximum.at(last, city.user, city.utc_s)
    silent = (last < end - 2 * WEEK_S).mean()
    assert 0.15 < silent < 0.5


def test_work_is_for_weekdays_and_evenings_are_livelier_than_nights(city: Visits) -> None:
    hour = (city.local_s // 3600) % 24
    weekend = (city.local_s // 86_400 + 3) % 7 >= 5
    assert ((hour >= 8) & (hour < 12))[~weekend].mean() > 1.5 * ((hour >= 8) & (hour < 12))[weekend].mean()
    assert ((hour >= 18) & (hour < 22)).sum() > 3 * ((hour >= 2) & (hour < 6)).sum()


def test_people_work_nearer_to_home_than_strangers_do(city: Visits) -> None:
    middle = np.array(
        [[np.median(column[city.user == user]) for column in (city.latitude, city.longitude)] for user in range(200)]
    )
    place = np.stack([city.latitude, city.longitude], axis=1)
    some = city.user < 200
    own = np.linalg.norm(place[some] - middle[city.user[some]], axis=1).mean()
    strangers = np.linalg.norm(place[some] - middle[(city.user[some] + 1) % 200], axis=1).mean()
    assert own < 0.8 * strangers


def test_towers_fit_the_city(city: Visits) -> None:
    latitude, longitude = tower_positions(np.random.default_rng(1), towers=120)
    area = Towers.from_positions(latitude, longitude)
    assert len(area) == 120
    assert len(np.unique(area.locate(city.latitude, city.longitude))) > 80


@pytest.mark.parametrize(
    "wrong",
    [
        {"users": 0},
        {"weeks": 0},
        {"radius_km": 0.0},
        {"radius_km": 1e4},
        {"users": 1.5},
        {"latitude": np.nan},
        {"weeks": np.inf},
    ],
)
def test_impossible_cities_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        synthetic_visits(np.random.default_rng(1), **{"users": 5, "weeks": 1, **wrong})


def test_towers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="all towers fit"):
        tower_positions(np.random.default_rng(1), towers=1000, radius_km=1.0)
    with pytest.raises(InputError, match="whole number"):
        tower_positions(np.random.default_rng(1), towers=0)


def test_one_user_and_one_week_are_a_city_too() -> None:
    assert synthetic_visits(np.random.default_rng(3), users=1, weeks=1).users == ("0",)
