"""Without extras the core runs, and a verb or option that needs one names it in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crowdveil.cli.app import SUMMARIES
from crowdveil.errors import MissingExtraError
from crowdveil.extras import MODULES, has_extra, require_extra

OPTIONAL = {name for names in MODULES.values() for name in names}
OPTIONAL |= {"starlette", "uvloop", "httptools", "psycopg", "pandas"}
SCRIPT = """
import json, sys
from importlib.abc import MetaPathFinder

blocked, commands = json.loads(sys.argv[1])

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from typer.testing import CliRunner
from crowdveil.cli import app

for arguments in commands:
    ran = CliRunner().invoke(app, arguments)
    print(json.dumps([ran.exit_code, ran.stdout, ran.stderr, repr(ran.exception)]))
"""
GRID = ["area", "grid", "--bounds", "40.70,-74.00,40.74,-73.95", "--out", "area.json"]
POLICY = ["policy", "--area", "area.json", "--targets", "3", "--epsilon-per-km", "ln4", "--beta", "0.1"]
NOWHERE = ["--server", "http://127.0.0.1:9"]


def run_without(modules: set[str], folder: Path, commands: list[list[str]]) -> list[Any]:
    """Run commands one after the other in a process in which some libraries cannot be imported."""
    given = json.dumps([sorted(modules), commands])
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, given], capture_output=True, text=True, cwd=folder, check=True, timeout=300
    )
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_the_core_runs_without_any_extra(tmp_path: Path) -> None:
    compared = ["compare", "--seeds", "1", "--methods", "random,crowdveil", "--cell-km", "4", "--out", "compared"]
    made = [GRID, [*POLICY, "--out", "policy.json"], ["certify", "policy.json"]]
    results = run_without(OPTIONAL, tmp_path, [*made, ["draw", "policy.json", "--cell", "3"], compared])
    assert [code for code, *_ in results] == [0] * 5, results
    assert sorted(path.name for path in (tmp_path / "compared").iterdir()) == ["results.json"]
    assert "No picture was drawn: a picture needs the extra `plots`: pip install 'crowdveil[plots]'" in results[-1][2]


@pytest.mark.long
def test_verbs_that_speak_to_a_server_need_no_extra(tmp_path: Path) -> None:
    (tmp_path / "profile.csv").write_text("cell,probability\n12,0.9\n")
    joins = ["device", "join", "noise", "--ledger", "mine", "--profile", "profile.csv", "--yes"]
    results = run_without(
        OPTIONAL,
        tmp_path,
        [
            ["campaign", "list", "--token", "any", *NOWHERE],
            ["device", "create", "--ledger", "mine"],
            [*joins, *NOWHERE],
            ["device", "sent", "--ledger", "mine"],
        ],
    )
    assert [code for code, *_ in results] == [2, 0, 2, 0], results
    for _, _, said, _ in (results[0], results[2]):
        assert "127.0.0.1:9" in said
        assert "extra" not in said


NEEDED = [
    (["serve"], "serve", "server"),
    (["demo"], "demo", "server"),
    (["study", "tower-city", "--out", "study"], "study", "plots"),
    (["profile", "--traces", "fixes.csv", "--area", "area.json", "--out", "profiled"], "profile", "batch"),
    (["scale", "--users", "100", "--out", "scaled"], "scale", "batch"),
    ([*POLICY, "--out", "policy.json", "--picture", "policy.png"], "--picture", "plots"),
    (["campaign", "preview", "noise", "--picture", "map.png", "--token", "any", *NOWHERE], "--picture", "plots"),
    (["compare", "--data", "visits.parquet"], "reading Parquet", "batch"),
]


def test_what_needs_an_extra_names_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "visits.parquet").write_bytes(b"PAR1")
    results = run_without(OPTIONAL, tmp_path, [arguments for arguments, _, _ in NEEDED])
    for (_, what, extra), (code, out, said, _) in zip(NEEDED, results, strict=True):
        assert (code, out) == (2, "")
        assert said == f"crowdveil: {what} needs the extra `{extra}`: pip install 'crowdveil[{extra}]'\n"
    assert [path.name for path in tmp_path.iterdir()] == ["visits.parquet"]


def test_spark_is_an_extra_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "fixes.csv").write_text("user,time,latitude,longitude\nann,2024-01-01T12:00:00Z,40.72,-73.98\n")
    profile = ["profile", "--traces", "fixes.csv", "--area", "area.json", "--engine", "spark", "--out", "profiled"]
    made, refused = run_without({"pyspark"}, tmp_path, [GRID, profile])
    assert made[0] == 0
    assert refused[0] == 2
    assert refused[2] == "crowdveil: the engine spark needs the extra `spark`: pip install 'crowdveil[spark]'\n"


def test_every_verb_explains_itself_without_any_extra(tmp_path: Path) -> None:
    results = run_without(OPTIONAL, tmp_path, [[verb, "--help"] for verb in SUMMARIES])
    assert [code for code, *_ in results] == [0] * len(SUMMARIES)


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("crowdveil.server.run", "server"),
        ("crowdveil.server.app", "server"),
        ("crowdveil.store", "server"),
        ("crowdveil.batch", "batch"),
        ("crowdveil.plots.maps", "plots"),
    ],
)
def test_the_library_names_the_extra_too(module: str, extra: str) -> None:
    block = f"import sys; sys.modules.update(dict.fromkeys({sorted(OPTIONAL)!r}))"
    script = f"{block}\ntry:\n    import {module}\nexcept ImportError as error:\n    print(error)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.endswith(f" needs the extra `{extra}`: pip install 'crowdveil[{extra}]'\n")


def test_an_extra_that_is_installed_is_not_missed() -> None:
    assert has_extra("plots")
    require_extra("drawing", "plots")
    with pytest.raises(KeyError):
        require_extra("drawing", "crayons")


def test_the_error_is_one_that_both_kinds_of_callers_catch() -> None:
    error = MissingExtraError("serve", "server")
    assert isinstance(error, ImportError)
    assert isinstance(error, ValueError)
