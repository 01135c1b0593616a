"""Every command line that a reader may copy is one that the parser takes."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, USER_PAGES, crowdveil_lines, inline_code, name_of, read, shell_lines
from tests.docs.parser import find_verb, options_of, parse, parse_mention, verbs
from tests.server.test_requests import ROLES

pages = pytest.mark.parametrize("page", USER_PAGES, ids=name_of)
OTHER_PROGRAMS = {"--upgrade", "--format", "--reports"}
"""Options of pip, pg_dump and the benchmarks that prose names by themselves."""


@pages
def test_every_command_line_of_a_page_parses(page: Path) -> None:
    for words in crowdveil_lines(read(page)):
        parse(words)


@pages
def test_every_verb_and_option_that_a_page_mentions_exists(page: Path) -> None:
    known = options_of(verbs()["crowdveil"]) | OTHER_PROGRAMS
    for code in inline_code(read(page)):
        if code.startswith("crowdveil "):
            parse_mention(shlex.split(code)[1:])
        elif code.startswith("--"):
            assert code.split()[0] in known, code


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_every_example_of_a_help_text_parses(verb: str) -> None:
    texts = f"{verbs()[verb].help or ''}\n{verbs()[verb].epilog or ''}"
    joined = re.sub(r"\n {4,}(?=\S)", " ", texts.replace("\\\n", " "))
    for line in re.findall(r"^.*?(?<!\S)crowdveil (?=[a-z-])(.*)$", joined, re.MULTILINE):
        if find_verb(shlex.split(line, comments=True)[:1])[0] != "crowdveil":
            parse(shlex.split(line, comments=True))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("simulate --out simulated/", "no verb 'simulate'"),
        ("campaign create coffee --deadline-hours 12", "--deadline-hours"),
        ("area grid --cell-km 1 --out area.json", "--bounds"),
        ("certify policy.json another.json", "another.json"),
        ("campaign", "needs a verb"),
        ("study tokyo-by-night --out study/", "tokyo-by-night"),
    ],
)
def test_a_line_that_would_not_run_is_found(line: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        parse(line.split())


def test_an_option_that_is_only_mentioned_is_found_too() -> None:
    with pytest.raises(ValueError, match="--deadline-hours"):
        parse_mention(["campaign", "create", "--deadline-hours"])


@pages
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    lines = [words for words in shell_lines(read(page)) if words[0] == "make"]
    lines += [code.split() for code in inline_code(read(page)) if code.startswith("make ")]
    named = {word for words in lines for word in words[1:] if "=" not in word and not word.startswith("-")}
    assert named <= targets


@pages
def test_every_extra_that_a_page_installs_is_declared(page: Path) -> None:
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    named = {extra for group in re.findall(r"\bcrowdveil\[([a-z,]+)\]", read(page)) for extra in group.split(",")}
    assert named <= set(project["optional-dependencies"])


@pages
def test_every_route_that_a_page_names_exists(page: Path) -> None:
    shapes = [re.compile(re.sub(r"\{\w+\}", r"[^/]+", path)) for _, path in ROLES]
    named = set(re.findall(r"/v1/[\w{}*/-]+", read(page)))
    assert {path for path in named if not any(shape.fullmatch(path) for shape in shapes)} == set()


@pages
def test_every_variable_that_a_page_names_is_read_somewhere(page: Path) -> None:
    source = "".join(read(module) for module in (ROOT / "src").rglob("*.py"))
    assert {name for name in re.findall(r"\bCROWDVEIL_[A-Z]+\b", read(page)) if name not in source} == set()
