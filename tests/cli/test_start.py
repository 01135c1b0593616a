"""The command line starts fast: verbs load what they use, and a list of verbs loads none of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.main import get_command

from crowdveil.cli.app import SUMMARIES, app

HEAVY = {"numpy", "scipy", "pydantic", "httpx", "h3", "highspy", "rich.console", "rich.progress", "importlib.metadata"}
SCRIPT = """
import sys
import crowdveil
before = set(sys.modules)
sys.argv = ["crowdveil", *sys.argv[1:]]
from crowdveil.cli import main
try:
    main()
except SystemExit:
    pass
print("LOADED", *sorted(set(sys.modules) - before))
"""


def loaded_by(*arguments: str) -> set[str]:
    """Run the command in a process of its own; return the modules that it loads beyond those of `import crowdveil`."""
    ran = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    assert "Usage: " in ran.stdout
    return set(ran.stdout.splitlines()[-1].split()[1:])


def test_the_list_of_verbs_loads_no_verb_and_nothing_heavy() -> None:
    loaded = loaded_by("--help")
    assert loaded & HEAVY == set()
    assert {name for name in loaded if name.startswith("crowdveil.cli.")} == {
        "crowdveil.cli.app",
        "crowdveil.cli.console",
    }


def test_a_verb_loads_no_other_verb() -> None:
    loaded = loaded_by("draw", "--help")
    assert "crowdveil.cli.draw" in loaded
    assert not loaded & {f"crowdveil.cli.{name}" for name in SUMMARIES if name != "draw"}


@pytest.mark.parametrize("verb", SUMMARIES)
def test_the_list_of_verbs_says_what_each_verb_says_of_itself(verb: str) -> None:
    command = get_command(app).commands[verb]  # type: ignore[attr-defined]
    assert command.name == verb
    assert command.get_short_help_str(limit=200) == SUMMARIES[verb]
