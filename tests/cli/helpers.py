"""What the tests of the command line share."""

from __future__ import annotations

import re
from collections.abc import Callable

from typer.testing import Result

Run = Callable[..., Result]
Make = Callable[..., Result]
PLAN = ["--targets", "12", "--users", "24", "--wanted", "3", "--rounds", "2", "--offer", "A coffee", "--delta", "0.5"]
PLAN += ["--enrolment", "open"]
"""Of a small campaign, all but its area."""


def campaign_name(text: str) -> str:
    """A campaign's id made of any text."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[-60:].strip("-")


def refused(result: Result, *parts: str, figures: str | None = None) -> None:
    """Exit code 2, one line on stderr that says all of this, nothing on stdout, no traceback.

    What looks wrong in traces is said before, as warnings; it often explains the refusal. Refusals by a device have the
    exact figures on a second line.
    """
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("WARNING: ")]
    assert len(lines) == (1 if figures is None else 2), lines
    assert figures is None or figures in lines[1]
    assert lines[0].startswith("crowdveil: ")
    for part in parts:
        assert part in lines[0]
