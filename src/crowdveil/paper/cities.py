"""The cities of the studies: real or synthetic traces, cut into cells and periods, as the paper cut its own.

    new-york        Foursquare check-ins, weeks: 40 to learn from, 5 to test on; 1 km squares
    gowalla         Gowalla check-ins in the same box, weeks: 18 and 4; 1 km squares; the paper has no such set
    san-francisco   taxi cabs, weekdays: 13 and 4; 1 km squares; stands for the paper's GPS set (CMCC, Hangzhou)
    tower-city      call logs by tower, weekdays: 9 and 1; synthetic unless a file is given; stands for D4D (Abidjan)
    synthetic-city  people of a synthetic city, as many as wanted, weeks: 20 and 4; 1 km squares; not of the paper
    own             anyone's traces, cut as `crowdveil compare` cuts them by default

The paper tells neither its box nor the origin of its grid, and shifting the grid moves what is found, so squares come
in several positions: the first begins at the south-west corner of the box, the others are shifted by `OFFSETS_M`. Only
cells with any visit are kept; towers, and one's own traces, have one position.

Most people of Gowalla were there for some weeks only, and came at very different times. Profiles are learnt from a
later part, when many were there, and tested on the weeks right after it; who left before, or came later, is in the
crowd too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path

import numpy as np

from crowdveil.area import Area, Grid, Towers
from crowdveil.errors import InputError
from crowdveil.profile import (
    Periods,
    choose_half_life,
    count_visits,
)
from crowdveil.profile.activity import seen_in
from crowdveil.simulate.dataset import Dataset, split_periods
from crowdveil.traces import (
    Inspection,
    Visits,
    inspect_visits,
    read_cabspotting,
    read_calls,
    read_foursquare,
    read_snap,
    read_towers,
    read_traces,
    synthetic_visits,
    tower_positions,
)
from crowdveil.traces.clock import Clock
from crowdveil.traces.read import TraceFormat
from crowdveil.vocabulary import Period

OFFSETS_M = ((0, 0), (500, 0), (0, 500), (500, 500))
"""East and north; the first is the plain one."""
VALIDATION = {"new-york": 5, "san-francisco": 3, "tower-city": 2}
"""Training periods at the end of the training that choose the half-life."""
NEW_YORK = (40.65, -74.03, 40.82, -73.90)
"""South, west, north, east."""
GOWALLA_START = date(2009, 4, 25) + timedelta(weeks=53)
CITY_SEED, CITY_USERS, CITY_TOWERS, CITY_CALLS_PER_WEEK = 2018, 5378, 250, 40.0
SYNTHETIC_CITY = (47.93, 10.89, 48.07, 11.11)
"""South, west, north, east: where nearly all of its visits are."""
SYNTHETIC_TRAIN, SYNTHETIC_TEST = 20, 4


@dataclass(frozen=True)
class CitySource:
    """Where a study's traces are; a plain value, so that it can be handed to another process."""

    name: str
    data: str | None = None
    towers: str | None = None
    format: TraceFormat | None = None
    """Of one's own traces, like all that follows; None: recognised by their content."""
    zone: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    """For tables: pairs of a usual name and the column that has it."""
    cell_km: float = 1.0
    period: Period = "week"
    users: int = 3000
    """How many people the synthetic city has."""
    clock: Clock | None = None
    """For tables: what times without an offset mean."""
    more_data: tuple[str, ...] = ()
    """Of one's own traces: further files."""


def offsets(name: str) -> int:
    """Return how many positions of the grid a city has."""
    return 1 if name in ("tower-city", "synthetic-city", "own") else len(OFFSETS_M)


@lru_cache(maxsize=8)
def open_city(source: CitySource, offset: int = 0) -> Dataset:
    """Read, cut and profile a city; cached for the lifetime of the process, since every case of a study needs it."""
    if source.name not in _RECIPES:
        raise InputError("study", source.name, f"should be one of {', '.join(_RECIPES)}")
    return _RECIPES[source.name](source, offset)


@lru_cache(maxsize=1)
def visits_of(source: CitySource) -> Visits:
    """Read the traces of a city, or make them."""
    if source.name == "tower-city" and source.data is None:
        return synthetic_visits(
            np.random.default_rng(CITY_SEED), users=CITY_USERS, weeks=2, visits_per_week=CITY_CALLS_PER_WEEK
        )
    if source.name == "synthetic-city":
        weeks = SYNTHETIC_TRAIN + SYNTHETIC_TEST
        return synthetic_visits(np.random.default_rng(CITY_SEED), users=source.users, weeks=weeks)
    if source.data is None:
        raise InputError("data", None, f"the study {source.name} needs its traces; name the file")
    if source.name == "new-york":
        return read_foursquare(source.data)
    if source.name == "gowalla":
        return read_snap(source.data, zone="America/New_York")
    if source.name == "san-francisco":
        return read_cabspotting(source.data)
    if source.name == "own":
        return inspect_own(source).visits
    if source.towers is None:
        raise InputError("towers", None, "call logs need the file of tower positions")
    return read_calls(source.data, source.towers)


