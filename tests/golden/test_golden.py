"""What the product decides stays as it was, whatever its parts are called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.golden.vectors import FILE, golden, projected

EXPECTED: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


@cache
def computed() -> dict[str, Any]:
    return golden()


@pytest.mark.long
@pytest.mark.parametrize("part", sorted(EXPECTED))
@pytest.mark.xdist_group("golden")
def test_the_same_inputs_lead_to_the_same_decisions(part: str) -> None:
    different = list(differences(computed()[part], EXPECTED[part], part))
    assert different == []


def differences(found: Any, expected: Any, where: str) -> Iterator[str]:
    """Compare floats to four digits, because searches end where processors round differently, the rest exactly."""
    if isinstance(expected, dict) and isinstance(found, dict) and found.keys() == expected.keys():
        for name in expected:
            yield from differences(found[name], expected[name], f"{where} > {name}")
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, f"{where} > {number}")
    elif isinstance(expected, float) and isinstance(found, float):
        if found != pytest.approx(expected, rel=1e-4, abs=1e-6):
            yield f"{where}: {found}, was {expected}"
    elif found != expected:
        yield f"{where}: {found}, was {expected}"


def test_a_changed_weight_is_noticed() -> None:
    weights = np.array([[3, 5], [6, 2]])
    for cell in range(2):
        other = weights + np.eye(2, dtype=np.int64)[[cell]] * np.array([[1], [0]])
        assert list(differences(projected(other), projected(weights), "weights"))
    assert not list(differences({"a": [1.0, "x"]}, {"a": [1.0 + 1e-12, "x"]}, ""))
    assert list(differences({"a": [1.0, "x"]}, {"a": [1.001, "y"]}, "")) == [
        " > a > 0: 1.0, was 1.001",
        " > a > 1: x, was y",
    ]
