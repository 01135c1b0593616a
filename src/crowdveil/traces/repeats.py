"""Find visits that are there twice: in one user's history, or under two users' names."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from crowdveil.arrays import BoolArray
from crowdveil.traces.visits import Visits

COARSE_SHARE = 0.9
"""If so many times are whole minutes, a time does not tell two visits apart."""
MAX_COMPARED = 2_000_000
"""Visits between which accounts are compared. Of more, only those at every so-manieth second: a copy is at the same."""
MIN_COMMON = 10
"""Equal visits under two names that are no coincidence."""
REPEATS_FROM, SHARES_FROM = 0.9, 0.2
"""Shares of the smaller account's visits: one account repeats the other, or they share some."""

AccountPair: TypeAlias = tuple[int, int]
"""Numbers of two users."""


def coarse_times(visits: Visits) -> bool:
    """Tell whether times are given in minutes, or more coarsely."""
    return float((visits.utc_s % 60 == 0).mean()) >= COARSE_SHARE


def repeated_visits(visits: Visits) -> BoolArray:
    """Mark each visit whose user, time and place are those of an earlier row."""
    same = np.zeros(len(visits) + 1, dtype=bool)
    same[1:-1] = (visits.utc_s[1:] == visits.utc_s[:-1]) & (visits.user[1:] == visits.user[:-1])
    rows = np.flatnonzero(same[1:] | same[:-1])  # all that share user and time with a neighbour
    repeated = np.zeros(len(visits), dtype=bool)
    if len(rows):
        columns = (visits.longitude[rows], visits.latitude[rows], visits.utc_s[rows], visits.user[rows])
        order = np.lexsort(columns)  # stable: of equal rows the first stays first
        equal = np.logical_and.reduce([column[order][1:] == column[order][:-1] for column in columns])
        repeated[rows[order[1:][equal]]] = True
    return repeated


def repeated_across_files(visits: Visits) -> BoolArray:
    """Mark visits that an earlier file has too; of those that one file has several times, each needs its own there.

    Two files that overlap, and have two calls of one minute twice each, thus have two calls together.
    """
    if visits.file is None:
        return np.zeros(len(visits), dtype=bool)
    place = (visits.longitude, visits.latitude, visits.utc_s, visits.user)
    order = np.lexsort((visits.file, *place))
    same_place = np.logical_and.reduce([column[order][1:] == column[order][:-1] for column in place])
    file = visits.file[order]
    count = np.arange(len(order))  # how many equal rows came before in the same file
    starts = np.flatnonzero(np.concatenate([[True], ~(same_place & (file[1:] == file[:-1]))]))
    count -= np.repeat(starts, np.diff([*starts, len(order)]))
    group = np.concatenate([[0], np.cumsum(~same_place)])
    again = np.lexsort((file, count, group))
    equal = (np.diff(group[again]) == 0) & (np.diff(count[again]) == 0)
    repeated = np.zeros(len(visits), dtype=bool)
    repeated[order[again[1:][equal]]] = True
    return repeated


def repeating_accounts(visits: Visits, good: BoolArray) -> tuple[list[AccountPair], list[AccountPair]]:
    """Find pairs of users with the same visits at the same seconds.

    Returns:
        Pairs (copy, original) of which the first has nearly nothing that the second has not, and pairs that share some.
    """
    step = max(1, len(visits) // MAX_COMPARED)
    rows = np.flatnonzero(good & (visits.utc_s % step == 0)) if step > 1 else np.flatnonzero(good)
    user, utc_s, latitude, longitude = (
        column[rows] for column in (visits.user, visits.utc_s, visits.latitude, visits.longitude)
    )
    order = np.lexsort((user, longitude, latitude, utc_s))
    user, utc_s, latitude, longitude = (column[order] for column in (user, utc_s, latitude, longitude))
    equal = (np.diff(utc_s) == 0) & (np.diff(latitude) == 0) & (np.diff(longitude) == 0)
    meets = np.flatnonzero(equal & (np.diff(user) != 0))
    total = np.bincount(user, minlength=len(visits.users))
    pairs, common = np.unique(user[meets] * len(visits.users) + user[meets + 1], return_counts=True)
    whole: dict[int, int] = {}
    partly: list[AccountPair] = []
    most_first = np.argsort(-common, kind="stable")
    for pair, number in zip(pairs[most_first].tolist(), common[most_first].tolist(), strict=True):
        if number < MIN_COMMON:
            break
        one, other = divmod(pair, len(visits.users))
        copy, original = (one, other) if total[one] < total[other] else (other, one)
        share = number / total[copy]
        if share >= REPEATS_FROM and copy not in whole:
            whole[copy] = original
        elif SHARES_FROM <= share < REPEATS_FROM:
            partly.append((copy, original))
    return list(whole.items()), partly