@lru_cache(maxsize=1)
def inspect_own(source: CitySource) -> Inspection:
    """Read one's own traces, and look at them as `crowdveil compare` does."""
    assert source.data is not None
    named = dict(source.columns)
    visits = read_traces(
        (source.data, *source.more_data),
        format=source.format,
        zone=source.zone,
        clock=source.clock,
        towers=source.towers,
        user=named.get("user"),
        time=named.get("time"),
        latitude=named.get("latitude"),
        longitude=named.get("longitude"),
    )
    return inspect_visits(visits)


def squares(south: float, west: float, north: float, east: float, visits: Visits, offset: int) -> Grid:
    """Return the squares of a shifted box that have any visit."""
    box = Grid.from_bounds(south, west, north, east)
    x_m, y_m = (round(float(metres)) + box.cell_m // 2 for metres in box.origin.to_metres(south, west))
    east_m, north_m = OFFSETS_M[offset]
    shifted = Grid.build(box.origin, box.cell_m, box.rows, box.columns, (x_m + east_m, y_m + north_m))
    cells = shifted.locate(visits.latitude, visits.longitude)
    inside = np.unique(cells[cells >= 0])
    if len(inside) < 2:
        raise InputError("data", f"{len(inside)} cells with a visit", "the traces should lie in the study's city")
    return shifted.subset(inside)


def _dataset(source: CitySource, title: str, area: Area, visits: Visits, periods: Periods, train: int) -> Dataset:
    split = periods.split(train, len(periods) - train)
    counts = count_visits(visits, area, periods)
    chosen = choose_half_life(counts, split.train, validation=VALIDATION[source.name], delta=0.7)
    kept = int(counts.visits.sum())
    return Dataset(source.name, title, area, counts, split, chosen, len(visits), len(visits) - kept)


def _new_york(source: CitySource, offset: int) -> Dataset:
    visits = visits_of(source)
    area = squares(*NEW_YORK, visits, offset)
    return _dataset(source, "New York, Foursquare check-ins", area, visits, Periods(date(2012, 4, 3), 45), 40)


def _gowalla(source: CitySource, offset: int) -> Dataset:
    visits = visits_of(source)
    area, periods = squares(*NEW_YORK, visits, offset), Periods(GOWALLA_START, 22)
    title, split = "New York, Gowalla check-ins", periods.split(18, 4)
    # More than a third came later, or had left; who is not seen while profiles are learnt could not be invited.
    visits = visits.of_users(seen_in(visits, periods, split.train))
    return Dataset.from_visits(visits, area, periods, split, name=source.name, title=title)


def _san_francisco(source: CitySource, offset: int) -> Dataset:
    visits = visits_of(source)
    area = squares(37.70, -122.52, 37.82, -122.36, visits, offset)
    periods = Periods(date(2008, 5, 19), 17, days=1, weekdays_only=True)
    return _dataset(source, "San Francisco, taxi cabs", area, visits, periods, 13)


def _tower_city(source: CitySource, offset: int) -> Dataset:  # noqa: ARG001
    visits = visits_of(source)
    if source.towers is not None:
        positions = np.array(list(read_towers(source.towers).values()))
        area = Towers.from_positions(positions[:, 0], positions[:, 1])
        title = "Call logs by tower"
    else:
        area = Towers.from_positions(*tower_positions(np.random.default_rng(CITY_SEED), towers=CITY_TOWERS))
        title = "Synthetic tower city"
    first = date.fromordinal(date(1970, 1, 1).toordinal() + int(visits.local_s.min()) // 86_400)
    while first.weekday() >= 5:
        first = date.fromordinal(first.toordinal() + 1)
    return _dataset(source, title, area, visits, Periods(first, 10, days=1, weekdays_only=True), 9)


def _synthetic_city(source: CitySource, offset: int) -> Dataset:
    visits = visits_of(source)
    area = squares(*SYNTHETIC_CITY, visits, offset)
    periods = Periods(date(2024, 1, 1), SYNTHETIC_TRAIN + SYNTHETIC_TEST)
    split, title = periods.split(SYNTHETIC_TRAIN, SYNTHETIC_TEST), f"Synthetic city of {source.users:,}"
    return Dataset.from_visits(visits, area, periods, split, name=source.name, title=title)


def _own(source: CitySource, offset: int) -> Dataset:  # noqa: ARG001
    visits = visits_of(source)
    area: Area
    if source.towers is not None:
        positions = np.array(list(read_towers(source.towers).values()))
        area = Towers.from_positions(positions[:, 0], positions[:, 1])
    else:
        area = Grid.around(visits, cell_km=source.cell_km)
    periods, split = split_periods(visits, period=source.period)
    title = ", ".join(Path(one).resolve().name for one in (source.data or "", *source.more_data))
    return Dataset.from_visits(visits, area, periods, split, name=source.name, title=title)


_RECIPES: dict[str, Callable[[CitySource, int], Dataset]] = {
    "new-york": _new_york,
    "gowalla": _gowalla,
    "san-francisco": _san_francisco,
    "tower-city": _tower_city,
    "synthetic-city": _synthetic_city,
    "own": _own,
}
