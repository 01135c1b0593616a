"""`crowdveil crowd`: many real devices, from a synthetic city or from traces; what becomes of each is told."""

from __future__ import annotations

from pathlib import Path

from tests.cli.helpers import Run, refused


def test_a_crowd_from_traces_joins_with_ledgers_that_stay(run: Run, campaign: str) -> None:
    people = [
        f"u{number},2024-0{1 + day // 28}-{1 + day % 28:02}T12:00:00Z,40.72,-73.975\n"
        for number in range(5)
        for day in range(84)
    ]
    Path("visits.csv").write_text("user,time,latitude,longitude\n" + "".join(people))
    refused(run("crowd", campaign, "--data", "visits.csv", "--devices", "9"), "devices = 9", "5 people")
    joined = run("crowd", campaign, "--data", "visits.csv", "--ledgers", "ledgers")
    assert joined.exit_code == 0, joined.stderr
    assert "acknowledged: 5, of which 0 have no place to report" in joined.stdout
    assert len(list(Path("ledgers").iterdir())) == 5


def test_a_crowd_somewhere_else_is_told_so(run: Run, campaign: str) -> None:
    Path("visits.csv").write_text(
        "user,time,latitude,longitude\n" + "".join(f"u,2024-01-{day:02}T12:00:00Z,48.1,11.5\n" for day in range(1, 29))
    )
    refused(run("crowd", campaign, "--data", "visits.csv"), "no visit lies in it", "48.1000")


def test_bad_options_and_campaigns_are_one_line(run: Run, campaign: str) -> None:
    for options, said in (
        (["--devices", "0"], "devices = 0"),
        (["--concurrency", "0"], "concurrency = 0"),
        (["--seed", "-1"], "seed = -1"),
        (["--invites", "nowhere.txt"], "nowhere.txt"),
        (["--ledgers", "area.json"], "ledgers = 'area.json'"),
    ):
        refused(run("crowd", campaign, "--devices", "3", *options), said)
    refused(run("crowd", "nowhere"), "not-found")
    run("campaign", "close", campaign, "--yes")
    refused(run("crowd", campaign, "--devices", "3"), "nobody can join any more")


def test_a_crowd_of_which_nobody_gets_through_fails(run: Run, campaign: str) -> None:
    none = run("crowd", campaign, "--devices", "3", "--max-epsilon-per-km", "1")
    assert none.exit_code == 1
    assert "acknowledged: 0" in none.stdout
    assert "refused 3 times: This campaign could learn more about your place" in none.stdout
