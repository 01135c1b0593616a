"""Read what the pages say to do: their code blocks, command lines, links and headings."""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
USER_PAGES = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""The changelog also names what is gone."""

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("sh", "ini", "dockerfile")


@dataclass(frozen=True)
class Block:
    """A code block, and where it stands."""

    language: str
    text: str
    line: int


def name_of(page: Path) -> str:
    """The page as its readers know it."""
    return page.relative_to(ROOT).as_posix()


def read(page: Path) -> str:
    """The text of a page."""
    return page.read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """The fenced code blocks of a page, in order."""
    return [Block(found[1], found[2], text.count("\n", 0, found.start()) + 1) for found in FENCE.finditer(text)]


def prose(text: str) -> str:
    """What is left without fenced code blocks."""
    return FENCE.sub("", text)


def inline_code(text: str) -> list[str]:
    """The code between backticks in the prose, with line breaks read as blanks."""
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", prose(text))]


def shell_lines(text: str) -> Iterator[list[str]]:
    """Every command of a page as its words: from shell blocks, service and container files, and indented lines."""
    indented = "\n".join(re.findall(r"^    (?:crowdveil|make) .*$", prose(text), re.MULTILINE))
    for block in [*blocks(text), Block("sh", indented, 0)]:
        if block.language in SHELL:
            for line in block.text.replace("\\\n", " ").splitlines():
                yield from _commands(line.strip())


def _commands(line: str) -> Iterator[list[str]]:
    if line.startswith("CMD ["):
        yield json.loads(line.removeprefix("CMD "))
        return
    words = shlex.split(line.removeprefix("ExecStart="), comments=True)
    while "&&" in words:
        yield words[: words.index("&&")]
        words = words[words.index("&&") + 1 :]
    if words:
        yield words


def crowdveil_lines(text: str) -> Iterator[list[str]]:
    """The arguments of every call of `crowdveil` in a page, whoever calls it and wherever it is installed."""
    for words in shell_lines(text):
        first = 3 if words[:2] == ["sudo", "-u"] else 0
        if re.fullmatch(r"(/[\w/]+/)?crowdveil", words[first]):
            yield words[first + 1 :]


def headings(text: str) -> list[str]:
    """The headings of a page, in order."""
    return re.findall(r"^#+ +(.*)$", prose(text), flags=re.MULTILINE)


def sections(text: str) -> dict[str, str]:
    """The text under each heading, code blocks included."""
    parts = re.split(
        r"^#+ +(?=\S)(.*)$", FENCE.sub(lambda found: found[0].replace("\n#", "\n #"), text), flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def anchor(heading: str) -> str:
    """The name by which the site links to a heading."""
    plain = unicodedata.normalize("NFKD", heading.replace("`", "")).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
