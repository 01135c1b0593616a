"""What is installed is pinned with hashes, and no lock names a host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

LOCKS = sorted(Path(__file__).parent.parent.glob("requirements*.lock"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_pin_hashes_and_name_no_address(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "--hash=sha256:" in text
    # options of the installer stand at the start of a line; hashes are indented
    assert not re.search(r"://|^-| @ ", text, re.MULTILINE)
