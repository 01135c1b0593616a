"""Hold a command line against the real parser, without running it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from crowdveil.cli import app


@cache
def root() -> Any:
    """The whole command."""
    return typer.main.get_command(app)


def children(command: Any) -> dict[str, Any]:
    """The verbs of a group, loaded; none for a verb."""
    if not hasattr(command, "list_commands"):
        return {}
    context = typer.Context(command)
    return {name: command.get_command(context, name) for name in command.list_commands(context)}


def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A command and all verbs below it, by their full names."""
    yield name, command
    for child, below in children(command).items():
        yield from walk(below, f"{name} {child}")


@cache
def verbs() -> dict[str, Any]:
    """Every verb by its full name, such as `crowdveil campaign create`; groups too."""
    return dict(walk(root(), "crowdveil"))


def options_of(command: Any) -> set[str]:
    """The long options of a verb, or of all verbs of a group."""
    own = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    return own.union({"--help"}, *(options_of(child) for child in children(command).values()))


def find_verb(words: list[str]) -> tuple[str, list[str]]:
    """The verb that some words call, and what is left for it."""
    name, left = "crowdveil", list(words)
    while left and not left[0].startswith("-") and children(verbs()[name]):
        if f"{name} {left[0]}" not in verbs():
            raise ValueError(f"`{name}` has no verb {left[0]!r}; it has {', '.join(children(verbs()[name]))}")
        name = f"{name} {left.pop(0)}"
    return name, left


def parse(words: list[str]) -> None:
    """Refuse what the command line would refuse before it runs: unknown verbs and options, missing or extra words."""
    name, left = find_verb(words)
    if left in (["--help"], ["--version"]):
        return
    if children(verbs()[name]):
        raise ValueError(f"`{name}` needs a verb: {', '.join(children(verbs()[name]))}")
    try:
        verbs()[name].make_context(name, list(left))
    except Exception as error:  # click's own, which typer may carry under another name
        told = error.format_message() if hasattr(error, "format_message") else repr(error)
        raise ValueError(f"`{name} {' '.join(left)}`: {told}") from None


def parse_mention(words: list[str]) -> None:
    """Refuse a verb or an option that does not exist; a mention need not be complete."""
    name, left = find_verb(words)
    unknown = {word.partition("=")[0] for word in left if word.startswith("--")} - options_of(verbs()[name])
    if unknown:
        raise ValueError(f"`{name}` has no option {', '.join(sorted(unknown))}")
