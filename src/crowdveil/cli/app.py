"""Put the command `crowdveil` together from its verbs, each of which is loaded when it is used."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any

import typer

from crowdveil.cli.console import Verbs

SUMMARIES = {
    "area": "Describe the cells of a map.",
    "policy": "Make the policy that covers the targets best.",
    "certify": "Check that a policy, or a table, is private.",
    "draw": "Draw what a phone sends, from a certified policy.",
    "plan": "Tell what a panel will bring, before anybody is asked.",
    "serve": "Run the campaign server, until Ctrl-C.",
    "page": "Write the participant's page, for a site of your own.",
    "campaign": "Run campaigns on a server: plan, start, watch, export, audit.",
    "operator": "Say who may sign in to a server, and in which role.",
    "token": "Make, list, replace and revoke operators' tokens.",
    "activity": "Show what operators did, the newest first.",
    "device": "Take part in a campaign, as a phone would.",
    "crowd": "Let many devices join a campaign, to try it out.",
    "demo": "Run a whole campaign and a panel once, over a synthetic city.",
    "profile": "Profile the traces of millions of people.",
    "fit": "Fit the profile's constants to your own traces.",
    "compare": "Compare every method on your own traces, or on a synthetic city.",
    "scale": "Simulate a campaign with millions of people.",
    "study": "Repeat the paper's experiments on a data set, and more of our own.",
}
"""The verbs in the order of the help text, with the first sentence of the help of each; a test compares them."""


class _VerbsByName(MutableMapping[str, Any]):
    """Hold the verbs by name; a verb's module `crowdveil.cli.NAME` is imported when the verb is asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in SUMMARIES:
            raise KeyError(name)
        if name not in self._loaded:
            command = typer.main.get_command(import_module(f"crowdveil.cli.{name}").app)
            command.name = name
            self._loaded[name] = command
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)


class LazyVerbs(Verbs):
    """List the verbs without loading them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _VerbsByName()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Name the verbs in the order of the help text."""
        return list(SUMMARIES)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the list of verbs."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


app = typer.Typer(
    name="crowdveil",
    cls=LazyVerbs,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Choose the crowd that will cover your places, without learning where anyone is.",
    epilog="First steps: crowdveil demo --out demo/",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"crowdveil {version('crowdveil')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    app(prog_name="crowdveil")
