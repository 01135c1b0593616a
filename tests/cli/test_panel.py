"""The verbs that ask a panel for people, against a server in this process whose clock the tests set."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import Result

from crowdveil.cli import campaign, connection
from crowdveil.errors import InputError
from crowdveil.server import scheduler
from crowdveil.store import open_store
from crowdveil.wire import CampaignPlan
from tests.cli.helpers import Run, refused
from tests.server.harness import AREA, NAME, TOKEN, ServerHarness, plan

DAY_S = 86_400
PEOPLE = 12


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerHarness]:
    with open_store(f"sqlite:///{tmp_path / 'server.sqlite'}") as store, ServerHarness(store) as opened:

        @contextmanager
        def transport(*_: object, **__: object) -> Iterator[ServerHarness]:
            yield opened

        monkeypatch.setattr(connection, "HttpTransport", transport)
        monkeypatch.setenv("CROWDVEIL_TOKEN", TOKEN)
        yield opened


def panel(**changes: Any) -> CampaignPlan:
    given: dict[str, Any] = {"panel": True, "targets": tuple(range(len(AREA))), "wanted": None, "rounds": 1}
    return plan(**{**given, "seed": None, "deadline_s": DAY_S, **changes})


def answer(server: ServerHarness, people: int = PEOPLE, name: str = "device") -> None:
    """So many people answer, and the round is closed at its deadline at the latest."""
    for number in range(people):
        found = server.take_part(f"{name}-{number}", number % len(AREA), random.Random(number).getrandbits)
        assert found.status_code == 200, found.text
    server.step(DAY_S)


def renewed(server: ServerHarness, people: int) -> None:
    """Twelve people answered, and some of them again after 30 days."""
    server.start(panel(rounds=2, renewal_s=30 * DAY_S))
    answer(server)
    server.step(30 * DAY_S)
    if people:
        answer(server, people, "renewed")


def select(run: Run, *options: str, out: str = "chosen.csv") -> Result:
    found = run("campaign", "select", NAME, "--targets", "5", "--out", out, *options)
    assert found.exit_code == 0, found.stderr
    return found


# --- which answers are used ---------------------------------------------------------------------------------


def test_status_expect_and_select_say_whose_answers_are_used_and_whose_no_longer(
    run: Run, server: ServerHarness
) -> None:
    renewed(server, 2)
    said = (
        "use the 2 answers of round 2; the 12 of round 1 are no longer used, because people who renewed are among both"
    )
    assert said in run("campaign", "status", NAME).stdout
    assert said in run("campaign", "expect", NAME, "--targets", "5", "--wanted", "1").stderr
    assert said in select(run, "--wanted", "1").stderr


def test_select_says_that_at_most_does_not_hold_across_a_renewal(run: Run, server: ServerHarness) -> None:
    server.start(panel(rounds=2, renewal_s=30 * DAY_S))
    answer(server)
    limited = ("--wanted", "2", "--at-most", "1", "--within", "60d")
    assert "--at-most does not count" not in select(run, *limited, out="first.csv").stderr
    server.step(30 * DAY_S)
    answer(server, 12, "renewed")
    assert "--at-most does not count 1 earlier selection" in select(run, *limited, out="second.csv").stderr
    short = ("--wanted", "2", "--at-most", "1", "--within", "7d")
    assert "--at-most does not count" not in select(run, *short, out="third.csv").stderr
    assert "who renews has a new answer" in " ".join(run("campaign", "select", "--help").stdout.split())


def test_an_open_renewal_is_announced_while_the_answers_before_it_are_still_used(
    run: Run, server: ServerHarness
) -> None:
    renewed(server, 0)
    status = run("campaign", "status", NAME).stdout
    assert "use the 12 answers of round 1; once round 2 is closed, only its answers are used" in status


# --- what a selection did -----------------------------------------------------------------------------------


def test_select_says_how_many_are_expected_to_come_and_how_many_fill_up(run: Run, server: ServerHarness) -> None:
    server.start(panel())
    answer(server)
    chosen = select(run, "--each", "6")
    with Path("chosen.csv").open() as file:
        rows = list(csv.DictReader(file))
    coming = sum(float(row["chance"]) for row in rows)
    filled = sum(row["chosen"] == "filled" for row in rows)
    assert "selected: 6 people" in chosen.stdout
    assert f"expected to come: {coming:.1f} of them, in 95 of 100 cases" in chosen.stdout
    assert 0 < filled < 6
    assert f"filled up: {filled} " in chosen.stdout
    few = select(run, "--wanted", "12", "--at-most", "1", "--force")
    assert "6 fewer than wanted in all." in few.stderr


def test_a_selection_is_not_written_over_another_one_unless_asked(run: Run, server: ServerHarness) -> None:
    server.start(panel())
    answer(server)
    select(run, "--wanted", "1")
    again = run("campaign", "select", NAME, "--targets", "5", "--wanted", "1", "--out", "chosen.csv")
    refused(again, "out = 'chosen.csv': exists already", "--force")
    assert server.view().selections == 1
    select(run, "--wanted", "1", "--force")


def test_a_place_that_is_not_the_panels_is_refused_with_the_option_that_helps(run: Run, server: ServerHarness) -> None:
    server.start(panel(targets=(1, 2)))
    answer(server)
    found = run("campaign", "select", NAME, "--targets", "5", "--wanted", "1", "--out", "chosen.csv")
    refused(found, "cell 5", "one of the 2 places of the panel", "with --other-cells")


def test_the_newest_selection_is_exported_and_the_list_says_what_was_wanted(run: Run, server: ServerHarness) -> None:
    server.start(panel())
    answer(server)
    select(run, "--wanted", "1")
    select(run, "--wanted", "3", "--force")
    exported = run("campaign", "export", NAME, "--out", "exported.csv")
    assert "selection: 2 of 2" in exported.stdout
    assert "selected: 3" in exported.stdout
    assert "selection: 1 of 2" in run("campaign", "export", NAME, "--selection", "1", "--out", "exported.csv").stdout
    select(run, "--each", "2", "--force")
    assert "2 at each of 1" in run("campaign", "selections", NAME).stdout
    reviewed = run("campaign", "review", NAME, "--selection", "2")
    assert "selection: 2 of 3" in reviewed.stdout, reviewed.stderr
    assert "selection: 3 of 3" in run("campaign", "review", NAME).stdout


def test_invites_are_never_written_over_a_file(run: Run, server: ServerHarness) -> None:
    server.start(panel(enrolment="invite"))
    Path("invites.txt").write_text("links\n")
    found = run("campaign", "invites", NAME, "--count", "2", "--out", "invites.txt")
    refused(found, "out = 'invites.txt': exists already")
    assert Path("invites.txt").read_text() == "links\n"


# --- renewals in the plan -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rounds", "3"], ["--renew-every is missing", "a panel of 3 rounds"]),
        (["--renew-every", "90d"], ["--rounds is missing"]),
        (["--rounds", "2", "--renew-every", "5d"], ["renew-every = '5d'", "the default --deadline of 7d"]),
        (["--rounds", "2", "--renew-every", "1d", "--deadline", "2d"], ["renew-every = '1d'", "--deadline 2d"]),
    ],
)
def test_renewals_that_do_not_fit_are_refused_by_the_names_of_the_options(
    run: Run, area: Path, server: ServerHarness, options: list[str], said: list[str]
) -> None:
    asked = ("create", NAME, "--panel", "--area", area, "--users", "9", "--offer", "A coffee")
    refused(run("campaign", *asked, *options), *said)


@pytest.mark.parametrize(("rounds", "warned"), [(3, False), (4, True)])
def test_a_panel_that_asks_more_often_than_default_phones_answer_is_warned_of(
    run: Run, area: Path, server: ServerHarness, rounds: int, warned: bool
) -> None:
    asked = ("create", NAME, "--panel", "--area", area, "--users", "9", "--offer", "A coffee")
    made = run("campaign", *asked, "--rounds", rounds, "--renew-every", "90d")
    assert made.exit_code == 0, made.stderr
    assert ("answer at most 3 of the 4 rounds" in made.stderr) == warned


# --- when the server cannot go on ---------------------------------------------------------------------------


def test_why_a_round_cannot_be_opened_is_shown_until_it_can(
    run: Run, server: ServerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise InputError("targets", "all", "should be fewer")

    assert server.operate("PUT", f"/campaigns/{NAME}", panel().to_bytes()).status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(scheduler, "next_policy", fails)
        assert server.change("open").status_code == 200
        assert [one.event for one in server.step()] == ["campaign-failed"]
    reason = "targets = 'all': should be fewer"
    refused(run("campaign", "start", NAME), "its first round is not open yet", reason)
    assert f"cannot go on: {reason}" in run("campaign", "status", NAME).stdout
    refused(run("campaign", "status", NAME, "--watch"), "cannot go on", reason)
    assert reason in run("campaign", "list").stderr
    assert server.step() == []
    assert server.view().failure == reason, "another server's claim on the round is no success"
    assert [one.event for one in server.step(scheduler.CLAIM_S)] == ["round-opened"]
    assert server.view().failure is None
    assert run("campaign", "start", NAME).exit_code == 0


# --- closing ------------------------------------------------------------------------------------------------


def test_close_needs_a_yes_where_nobody_can_be_asked_and_leaves_the_answers_usable(
    run: Run, server: ServerHarness
) -> None:
    server.start(panel())
    answer(server)
    refused(run("campaign", "close", NAME), "--yes is missing", "can't be undone")
    assert server.view().state == "open"
    assert run("campaign", "close", NAME, "--yes").exit_code == 0
    server.step()
    assert server.view().state == "finished"
    select(run, "--wanted", "3")


@pytest.mark.parametrize("yes", [True, False])
def test_close_says_what_will_happen_before_it_asks(
    run: Run, server: ServerHarness, monkeypatch: pytest.MonkeyPatch, yes: bool
) -> None:
    server.start()
    monkeypatch.setattr(campaign, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    monkeypatch.setattr("typer.confirm", lambda *_, **__: yes)
    closed = run("campaign", "close", NAME)
    assert (
        "0 of 12 people have answered. When coffee is closed, nobody can join any more, and 3 people are"
        in closed.stderr
    )
    assert server.view().state == ("closed" if yes else "open")
    assert closed.exit_code == (0 if yes else 1)


def test_before_a_round_is_closed_no_answers_are_said_to_be_used(run: Run, server: ServerHarness) -> None:
    server.start(panel())
    assert "answers of round" not in run("campaign", "status", NAME).stdout
