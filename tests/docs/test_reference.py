"""The reference names every verb, option and public name, and nothing else."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

import crowdveil as cv
from tests.docs.pages import DOCS, ROOT, USER_PAGES, headings, inline_code, name_of, read, sections
from tests.docs.parser import options_of, verbs

COMMANDS = sections(read(DOCS / "reference" / "command-line.md"))
LIBRARY = sections(read(DOCS / "reference" / "library.md"))


@pytest.mark.parametrize("verb", sorted(name for name in verbs() if " " in name))
def test_every_verb_has_a_heading_that_names_all_its_options(verb: str) -> None:
    own = {option for parameter in verbs()[verb].params for option in parameter.opts if option.startswith("--")}
    named = re.findall(r"`(--[a-z-]+)(?=[ `])", COMMANDS[verb])
    assert own - {"--help"} - set(named) == set()


@pytest.mark.parametrize("verb", sorted(name for name in verbs() if " " in name))
def test_no_heading_names_an_option_that_its_verb_does_not_have(verb: str) -> None:
    listed = re.findall(r"^- .*", COMMANDS[verb], re.MULTILINE)
    named = {option for line in listed for option in re.findall(r"`(--[a-z-]+)", line.partition("`: ")[0] + "`")}
    assert named <= options_of(verbs()[verb])


def test_the_command_line_page_has_no_heading_of_a_verb_that_does_not_exist() -> None:
    assert {heading for heading in COMMANDS if heading.startswith("crowdveil ")} == set(verbs()) - {"crowdveil"}


def test_every_public_name_has_a_heading_in_the_library_page() -> None:
    named = re.findall(r"\bcv\.(\w+)", " ".join(headings(read(DOCS / "reference" / "library.md"))))
    assert sorted(named) == sorted(set(cv.__all__))


def test_every_function_and_class_of_the_library_page_is_shown_in_use() -> None:
    for heading, text in LIBRARY.items():
        for name in re.findall(r"\bcv\.(\w+)", heading):
            if callable(getattr(cv, name)) and not name.endswith(("Error", "Refused", "Unreachable", "OpenRound")):
                assert re.search(rf"\bcv\.{name}\b", text), f"{name} without an example"


@pytest.mark.parametrize("page", USER_PAGES, ids=name_of)
def test_every_public_name_that_a_page_uses_exists(page: Path) -> None:
    assert set(re.findall(r"\bcv\.(\w+)", read(page))) <= set(cv.__all__)


@pytest.mark.parametrize("page", USER_PAGES, ids=name_of)
def test_every_module_and_function_that_a_page_names_exists(page: Path) -> None:
    for code in inline_code(read(page)):
        if found := re.match(r"crowdveil(?!\.sqlite)(?:\.[a-z]\w+)+", code):
            pkgutil.resolve_name(found[0])


def test_the_layout_that_contributors_read_is_the_tree() -> None:
    listed = re.findall(r"^      (\w+(?:\.py|/)) +\S", sections(read(ROOT / "CONTRIBUTING.md"))["Layout"], re.MULTILINE)
    source = ROOT / "src" / "crowdveil"
    rooms = [f"{room.parent.name}/" for room in source.glob("*/__init__.py")]
    modules = [module.name for module in source.glob("*.py") if module.name != "__main__.py"]
    assert sorted(listed) == sorted(rooms + modules)


def test_the_files_that_contributors_are_sent_to_exist() -> None:
    named = re.findall(r"`((?:src|tests|web|docs|benchmarks)/[\w./-]*)`", read(ROOT / "CONTRIBUTING.md"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_ten_questions_of_a_newcomer_are_answered_by_a_file_and_a_name_in_it() -> None:
    table = sections(read(ROOT / "CONTRIBUTING.md"))["Where is…?"]
    answers = re.findall(r"^\| [^|]+\? \| `([^`]+)` \| ([^|]+) \|$", table, re.MULTILINE)
    assert len(answers) >= 10
    for path, sought in answers:
        source = read(ROOT / "src" / "crowdveil" / path)
        assert [name for name in re.findall(r"`(\w+)`", sought) if name not in source] == [], path
