"""`crowdveil campaign expect`, `select` and `selections`: ask a panel for people, and look at what to expect first."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.area import Area
from crowdveil.campaign.forecast import expected_people
from crowdveil.campaign.request import name_place
from crowdveil.campaign.state import panel_rounds_in_use
from crowdveil.cli.campaign_plan import place_fields, read_numbers
from crowdveil.cli.campaign_view import answers_in_use, show_places, when
from crowdveil.cli.connection import operator
from crowdveil.cli.console import in_bytes, note, show, show_json, show_rows, working
from crowdveil.cli.files import check_destination, check_new_file, write_private
from crowdveil.cli.options import missing, read_duration, read_whole, refuse, taking
from crowdveil.cli.targets import TARGETS_HELP, KeepApart, LeaveOutOutside, find_targets
from crowdveil.client import Operator
from crowdveil.codec import canonical_json
from crowdveil.errors import ServerRefused
from crowdveil.wire import PROTOCOL, CampaignView, PanelRequest, SelectionView

EXPECT = """\b
Examples:
  crowdveil campaign expect city-panel --targets shops.csv --each 3
  crowdveil campaign expect city-panel --targets "40.7527, -73.9772" --wanted 20
"""
SELECT = """\b
Examples:
  crowdveil campaign select city-panel --targets shops.csv --each 3 --out chosen.csv
  crowdveil campaign select city-panel --targets 3,17 --wanted 20 --at-most 1 --within 30d --out chosen.csv
"""

Id = Annotated[str, typer.Argument(help="The panel's ID.", metavar="ID")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
RequestFields = dict[str, Any]


def request_fields(
    targets: Annotated[str | None, typer.Option(help=TARGETS_HELP, metavar="PLACES")] = None,
    keep_apart: KeepApart = False,
    leave_out_outside: LeaveOutOutside = False,
    wanted: Annotated[
        str | None, typer.Option(help="How many people to select, at any of the places.", metavar="NUMBER")
    ] = None,
    each: Annotated[
        str | None, typer.Option(help="Instead of --wanted: so many people for each place.", metavar="NUMBER")
    ] = None,
    numbers: Annotated[
        str | None,
        typer.Option(help="Instead of --wanted: how many people for each place, such as 3,5,2.", metavar="LIST"),
    ] = None,
    at_most: Annotated[
        str | None,
        typer.Option(
            help="How often one answer may be chosen, this time included; who renews has a new answer.",
            metavar="NUMBER",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="With --at-most: only selections of this time count, such as 30d.", metavar="TIME"),
    ] = None,
    other_cells: Annotated[
        bool,
        typer.Option(
            "--other-cells",
            help="Also ask for cells that are not among the panel's places; their visitors are known less well.",
        ),
    ] = False,
) -> RequestFields:
    """Read what is asked of a panel, all but the cells, which need the panel's map."""
    if targets is None:
        raise missing("targets", "name the places to cover, or a file of them")
    refuse({"within": None if at_most is not None else within}, "applies only with --at-most")
    said = {name: text for name, text in (("wanted", wanted), ("each", each), ("numbers", numbers)) if text is not None}
    refuse(dict(list(said.items())[1:]), f"can't be combined with --{next(iter(said), '')}")
    return {
        "targets": targets,
        "keep_apart": keep_apart,
        "leave_out_outside": leave_out_outside,
        "wanted": None if wanted is None else read_whole("wanted", wanted, 1),
        "each": each,
        "numbers": numbers,
        "at_most": None if at_most is None else read_whole("at-most", at_most, 1),
        "within_s": None if within is None else read_duration("within", within),
        "other_cells": other_cells,
    }


@taking(operator)
@taking(request_fields)
def expect(fields: RequestFields, server: Operator, campaign: Id, json: AsJson = False) -> None:
    """Say how many people a selection would bring to each place.

    Nobody is selected. Before the first answers are in, the figures assume that people are spread as the plan says.
    """
    view = server.view(campaign)
    asked = _request(view, fields)
    with working("computing what to expect"), _naming_options():
        found = server.expect(campaign, asked)
    if json:
        show_json(found.model_dump(mode="json"))
        return
    show_places(asked.target_names, found)
    for advice in found.advice:
        note(advice)
    used = answers_in_use(view)
    if used is not None:
        note(f"Selections {used}.")


