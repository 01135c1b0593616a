"""The verbs that ask a panel for people, against a server in this process whose clock the tests set."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from crowdveil.cli import connection
from crowdveil.store import open_store
from crowdveil.wire import CampaignPlan
from tests.cli.helpers import Run
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


def test_before_a_round_is_closed_no_answers_are_said_to_be_used(run: Run, server: ServerHarness) -> None:
    server.start(panel())
    assert "answers of round" not in run("campaign", "status", NAME).stdout
