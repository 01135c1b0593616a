"""Format the results of a run: one row for each promise and database."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from time import monotonic

SHOWN = 10
"""Failures that are spelled out; the others are counted."""


@dataclass
class ResultRow:
    """The result of testing one promise."""

    promise: str
    where: str
    trials: int = 0
    unit: str = "trials"
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def expect(self, holds: bool, otherwise: str) -> None:
        """Take down a failure unless something holds."""
        if not holds:
            self.failures.append(otherwise)


class Progress:
    """Says on stderr how far a part has come, at most once a second."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._said = 0.0

    def __call__(self, now: str, *, always: bool = False) -> None:
        if always or monotonic() - self._said > 1:
            self._said = monotonic()
            sys.stderr.write(f"{self._what}: {now}\n")
            sys.stderr.flush()


def render(lines: list[ResultRow]) -> str:
    """The table, then what failed and what else is worth knowing."""
    rows = [("promise", "where", "trials", "failures", "seconds")]
    rows += [
        (one.promise, one.where, f"{one.trials:,} {one.unit}", str(len(one.failures)), f"{one.seconds:.0f}")
        for one in lines
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    text = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    text.insert(1, "-|-".join("-" * width for width in widths))
    for one in lines:
        text += [f"note: {one.promise} ({one.where}): {note}" for note in one.notes]
        text += [f"FAILED: {one.promise} ({one.where}): {failure}" for failure in one.failures[:SHOWN]]
        if len(one.failures) > SHOWN:
            text.append(f"FAILED: {one.promise} ({one.where}): and {len(one.failures) - SHOWN} more")
    return "\n".join(text) + "\n"
