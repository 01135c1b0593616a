"""`crowdveil device`: take part in a campaign, as a phone would; everything is decided on this side."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from crowdveil.cli.compare import read_day
from crowdveil.cli.connection import SERVER, Server
from crowdveil.cli.console import Verb, Verbs, note, show, working
from crowdveil.cli.history import read_where, source
from crowdveil.cli.options import missing, read_epsilon, read_real, read_whole
from crowdveil.cli.shared import taking
from crowdveil.cli.traces import TraceSource
from crowdveil.client import Device, DeviceSettings, HttpTransport, Ledger, PrivacyLimits
from crowdveil.client.explain import Explanation, describe_ledger
from crowdveil.errors import InputError

app = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Take part in a campaign, as a phone would.",
    epilog="Example: crowdveil device join noise-map --ledger mine.ledger --new-ledger --profile profile.csv",
)

Id = Annotated[str, typer.Argument(help="The campaign's id.", metavar="ID")]
LedgerFile = Annotated[
    Path, typer.Option(help="Where this device keeps what it ever said, and what that cost.", metavar="FILE")
]


def limits(
    most_epsilon_per_km: Annotated[
        str | None, typer.Option(help="Largest ε per km of one campaign; ln 4 unless given.", metavar="NUMBER")
    ] = None,
    lifetime_epsilon_per_km: Annotated[
        str | None, typer.Option(help="Largest sum over all campaigns; 3 ln 4 unless given.", metavar="NUMBER")
    ] = None,
    least_cell_km: Annotated[
        str | None, typer.Option(help="Smallest distance of neighbouring cells; 0.25 unless given.", metavar="KM")
    ] = None,
    most_gap_km: Annotated[
        str | None, typer.Option(help="Largest distance of a cell to its nearest; 5 unless given.", metavar="KM")
    ] = None,
    min_cells: Annotated[
        str | None, typer.Option(help="Fewest cells to be hidden among; 16 unless given.", metavar="NUMBER")
    ] = None,
    most_null_epsilon: Annotated[
        str | None,
        typer.Option(
            help="Largest loss about having a place at all. Left out: NULL may be said in the clear.", metavar="NUMBER"
        ),
    ] = None,
) -> PrivacyLimits:
    """What the device's owner accepts."""
    usual = PrivacyLimits()
    return PrivacyLimits(
        _or("most_epsilon_per_km", most_epsilon_per_km, usual.epsilon_per_km),
        _or("lifetime_epsilon_per_km", lifetime_epsilon_per_km, usual.lifetime_epsilon_per_km),
        _or("least_cell_km", least_cell_km, usual.cell_km),
        _or("most_gap_km", most_gap_km, usual.gap_km),
        usual.min_cells if min_cells is None else read_whole("min_cells", min_cells),
        _or("most_null_epsilon", most_null_epsilon, usual.null_epsilon),
    )


def _or(field: str, text: str | None, usual: float) -> float:
    if text is None:
        return usual
    try:
        return read_epsilon(text)
    except InputError:
        raise InputError(field, text, "should be a number, such as 1.386 or ln4") from None


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
        str | None, typer.Option(help="Whose visits, where the traces are of several people.", metavar="NAME")
    ] = None,
    profile: Annotated[
        Path | None, typer.Option(help="Instead of traces: cell,probability of the campaign's cells.", metavar="CSV")
    ] = None,
    invite: Annotated[
        str | None, typer.Option(help="The invite, where the campaign asks for one.", metavar="TEXT")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Send without asking.")] = False,
    new_ledger: Annotated[
        bool, typer.Option("--new-ledger", help="Begin the ledger: this device never took part in anything.")
    ] = False,
    already_spent: Annotated[
        str | None,
        typer.Option(help="With --new-ledger: ε per km that a lost ledger may have spent.", metavar="NUMBER"),
    ] = None,
    periods: Annotated[
        str, typer.Option(help="Weeks (or days) up to today that the profile is made from.", metavar="NUMBER")
    ] = "26",
    half_life: Annotated[str, typer.Option(help="How many of them until a visit counts half.", metavar="NUMBER")] = "4",
    today: Annotated[
        str | None, typer.Option(help="Another day than today, to try with old traces.", metavar="YYYY-MM-DD")
    ] = None,
) -> None:
    """Take part in a campaign, once.

    Says first, in words, what would leave this device and what it could tell, and asks. Called again, it goes on where
    it stopped: what was drawn is never drawn again.
    """
    day = date.today() if today is None else read_day("today", today)
    settings = DeviceSettings(
        limits, periods=_many("periods", periods), half_life_periods=read_real("half_life", half_life)
    )
    history = read_where(traces, user, profile)
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
            "spent": f"ε = {entry.epsilon_per_km:.6g} per km in this campaign",
            "ledger": f"ε = {device.ledger.spent_epsilon_per_km():.6g} of {limits.lifetime_epsilon_per_km:.6g} per km",
        },
    )
    note(f"Whether it was selected: crowdveil device status {campaign} --ledger {ledger}")


@app.command(cls=Verb, epilog="Example: crowdveil device status noise-map --ledger mine.ledger")
def status(campaign: Id, ledger: LedgerFile, server: Server = SERVER) -> None:
    """Say whether this device was selected."""
    with HttpTransport(server) as transport, working("asking"):
        found = Device(DeviceSettings(), ledger, transport).status(campaign)
    facts = {"campaign": found.campaign, "participant": str(found.participant), "state": found.state}
    show("Status", facts | ({"offer": found.offer} if found.offer is not None else {}))


@app.command("ledger", cls=Verb, epilog="Example: crowdveil device ledger --ledger mine.ledger")
@taking(limits)
def read_ledger(limits: PrivacyLimits, ledger: LedgerFile) -> None:
    """Say what this device ever said, and what that cost."""
    found = Ledger(ledger)
    spent = found.spent_epsilon_per_km()
    typer.echo(describe_ledger(list(found.entries().values()), spent, limits.lifetime_epsilon_per_km))


def _open_ledger(path: Path, new: bool, already_spent: str | None) -> None:
    if not new:
        if already_spent is not None:
            raise InputError("already_spent", already_spent, "has no meaning without --new-ledger")
        if not path.exists():
            raise missing(
                "new-ledger", f"there is no ledger at {path}; a device that never took part in anything begins one"
            )
        return
    Ledger.create(path, already_spent_epsilon_per_km=read_real("already_spent", already_spent or "0"))


def _agree_to(explanation: Explanation) -> bool:
    note(explanation.text)
    return True


def _ask(explanation: Explanation) -> bool:
    note(explanation.text)
    try:
        return typer.confirm("Send this reply?", default=False, err=True)
    except typer.Abort:  # nobody is there to answer
        return False


def _many(field: str, text: str) -> int:
    number = read_whole(field, text)
    if not 1 <= number <= 10_000:
        raise InputError(field, number, "should be from 1 to 10,000")
    return number
