"""Every verb explains itself, with an example that can be copied."""

from __future__ import annotations

import pytest

from tests.cli.helpers import Run

VERBS = [
    ["area"],
    ["area", "grid"],
    ["area", "hexagons"],
    ["area", "towers"],
    ["area", "points"],
    ["policy"],
    ["certify"],
    ["draw"],
    ["demo"],
]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_of_every_verb_has_an_example(run: Run, verb: list[str]) -> None:
    result = run(*verb, "--help")
    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert f"crowdveil {' '.join(verb)} " in result.stdout


def test_the_bare_command_lists_its_verbs(run: Run) -> None:
    result = run()
    assert all(f"  {verb[0]} " in result.output for verb in VERBS)
    assert all(f"  {verb[1]} " in run("area").output for verb in VERBS if len(verb) > 1)
