"""From a map to a report: the verbs work together, say what they did, and never leave half a file."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pty
import re
import subprocess
import sys
from collections import Counter
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdveil.area import Area, Grid, Hexagons, Points, Towers
from crowdveil.policy.grades import chances_of_grades
from crowdveil.policy.policy import Policy
from crowdveil.policy.solver.optimal import optimal_policy
from tests.cli.helpers import Make, Run

BOX = "40.70,-74.00,40.74,-73.95"


def test_the_whole_way_from_bounds_to_a_report(run: Run) -> None:
    assert run("area", "grid", "--bounds", BOX, "--cell-km", "1", "--out", "area.json").exit_code == 0
    Path("prior.csv").write_text("cell,probability\n" + "".join(f"{cell},0.0625\n" for cell in range(16)))
    made = run(
        *("policy", "--area", "area.json", "--prior", "prior.csv", "--targets", "3,17"),
        *("--epsilon-per-km", "1.386", "--beta", "0.06", "--out", "policy.json"),
    )
    assert made.exit_code == 0, made.stderr
    policy = Policy.load("policy.json")
    for said in (
        "cells: 25",
        "targets: 3, 17",
        "at most 3.999 times as likely",
        "certified: yes",
        policy.hash,
    ):
        assert said in made.stdout
    assert policy.beta == pytest.approx(0.06, rel=1e-6)
    checked = run("certify", "policy.json")
    assert checked.exit_code == 0
    assert "private: yes" in checked.stdout
    drawn = run("draw", "policy.json", "--cell", "17")
    assert drawn.exit_code == 0
    assert len(policy.symbols) == 5
    assert drawn.stdout in {f"{number} {name}\n" for number, name in enumerate(policy.symbols)}


def test_json_of_every_verb_is_one_object_on_stdout(run: Run, make: Make) -> None:
    area = json.loads(run("area", "grid", "--bounds", BOX, "--out", "area.json", "--json").stdout)
    assert area["cells"] == 25
    assert area["digest"] == Area.load("area.json").digest
    policy = json.loads(make(json=True).stdout)
    assert policy["private"] is True
    assert policy["hash"] == Policy.load("policy.json").hash
    assert policy["bytes"] == Path("policy.json").stat().st_size
    assert 0 <= policy["proven_gap"] < 1e-6
    certificate = json.loads(run("certify", "policy.json", "--json").stdout)
    assert certificate["private"] is True
    assert certificate["smallest_epsilon_per_km"] <= 1.386
    drawn = json.loads(run("draw", "policy.json", "--cell", "3", "--json").stdout)
    assert drawn["hit"] is (drawn["name"] == "hit")


@pytest.mark.parametrize(
    ("arguments", "kind", "cells"),
    [
        (["grid", "--bounds", BOX, "--cell-km", "0.5"], Grid, 81),
        (["hexagons", "--bounds", BOX, "--resolution", "8"], Hexagons, None),
        (["towers", "towers.csv"], Towers, 3),
        (["towers", "bare.csv", "--reach-km", "5"], Towers, 2),
        (["points", "points.csv"], Points, 3),
    ],
)
def test_areas_of_every_kind_are_made(run: Run, arguments: list[str], kind: type[Area], cells: int | None) -> None:
    Path("towers.csv").write_text("name,Longitude,Latitude\na,-74,40.7\n\n# a comment\nb,-73.9,40.7\nc,-74,40.8\n")
    Path("bare.csv").write_text("40.7,-74\n40.8,-74\n")
    Path("points.csv").write_text("\ufeffx_km,y_km\n0,0\n1.5,0\n0,0.001\n", encoding="utf-8")
    result = run("area", *arguments, "--out", "area.json")
    assert result.exit_code == 0, result.stderr
    area = Area.load("area.json")
    assert isinstance(area, kind)
    assert cells is None or len(area) == cells
    assert f"cells: {len(area)}" in result.stdout
    assert "where: " in result.stdout


def test_json_and_compact_policies_are_the_same_policy(make: Make) -> None:
    make(out="policy.json")
    make(out="policy.cvp")
    assert Policy.load("policy.json") == Policy.load("policy.cvp")
    assert Path("policy.cvp").stat().st_size < Path("policy.json").stat().st_size


def test_without_a_prior_everywhere_is_equally_likely(make: Make, tmp_path: Path) -> None:
    (tmp_path / "prior.csv").write_text("0.04\n" * 25)
    make(out="one.json")
    make(out="two.json", prior="prior.csv")
    assert Policy.load("one.json") == Policy.load("two.json")
    (tmp_path / "prior.csv").write_text(",".join(["0.04"] * 25))
    make(out="three.json", prior="prior.csv")
    assert Policy.load("one.json") == Policy.load("three.json")


def test_the_command_line_and_the_library_make_the_same_policy(make: Make, area: Path) -> None:
    common: dict[str, Any] = {"epsilon_per_km": 1.386, "beta": 0.06}
    chances = chances_of_grades((0.5, 0.2))
    protection: dict[str, Any] = {"null_epsilon": log(64), "grade_epsilon": log(8), "grade_chances": chances}
    for shares, options in (((0.2, 0.3, 0.5), {}), ((0.1, 0.1, 0.8), {"grade_shares": "0.1,0.1,0.8"})):
        make(**options)
        joint = np.outer(shares, np.full(25, 0.04))
        protected = optimal_policy(Area.load(area), joint, [3, 17], **protection, **common)
        assert Policy.load("policy.json").hash == protected.hash
    make(null_epsilon="none", grade_epsilon="none")
    assert Policy.load("policy.json").hash == optimal_policy(Area.load(area), None, [3, 17], **common).hash


def test_an_area_says_where_it_lies(run: Run) -> None:
    said = run("area", "grid", "--bounds", BOX, "--out", "area.json").stdout
    assert "where: 5 x 5 km around 40.7200 N, 73.9750 W" in said
    said = run("area", "grid", "--bounds=-18.02,179.98,-17.98,-179.98", "--out", "fiji.json").stdout
    assert re.search(r"around 18\.0000 S, 180\.0000 [EW]", said)
    Path("points.csv").write_text("x,y\n0,0\n2,1\n")
    assert "where: 2 x 1 km of a plane" in run("area", "points", "points.csv", "--out", "area.json").stdout


@pytest.mark.parametrize("options", [{}, {"epsilon_per_km": "ln4"}, {"beta": None, "baseline": "laplace"}])
def test_every_printed_smallest_epsilon_is_one_at_which_the_policy_is_private(
    make: Make, run: Run, options: dict[str, object]
) -> None:
    printed = re.findall(r"private at ε ≥ (\S+) per km", make(**options).stdout)
    printed += re.findall(r"smallest ε(?: that holds is|:) (\S+) per km", run("certify", "policy.json").stdout)
    stricter = run("certify", "policy.json", "--epsilon-per-km", "0.5")
    assert stricter.exit_code == 1
    printed += re.findall(r"claim ε = (\S+) per km", stricter.stdout)
    assert len(printed) == 4
    for epsilon in printed:
        assert run("certify", "policy.json", "--epsilon-per-km", epsilon).exit_code == 0


def test_a_proven_gap_is_never_printed_as_a_bare_zero(make: Make) -> None:
    for targets in ("3", "3,17"):
        gap = re.search(r"^proven gap: (\S+):", make(targets=targets).stdout, re.MULTILINE)
        assert gap is not None
        assert gap[1] == "none" or float(gap[1]) >= float(Policy.load("policy.json").provenance["gap"]) > 0


def test_a_prior_without_people_at_the_targets_is_warned_of(make: Make, tmp_path: Path) -> None:
    (tmp_path / "prior.csv").write_text("cell,probability\n3,0.5\n4,0.5\n")
    some = make(prior="prior.csv")
    assert some.exit_code == 0
    assert some.stderr.startswith("WARNING: the prior has nobody at 1 of 2 targets (cells 17)")
    none = make(prior="prior.csv", targets="16,17")
    assert none.exit_code == 0
    assert none.stderr.startswith("WARNING: the prior has nobody at any target (cells 16, 17)")
    assert make(prior="prior.csv", targets="3").stderr == ""


def test_targets_may_be_places(make: Make, area: Path) -> None:
    latitude, longitude = Area.load(area).centres()
    places = ";".join(f"{latitude[cell]}, {longitude[cell]}" for cell in (17, 3))
    assert make(targets=places).exit_code == 0
    assert Policy.load("policy.json").targets == (17, 3)


def test_epsilon_may_be_a_logarithm(make: Make) -> None:
    for text in ("ln4", "ln 4", "LN(4)"):
        assert make(epsilon_per_km=text).exit_code == 0
        assert Policy.load("policy.json").epsilon_per_km == math.log(4)


def test_beta_follows_from_how_many_are_wanted(make: Make) -> None:
    assert make(beta=None, users=1083, wanted=54).exit_code == 0
    by_default = Policy.load("policy.json").beta
    assert by_default == pytest.approx(0.0612, abs=5e-4)
    assert make(beta=None, users=1083, wanted=54, confidence=0.99).exit_code == 0
    assert Policy.load("policy.json").beta > by_default


def test_the_informative_completion_has_more_to_say(make: Make, run: Run) -> None:
    assert make(completion="informative").exit_code == 0
    assert Policy.load("policy.json").symbol_count > 2
    names = Counter(run("draw", "policy.json", "--cell", "20").stdout.split(maxsplit=1)[1] for _ in range(20))
    assert any(name.startswith("cell ") for name in names)


@pytest.mark.parametrize("baseline", ["laplace", "exponential"])
def test_baselines_are_certified_too(make: Make, run: Run, baseline: str) -> None:
    made = make(beta=None, baseline=baseline)
    assert made.exit_code == 0
    assert run("certify", "policy.json").exit_code == 0
    hint = re.search(r"the same share: --beta (\S+) --null-epsilon none --grade-epsilon none$", made.stderr.strip())
    assert hint is not None
    worse = Policy.load("policy.json")
    assert make(beta=hint[1], null_epsilon="none", grade_epsilon="none").exit_code == 0
    assert Policy.load("policy.json").beta == pytest.approx(worse.beta, rel=1e-9)
    assert Policy.load("policy.json").value > worse.value


def test_identity_is_written_with_a_loud_warning_and_never_drawn_from(make: Make, run: Run) -> None:
    made = make(beta=None, baseline="identity")
    assert made.exit_code == 0
    assert "WARNING: policy.json protects nobody" in made.stderr
    assert "certified: NO" in made.stdout
    checked = run("certify", "policy.json")
    assert checked.exit_code == 1
    assert "private: NO" in checked.stdout
    as_json = json.loads(run("certify", "policy.json", "--json").stdout)
    assert as_json["private"] is False
    assert as_json["smallest_epsilon_per_km"] is None
    drawn = run("draw", "policy.json", "--cell", "3")
    assert drawn.exit_code == 2
    assert drawn.stdout == ""
    assert "refusing to draw" in drawn.stderr


def test_a_protected_null_is_certified_and_drawn_for(make: Make, run: Run, area: Path) -> None:
    cells = Area.load(area)
    policy = optimal_policy(cells, None, [3], epsilon_per_km=1.386, beta=0.06, null_epsilon=2.0, grade_epsilon=1.5)
    policy.save("policy.json")
    checked = run("certify", "policy.json")
    assert checked.exit_code == 0
    assert "smallest ε₀: 2\n" in checked.stdout
    assert "smallest ε₁: 1.5\n" in checked.stdout
    told = json.loads(run("certify", "policy.json", "--json").stdout)
    assert (told["null"]["ok"], told["grades"]["ok"]) == (True, True)
    for place in (["--outside"], ["--cell", "3", "--grade", "1"]):
        assert run("draw", "policy.json", *place).stdout.split()[1] in ("hit", "outside", "grade")
    assert run("draw", "policy.json", "--cell", "3", "--grade", "2").exit_code == 2
    assert "can't be combined with --outside" in run("draw", "policy.json", "--cell", "3", "--outside").stderr
    make(null_epsilon="none", grade_epsilon="none")
    assert "null" not in json.loads(run("certify", "policy.json", "--json").stdout)
    assert run("draw", "policy.json", "--outside").exit_code == 2


def test_a_stricter_epsilon_is_refused_and_the_answer_says_where(make: Make, run: Run) -> None:
    make()
    result = run("certify", "policy.json", "--epsilon-per-km", "1.0")
    assert result.exit_code == 1
    witness = json.loads(run("certify", "policy.json", "--epsilon-per-km", "1.0", "--json").stdout)["witness"]
    assert witness["excess"] > 0
    for said in (f"cells {witness['cell']} and {witness['other']}", f"'{witness['symbol_name']}'", "excess"):
        assert said in result.stdout


def test_other_peoples_tables_are_certified(run: Run) -> None:
    Area.from_points_km([[0, 0], [1, 0]]).save("area.json")
    at = ("--area", "area.json", "--epsilon-per-km")
    Path("table.csv").write_text("here,there\n0.75,0.25\n0.25,0.75\n")
    assert run("certify", "--table", "table.csv", *at, "1.0986122886681099").exit_code == 0
    assert run("certify", "--table", "table.csv", *at, "1.0986122886681096").exit_code == 1
    assert "sends 'here'" in run("certify", "--table", "table.csv", *at, "1.0").stdout
    Path("table.csv").write_text("here,here\n0.75,0.25\n0.25,0.75\n")
    assert "sends 'column 0'" in run("certify", "--table", "table.csv", *at, "1.0").stdout
    Path("table.csv").write_text("3,1\n1,3\n")
    assert run("certify", "--table", "table.csv", *at, "1.0986122886681099").exit_code == 0
    assert run("certify", "--table", "table.csv", *at, "1.0").exit_code == 1


def test_a_report_by_latitude_and_longitude(make: Make, run: Run, area: Path) -> None:
    make()
    latitude, longitude = Area.load(area).centres()
    drawn = run("draw", "policy.json", "--lat", latitude[3], "--lon", longitude[3], "--json")
    assert drawn.exit_code == 0
    policy = Policy.load("policy.json")
    told = json.loads(drawn.stdout)
    assert told["name"] == policy.symbol_name(told["symbol"])
    assert told["hash"] == policy.hash


@pytest.mark.parametrize("name", ["map.png", "map.svg"])
def test_a_picture_is_drawn_on_request(make: Make, name: str) -> None:
    result = make(picture=name)
    assert result.exit_code == 0, result.stderr
    start = Path(name).read_bytes()[:8]
    assert start == b"\x89PNG\r\n\x1a\n" if name.endswith("png") else start.startswith(b"<?xml")


def test_a_failed_run_leaves_the_old_file_and_no_rubbish(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make()
    before = (tmp_path / "policy.json").read_bytes()
    names = sorted(os.listdir(tmp_path))

    def full(self: Policy, path: Path) -> None:
        Path(path).write_text("half a fi")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Policy, "save", full)
    result = make(beta="0.1")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert (tmp_path / "policy.json").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == names


def test_an_existing_file_is_replaced_through_its_link_with_ordinary_permissions(make: Make, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "policy.json").write_text("old")
    (tmp_path / "policy.json").symlink_to("real/policy.json")
    assert make().exit_code == 0
    assert (tmp_path / "policy.json").is_symlink()
    assert Policy.load(tmp_path / "real" / "policy.json").targets == (3, 17)
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "real" / "policy.json").stat().st_mode & 0o777 == 0o666 & ~umask


# --- as a real process --------------------------------------------------------------------------------------


def crowdveil(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crowdveil", *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


def test_at_a_terminal_nothing_long_is_silent(tmp_path: Path) -> None:
    """Through a pseudo-terminal: what is being done is said on stderr, in percent where that is known."""
    Grid.from_bounds(*(float(part) for part in BOX.split(",")), cell_km=0.2).save(tmp_path / "area.json")
    for options, said in (
        (("--beta", "0.05"), ("reading area.json", "optimising", "certifying", "writing p.json")),
        (("--baseline", "laplace"), ("making the baseline laplace", "certifying", "writing p.json")),
    ):
        leader, follower = pty.openpty()
        arguments = ("--area", "area.json", "--targets", "3,17", "--epsilon-per-km", "ln4", *options, "--out", "p.json")
        process = subprocess.Popen(
            [sys.executable, "-m", "crowdveil", "policy", *arguments],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=follower,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # Linux ends a pseudo-terminal with an error
            while part := os.read(leader, 65536):
                shown += part
        os.close(leader)
        assert process.wait() == 0
        for what in said:
            assert what in shown.decode()
        assert "/?" not in shown.decode()


def test_exit_codes_reach_the_shell(tmp_path: Path) -> None:
    missing = crowdveil("certify", "nowhere.json", cwd=tmp_path)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.splitlines() == ["crowdveil: nowhere.json: No such file or directory"]
    Area.from_points_km([[0, 0], [1, 0]]).save(tmp_path / "area.json")
    (tmp_path / "table.csv").write_text("1,0\n0,1\n")
    options = ("--table", "table.csv", "--area", "area.json", "--epsilon-per-km", "1")
    assert crowdveil("certify", *options, cwd=tmp_path).returncode == 1
    assert crowdveil("--version", cwd=tmp_path).stdout.startswith("crowdveil ")
