"""Bad input of any kind: exit code 2 and one line that names the field, the value and what would be right."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crowdveil.area import Area
from crowdveil.policy.policy import Policy
from tests.cli.helpers import Make, Run, refused


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"targets": ""}, ("targets", "at least one")),
        ({"targets": ","}, ("targets", "at least one")),
        ({"targets": "25"}, ("targets = 25", "0 to 24")),
        ({"targets": "-1"}, ("targets = -1", "0 to 24")),
        ({"targets": "3,3"}, ("targets = 3", "twice")),
        ({"targets": "three"}, ("targets = 'three'", "3,17")),
        ({"targets": "1.5"}, ("targets = '1.5'", "3,17")),
        ({"targets": "99999999999999999999"}, ("targets", "larger than the number of any cell")),
        ({"targets": ",".join(map(str, range(25)))}, ("all 25 cells", "leave some")),
        ({"targets": "0:0"}, ("targets = ['place 1']", "should lie in a cell", "40.7", "N to", "W to", "8,6")),
        ({"targets": "91:0"}, ("latitude of place 1 = 91.0", "-90 to 90")),
        ({"targets": "a:b"}, ("targets = 'a:b'", "40.7527, -73.9772")),
        ({"targets": "40.72:-73.98,40.73:-73.98"}, ("more than two numbers", "semicolons between places")),
        ({"targets": "shops.csv"}, ("shops.csv: No such file",)),
        ({"targets": "40.72, -73.98; 40.72, -73.98", "keep_apart": True}, ("in the same cell", "without --keep-apart")),
        ({"targets": "40.72, -73.98; 0:0"}, ("targets = ['place 2']", "leave them out with --leave-out-outside")),
        ({"epsilon_per_km": "0"}, ("epsilon_per_km = 0.0", "above 0")),
        ({"epsilon_per_km": "-1"}, ("epsilon_per_km = -1.0", "above 0")),
        ({"epsilon_per_km": "inf"}, ("epsilon_per_km = inf", "finite")),
        ({"epsilon_per_km": "nan"}, ("epsilon_per_km = nan", "finite")),
        ({"epsilon_per_km": "four"}, ("epsilon_per_km = 'four'", "ln4")),
        ({"epsilon_per_km": "ln0"}, ("epsilon_per_km = 'ln0'", "ln4")),
        ({"beta": "0"}, ("beta = 0.0", "between 0 and 1")),
        ({"beta": "1"}, ("beta = 1.0", "between 0 and 1")),
        ({"beta": "-0.1"}, ("beta = -0.1", "between 0 and 1")),
        ({"beta": "nan"}, ("beta = nan", "between 0 and 1")),
        ({"beta": "1.5"}, ("beta = 1.5", "between 0 and 1", "--users and --wanted compute it")),
        ({"beta": "much"}, ("beta = 'much'", "number")),
        ({"beta": None}, ("--beta is missing", "--users and --wanted")),
        ({"beta": None, "users": 10}, ("--wanted is missing",)),
        ({"beta": None, "wanted": 10}, ("--users is missing",)),
        ({"beta": None, "users": 10, "wanted": 11}, ("wanted = 11", "users = 10")),
        ({"beta": None, "users": 0, "wanted": 1}, ("users = 0", "whole number from 1")),
        ({"beta": None, "users": 100, "wanted": 5, "confidence": 1}, ("confidence = 1.0", "between 0 and 1")),
        ({"beta": None, "users": "many", "wanted": 5}, ("users = 'many'", "whole number")),
        ({"users": 100}, ("users = '100'", "can't be combined with --beta")),
        ({"baseline": "laplace"}, ("beta = '0.06'", "laplace", "leave it out")),
        ({"baseline": "gauss"}, ("--baseline", "'gauss'")),
        ({"completion": "none"}, ("--completion", "'none'")),
        (
            {"beta": None, "baseline": "identity", "completion": "informative"},
            ("completion = 'informative'",),
        ),
        ({"out": "policy.txt"}, ("out = 'policy.txt'", ".json or .cvp")),
        ({"out": "missing/policy.json"}, ("missing/policy.json", "does not exist")),
        ({"picture": "map.pdf"}, ("picture = 'map.pdf'", ".png or .svg")),
        ({"area": "nowhere.json"}, ("nowhere.json", "No such file")),
        ({"area": "."}, (".: ", "directory")),
        ({"prior": "nowhere.csv"}, ("nowhere.csv", "No such file")),
    ],
)
def test_options_that_cannot_be_used_are_refused(make: Make, changed: dict[str, object], said: tuple[str, ...]) -> None:
    refused(make(**changed), *said)
    assert not Path("policy.json").exists()


EVEN = [1 / 25] * 25


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n".join(map(str, [0.05, *EVEN[1:]])), ("sum of prior = 1.01", "should be 1")),
        ("\n".join(map(str, [-0.04, 0.12, *EVEN[2:]])), ("prior[0] = -0.04", "negative")),
        ("\n".join(map(str, ["nan", *EVEN[1:]])), ("prior[0] = nan", "finite")),
        ("\n".join(map(str, ["inf", *EVEN[1:]])), ("prior[0] = inf", "finite")),
        ("\n".join(map(str, EVEN[1:])), ("24 numbers", "25 cells")),
        ("\n".join(map(str, [*EVEN, 0])), ("26 numbers", "25 cells")),
        ("\n".join(map(str, ["0.04", "x", *EVEN[2:]])), ("prior.csv, line 2", "'x'", "number")),
        ("0.5\n0.5,1\n", ("prior.csv, line 2", "one number")),
        ("", ("prior.csv", "no rows")),
        ("cell,probability\n", ("prior.csv", "no rows")),
        ("cell,probability\n25,1\n", ("cell of prior = 25", "0 to 24")),
        ("cell,probability\n0.5,1\n", ("cell of prior = 0.5", "whole")),
        ("cell,probability\n3,0.5\n3,0.5\n", ("cell of prior = 3", "twice")),
        ("cell,probability\n3,0.5\n4\n", ("prior.csv, line 3", "both")),
        ("cell,probability\n3,half\n", ("prior.csv, line 2", "'half'")),
        ("cell,chance\n3,1\n", ("prior.csv, line 1", "cell,probability")),
        ("a,b,c\n1,2,3\n", ("prior.csv, line 1", "cell,probability")),
        ("cell;probability\n3;1\n", ("prior.csv, line 1", "separate columns by commas")),
        ("cell\tprobability\n3\t1\n", ("prior.csv, line 1", "separate columns by commas")),
        ("cell,probability\n3,1;\n", ("prior.csv, line 2", "separate columns by commas")),
    ],
)
def test_a_prior_that_is_none_is_refused(make: Make, tmp_path: Path, text: str, said: tuple[str, ...]) -> None:
    (tmp_path / "prior.csv").write_text(text)
    refused(make(prior="prior.csv"), *said)


def test_a_prior_that_is_no_text_is_refused(make: Make, tmp_path: Path) -> None:
    (tmp_path / "prior.csv").write_bytes(b"\xff\xfe\x00")
    refused(make(prior="prior.csv"), "prior.csv", "text")


def test_an_area_of_one_cell_is_refused(make: Make, tmp_path: Path) -> None:
    Area.from_points_km([[0, 0]]).save(tmp_path / "one.json")
    refused(make(area="one.json", targets="0"), "cell")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ('{"kind":"points","centres_m":[[0,0],[1,1],[0,0]]}', ("[0, 2]", "same centre")),
        ('{"kind":"points","centres_m":[]}', ("centres",)),
        ('{"kind":"points","centres_m":[[0.5,0]]}', ("centres_m", "whole numbers")),
        ('{"kind":"points"}', ("centres_m", "missing")),
        ('{"kind":"disc"}', ("kind = 'disc'", "grid")),
        ('{"kind":"grid","rows":1}', ("grid", "missing")),
        ('{"kind":"points","centres_m":[[0,0],[1', ("not JSON",)),
        ("[]", ("JSON object",)),
        ('{"kind":"points","centres_m":NaN}', ("NaN",)),
        ("", ("not JSON",)),
    ],
)
def test_an_area_file_that_is_none_is_refused(make: Make, tmp_path: Path, document: str, said: tuple[str, ...]) -> None:
    (tmp_path / "bad.json").write_text(document)
    refused(make(area="bad.json"), "bad.json: ", *said)


def test_a_policy_is_not_taken_for_an_area_nor_an_area_for_a_policy(make: Make, run: Run) -> None:
    for name in ("policy.json", "policy.cvp"):
        assert make(out=name).exit_code == 0
        refused(make(area=name, out="new.json"), f"{name}: is a policy, not an area")
    refused(run("certify", "area.json"), "area.json: is an area, not a policy")
    refused(run("draw", "area.json", "--cell", "1"), "area.json: is an area, not a policy")


def test_a_folder_that_cannot_be_written_to_is_named_as_the_user_named_it(make: Make, run: Run) -> None:
    """/proc takes no files, not even from root."""
    Path("locked").symlink_to("/proc")
    refused(make(out="locked/policy.json"), "'locked/policy.json'", "cannot be written")
    for verb in ("demo", "compare"):
        refused(run(verb, "--out", "locked"), "out = 'locked'", "cannot be written")


def test_numbers_of_thousands_of_digits_are_refused_like_any_other(make: Make) -> None:
    refused(make(targets="9" * 5000), "targets")
    refused(make(epsilon_per_km="9" * 5000), "epsilon_per_km")
    Path("far.csv").write_text("cell,probability\n1e30,0.5\n1,0.5\n")
    refused(make(prior="far.csv"), "cell of prior = 1e+30: cells are whole numbers")


def test_a_name_that_no_terminal_can_print_does_no_harm(run: Run) -> None:
    refused(run("certify", "gone\udcff\x1b[2J.json"), "gone", "No such file")


def test_what_cannot_be_written_is_told_about_the_users_file(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Policy, path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Policy, "save", full)
    refused(make(), "crowdveil: policy.json: cannot be written (No space left on device)")


@pytest.mark.parametrize("suffix", [".json", ".cvp"])
def test_truncated_policies_are_refused_at_every_length(make: Make, run: Run, suffix: str) -> None:
    assert make(out=f"policy{suffix}").exit_code == 0
    whole = Path(f"policy{suffix}").read_bytes()
    for length in [0, 1, 10, *np.linspace(18, len(whole) - 2, 12).astype(int)]:
        Path(f"cut{suffix}").write_bytes(whole[:length])
        refused(run("certify", f"cut{suffix}"), f"cut{suffix}: ")
        refused(run("draw", f"cut{suffix}", "--cell", "3"), f"cut{suffix}: ")


@pytest.mark.parametrize(
    "change",
    [
        lambda policy: policy["weights"][0].__setitem__(0, policy["weights"][0][0] + 1),
        lambda policy: policy["weights"].__setitem__(0, -1),
        lambda policy: policy["weights"].__setitem__(0, 2**60),
        lambda policy: policy["weights"].__setitem__(0, 10**30),
        lambda policy: policy["weights"].__setitem__(0, 0.5),
        lambda policy: policy["weights"].pop(),
        lambda policy: policy.update(weights="none"),
        lambda policy: policy.update(epsilon_per_km=9.9),
        lambda policy: policy.update(epsilon_per_km="much"),
        lambda policy: policy.update(hash="0" * 64),
        lambda policy: policy.update(bits=54),
        lambda policy: policy.update(version=2),
        lambda policy: policy.update(format="other"),
        lambda policy: policy.update(targets=[99]),
        lambda policy: policy.update(provenance={"who": ["knows"]}),
        lambda policy: policy["area"].update(cell_m=2000),
        lambda policy: policy.pop("area"),
        lambda policy: policy.pop("symbols"),
    ],
)
def test_a_tampered_policy_in_json_is_refused(make: Make, run: Run, change: Callable[[object], object]) -> None:
    assert make().exit_code == 0
    document = json.loads(Path("policy.json").read_text())
    change(document)
    Path("policy.json").write_text(json.dumps(document))
    refused(run("certify", "policy.json"), "policy.json: ")
    refused(run("draw", "policy.json", "--cell", "3"), "policy.json: ")


def test_a_tampered_compact_policy_is_refused(make: Make, run: Run) -> None:
    assert make(out="policy.cvp").exit_code == 0
    whole = Path("policy.cvp").read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 40)):
        altered = bytearray(whole)
        altered[position] ^= 1
        Path("policy.cvp").write_bytes(altered)
        refused(run("certify", "policy.cvp"), "policy.cvp: ")
    Path("policy.cvp").write_bytes(whole + b"more")
    refused(run("certify", "policy.cvp"), "policy")
    repacked = whole[:19] + bytes(32) + zlib.compress(zlib.decompress(whole[51:]))
    Path("policy.cvp").write_bytes(repacked)
    refused(run("certify", "policy.cvp"), "hash")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["certify"], ("policy", "--table")),
        (["certify", "nowhere.json"], ("nowhere.json", "No such file")),
        (["certify", "."], (".", "directory")),
        (["certify", "area.json"], ("area.json: is an area, not a policy",)),
        (["certify", "area.json", "--table", "t.csv"], ("policy = 'area.json': can't be combined with --table",)),
        (["certify", "--table", "t.csv"], ("--area is missing", "--epsilon-per-km")),
        (["certify", "--table", "t.csv", "--area", "area.json"], ("--epsilon-per-km is missing", "--area")),
        (["certify", "area.json", "--epsilon-per-km", "x"], ("epsilon_per_km = 'x'",)),
        (["draw", "nowhere.json", "--cell", "1"], ("nowhere.json", "No such file")),
        (["draw", "policy.json"], ("--cell is missing", "--lat and --lon")),
        (["draw", "policy.json", "--cell", "25"], ("cell = 25", "0 to 24")),
        (["draw", "policy.json", "--cell", "-1"], ("cell = -1", "0 to 24")),
        (["draw", "policy.json", "--cell", "home"], ("cell = 'home'", "whole number")),
        (
            ["draw", "policy.json", "--cell", "1", "--lat", "40"],
            ("cell = '1'", "can't be combined with --lat and --lon"),
        ),
        (["draw", "policy.json", "--lat", "40.7"], ("--lon is missing",)),
        (["draw", "policy.json", "--lon", "-74"], ("--lat is missing",)),
        (["draw", "policy.json", "--lat", "-73.98", "--lon", "40.72"], ("covers 40.6", "swapped?")),
        (["draw", "policy.json", "--lat", "0", "--lon", "0"], ("place = '0.0:0.0'", "no cell")),
        (["draw", "policy.json", "--lat", "100", "--lon", "0"], ("latitude = 100.0",)),
        (
            ["area", "grid", "--bounds", "1,2,3", "--out", "a.json"],
            ("bounds = '1,2,3'", "south,west,north,east"),
        ),
        (["area", "grid", "--bounds", "2,0,1,1", "--out", "a.json"], ("south = 2.0", "north")),
        (["area", "grid", "--bounds", "0,0,1,1", "--cell-km", "0", "--out", "a.json"], ("cell_km = 0.0",)),
        (["area", "grid", "--bounds", "0,0,1,1", "--cell-km", "nan", "--out", "a.json"], ("cell_km = nan",)),
        (
            ["area", "grid", "--bounds", "0,0,1,1", "--cell-km", "0.001", "--out", "a.json"],
            ("cell_km", "at most"),
        ),
        (
            ["area", "hexagons", "--bounds", "0,0,1,1", "--resolution", "16", "--out", "a.json"],
            ("resolution = 16",),
        ),
        (["area", "grid", "--bounds", "0,0,1,1"], ("--out",)),
        (["area", "towers", "nowhere.csv", "--out", "a.json"], ("nowhere.csv", "No such file")),
        (["area", "circle"], ("circle",)),
        (["area", "grid", "--bounds", "0,0,.1,.1", "--out", "a.txt"], ("out = 'a.txt'", ".json")),
        (["demo", "--out", "area.json"], ("area.json", "folder")),
        (["demo", "--seed", "-1"], ("seed = -1",)),
        (["dance"], ("dance",)),
    ],
)
def test_every_verb_refuses_what_it_cannot_use(
    make: Make, run: Run, arguments: list[str], said: tuple[str, ...]
) -> None:
    assert make().exit_code == 0
    Path("t.csv").write_text("0.5,0.5\n")
    refused(run(*arguments), *said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lat,lon\n40.7,-74\n40.7,-74\n", ("[0, 1]", "same centre")),
        ("lat,lon\n95,-74\n", ("latitude = 95.0",)),
        ("lat,lon\n40.7,west\n", ("t.csv, line 2", "lon = 'west'")),
        ("lat,lon\n40.7\n", ("t.csv, line 2", "both")),
        ("name,where\n1,2\n", ("t.csv, line 1", "lat,lon")),
        ("1,2,3\n", ("t.csv, line 1", "3 columns")),
        ("lat,lon\n", ("t.csv", "no rows")),
        ('lat,lon\n"40.7', ("t.csv",)),
    ],
)
def test_a_list_of_towers_that_is_none_is_refused(run: Run, text: str, said: tuple[str, ...]) -> None:
    Path("t.csv").write_text(text)
    refused(run("area", "towers", "t.csv", "--out", "a.json"), *said)
    assert not Path("a.json").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.5,0.5\n", ("1, 2", "25 rows")),
        ("0.5,0.5\n0.5\n", ("t.csv, line 2", "1 columns")),
        ("a,b\n", ("t.csv", "no rows")),
        ("0.5,0.5\n" * 24 + "0.5,0.6\n", ("sum of table[24] = 1.1", "should be 1")),
        ("0.5,0.5\n" * 24 + "-0.5,1.5\n", ("table[24, 0] = -0.5", "negative")),
        ("0.5,0.5\n" * 24 + "nan,0.5\n", ("table[24, 0] = nan", "finite")),
        ("0.5,0.5\n" * 24 + "x,0.5\n", ("t.csv, line 25", "'x'")),
        ("1,1\n" * 24 + "1,2\n", ("sum of table[24] = 3", "same in all rows")),
    ],
)
def test_a_table_that_is_none_is_refused(area: Path, run: Run, text: str, said: tuple[str, ...]) -> None:
    Path("t.csv").write_text(text)
    refused(run("certify", "--table", "t.csv", "--area", area, "--epsilon-per-km", "1"), *said)


def test_a_folder_that_takes_no_files_is_refused(make: Make) -> None:
    """/proc refuses even root."""
    refused(make(out="/proc/policy.json"), "/proc/policy.json", "cannot be written")


def test_devices_and_folders_are_never_overwritten(make: Make, tmp_path: Path) -> None:
    (tmp_path / "policy.json").mkdir()
    refused(make(), "policy.json", "folder")
    (tmp_path / "null.json").symlink_to("/dev/null")
    refused(make(out="null.json"), "null.json", "device")
