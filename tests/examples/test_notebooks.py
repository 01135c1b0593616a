"""Notebooks are shown on the site, hold no outputs, and become pages that show what they printed and drew."""

from __future__ import annotations

import re
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from examples.tools.markdown import link_pages, page_of
from examples.tools.notebooks import EXAMPLES, EXECUTED, NOTEBOOKS, page_name

from tests.docs.pages import DOCS, ROOT, anchor, headings, prose, read
from tests.docs.test_words import NEVER

notebooks = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)


def cells(notebook: Path) -> list[tuple[str, str]]:
    """The first line of each cell, and the text below it."""
    _, *parts = re.split(r"^# %%", read(notebook), flags=re.MULTILINE)
    return [(first.strip(), text) for first, _, text in (part.partition("\n") for part in parts)]


def words(notebook: Path) -> str:
    """What a notebook tells, as Markdown."""
    told = [text for first, text in cells(notebook) if first == "[markdown]"]
    return re.sub(r"^# ?", "", "\n".join(told), flags=re.MULTILINE)


def code(notebook: Path) -> str:
    return "\n".join(text for first, text in cells(notebook) if first != "[markdown]")


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 6


@notebooks
def test_the_site_lists_a_notebook_by_its_title(notebook: Path) -> None:
    title = headings(words(notebook))[0]
    assert f"      - {title}: {page_name(notebook.stem)}\n" in read(ROOT / "mkdocs.yml")
    assert f"| [{title}](../../examples/{notebook.name}) |" in read(DOCS / "examples" / "index.md")


@notebooks
def test_a_notebook_begins_with_words_and_checks_what_it_claims(notebook: Path) -> None:
    assert read(notebook).startswith("# %% [markdown]\n# # ")
    assert len(re.findall(r"^ *assert ", code(notebook), re.MULTILINE)) >= 3


@notebooks
def test_every_chart_of_a_notebook_is_described(notebook: Path) -> None:
    for first, text in cells(notebook):
        if "subplots(" in text or re.search(r"^(draw|map_of_cells)\(", text, re.MULTILINE):
            assert re.fullmatch(r'alt="[^"]{20,}"', first), text


@notebooks
def test_links_of_a_notebook_lead_to_files_and_headings_that_exist(notebook: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)", words(notebook))
    assert links, "a notebook should say where to read on"
    for link in links:
        path, _, heading = link.partition("#")
        assert (notebook.parent / path).is_file(), link
        assert not heading or heading in map(anchor, headings(read(notebook.parent / path))), link


@notebooks
def test_notebooks_use_no_words_of_the_project_itself(notebook: Path) -> None:
    text = " ".join(prose(words(notebook)).split())
    assert [found[0] for never in NEVER for found in re.finditer(never, text, re.IGNORECASE)] == []


def test_no_notebook_with_outputs_is_in_the_repository() -> None:
    assert list(EXAMPLES.glob("*.ipynb")) == []
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert f"/{EXECUTED.relative_to(ROOT).as_posix()}/" in ignored
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "*.ipynb"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        assert listed == ""


PICTURE = b"\x89PNG a picture"


def notebook_of(*outputs: dict[str, Any], alt: str = "") -> dict[str, Any]:
    shown = {"cell_type": "code", "source": ["1 + ", "1"], "metadata": {"alt": alt}, "outputs": list(outputs)}
    told = {"cell_type": "markdown", "source": ["# Title\n", "See [ε](../docs/explanations/privacy.md)."]}
    return {"cells": [told, shown]}


def test_a_page_has_words_code_and_what_was_printed() -> None:
    printed = {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mtwo\x1b[39m\n"]}
    page = page_of(notebook_of(printed), "sums", {})
    told = "# Title\nSee [ε](../explanations/privacy.md)."
    assert page == f'{told}\n\n````python\n1 + 1\n````\n\n````text title="Output"\ntwo\n````\n'


def test_a_page_shows_pictures_as_files_with_their_descriptions() -> None:
    data = {"image/png": b64encode(PICTURE).decode(), "text/plain": ["<Figure>"]}
    pictures: dict[str, bytes] = {}
    page = page_of(notebook_of({"output_type": "display_data", "data": data}, alt="Two bars"), "sums", pictures)
    assert "![Two bars](sums-1.png)" in page
    assert "<Figure>" not in page
    assert pictures == {"sums-1.png": PICTURE}


def test_a_page_shows_tables_without_the_style_of_notebooks() -> None:
    look = "<style scoped>\n td { color: red }\n</style>\n"
    html = f'<div>{look}<table border="1" class="dataframe"><tr><td>2</td></tr></table></div>'
    data = {"text/html": [html], "text/plain": ["2"]}
    page = page_of(notebook_of({"output_type": "execute_result", "data": data}), "sums", {})
    assert "<table><tr><td>2</td></tr></table>" in page
    assert "color" not in page


@pytest.mark.parametrize("link", ["five_minutes.py", "../../examples/five_minutes.py"])
def test_links_between_notebooks_become_links_between_pages(link: str) -> None:
    assert link_pages(f"Then [five minutes]({link}).") == "Then [five minutes](five-minutes.md)."
    assert link_pages("[other](../explanations/privacy.md)") == "[other](../explanations/privacy.md)"
