"""The look of every picture: colours, the style of each method, and how a figure becomes a file.

matplotlib's settings are changed while a function runs, and are as before when it returns.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib.style
from matplotlib.figure import Figure

from crowdveil.errors import InputError

GROUND, INK, QUIET, TARGET = "#eceef0", "#1c2127", "#5b6570", "#e4003a"
GRID, BAND = "#e3e6e9", "#f4f5f7"
DOTS_PER_INCH = 150

SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "crowdveil",
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.axisbelow": True,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": "#c3c9cf",
    "xtick.color": QUIET,
    "ytick.color": QUIET,
}
METADATA: dict[str, dict[str, None]] = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}
"""What matplotlib would stamp with its version or the time: the same picture should give the same bytes."""


class MethodStyle(NamedTuple):
    """How a method is drawn in every figure, and what people call it."""

    name: str
    colour: str
    marker: str


METHODS = {
    "hindsight": MethodStyle("the best people, with hindsight", "#2f3337", "D"),
    "by-profile": MethodStyle("by profile, nobody protected", "#7d868f", "h"),
    "none": MethodStyle("no obfuscation", "#4a4f55", "p"),
    "crowdveil-known": MethodStyle("crowdveil, π known", "#56b4e9", "s"),
    "crowdveil-clear": MethodStyle("crowdveil, clear form", "#999933", "d"),
    "crowdveil": MethodStyle("crowdveil (ours)", "#0067a5", "o"),
    "any": MethodStyle("crowdveil, any target", "#e69f00", "v"),
    "each": MethodStyle("crowdveil, a number for each", "#0067a5", "o"),
    "each-protected": MethodStyle("the same, grades and outside protected", "#56b4e9", "s"),
    "algorithm-1": MethodStyle("Algorithm 1, π known", "#e69f00", "v"),
    "algorithm-2": MethodStyle("Algorithm 2 as printed", "#d55e00", "^"),
    "laplace-posterior": MethodStyle("planar Laplace, by posterior", "#00875f", ">"),
    "laplace-remapped": MethodStyle("planar Laplace, remapped", "#117733", "P"),
    "laplace": MethodStyle("planar Laplace, nearest first", "#6cc3a4", "<"),
    "privic": MethodStyle("PRIVIC", "#cc79a7", "H"),
    "fresh": MethodStyle("a fresh report every time, no limit", "#56b4e9", "s"),
    "panel-now": MethodStyle("a panel drawn for this campaign", "#56b4e9", "s"),
    "panel-once": MethodStyle("panel, drawn once", "#0067a5", "o"),
    "panel-twice": MethodStyle("panel, drawn twice", "#6a3d9a", "o"),
    "panel-twice-pooled": MethodStyle("panel, drawn twice, pooled", "#6a3d9a", "D"),
    "panel-thrice": MethodStyle("panel, drawn three times", "#cc79a7", "o"),
    "panel-thrice-pooled": MethodStyle("panel, drawn three times, pooled", "#cc79a7", "D"),
    "list-once": MethodStyle("list of 20, drawn once", "#999933", "o"),
    "list-twice": MethodStyle("list of 20, drawn twice", "#999933", "s"),
    "list-thrice": MethodStyle("list of 20, drawn three times", "#999933", "d"),
    "laplace-once": MethodStyle("planar Laplace, drawn once", "#00875f", ">"),
    "laplace-twice": MethodStyle("planar Laplace, drawn twice", "#6cc3a4", ">"),
    "laplace-twice-pooled": MethodStyle("planar Laplace, drawn twice, pooled", "#6cc3a4", "<"),
    "laplace-thrice": MethodStyle("planar Laplace, drawn three times", "#117733", ">"),
    "laplace-thrice-pooled": MethodStyle("planar Laplace, drawn three times, pooled", "#117733", "<"),
    "split": MethodStyle("the limit split over all campaigns", "#e69f00", "v"),
    "today": MethodStyle("fresh reports until the limit", "#d55e00", "^"),
    "random": MethodStyle("random users", "#b3bac1", "X"),
}
"""From the ceiling to the floor, as legends and bars are ordered. Hues of Okabe and Ito, which colour-blind people
tell apart."""
SPARE_COLOURS = ("#882255", "#ddaa33", "#999933", "#332288", "#aa4499", "#661100")
"""For what is no method of the studies."""
TINTS = (0.0, 0.3, 0.58)
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1.2, 1.4)))


class StyledFigure(Figure):
    """A figure that shows itself in a notebook, also where pyplot was never imported."""

    def _repr_png_(self) -> bytes:
        return render(self, ".png")


@dataclass(frozen=True)
class Picture:
    """A figure as its two files hold it."""

    svg: str
    png: bytes


def styled() -> AbstractContextManager[None]:
    """Use this project's style, whatever the user's settings are."""
    context: AbstractContextManager[None] = matplotlib.style.context(["default", SETTINGS])
    return context


def render(figure: Figure, kind: Literal[".png", ".svg"], dots_per_inch: int = DOTS_PER_INCH) -> bytes:
    """Turn a figure into the bytes of a file; the same figure gives the same bytes with the same matplotlib."""
    buffer = BytesIO()
    with styled():
        figure.savefig(buffer, format=kind[1:], dpi=dots_per_inch, metadata=METADATA[kind])
    return buffer.getvalue()


def save(figure: Figure, folder: str | Path, name: str) -> Picture:
    """Write NAME.png and NAME.svg into a folder."""
    picture = Picture(render(figure, ".svg").decode(), render(figure, ".png"))
    for path, content in (
        (Path(folder) / f"{name}.png", picture.png),
        (Path(folder) / f"{name}.svg", picture.svg.encode()),
    ):
        try:
            path.write_bytes(content)
        except OSError as error:
            raise InputError("path", str(path), f"cannot be written: {error.strerror or error}") from None
    return picture
