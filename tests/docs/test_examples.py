"""Every Python block of README and docs runs as printed, page by page from top to bottom."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import crowdveil as cv
from crowdveil.cli import app
from crowdveil.server.local import LocalServer
from tests.docs.pages import DOCS, ROOT, USER_PAGES, blocks, crowdveil_lines, name_of, read

DEFAULT_SERVER = "http://127.0.0.1:8765"
FEW_SEEDS = 2
"""Of comparisons, whatever a page says: more seeds take more time, and run no other line."""


def python_of(page: Path) -> list[tuple[int, str]]:
    """The Python blocks of a page, each with its line."""
    return [(block.line, block.text) for block in blocks(read(page)) if block.language == "python"]


WITH_PYTHON = [page for page in USER_PAGES if python_of(page)]
WITH_SERVER = [page for page in WITH_PYTHON if any(DEFAULT_SERVER in text for _, text in python_of(page))]


def run(page: Path, server: str = DEFAULT_SERVER) -> dict[str, Any]:
    """Run a page's blocks one after the other, like a notebook; a traceback names the page and its line."""
    names: dict[str, Any] = {}
    for line, text in python_of(page):
        source = text.replace(DEFAULT_SERVER, server).replace("seeds=20", f"seeds={FEW_SEEDS}")
        exec(compile("\n" * line + source, name_of(page), "exec"), names)
    return names


@pytest.mark.parametrize("page", [page for page in WITH_PYTHON if page not in WITH_SERVER], ids=name_of)
def test_python_examples_run_as_printed(page: Path, folder: Path) -> None:
    run(page)


@pytest.mark.long
@pytest.mark.parametrize("page", WITH_SERVER, ids=name_of)
def test_python_examples_that_talk_to_a_server_run_as_printed(page: Path, server: LocalServer) -> None:
    run(page, server.url)


def test_the_first_own_result_takes_at_most_ten_lines() -> None:
    (_, text), *_ = python_of(ROOT / "README.md")
    assert len([line for line in text.splitlines() if line.strip()]) <= 10


def coverage_in(folder: str) -> dict[str, float]:
    """What a saved comparison found, by method."""
    records = json.loads(Path(folder, "results.json").read_text(encoding="utf-8"))
    return {record["method"]: record["value"] for record in records}


@pytest.mark.long
def test_the_command_of_the_readme_finds_what_its_python_finds(folder: Path) -> None:
    run(ROOT / "README.md")
    (arguments,) = [words for words in crowdveil_lines(read(ROOT / "README.md")) if words[0] == "compare"]
    arguments[arguments.index("--seeds") + 1] = str(FEW_SEEDS)
    arguments[arguments.index("--out") + 1] = "by-command"
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert coverage_in("by-command") == coverage_in("compared")


def test_the_quickstarts_commands_make_the_policy_of_its_python_example(folder: Path) -> None:
    page = DOCS / "start" / "quickstart.md"
    (prior,) = [block.text for block in blocks(read(page)) if block.language == "csv"]
    Path("prior.csv").write_text(prior, encoding="utf-8")
    lines = list(crowdveil_lines(read(page)))
    assert [line[0] for line in lines] == ["compare", "area", "policy", "certify", "draw"]
    for line in lines[1:]:
        result = CliRunner().invoke(app, line)
        assert result.exit_code == 0, (shlex.join(line), result.output)
        assert "WARNING" not in result.stderr
    (_, text) = python_of(page)[-1]
    names: dict[str, Any] = {}
    exec(compile(text, name_of(page), "exec"), names)
    assert cv.Policy.load("policy.json").hash == names["policy"].hash
