"""`crowdveil scale`: a synthetic city or profiled traces in, campaigns over a table out."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import psutil  # type: ignore[import-untyped]
import pytest

from crowdveil.batch import COLUMN_NAMES, BatchJob, PeriodRange, ProfileSettings, find_inputs, open_engine, save_fixes
from crowdveil.batch import run as run_job
from crowdveil.simulate.people import FIRST_DAY, SyntheticPopulation
from crowdveil.traces import CitySettings, SyntheticCity
from tests.cli.helpers import Run, refused

CITY = SyntheticCity(4, 400, CitySettings(6))
PATIENCE_S = 30.0
FEW = ("--methods", "none,random", "--rounds", "2")


@pytest.mark.long
def test_a_synthetic_city_is_compared_and_written(run: Run) -> None:
    result = run("scale", "--users", "400", "--weeks", "6", "--delta", "0.5", "--rounds", "2", "--out", "scaled")
    assert result.exit_code == 0, result.stderr
    assert "400 people" in result.stdout
    for method in ("none", "random", "algorithm-2", "crowdveil"):
        assert f"\n{method}" in result.stdout
    assert sorted(path.name for path in Path("scaled").iterdir()) == ["people.parquet", "results.json"]
    told = json.loads(Path("scaled/results.json").read_text())
    assert [one["method"] for one in told["methods"]] == ["none", "random", "algorithm-2", "crowdveil"]
    assert all(one["users"] == 400 for one in told["methods"])
    same = ("--users", "400", "--weeks", "6", "--delta", "0.5", "--rounds", "2", "--methods", "none,random,algorithm-2")
    again = run("scale", *same, "--out", "again", "--json")
    assert json.loads(again.stdout)["methods"] == told["methods"][:3]


@pytest.fixture
def profiled() -> Path:
    """Four weeks to learn from, two to test on."""
    town = SyntheticPopulation.over(CITY, test=2, delta=0.5, densest=1, seed=4)
    town.area.save("area.json")
    save_fixes(CITY, Path("fixes.parquet"))
    out = Path("profiled")
    out.mkdir()
    span = PeriodRange(start=FIRST_DAY, count=6, train=4)
    job = BatchJob(
        find_inputs(["fixes.parquet"], COLUMN_NAMES), COLUMN_NAMES, town.area, span, ProfileSettings(delta=0.5)
    )
    engine = open_engine("duckdb", threads=1)
    run_job(job, engine, out, lambda _step, _share: None)
    engine.close()
    return out


def test_profiled_traces_are_people(run: Run, profiled: Path) -> None:
    result = run("scale", "--profiled", str(profiled), "--area", "area.json", "--densest", "2", *FEW, "--out", "scaled")
    assert result.exit_code == 0, result.stderr
    told = json.loads(Path("scaled/results.json").read_text())
    assert told["test_periods"] == 2
    assert len(told["targets"]) == 2
    assert told["methods"][0]["users"] == json.loads((profiled / "summary.json").read_text())["users"]
    assert told["methods"][0]["coverage"] > told["methods"][1]["coverage"]
    named = ("--targets", ",".join(map(str, told["targets"])))
    again = run("scale", "--profiled", str(profiled), "--area", "area.json", *named, *FEW, "--out", "named", "--json")
    assert json.loads(again.stdout)["methods"] == told["methods"]


def test_what_does_not_fit_is_refused_in_a_line(run: Run, profiled: Path) -> None:
    here = ("--profiled", str(profiled), "--area", "area.json", "--out", "scaled")
    refused(run("scale", "--out", "scaled"), "--users is missing")
    refused(run("scale", *here, "--users", "5"), "users = '5'", "can't be combined with --profiled")
    for wrong in ("-3", "0", "100000"):
        refused(run("scale", *here, "--densest", wrong), f"densest = {wrong}", "should be from 1 to")
    refused(run("scale", *here, "--densest", ""), "densest = ''", "whole number")
    refused(
        run("scale", *here, "--targets", "3", "--densest", "2"), "densest = '2'", "can't be combined with --targets"
    )
    refused(run("scale", *here, "--targets", ""), "targets = ''", "at least one")
    refused(run("scale", *here, "--targets", "99999"), "targets")
    refused(run("scale", *here, "--memory", "1KB"), "memory = '1KB'", "at least 10MB")
    refused(run("scale", "--users", "10", "--out", ""), "--out", "should name a folder")
    refused(
        run("scale", "--users", "1", "--out", "scaled"),
        "users = '1'",
        "nobody has a frequent place; use a smaller --delta",
    )
    refused(run("scale", "--users", f"{10**21}", "--out", "scaled"), "users = 1", "at most 10,000,000,000")
    refused(run("scale", "--users", "9", "--weeks", "100000", "--out", "scaled"), "weeks = 100000", "at most 520")
    refused(run("scale", "--profiled", str(profiled), "--out", "scaled"), "--area is missing")
    refused(run("scale", *here, "--weeks", "5"), "weeks")
    refused(run("scale", "--users", "10", "--targets", "3", "--out", "scaled"), "targets")
    refused(run("scale", *here, "--methods", "best"), "methods = 'best'")
    refused(run("scale", "--users", "10", "--test", "10", "--out", "scaled"), "test = 10")
    refused(run("scale", *here, "--engine", "hive"), "engine = 'hive'")
    refused(run("scale", *here, "--methods", ""), "methods", "name one or more")
    refused(run("scale", *here, "--methods", "none,random,none"), "methods = 'none'", "twice")
    for share in ("0", "2", "nan", "-0.1"):
        refused(run("scale", *here, "--share", share), "share = ", "above 0 and at most 1")
    refused(run("scale", *here, "--rounds", "0"), "rounds = 0")
    refused(run("scale", *here, "--seed", "-1"), "seed = -1")
    refused(run("scale", *here, "--epsilon-per-km", "inf"), "epsilon_per_km = inf")
    refused(run("scale", "--users", "10", "--weeks", "1", "--out", "scaled"), "weeks = 1", "at least 2")
    refused(run("scale", "--users", "10", "--delta", "nan", "--out", "scaled"), "delta = nan")
    refused(run("scale", "--users", "10", "--densest", "0", "--out", "scaled"), "densest = 0")
    refused(run("scale", "--profiled", ".", "--area", "area.json", "--out", "scaled"), "summary.json")
    other = SyntheticPopulation.over(
        SyntheticCity(4, 10, CitySettings(6, latitude=10.0)), test=2, delta=0.5, densest=1, seed=4
    ).area
    other.save("other.json")
    refused(run("scale", *here, "--area", "other.json"), "is not the area that the profiles were made for")
    summary = json.loads((profiled / "summary.json").read_text())
    (profiled / "summary.json").write_text(json.dumps(summary | {"train": 6}))
    refused(run("scale", *here), "smaller --train")
    for broken in ("[1]", "", json.dumps(summary | {"train": None})):
        (profiled / "summary.json").write_text(broken)
        refused(run("scale", *here), "profiled: holds no summary.json")
    (profiled / "summary.json").write_text(json.dumps(summary))
    shutil.rmtree(profiled / "places")
    refused(run("scale", *here), "profiled/places: holds no Parquet of")


@pytest.mark.long
@pytest.mark.parametrize("one", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_a_run_that_is_ended(tmp_path: Path, one: signal.Signals) -> None:
    command = [sys.executable, "-m", "crowdveil", "scale", "--users", "3000000", "--out", str(tmp_path)]
    half = tmp_path / "people.parquet.half"
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until = monotonic() + PATIENCE_S
    while not half.exists() or len(psutil.Process(process.pid).children()) < 2:
        assert process.poll() is None
        assert monotonic() < until
        sleep(0.05)
    workers = psutil.Process(process.pid).children(recursive=True)
    if one is signal.SIGINT:
        os.killpg(process.pid, one)  # Ctrl-C reaches every process of a terminal
    else:
        process.send_signal(one)
    _, said = process.communicate(timeout=PATIENCE_S)
    left = psutil.wait_procs(workers, timeout=PATIENCE_S)[1]
    for worker in left:
        worker.kill()
    assert left == []
    assert process.returncode == {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}[one]
    if one is not signal.SIGKILL:  # of which nobody can say anything
        assert "Traceback" not in said
        assert list(tmp_path.iterdir()) == []
