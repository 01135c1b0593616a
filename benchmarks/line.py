"""Define a line of the table, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan
from typing import Any


@dataclass(frozen=True)
class Line:
    """One line: crowdveil beside a peer or a limit."""

    what: str
    ours: str
    peer: str
    measured: float
    """How many times better than the peer; or the figure itself, where there is a limit."""
    required: float = 1.0
    better: str = "at least"
    note: str = ""
    unequal: str = ""
    """What is not the same on both sides."""
    why: str = ""
    """Why crowdveil is behind, where that is known; shown only then."""
    figures: dict[str, Any] = field(default_factory=dict)
    absent: bool = False
    """The peer could not be run at all."""

    @classmethod
    def without_peer(cls, what: str, peer: str, reason: str) -> Line:
        """The peer could not be run; the line says so instead of being left out."""
        return cls(what, "", f"{peer} COULD NOT BE RUN", nan, note=reason, absent=True)

    @property
    def met(self) -> bool:
        """Whether the line holds."""
        if self.better == "at least":
            return self.measured >= self.required
        return self.measured <= self.required

    @property
    def settled(self) -> bool:
        """Whether the line holds, or says why it does not."""
        return self.met or (bool(self.why) and not self.absent)

    @property
    def asked(self) -> str:
        """What the line asks for."""
        return f"{self.better} {self.required:,.4g}{self._unit}"

    @property
    def figure(self) -> str:
        """What was measured."""
        return "none" if self.absent else f"{self.measured:,.4g}{self._unit}"

    @property
    def verdict(self) -> str:
        """In a word: beside a peer ahead or behind, beside a limit kept or missed."""
        if self.absent:
            return "NO PEER"
        if self.better == "at least":
            return "ahead" if self.met else "BEHIND"
        return "kept" if self.met else "MISSED"

    @property
    def _unit(self) -> str:
        return "x" if self.better == "at least" else ""
