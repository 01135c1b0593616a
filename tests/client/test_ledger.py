"""The device's ledger: one value a campaign, a sum that only grows, a file that cannot be altered unnoticed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from math import log
from pathlib import Path

import pytest

import crowdveil as cv
from crowdveil.client.ledger import Ledger
from crowdveil.errors import CampaignRefused

LN4 = log(4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def never() -> int:
    raise AssertionError("nothing may be drawn here")


def test_a_symbol_is_drawn_once_and_stays(path: Path) -> None:
    ledger = Ledger.create(path)
    assert ledger.draw_once("c1", LN4, 9.0, lambda: 17).symbol == 17
    assert ledger.draw_once("c1", LN4, 9.0, never).symbol == 17
    again = Ledger(path).entry("c1")
    assert again is not None
    assert (again.symbol, again.state) == (17, "drawn")


def test_a_draw_that_fails_leaves_nothing(path: Path) -> None:
    ledger = Ledger.create(path)
    with pytest.raises(AssertionError):
        ledger.draw_once("c1", LN4, 9.0, never)
    assert ledger.entry("c1") is None
    assert ledger.spent_epsilon_per_km() == 0


def test_losses_add_up_over_campaigns_and_stop_at_the_limit(path: Path) -> None:
    ledger = Ledger.create(path)
    for number in range(3):
        ledger.draw_once(f"c{number}", LN4, 3 * LN4, lambda: 0)
    assert ledger.spent_epsilon_per_km() == 3 * LN4
    with pytest.raises(CampaignRefused, match=r"You have answered 3 campaigns, the most your limit allows"):
        ledger.draw_once("c3", 1e-9, 3 * LN4, never)
    assert ledger.entry("c3") is None


def test_a_symbol_that_was_never_acknowledged_or_was_refused_counts_all_the_same(path: Path) -> None:
    ledger = Ledger.create(path)
    ledger.draw_once("lost", 1.0, 9.0, lambda: 0)
    ledger.draw_once("late", 1.0, 9.0, lambda: 0)
    assert ledger.refuse("late", "the round is closed").state == "refused"
    ledger.draw_once("kept", 1.0, 9.0, lambda: 0)
    assert ledger.acknowledge("kept", "ab" * 32).receipt_digest == "ab" * 32
    assert ledger.spent_epsilon_per_km() == 3.0


def test_a_reinstalled_device_says_what_was_already_spent(path: Path) -> None:
    ledger = Ledger.create(path, already_spent_epsilon_per_km=2.5)
    assert ledger.spent_epsilon_per_km() == 2.5
    with pytest.raises(CampaignRefused):
        ledger.draw_once("c", 1.0, 3.0, never)
    for bad in (-1.0, float("nan"), float("inf")):
        with pytest.raises(cv.InputError, match="already_spent_epsilon_per_km"):
            Ledger.create(path.with_name("other"), already_spent_epsilon_per_km=bad)


def test_a_missing_ledger_is_never_created_implicitly(path: Path) -> None:
    with pytest.raises(cv.FileFormatError, match="already spent"):
        Ledger(path)
    assert not path.exists()


def test_a_second_ledger_cannot_replace_the_first(path: Path) -> None:
    Ledger.create(path).draw_once("c", 1.0, 9.0, lambda: 3)
    with pytest.raises(cv.FileFormatError, match="a ledger exists already"):
        Ledger.create(path)
    assert Ledger(path).spent_epsilon_per_km() == 1.0
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_clock_turned_back_frees_nothing_and_times_never_run_backwards(path: Path) -> None:
    times = iter(["2030-01-01T00:00:00+00:00", "2030-06-01T00:00:00+00:00", "1970-01-01T00:00:00+00:00"])
    ledger = Ledger.create(path, clock=lambda: next(times))
    ledger.draw_once("c1", 1.0, 1.5, lambda: 0)
    assert ledger.refuse("c1", "late").at == "2030-06-01T00:00:00+00:00"
    with pytest.raises(CampaignRefused, match="This campaign would take you past your limit"):
        ledger.draw_once("c2", 1.0, 1.5, never)


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
        "UPDATE event SET body = replace(body, '1.0', '0.1')",
        "UPDATE event SET campaign = 'other' WHERE campaign = 'c'",
        "DELETE FROM event WHERE kind = 'drawn'",
        "DELETE FROM event WHERE number = (SELECT max(number) FROM event)",
        "DELETE FROM event",
        "DELETE FROM head",
        "UPDATE head SET number = 1",
        "DROP TABLE event",
        "INSERT INTO event VALUES (9, 'c2', 'secret', '{}', '')",
    ],
)
def test_an_altered_ledger_is_refused(path: Path, edit: str) -> None:
    ledger = Ledger.create(path)
    ledger.draw_once("c", 1.0, 9.0, lambda: 5)
    ledger.acknowledge("c", "ab")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(edit)
    with pytest.raises(cv.FileFormatError, match=r"altered|truncated"):
        Ledger(path)
    with pytest.raises(cv.FileFormatError, match=r"altered|truncated"):
        ledger.draw_once("c", 1.0, 9.0, never)


def test_a_truncated_file_is_refused_wherever_it_was_cut(path: Path) -> None:
    Ledger.create(path).draw_once("c", 1.0, 9.0, lambda: 5)
    whole = path.read_bytes()
    for length in {0, 1, 99, 100, 4095, 4096, len(whole) // 2, len(whole) - 4096, len(whole) - 1}:
        path.write_bytes(whole[:length])
        with pytest.raises(cv.FileFormatError, match=r"truncated|altered"):
            Ledger(path)


def test_the_secret_and_the_symbol_are_not_in_what_is_printed(path: Path) -> None:
    ledger = Ledger.create(path)
    ledger.begin("c", lambda: "a-secret")
    assert "a-secret" not in repr(ledger.draw_once("c", 1.0, 9.0, lambda: 4711))
    assert "4711" not in repr(ledger.entry("c"))


RACER = """
import secrets, sys
from crowdveil.client.ledger import Ledger
ledger = Ledger(sys.argv[1])
sys.stdin.readline()
print([ledger.draw_once(f"c{i}", 1.0, 30.0, lambda: secrets.randbelow(1 << 40)).symbol for i in range(20)])
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
    assert Ledger(path).spent_epsilon_per_km() == 20.0
