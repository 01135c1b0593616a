"""CITATION.cff can be read by tools, and agrees with pyproject.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent.parent


@cache
def citation() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return found


def test_the_citation_has_the_keys_that_its_format_requires() -> None:
    assert citation()["cff-version"] == "1.2.0"
    assert citation()["type"] == "software"
    for key in ("message", "title", "authors"):
        assert citation()[key]
    for author in citation()["authors"]:
        assert author["name"]


def test_the_citation_agrees_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation()["title"] == project["name"]
    assert str(citation()["version"]) == project["version"]
    assert citation()["license"] == project["license"]
    assert [one["name"] for one in citation()["authors"]] == [one["name"] for one in project["authors"]]
    assert citation()["keywords"] == project["keywords"]


def test_the_citation_names_the_paper() -> None:
    (paper,) = citation()["references"]
    assert paper["type"] == "conference-paper"
    assert paper["title"] == "Geographic Differential Privacy for Mobile Crowd Coverage Maximization"
    assert paper["year"] == 2018
    assert paper["conference"]["name"] == "AAAI 2018"
    assert [one["family-names"] for one in paper["authors"]] == ["Wang", "Qin", "Yang", "Han", "Ma"]
    assert all(one["given-names"] for one in paper["authors"])
