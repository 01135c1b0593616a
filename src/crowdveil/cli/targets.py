"""Read the places that `--targets` names, for every verb that takes it, and show what each became."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from crowdveil.area import Area
from crowdveil.area.place_lists import list_places
from crowdveil.area.place_source import ListedPlace
from crowdveil.area.read_targets import place_targets
from crowdveil.area.targets import TARGETS_HEADER, NamedTargets
from crowdveil.arrays import FloatArray
from crowdveil.cli.console import note, show_rows, warn
from crowdveil.errors import InputError

TARGETS_HELP = (
    "The places to cover: a file (CSV with a heading, GeoJSON, or text), or places as pasted, such as "
    "'40.75, -73.98; Shop: 40.71, -74.00', links to maps, or cells such as 3,17."
)
KeepApart = Annotated[
    bool, typer.Option("--keep-apart", help="Refuse targets that lie in the same cell, instead of merging them.")
]
LeaveOutOutside = Annotated[
    bool,
    typer.Option("--leave-out-outside", help="Leave out targets that lie outside the area, instead of refusing them."),
]


def find_targets(
    places: str | Sequence[ListedPlace], area: Area, *, keep_apart: bool, leave_out_outside: bool
) -> NamedTargets:
    """Find the cells of what `--targets` names, and show on stderr what became of it unless it was cells.

    Where the area is not known at once, a verb lists the places first, so that a mistake in them is found at once.
    """
    listed = list_places(places) if isinstance(places, str) else places
    try:
        found = place_targets(listed, area, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
    except InputError as error:
        expected = error.expected.replace("keep_apart", "--keep-apart")
        expected = expected.replace("leave_out_outside", "--leave-out-outside")
        raise InputError(error.field, error.value, expected) from None
    if not found.by_cell:
        show_rows("Targets", TARGETS_HEADER, found.rows(), err=True)
    for sentence in found.notes:
        note(sentence)
    return found


def places_of(targets: NamedTargets | None) -> dict[str, Any]:
    """Give what `--json` adds where there are targets: what became of each place."""
    return {} if targets is None else {"places": targets.describe()}


def refuse_without_targets(targets: str | None, *, keep_apart: bool, leave_out_outside: bool) -> None:
    """Refuse the options that say how to read targets where there are none."""
    for option, given in (("--keep-apart", keep_apart), ("--leave-out-outside", leave_out_outside)):
        if given and targets is None:
            raise InputError(option, "given", "applies only to --targets; leave it out")


def list_targets(targets: NamedTargets, cells: Sequence[int]) -> str:
    """List the names of some cells, the first dozen of them."""
    return ", ".join(targets.label(cell) for cell in cells[:12]) + (", ..." if len(cells) > 12 else "")


def warn_of_empty_targets(
    prior: FloatArray | None, targets: NamedTargets, meaning: str = "so only the answers can find people there"
) -> None:
    """Print a warning if the prior has nobody at a target; other mistakes are refused elsewhere."""
    if prior is None:
        return
    empty = [cell for cell in targets.cells if prior[cell] == 0]
    if not empty:
        return
    shown, cells = list_targets(targets, empty), "cells " if targets.by_cell else ""
    if len(empty) == len(targets):
        told = f"the prior has nobody at any target ({cells}{shown}), {meaning}. Do the prior and the area belong "
        warn(f"{told}together?")
    else:
        warn(f"the prior has nobody at {len(empty)} of {len(targets)} targets ({cells}{shown}), {meaning}.")
