"""The verb `study`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crowdveil.paper import cities as cities
from crowdveil.paper import study
from crowdveil.paper.figures import OF_STUDY, QUICK
from crowdveil.traces import synthetic_visits
from tests.cli.helpers import Run, refused
from tests.simulate.small import small_dataset


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["new-york"], ("data = None", "name the file")),
        (["new-york", "--data", "empty.txt"], ("empty.txt", "contains no rows", "tab-separated")),
        (["new-york", "--data", "nowhere.txt"], ("data = 'nowhere.txt'", "no such file")),
        (["san-francisco", "--data", "other.csv"], ("other.csv", "has no column 'user'")),
        (["tower-city", "--data", "empty.txt"], ("towers = None", "tower positions")),
        (["atlantis"], ("atlantis", "new-york")),
        (["gowalla"], ("data = None", "name the file")),
        (["own"], ("data = None", "name the file")),
        (["new-york", "--data", "other.csv", "--zone", "UTC"], ("zone = 'UTC'", "only to the study own")),
        (["tower-city", "--cell-km", "2"], ("cell_km = '2'", "only to the study own")),
        (["gowalla", "--data", "other.csv", "--towers", "other.csv"], ("towers", "tower-city and own")),
        (["own", "--data", "other.csv", "--cell-km", "wide"], ("cell_km = 'wide'", "should be a number")),
        (["together"], ("data = None", "finished studies")),
        (["together", "--data", "."], ("data = '.'", "finished studies")),
        (["together", "--data", ".", "--quick"], ("quick", "only to studies")),
        (["together", "--data", ".", "--year"], ("year", "only to studies")),
        (["tower-city", "--year"], ("study = 'tower-city'", "to study a year")),
        (["new-york", "--year"], ("data = None", "name the file")),
        (["tower-city", "--users", "300"], ("users = '300'", "only to the study synthetic-city")),
        (["synthetic-city", "--users", "3"], ("users = 3", "50 to 100,000")),
        (["synthetic-city", "--data", "other.csv"], ("data", "leave it out")),
        (["tower-city", "--workers", "0"], ("workers = 0", "1 to 256")),
        (["tower-city", "--workers", "two"], ("workers = 'two'", "whole number")),
    ],
)
def test_bad_input_is_refused_in_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.txt").touch()
    Path("other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    refused(run("study", *arguments, "--out", "out"), *said)


def test_a_file_is_no_folder_to_write_to(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    refused(run("study", "tower-city", "--out", str(tmp_path / "out")), "is a file; name a folder")


@pytest.mark.long
def test_a_study_prints_its_claims_and_says_what_was_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(
        QUICK, draws=1, divergence_seeds=1, group_counts=(1,), repeats=1, seeds=1, loss_seeds=2, balance_targets=(2,)
    )
    monkeypatch.setitem(cities._RECIPES, "tower-city", lambda _, offset: small_dataset(offset))
    monkeypatch.setattr(study, "QUICK", small)
    monkeypatch.setitem(OF_STUDY, "tower-city", OF_STUDY["tower-city"][1:5])
    cities.open_city.cache_clear()
    result = run("study", "tower-city", "--quick", "--workers", "1", "--out", str(tmp_path / "new" / "out"))
    cities.open_city.cache_clear()
    assert result.exit_code == 0, result.output
    assert "too few seeds to decide" in result.stdout
    assert "certified policies" in result.stdout
    assert (tmp_path / "new" / "out" / "report.html").exists()
    together = run("study", "together", "--data", str(tmp_path / "new"), "--out", str(tmp_path / "together"))
    assert together.exit_code == 0, together.output
    assert "1 study side by side" in together.stdout
    assert (tmp_path / "together" / "losses.png").exists()


def test_own_traces_can_be_studied(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    visits = synthetic_visits(np.random.default_rng(3), users=40, weeks=8, radius_km=3.0)
    rows = zip(visits.user, visits.utc_s, visits.latitude, visits.longitude, strict=True)
    file = tmp_path / "mine.csv"
    file.write_text("who,time,latitude,longitude\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows))
    monkeypatch.setattr(study, "QUICK", replace(QUICK, loss_seeds=1))
    monkeypatch.setitem(OF_STUDY, "own", OF_STUDY["own"][2:5])
    options = ("--user-column", "who", "--zone", "Europe/Berlin", "--cell-km", "2")
    out = tmp_path / "out"
    result = run("study", "own", "--data", str(file), *options, "--quick", "--workers", "1", "--out", str(out))
    assert result.exit_code == 0, result.output
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "mine.csv" in report
    assert str(tmp_path) not in report
    again = "crowdveil study own --data FILE --zone Europe/Berlin --user-column who --cell-km 2 --period week"
    assert again in report
