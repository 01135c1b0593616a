"""Terms of campaigns, and the maps that an attacker would choose."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

import crowdveil as cv
from crowdveil.wire import PROTOCOL, Announcement, RoundNotice, Terms, new_private_key, public_key

PRIVATE_KEY = new_private_key()
LN4, LN64 = log(4), log(64)


def some_terms(*, private_key: str = PRIVATE_KEY, **changed: Any) -> Terms:
    """Terms that every device with the default limits accepts, unless something is changed."""
    fields = {
        "protocol": PROTOCOL,
        "campaign": "noise",
        "server_key": public_key(private_key),
        "name": "Noise map",
        "offer": "A coffee",
        "area": squares(6).describe(),
        "targets": [14, 22],
        "target_names": None,
        "epsilon_per_km": LN4,
        "null_epsilon": LN64,
        "grade_epsilon": LN64,
        "delta": 0.5,
        "lower_deltas": [],
        "profile_constants": None,
        "rule": "random",
        "period": "week",
        "enrolment": "open",
        "rounds": 3,
        "panel": False,
        "renewal_s": None,
        "seed_hash": "5" * 64,
    }
    return Terms.model_validate({**fields, **changed})


def announce(terms: Terms, policy_hash: str, number: int = 0, private_key: str = PRIVATE_KEY) -> Announcement:
    """Announce a round, signed."""
    notice = RoundNotice.of(terms, number, policy_hash, private_key)
    return Announcement(protocol=PROTOCOL, terms=terms, notice=notice, state="open")


def squares(side: int, cell_km: float = 1.0) -> cv.Grid:
    """side x side squares around a point of the equator."""
    cell_m = round(1000 * cell_km)
    first = -(side - 1) * cell_m // 2
    return cv.Grid.build(cv.Plane(0, 0), cell_m, side, side, (first, first))


def towers(spacing_km: float, reach_km: float, side: int = 4) -> cv.Towers:
    """Towers on a square lattice."""
    latitude, longitude = squares(side, spacing_km).centres()
    return cv.Towers.from_positions(latitude, longitude, reach_km=reach_km)


def spread_squares(cell_km: float, apart: int, side: int = 5) -> cv.Grid:
    """Squares of which only every so many is kept, along both axes."""
    many = (side - 1) * apart + 1
    town = squares(many, cell_km)
    chosen = apart * np.arange(side)
    return town.subset((chosen[:, None] * many + chosen[None, :]).ravel())
