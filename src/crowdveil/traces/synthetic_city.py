"""A synthetic city: homes, work and leisure, with the habits that matter for predicting who comes back.

What it imitates was measured on New York check-ins: the busiest of a user's 1 km cells holds about 28 % of the visits,
the next two 14 % and 8 %; some 30 cells per user; the median user has 5 visits a week and one in a hundred six times as
many; many slow down and stop. Homes lie in districts, work near the centre and near home, leisure near home; people go
out in the evening and at weekends. Every draw comes from the generator passed in: the same seed, the same city.
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
"""Bounds the memory of the choice among offices and venues."""

VISITS_PER_WEEK = 5.0
ACTIVITY_SPREAD = 0.75
"""Of the logarithm of a user's visits per week."""
STOPPING = 0.35
"""Share of the users who stop before the end."""
COMMUTE_KM, OUTING_KM = 5.0, 2.5
"""Distance over which the pull of a workplace or a venue falls by e."""
HOME, WORK, FAVOURITE, ELSEWHERE = range(4)
WEEKDAY_SHARES = np.cumsum([0.15, 0.36, 0.34, 0.15])
WEEKEND_SHARES = np.cumsum([0.24, 0.03, 0.50, 0.23])
HOURS = np.array([[20.0, 3.0], [10.0, 2.5], [18.0, 3.5], [16.0, 4.0]])
"""Mean and spread of the time of day at each kind of place."""


BLOCK_USERS = 20_000
"""People whose visits are made at once where there are too many for one table."""


@dataclass(frozen=True)
class _CityLayout:
    """Where things are, in km east and north of the centre, whoever lives there."""

    districts: FloatArray
    people: FloatArray
    """Share of the people who live in each district."""
    offices: FloatArray
    jobs: FloatArray
    venues: FloatArray
    pull: FloatArray


@dataclass(frozen=True)
class _Map:
    """A town, and where its people live, work and go out."""

    town: _CityLayout
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
    habits = Habits(weeks, latitude, longitude, radius_km, offset_s, visits_per_week)
    _check(users=users)
    return _visits(generator, _lay_out(generator, users, radius_km), habits, range(users), users)


