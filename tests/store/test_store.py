"""What is stored stays, is answered the same again, and adds up; on both databases."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from sqlalchemy import text

from crowdveil.campaign.selection import Selection, nobody
from crowdveil.errors import InputError, StoreError
from crowdveil.store import (
    NoSeat,
    ReportOutcome,
    RoundProgress,
    Store,
    StoredEstimate,
    StoredReport,
    StoredSeat,
    add_invites,
    add_reports,
    claim_round,
    close_round,
    closed_rounds,
    count_reports,
    create_campaign,
    estimates_of,
    get_campaign,
    is_participant,
    last_estimate,
    list_campaigns,
    open_round,
    open_store,
    participant_state,
    policy_bytes,
    report_rows,
    reports_of,
    round_progress,
    rounds_of,
    save_estimate,
    save_selection,
    schema,
    seats_of,
    selection_of,
    set_state,
    signing_key,
    take_seat,
    withdraw,
)
from crowdveil.wire import PROBLEMS
from tests.store.campaign import (
    NAME,
    NOTICE,
    SEED,
    all_accepted,
    drafted,
    hashed,
    policy,
    report,
    seated,
    started,
)

# --- campaigns ------------------------------------------------------------------------------------------------


def test_a_campaign_is_stored_as_it_was_sent(store: Store) -> None:
    made = create_campaign(
        store,
        NAME,
        '{"a": 1}',
        terms='{"b": 2}',
        offer="Käse\n☕",
        seed=SEED,
        created=5,
        enrolment="invite",
    )
    assert get_campaign(store, NAME) == made == list_campaigns(store)[0]
    assert made.state == "draft"
    assert get_campaign(store, "other") is None
    with pytest.raises(InputError, match="already used by another campaign"):
        drafted(store)


def test_a_campaign_goes_through_its_states_and_through_no_others(store: Store) -> None:
    drafted(store)
    with pytest.raises(InputError, match="should be open before it can become paused"):
        set_state(store, NAME, "paused")
    for state in ("open", "open", "paused", "open", "closed", "closed"):
        assert set_state(store, NAME, state).state == state
    with pytest.raises(InputError, match="state = 'closed'"):
        set_state(store, NAME, "open")
    with pytest.raises(InputError, match="should be one of open, paused, closed"):
        set_state(store, NAME, "finished")
    with pytest.raises(InputError, match="was not found"):
        set_state(store, "other", "open")


def test_a_campaign_with_an_open_round_is_not_closed_but_one_with_a_claim_is(store: Store) -> None:
    started(store)
    with pytest.raises(InputError, match="still open"):
        set_state(store, NAME, "closed")
    close_round(store, NAME, 0)
    assert claim_round(store, NAME, 1, now=0, until=10)
    set_state(store, NAME, "closed")
    assert [one.number for one in rounds_of(store, NAME)] == [0]
    with pytest.raises(InputError, match="only then can a round be opened"):
        open_round(store, NAME, 1, policy(), notice=NOTICE)


# --- rounds ---------------------------------------------------------------------------------------------------


def test_a_rounds_policy_comes_back_byte_for_byte(store: Store) -> None:
    started(store, size=10)
    (row,) = rounds_of(store, NAME)
    assert row == (0, "open", policy().hash, 10, 0, None, NOTICE)
    assert policy_bytes(store, NAME, 0) == policy().to_bytes()
    assert policy_bytes(store, NAME, 1) is None


def test_the_first_of_two_openings_of_a_round_stays(store: Store) -> None:
    started(store)
    again = open_round(store, NAME, 0, policy(0.3), notice='{"notice":2}', size=5, deadline=9)
    assert again == (0, "open", policy().hash, None, 0, None, NOTICE)


def test_one_scheduler_makes_the_policy_of_a_round_until_its_claim_expires(store: Store) -> None:
    drafted(store)
    set_state(store, NAME, "open")
    assert claim_round(store, NAME, 0, now=0, until=10)
    assert not claim_round(store, NAME, 0, now=9, until=19)
    assert claim_round(store, NAME, 0, now=10, until=20)
    assert open_round(store, NAME, 0, policy(), notice=NOTICE, deadline=99).deadline == 99
    assert not claim_round(store, NAME, 0, now=1000, until=2000)


def test_rounds_open_in_turn(store: Store) -> None:
    started(store)
    with pytest.raises(InputError, match="round = 1: should be at most 0, the number of closed rounds"):
        open_round(store, NAME, 1, policy(), notice=NOTICE)
    with pytest.raises(InputError, match="not open"):
        close_round(store, NAME, 1)


def test_a_closed_rounds_counts_are_its_reports_and_closing_again_gives_them_again(store: Store) -> None:
    started(store)
    sent = [0, 0, 3, None, 3, 3, None, policy().symbol_count - 1]
    assert all_accepted(store, [report(*pair) for pair in zip(seated(store, len(sent)), sent, strict=True)])
    for closed in (close_round(store, NAME, 0), close_round(store, NAME, 0), closed_rounds(store, NAME)[0]):
        assert closed.policy == policy()
        assert closed.counts.tolist() == np.bincount([s for s in sent if s is not None]).tolist()
        assert closed.nulls == 2


# --- seats ----------------------------------------------------------------------------------------------------


def test_asking_again_with_the_same_secret_gives_the_same_seat_whatever_has_happened_since(
    store: Store, numbered: None
) -> None:
    started(store)
    seat = take_seat(store, NAME, hashed("me"))
    assert seat == StoredSeat(0, 0, policy().hash) == take_seat(store, NAME, hashed("me"))
    assert seats_of(store, NAME, [hashed("me"), hashed("new")]) == {hashed("me"): seat}
    assert is_participant(store, hashed("me"))
    assert take_seat(store, NAME, hashed("you")) == StoredSeat(1, 0, policy().hash)
    close_round(store, NAME, 0)
    open_round(store, NAME, 1, policy(0.3), notice=NOTICE)
    assert take_seat(store, NAME, hashed("later")) == StoredSeat(2, 1, policy(0.3).hash)
    set_state(store, NAME, "paused")
    assert take_seat(store, NAME, hashed("me")) == seat
    assert take_seat(store, NAME, hashed("new")) == "paused"
    assert not is_participant(store, hashed("new"))


def test_a_full_round_has_no_more_seats_and_the_next_has_its_own(store: Store, numbered: None) -> None:
    started(store, size=2)
    seated(store, 2)
    assert take_seat(store, NAME, hashed("third")) == "no-seat"
    close_round(store, NAME, 0)
    assert take_seat(store, NAME, hashed("third")) == "no-seat"
    open_round(store, NAME, 1, policy(), notice=NOTICE, size=1)
    assert take_seat(store, NAME, hashed("third")) == StoredSeat(2, 1, policy().hash)
    assert take_seat(store, NAME, hashed("fourth")) == "no-seat"


def test_there_is_no_seat_in_a_campaign_that_is_unknown_or_not_open(store: Store) -> None:
    assert take_seat(store, NAME, hashed("me")) == "not-found"
    drafted(store)
    assert take_seat(store, NAME, hashed("me")) == "wrong-state"


def test_an_invite_seats_one_device(store: Store) -> None:
    drafted(store, enrolment="invite")
    set_state(store, NAME, "open")
    open_round(store, NAME, 0, policy(), notice=NOTICE)
    add_invites(store, NAME, [hashed("a"), hashed("b")])
    add_invites(store, NAME, [hashed("b")])
    assert add_invites(store, NAME, [hashed("c")], at_most=2) == 2
    assert add_invites(store, NAME, [hashed("b")], at_most=3) is None
    seat = take_seat(store, NAME, hashed("me"), hashed("a"))
    assert isinstance(seat, StoredSeat)
    assert take_seat(store, NAME, hashed("me"), hashed("a")) == seat
    assert take_seat(store, NAME, hashed("you"), hashed("a")) == "bad-invite"
    assert take_seat(store, NAME, hashed("you"), hashed("c")) == "bad-invite"
    assert take_seat(store, NAME, hashed("you")) == "bad-invite"
    assert add_invites(store, NAME, [hashed("c")], at_most=2) == 2  # whoever used an invite counts for it
    assert isinstance(take_seat(store, NAME, hashed("you"), hashed("b")), StoredSeat)


def test_nothing_stored_says_which_invite_a_participant_used(store: Store) -> None:
    drafted(store, enrolment="invite")
    set_state(store, NAME, "open")
    open_round(store, NAME, 0, policy(), notice=NOTICE)
    invites = [hashed(f"invite {number}") for number in range(3)]
    add_invites(store, NAME, invites)
    for number in (1, 0):
        assert isinstance(take_seat(store, NAME, hashed(number), invites[number]), StoredSeat)
    with store.reading() as connection:
        left = connection.execute(text("SELECT invite_hash FROM invites")).scalars().all()
        names = set(schema.participants.c.keys())
    assert left == [invites[2]]
    assert names == {"campaign", "number", "secret_hash", "round"}


def test_neither_numbers_nor_rows_show_the_order_of_the_seats(store: Store) -> None:
    started(store)
    numbers = [seated(store, 1, first=one)[0].participant for one in range(200)]
    assert len(set(numbers)) == 200
    assert min(numbers) >= 0
    assert 2**51 < max(numbers) < 2**53
    ranks = np.argsort(np.argsort(numbers))
    assert abs(np.corrcoef(ranks, np.arange(200))[0, 1]) < 0.35  # five standard deviations
    if store.where.startswith("sqlite"):
        with store.reading() as connection:
            rows = connection.execute(text("SELECT number FROM participants")).scalars().all()
            assert rows == sorted(numbers)
        with pytest.raises(StoreError, match="no such column: rowid"), store.reading() as connection:
            connection.execute(text("SELECT rowid FROM participants"))


# --- withdrawals ----------------------------------------------------------------------------------------------


def test_whoever_withdraws_before_the_close_is_forgotten_and_not_counted(store: Store) -> None:
    started(store, size=3)
    seats = seated(store, 3)
    assert all_accepted(store, [report(seats[0], 1), report(seats[1], 2)])
    assert take_seat(store, NAME, hashed("late")) == "no-seat"
    assert withdraw(store, NAME, hashed(0)) == seats[0].participant
    assert withdraw(store, NAME, hashed(2)) == seats[2].participant
    assert round_progress(store, NAME) == [RoundProgress(0, 1, 1, {})]
    assert not is_participant(store, hashed(0))
    assert report_rows(store, NAME).participant.tolist() == [seats[1].participant]
    assert participant_state(store, NAME, seats[0].participant) is None
    assert withdraw(store, NAME, hashed(0)) == "unknown-participant"
    assert add_reports(store, [report(seats[0], 1)]) == ["unknown-participant"]
    assert isinstance(take_seat(store, NAME, hashed("late")), StoredSeat)  # the seat is free again
    assert close_round(store, NAME, 0).counts.tolist()[:3] == [0, 0, 1]


def test_nobody_can_withdraw_once_the_round_is_closed(store: Store) -> None:
    started(store)
    seats = seated(store, 2)
    assert all_accepted(store, [report(seats[0], 1)])
    set_state(store, NAME, "paused")
    assert withdraw(store, NAME, hashed(1)) == seats[1].participant
    close_round(store, NAME, 0)
    assert withdraw(store, NAME, hashed(0)) == "round-closed"
    assert withdraw(store, NAME, hashed(1)) == "unknown-participant"
    assert withdraw(store, "other", hashed(0)) == "unknown-participant"
    assert report_rows(store, NAME).symbol.tolist() == [1]


def test_what_was_withdrawn_is_not_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with open_store(f"sqlite:///{path}") as store:
        started(store)
        seats = seated(store, 3)
        assert all_accepted(store, [report(seat, 1) for seat in seats])
        withdraw(store, NAME, hashed(1))
    left = path.read_bytes()
    assert hashed(0).encode() in left
    assert hashed(1).encode() not in left
    assert report(seats[1], 1).digest.encode() not in left


# --- reports --------------------------------------------------------------------------------------------------


def test_the_first_report_stays_and_the_same_one_again_is_no_error(store: Store) -> None:
    started(store)
    (seat,) = seated(store, 1)
    first, changed = report(seat, 1), report(seat, 2)
    assert add_reports(store, [first]) == ["accepted"]
    assert add_reports(store, [changed, first]) == ["report-conflict", "repeated"]
    close_round(store, NAME, 0)
    assert add_reports(store, [first, changed]) == ["repeated", "report-conflict"]
    assert reports_of(store, NAME).symbol.tolist() == [1]


def test_within_one_batch_too_the_first_report_of_a_participant_stays(store: Store) -> None:
    started(store)
    (seat,) = seated(store, 1)
    batch = [report(seat, 99), report(seat, 1), report(seat, 2), report(seat, 1)]
    assert add_reports(store, batch) == ["wrong-symbol", "accepted", "report-conflict", "repeated"]
    assert report_rows(store, NAME).symbol.tolist() == [1]


def test_a_report_that_is_not_valid_is_refused_with_its_reason_and_the_others_are_stored(store: Store) -> None:
    started(store)
    seats = seated(store, 6)
    good = report(seats[0], None)
    batch = [
        good,
        report(StoredSeat(77, 0, policy().hash), 1),
        report(seats[1]._replace(round=1), 1),
        report(seats[2]._replace(policy_hash=hashed("another")), 1),
        report(seats[3], policy().symbol_count),
        report(seats[4], -1),
        report(seats[5], 1, name="elsewhere"),
    ]
    refused = ["unknown-participant", "wrong-round", "wrong-policy", "wrong-symbol", "wrong-symbol"]
    assert add_reports(store, batch) == ["accepted", *refused, "unknown-participant"]
    assert round_progress(store, NAME) == [
        RoundProgress(0, 6, 1, {"wrong-round": 1, "wrong-policy": 1, "wrong-symbol": 2})
    ]
    assert add_reports(store, batch[2:4]) == ["wrong-round", "wrong-policy"]
    assert round_progress(store, NAME)[0].refused == {"wrong-round": 2, "wrong-policy": 2, "wrong-symbol": 2}


def test_a_late_report_is_refused_and_one_during_a_pause_too_but_only_until_it_ends(store: Store) -> None:
    started(store)
    late, slow = seated(store, 2)
    set_state(store, NAME, "paused")
    assert add_reports(store, [report(slow, 1)]) == ["paused"]
    set_state(store, NAME, "open")
    assert add_reports(store, [report(slow, 1)]) == ["accepted"]
    close_round(store, NAME, 0)
    assert add_reports(store, [report(late, 1)]) == ["round-closed"]
    open_round(store, NAME, 1, policy(), notice=NOTICE)
    assert add_reports(store, [report(late, 1)]) == ["round-closed"]


def test_a_batch_may_hold_reports_of_several_campaigns(store: Store) -> None:
    started(store)
    started(store, name="tea")
    (one,), (two,) = seated(store, 1), seated(store, 1, name="tea")
    assert add_reports(store, [report(two, 2, "tea"), report(one, 1)]) == ["accepted", "accepted"]
    assert report_rows(store, "tea").symbol.tolist() == [2]
    assert add_reports(store, []) == []


def test_thousands_of_seats_and_reports_are_stored_in_one_commit(store: Store) -> None:
    started(store)
    seats = seated(store, 6000)
    assert len({seat.participant for seat in seats}) == 6000
    symbols = [number % policy().symbol_count for number in range(6000)]
    assert all_accepted(store, [report(*pair) for pair in zip(seats, symbols, strict=True)])
    assert close_round(store, NAME, 0).counts.tolist() == np.bincount(symbols).tolist()


def test_every_refusal_is_in_the_table_of_problems() -> None:
    assert {*get_args(ReportOutcome), *get_args(NoSeat)} - {"accepted", "repeated"} <= set(PROBLEMS)


# --- selections -----------------------------------------------------------------------------------------------


def test_a_selection_finishes_a_closed_campaign_once_and_sets_the_state_of_each_participant(
    store: Store, numbered: None
) -> None:
    started(store)
    seats = seated(store, 4)
    assert all_accepted(store, [report(seat, number) for number, seat in enumerate(seats[:3])])
    found = [participant_state(store, NAME, number) for number in (0, 3, 4)]
    assert found == [("reported", 0, ()), ("seated", 0, ()), None]
    chosen = Selection(np.array([2, 0]), np.array([0.1 + 0.2, 0.25]), np.array([0, 1]), np.array([True, False]), (0, 3))
    with pytest.raises(InputError, match="should be closed when participants are selected"):
        save_selection(store, NAME, chosen, rounds=1)
    close_round(store, NAME, 0)
    set_state(store, NAME, "closed")
    assert selection_of(store, NAME) is None
    first = save_selection(store, NAME, chosen, rounds=1, made=77)
    assert (first.number, first.request, first.made, first.rounds, first.people) == (0, None, 77, 1, 2)
    other = Selection(np.array([1]), np.ones(1), np.array([0]), np.array([True]), (0,))
    assert save_selection(store, NAME, other, rounds=1, made=78) == first
    kept = selection_of(store, NAME)
    assert kept is not None
    assert kept.participants.tolist() == [2, 0]
    assert kept.chances.tolist() == [0.1 + 0.2, 0.25]
    assert kept.targets.tolist() == [0, 1]
    assert kept.chosen == ["symbol", "filled"]
    assert (kept.hits, kept.missing, kept.short) == (1, (0, 3), 3)
    states = [participant_state(store, NAME, number) for number in range(4)]
    assert states == [("selected", 1, (0,)), ("not-selected", 1, ()), ("selected", 1, (0,)), ("not-selected", 0, ())]


def test_a_selection_may_be_empty(store: Store) -> None:
    drafted(store)
    set_state(store, NAME, "open")
    set_state(store, NAME, "closed")
    save_selection(store, NAME, nobody((5,)), rounds=0)
    kept = selection_of(store, NAME)
    assert kept is not None
    assert (len(kept), kept.short) == (0, 5)


def test_reports_come_back_by_number_whatever_the_order_of_arrival(store: Store, numbered: None) -> None:
    started(store)
    seats = seated(store, 5)
    for number in (3, 0, 4, 1):
        assert all_accepted(store, [report(seats[number], None if number == 4 else number)])
    rows, reports = report_rows(store, NAME), reports_of(store, NAME)
    assert rows.participant.tolist() == [0, 1, 3, 4]
    assert rows.symbol.tolist() == [0, 1, 3, -1]
    assert rows.commitment == [hashed(number) for number in (0, 1, 3, 4)]
    assert reports.participant.tolist() == [0, 1, 3]
    assert len(reports_of(store, "other")) == 0


# --- opening --------------------------------------------------------------------------------------------------


def test_opening_again_keeps_everything(url: str) -> None:
    with open_store(url) as store:
        started(store)
        sent = report(seated(store, 1)[0], 3)
        assert add_reports(store, [sent]) == ["accepted"]
    with open_store(url) as store:
        assert add_reports(store, [sent]) == ["repeated"]
        assert isinstance(sent, StoredReport)
        assert close_round(store, NAME, 0).counts[3] == 1


def test_an_address_that_names_no_database_is_refused_without_showing_its_password() -> None:
    for wrong in ("nonsense", "mysql://ann:secret@host/db", "oracle9://ann:secret@host/db", "sqlite://"):
        with pytest.raises(InputError, match="sqlite:///") as refused:
            open_store(wrong)
        assert "secret" not in str(refused.value)


def test_a_folder_that_is_missing_or_cannot_be_written_to_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"the folder .*/missing does not exist; create it first"):
        open_store(f"sqlite:///{tmp_path}/missing/store.sqlite")
    with pytest.raises(StoreError, match="unable to open database file"):
        open_store("sqlite:////proc/store.sqlite")


def test_a_file_that_is_read_only_or_no_database_is_a_clear_error(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/store.sqlite").close()
    with pytest.raises(StoreError, match="readonly"):
        open_store(f"sqlite:///file:{tmp_path}/store.sqlite?mode=ro&uri=true")
    (tmp_path / "text").write_text("not a database, but long enough to look at" * 50)
    with pytest.raises(StoreError, match="not a database"):
        open_store(f"sqlite:///{tmp_path}/text")


def test_a_connection_that_was_made_while_nothing_could_be_written_is_not_used_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with open_store(f"sqlite:///{path}") as store:
        real = sqlite3.dbapi2.connect
        with pytest.MonkeyPatch.context() as patch:
            uri = f"file:{path}?mode=ro"
            patch.setattr(sqlite3.dbapi2, "connect", lambda *_, **options: real(uri, **{**options, "uri": True}))
            store.close()  # the pool is empty: the next connection can only read
            with pytest.raises(StoreError, match="readonly"):
                store.ping()
        store.ping()


def test_a_server_that_does_not_answer_is_a_clear_error_without_the_password() -> None:
    with pytest.raises(StoreError) as refused:
        open_store("postgresql://ann:secret@127.0.0.1:9/none")
    assert "127.0.0.1:9/none" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_an_estimate_is_stored_after_each_round_and_the_last_one_is_shown(store: Store) -> None:
    started(store)
    seat = seated(store, 1)[0]
    assert all_accepted(store, [report(seat, 1)])
    assert count_reports(store, NAME, 0) == 1
    assert last_estimate(store, NAME) is None
    learnt = StoredEstimate((0.25, 1 / 3), (0.5, 0.2), 0.3, 0.1, '{"places":[]}')
    save_estimate(store, NAME, 0, learnt)
    save_estimate(store, NAME, 0, StoredEstimate((0.5, 0.5), (1.0,), 0.0, 0.2, "{}"))
    assert last_estimate(store, NAME) == learnt
    assert estimates_of(store, NAME) == {0: learnt}


def test_the_first_signing_key_stays_for_all_processes(url: str) -> None:
    first, second = "a" * 64, "b" * 64
    with open_store(url) as store, open_store(url) as another:
        assert signing_key(store, first) == first
        assert signing_key(another, second) == first
        for change in (f"UPDATE signing_keys SET private_key = '{second}'", "DELETE FROM signing_keys"):
            with pytest.raises(StoreError, match="never changed"), store.writing() as connection:
                connection.execute(text(change))
    with open_store(url) as store:
        assert signing_key(store, second) == first


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_files_of_a_database_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "store.sqlite"
    before = os.umask(umask)
    try:
        with open_store(f"sqlite:///{path}") as store:
            started(store)
            modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"store.sqlite": 0o600, "store.sqlite-wal": 0o600, "store.sqlite-shm": 0o600}


def test_a_database_that_others_could_read_is_closed_to_them_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    open_store(f"sqlite:///{path}").close()
    path.chmod(0o644)
    with open_store(f"sqlite:///{path}"):
        assert {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {0o600}