@taking(operator)
@taking(request_fields)
def select(
    fields: RequestFields,
    server: Operator,
    campaign: Id,
    out: Annotated[Path, typer.Option(help="Where to write who was selected (.csv).", metavar="FILE")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    json: AsJson = False,
) -> None:
    """Select people from a panel's answers.

    No phone takes part in it, and nobody learns more about anyone. People who were chosen less often before come first
    among those who are alike. The selection is kept in the panel's record, which anyone can audit.
    """
    if force:
        check_destination("out", out, (".csv",))
    else:
        check_new_file("out", out, (".csv",), "name another one, or give --force to replace it")
    view = server.view(campaign)
    asked = _request(view, fields)
    with working("selecting"), _naming_options():
        made = server.select(campaign, asked)
        text = server.selection_csv(campaign, made.number)
        size = write_private(out, text.encode())
    if json:
        show_json(made.model_dump(mode="json"))
        return
    facts = {"panel": campaign, "selection": str(made.number + 1), "selected": _people(made.selected)}
    facts |= _what_to_expect(text)
    show("Selection", facts | {"written": f"{out} ({in_bytes(size)})"})
    note(f"Selections {answers_in_use(view, made.rounds)}.")
    _across_renewals(server, view, asked, made)
    for place, few in enumerate(made.missing):
        if few:
            where = f"at place {name_place(asked.target_names, place)}" if asked.numbers is not None else "in all"
            note(f"{few:,} fewer than wanted {where}.")


@taking(operator)
def selections(server: Operator, campaign: Id, json: AsJson = False) -> None:
    """List the selections of a campaign, the oldest first."""
    found = server.selections(campaign)
    if json:
        show_json(found.model_dump(mode="json"))
        return
    header = ["selection", "made", "places", "wanted", "selected"]
    show_rows("Selections", header, [_row(one) for one in found.selections])


def _request(view: CampaignView, fields: RequestFields) -> PanelRequest:
    """Find the cells of the places on the panel's map."""
    area = Area.from_description(view.plan.area)
    names = {"keep_apart": fields["keep_apart"], "leave_out_outside": fields["leave_out_outside"]}
    covered = find_targets(fields["targets"], area, **names)
    asked: dict[str, Any] = {name: fields[name] for name in ("wanted", "at_most", "within_s", "other_cells")}
    if fields["wanted"] is None:
        asked["numbers"] = read_numbers(covered, fields["each"], fields["numbers"])
    given = {name: value for name, value in asked.items() if value is not None}
    return PanelRequest.from_bytes(canonical_json({"protocol": PROTOCOL, **place_fields(covered), **given}).encode())


def _people(count: int) -> str:
    return f"{count:,} {'person' if count == 1 else 'people'}"


def _what_to_expect(text: str) -> dict[str, str]:
    """Say how many of those in a selection's CSV are expected to come, and how many fill up."""
    rows = list(csv.DictReader(text.splitlines()))
    if not rows:
        return {}
    chances = [float(row["chance"]) for row in rows]
    coming = expected_people(sum(chances), sum(chance * (1 - chance) for chance in chances))
    facts = {"expected to come": f"{coming.people:.1f} of them, in 95 of 100 cases {coming.low:,} to {coming.high:,}"}
    filled = sum(row["chosen"] != "symbol" for row in rows)
    if filled:
        facts["filled up"] = f"{_people(filled)}, because too few answers name the place; they are less likely to come"
    return facts


@contextmanager
def _naming_options() -> Iterator[None]:
    """Name the option where the server names a field."""
    try:
        yield
    except ServerRefused as error:
        detail = error.detail.replace("with other_cells, the people", "with --other-cells, the people")
        raise ServerRefused(error.kind, detail) from None


def _across_renewals(server: Operator, view: CampaignView, asked: PanelRequest, made: SelectionView) -> None:
    """Say where --at-most does not hold, because people have renewed since a selection that it should count."""
    if asked.at_most is None:
        return
    answers = [one.accepted for one in view.rounds]
    used = panel_rounds_in_use(answers[: made.rounds])
    since = 0 if asked.within_s is None else made.made - asked.within_s
    earlier = [one for one in server.selections(view.campaign).selections if one.number < made.number]
    others = sum(one.made > since and panel_rounds_in_use(answers[: one.rounds]) != used for one in earlier)
    if others:
        times = "1 earlier selection" if others == 1 else f"{others:,} earlier selections"
        note(
            f"--at-most does not count {times} from the answers before the renewal: who has renewed since may have "
            "been chosen then and again now, because nobody can tell which two answers are one person's."
        )


def _row(one: SelectionView) -> list[str]:
    asked = one.request
    if asked is None:
        return [str(one.number + 1), when(one.made), "those of the plan", "as planned", f"{one.selected:,}"]
    if asked.numbers is None:
        wanted = f"{asked.wanted:,} in all"
    elif len(set(asked.numbers)) == 1:
        wanted = f"{asked.numbers[0]:,} at each of {len(asked.numbers):,}"
    else:
        wanted = ", ".join(f"{number:,}" for number in asked.numbers)
    return [str(one.number + 1), when(one.made), f"{len(asked.targets):,}", wanted, f"{one.selected:,}"]
