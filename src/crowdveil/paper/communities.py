"""The communities of the study of a year: the cities' traces, with as many campaigns as they allow.

    new-york        Foursquare check-ins: 42 weeks with data, a campaign in each of the last 26
    gowalla         Gowalla check-ins in the same box: 78 weeks, a campaign in each of the last 26; most people were
                    there for some weeks only. Who was not seen before the first campaign is left out. The constants
                    of the prediction are fitted on the weeks before, because those that devices use were fitted on
                    some of the later ones
    san-francisco   taxi cabs: 16 full weekdays, a campaign on each of the last 11
    synthetic-city  people of a synthetic city, as many as wanted: 52 weeks, a campaign in each of the last 26

Weeks without any visit, which are gaps in the data, are left out. Cells are those of the plain position of the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

import numpy as np

from crowdveil.errors import InputError
from crowdveil.paper.cities import CITY_SEED, SYNTHETIC_CITY, CitySource, open_city, squares, visits_of
from crowdveil.profile import Periods, count_visits, fit_logistic
from crowdveil.profile.activity import seen_in
from crowdveil.simulate.community import Community, without_gaps
from crowdveil.traces import synthetic_visits

CAMPAIGNS = 26
"""Half a year."""
GOWALLA_WEEKS = Periods(date(2009, 4, 25), 78)
CAB_DAYS = range(5, 16)
"""The 17th day has data of a few hours only."""
SYNTHETIC_WEEKS = Periods(date(2024, 1, 1), 52)


@dataclass(frozen=True, eq=False)
class Studied:
    """A community, and what it is called."""

    title: str
    period: str
    """What a period is: week or day."""
    community: Community


@lru_cache(maxsize=4)
def open_community(source: CitySource) -> Studied:
    """Read and cut a city; cached for the lifetime of the process."""
    if source.name not in RECIPES:
        raise InputError("study", source.name, f"should be one of {', '.join(RECIPES)}, to study a year")
    return RECIPES[source.name](source)


def _new_york(source: CitySource) -> Studied:
    dataset = open_city(source)
    counts = without_gaps(dataset.counts)
    return Studied(dataset.title, "week", Community.of_counts(dataset.area, counts, CAMPAIGNS))


def _gowalla(source: CitySource) -> Studied:
    area, visits = open_city(source).area, visits_of(source)
    before = range(len(GOWALLA_WEEKS) - CAMPAIGNS)
    counts = without_gaps(count_visits(visits.of_users(seen_in(visits, GOWALLA_WEEKS, before)), area, GOWALLA_WEEKS))
    community = Community.of_counts(area, counts, CAMPAIGNS)
    fitted = fit_logistic(counts, range(community.weeks.start))
    return Studied("New York, Gowalla check-ins", "week", replace(community, constants=fitted))


def _san_francisco(source: CitySource) -> Studied:
    dataset = open_city(source)
    community = Community(dataset.area, dataset.counts, CAB_DAYS, np.arange(dataset.counts.users))
    return Studied(dataset.title, "day", community)


def _synthetic_city(source: CitySource) -> Studied:
    visits = synthetic_visits(np.random.default_rng(CITY_SEED), users=source.users, weeks=len(SYNTHETIC_WEEKS))
    area = squares(*SYNTHETIC_CITY, visits, 0)
    counts = without_gaps(count_visits(visits, area, SYNTHETIC_WEEKS))
    return Studied(f"Synthetic city of {source.users:,}", "week", Community.of_counts(area, counts, CAMPAIGNS))


RECIPES: dict[str, Callable[[CitySource], Studied]] = {
    "new-york": _new_york,
    "gowalla": _gowalla,
    "san-francisco": _san_francisco,
    "synthetic-city": _synthetic_city,
}
