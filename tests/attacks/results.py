"""One row for every attack: what was tried, how often it worked before and works now, and the bound."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path

BEFORE = Path(__file__).parent / "before.json"
SIGMAS = 4
"""How many standard deviations of chance a count may lie above its bound."""


@dataclass
class Attack:
    """The result of one attack."""

    name: str
    promises: str
    """Numbers of the promises that it tries to break."""
    trials: int = 0
    successes: int = 0
    bound: float = 0.0
    """The largest share of successes that is promised; 0 where none is allowed."""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, success: bool) -> None:
        """Count one trial."""
        self.trials += 1
        self.successes += bool(success)

    @property
    def most(self) -> float:
        """As many successes as the bound and chance allow."""
        expected = self.bound * self.trials
        return expected + SIGMAS * sqrt(expected * (1 - self.bound)) if self.bound < 1 else self.trials

    @property
    def holds(self) -> bool:
        """Whether the promise was kept."""
        return self.trials > 0 and self.successes <= self.most


def render(rows: list[Attack]) -> str:
    """The table, and what else is worth knowing."""
    before = json.loads(BEFORE.read_text(encoding="utf-8"))["attacks"]
    lines = [("attack", "promises", "trials", "before", "now", "bound", "seconds", "")]
    for row in rows:
        earlier = before.get(row.name)
        lines.append(
            (
                row.name,
                row.promises,
                f"{row.trials:,}",
                "-" if earlier is None else f"{earlier['successes']:,} of {earlier['trials']:,}",
                f"{row.successes:,}",
                "none" if row.bound == 0 else f"{row.bound:.2%}",
                f"{row.seconds:.0f}",
                "" if row.holds else "BROKEN",
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    text.insert(1, "-|-".join("-" * width for width in widths[:-1]))
    text += [f"note: {row.name}: {note}" for row in rows for note in row.notes]
    return "\n".join(text) + "\n"
