"""The busiest statements run on the driver's own connections, which are kept while they work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import text

from crowdveil.errors import StoreError
from crowdveil.store import Store, add_reports, open_store, reports_of, seats_of, take_seat
from crowdveil.store.driver import _for_psycopg
from tests.store.campaign import NAME, all_accepted, hashed, report, seated, started

ONE = {"sqlite": "SELECT 1 WHERE :given = 1", "postgresql": "SELECT 1 WHERE CAST(:given AS integer) = 1"}
ADD = dict.fromkeys(ONE, "INSERT INTO operators (name, role, added) VALUES (:name, 'viewer', 0)")


def operators(store: Store) -> list[str]:
    with store.reading() as connection:
        return sorted(connection.execute(text("SELECT name FROM operators")).scalars())


def add_all(store: Store, *names: str | None) -> None:
    """Add operators in one transaction, which None breaks off."""
    with store.writing_directly() as transaction:
        for name in names:
            if name is None:
                raise KeyError
            transaction.change(ADD, {"name": name})


def test_a_connection_is_used_again_and_again(store: Store) -> None:
    with store.writing_directly() as transaction:
        assert transaction.rows(ONE, {"given": 1}) == [(1,)]
        assert store._idle == []
    kept = list(store._idle)
    for _ in range(3):
        with store.writing_directly() as transaction:
            assert transaction.rows(ONE, {"given": 2}) == []
        assert store._idle == kept


def test_what_fails_is_rolled_back_and_its_connection_is_closed(store: Store) -> None:
    add_all(store, "one")
    (kept,) = store._idle
    with pytest.raises(StoreError, match="operators"):
        add_all(store, "two", "one")
    assert store._idle == []
    with pytest.raises(Exception, match="closed"):
        kept.execute("SELECT 1")
    with pytest.raises(KeyError):
        add_all(store, "three", None)
    assert operators(store) == ["one"]


def test_two_transactions_at_once_have_a_connection_each(store: Store) -> None:
    with store.reading_directly() as one, store.reading_directly() as other:
        assert one.rows(ONE, {"given": 1}) == other.rows(ONE, {"given": 1}) == [(1,)]
    assert len(store._idle) == 2
    store.close()
    assert store._idle == []


def test_after_a_database_s_restart_one_commit_fails_and_the_next_is_stored(postgresql: Callable[[], str]) -> None:
    with open_store(postgresql()) as store:
        started(store)
        seats = seated(store, 2)
        assert all_accepted(store, [report(seats[0], 1)])
        with store.writing() as connection:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            mine = f"{others} AND datname = current_database() AND backend_type = 'client backend'"
            connection.execute(text(mine)).all()
        with pytest.raises(StoreError):
            add_reports(store, [report(seats[1], 1)])
        assert all_accepted(store, [report(seats[1], 1)])
        assert len(reports_of(store, NAME).symbol) == 2


def test_names_of_parameters_are_written_for_the_driver() -> None:
    assert _for_psycopg("SELECT CAST(:numbers AS bigint[]), :more") == "SELECT CAST(%(numbers)s AS bigint[]), %(more)s"


def test_texts_travel_as_they_are(store: Store) -> None:
    started(store)
    for odd in ("'; DROP TABLE reports; --", '"[],{}', "%(more)s :more ?", "é\u2028"):
        assert seats_of(store, NAME, [odd]) == {}
        assert take_seat(store, odd, hashed(odd)) == "not-found"
