"""`crowdveil device`: says what would leave, asks, sends once; the ledger remembers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from crowdveil.cli import app
from tests.cli.helpers import Run, refused

HOME = "cell,probability\n12,0.9\n3,0.2\n"


@pytest.fixture
def join(run: Run, campaign: str) -> Run:
    """Join the campaign with a profile and a ledger in this folder; the first join begins it."""
    Path("profile.csv").write_text(HOME)

    def invoke(*arguments: str | Path) -> Result:
        new = () if Path("mine.ledger").exists() else ("--new-ledger",)
        where = () if "--data" in arguments else ("--profile", "profile.csv")
        return run("device", "join", campaign, "--ledger", "mine.ledger", *new, *where, *arguments)

    return invoke


def test_a_device_says_what_would_leave_then_joins_once(join: Run, run: Run, campaign: str) -> None:
    first = join("--yes")
    assert first.exit_code == 0, first.stderr
    for said in ("asks for one answer", "near a target", "at most 19 % sure", "allows 2 more campaigns"):
        assert said in first.stderr
    assert "state: acknowledged" in first.stdout
    again = join("--yes")
    assert again.exit_code == 0
    assert "asks for one answer" not in again.stderr
    assert again.stdout == first.stdout
    ledger = run("device", "ledger", "--ledger", "mine.ledger")
    assert "You have answered 1 campaign and used 34 % of your limit" in ledger.stdout
    assert f"{campaign}: answered" in ledger.stdout
    assert "state: reported" in run("device", "status", campaign, "--ledger", "mine.ledger").stdout


def test_nothing_is_sent_unless_its_owner_agrees(join: Run, run: Run, campaign: str) -> None:
    for answer in ("n\n", "\n", ""):
        new = [] if Path("mine.ledger").exists() else ["--new-ledger"]
        arguments = ["device", "join", campaign, "--ledger", "mine.ledger", *new, "--profile", "profile.csv"]
        declined = CliRunner().invoke(app, arguments, input=answer)
        assert declined.exit_code == 2
        assert "Send this reply?" in declined.stderr
        assert f"You declined to answer campaign {campaign}. This phone sent nothing" in declined.stderr
    assert "You have answered no campaign" in run("device", "ledger", "--ledger", "mine.ledger").stdout
    agreed = CliRunner().invoke(app, [part for part in arguments if part != "--new-ledger"], input="y\n")
    assert agreed.exit_code == 0, agreed.stderr


def test_a_person_without_a_frequent_place_is_told_what_that_says(join: Run) -> None:
    Path("profile.csv").write_text("cell,probability\n12,0.1\n")
    joined = join("--yes")
    assert joined.exit_code == 0, joined.stderr
    assert "You do not regularly visit anywhere in this area" in joined.stderr


def test_visits_are_those_of_one_person_in_recent_weeks(join: Run) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    days = [(now - timedelta(days=3 + day)).isoformat() for day in range(60)]
    lines = [f"{user},{day},40.72,-73.975" for user in ("ann", "bob") for day in days]
    Path("visits.csv").write_text("user,time,latitude,longitude\n" + "\n".join(lines))
    refused(join("--yes", "--data", "visits.csv"), "--user is missing", "2 people", "'ann'")
    refused(join("--yes", "--data", "visits.csv", "--user", "eve"), "user = 'eve'", "none of the 2 users")
    joined = join("--yes", "--data", "visits.csv", "--user", "bob")
    assert joined.exit_code == 0, joined.stderr
    assert "Your phone will answer at random. From your place" in joined.stderr


def test_a_phones_own_exports_are_read(join: Run) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    times = [(now - timedelta(days=3 + day)).isoformat() for day in range(60)]
    points = "".join(f'<trkpt lat="40.72" lon="-73.975"><time>{time}</time></trkpt>' for time in times)
    Path("track.gpx").write_text(f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>")
    joined = join("--yes", "--data", "track.gpx", "--format", "gpx")
    assert joined.exit_code == 0, joined.stderr
    assert "Your phone will answer at random. From your place" in joined.stderr
    refused(join("--yes", "--data", "track.gpx", "--format", "timeline"), "track.gpx", "Google Timeline")


def test_old_visits_count_on_the_day_that_is_named(join: Run) -> None:
    Path("visits.csv").write_text(
        "user,time,latitude,longitude\n"
        + "".join(f"ann,2012-05-{day:02}T12:00:00Z,40.72,-73.975\n" for day in range(1, 29))
    )
    refused(join("--yes", "--data", "visits.csv", "--today", "then"), "today = 'then'", "2024-01-31")
    joined = join("--yes", "--data", "visits.csv", "--today", "2012-05-30", "--periods", "4")
    assert joined.exit_code == 0, joined.stderr
    assert "Your phone will answer at random" in joined.stderr


def test_an_owners_caps_refuse_before_the_server_hears_of_the_device(join: Run, run: Run) -> None:
    for option, value, said in (
        ("--most-epsilon-per-km", "ln2", "could learn more about your place than your limit allows"),
        ("--least-cell-km", "2", "finer than your limit allows"),
        ("--most-gap-km", "0.5", "would identify you"),
        ("--least-cells", "26", "too few to hide among; your limit is 26"),
        ("--lifetime-epsilon-per-km", "1", "This campaign would take you past your limit"),
        ("--least-cells", "few", "least_cells = 'few'"),
        ("--most-gap-km", "far", "most_gap_km = 'far'"),
    ):
        refused(join("--yes", option, value), said)
    assert "You have answered no campaign" in run("device", "ledger", "--ledger", "mine.ledger").stdout


def test_a_ledger_is_begun_on_purpose_only(run: Run, campaign: str) -> None:
    Path("profile.csv").write_text(HOME)
    arguments = ["device", "join", campaign, "--ledger", "lost.ledger", "--profile", "profile.csv", "--yes"]
    refused(run(*arguments), "--new-ledger is missing", "lost.ledger")
    refused(run(*arguments, "--already-spent", "1"), "already_spent = '1'", "--new-ledger")
    refused(run(*arguments, "--new-ledger", "--already-spent", "-1"), "already_spent_epsilon_per_km = -1.0")
    refused(run(*arguments, "--new-ledger", "--already-spent", "3"), "past your limit", "used 73 % of your limit")
    refused(run(*arguments, "--new-ledger"), "a ledger exists already")
    refused(run("device", "status", campaign, "--ledger", "lost.ledger"), "that this device has joined")
    refused(run("device", "ledger", "--ledger", "nowhere"), "nowhere")


def test_profiles_that_are_none_are_refused(join: Run) -> None:
    for text, said in (
        ("cell,probability\n12,1.5\n", "probability = 1.5"),
        ("cell,probability\n1.5,0.5\n", "cell = 1.5"),
        ("cell,probability\n3,0.5\n3,0.5\n", "cell = 3: is named twice"),
        ("cell,probability\n99,0.5\n", "profile"),
    ):
        Path("profile.csv").write_text(text)
        refused(join("--yes"), said)
    refused(join("--yes", "--user", "ann"), "user = 'ann'", "either")


def test_a_campaign_that_is_not_there_is_one_line(run: Run, campaign: str) -> None:
    Path("profile.csv").write_text(HOME)
    arguments = ["--ledger", "mine.ledger", "--new-ledger", "--profile", "profile.csv", "--yes"]
    refused(run("device", "join", "nowhere", *arguments), "not-found")
