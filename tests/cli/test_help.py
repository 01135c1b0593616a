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
    ["plan"],
    ["serve"],
    ["campaign"],
    *(["campaign", verb] for verb in ("create", "edit", "preview", "start", "pause", "close", "status", "list")),
    *(["campaign", verb] for verb in ("invites", "link", "export", "audit")),
    *(["campaign", verb] for verb in ("copy", "delete", "share", "unshare")),
    ["operator"],
    *(["operator", verb] for verb in ("add", "list", "me", "role", "remove")),
    ["token"],
    *(["token", verb] for verb in ("new", "list", "replace", "revoke")),
    ["activity"],
    ["device"],
    *(["device", verb] for verb in ("create", "limits", "join", "explain", "status", "leave", "sent", "notices")),
    *(["device", verb] for verb in ("exclude", "excluded", "include-again", "export", "import")),
    ["crowd"],
    ["demo"],
    ["profile"],
    ["compare"],
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
    assert all(f"  {verb[1]} " in run(verb[0]).output for verb in VERBS if len(verb) > 1)


def test_the_lists_of_verbs_are_not_cut_short(run: Run) -> None:
    for listed in (run(*group, "--help").stdout for group in ([], ["area"], ["campaign"], ["device"])):
        assert "..." not in listed.split("Commands:")[1]


@pytest.mark.parametrize(("verb", "usage"), [("certify", "[OPTIONS] [POLICY]"), ("draw", "[OPTIONS] POLICY")])
def test_the_usage_line_names_arguments_plainly(run: Run, verb: str, usage: str) -> None:
    assert run(verb, "--help").stdout.splitlines()[0].endswith(f" {verb} {usage}")
    assert run("area", "towers", "--help").stdout.splitlines()[0].endswith("[OPTIONS] CSV")
