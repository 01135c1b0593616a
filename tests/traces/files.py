"""Where the real traces lie, and short ways to write small files in the published layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data"

SQUARE = "470\t49bb\t4bf5\tCaf\xe9\t40.719810\t-74.002581\t-240\tTue Apr 03 18:00:09 +0000 2012"
SQUARE_UTC_S = 1_333_476_009


def real(name: str) -> Path:
    """Path of a real data set, or skip where it may not be had."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not there: this data set may not be shipped with the project")
    return path


def write(path: Path, *lines: str, encoding: str = "latin-1") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(line + "\n" for line in lines).encode(encoding))
    return path
