"""The device's ledger: one value a report, sums that only grow, a file that cannot be altered, copied or used twice."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from math import log
from pathlib import Path
from time import monotonic

import pytest

import crowdveil as cv
from crowdveil.client import ExcludedPlace, Ledger, PrivacyLimits, ReportKey, Spent, ledger_file
from crowdveil.client.events import LedgerEvent, next_event, read_events
from crowdveil.client.ledger import DrawTerms, utc_now
from crowdveil.errors import CampaignRefused, LimitReached, OutsideLimits
from crowdveil.limits import Charge, Lattice
from crowdveil.profile.place import Place
from tests.limits.some_terms import announce, some_terms, squares

LN4, LN64 = log(4), log(64)
SERVER_KEY = "a" * 64
LATTICE = Lattice.of(squares(6))
NOTICE = announce(some_terms(), "a" * 64).notice
assert NOTICE is not None
HOME = ExcludedPlace(48.0, 11.0, 0.3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def test_an_imported_ledger_brings_no_limits_that_are_looser_than_the_defaults(path: Path) -> None:
    usual = PrivacyLimits()
    strange = PrivacyLimits(
        epsilon_per_km=1e6, clear_reports=10**6, span="twelve-months", min_cells=2, cell_km=0.5, gap_km=2.0, delta=0.1
    )
    file = path.with_name("gift.json")
    Ledger.create(path, limits=strange).export(file)
    kept = Ledger.import_(file, path.with_name("kept"), keep_limits=True)
    assert kept.limits() == strange
    careful = Ledger.import_(file, path.with_name("careful"))
    assert careful.limits() == PrivacyLimits(cell_km=0.5, gap_km=2.0)
    assert strange.stricter(usual) == usual.stricter(strange)
    own = path.with_name("own")
    Ledger.create(own, limits=PrivacyLimits(epsilon_per_km=0.5)).export(path.with_name("own.json"))
    assert Ledger.import_(path.with_name("own.json"), path.with_name("phone")).limits().epsilon_per_km == 0.5


def key(campaign: str) -> ReportKey:
    return ReportKey(SERVER_KEY, campaign)


def drawn(epsilon: float = LN4, null_epsilon: float = LN64, lattice: Lattice = LATTICE) -> DrawTerms:
    assert NOTICE is not None
    return DrawTerms(Charge(epsilon, null_epsilon, clear=False), lattice, NOTICE)


def in_the_clear() -> DrawTerms:
    assert NOTICE is not None
    return DrawTerms(Charge(LN4, 0.0, clear=True), LATTICE, NOTICE)


def never() -> tuple[int, str]:
    raise AssertionError("nothing may be drawn here")


def never_picked() -> Place:
    raise AssertionError("no place may be picked here")


def test_a_symbol_is_drawn_once_and_stays(path: Path) -> None:
    ledger = Ledger.create(path)
    assert ledger.draw_once(key("c1"), drawn(), lambda: (17, "hit")).symbol == 17
    assert ledger.draw_once(key("c1"), drawn(), never).symbol == 17
    again = Ledger(path).entry(key("c1"))
    assert again is not None
    assert (again.symbol, again.symbol_name, again.state) == (17, "hit", "drawn")
    assert again.notice == NOTICE


def test_the_same_campaign_on_another_server_and_another_report_are_other_entries(path: Path) -> None:
    ledger = Ledger.create(path)
    ledger.draw_once(key("c1"), drawn(), lambda: (1, "hit"))
    ledger.draw_once(ReportKey("b" * 64, "c1"), drawn(), lambda: (2, "hit"))
    ledger.draw_once(ReportKey(SERVER_KEY, "c1", 1), drawn(), lambda: (3, "hit"))
    assert [entry.symbol for entry in ledger.entries().values()] == [1, 2, 3]
    assert ledger.spent() == Spent(3 * LN4, 3 * LN64, 0, 3)
    for wrong in (ReportKey("", "c"), ReportKey(SERVER_KEY, "")):
        with pytest.raises(cv.InputError, match="should name the server's key"):
            ledger.draw_once(wrong, drawn(), never)


def test_nothing_is_drawn_for_an_earlier_report_than_the_last_that_was_begun(path: Path) -> None:
    ledger = Ledger.create(path)
    ledger.begin(ReportKey(SERVER_KEY, "c1", 2), lambda: "secret", {})
    ledger.begin(ReportKey("b" * 64, "c2", 5), lambda: "secret", {})
    with pytest.raises(CampaignRefused, match="went back"):
        ledger.draw_once(ReportKey(SERVER_KEY, "c1", 1), drawn(), never)
    assert ledger.spent() == Spent()
    for allowed in (ReportKey(SERVER_KEY, "c1", 2), ReportKey(SERVER_KEY, "c2"), ReportKey("b" * 64, "c1")):
        assert ledger.draw_once(allowed, drawn(), lambda: (1, "hit")).symbol == 1


def test_nothing_is_drawn_sooner_than_the_schedule_says_even_if_two_programs_ask_at_once(path: Path) -> None:
    now = ["2026-01-01T00:00:00+00:00"]
    ledger = Ledger.create(path, clock=lambda: now[0])
    terms = replace(drawn(), renewal_s=100 * 86_400)
    ledger.draw_once(ReportKey(SERVER_KEY, "c1", 0), terms, lambda: (1, "hit"))
    now[0] = "2026-03-31T23:59:59+00:00"
    with pytest.raises(CampaignRefused, match="it can from 2026-04-01 on"):
        ledger.draw_once(ReportKey(SERVER_KEY, "c1", 1), terms, never)
    ledger.draw_once(ReportKey(SERVER_KEY, "c2", 1), terms, lambda: (1, "hit"))
    now[0] = "2026-04-01T00:00:00+00:00"
    assert ledger.draw_once(ReportKey(SERVER_KEY, "c1", 1), terms, lambda: (2, "hit")).symbol == 2


def test_a_draw_that_fails_leaves_nothing(path: Path) -> None:
    ledger = Ledger.create(path)
    with pytest.raises(AssertionError):
        ledger.draw_once(key("c1"), drawn(), never)
    assert ledger.entry(key("c1")) is None
    assert ledger.spent() == Spent()


@pytest.mark.parametrize("terms", [drawn(LN4, 0.1), drawn(0.1, LN64)])
def test_losses_of_both_kinds_add_up_over_reports_and_stop_at_the_limits(path: Path, terms: DrawTerms) -> None:
    ledger = Ledger.create(path)
    for number in range(3):
        ledger.draw_once(key(f"c{number}"), terms, lambda: (0, "outside"))
    with pytest.raises(LimitReached, match=r"You have answered 3 campaigns, the most your limit allows"):
        ledger.draw_once(key("c3"), drawn(0.1, 0.1), never)
    with pytest.raises(LimitReached):
        ledger.check(Charge(0.1, 0.1, clear=False), LATTICE)
    assert ledger.entry(key("c3")) is None


def test_reports_in_the_clear_are_counted_on_their_own(path: Path) -> None:
    ledger = Ledger.create(path, limits=PrivacyLimits(clear_reports=1))
    ledger.draw_once(key("c1"), in_the_clear(), lambda: (-1, "outside"))
    with pytest.raises(LimitReached, match="asks openly"):
        ledger.draw_once(key("c2"), in_the_clear(), never)
    ledger.draw_once(key("c3"), drawn(), lambda: (0, "hit"))
    assert ledger.spent() == Spent(2 * LN4, LN64, 1, 2)


def test_limits_are_kept_with_the_ledger_and_changed_on_purpose(path: Path) -> None:
    limits = PrivacyLimits(total_epsilon_per_km=LN4)
    ledger = Ledger.create(path, limits=limits)
    ledger.draw_once(key("c1"), drawn(), lambda: (0, "hit"))
    assert Ledger(path).limits() == limits
    with pytest.raises(LimitReached):
        ledger.draw_once(key("c2"), drawn(), never)
    ledger.change_limits(PrivacyLimits())
    ledger.change_limits(PrivacyLimits(min_cells=20))
    assert Ledger(path).limits() == PrivacyLimits(min_cells=20)
    ledger.draw_once(key("c2"), drawn(), lambda: (0, "hit"))


def test_a_symbol_that_was_never_acknowledged_was_refused_or_withdrawn_counts_all_the_same(path: Path) -> None:
    ledger = Ledger.create(path)
    for name in ("lost", "late", "kept", "left"):
        ledger.draw_once(key(name), drawn(1.0, 1.0), lambda: (0, "hit"))
    assert ledger.refuse(key("late"), "the round is closed").state == "refused"
    assert ledger.acknowledge(key("kept"), "ab" * 32).receipt_digest == "ab" * 32
    assert ledger.withdraw(key("left")).state == "withdrawn"
    assert ledger.spent() == ledger.spent_ever() == Spent(4.0, 4.0, 0, 4)


def test_a_reinstalled_device_says_what_was_already_spent(path: Path) -> None:
    ledger = Ledger.create(path, already_spent=Spent(3.5, 1.0, 0, 2))
    assert ledger.spent() == Spent(3.5, 1.0, 0, 2)
    with pytest.raises(LimitReached):
        ledger.draw_once(key("c"), drawn(), never)
    whole = Ledger.create(path.with_name("lost"), already_spent=Spent.whole_limit(PrivacyLimits()))
    with pytest.raises(LimitReached, match="used up before this record began"):
        whole.draw_once(key("c"), drawn(0.1, 0.1), never)


def test_a_map_that_does_not_fit_an_earlier_one_is_refused(path: Path) -> None:
    ledger = Ledger.create(path)
    ledger.draw_once(key("c1"), drawn(), lambda: (0, "hit"))
    town = squares(6)
    x, y = town.first_centre_m
    shifted = Lattice.of(cv.Grid.build(town.origin, 1000, 6, 6, (x + 500, y)))
    for attempt in (
        lambda: ledger.check(drawn().charge, shifted),
        lambda: ledger.draw_once(key("c2"), drawn(lattice=shifted), never),
    ):
        with pytest.raises(OutsideLimits, match="divided in another way"):
            attempt()
    ledger.check(drawn().charge, Lattice.of(cv.Grid.build(town.origin, 500, 6, 6, (x + 250, y + 250))))


def test_a_missing_ledger_is_never_created_implicitly(path: Path) -> None:
    with pytest.raises(cv.FileFormatError, match="starts with the whole limit spent, or that states what was spent"):
        Ledger(path)
    assert not path.exists()


def test_a_second_ledger_cannot_replace_the_first(path: Path) -> None:
    Ledger.create(path).draw_once(key("c"), drawn(), lambda: (3, "hit"))
    with pytest.raises(cv.FileFormatError, match="a ledger exists already"):
        Ledger.create(path)
    assert Ledger(path).spent().reports == 1
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_unfinished_draft_is_not_written_over(path: Path) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    draft.write_bytes(b"someone is writing this")
    with pytest.raises(cv.FileFormatError, match="File exists"):
        Ledger.create(path)
    assert draft.read_bytes() == b"someone is writing this"


def test_a_ledger_in_use_is_waited_for_and_then_said_to_be_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(path)
    monkeypatch.setattr(ledger_file, "LOCK_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = monotonic()
        with pytest.raises(cv.FileFormatError, match="the ledger is busy"):
            ledger.spent()
        assert monotonic() - began < 3
    assert ledger.spent() == Spent()


# --- time ---------------------------------------------------------------------------------------------------------


def at(time: str) -> str:
    return f"{time}T00:00:00+00:00"


def test_a_clock_turned_back_frees_nothing_and_times_never_run_backwards(path: Path) -> None:
    now = [at("2030-01-01")]
    limits = PrivacyLimits(total_epsilon_per_km=1.5)
    ledger = Ledger.create(path, limits=limits, clock=lambda: now[0])
    now[0] = at("2030-06-01")
    ledger.draw_once(key("c1"), drawn(1.0), lambda: (0, "hit"))
    now[0] = at("1970-01-01")
    assert ledger.refuse(key("c1"), "late").at == at("2030-06-01")
    with pytest.raises(CampaignRefused, match="This campaign would take you past your limit"):
        ledger.draw_once(key("c2"), drawn(1.0), never)


def test_a_limit_for_twelve_months_counts_the_last_twelve_months(path: Path) -> None:
    now = [at("2030-01-01")]
    ledger = Ledger.create(
        path, limits=PrivacyLimits(span="twelve-months"), already_spent=Spent(LN4, LN64), clock=lambda: now[0]
    )
    for day in ("2030-02-01", "2030-03-01"):
        now[0] = at(day)
        ledger.draw_once(key(day), drawn(), lambda: (0, "hit"))
    now[0] = at("2031-01-01")
    with pytest.raises(LimitReached, match="in the last twelve months"):
        ledger.draw_once(key("c"), drawn(), never)
    now[0] = at("2031-01-03")
    ledger.draw_once(key("c"), drawn(), lambda: (0, "hit"))
    for day in ("2031-02-01", "1970-01-01"):
        now[0] = at(day)
        with pytest.raises(LimitReached):
            ledger.draw_once(key("d"), drawn(), never)
    now[0] = at("2031-02-03")
    ledger.draw_once(key("d"), drawn(), lambda: (0, "hit"))
    assert ledger.spent().reports == 3
    assert ledger.spent_ever() == Spent(5 * LN4, 5 * LN64, 0, 4)
    now[0] = at("1970-01-01")
    assert ledger.spent().reports == 3


def test_twelve_months_end_after_366_days(path: Path) -> None:
    now = [at("2030-01-01")]
    ledger = Ledger.create(
        path, limits=PrivacyLimits(span="twelve-months"), already_spent=Spent(1.0, 1.0), clock=lambda: now[0]
    )
    ledger.draw_once(key("c"), drawn(2.0, 2.0), lambda: (0, "hit"))
    now[0] = at("2031-01-02")
    assert ledger.spent() == Spent(3.0, 3.0, 0, 1)
    now[0] = "2031-01-02T00:00:01+00:00"
    assert ledger.spent() == Spent()


def test_times_are_in_utc_and_to_the_second() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", utc_now())


def test_for_life_nothing_is_forgotten(path: Path) -> None:
    now = [at("2030-01-01")]
    ledger = Ledger.create(path, clock=lambda: now[0])
    ledger.draw_once(key("c"), drawn(), lambda: (0, "hit"))
    now[0] = at("2090-01-01")
    assert ledger.spent().reports == 1


# --- places -------------------------------------------------------------------------------------------------------


def test_a_place_is_picked_once_and_forgotten_when_a_symbol_was_drawn(path: Path) -> None:
    ledger = Ledger.create(path)
    assert ledger.keep_place(key("c"), "t" * 64, set(), lambda: Place(7, 1)) == Place(7, 1)
    assert Ledger(path).keep_place(key("c"), "t" * 64, set(), never_picked) == Place(7, 1)
    assert ledger.keep_place(key("d"), "t" * 64, set(), lambda: Place(-1, 0)) == Place(-1, 0)
    with pytest.raises(CampaignRefused, match="not those that you were shown before"):
        ledger.keep_place(key("c"), "u" * 64, set(), never_picked)
    ledger.draw_once(key("c"), drawn(), lambda: (0, "hit"))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT campaign FROM pending").fetchall() == [("d",)]


def test_a_place_whose_cell_was_excluded_is_picked_anew(path: Path) -> None:
    ledger = Ledger.create(path)
    ledger.keep_place(key("c"), "t" * 64, set(), lambda: Place(7))
    assert ledger.keep_place(key("c"), "t" * 64, {6, 8}, never_picked) == Place(7)
    assert ledger.keep_place(key("c"), "t" * 64, {7}, lambda: Place(9)) == Place(9)
    assert ledger.keep_place(key("c"), "t" * 64, set(), never_picked) == Place(9)


def test_excluded_places_are_kept_until_they_are_included_again_on_purpose(path: Path) -> None:
    ledger = Ledger.create(path)
    ledger.exclude(HOME)
    ledger.exclude(ExcludedPlace(48.1, 11.1))
    assert list(Ledger(path).excluded().values()) == [HOME, ExcludedPlace(48.1, 11.1, 0.25)]
    first = min(ledger.excluded())
    assert ledger.include_again(first) == HOME
    with pytest.raises(cv.InputError, match="should be one of the excluded places"):
        ledger.include_again(first)
    assert list(ledger.excluded().values()) == [ExcludedPlace(48.1, 11.1)]
    for wrong in ((91.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, float("nan"))):
        with pytest.raises(cv.InputError):
            ExcludedPlace(*wrong)


# --- damage -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_a_ledger_that_other_users_can_read_is_refused(path: Path) -> None:
    Ledger.create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(cv.FileFormatError, match="run chmod 600"):
        Ledger(path)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE event SET body = replace(body, '\"symbol\":5', '\"symbol\":6')",
        "UPDATE event SET body = replace(body, '1.38', '0.38')",
        "UPDATE event SET campaign = 'other' WHERE campaign = 'c'",
        "UPDATE event SET server_key = 'other' WHERE campaign = 'c'",
        "UPDATE event SET report = 1 WHERE campaign = 'c'",
        "DELETE FROM event WHERE kind = 'drawn'",
        "DELETE FROM event WHERE number = (SELECT max(number) FROM event)",
        "DELETE FROM event",
        "DELETE FROM head",
        "UPDATE head SET number = 1",
        "DROP TABLE event",
        "INSERT INTO event VALUES (9, '', 'c2', 0, 'secret', '{}', '')",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = 2",
        "UPDATE head SET file = '1'",
    ],
)
def test_an_altered_ledger_is_refused(path: Path, edit: str) -> None:
    ledger = Ledger.create(path)
    ledger.draw_once(key("c"), drawn(), lambda: (5, "hit"))
    ledger.acknowledge(key("c"), "ab")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(edit)
    refusal = r"altered|truncated|another version|is a copy"
    with pytest.raises(cv.FileFormatError, match=refusal):
        Ledger(path)
    with pytest.raises(cv.FileFormatError, match=refusal):
        ledger.draw_once(key("c"), drawn(), never)


def test_a_truncated_file_is_refused_wherever_it_was_cut(path: Path) -> None:
    Ledger.create(path).draw_once(key("c"), drawn(), lambda: (5, "hit"))
    whole = path.read_bytes()
    for length in {0, 1, 99, 100, 4095, 4096, len(whole) // 2, len(whole) - 4096, len(whole) - 1}:
        path.write_bytes(whole[:length])
        with pytest.raises(cv.FileFormatError, match=r"truncated|altered"):
            Ledger(path)


def test_a_copy_is_refused_and_a_renamed_ledger_is_not(path: Path) -> None:
    ledger = Ledger.create(path)
    copy = path.with_name("copy")
    shutil.copy2(path, copy)
    with pytest.raises(cv.FileFormatError, match="is a copy, which could be older"):
        Ledger(copy)
    ledger.draw_once(key("c"), drawn(), lambda: (5, "hit"))
    path.rename(path.with_name("renamed"))
    assert Ledger(path.with_name("renamed")).spent().reports == 1


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_full_disk_draws_nothing_and_leaves_the_ledger_as_it_was(path: Path) -> None:
    ledger = Ledger.create(path)
    ledger.draw_once(key("c"), drawn(), lambda: (5, "hit"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
    try:
        with pytest.raises(cv.FileFormatError, match="cannot be written"):
            ledger.draw_once(key("d"), drawn(), lambda: (6, "hit"))
        with pytest.raises(cv.FileFormatError, match="cannot be written"):
            Ledger.create(path.with_name("new"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ledger.spent().reports == 1
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_the_secret_and_the_symbol_are_not_in_what_is_printed(path: Path) -> None:
    ledger = Ledger.create(path)
    ledger.begin(key("c"), lambda: "a-secret", {"name": "C", "server": "", "terms_hash": "t"})
    assert "a-secret" not in repr(ledger.draw_once(key("c"), drawn(), lambda: (4711, "cell 4711")))
    assert "4711" not in repr(ledger.entry(key("c")))
    begun = ledger.begin(key("d"), lambda: "a-secret", {"name": "D", "server": "", "terms_hash": "t"})
    assert repr(begun) == f"LedgerEntry(d: joining, nothing charged, {begun.at})"
    assert "nothing charged" not in repr(ledger.entry(key("c")))


# --- moving -------------------------------------------------------------------------------------------------------


def filled(path: Path) -> Ledger:
    ledger = Ledger.create(path, limits=PrivacyLimits(min_cells=20), already_spent=Spent(0.5, 0.25, 0, 1))
    ledger.begin(key("c"), lambda: "a-secret", {"name": "C", "server": "https://s.org", "terms_hash": "t" * 64})
    ledger.draw_once(key("c"), drawn(), lambda: (5, "hit"))
    ledger.keep_place(key("d"), "t" * 64, set(), lambda: Place(7, 1))
    ledger.keep_place(ReportKey(SERVER_KEY, "d", 1), "t" * 64, set(), lambda: Place(8, 0))
    ledger.exclude(HOME)
    return ledger


def test_a_ledger_moves_to_another_device_and_the_old_one_is_retired(path: Path) -> None:
    old, file = filled(path), path.with_name("moved.json")
    old.export(file)
    new = Ledger.import_(file, path.with_name("phone"))
    assert new.limits() == PrivacyLimits(min_cells=20)
    assert new.spent() == old.spent() == Spent(0.5 + LN4, 0.25 + LN64, 0, 2)
    assert new.entries() == old.entries()
    assert new.find("c", "https://s.org") == old.entry(key("c"))
    assert new.keep_place(key("d"), "t" * 64, set(), never_picked) == Place(7, 1)
    assert new.keep_place(ReportKey(SERVER_KEY, "d", 1), "t" * 64, set(), never_picked) == Place(8, 0)
    assert list(new.excluded().values()) == [HOME]
    assert new.acknowledge(key("c"), "ab").state == "acknowledged"
    assert not new.retired
    assert old.retired
    for attempt in (
        lambda: old.draw_once(key("e"), drawn(), never),
        lambda: old.acknowledge(key("c"), "ab"),
        lambda: old.keep_place(key("d"), "t" * 64, set(), never_picked),
        lambda: old.change_limits(PrivacyLimits()),
        lambda: old.exclude(HOME),
        lambda: old.check(drawn().charge, LATTICE),
        old.check_active,
    ):
        with pytest.raises(cv.FileFormatError, match=r"moved to another device .* no longer answers"):
            attempt()


def test_an_interrupted_export_can_be_repeated_and_gives_the_same_file(path: Path) -> None:
    ledger = filled(path)
    ledger.export(path.with_name("one"))
    ledger.export(path.with_name("two"))
    assert path.with_name("one").read_bytes() == path.with_name("two").read_bytes()
    with pytest.raises(cv.FileFormatError, match="exists already"):
        ledger.export(path.with_name("one"))


def test_an_export_that_cannot_be_written_retires_nothing(path: Path) -> None:
    ledger = filled(path)
    with pytest.raises(cv.FileFormatError, match="cannot be written"):
        ledger.export(path.parent / "nowhere" / "file")
    assert not ledger.retired


def test_a_moved_ledger_can_move_again(path: Path) -> None:
    filled(path).export(path.with_name("one"))
    second = Ledger.import_(path.with_name("one"), path.with_name("second"))
    second.export(path.with_name("two"))
    third = Ledger.import_(path.with_name("two"), path.with_name("third"))
    assert third.spent().reports == 2
    with pytest.raises(cv.FileFormatError, match="a ledger exists already"):
        Ledger.import_(path.with_name("two"), path.with_name("third"))


def test_an_export_that_was_altered_truncated_or_comes_from_elsewhere_is_refused(path: Path) -> None:
    filled(path).export(path.with_name("good"))
    text = path.with_name("good").read_text()
    good = json.loads(text)
    not_retired = {**good, "events": good["events"][:-1], "head": [good["events"][-2][0], good["events"][-2][-1]]}
    wrong = {
        "cut": (text[: len(text) // 2], "bad: ledger: not JSON, or cut short"),
        "empty": ("", "not JSON, or cut short"),
        "another file": ('{"kind": "grid"}', "is not an exported ledger"),
        "a list": ("[]", "is not an exported ledger"),
        "another version": (json.dumps({**good, "version": 2}), "another version"),
        "a field more": (json.dumps({**good, "more": 1}), "exactly the fields"),
        "a cheaper charge": (text.replace("1.3862943611198906", "0.3862943611198906"), "altered at event"),
        "an event less": (json.dumps({**good, "events": good["events"][1:]}), "altered at event 0"),
        "the last event less": (json.dumps({**good, "events": good["events"][:-1]}), "truncated"),
        "no events": (json.dumps({**good, "events": []}), "truncated"),
        "not retired": (json.dumps(not_retired), "is not retired"),
        "a strange place": (json.dumps({**good, "excluded": [[99, 0, 1]]}), "latitude"),
        "a strange pending place": (json.dumps({**good, "pending": [["a"]]}), "altered or truncated"),
        "no event at all": (json.dumps({**good, "events": [1]}), "altered or truncated"),
    }
    for name, (content, reason) in wrong.items():
        file = path.with_name("bad")
        file.write_text(content)
        with pytest.raises(cv.FileFormatError, match=reason) as refusal:
            Ledger.import_(file, path.with_name("phone"))
        assert str(file) in str(refusal.value), name
        assert not path.with_name("phone").exists()


RACER = """
import sys
from tests.client.test_ledger import *
import secrets
ledger = Ledger(sys.argv[1])
sys.stdin.readline()
draw = lambda: (secrets.randbelow(1 << 40), "x")
print([ledger.draw_once(key(f"c{i}"), drawn(0.1, 0.1), draw).symbol for i in range(20)])
"""


def test_two_processes_on_one_ledger_draw_one_value(path: Path) -> None:
    Ledger.create(path)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=60)[0] for racer in racers]
    assert said[0] == said[1]
    assert said[0].count(",") == 19
    assert Ledger(path).spent().reports == 20


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("drawn", {"epsilon_per_km": None}),
        ("drawn", {"epsilon_per_km": -1.0}),
        ("drawn", {"null_epsilon": -1.0}),
        ("drawn", {"clear": None}),
        ("drawn", {"lattice": None}),
        ("drawn", {"notice": {}}),
        ("drawn", {"symbol": None}),
        ("created", {"limits": {"epsilon_per_km": -1.0}}),
        ("created", {"already_spent": {"epsilon_per_km": -1.0}}),
        ("limits", {"limits": None}),
    ],
)
def test_a_chain_that_is_whole_but_lacks_what_the_sums_are_made_of_is_refused(
    path: Path, kind: str, change: dict[str, object]
) -> None:
    """Whoever can write the file can compute the digests; what cannot be charged is refused all the same."""
    ledger = filled(path)
    ledger.change_limits(PrivacyLimits())
    with ledger_file.transaction(path) as (_, events):
        pass
    forged: list[LedgerEvent] = []
    for event in events:
        body = {**event.body, **(change if event.kind == kind else {})}
        body = {name: value for name, value in body.items() if value is not None}
        forged.append(next_event(forged, event.key, event.kind, body, event.at))
    number = next(event.number for event in forged if event.kind == kind)
    with pytest.raises(cv.FileFormatError, match=f"event {number} cannot be read"):
        read_events([event.row() for event in forged], [len(forged) - 1, forged[-1].digest])
