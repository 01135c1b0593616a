"""Draw the visits of people in a synthetic city: homes, work and leisure, with realistic habits.

It imitates statistics of New York check-ins: the most visited of a user's 1 km cells has about 28 % of the visits, the
next two 14 % and 8 %; there are some 30 cells per user; the median user has 5 visits a week and one user in a hundred
six times as many; many users become less active and stop. Homes lie in districts, work near the centre and near home,
leisure near home; people go out in the evening and at weekends. Every draw comes from the generator that is passed in:
the same seed gives the same population.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crowdveil.area import Plane
from crowdveil.area.plane import check_degrees, degrees_to_e7
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.errors import InputError
from crowdveil.traces.visits import Visits

DAY_S = 86_400
MONDAY_S = 1_704_067_200
"""2024-01-01 00:00 on the local clock: the first of the weeks."""
DISTRICTS = 7
OFFICES = 150
VENUES = 600
FAVOURITES = 12
USERS_AT_ONCE = 4_000
"""Limits the memory of the choice among offices and venues."""

VISITS_PER_WEEK = 5.0
ACTIVITY_SPREAD = 0.75
"""Standard deviation of the logarithm of a user's visits per week."""
STOPPING = 0.35
"""Share of the users who stop before the end."""
COMMUTE_KM, OUTING_KM = 5.0, 2.5
"""Distance over which the attraction of a workplace or a venue falls by the factor e."""
HOME, WORK, FAVOURITE, ELSEWHERE = range(4)
WEEKDAY_SHARES = np.cumsum([0.15, 0.36, 0.34, 0.15])
WEEKEND_SHARES = np.cumsum([0.24, 0.03, 0.50, 0.23])
HOURS = np.array([[20.0, 3.0], [10.0, 2.5], [18.0, 3.5], [16.0, 4.0]])
"""Mean and spread of the time of day at each kind of place."""


BLOCK_USERS = 20_000
"""People in a block, where there are too many for one table."""


@dataclass(frozen=True)
class _CityMap:
    """Where things are, in km east and north of the centre."""

    districts: FloatArray
    people: FloatArray
    """Share of the people who live in each district."""
    offices: FloatArray
    jobs: FloatArray
    venues: FloatArray
    pull: FloatArray


@dataclass(frozen=True)
class _Population:
    """A city, and where its people live, work and go out."""

    city: _CityMap
    homes: FloatArray
    work: IntArray
    favourites: IntArray


def synthetic_visits(
    seed: np.random.Generator | int,
    *,
    users: int,
    weeks: int,
    latitude: float = 48.0,
    longitude: float = 11.0,
    radius_km: float = 8.0,
    offset_s: int = 3600,
    visits_per_week: float = VISITS_PER_WEEK,
) -> Visits:
    """Make visits of a synthetic city in the weeks from Monday 2024-01-01.

    Args:
        seed: A whole number, or a NumPy generator; the same seed gives the same visits.
        users: How many people.
        weeks: How many weeks.
        latitude: Degrees north of the city's centre.
        longitude: Degrees east of the city's centre.
        radius_km: Nearly all visits lie within so many kilometres of the centre.
        offset_s: Local time minus UTC, in seconds.
        visits_per_week: Of the median user; check-ins have about 5, call logs several a day.

    >>> synthetic_visits(1, users=20, weeks=4)
    Visits(412 of 20 users)
    """
    generator = np.random.default_rng(seed)
    settings = CitySettings(weeks, latitude, longitude, radius_km, offset_s, visits_per_week)
    _check(users=users)
    return _visits(generator, _lay_out(generator, users, radius_km), settings, range(users), users)


@dataclass(frozen=True)
class CitySettings:
    """Settings of a synthetic city that apply to all of its people."""

    weeks: int
    latitude: float = 48.0
    longitude: float = 11.0
    radius_km: float = 8.0
    offset_s: int = 3600
    visits_per_week: float = VISITS_PER_WEEK

    def __post_init__(self) -> None:
        _check(weeks=self.weeks, radius_km=self.radius_km)
        if not 0 < self.visits_per_week <= 1000:
            raise InputError("visits_per_week", self.visits_per_week, "should lie above 0 and be at most 1000")


