"""`crowdveil device`: take part in a campaign, as a phone would; everything is decided on this side."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.connection import SERVER, Server
from crowdveil.cli.console import Verb, new_app, note, show, working
from crowdveil.cli.options import (
    missing,
    read_day,
    read_epsilon,
    read_real,
    read_whole,
    refuse,
    taking,
    written_as_logarithm,
)
from crowdveil.cli.traces import TraceSource, read_source, source
from crowdveil.client import Device, DeviceSettings, HttpTransport, Ledger, LocationHistory, PrivacyLimits
from crowdveil.client.explain import Explanation, describe_ledger
from crowdveil.client.history import read_profile, visits_of

app = new_app(
    no_args_is_help=True,
    help="Take part in a campaign, as a phone would.",
    epilog="Example: crowdveil device join noise-map --ledger mine.ledger --new-ledger --profile profile.csv",
)

Id = Annotated[str, typer.Argument(help="The campaign's ID.", metavar="ID")]
LedgerFile = Annotated[
    Path, typer.Option(help="The file where this device records every answer it has given.", metavar="FILE")
]
USUAL = PrivacyLimits()


def limits(
    max_epsilon_per_km: Annotated[
        str | None,
        typer.Option(
            help="Maximum privacy loss (ε per km) in one campaign; at ln4, an answer is at most 4 times as likely from "
            f"one place as from another 1 km away (default: {written_as_logarithm(USUAL.epsilon_per_km)}).",
            metavar="NUMBER",
        ),
    ] = None,
    lifetime_epsilon_per_km: Annotated[
        str | None,
        typer.Option(
            help="Maximum privacy loss (ε per km) over all campaigns "
            f"(default: {USUAL.lifetime_epsilon_per_km / USUAL.epsilon_per_km:g} times that for one).",
            metavar="NUMBER",
        ),
    ] = None,
    min_cell_km: Annotated[
        str | None,
        typer.Option(help=f"Minimum distance between neighbouring cells (default: {USUAL.cell_km:g}).", metavar="KM"),
    ] = None,
    max_gap_km: Annotated[
        str | None,
        typer.Option(
            help=f"Maximum distance from a cell to the nearest other (default: {USUAL.gap_km:g}).", metavar="KM"
        ),
    ] = None,
    min_cells: Annotated[
        str | None,
        typer.Option(
            help=f"Minimum number of cells in the campaign's area (default: {USUAL.min_cells}).", metavar="NUMBER"
        ),
    ] = None,
    max_null_epsilon: Annotated[
        str | None,
        typer.Option(
            help="Maximum privacy loss about having a frequent place at all (default: no limit; the answer may say so "
            "openly).",
            metavar="NUMBER",
        ),
    ] = None,
) -> PrivacyLimits:
    """Read what the device's owner accepts."""
    return PrivacyLimits(
        _read_limit("max_epsilon_per_km", max_epsilon_per_km, USUAL.epsilon_per_km),
        _read_limit("lifetime_epsilon_per_km", lifetime_epsilon_per_km, USUAL.lifetime_epsilon_per_km),
        _read_limit("min_cell_km", min_cell_km, USUAL.cell_km),
        _read_limit("max_gap_km", max_gap_km, USUAL.gap_km),
        USUAL.min_cells if min_cells is None else read_whole("min_cells", min_cells),
        _read_limit("max_null_epsilon", max_null_epsilon, USUAL.null_epsilon),
    )


def _read_limit(field: str, text: str | None, usual: float) -> float:
    return usual if text is None else read_epsilon(text, field)