@dataclass(frozen=True)
class Habits:
    """What all people of a city have in common."""

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
    """The like of `synthetic_visits` for any number of people, made a block of them at a time; all live in one town.

    The town is drawn from the generator seeded with [seed], block k of its people from [seed, k]: any block can be made
    alone, in any order and in any process.
    """

    seed: int
    users: int
    habits: Habits
    block_users: int = BLOCK_USERS

    def __post_init__(self) -> None:
        _check(users=self.users, block_users=self.block_users)

    def __len__(self) -> int:
        """How many blocks there are."""
        return -(-self.users // self.block_users)

    def __iter__(self) -> Iterator[Visits]:
        return (self.block(number) for number in range(len(self)))

    def block(self, number: int) -> Visits:
        """The visits of one block of people; their names are numbered through all blocks."""
        radius_km = self.habits.radius_km
        town = _lay_out(np.random.default_rng([self.seed]), 1, radius_km).town
        generator = np.random.default_rng([self.seed, number])
        first = number * self.block_users
        who = range(first, min(first + self.block_users, self.users))
        return _visits(generator, _lay_out(generator, len(who), radius_km, town), self.habits, who, self.users)


def _visits(generator: np.random.Generator, city: _Map, habits: Habits, who: range, of_users: int) -> Visits:
    plane = _plane_at(habits.latitude, habits.longitude)
    user, day = _days(generator, len(who), habits.weeks, habits.visits_per_week)
    kind = _kinds(generator, day)
    xy_km = _places(generator, city, user, kind) + generator.normal(0, 0.03, (len(user), 2))
    hour = np.mod(HOURS[kind, 0] + HOURS[kind, 1] * generator.standard_normal(len(user)), 24)
    local_s = MONDAY_S + day * DAY_S + np.floor(hour * 3600).astype(np.int64)
    lat, lon = plane.to_degrees(1000 * xy_km[:, 0], 1000 * xy_km[:, 1])
    names = tuple(f"{number:0{len(str(of_users - 1))}}" for number in who)
    return Visits(names, user, local_s - habits.offset_s, np.full(len(user), habits.offset_s), lat, lon)


def tower_positions(
    generator: np.random.Generator,
    *,
    towers: int,
    latitude: float = 48.0,
    longitude: float = 11.0,
    radius_km: float = 8.0,
    apart_km: float = 0.3,
) -> tuple[FloatArray, FloatArray]:
    """Latitudes and longitudes of towers, denser towards the centre, no two nearer than `apart_km`."""
    _check(towers=towers, radius_km=radius_km)
    if not 0 <= apart_km * np.sqrt(towers) <= radius_km:
        raise InputError(
            "apart_km", apart_km, f"should be at most {radius_km / np.sqrt(towers):.3g}, or they do not fit"
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
            raise InputError(name, value, "should be a whole number from 1")


def _plane_at(latitude: float, longitude: float) -> Plane:
    check_degrees(latitude, longitude)
    return Plane(degrees_to_e7(latitude), degrees_to_e7(longitude))


def _lay_out(generator: np.random.Generator, users: int, radius_km: float, town: _CityLayout | None = None) -> _Map:
    """People, and the town around them unless there is one already."""
    # nearly all of a Gaussian lies within 2.5 of its spreads
    districts = generator.uniform(-0.55, 0.55, (DISTRICTS, 2)) * radius_km if town is None else town.districts
    people = generator.dirichlet(np.full(DISTRICTS, 2.0)) if town is None else town.people
    homes = districts[generator.choice(DISTRICTS, users, p=people)] + generator.normal(0, radius_km / 7, (users, 2))
    if town is None:
        offices = generator.normal(0, radius_km / 5, (OFFICES, 2))
        nearby = districts[generator.integers(0, DISTRICTS, VENUES)]
        venues = nearby * generator.uniform(0, 1, (VENUES, 1)) + generator.normal(0, radius_km / 10, (VENUES, 2))
        pull = generator.permutation(1 / np.arange(1, VENUES + 1) ** 0.7)
        jobs = generator.permutation(1 / np.arange(1, OFFICES + 1) ** 0.7)
        town = _CityLayout(districts, people, offices, jobs, venues, pull)
    work = _choose(generator, homes, town.offices, town.jobs, COMMUTE_KM, 1)[:, 0]
    favourites = _choose(generator, homes, town.venues, town.pull, OUTING_KM, FAVOURITES)
    return _Map(town, homes, work, favourites)


def _choose(
    generator: np.random.Generator, homes: FloatArray, places: FloatArray, pull: FloatArray, reach_km: float, many: int
) -> IntArray:
    """`many` different places for each home, without replacement by pull · exp(-distance / reach): Gumbel's way."""
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
    """User and day of each visit: heavy-tailed activity that fades, and for many stops."""
    per_week = visits_per_week * np.exp(ACTIVITY_SPREAD * generator.standard_normal(users))
    stops = generator.uniform(size=users) < STOPPING
    days = 7 * weeks
    active = np.where(stops, np.ceil(days * generator.uniform(0.15, 1.0, users)), days)
    count = generator.poisson(per_week * active / 7)
    user = np.repeat(np.arange(users), count)
    # a power above 1 puts more of the days early: the novelty wears off
    fading = generator.uniform(1.0, 1.8, users)
    day = np.floor(active[user] * generator.uniform(size=len(user)) ** fading[user])
    return user.astype(np.int64), day.astype(np.int64)


def _kinds(generator: np.random.Generator, day: IntArray) -> IntArray:
    draw = generator.uniform(size=len(day))
    weekday, weekend = (np.searchsorted(shares[:-1], draw) for shares in (WEEKDAY_SHARES, WEEKEND_SHARES))
    return np.where(day % 7 >= 5, weekend, weekday).astype(np.int64)


def _places(generator: np.random.Generator, city: _Map, user: IntArray, kind: IntArray) -> FloatArray:
    ranks = 1 / np.arange(1, FAVOURITES + 1)
    rank = generator.choice(FAVOURITES, len(user), p=ranks / ranks.sum())
    anywhere = generator.choice(VENUES, len(user), p=city.town.pull / city.town.pull.sum())
    options = [
        city.homes[user],
        city.town.offices[city.work[user]],
        city.town.venues[city.favourites[user, rank]],
        city.town.venues[anywhere],
    ]
    xy_km: FloatArray = np.choose(kind[:, None], options)
    return xy_km