@dataclass(frozen=True)
class SyntheticCity:
    """A city like that of `synthetic_visits` for any number of people, drawn one block of people at a time.

    The city is drawn from the generator seeded with [seed], block k of its people from [seed, k], so that any block can
    be drawn alone, in any order and in any process.
    """

    seed: int
    users: int
    settings: CitySettings
    block_users: int = BLOCK_USERS

    def __post_init__(self) -> None:
        _check(users=self.users, block_users=self.block_users)

    def __len__(self) -> int:
        """Return the number of blocks."""
        return -(-self.users // self.block_users)

    def __iter__(self) -> Iterator[Visits]:
        return (self.block(number) for number in range(len(self)))

    def block(self, number: int) -> Visits:
        """Draw the visits of one block of people; their names are numbered through all blocks."""
        radius_km = self.settings.radius_km
        city = _lay_out(np.random.default_rng([self.seed]), 1, radius_km).city
        generator = np.random.default_rng([self.seed, number])
        first = number * self.block_users
        who = range(first, min(first + self.block_users, self.users))
        return _visits(generator, _lay_out(generator, len(who), radius_km, city), self.settings, who, self.users)


def _visits(
    generator: np.random.Generator, population: _Population, settings: CitySettings, who: range, of_users: int
) -> Visits:
    plane = _plane_at(settings.latitude, settings.longitude)
    user, day = _days(generator, len(who), settings.weeks, settings.visits_per_week)
    kind = _kinds(generator, day)
    xy_km = _places(generator, population, user, kind) + generator.normal(0, 0.03, (len(user), 2))
    hour = np.mod(HOURS[kind, 0] + HOURS[kind, 1] * generator.standard_normal(len(user)), 24)
    local_s = MONDAY_S + day * DAY_S + np.floor(hour * 3600).astype(np.int64)
    lat, lon = plane.to_degrees(1000 * xy_km[:, 0], 1000 * xy_km[:, 1])
    names = tuple(f"{number:0{len(str(of_users - 1))}}" for number in who)
    return Visits(names, user, local_s - settings.offset_s, np.full(len(user), settings.offset_s), lat, lon)


def tower_positions(
    generator: np.random.Generator,
    *,
    towers: int,
    latitude: float = 48.0,
    longitude: float = 11.0,
    radius_km: float = 8.0,
    apart_km: float = 0.3,
) -> tuple[FloatArray, FloatArray]:
    """Draw latitudes and longitudes of towers, denser towards the centre, no two nearer than `apart_km`."""
    _check(towers=towers, radius_km=radius_km)
    if not 0 <= apart_km * np.sqrt(towers) <= radius_km:
        raise InputError(
            "apart_km", apart_km, f"should be at most {radius_km / np.sqrt(towers):.3g}, so that all towers fit"
        )
    xy_km = np.empty((towers, 2))
    placed = 0
    while placed < towers:
        angle, distance_km = generator.uniform(0, 2 * np.pi), radius_km * generator.uniform() ** 0.75
        place = distance_km * np.array([np.cos(angle), np.sin(angle)])
        if np.all(np.linalg.norm(xy_km[:placed] - place, axis=1) >= apart_km):
            xy_km[placed] = place
            placed += 1
    plane = _plane_at(latitude, longitude)
    return plane.to_degrees(1000 * xy_km[:, 0], 1000 * xy_km[:, 1])


def _check(**numbers: float) -> None:
    for name, value in numbers.items():
        if name == "radius_km":
            if not 0.5 <= value <= 300:
                raise InputError(name, value, "should lie between 0.5 and 300")
        elif not (1 <= value < np.inf and value == np.floor(value)):
            raise InputError(name, value, "should be a whole number, at least 1")


def _plane_at(latitude: float, longitude: float) -> Plane:
    check_degrees(latitude, longitude)
    return Plane(degrees_to_e7(latitude), degrees_to_e7(longitude))


def _lay_out(generator: np.random.Generator, users: int, radius_km: float, city: _CityMap | None = None) -> _Population:
    """Draw the people, and the city around them unless it is given."""
    # nearly all of a Gaussian lies within 2.5 standard deviations
    districts = generator.uniform(-0.55, 0.55, (DISTRICTS, 2)) * radius_km if city is None else city.districts
    people = generator.dirichlet(np.full(DISTRICTS, 2.0)) if city is None else city.people
    homes = districts[generator.choice(DISTRICTS, users, p=people)] + generator.normal(0, radius_km / 7, (users, 2))
    if city is None:
        offices = generator.normal(0, radius_km / 5, (OFFICES, 2))
        nearby = districts[generator.integers(0, DISTRICTS, VENUES)]
        venues = nearby * generator.uniform(0, 1, (VENUES, 1)) + generator.normal(0, radius_km / 10, (VENUES, 2))
        pull = generator.permutation(1 / np.arange(1, VENUES + 1) ** 0.7)
        jobs = generator.permutation(1 / np.arange(1, OFFICES + 1) ** 0.7)
        city = _CityMap(districts, people, offices, jobs, venues, pull)
    work = _choose(generator, homes, city.offices, city.jobs, COMMUTE_KM, 1)[:, 0]
    favourites = _choose(generator, homes, city.venues, city.pull, OUTING_KM, FAVOURITES)
    return _Population(city, homes, work, favourites)


def _choose(
    generator: np.random.Generator, homes: FloatArray, places: FloatArray, pull: FloatArray, reach_km: float, many: int
) -> IntArray:
    """Draw `many` different places for each home with weights pull · exp(-distance / reach), by the Gumbel trick."""
    chosen = []
    for start in range(0, len(homes), USERS_AT_ONCE):
        some = homes[start : start + USERS_AT_ONCE]
        distance_km = np.hypot(some[:, :1] - places[:, 0], some[:, 1:] - places[:, 1])
        score = np.log(pull) - distance_km / reach_km - np.log(generator.standard_exponential(distance_km.shape))
        best = np.argpartition(-score, many - 1, axis=1)[:, :many]
        order = np.argsort(-np.take_along_axis(score, best, axis=1), axis=1)
        chosen.append(np.take_along_axis(best, order, axis=1))
    return np.concatenate(chosen).astype(np.int64)


def _days(generator: np.random.Generator, users: int, weeks: int, visits_per_week: float) -> tuple[IntArray, IntArray]:
    """Draw user and day of each visit: a heavy-tailed activity that decreases and, for many users, stops."""
    per_week = visits_per_week * np.exp(ACTIVITY_SPREAD * generator.standard_normal(users))
    stops = generator.uniform(size=users) < STOPPING
    days = 7 * weeks
    active = np.where(stops, np.ceil(days * generator.uniform(0.15, 1.0, users)), days)
    count = generator.poisson(per_week * active / 7)
    user = np.repeat(np.arange(users), count)
    # a power above 1 makes early days more frequent: activity decreases with time
    fading = generator.uniform(1.0, 1.8, users)
    day = np.floor(active[user] * generator.uniform(size=len(user)) ** fading[user])
    return user.astype(np.int64), day.astype(np.int64)


def _kinds(generator: np.random.Generator, day: IntArray) -> IntArray:
    draw = generator.uniform(size=len(day))
    weekday, weekend = (np.searchsorted(shares[:-1], draw) for shares in (WEEKDAY_SHARES, WEEKEND_SHARES))
    return np.where(day % 7 >= 5, weekend, weekday).astype(np.int64)


def _places(generator: np.random.Generator, population: _Population, user: IntArray, kind: IntArray) -> FloatArray:
    ranks = 1 / np.arange(1, FAVOURITES + 1)
    rank = generator.choice(FAVOURITES, len(user), p=ranks / ranks.sum())
    anywhere = generator.choice(VENUES, len(user), p=population.city.pull / population.city.pull.sum())
    options = [
        population.homes[user],
        population.city.offices[population.work[user]],
        population.city.venues[population.favourites[user, rank]],
        population.city.venues[anywhere],
    ]
    xy_km: FloatArray = np.choose(kind[:, None], options)
    return xy_km
