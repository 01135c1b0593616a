"""`crowdveil campaign`: run campaigns on a server, from the first preview to the last audit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from crowdveil.campaign.audit import check_record
from crowdveil.cli import campaign_plan, selections
from crowdveil.cli.campaign_review import REVIEW
from crowdveil.cli.campaign_review import review as show_review
from crowdveil.cli.campaign_view import show_verdict, show_view, when
from crowdveil.cli.connection import operator, operator_if_needed
from crowdveil.cli.console import Verb, in_bytes, new_app, note, progress_bar, show, show_json, show_rows, working
from crowdveil.cli.files import append_private, check_destination, check_new_file, write_private
from crowdveil.cli.options import missing, read_real, read_whole, taking
from crowdveil.client import InviteLink, Operator
from crowdveil.client.operator import is_open
from crowdveil.errors import CrowdveilError, FileFormatError, InputError
from crowdveil.wire import AuditRecord, CampaignView

EXAMPLES = """\b
Examples, with CROWDVEIL_TOKEN set to what `crowdveil serve` printed:
  crowdveil campaign create noise-map --area area.json --targets "40.75, -73.98"
      --users 1000 --wanted 50 --offer "A coffee for ten minutes of noise"
  crowdveil campaign start noise-map
  crowdveil campaign status noise-map --watch
"""
AUDIT = """\b
Examples:
  crowdveil campaign audit noise-map --out record.json
  crowdveil campaign audit --record record.json
