"""How the records of a figure become a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crowdveil.vocabulary import Rule

Chart = Literal["bars", "lines", "dots", "curves", "waterfall", "calibration"]


PAPER: tuple[str, Rule] = ("poisson", "random")
"""The paper's profile, and its rule for the place to report."""


OURS: tuple[str, Rule] = ("recency", "target-aware")


@dataclass(frozen=True)
class FigureSpec:
    """How the records of a figure become a picture; values are shown in percent where `percent` says so."""

    name: str
    """Also the name of its files and its anchor in the report."""
    title: str
    paper: str
    """Which figure or table of the paper it repeats; empty for what the paper does not have."""
    question: str
    """What it asks, in a sentence or two, for the report."""
    chart: Chart
    x: str
    """The record's field on the x axis, or a key of its `extra`."""
    x_title: str
    y_title: str
    percent: bool = True
    log: bool = False
    """Whether the y axis is logarithmic."""
