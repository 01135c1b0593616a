"""`crowdveil draw`: draw what a phone in some cell sends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdveil.area import Area
from crowdveil.area.extent import cell_at
from crowdveil.certify import certify
from crowdveil.cli.console import Verb, new_app, note, progress_bar, show_json
from crowdveil.cli.files import load_policy
from crowdveil.cli.options import missing, read_real, read_whole, refuse
from crowdveil.draw import draw
from crowdveil.errors import InputError
from crowdveil.vocabulary import NULL

EXAMPLES = """\b
Examples:
  crowdveil draw policy.json --cell 17
  crowdveil draw policy.cvp --lat 40.75 --lon -73.98 --json
"""


app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
def run(
    policy: Annotated[Path, typer.Argument(help="The policy, .json or .cvp.", metavar="POLICY")],
    cell: Annotated[str | None, typer.Option(help="The true cell.", metavar="NUMBER")] = None,
    grade: Annotated[
        str, typer.Option(help="0 for a regular visitor of it, 1 for the next grade, and so on.", metavar="NUMBER")
    ] = "0",
    outside: Annotated[bool, typer.Option("--outside", help="Instead of a place: never seen in the area.")] = False,
    lat: Annotated[str | None, typer.Option(help="Latitude of the true place.", metavar="DEGREES")] = None,
    lon: Annotated[str | None, typer.Option(help="Longitude of the true place.", metavar="DEGREES")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the symbol as JSON.")] = False,
) -> None:
    """Draw what a phone sends, from a certified policy.

    Certifies the policy first, then draws one symbol with the operating system's secure random generator.
    """
    loaded = load_policy(policy)
    place = NULL if outside else _place(loaded.area, cell, lat, lon)
    if outside:
        refuse({"cell": cell, "lat": lat, "lon": lon}, "can't be combined with --outside")
    with progress_bar("certifying") as report:
        certificate = certify(loaded, progress=report)
    symbol = draw(loaded, place, certificate, grade=read_whole("grade", grade))
    name = loaded.symbol_name(symbol)
    if json:
        show_json({"symbol": symbol, "name": name, "hit": symbol in loaded.selecting, "hash": loaded.hash})
        return
    typer.echo(f"{symbol} {name}")
    note("Send this once. Sending another draw from the same place adds to the privacy loss.")


def _place(area: Area, cell: str | None, lat: str | None, lon: str | None) -> int:
    if cell is not None:
        if lat is not None or lon is not None:
            raise InputError("cell", cell, "can't be combined with --lat and --lon")
        number = read_whole("cell", cell)
        if number < 0:
            raise InputError("cell", number, f"should be from 0 to {len(area) - 1}; --outside is for no cell")
        return number
    if lat is None and lon is None:
        raise missing("cell", "name the true cell, or its --lat and --lon")
    if lat is None or lon is None:
        raise missing("lat" if lat is None else "lon", "a place has both --lat and --lon")
    return cell_at(area, read_real("lat", lat), read_real("lon", lon), "place")
