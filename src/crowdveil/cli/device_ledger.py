"""`crowdveil device`, the verbs that need no server: make a ledger, set limits, exclude places, see and move it all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.cli.console import Verb, new_app, note, show, show_rows
from crowdveil.cli.device_limits import changed, limit_changes, limit_facts, new_limits
from crowdveil.cli.options import read_epsilon, read_real, read_whole, refuse, taking
from crowdveil.client import ExcludedPlace, Ledger, Spent
from crowdveil.client.excluded import DEFAULT_RADIUS_KM
from crowdveil.client.explain import describe_ledger, ledger_figures
from crowdveil.codec import canonical_json, parse_json, read_text, write_atomically
from crowdveil.errors import FileFormatError, InputError
from crowdveil.wire import RoundNotice, find_split
from crowdveil.wire.message import Message, PublicKey

app = new_app(
    no_args_is_help=True,
    help="Take part in a campaign, as a phone would.",
    epilog="Example: crowdveil device create --ledger mine.ledger",
)

LedgerFile = Annotated[
    Path, typer.Option(help="The file where this device records every answer it has given.", metavar="FILE")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show the exact figures too.")]
NEGATIVE_LATITUDE = re.compile(r"-[0-9.]")
SPLIT = 3
"""Exit code if notices prove that a server showed different people different campaigns."""


class SavedNotice(Message):
    """A notice with the key of the server that signed it, as people exchange them."""

    server_key: PublicKey
    notice: RoundNotice


@app.command(
    cls=Verb,
    epilog="""\b
Examples:
  crowdveil device create --ledger mine.ledger
  crowdveil device create --ledger mine.ledger --total-epsilon-per-km ln16 --span twelve-months
  crowdveil device create --ledger mine.ledger --lost
""",
)
@taking(limit_changes)
def create(
    changes: dict[str, Any],
    ledger: LedgerFile,
    lost: Annotated[
        bool,
        typer.Option(
            "--lost",
            help="An earlier ledger was lost, and you do not know what it recorded: start with the whole limit spent.",
        ),
    ] = False,
    already_spent: Annotated[
        str | None,
        typer.Option(
            help="Privacy loss about places (ε per km) of answers in a ledger that was lost.", metavar="NUMBER"
        ),
    ] = None,
    already_spent_null: Annotated[
        str | None,
        typer.Option(help="Privacy loss ε₀ of answers in a ledger that was lost.", metavar="NUMBER"),
    ] = None,
) -> None:
    """Create this device's ledger, with its owner's limits.

    The ledger counts every answer of this device, to all servers. One person should have one. After a reinstall, say
    what was spent before, or --lost.
    """
    limits = new_limits(changes)
    if lost:
        refuse(
            {"already_spent": already_spent, "already_spent_null": already_spent_null}, "can't be combined with --lost"
        )
    spent = Spent(
        read_epsilon(already_spent or "0", "already_spent"),
        read_epsilon(already_spent_null or "0", "already_spent_null"),
    )
    made = Ledger.create(ledger, limits=limits, already_spent=Spent.whole_limit(limits) if lost else spent)
    show("Limits", {"ledger": str(ledger), **limit_facts(made.limits())})


@app.command(
    cls=Verb,
    epilog="""\b
Examples:
  crowdveil device limits --ledger mine.ledger
  crowdveil device limits --ledger mine.ledger --max-epsilon-per-km ln2
""",
)
@taking(limit_changes)
def limits(changes: dict[str, Any], ledger: LedgerFile) -> None:
    """Show the limits of this device's owner, or change them."""
    found = Ledger(ledger)
    if changes:
        found.change_limits(changed(found.limits(), changes))
    show("Limits", limit_facts(found.limits()))


@app.command(cls=Verb, epilog="Example: crowdveil device sent --ledger mine.ledger")
def sent(ledger: LedgerFile, verbose: Verbose = False) -> None:
    """Show what was sent, when and to whom.

    It also says how much of the limit that used.
    """
    found = Ledger(ledger)
    entries, spent, own = list(found.entries().values()), found.spent(), found.limits()
    typer.echo(describe_ledger(entries, spent, own))
    if verbose:
        typer.echo(ledger_figures(entries, spent, own))
    if found.retired:
        note("This ledger was moved to another device and no longer answers.")


class PlaceVerb(Verb):
    """A verb whose argument may be a place with a negative latitude, which would otherwise be read as an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, with such a place behind --."""
        places = [] if "--" in args else [one for one in args if NEGATIVE_LATITUDE.match(one)]
        rest = [one for one in args if one not in places]
        return list(super().parse_args(ctx, [*rest, "--", *places] if places else args))


