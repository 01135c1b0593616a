"""Every verb takes targets as people have them, and shows which cell each became."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from crowdveil.area import Area
from crowdveil.batch import save_fixes
from crowdveil.cli.console import show_rows
from crowdveil.policy.policy import Policy
from crowdveil.server.local import LocalServer
from crowdveil.simulate.people import SyntheticPopulation
from crowdveil.traces import CitySettings, SyntheticCity
from tests.cli.helpers import PLAN, Make, Run, refused

HEADER = ["place", "latitude", "longitude", "cell", "number", "remarks"]


@pytest.fixture
def shops(area: Path) -> Path:
    """Three shops: two of them in one cell, the third on another, with its coordinates swapped."""
    latitude, longitude = Area.load(area).centres()
    rows = ["name,lat,lon,number"]
    rows += [f"Café,{latitude[12]},{longitude[12]},3", f"Bar,{latitude[12] + 0.001},{longitude[12]},4"]
    rows += [f"東京,{longitude[7]},{latitude[7]},"]
    path = area.parent / "shops.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def table(stderr: str) -> list[str]:
    """The rows of the table of targets."""
    lines = stderr.splitlines()
    assert lines[0].split() == HEADER
    return lines[1:4]


def test_a_policy_is_made_for_a_file_of_shops(make: Make, shops: Path) -> None:
    made = make(targets=shops)
    assert made.exit_code == 0, made.stderr
    rows = table(made.stderr)
    assert [row.split()[0] for row in rows] == ["Café", "Bar", "東京"]
    assert [row.split()[3] for row in rows] == ["12", "12", "7"]
    assert rows[0].endswith("together with 'Bar'")
    assert rows[2].endswith("latitude and longitude swapped")
    assert "'Café' and 'Bar' lie in the same cell, 12, and are one target for 7 people" in made.stderr
    assert "'東京': latitude and longitude were the wrong way round, and are swapped." in made.stderr
    assert "targets: Café + Bar (cell 12), 東京 (cell 7)" in made.stdout
    assert Policy.load("policy.json").targets == (12, 7)
    refused(make(targets=shops, keep_apart=True), "['Café', 'Bar']", "smaller cells", "without --keep-apart")


def test_a_number_for_each_target_gives_each_a_symbol_of_its_own(make: Make, shops: Path) -> None:
    made = make(beta=None, users=1000, each=20)
    assert made.exit_code == 0, made.stderr
    policy = Policy.load("policy.json")
    assert policy.symbols[:2] == ("place 3", "place 17")
    assert policy.beta == pytest.approx(0.04)
    assert f"3: {policy.values[0]:.2%}" in made.stdout
    numbered = shops.with_name("numbered.csv")
    numbered.write_text(shops.read_text(encoding="utf-8") + "5", encoding="utf-8")
    again = make(beta=None, users=1000, targets=numbered)
    assert again.exit_code == 0, again.stderr
    shares = Policy.load("policy.json").weights[:, :2] / 2**53
    assert shares.mean(axis=0).max() < 0.1
    refused(make(each=20, users=1000), "beta", "can't be combined with --each")
    refused(make(beta=None, each=20), "users", "how many people report")
    refused(make(beta=None, each=600, users=1000), "1,200 people", "at most --users 1,000")
    some = make(beta=None, users=1000, targets=shops)
    assert some.exit_code == 2
    assert "number = '1 of 2 targets': should be given for every target" in some.stderr


def test_json_says_what_became_of_each_place(make: Make, shops: Path) -> None:
    found = json.loads(make(targets=shops, json=True).stdout)
    assert found["targets"] == [12, 7]
    assert [(place["name"], place["cell"], place["number"], place["swapped"]) for place in found["places"]] == [
        ("Café", 12, 3, False),
        ("Bar", 12, 4, False),
        ("東京", 7, None, True),
    ]


def test_places_outside_are_left_out_where_that_is_wished(make: Make) -> None:
    text = "https://www.google.com/maps?q=40.72,-73.975; Statue: 40°41'21\"N 74°02'40\"W"
    refused(make(targets=text), "targets = ['Statue']", "km from the centre of the nearest cell", "--leave-out-outside")
    made = make(targets=text, leave_out_outside=True)
    assert made.exit_code == 0, made.stderr
    assert "and is left out." in made.stderr
    assert Policy.load("policy.json").targets == (12,)


def test_cells_alone_need_no_table(make: Make) -> None:
    assert make(targets="3,17").stderr == ""


def test_targets_where_nobody_is_are_warned_of_by_name(make: Make, shops: Path) -> None:
    Path("prior.csv").write_text("cell,probability\n3,0.5\n12,0.5\n")
    assert (
        "WARNING: the prior has nobody at 1 of 2 targets (東京 (cell 7))"
        in make(targets=shops, prior="prior.csv").stderr
    )


def test_a_campaign_is_planned_for_a_file_of_shops(run: Run, service: LocalServer, area: Path, shops: Path) -> None:
    plan = ["--area", area, *PLAN, "--targets", shops, "--json"]
    made = run("campaign", "create", "shops-of-a-file", *plan)
    assert made.exit_code == 0, made.stderr
    table(made.stderr)
    assert json.loads(made.stdout)["plan"]["targets"] == [12, 7]
    refused(run("campaign", "create", "apart", *plan, "--keep-apart"), "without --keep-apart")
    refused(run("campaign", "create", "x", "--plan", "plan.json", "--keep-apart"), "can't be combined with --plan")
    preview = run("campaign", "preview", *plan)
    assert preview.exit_code == 0, preview.stderr
    table(preview.stderr)


def test_profiles_and_large_crowds_take_places(run: Run) -> None:
    city = SyntheticCity(4, 400, CitySettings(6))
    town = SyntheticPopulation.over(city, test=2, delta=0.5, densest=1, seed=4)
    town.area.save("area.json")
    save_fixes(city, Path("fixes.parquet"))
    latitude, longitude = (values[town.targets[0]] for values in town.area.centres())
    asked = ("--area", "area.json", "--targets", f"Centre: {latitude}, {longitude}", "--json")
    found = run("profile", "--traces", "fixes.parquet", *asked, "--train", "4", "--out", "profiled")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["profile_settings"]["targets"] == list(town.targets)
    assert json.loads(found.stdout)["places"][0]["name"] == "Centre"
    few = ("--methods", "none", "--rounds", "2", "--out", "scaled")
    scaled = run("scale", "--profiled", "profiled", *asked, *few)
    assert scaled.exit_code == 0, scaled.stderr
    assert json.loads(scaled.stdout)["targets"] == list(town.targets)
    assert json.loads(scaled.stdout)["places"][0]["name"] == "Centre"
    for verb in (("profile", "--traces", "fixes.parquet", "--area", "area.json"), ("scale", "--users", "10")):
        for option in ("--keep-apart", "--leave-out-outside"):
            refused(run(*verb, option, "--out", "x"), option, "applies only to --targets")


def test_at_a_terminal_the_table_has_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show_rows("Targets", HEADER, [["[bold]Café", "40.7", "-73.9", "12", "", ""]], err=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert "Targets" in told.err
    assert "│ [bold]Café │" in told.err
