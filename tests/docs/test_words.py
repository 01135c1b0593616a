"""Pages are written for their readers: nothing of a private dialect, and nothing of how the project came about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import USER_PAGES, name_of, prose, read

NEVER = [
    r"unless given",
    r"\breckon",
    r"\byoung\b",
    r"\bdice\b",
    r"\bfor ever\b",
    r"\bno such\b",
    r"first measurement",
    r"asked (were|was|for) [\d.]+",
    r"\basked: [\d.]+",
    r"this session",
    r"\bconductor\b",
]


@pytest.mark.parametrize("page", USER_PAGES, ids=name_of)
def test_pages_use_no_words_of_the_project_itself(page: Path) -> None:
    text = " ".join(prose(read(page)).split())
    assert [found[0] for words in NEVER for found in re.finditer(words, text, re.IGNORECASE)] == []
