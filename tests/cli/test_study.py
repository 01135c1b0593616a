"""The verb `study`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crowdveil.paper import cities as cities
from crowdveil.paper import study
from crowdveil.paper.figures import OF_STUDY, QUICK
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


def test_a_study_prints_its_claims_and_says_what_was_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(QUICK, draws=1, divergence_seeds=1, group_counts=(1,), repeats=1, seeds=1)
    monkeypatch.setitem(cities._RECIPES, "tower-city", lambda _, offset: small_dataset(offset))
    monkeypatch.setattr(study, "QUICK", small)
    monkeypatch.setitem(OF_STUDY, "tower-city", OF_STUDY["tower-city"][1:4])
    cities.open_city.cache_clear()
    result = run("study", "tower-city", "--quick", "--workers", "1", "--out", str(tmp_path / "new" / "out"))
    cities.open_city.cache_clear()
    assert result.exit_code == 0, result.output
    assert "holds" in result.stdout
    assert "certified policies" in result.stdout
    assert (tmp_path / "new" / "out" / "report.html").exists()
