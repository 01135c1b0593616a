"""Pages are found from the navigation, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from examples.tools.notebooks import NOTEBOOKS, page_name

from tests.docs.pages import DOCS, PAGES, ROOT, anchor, headings, name_of, prose, read

GROUPS = ["Start", "Guides", "Examples", "Reference", "Explanations", "Operations"]

FROM_NOTEBOOKS = {page_name(notebook.stem) for notebook in NOTEBOOKS}
"""Pages that are made when the site is built."""


def navigation() -> list[str]:
    """The pages that mkdocs lists."""
    return re.findall(r"^\s+- .*?: (\S+\.md)$", read(ROOT / "mkdocs.yml").partition("\nnav:")[2], re.MULTILINE)


def test_every_page_stands_in_the_navigation_once() -> None:
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert sorted(navigation()) == sorted(written | FROM_NOTEBOOKS)


def test_pages_lie_in_the_folder_of_their_group() -> None:
    groups = []
    for line in read(ROOT / "mkdocs.yml").partition("\nnav:")[2].splitlines():
        page = re.fullmatch(r"      - .*?: (\S+\.md)", line)
        groups += re.findall(r"^  - (\w+):$", line)
        if page and page[1] != "index.md":
            assert page[1].startswith(f"{groups[-1].lower()}/")
    assert groups == GROUPS


def test_the_readme_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(docs/([^)#]+\.md)", read(ROOT / "README.md")))
    assert linked == {page for page in navigation() if page != "index.md"} - FROM_NOTEBOOKS


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)", prose(read(page))):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        if heading:
            assert heading in map(anchor, headings(read(target))), link


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name_of)
def test_links_of_the_site_stay_within_it(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", prose(read(page))) if "://" not in link]
    there = [(page.parent / link).resolve() for link in links]
    assert [path for path in there if not path.is_relative_to(DOCS) and path not in NOTEBOOKS] == []
