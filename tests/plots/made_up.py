"""Looks and records as studies make them, with made-up numbers."""

from __future__ import annotations

from dataclasses import replace
from math import log
from typing import Any

from crowdveil.plots.figure_spec import OURS, PAPER, Chart, FigureSpec
from crowdveil.simulate.records import Record

COVERAGE = {"none": 0.31, "crowdveil": 0.27, "algorithm-2": 0.2, "laplace": 0.12, "random": 0.02}


def spec(chart: Chart, x: str = "label", **changes: Any) -> FigureSpec:
    made = FigureSpec(f"made-up-{chart}", "Made up", "Figure 5", "What is it?", chart, x, "the x", "coverage")
    return replace(made, **changes)


def record(method: str = "crowdveil", value: float = 0.27, **changes: Any) -> Record:
    made = Record(
        figure="made-up",
        dataset="nowhere",
        method=method,
        profile=OURS[0],
        rule=OURS[1],
        label="dense target",
        measure="coverage",
        value=value,
        ci_low=value - 0.01,
        ci_high=value + 0.015,
        n=80,
        seeds=80,
        epsilon_per_km=log(4),
        delta=0.7,
        targets=1,
        k=6,
        selected=0.987,
    )
    return replace(made, **changes)


def bars() -> list[Record]:
    """Two targets; every method under ours, Algorithm 2 and none under the paper's profile and rule too."""
    found = []
    for label, part in (("dense target", 1.0), ("sparser target", 0.7)):
        found += [record(method, part * value, label=label) for method, value in COVERAGE.items()]
        for method, printed in (("none", 0.329), ("algorithm-2", 0.217)):
            paper = {"profile": PAPER[0], "rule": PAPER[1], "paper": printed, "paper_source": "Figure 5"}
            found.append(record(method, 0.9 * part * COVERAGE[method], label=label, **paper))
    return found


def lines() -> list[Record]:
    """Coverage by ε; the paper prints one value."""
    return [
        record(
            method,
            value * base / 8,
            epsilon_per_km=log(base),
            paper=0.217 if (method, base) == ("algorithm-2", 4) else None,
            paper_source="Figure 6a" if (method, base) == ("algorithm-2", 4) else "",
        )
        for base in (8, 2, 4, 6)
        for method, value in COVERAGE.items()
    ]


def dots() -> list[Record]:
    """Twenty ranks, three positions of the grid and their mean."""
    found = []
    for method in ("crowdveil", "algorithm-2"):
        for rank in range(1, 21):
            value = COVERAGE[method] * (1 - rank / 40)
            found.append(record(method, value, extra={"rank": rank}))
            found += [record(method, value + shift / 100, offset=shift, extra={"rank": rank}) for shift in range(3)]
    return found


def curves() -> list[Record]:
    """Three profiles' curves."""
    x = [0.0, 0.25, 0.5, 1.0]
    return [
        record(name, area, profile=name, rule="", measure="auc", extra={"curve": {"x": x, "y": [v**power for v in x]}})
        for name, area, power in (("frequency", 0.7, 0.5), ("poisson", 0.75, 0.3), ("recency", 0.9, 0.1))
    ]


def waterfall() -> list[Record]:
    """Two data sets; in the second not knowing π gains something."""
    found = []
    for label, lost in (("here", (0.2, 0.4, 0.1)), ("there", (0.3, 0.5, -0.07))):
        found.append(record("hindsight", 0.98, label=label, extra={"short": "best with\nhindsight"}))
        found.append(record("by-profile", 0.9, label=label, profile="poisson"))
        found.append(record("by-profile", 0.98 - lost[0], label=label))
        found.append(record("crowdveil", 0.98 - sum(lost), label=label, extra={"short": "ours\nreaches"}))
        for name, value in zip(("profile", "privacy", "prior"), lost, strict=True):
            step = {"measure": "coverage_lost", "extra": {"short": f"{name}\nloses"}}
            found.append(record(name, value, label=label, **step))
    return found


def calibration() -> list[Record]:
    """Three profiles' tenths; the first promises too much."""
    return [
        record(
            name,
            share * (tenth + 0.5) / 10,
            label=name,
            profile=name,
            rule="",
            measure="came_share",
            extra={"predicted": (tenth + 0.2 + 0.06 * tenth) / 10, "tenth": tenth, "trials": 700_000 // 6**tenth + 12},
        )
        for name, share in (("frequency", 0.5), ("poisson", 0.8), ("recency", 1.0))
        for tenth in range(10)
    ]
