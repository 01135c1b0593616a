"""`crowdveil campaign`: run campaigns on a server, from the first preview to the last audit."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from crowdveil.cli import audit, drafts
from crowdveil.cli.campaign_view import accepted, show_view, when
from crowdveil.cli.connection import operator
from crowdveil.cli.console import Verb, Verbs, in_bytes, progress_bar, show, show_json, show_rows, working
from crowdveil.cli.files import check_destination, write_whole
from crowdveil.cli.options import read_real, read_whole
from crowdveil.cli.shared import taking
from crowdveil.client import Operator
from crowdveil.errors import InputError
from crowdveil.wire import CampaignView
from crowdveil.wire.operator import MAX_INVITES

EXAMPLES = """\b
Examples, with CROWDVEIL_TOKEN set to what `crowdveil serve` printed:
  crowdveil campaign create noise-map --area area.json --targets 40.75:-73.98
      --users 1000 --wanted 50 --offer "A coffee for ten minutes of noise"
  crowdveil campaign start noise-map
  crowdveil campaign status noise-map --watch
"""

app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run campaigns on a server: plan, start, watch, export, audit.",
    epilog=EXAMPLES,
)

Id = Annotated[str, typer.Argument(help="The campaign's id: small letters, digits and -.", metavar="ID")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


app.command("create", cls=Verb, epilog=drafts.CREATE)(drafts.create)
app.command("preview", cls=Verb, epilog=drafts.PREVIEW)(drafts.preview)


OPENING_S, LOOK_S = 60.0, 0.2
"""How long `start` waits for a policy, and how often it looks."""


def _example(text: str) -> str:
    return f"Example: crowdveil campaign {text}"


@app.command(cls=Verb, epilog=_example("start noise-map"))
@taking(operator)
def start(server: Operator, campaign: Id, json: AsJson = False) -> None:
    """Start a draft, or go on after a pause.

    Waits until the first round is open, so that devices can join; the server opens and closes the others by itself.
    """
    view = server.set_state(campaign, "open")
    give_up = time.monotonic() + OPENING_S
    with working("making the first policy"):
        while not any(one.policy_hash for one in view.rounds) and time.monotonic() < give_up:
            time.sleep(LOOK_S)
            view = server.view(campaign)
    show_view(view, json)


@app.command(cls=Verb, epilog=_example("pause noise-map"))
@taking(operator)
def pause(server: Operator, campaign: Id, json: AsJson = False) -> None:
    """Take no reports for a while."""
    _change(server, campaign, "paused", json)


@app.command(cls=Verb, epilog=_example("close noise-map"))
@taking(operator)
def close(server: Operator, campaign: Id, json: AsJson = False) -> None:
    """End a campaign early.

    The open round is closed and counted, and people are selected from those who have reported. It cannot be undone.
    """
    _change(server, campaign, "closed", json)


@app.command(cls=Verb, epilog=_example("status noise-map --watch"))
@taking(operator)
def status(
    server: Operator,
    campaign: Id,
    watch: Annotated[bool, typer.Option("--watch", help="Follow it until it is finished.")] = False,
    every: Annotated[str, typer.Option(help="With --watch: seconds between looks.", metavar="SECONDS")] = "1",
    json: AsJson = False,
) -> None:
    """Say how a campaign stands: counts, never who said what."""
    pause_s = read_real("every", every)
    if not 0.05 <= pause_s <= 3600:
        raise InputError("every", pause_s, "should be from 0.05 to 3600 seconds")
    view = follow(server, campaign, pause_s) if watch else server.view(campaign)
    show_view(view, json)


@app.command("list", cls=Verb, epilog=_example("list"))
@taking(operator)
def list_all(server: Operator, json: AsJson = False) -> None:
    """List all campaigns, the oldest first."""
    found = server.campaigns()
    if json:
        show_json(found.model_dump(mode="json"))
        return
    rows = [[one.campaign, one.state, when(one.created), one.name] for one in found.campaigns]
    show_rows("Campaigns", ["campaign", "state", "created", "name"], rows)


@app.command(cls=Verb, epilog=_example("invites noise-map --count 500 --out invites.txt"))
@taking(operator)
def invites(
    server: Operator,
    campaign: Id,
    count: Annotated[str, typer.Option(help="How many.", metavar="NUMBER")],
    out: Annotated[Path, typer.Option(help="Where to write them, one per line (.txt).", metavar="FILE")],
) -> None:
    """Make invites; each lets one device in.

    The server keeps their hashes alone: this file is the only place where they are.
    """
    check_destination("out", out, (".txt",))
    many = read_whole("count", count)
    if many < 1:
        raise InputError("count", many, "should be at least 1")
    made: list[str] = []
    with progress_bar("making invites") as report:
        while len(made) < many:
            made += server.invites(campaign, min(MAX_INVITES, many - len(made)))
            report(len(made), many)
    text = "".join(f"{invite}\n" for invite in made)
    write_whole(out, lambda path: path.write_text(text, encoding="ascii"))
    os.chmod(out, 0o600)  # whoever reads an invite can use it
    show("Invites", {"campaign": campaign, "invites": f"{len(made):,}", "written": str(out)})


@app.command(cls=Verb, epilog=_example("export noise-map --out selection.csv"))
@taking(operator)
def export(
    server: Operator,
    campaign: Id,
    out: Annotated[Path, typer.Option(help="Where to write the selection (.csv).", metavar="FILE")],
) -> None:
    """Write who was selected, best first.

    Columns: rank, participant, round, symbol, chance. Participants are numbers; each device learns by itself whether
    it was selected.
    """
    check_destination("out", out, (".csv",))
    with working("fetching the selection"):
        text = server.selection_csv(campaign)
    size = write_whole(out, lambda path: path.write_bytes(text.encode()))
    people = len(text.splitlines()) - 1
    show("Selection", {"campaign": campaign, "selected": f"{people:,}", "written": f"{out} ({in_bytes(size)})"})


app.command("audit", cls=Verb, epilog=audit.EXAMPLES)(audit.run)


def follow(server: Operator, campaign: str, every_s: float) -> CampaignView:
    """Look again and again, with a bar, until a campaign is finished."""
    with progress_bar(f"{campaign}: reports") as report:
        while True:
            view = server.view(campaign)
            report(accepted(view), view.plan.users)
            if view.state == "finished":
                return view
            time.sleep(every_s)


def _change(server: Operator, campaign: str, state: Literal["open", "paused", "closed"], json: bool) -> None:
    show_view(server.set_state(campaign, state), json)