Exit code: 0 reproduced, 1 not reproduced, 2 unreadable.
"""
NOT_REPRODUCED = 1

app = new_app(
    no_args_is_help=True, help="Run campaigns on a server: plan, start, watch, export, audit.", epilog=EXAMPLES
)

Id = Annotated[str, typer.Argument(help="The campaign's ID: small letters, digits and -.", metavar="ID")]
FinishedId = Annotated[
    str | None, typer.Argument(help="A finished campaign, or a panel.", metavar="ID", show_default=False)
]
SavedRecord = Annotated[
    Path | None, typer.Option(help="A record that was saved, instead of one from the server.", metavar="FILE")
]
Site = Annotated[
    str | None,
    typer.Option(help="Address at which participants reach the server (default: --server).", metavar="URL"),
]
Page = Annotated[
    str | None,
    typer.Option(help="A participant's page from elsewhere to link to, instead of the server's own.", metavar="URL"),
]
Who = Annotated[str, typer.Argument(help="The operator's name.", metavar="NAME")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def _example(text: str) -> str:
    return f"Example: crowdveil campaign {text}"


app.command("create", cls=Verb, epilog=campaign_plan.CREATE)(campaign_plan.create)
app.command("edit", cls=Verb, epilog=campaign_plan.EDIT)(campaign_plan.edit)
app.command("preview", cls=Verb, epilog=campaign_plan.PREVIEW)(campaign_plan.preview)
app.command("expect", cls=Verb, epilog=selections.EXPECT)(selections.expect)
app.command("select", cls=Verb, epilog=selections.SELECT)(selections.select)
app.command("selections", cls=Verb, epilog=_example("selections city-panel"))(selections.selections)


@app.command(cls=Verb, epilog=_example("start noise-map"))
@taking(operator)
def start(server: Operator, campaign: Id, json: AsJson = False) -> None:
    """Start a draft, or go on after a pause.

    Waits until the first round is open, so that devices can join. The server opens and closes the other rounds by
    itself.
    """
    server.set_state(campaign, "open")
    with working("making the first policy"):
        view = server.wait_until_open(campaign)
    if not is_open(view):
        why = "the first policy is still being made" if view.failure is None else view.failure
        raise CrowdveilError(
            f"{campaign} is started, but its first round is not open yet: {why}. The server tries again by itself; "
            f"crowdveil campaign status {campaign} shows how it stands"
        )
    show_view(view, json)


@app.command(cls=Verb, epilog=_example("pause noise-map"))
@taking(operator)
def pause(server: Operator, campaign: Id, json: AsJson = False) -> None:
    """Take no reports until it is started again."""
    _change(server, campaign, "paused", json)


@app.command(cls=Verb, epilog=_example("close noise-map"))
@taking(operator)
def close(
    server: Operator,
    campaign: Id,
    yes: Annotated[bool, typer.Option("--yes", help="Close without asking.")] = False,
    json: AsJson = False,
) -> None:
    """End a campaign early, or a panel for good.

    Nobody can join any more, and the open round is counted. A campaign then selects people from those who have
    answered. A panel keeps its answers, and `campaign select` still selects from them. This can't be undone.
    """
    view = server.view(campaign)
    if not yes and view.state in ("open", "paused"):
        _ask_to_close(view)
    _change(server, campaign, "closed", json)


@app.command(cls=Verb, epilog=_example("copy noise-map noise-map-2"))
@taking(operator)
def copy(
    server: Operator,
    campaign: Annotated[str, typer.Argument(help="The campaign to copy, in any state.", metavar="FROM")],
    new: Annotated[str, typer.Argument(help="The ID of the new draft: small letters, digits and -.", metavar="TO")],
    json: AsJson = False,
) -> None:
    """Make a draft with the plan of another campaign.

    Only the plan is copied: no invites, shares or answers. The lottery has a seed of its own. `campaign edit` changes
    the copy.
    """
    view = server.copy(campaign, new)
    show_view(view, json)
    if not json:
        note(f"This is a draft. To start it: crowdveil campaign start {new}")


@app.command(cls=Verb, epilog=_example("delete noise-map"))
@taking(operator)
def delete(
    server: Operator,
    campaign: Id,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
) -> None:
    """Delete a draft or a finished campaign.

    Answers, selections, invites and the record to audit it are gone then; only the log of who did what stays. The ID
    of a campaign that was started cannot be used again, because phones remember it. This can't be undone.
    """
    view = server.view(campaign)
    if not yes and view.state in ("draft", "finished"):
        _ask_to_delete(view)
    server.delete(campaign)
    show("Campaign", {"deleted": campaign})


@app.command(cls=Verb, epilog=_example("status noise-map --watch"))
@taking(operator)
def status(
    server: Operator,
    campaign: Id,
    watch: Annotated[bool, typer.Option("--watch", help="Wait until the campaign is finished.")] = False,
    every: Annotated[str, typer.Option(help="With --watch: seconds between requests.", metavar="SECONDS")] = "1",
    json: AsJson = False,
) -> None:
    """Show how a campaign stands: counts, never who said what."""
    every_s = read_real("every", every)
    if not 0.05 <= every_s <= 3600:
        raise InputError("every", every_s, "should be from 0.05 to 3600 seconds")
    if watch:
        with progress_bar(f"{campaign}: reports") as report:
            view = server.wait_until_finished(campaign, every_s=every_s, progress=report)
    else:
        view = server.view(campaign)
    show_view(view, json)


@app.command("list", cls=Verb, epilog=_example("list"))
@taking(operator)
def list_all(server: Operator, json: AsJson = False) -> None:
    """List the campaigns that you see, the oldest first."""
    found = server.campaigns()
    if json:
        show_json(found.model_dump(mode="json"))
        return
    kinds = {True: "panel", False: "campaign"}
    rows = [
        [one.campaign, kinds[one.panel], one.state, when(one.created), one.operator or "", one.name]
        for one in found.campaigns
    ]
    show_rows("Campaigns", ["id", "kind", "state", "created", "by", "name"], rows)
    for one in found.campaigns:
        if one.failure is not None:
            note(f"{one.campaign} cannot go on: {one.failure}")


@app.command(cls=Verb, epilog=_example("share noise-map ann"))
@taking(operator)
def share(server: Operator, campaign: Id, name: Who, json: AsJson = False) -> None:
    """Share a campaign with another operator.

    A planner sees it and runs it from then on; a viewer sees it. Only who created a campaign, or an owner, can do this.
    """
    _show_shares(server.share(campaign, name), json)


@app.command(cls=Verb, epilog=_example("unshare noise-map ann"))
@taking(operator)
def unshare(server: Operator, campaign: Id, name: Who, json: AsJson = False) -> None:
    """Take back a share, from the next request on."""
    _show_shares(server.unshare(campaign, name), json)


@app.command(cls=Verb, epilog=_example("invites noise-map --count 500 --out invites.txt"))
@taking(operator)
def invites(
    server: Operator,
    campaign: Id,
    count: Annotated[str, typer.Option(help="How many invites to make.", metavar="NUMBER")],
    out: Annotated[Path, typer.Option(help="Where to write the links, one per line (.txt).", metavar="FILE")],
    site: Site = None,
    page: Page = None,
) -> None:
    """Make invite links; each lets one device in.

    A link names the server's key and the hash of what the campaign promises, so that a phone notices if it is shown
    anything else. The server stores only hashes of the invites, and deletes them when they are used. So this file is
    the only place where they can be read.
    """
    check_new_file("out", out, (".txt",), "the links in it cannot be read anywhere else; name another file")
    many = read_whole("count", count, 1)
    written = 0
    with progress_bar("making invites") as report:
        try:
            for batch in server.invite_batches(campaign, many, progress=report):
                names = (batch.server_key, batch.terms_hash, batch.policy_hash)
                links = [InviteLink(site or server.url, campaign, one, *names).format(page) for one in batch.invites]
                # Whoever reads a link can use it. Each batch is written before the next one is made.
                lines = "".join(f"{link}\n" for link in links).encode("ascii")
                (append_private if written else write_private)(out, lines)
                written += len(links)
        except CrowdveilError:
            if written:
                note(f"{written:,} invites were made before this happened; they are in {out}.")
            raise
    show("Invites", {"campaign": campaign, "invites": f"{written:,}", "written": str(out)})


@app.command(cls=Verb, epilog=_example("link noise-map"))
@taking(operator)
def link(server: Operator, campaign: Id, site: Site = None, page: Page = None) -> None:
    """Print the link to a campaign that anyone may join.

    Like an invite link, it names the server's key and the hash of what the campaign promises.
    """
    view = server.view(campaign)
    if view.plan.enrolment != "open":
        raise InputError("campaign", campaign, "is by invite; `crowdveil campaign invites` makes links")
    policy_hash = view.rounds[0].policy_hash if view.plan.rounds == 1 and view.rounds else None
    found = InviteLink(site or server.url, campaign, None, view.server_key, view.terms_hash, policy_hash)
    typer.echo(found.format(page))


@app.command(cls=Verb, epilog=_example("export noise-map --out selection.csv"))
@taking(operator)
def export(
    server: Operator,
    campaign: Id,
    out: Annotated[Path, typer.Option(help="Where to write the selection (.csv).", metavar="FILE")],
    selection: Annotated[
        str | None,
        typer.Option(
            help="Of a panel: which selection, as `campaign selections` numbers them (default: the newest).",
            metavar="NUMBER",
        ),
    ] = None,
) -> None:
    """Write who was selected for which place, the likeliest first.

    The columns are place (from 1, in the order of the targets), its name, latitude and longitude, participant, chance
    (of coming there) and chosen (by symbol, or filled up). With a number for each place the file goes place by place.
    Participants are numbers; each device learns by itself whether it was selected.
    """
    check_destination("out", out, (".csv",))
    asked = None if selection is None else read_whole("selection", selection, 1) - 1
    with working("fetching the selection"):
        made = max(1, server.view(campaign).selections)
        number = made - 1 if asked is None else asked
        text = server.selection_csv(campaign, number)
    size = write_private(out, text.encode())
    people = len(text.splitlines()) - 1
    which = {"selection": f"{number + 1} of {made}"} if made > 1 else {}
    facts = {"campaign": campaign, **which, "selected": f"{people:,}", "written": f"{out} ({in_bytes(size)})"}
    show("Selection", facts)


@app.command(cls=Verb, epilog=AUDIT)
@taking(operator_if_needed)
def audit(
    server: Callable[[], Operator],
    campaign: FinishedId = None,
    record: SavedRecord = None,
    out: Annotated[Path | None, typer.Option(help="Save the server's record (.json).", metavar="FILE")] = None,
    json: AsJson = False,
) -> None:
    """Repeat a campaign's selections from its record.

    Certifies every policy again, compares the reports with the counts, selects again and compares, bit by bit. A saved
    record needs neither a server nor a token: anyone who has it can check.
    """
    if out is not None:
        check_destination("out", out, (".json",))
    found = _record(server, campaign, record)
    if out is not None:
        write_private(out, found.to_bytes())
    with progress_bar("repeating the campaign") as report:
        verdict = check_record(found, report)
    if json:
        findings = [{"step": one.step, "verdict": one.verdict, "said": one.text} for one in verdict.findings]
        show_json({"campaign": found.campaign, "reproduced": verdict.reproduced, "findings": findings})
    else:
        show_verdict(found.campaign, verdict)
    if not verdict.reproduced:
        raise typer.Exit(NOT_REPRODUCED)


@app.command(cls=Verb, epilog=REVIEW)
@taking(operator_if_needed)
def review(
    server: Callable[[], Operator],
    campaign: FinishedId = None,
    record: SavedRecord = None,
    selection: Annotated[
        str | None, typer.Option(help="Of a panel: which selection (default: the newest).", metavar="NUMBER")
    ] = None,
    json: AsJson = False,
) -> None:
    """Say why more or fewer people are expected than was planned.

    The plan assumed how many answer, how many of them are outside, how regular they are and where they are. Each of
    these is replaced by what the reports say, and the people who come are forecast anew.
    """
    number = None if selection is None else read_whole("selection", selection, 1)
    show_review(_record(server, campaign, record), number, json=json)


def _record(server: Callable[[], Operator], campaign: str | None, path: Path | None) -> AuditRecord:
    if campaign is not None and path is not None:
        raise InputError("campaign", campaign, "can't be combined with --record")
    if campaign is not None:
        with working("fetching the record"):
            return server().record(campaign)
    if path is None:
        raise missing("record", "name a campaign on the server, or a record that was saved")
    try:
        return AuditRecord.from_bytes(path.read_bytes())
    except InputError as error:
        raise FileFormatError(f"{path}: is not the record of a campaign ({error})") from None


def _ask_to_close(view: CampaignView) -> None:
    if not sys.stdin.isatty():
        raise missing("yes", "closing can't be undone, and there is no terminal on which to ask")
    answered = sum(one.accepted for one in view.rounds)
    if view.plan.panel:
        then = "nobody can join or renew any more; you can still select from the answers"
        counted = f"{answered:,} answers were given"
    else:
        wanted = f"{view.plan.people_wanted:,} {'person is' if view.plan.people_wanted == 1 else 'people are'}"
        then = f"nobody can join any more, and {wanted} selected now from those who have answered"
        counted = f"{answered:,} of {view.plan.users:,} people have answered"
    note(f"{counted}. When {view.campaign} is closed, {then}. This can't be undone.")
    _confirm(f"Close {view.campaign}?")


def _ask_to_delete(view: CampaignView) -> None:
    if not sys.stdin.isatty():
        raise missing("yes", "deleting can't be undone, and there is no terminal on which to ask")
    if view.state == "draft":
        gone = "its plan is gone then, and its invites"
    else:
        answers, made = sum(one.accepted for one in view.rounds), view.selections
        counted = f"{answers:,} {'answer' if answers == 1 else 'answers'}"
        gone = (
            f"{counted}, {made:,} {'selection' if made == 1 else 'selections'} and the record to audit are gone then. "
            "Devices can't ask any more whether they were selected, and the ID can't be used again"
        )
    note(f"{view.campaign} is {'a draft' if view.state == 'draft' else 'finished'}: {gone}. This can't be undone.")
    _confirm(f"Delete {view.campaign}?")


def _confirm(question: str) -> None:
    if not typer.confirm(question, default=False, err=True):
        note("Nothing was changed.")
        raise typer.Exit(1)


def _show_shares(view: CampaignView, json: bool) -> None:
    if json:
        show_json(view.model_dump(mode="json"))
        return
    by = view.operator or "an operator who was removed"
    show(
        "Shared", {"campaign": view.campaign, "created by": by, "shared with": ", ".join(view.shared_with) or "nobody"}
    )


def _change(server: Operator, campaign: str, state: Literal["open", "paused", "closed"], json: bool) -> None:
    show_view(server.set_state(campaign, state), json)
