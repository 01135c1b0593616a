"""The documentation knows every verb, every option and every public name, and its examples run."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import crowdveil as cv
from crowdveil.cli import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Walk the verbs and their sub-verbs."""
    yield name, command
    for child, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{name} {child}")


VERBS = dict(commands(typer.main.get_command(app), "crowdveil"))


def sections(text: str) -> dict[str, str]:
    """Text under each heading."""
    parts = re.split(r"^#+ +(.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def markdown() -> list[Path]:
    return sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])


@pytest.mark.parametrize("verb", [name for name in VERBS if " " in name])
def test_every_verb_has_a_heading_that_names_all_its_options(verb: str) -> None:
    headed = sections((DOCS / "cli.md").read_text(encoding="utf-8"))
    assert verb in headed
    options = {option for parameter in VERBS[verb].params for option in parameter.opts if option.startswith("--")}
    missing = {option for option in options - {"--help"} if f"`{option}" not in headed[verb]}
    assert not missing


def test_the_docs_name_no_option_that_is_not_there() -> None:
    known = {option for verb in VERBS.values() for parameter in verb.params for option in parameter.opts}
    named = set(re.findall(r"`(--[a-z-]+)", (DOCS / "cli.md").read_text(encoding="utf-8")))
    assert named <= known | {"--help"}


def test_every_public_name_has_a_heading_in_the_library_page() -> None:
    headings = " ".join(sections((DOCS / "library.md").read_text(encoding="utf-8")))
    named = set(re.findall(r"\bcv\.(\w+)", headings))
    assert named == set(cv.__all__)


def test_every_public_name_that_the_docs_use_exists() -> None:
    for page in markdown():
        used = set(re.findall(r"\bcv\.(\w+)", page.read_text(encoding="utf-8")))
        assert used <= set(cv.__all__), page


def test_every_page_is_reachable_from_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page.name for page in DOCS.glob("*.md") if page.name not in navigation] == []


@pytest.mark.parametrize("page", markdown(), ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", DOCS / "quickstart.md", DOCS / "campaigns.md"], ids=lambda page: page.name
)
def test_python_examples_run_as_printed(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    start = lines.index("    import math")
    block = []
    for line in lines[start:]:
        if line and not line.startswith("    "):
            break
        block.append(line.removeprefix("    "))
    exec(compile("\n".join(block), str(page), "exec"), {})
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    assert last in ("hit", "other") or (page.name == "campaigns.md" and last.startswith("30 chosen"))


def test_the_quickstarts_commands_run_as_printed_and_make_the_policy_of_its_python_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "quickstart.md").read_text(encoding="utf-8")
    prior = re.search(r"^    cell,probability\n(?:    \d+,[\d.]+\n)+", text, re.MULTILINE)
    assert prior is not None
    Path("prior.csv").write_text(prior[0].replace("    ", ""))
    commands = re.findall(r"^    crowdveil (.*)$", text.replace("\\\n", " "), re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["area", "policy", "certify", "draw"]
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command))
        assert result.exit_code == 0, result.output
        assert "WARNING" not in result.stderr
    names: dict[str, Any] = {}
    block = text[text.index("    import math") : text.index("    certificate = ")]
    exec(textwrap.dedent(block), names)
    assert cv.Policy.load("policy.json").hash == names["policy"].hash


@pytest.mark.parametrize("lock", sorted(ROOT.glob("requirements*.lock")), ids=lambda lock: lock.name)
def test_locks_pin_hashes_and_name_no_address(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "--hash=sha256:" in text
    # options of the installer stand at the start of a line; hashes are indented
    assert not re.search(r"://|^-| @ ", text, re.MULTILINE)
