"""Small crowds written down by hand, random ones, and the real one of New York."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from crowdveil.area import Grid
from crowdveil.profile import Counts, Periods, count_visits
from crowdveil.traces import read_foursquare
from crowdveil.traces.visits import Visits

NEW_YORK = Path(__file__).parents[3] / "shared" / "data" / "dataset_TSMC2014_NYC.txt.xz"
needs_new_york = pytest.mark.skipif(not NEW_YORK.exists(), reason=f"the New York check-ins are not at {NEW_YORK}")

START = date(2012, 4, 3)
SQUARES = Grid.from_bounds(40.70, -74.00, 40.72, -73.97)
"""A few squares of 1 km."""

Row = tuple[int, int, int]


def counts_of(rows: Sequence[Row], users: int = 3, cells: int = 4, periods: int = 8) -> Counts:
    """One visit for each (user, cell, period), in any order; the same triple twice is two visits."""
    triples, visits = np.unique(np.array(rows, dtype=np.int64).reshape(-1, 3), axis=0, return_counts=True)
    return Counts(users, cells, Periods(START, periods), triples[:, 0], triples[:, 1], triples[:, 2], visits)


def crowds(least: int = 0) -> st.SearchStrategy[list[Row]]:
    """Visits of three users to four cells in eight periods."""
    visit = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 7))
    return st.lists(visit, min_size=least, max_size=40)


def utc_s(text: str) -> int:
    """Seconds since 1970 of an ISO time, UTC unless it says otherwise."""
    when = datetime.fromisoformat(text)
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())


def visits_at(local: Sequence[str], user: Sequence[int] | None = None, users: int = 1) -> Visits:
    """Visits to the middle of the squares at ISO times with offsets, such as 2012-11-04T01:30-04:00."""
    when = [datetime.fromisoformat(text) for text in local]
    shift = [moment.utcoffset() for moment in when]
    middle = np.full(len(local), 40.71), np.full(len(local), -73.985)
    who = np.array(user if user is not None else [0] * len(local), dtype=np.int64)
    return Visits(
        tuple(f"user {number}" for number in range(users)),
        who,
        np.array([int(moment.timestamp()) for moment in when], dtype=np.int64),
        np.array([int(s.total_seconds()) if s is not None else 0 for s in shift], dtype=np.int64),
        *middle,
    )


@cache
def new_york_visits() -> Visits:
    """Every check-in but exact duplicates."""
    return read_foursquare(NEW_YORK)


@cache
def new_york_counts(east_m: int = 0, north_m: int = 0) -> Counts:
    """45 local weeks in the 1 km squares of the box that have any check-in; the grid may be shifted."""
    box = Grid.from_bounds(40.65, -74.03, 40.82, -73.90)
    first = (box.first_centre_m[0] + east_m, box.first_centre_m[1] + north_m)
    shifted = Grid.build(box.origin, box.cell_m, box.rows, box.columns, first)
    visits = new_york_visits()
    cells = shifted.locate(visits.latitude, visits.longitude)
    return count_visits(visits, shifted.subset(np.unique(cells[cells >= 0])), Periods(START, 45))