@app.command(
    cls=Verb,
    epilog="""\b
Examples:
  crowdveil device join noise-map --ledger mine.ledger --new-ledger --data Records.json --format timeline
  crowdveil device join noise-map --ledger mine.ledger --profile profile.csv --yes
""",
)
@taking(limits)
@taking(source)
def join(
    traces: TraceSource,
    limits: PrivacyLimits,
    campaign: Id,
    ledger: LedgerFile,
    server: Server = SERVER,
    user: Annotated[
        str | None, typer.Option(help="Whose visits to use, if the traces are of several people.", metavar="NAME")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(help="Instead of traces: the columns cell,probability, for the campaign's cells.", metavar="CSV"),
    ] = None,
    invite: Annotated[
        str | None, typer.Option(help="The invite, if the campaign asks for one.", metavar="TEXT")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Send without asking.")] = False,
    new_ledger: Annotated[
        bool, typer.Option("--new-ledger", help="Make a new ledger: this device has never taken part in any campaign.")
    ] = False,
    already_spent: Annotated[
        str | None,
        typer.Option(
            help="With --new-ledger: privacy loss (ε per km) of answers in a ledger that was lost.", metavar="NUMBER"
        ),
    ] = None,
    periods: Annotated[
        str, typer.Option(help="Number of weeks (or days) up to today that the profile is made from.", metavar="NUMBER")
    ] = "26",
    half_life: Annotated[
        str, typer.Option(help="Weeks (or days) after which a visit counts half.", metavar="NUMBER")
    ] = "4",
    today: Annotated[
        str | None, typer.Option(help="Pretend that it is this day, to try old traces.", metavar="YYYY-MM-DD")
    ] = None,
) -> None:
    """Take part in a campaign, once.

    Explains what would leave this device and what others could learn from it, then asks. After an interruption, run it
    again: it sends the same answer, and never draws a second one.
    """
    day = date.today() if today is None else read_day("today", today)
    settings = DeviceSettings(
        limits, periods=read_whole("periods", periods, 1, 10_000), half_life_periods=read_real("half_life", half_life)
    )
    history = _history(traces, user, profile)
    _open_ledger(ledger, new_ledger, already_spent)
    with HttpTransport(server) as transport:
        device = Device(settings, ledger, transport, today=lambda: day)
        entry = device.join(campaign, history, invite=invite, agree=_agree_to if yes else _ask)
    show(
        "Joined",
        {
            "campaign": entry.campaign,
            "state": "acknowledged: the server has this device's reply",
            "round": str(entry.round + 1),
            "privacy loss": f"ε = {entry.epsilon_per_km:.6g} per km in this campaign",
            "in all campaigns": f"ε = {device.ledger.spent_epsilon_per_km():.6g} per km, of at most "
            f"{limits.lifetime_epsilon_per_km:.6g}",
        },
    )
    note(f"To see whether it was selected: crowdveil device status {campaign} --ledger {ledger}")


@app.command(cls=Verb, epilog="Example: crowdveil device status noise-map --ledger mine.ledger")
def status(campaign: Id, ledger: LedgerFile, server: Server = SERVER) -> None:
    """Show whether this device was selected."""
    with HttpTransport(server) as transport, working("asking"):
        found = Device(DeviceSettings(), ledger, transport).status(campaign)
    facts = {"campaign": found.campaign, "participant": str(found.participant), "state": found.state}
    show("Status", facts | ({"offer": found.offer} if found.offer is not None else {}))


@app.command("ledger", cls=Verb, epilog="Example: crowdveil device ledger --ledger mine.ledger")
@taking(limits)
def read_ledger(limits: PrivacyLimits, ledger: LedgerFile) -> None:
    """Show every answer that this device has given, and the privacy loss."""
    found = Ledger(ledger)
    spent = found.spent_epsilon_per_km()
    typer.echo(describe_ledger(list(found.entries().values()), spent, limits.lifetime_epsilon_per_km))


def _history(traces: TraceSource, user: str | None, profile: Path | None) -> LocationHistory:
    if profile is not None:
        refuse({"data": traces.data, "user": user}, "can't be combined with --profile")
        return read_profile(profile)
    if traces.data is None:
        raise missing("data", "name the traces of the device's owner, or a --profile")
    visits = read_source(traces)
    if user is None and len(visits.users) > 1:
        raise missing("user", f"the traces are of {len(visits.users):,} people, such as {visits.users[0]!r}")
    return visits_of(visits, user)


def _open_ledger(path: Path, new: bool, already_spent: str | None) -> None:
    if not new:
        refuse({"already_spent": already_spent}, "applies only to --new-ledger; leave it out")
        if not path.exists():
            raise missing("new-ledger", f"there is no ledger at {path}; a device that never took part makes a new one")
        return
    Ledger.create(path, already_spent_epsilon_per_km=read_real("already_spent", already_spent or "0"))


def _agree_to(explanation: Explanation) -> bool:
    note(explanation.text)
    return True


def _ask(explanation: Explanation) -> bool:
    note(explanation.text)
    try:
        return typer.confirm("Send this reply?", default=False, err=True)
    except typer.Abort:  # no answer can be read
        return False
