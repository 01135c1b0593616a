"""A line of the table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    ours: str
    peer: str
    measured: float
    required: float
    better: str = "at least"
    note: str = ""
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """Whether the line holds."""
        if self.better == "at least":
            return self.measured >= self.required
        return self.measured <= self.required
