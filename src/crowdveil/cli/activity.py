"""`crowdveil activity`: what operators did on a server, and when."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdveil.cli.campaign_view import when
from crowdveil.cli.connection import operator
from crowdveil.cli.console import Verb, new_app, note, show_json, show_rows
from crowdveil.cli.options import read_whole, taking
from crowdveil.client import Operator
from crowdveil.wire.team import MAX_ACTIVITY

EXAMPLES = """\b
Examples:
  crowdveil activity
  crowdveil activity --limit 200 --before 1234
"""

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
@taking(operator)
def run(
    server: Operator,
    limit: Annotated[str, typer.Option(help=f"How many lines, up to {MAX_ACTIVITY}.", metavar="NUMBER")] = "50",
    before: Annotated[
        str | None, typer.Option(help="Go on before the line with this number.", metavar="NUMBER", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Show what operators did, the newest first.

    Owners see all of it; others what they did themselves, and what was done on campaigns that they see. Nothing in it
    is about single participants.
    """
    number = None if before is None else read_whole("before", before, 1)
    found = server.activity(before=number, limit=read_whole("limit", limit, 1, MAX_ACTIVITY))
    if json:
        show_json(found.model_dump(mode="json"))
        return
    rows = [
        [str(one.number), when(one.at), one.operator, one.action, one.campaign or "", one.detail]
        for one in found.activity
    ]
    show_rows("Activity", ["number", "when", "operator", "what", "campaign", "detail"], rows)
    if found.earlier is not None:
        note(f"Earlier lines: crowdveil activity --before {found.earlier}")
