"""What the product decides stays as it was, whatever its parts are called."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from tests.golden.vectors import FILE, golden

EXPECTED: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


@cache
def computed() -> dict[str, Any]:
    return golden()


@pytest.mark.long
@pytest.mark.parametrize("part", sorted(EXPECTED))
@pytest.mark.xdist_group("golden")
def test_the_same_inputs_lead_to_the_same_decisions(part: str) -> None:
    assert computed()[part] == EXPECTED[part]
