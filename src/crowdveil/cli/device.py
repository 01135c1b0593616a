"""`crowdveil device`: take part in a campaign, as a phone would; everything is decided on this side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.connection import SERVER, Server
from crowdveil.cli.console import Verb, note, show, working
from crowdveil.cli.device_ledger import LedgerFile, Verbose, app
from crowdveil.cli.options import missing, read_day, refuse, taking
from crowdveil.cli.traces import KEEP_HELP, TraceSource, inspect_source, read_oddities, read_source, source
from crowdveil.client import Device, DeviceSettings, HttpTransport, InviteLink, LocationHistory
from crowdveil.client.device_status import describe_use_of_answers
from crowdveil.client.explain import Explanation
from crowdveil.client.history import read_profile, visits_of
from crowdveil.errors import FileFormatError
from crowdveil.traces.inspection import Oddity

__all__ = ["app"]

Id = Annotated[str, typer.Argument(help="The campaign's ID.", metavar="ID")]
IdOrLink = Annotated[
    str, typer.Argument(help="The campaign's ID, or the invite link, in quotes.", metavar="ID_OR_LINK")
]


KEPT = "The place that was picked earlier is kept; what you name now does not change it."


@dataclass(frozen=True)
class Profiling:
    """What the device's profile is made from."""

    user: str | None
    profile: Path | None
    day: date
    keep: tuple[Oddity, ...] = ()

    def history(self, traces: TraceSource) -> LocationHistory:
        """Read the traces of the device's owner, or the profile."""
        if self.profile is not None:
            refuse(
                {"data": traces.data or None, "user": self.user, "keep": self.keep or None},
                "can't be combined with --profile",
            )
            return read_profile(self.profile)
        if not traces.data:
            raise missing("data", "name the traces of the device's owner, or a --profile")
        visits = read_source(traces)
        if self.user is None and len(visits.users) > 1:
            raise missing("user", f"the traces are of {len(visits.users):,} people, such as {visits.users[0]!r}")
        return inspect_source(visits_of(visits, self.user), keep=self.keep, skip=("one-week-users",))


def profiling(
    user: Annotated[
        str | None, typer.Option(help="Whose visits to use, if the traces are of several people.", metavar="NAME")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(help="Instead of traces: the columns cell,probability, for the campaign's cells.", metavar="CSV"),
    ] = None,
    today: Annotated[
        str | None, typer.Option(help="Pretend that it is this day, to try old traces.", metavar="YYYY-MM-DD")
    ] = None,
    keep: Annotated[str | None, typer.Option(help=KEEP_HELP, metavar="LIST")] = None,
) -> Profiling:
    """Read what the device's profile is made from."""
    return Profiling(user, profile, date.today() if today is None else read_day("today", today), read_oddities(keep))


@contextmanager
def _connected(campaign: str, server: str, ledger: Path, day: date) -> Iterator[tuple[Device, str, InviteLink | None]]:
    """Connect to the server that the link names, or to the given one."""
    link = InviteLink.parse(campaign) if "#" in campaign or "/" in campaign else None
    if not ledger.exists():
        raise FileFormatError(f"{ledger}: not found; make a ledger with `crowdveil device create --ledger {ledger}`")
    with HttpTransport(server if link is None else link.server) as transport:
        yield Device(DeviceSettings(), ledger, transport, today=lambda: day), link.campaign if link else campaign, link


