"""What a line of the benchmark says of itself."""

from __future__ import annotations

import pytest
from benchmarks.line import Line


@pytest.mark.parametrize(
    ("line", "verdict", "settled"),
    [
        (Line("solve", "1 s", "2 s", 2.0), "ahead", True),
        (Line("solve", "2 s", "1 s", 0.5), "BEHIND", False),
        (Line("solve", "2 s", "1 s", 0.5, why="it proves more"), "BEHIND", True),
        (Line("solve", "1 s", "20 s", 20.0, 1000), "BEHIND", False),
        (Line("memory", "90 MB", "limit 100 MB", 90, 100, "at most"), "kept", True),
        (Line("memory", "110 MB", "limit 100 MB", 110, 100, "at most"), "MISSED", False),
        (Line.without_peer("solve", "a peer", "no wheel"), "NO PEER", False),
    ],
)
def test_a_line_says_who_is_ahead_and_needs_a_reason_where_it_is_not_us(
    line: Line, verdict: str, settled: bool
) -> None:
    assert line.verdict == verdict
    assert line.settled is settled


def test_a_peer_that_cannot_be_run_is_named_with_the_reason() -> None:
    line = Line.without_peer("draws", "privkit", "no matching distribution")
    assert "privkit COULD NOT BE RUN" in line.peer
    assert line.note == "no matching distribution"
    assert line.figure == "none"


def test_ratios_and_limits_carry_their_units() -> None:
    assert Line("solve", "", "", 1234.0, 20).figure == "1,234x"
    assert Line("memory", "", "", 90, 100, "at most").asked == "at most 100"
