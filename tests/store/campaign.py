"""Make a small campaign for tests of the store."""

from __future__ import annotations

import hashlib
from functools import cache
from math import log

import crowdveil as cv
from crowdveil.store import (
    Campaign,
    Store,
    StoredReport,
    StoredSeat,
    add_reports,
    create_campaign,
    open_round,
    set_state,
    take_seats,
)
from crowdveil.store.participants import SeatClaim
from crowdveil.vocabulary import Enrolment
from tests.town import square_town

NAME = "coffee"
NOTICE = '{"notice":1}'
SEED = "5eed" * 16


@cache
def policy(beta: float = 0.2) -> cv.Policy:
    return cv.optimal_policy(square_town(3), None, [4], epsilon_per_km=log(4), beta=beta, completion="informative")


def hashed(thing: object) -> str:
    return hashlib.sha256(str(thing).encode()).hexdigest()


def drafted(store: Store, name: str = NAME, plan: str = '{"plan":1}', enrolment: Enrolment = "open") -> Campaign:
    return create_campaign(
        store,
        name,
        plan,
        terms='{"terms":1}',
        offer="A coffee",
        seed=SEED,
        created=1_700_000_000,
        enrolment=enrolment,
    )


def started(store: Store, size: int | None = None, name: str = NAME) -> None:
    """A campaign whose first round is open."""
    drafted(store, name)
    set_state(store, name, "open")
    open_round(store, name, 0, policy(), notice=NOTICE, size=size)


def seated(store: Store, people: int, name: str = NAME, first: int = 0) -> list[StoredSeat]:
    asked = take_seats(store, [SeatClaim(name, hashed(one)) for one in range(first, first + people)])
    seats = [seat for seat in asked if isinstance(seat, StoredSeat)]
    assert len(seats) == people
    return seats


def report(seat: StoredSeat, symbol: int | None, name: str = NAME) -> StoredReport:
    return StoredReport(name, seat.participant, seat.round, seat.policy_hash, symbol, hashed((seat, symbol)))


def all_accepted(store: Store, reports: list[StoredReport]) -> bool:
    return set(add_reports(store, reports)) <= {"accepted"}