@app.command(
    cls=Verb,
    epilog="""\b
Examples:
  crowdveil device join noise-map --ledger mine.ledger --data Records.json --format timeline
  crowdveil device join 'https://crowd.example.org/join/noise-map#invite=...' --ledger mine.ledger --data track.gpx
""",
)
@taking(profiling)
@taking(source)
def join(
    traces: TraceSource,
    made_from: Profiling,
    campaign: IdOrLink,
    ledger: LedgerFile,
    server: Server = SERVER,
    invite: Annotated[
        str | None, typer.Option(help="The invite, if the campaign asks for one and there is no link.", metavar="TEXT")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Send without asking.")] = False,
    renew: Annotated[
        bool,
        typer.Option("--renew", help="Answer a panel again that asks once more; costs as much as the first answer."),
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Take part in a campaign, once, or renew an answer to a panel.

    Explains what would leave this device and what others could learn from it, then asks. After an interruption, run it
    again: it sends the same answer, and never draws a second one. With an invite link, the server has to be the one
    that the link names, with the same conditions.
    """
    history = made_from.history(traces)

    def agree(explanation: Explanation) -> bool:
        note(_told(explanation, verbose))
        try:
            return yes or typer.confirm("Send this reply?", default=False, err=True)
        except typer.Abort:  # no answer can be read
            return False

    with _connected(campaign, server, ledger, made_from.day) as (device, name, link):
        answer = device.renew if renew else device.join
        entry = answer(name, history, invite=invite, link=link, agree=agree)
    spent, limits = device.ledger.spent(), device.ledger.limits()
    assert entry.charge is not None
    show(
        "Joined",
        {
            "campaign": entry.campaign,
            "state": "acknowledged: the server has this device's reply",
            "round": str(entry.round + 1),
            "privacy loss": f"ε = {entry.charge.epsilon_per_km:.6g} per km and ε₀ = {entry.charge.null_epsilon:.6g}",
            "in all campaigns": f"ε = {spent.epsilon_per_km:.6g} per km, of at most {limits.total_epsilon_per_km:.6g}, "
            f"and ε₀ = {spent.null_epsilon:.6g}, of at most {limits.total_null_epsilon:.6g}",
        },
    )
    note(f"To see whether it was selected: crowdveil device status {name} --ledger {ledger}")


@app.command(
    "explain", cls=Verb, epilog="Example: crowdveil device explain noise-map --ledger mine.ledger --data my.gpx"
)
@taking(profiling)
@taking(source)
def explain_campaign(
    traces: TraceSource,
    made_from: Profiling,
    campaign: IdOrLink,
    ledger: LedgerFile,
    server: Server = SERVER,
    verbose: Verbose = False,
) -> None:
    """Show what would be sent, and what it would tell.

    Nothing is sent. The place to report is picked now and kept, so that asking again does not choose another one.
    """
    history = made_from.history(traces)
    with _connected(campaign, server, ledger, made_from.day) as (device, name, link):
        checked = device.check_campaign(name, link)
        place, kept = device.pick_place(checked, history)
        typer.echo(_told(device.explain(checked, place, kept=kept), verbose))


@app.command(cls=Verb, epilog="Example: crowdveil device status noise-map --ledger mine.ledger")
def status(campaign: Id, ledger: LedgerFile, server: Server = SERVER) -> None:
    """Show whether this device was selected.

    Of a panel whose answer was renewed, it asks for each answer: how often it was used, and which selections chose it.
    """
    with HttpTransport(server) as transport, working("asking"):
        found = Device(DeviceSettings(), ledger, transport).status(campaign)
    facts = {
        "campaign": campaign,
        "participant": ", ".join(str(one.status.participant) for one in found.answers),
        "state": found.state,
        "used": describe_use_of_answers(found.answers),
    }
    show("Status", facts | ({"offer": found.offer} if found.offer is not None else {}))


@app.command(cls=Verb, epilog="Example: crowdveil device leave noise-map --ledger mine.ledger")
def leave(campaign: Id, ledger: LedgerFile, server: Server = SERVER) -> None:
    """Leave a campaign: the server forgets the answer.

    That is possible until the round is closed. What the answer cost stays counted, because the server has seen it.
    """
    with HttpTransport(server) as transport, working("asking"):
        entry = Device(DeviceSettings(), ledger, transport).leave(campaign)
    state = "the server has forgotten this device's answer"
    if entry.charge is None:
        state = "this device had not answered, and will not"
    show("Left", {"campaign": entry.campaign, "state": state})


def _told(explanation: Explanation, verbose: bool) -> str:
    text = f"{KEPT}\n{explanation.text}" if explanation.kept else explanation.text
    return f"{text}\n\n{explanation.figures}" if verbose else text
