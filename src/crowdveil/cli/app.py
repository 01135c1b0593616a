"""The command `crowdveil`, put together from its verbs."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer
from threadpoolctl import threadpool_limits

from crowdveil.cli import area, campaign, certify, crowd, demo, device, draw, policy, profile, scale, serve, study
from crowdveil.cli import compare as simulate
from crowdveil.cli.console import Verb, Verbs

app = typer.Typer(
    name="crowdveil",
    cls=Verbs,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Choose the crowd that will cover your places, without learning where anyone is.",
    epilog="First steps: crowdveil demo --out demo/",
)
app.add_typer(area.app, name="area")
app.command("policy", cls=Verb, epilog=policy.EXAMPLES)(policy.make)
app.command("certify", cls=Verb, epilog=certify.EXAMPLES)(certify.check)
app.command("draw", cls=Verb, epilog=draw.EXAMPLES)(draw.one)
app.command("serve", cls=Verb, epilog=serve.EXAMPLES)(serve.run)
app.add_typer(campaign.app, name="campaign")
app.add_typer(device.app, name="device")
app.command("crowd", cls=Verb, epilog=crowd.EXAMPLES)(crowd.run)
app.command("demo", cls=Verb, epilog=demo.EXAMPLES)(demo.run)
app.command("profile", cls=Verb, epilog=profile.EXAMPLES)(profile.run)
app.command("simulate", cls=Verb, epilog=simulate.EXAMPLES)(simulate.run)
app.command("scale", cls=Verb, epilog=scale.EXAMPLES)(scale.run)
app.command("study", cls=Verb, epilog=study.EXAMPLES)(study.run)


def _show_version(wanted: bool) -> None:
    if wanted:
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
    # Our matrices are small: on busy cores a second thread of linear algebra costs far more than it brings.
    with threadpool_limits(1, user_api="blas"):
        app(prog_name="crowdveil")
