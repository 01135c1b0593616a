"""What must never happen is refused by the database itself: every attempt here is plain SQL."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from crowdveil.campaign.selection import Selection
from crowdveil.errors import StoreError
from crowdveil.store import (
    Store,
    StoredSeat,
    add_reports,
    close_round,
    delete_campaign,
    open_round,
    open_store,
    reports_of,
    round_progress,
    save_selection,
    set_state,
    take_seat,
    withdraw,
)
from crowdveil.store.schema import metadata
from tests.store.campaign import NAME, NOTICE, all_accepted, drafted, hashed, policy, report, seated, started

D = hashed("any")


def run(store: Store, sql: str) -> None:
    with store.writing() as connection:
        connection.execute(text(sql))


@pytest.fixture
def busy(store: Store, numbered: None) -> Iterator[Store]:
    """Round 0 is closed, round 1 open; participants 0-2 reported in 0, 3 and 4 sit in 1, and 3 has reported."""
    started(store)
    assert all_accepted(store, [report(seat, number) for number, seat in enumerate(seated(store, 3))])
    close_round(store, NAME, 0)
    open_round(store, NAME, 1, policy(0.3), notice=NOTICE)
    seats = seated(store, 2, first=3)
    assert all_accepted(store, [report(seats[0], 1)])
    yield store
    assert reports_of(store, NAME).symbol.tolist() == [0, 1, 2, 1]


REFUSED = {
    "a second report": f"INSERT INTO reports VALUES ('coffee', 3, 1, 2, '{D}')",
    "a report in a closed round": f"INSERT INTO reports VALUES ('coffee', 4, 0, 2, '{D}')",
    "a report in another round than the seat's": f"INSERT INTO reports VALUES ('coffee', 2, 1, 2, '{D}')",
    "a report in another round beside a valid one": f"INSERT INTO reports VALUES ('coffee', 4, 1, 2, '{D}'),"
    f" ('coffee', 2, 1, 2, '{D}')",
    "a symbol that does not exist beside one that does": f"INSERT INTO reports VALUES ('coffee', 4, 1, 5000, '{D}'),"
    f" ('coffee', 5, 1, 2, '{D}')",
    "a report of nobody": f"INSERT INTO reports VALUES ('coffee', 99, 1, 2, '{D}')",
    "a symbol that the policy does not have": f"INSERT INTO reports VALUES ('coffee', 4, 1, 5000, '{D}')",
    "a symbol below zero": f"INSERT INTO reports VALUES ('coffee', 4, 1, -1, '{D}')",
    "a report without a digest": "INSERT INTO reports VALUES ('coffee', 4, 1, 1, 'short')",
    "changing a report": "UPDATE reports SET symbol = 5 WHERE participant = 3",
    "moving a report": "UPDATE reports SET participant = 4 WHERE participant = 3",
    "deleting a report": "DELETE FROM reports WHERE participant = 3",
    "deleting all reports": "DELETE FROM reports",
    "closing with other counts": "UPDATE rounds SET state = 'closed', counts = '[0,2]', nulls = 0 WHERE number = 1",
    "closing with other nulls": "UPDATE rounds SET state = 'closed', counts = '[0,1]', nulls = 1 WHERE number = 1",
    "closing without counts": "UPDATE rounds SET state = 'closed' WHERE number = 1",
    "opening a closed round again": "UPDATE rounds SET state = 'open', counts = NULL, nulls = NULL WHERE number = 0",
    "changing a closed round's counts": "UPDATE rounds SET counts = '[3]' WHERE number = 0",
    "deleting a closed round": "DELETE FROM rounds WHERE number = 0",
    "two rounds at once": "INSERT INTO rounds (campaign, number, state) VALUES ('coffee', 2, 'opening')",
    "an open round without a policy": "UPDATE rounds SET policy = NULL WHERE number = 1",
    "a second seat for a secret": f"INSERT INTO participants VALUES ('coffee', 5, '{hashed(0)}', 1)",
    "a number given twice": f"INSERT INTO participants VALUES ('coffee', 4, '{D}', 1)",
    "a seat in no round": f"INSERT INTO participants VALUES ('coffee', 5, '{D}', 7)",
    "a number that JSON does not read exactly": f"INSERT INTO participants VALUES ('coffee', {2**53}, '{D}', 1)",
    "leaving a closed round": "DELETE FROM participants WHERE number = 0",
    "a second signing key": f"INSERT INTO signing_keys VALUES (2, '{D}')",
    "moving to another round": "UPDATE participants SET round = 1 WHERE number = 0",
    "a state that does not exist": "UPDATE campaigns SET state = 'lost'",
    "finishing without a selection": "UPDATE campaigns SET state = 'finished', finished = 1",
    "being finished at no time": "UPDATE campaigns SET panel = true, state = 'finished'",
    "a time of finishing while it runs": "UPDATE campaigns SET finished = 1",
    "retiring the id of a campaign that runs": "INSERT INTO retired_campaigns VALUES ('coffee')",
    "retiring the id of no campaign": "INSERT INTO retired_campaigns VALUES ('tea')",
    "selecting in an open campaign": "INSERT INTO selections VALUES ('coffee', 0, NULL, 0, 1, 0, '[]')",
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_database_itself_refuses(busy: Store, what: str) -> None:
    with pytest.raises(StoreError):
        run(busy, REFUSED[what])


def test_the_same_statement_is_accepted_where_it_is_valid(busy: Store) -> None:
    """So the refusals above are for their reason, not for a slip in the statement."""
    with busy.writing() as connection:
        for statement in (
            f"INSERT INTO reports VALUES ('coffee', 4, 1, 2, '{D}')",
            f"INSERT INTO participants VALUES ('coffee', 5, '{D}', 1)",
            "DELETE FROM participants WHERE number = 5",
            "UPDATE rounds SET state = 'closed', counts = '[0,1,1]', nulls = 0 WHERE number = 1",
            "INSERT INTO rounds (campaign, number, state) VALUES ('coffee', 2, 'opening')",
        ):
            connection.execute(text(statement))
        connection.rollback()


def test_replacing_a_report_is_refused_as_well(busy: Store) -> None:
    on_conflict = "ON CONFLICT (campaign, participant) DO UPDATE SET symbol = 2"
    with pytest.raises(StoreError, match="never changed"):
        run(busy, f"INSERT INTO reports VALUES ('coffee', 3, 1, 2, '{D}') {on_conflict}")
    if busy.where.startswith("sqlite"):
        with pytest.raises(StoreError, match="deleted only with its seat"):
            run(busy, f"INSERT OR REPLACE INTO reports VALUES ('coffee', 3, 1, 2, '{D}')")
    else:
        with pytest.raises(StoreError, match="never changed"):
            run(busy, "TRUNCATE reports CASCADE")


def chosen(participants: list[int]) -> Selection:
    """A selection of these people, to fill up, for the first target."""
    people = len(participants)
    nowhere = np.zeros(people, dtype=np.int64)
    return Selection(np.array(participants), np.zeros(people), nowhere, np.zeros(people, dtype=bool), (0,))


def test_a_selection_holds_reporters_once_and_is_never_changed(store: Store, numbered: None) -> None:
    started(store)
    assert all_accepted(store, [report(seat, 1) for seat in seated(store, 3)[:2]])
    close_round(store, NAME, 0)
    set_state(store, NAME, "closed")
    for unreported_or_twice in ([0, 2], [1, 1]):
        with pytest.raises(StoreError):
            save_selection(store, NAME, chosen(unreported_or_twice), rounds=1)
    save_selection(store, NAME, chosen([1]), rounds=1)
    for change in (
        "INSERT INTO selected VALUES ('coffee', 0, 1, 0, 0, 0.5, 'symbol')",
        "INSERT INTO selections VALUES ('coffee', 1, NULL, 0, 1, 0, '[]')",
        "UPDATE selected SET participant = 0",
        "UPDATE selections SET people = 2",
        "DELETE FROM selected",
        "DELETE FROM selections",
        "DELETE FROM campaigns",
    ):
        with pytest.raises(StoreError):
            run(store, change)


def test_a_campaign_that_was_started_is_not_deleted_before_its_id_is_retired_for_good(store: Store) -> None:
    started(store, name="tea")
    close_round(store, "tea", 0)
    set_state(store, "tea", "closed")
    save_selection(store, "tea", chosen([]), rounds=1)
    drafted(store)
    set_state(store, NAME, "open")  # without a round nothing refers to it
    for statement in ("DELETE FROM campaigns WHERE id = 'coffee'", "INSERT INTO retired_campaigns VALUES ('coffee')"):
        with pytest.raises(StoreError):
            run(store, statement)
    delete_campaign(store, "tea")
    for statement in (
        "DELETE FROM retired_campaigns",
        "UPDATE retired_campaigns SET id = 'x'",
        "INSERT INTO campaigns SELECT 'tea', plan, terms, state, enrolment, offer, seed, created, panel, operator,"
        " failure, finished FROM campaigns",
    ):
        with pytest.raises(StoreError, match="never"):
            run(store, statement)


# --- migrations -----------------------------------------------------------------------------------------------


def test_migrations_make_the_schema_that_queries_use(store: Store) -> None:
    with store.writing() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        checks = {
            check["name"] for name in metadata.tables for check in inspect(connection).get_check_constraints(name)
        }
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "0001"
    written = {c.name for t in metadata.tables.values() for c in t.constraints if type(c).__name__ == "CheckConstraint"}
    assert checks == written


def test_a_migration_that_fails_leaves_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from alembic.runtime.migration import HeadMaintainer

    def full(*_arguments: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(HeadMaintainer, "update_to_step", full)  # the tables are made, their record cannot be written
        with pytest.raises(StoreError, match="the disk is full"):
            open_store(url)
    with open_store(url) as store:  # a table left behind would be in the way
        started(store)


def test_a_database_of_a_newer_version_is_left_alone(url: str) -> None:
    with open_store(url) as store:
        run(store, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="made by a newer version of crowdveil"):
        open_store(url)


def test_processes_that_open_an_empty_database_together_all_succeed(url: str) -> None:
    together = Barrier(4)

    def opened(_: int) -> str:
        together.wait()
        with open_store(url) as store:
            return drafted(store, f"c{_}").state

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(opened, range(4))) == ["draft"] * 4


def test_a_commit_waits_for_the_disk(store: Store) -> None:
    """SQLite: the write-ahead log with `synchronous` FULL (2); PostgreSQL: its defaults."""
    on_sqlite = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "recursive_triggers": 1,
        "busy_timeout": 10_000,
    }
    on_postgresql = {"fsync": "on", "synchronous_commit": "on"}
    sqlite = store.where.startswith("sqlite")
    expected = on_sqlite if sqlite else on_postgresql
    with store.reading() as connection:
        ask = "PRAGMA" if sqlite else "SHOW"
        assert {name: connection.execute(text(f"{ask} {name}")).scalar() for name in expected} == expected


# --- races ----------------------------------------------------------------------------------------------------


def test_of_many_who_close_a_round_one_does_and_all_get_its_counts(url: str) -> None:
    with open_store(url) as store, open_store(url) as another:
        started(store)
        assert all_accepted(store, [report(seat, 1) for seat in seated(store, 50)])
        together = Barrier(6)

        def close(number: int) -> list[int]:
            together.wait()
            return list(close_round((store, another)[number % 2], NAME, 0).counts.tolist())

        with ThreadPoolExecutor(6) as pool:
            counts = list(pool.map(close, range(6)))
    assert all(one == counts[0] for one in counts)
    assert sum(counts[0]) == 50


def test_a_report_that_waits_for_a_close_finds_the_round_closed_whoever_sends_the_statement(
    url: str, numbered: None
) -> None:
    with open_store(url) as store, open_store(url) as another, ThreadPoolExecutor(1) as pool:
        started(store)
        seated(store, 1)
        with store.writing() as connection:
            connection.execute(text("UPDATE rounds SET state = 'closed', counts = '[0]', nulls = 0"))
            sent = pool.submit(run, another, f"INSERT INTO reports VALUES ('coffee', 0, 0, 1, '{D}')")
            with pytest.raises(TimeoutError):
                sent.result(0.3)
        with pytest.raises(StoreError):
            sent.result(30)
        assert len(reports_of(store, NAME).symbol) == 0


@pytest.mark.parametrize("trial", range(5))
def test_a_report_that_races_with_the_close_is_counted_or_refused_but_never_both(url: str, trial: int) -> None:
    people, batch = 120, 5
    with open_store(url) as store, open_store(url) as another:
        started(store)
        reports = [report(seat, seat.participant % 3) for seat in seated(store, people)]
        together = Barrier(4)

        def send(worker: int) -> list[str]:
            together.wait()
            mine = reports[worker::3]
            parts = (mine[start : start + batch] for start in range(0, len(mine), batch))
            return [outcome for part in parts for outcome in add_reports((store, another)[worker % 2], part)]

        def close() -> int:
            together.wait()
            while round_progress(another, NAME)[0].accepted < (trial + 1) * people // 8:
                pass
            return close_round(another, NAME, 0).reports

        with ThreadPoolExecutor(4) as pool:
            senders = [pool.submit(send, worker) for worker in range(3)]
            counted = pool.submit(close).result()
            outcomes = [outcome for sender in senders for outcome in sender.result()]
        assert set(outcomes) <= {"accepted", "round-closed"}
        assert outcomes.count("accepted") == counted == len(reports_of(store, NAME))


def test_of_two_different_reports_sent_at_once_the_stored_one_alone_is_accepted(url: str) -> None:
    with open_store(url) as store, open_store(url) as another:
        started(store)
        seats = seated(store, 40)
        together = Barrier(2)

        def send(symbol: int) -> list[str]:
            together.wait()
            # in opposite orders: whoever locks row by row as they come would wait in a circle
            ordered = seats if symbol else seats[::-1]
            outcomes = add_reports((store, another)[symbol], [report(seat, symbol) for seat in ordered])
            return list(outcomes if symbol else outcomes[::-1])

        with ThreadPoolExecutor(2) as pool:
            zero, one = pool.map(send, (0, 1))
        stored = reports_of(store, NAME).symbol.tolist()
        for symbol, first, second in zip(stored, zero, one, strict=True):
            assert (first, second) == (
                ("accepted", "report-conflict") if symbol == 0 else ("report-conflict", "accepted")
            )


def test_devices_that_ask_at_once_get_different_seats_and_one_that_asks_twice_gets_one(url: str) -> None:
    with open_store(url) as store, open_store(url) as another:
        started(store, size=20)

        def ask(number: int) -> object:
            return take_seat((store, another)[number % 2], NAME, hashed(number // 2))

        with ThreadPoolExecutor(6) as pool:
            seats = list(pool.map(ask, range(60)))
        assert [seats[2 * n] == seats[2 * n + 1] or "no-seat" in seats[2 * n : 2 * n + 2] for n in range(30)] == [
            True
        ] * 30
        assert len({seat.participant for seat in seats if isinstance(seat, StoredSeat)}) == 20
        assert round_progress(store, NAME)[0].seated == 20


def test_whoever_withdraws_while_reports_arrive_and_the_round_closes_is_counted_or_forgotten(url: str) -> None:
    people = 90
    with open_store(url) as store, open_store(url) as another:
        started(store)
        seats = seated(store, people)
        together, some_sent = Barrier(2), Event()

        def send() -> list[str]:
            together.wait()
            outcomes: list[str] = []
            for number, seat in enumerate(seats):
                outcomes += add_reports(store, [report(seat, 1)])
                if number == people // 4:
                    some_sent.set()
            return outcomes

        def leave() -> list[object]:
            together.wait()
            return [withdraw(another, NAME, hashed(number)) for number in range(people - 1, -1, -1)]

        def close() -> int:
            some_sent.wait()
            return close_round(store, NAME, 0).reports

        with ThreadPoolExecutor(3) as pool:
            sending, leaving, closing = pool.submit(send), pool.submit(leave), pool.submit(close)
        sent, left, counted = sending.result(), leaving.result(), closing.result()
        gone = {number for number in left if isinstance(number, int)}
        assert {one for one in left if isinstance(one, str)} <= {"round-closed"}
        accepted = {seat.participant for seat, outcome in zip(seats, sent, strict=True) if outcome == "accepted"}
        stored = set(reports_of(store, NAME).participant.tolist())
        assert stored == accepted - gone
        assert len(stored) == counted
        assert set(sent) <= {"accepted", "unknown-participant", "round-closed"}
        assert round_progress(store, NAME)[0].seated == people - len(gone)