@app.command(
    cls=PlaceVerb, epilog="Example: crowdveil device exclude 40.7128:-74.0060 --ledger mine.ledger --radius-km 0.5"
)
def exclude(
    place: Annotated[str, typer.Argument(help="The place, as latitude:longitude.", metavar="PLACE")],
    ledger: LedgerFile,
    radius_km: Annotated[
        str, typer.Option(help="Visits within this distance count as visits to it.", metavar="KM")
    ] = f"{DEFAULT_RADIUS_KM:g}",
) -> None:
    """Never report from a place, such as your home.

    Visits there are ignored from now on, and the part of a map that contains it is never reported. What was sent before
    stays sent.
    """
    latitude, colon, longitude = place.partition(":")
    if not colon:
        raise InputError("place", place, "should be latitude:longitude, such as 40.7128:-74.0060")
    found = Ledger(ledger)
    found.exclude(
        ExcludedPlace(read_real("place", latitude), read_real("place", longitude), read_real("radius_km", radius_km))
    )
    note(f"This device will never report from {place}.")


@app.command(cls=Verb, epilog="Example: crowdveil device excluded --ledger mine.ledger")
def excluded(ledger: LedgerFile) -> None:
    """List the excluded places."""
    places = Ledger(ledger).excluded()
    rows = [[str(n), f"{p.latitude:g}:{p.longitude:g}", f"{p.radius_km:g} km"] for n, p in places.items()]
    show_rows("Never reported", ["number", "place", "radius"], rows)


@app.command("include-again", cls=Verb, epilog="Example: crowdveil device include-again 1 --ledger mine.ledger")
def include_again(
    number: Annotated[str, typer.Argument(help="The number that `device excluded` shows.", metavar="NUMBER")],
    ledger: LedgerFile,
) -> None:
    """Allow reports from an excluded place again."""
    place = Ledger(ledger).include_again(read_whole("number", number))
    note(f"This device may report from {place.latitude:g}:{place.longitude:g} again.")


@app.command(cls=Verb, epilog="Example: crowdveil device export moved.json --ledger mine.ledger")
def export(
    file: Annotated[Path, typer.Argument(help="The file to write.", metavar="FILE")], ledger: LedgerFile
) -> None:
    """Move the ledger away: write it to a file, retire this one.

    This device no longer answers, so that the limit cannot be spent twice. Import the file once, then delete it: it
    holds your secrets in every campaign and the places that you excluded. If the export is interrupted, run it again.
    """
    Ledger(ledger).export(file)
    note(f"This ledger is retired. On the other device: crowdveil device import {file} --ledger FILE")


@app.command("import", cls=Verb, epilog="Example: crowdveil device import moved.json --ledger mine.ledger")
def import_(
    file: Annotated[Path, typer.Argument(help="The file that the other device exported.", metavar="FILE")],
    ledger: LedgerFile,
    keep_limits: Annotated[
        bool, typer.Option("--keep-limits", help="Keep limits that are looser than the defaults.")
    ] = False,
) -> None:
    """Continue the ledger that another device exported.

    Limits that are looser than the defaults are set back to the defaults, unless you keep them.
    """
    made = Ledger.import_(file, ledger, keep_limits=keep_limits)
    typer.echo(describe_ledger(list(made.entries().values()), made.spent(), made.limits()))
    note(f"Delete {file} now: whoever imports it a second time could spend your limit twice.")


@app.command(
    cls=Verb,
    epilog="""\b
Examples:
  crowdveil device notices --ledger mine.ledger --out mine.json
  crowdveil device notices --ledger mine.ledger --compare theirs.json
""",
)
def notices(
    ledger: LedgerFile,
    out: Annotated[
        Path | None,
        typer.Option(help="Save the notices, for others to compare; they say nothing about you.", metavar="FILE"),
    ] = None,
    compare: Annotated[
        list[Path] | None, typer.Option(help="Notices that another participant saved; may be repeated.", metavar="FILE")
    ] = None,
) -> None:
    """Compare what the server signed with what others saw.

    Lists the signed notice of every round that this device answered. If a server signed two different notices for the
    same round, it showed different people different campaigns. Two such notices prove it; the exit code is 3.
    """
    own = [SavedNotice(server_key=key, notice=notice) for key, notice in Ledger(ledger).notices()]
    if out is not None:
        text = canonical_json([one.model_dump(mode="json") for one in own]) + "\n"
        write_atomically(out, lambda path: path.write_text(text, encoding="utf-8"))
    every = own + [one for path in compare or () for one in _read_notices(path)]
    rows = [
        [one.server_key[:12], one.notice.campaign, str(one.notice.round + 1), one.notice.policy_hash] for one in own
    ]
    show_rows("Notices", ["server", "campaign", "round", "policy"], rows)
    for key in sorted({one.server_key for one in every}):
        split = find_split([one.notice for one in every if one.server_key == key], key)
        if split is not None:
            note(f"The server with the key {key} signed two different notices for campaign {split[0].campaign}:")
            for notice in split:
                typer.echo(notice.to_bytes().decode())
            raise typer.Exit(SPLIT)
    if compare:
        note(f"{len(every) - len(own):,} notices of others agree with yours.")


def _read_notices(path: Path) -> list[SavedNotice]:
    document = parse_json(read_text(path), str(path))
    if not isinstance(document, list):
        raise FileFormatError(f"{path}: should be notices that `device notices --out` saved")
    try:
        return [SavedNotice.from_bytes(canonical_json(one).encode()) for one in document]
    except InputError as error:
        raise FileFormatError(f"{path}: should be notices that `device notices --out` saved ({error})") from None
