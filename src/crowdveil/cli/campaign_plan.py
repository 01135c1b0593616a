"""`crowdveil campaign create`, `edit` and `preview`: read the plan of a campaign, store it or say what it promises."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from crowdveil.area import Area
from crowdveil.area.targets import NamedTargets
from crowdveil.campaign.plan_files import campaign_plan, read_plan_fields
from crowdveil.cli.campaign_view import show_preview, show_view
from crowdveil.cli.connection import operator
from crowdveil.cli.console import note, show_json, warn, working
from crowdveil.cli.files import check_destination, load_area, write_bytes
from crowdveil.cli.options import (
    CONFIDENCE,
    CONSTANTS_HELP,
    DELTA,
    DELTA_HELP,
    EPSILON,
    EPSILON_HELP,
    LOWER_DELTAS_HELP,
    ROUNDS,
    PeriodName,
    RuleName,
    missing,
    read_duration,
    read_epsilon,
    read_lower_deltas,
    read_real,
    read_whole,
    refuse,
    taking,
)
from crowdveil.cli.targets import TARGETS_HELP, KeepApart, LeaveOutOutside, find_targets, warn_of_empty_targets
from crowdveil.client import Operator
from crowdveil.errors import InputError, ServerRefused
from crowdveil.extras import require_extra
from crowdveil.limits import Charge, PrivacyLimits, Spent
from crowdveil.limits.charge import more_reports
from crowdveil.policy.checks import check_prior
from crowdveil.prior import read_prior
from crowdveil.profile.constants_file import read_constants
from crowdveil.vocabulary import DEFAULT_DEADLINE_S, DEFAULT_RULE
from crowdveil.wire import CampaignPlan, CampaignView, Preview

CREATE = """\b
Examples:
  crowdveil campaign create noise-map --area area.json --targets shops.csv
      --users 1000 --wanted 50 --offer "A coffee for ten minutes of noise"
  crowdveil campaign create shops --area area.json --targets shops.csv
      --users 1000 --each 3 --offer "A coffee for a photo of the shop window"
  crowdveil campaign create city-panel --panel --area area.json --users 1000
      --rounds 3 --renew-every 90d --offer "A coffee when you are chosen"
  crowdveil campaign create noise-map --plan plan.json
"""
EDIT = """\b
Examples:
  crowdveil campaign edit noise-map --area area.json --targets shops.csv
      --users 1500 --wanted 60 --offer "A coffee for ten minutes of noise"
  crowdveil campaign edit noise-map --plan plan.json
"""
PREVIEW = """\b
Examples:
  crowdveil campaign preview noise-map
  crowdveil campaign preview --area area.json --targets 3,17 --users 1000 --wanted 50
      --picture first-round.png
"""

AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
PlanFields = dict[str, Any]


class EnrolmentName(StrEnum):
    """Who may take part."""

    open = "open"
    invite = "invite"


class AlgorithmName(StrEnum):
    """How the campaign is run."""

    crowdveil = "crowdveil"
    algorithm_2 = "algorithm-2"


def plan_fields(
    plan: Annotated[
        Path | None,
        typer.Option(help="A file with the whole plan (JSON), instead of the options below.", metavar="FILE"),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="The name that participants read (default: the ID).", metavar="TEXT")
    ] = None,
    offer: Annotated[
        str | None, typer.Option(help="What the people who are selected are told and offered.", metavar="TEXT")
    ] = None,
    area: Annotated[Path | None, typer.Option(help="The area (.json), from `crowdveil area`.", metavar="FILE")] = None,
    targets: Annotated[str | None, typer.Option(help=TARGETS_HELP, metavar="PLACES")] = None,
    keep_apart: KeepApart = False,
    leave_out_outside: LeaveOutOutside = False,
    users: Annotated[
        str | None, typer.Option(help="How many people may take part, over all rounds (N).", metavar="NUMBER")
    ] = None,
    wanted: Annotated[
        str | None, typer.Option(help="How many people are to be selected, at any target (α).", metavar="NUMBER")
    ] = None,
    share: Annotated[
        str | None, typer.Option(help="Instead of --wanted: a share of --users, such as 0.05.", metavar="NUMBER")
    ] = None,
    each: Annotated[
        str | None,
        typer.Option(help="Instead of --wanted: so many people for each of the targets, such as 3.", metavar="NUMBER"),
    ] = None,
    numbers: Annotated[
        str | None,
        typer.Option(
            help="Instead of --wanted: how many people for each target, in their order, such as 3,5,2.", metavar="LIST"
        ),
    ] = None,
    epsilon_per_km: Annotated[
        str | None, typer.Option(help=f"{EPSILON_HELP[:-1]} (default: {EPSILON}).", metavar="NUMBER")
    ] = None,
    delta: Annotated[str | None, typer.Option(help=f"{DELTA_HELP[:-1]} (default: {DELTA}).", metavar="NUMBER")] = None,
    lower_deltas: Annotated[str | None, typer.Option(help=LOWER_DELTAS_HELP, metavar="LIST")] = None,
    constants: Annotated[Path | None, typer.Option(help=CONSTANTS_HELP, metavar="FILE")] = None,
    rule: Annotated[
        RuleName | None, typer.Option(help=f"Which of their places devices report (default: {DEFAULT_RULE}).")
    ] = None,
    period: Annotated[
        PeriodName | None, typer.Option(help="Predict where people will be in the next week or day (default: week).")
    ] = None,
    rounds: Annotated[
        str | None, typer.Option(help=f"Number of rounds (default: {ROUNDS}; of a panel: 1).", metavar="NUMBER")
    ] = None,
    panel: Annotated[
        bool,
        typer.Option(
            "--panel",
            help="Ask people once, and select from their answers as often as needed: see `campaign select`. --targets "
            "are then the places that may be asked for (default: all cells).",
        ),
    ] = False,
    renew_every: Annotated[
        str | None,
        typer.Option(
            help="With --panel and --rounds: ask everyone again after this time, such as 90d.", metavar="TIME"
        ),
    ] = None,
    round_size: Annotated[
        str | None,
        typer.Option(help="Number of reports that closes a round (default: users / rounds).", metavar="NUMBER"),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            help="Close a round after this time at the latest: 90s, 30m, 12h or 2d, or never (default: 7d).",
            metavar="TIME",
        ),
    ] = None,
    enrolment: Annotated[
        EnrolmentName | None, typer.Option(help="Let anyone join, or only people with an invite (default: invite).")
    ] = None,
    algorithm: Annotated[
        AlgorithmName | None, typer.Option(help="Our algorithm, or Algorithm 2 of the paper (default: crowdveil).")
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(
            help=f"With algorithm-2: chance that as many as wanted can be selected (default: {CONFIDENCE}).",
            metavar="NUMBER",
        ),
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(
            help="Where people are (CSV): one probability per line, or a header and cell,probability "
            "(default: the same in every cell).",
            metavar="FILE",
        ),
    ] = None,
    null_epsilon: Annotated[
        str | None,
        typer.Option(
            help="Limit how much a reply tells about being outside the area, such as ln16 (default: ln64).",
            metavar="NUMBER",
        ),
    ] = None,
    grade_epsilon: Annotated[
        str | None,
        typer.Option(
            help="Limit how much a reply tells about one grade of visitors or the next, such as ln4 (default: ln8).",
            metavar="NUMBER",
        ),
    ] = None,
    clear: Annotated[
        bool,
        typer.Option(
            "--clear",
            help="Let replies say openly that there is no frequent place, as in the paper. Most phones refuse this.",
        ),
    ] = False,
    seed: Annotated[
        str | None,
        typer.Option(
            help="Seed of the lottery between equal people, 64 hex digits (default: drawn by the server).",
            metavar="HEX",
        ),
    ] = None,
    beyond_default_limits: Annotated[
        bool,
        typer.Option(
            "--beyond-default-limits",
            help="Create the campaign even if every phone with the default limits will refuse it.",
        ),
    ] = False,
) -> PlanFields:
    """Read the fields of a plan; none if no option was given."""
    counts = {"users": users, "wanted": wanted, "rounds": rounds, "round_size": round_size}
    reals = {"share": share, "delta": delta, "confidence": confidence}
    protection = {"null_epsilon": null_epsilon, "grade_epsilon": grade_epsilon}
    epsilons = {"epsilon_per_km": epsilon_per_km, **protection}
    words = {"rule": rule, "period": period, "enrolment": enrolment, "algorithm": algorithm}
    texts = {"name": name, "offer": offer, "seed": seed, **words}
    others = {"area": area, "targets": targets, "deadline": deadline, "prior": prior, "lower_deltas": lower_deltas}
    others |= {"constants": constants, "each": each, "numbers": numbers}
    others |= {"renew_every": renew_every}
    flags = {"panel": panel or None, "clear": clear or None, "beyond_default_limits": beyond_default_limits or None}
    flags |= {"keep_apart": keep_apart or None, "leave_out_outside": leave_out_outside or None}
    given: dict[str, object] = {**counts, **reals, **epsilons, **texts, **others, **flags}
    if plan is not None:
        refuse(given, "can't be combined with --plan")
        return read_plan_fields(plan)
    if all(value is None for value in given.values()):
        return {}
    if users is None:
        raise missing("users", "say how many people may take part")
    how_many = {"wanted": wanted, "share": share, "each": each, "numbers": numbers}
    said = [name for name, text in how_many.items() if text is not None]
    refuse({name: how_many[name] for name in said[1:]}, f"can't be combined with --{(said or [''])[0]}")
    if share is not None and not 0 < read_real("share", share) < 1:
        raise InputError("share", share, "should be above 0 and below 1, such as 0.05 for 5 %")
    if panel:
        refuse(how_many, "can't be combined with --panel; each selection says how many people it wants, and where")
        several = rounds is not None and read_whole("rounds", rounds) > 1
        if several and renew_every is None:
            raise missing("renew-every", f"say when a panel of {rounds} rounds asks again, such as 90d")
        if renew_every is not None and not several:
            raise missing("rounds", "say how often the panel asks in all, at least twice, such as 3")
    elif renew_every is not None:
        raise InputError("renew-every", renew_every, "applies only with --panel")
    epsilons["epsilon_per_km"] = EPSILON if epsilon_per_km is None else epsilon_per_km
    reals["delta"] = DELTA if delta is None else delta
    fields: PlanFields = {key: str(text) for key, text in texts.items() if text is not None}
    fields |= {key: read_whole(key, text) for key, text in counts.items() if text is not None}
    fields |= {key: _finite(key, read_real(key, text)) for key, text in reals.items() if text is not None}
    fields |= {key: _finite(key, read_epsilon(text, key)) for key, text in epsilons.items() if text is not None}
    if clear:
        refuse({**protection, "lower_deltas": lower_deltas}, "can't be combined with --clear")
        fields |= dict.fromkeys(protection)
    if deadline is not None:
        fields["deadline_s"] = None if deadline == "never" else read_duration("deadline", deadline)
    if lower_deltas is not None:
        fields["lower_deltas"] = read_lower_deltas(lower_deltas)
    if constants is not None:
        fields["profile_constants"] = list(read_constants(constants, fields.get("period", "week")).values)
    if panel:
        fields |= {"panel": True, "rounds": fields.get("rounds", 1)}
    if renew_every is not None:
        fields["renewal_s"] = read_duration("renew-every", renew_every)
        closes_s = fields.get("deadline_s", DEFAULT_DEADLINE_S)
        if closes_s is not None and fields["renewal_s"] < closes_s:
            limit = f"the default --deadline of {closes_s // 86_400}d" if deadline is None else f"--deadline {deadline}"
            expected = f"should be at least {limit}: a round should be closed before the next one opens"
            raise InputError("renew-every", renew_every, expected)
    if beyond_default_limits:
        fields["beyond_default_limits"] = True
    if area is None:
        raise missing("area", "name the file from `crowdveil area`, or a whole --plan")
    if targets is None and not panel:
        raise missing("targets", "name the places to cover, or a file of them")
    cells = load_area(area)
    if targets is None:
        fields |= {"area": cells.describe(), "targets": list(range(len(cells)))}
    else:
        covered = find_targets(targets, cells, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
        fields |= {"area": cells.describe(), **place_fields(covered)}
    if wanted is None and share is None and not panel:
        fields["numbers"] = read_numbers(covered, each, numbers)
    if prior is not None:
        believed = check_prior(read_prior(prior, cells), len(cells))
        if targets is not None:
            warn_of_empty_targets(believed, covered)
        fields["prior"] = believed.tolist()
    return fields


@taking(operator)
@taking(plan_fields)
def create(
    fields: PlanFields,
    server: Operator,
    campaign: Annotated[str, typer.Argument(help="The campaign's ID: small letters, digits and -.", metavar="ID")],
    json: AsJson = False,
) -> None:
    """Make a draft of a campaign.

    Nobody sees it before it is started. Sending the same plan again changes nothing; another plan is refused
    (`campaign edit` replaces it).
    """
    plan = _whole_plan(campaign, fields)
    with working("making the draft"), _naming_options():
        view = server.create(campaign, plan)
    show_view(view, json)
    _advise(view, json)


@taking(operator)
@taking(plan_fields)
def edit(
    fields: PlanFields,
    server: Operator,
    campaign: Annotated[str, typer.Argument(help="The ID of a draft.", metavar="ID")],
    json: AsJson = False,
) -> None:
    """Replace the plan of a draft.

    The new plan is only what is given here: an option that is left out has its default, not what it was. The seed of
    the lottery stays, unless a plan names one. Invites made before are deleted if they promise anything else than the
    new plan. Once a campaign was started, its plan is fixed; `campaign copy` makes a draft from it.
    """
    plan = _whole_plan(campaign, fields)
    with working("replacing the plan"), _naming_options():
        replaced = server.replace_plan(campaign, plan)
    if json:
        show_json(replaced.model_dump(mode="json"))
    else:
        show_view(replaced.campaign, json)
    if replaced.invites_deleted:
        warn(
            f"{replaced.invites_deleted:,} invites were deleted: their links promise what the old plan said. "
            f"Make new ones: crowdveil campaign invites {campaign}"
        )
    _advise(replaced.campaign, json)


def _whole_plan(campaign: str, fields: PlanFields) -> CampaignPlan:
    if not fields:
        raise missing("area", "say what to cover, with --area, --targets and so on, or with a whole --plan")
    if "offer" not in fields:
        raise missing("offer", "say what the people who are selected are told and offered")
    return campaign_plan({"name": campaign, **fields})


@contextmanager
def _naming_options() -> Iterator[None]:
    """Say which option to give where the server names a field."""
    try:
        yield
    except ServerRefused as error:
        detail = error.detail.replace("set beyond_default_limits", "give --beyond-default-limits")
        raise ServerRefused(error.kind, detail) from None


def _advise(view: CampaignView, json: bool) -> None:
    """Say what to know about a draft before it is started."""
    campaign, plan = view.campaign, view.plan
    answers = _answers_allowed(plan)
    if plan.panel and answers < plan.rounds:
        warn(
            f"phones with the default limits answer at most {answers:,} of the {plan.rounds:,} rounds, and none of "
            "another campaign; ask less often, or take a smaller --epsilon-per-km and --null-epsilon."
        )
    if not json and view.state == "draft":
        note(
            f"This is a draft. To see what to expect: crowdveil campaign "
            f"{'expect' if plan.panel else 'preview'} {campaign}. "
            f"To start it: crowdveil campaign start {campaign}"
        )


@taking(operator)
@taking(plan_fields)
def preview(
    fields: PlanFields,
    server: Operator,
    campaign: Annotated[
        str | None, typer.Argument(help="A campaign on the server.", metavar="ID", show_default=False)
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Draw the first round's chance of being selected (.png or .svg).", metavar="FILE"),
    ] = None,
    json: AsJson = False,
) -> None:
    """Say what a campaign promises before it starts.

    Takes the ID of a campaign on the server, or a plan, which is not stored. The promise is computed for the prior
    that is given, or for people spread evenly; the campaign itself learns where people are.
    """
    if picture is not None:
        check_destination("picture", picture, (".png", ".svg"))
        require_extra("--picture", "plots")
    if campaign is not None:
        if fields:
            raise InputError("campaign", campaign, "can't be combined with a plan: the campaign has one")
        plan = server.view(campaign).plan
    elif fields:
        plan = campaign_plan({"name": "preview", "offer": "none", **fields})
    else:
        raise missing("area", "name a campaign's ID, or a plan: --area, --targets and so on, or --plan")
    with working("computing what it promises"):
        found = server.preview(plan)
    if picture is not None:
        _draw(plan, found, picture)
    if json:
        show_json(found.model_dump(mode="json"))
    else:
        show_preview(found, plan)


def _answers_allowed(plan: CampaignPlan) -> float:
    """Say how many answers to a plan the default limits of a device allow."""
    null_epsilon = max(plan.null_epsilon or 0.0, len(plan.thresholds) * (plan.grade_epsilon or 0.0))
    charge = Charge(plan.epsilon_per_km, null_epsilon, clear=plan.null_epsilon is None)
    return more_reports(Spent(), charge, PrivacyLimits())


def place_fields(covered: NamedTargets) -> PlanFields:
    """Give the fields of a plan that say what to cover; targets that were given as cells have no names."""
    fields: PlanFields = {"targets": list(covered.cells)}
    if not covered.by_cell:
        fields["target_names"] = list(covered.names)
        places = [(one.latitude, one.longitude) for one in covered.targets]
        if all(latitude is not None for latitude, _ in places):
            fields["target_coordinates"] = [list(place) for place in places]
    return fields


def read_numbers(covered: NamedTargets, each: str | None, numbers: str | None) -> list[int]:
    """Say how many people are wanted at each target: as the options say, or as the file of targets does."""
    given = [number for number in covered.numbers if number is not None]
    if given and (each is not None or numbers is not None):
        option = "--each" if each is not None else "--numbers"
        note(f"The numbers of people in the list of targets are not used, because {option} is given.")
    if each is not None:
        return [read_whole("each", each, 1)] * len(covered)
    if numbers is None:
        if not given:
            raise missing("wanted", "say how many people are to be selected: --wanted, --share, --each or --numbers")
        if len(given) < len(covered):
            without = next(one.name for one in covered.targets if one.number is None)
            expected = (
                "should be given for every target, or for none (then give --wanted, --share, --each or --numbers)"
            )
            raise InputError("number", f"none for {without}", expected)
        return given
    found = [read_whole("numbers", part.strip(), 1) for part in numbers.split(",")]
    if len(found) != len(covered):
        expected = f"should have one number for each of the {len(covered)} targets that are named, in their order"
        raise InputError("numbers", numbers, expected)
    return found


def _finite(field: str, number: float) -> float:
    """Refuse a number that JSON cannot hold; its other limits are checked with the whole plan."""
    if not isfinite(number):
        raise InputError(field, number, "should be a finite number")
    return number


def _draw(plan: CampaignPlan, found: Preview, path: Path) -> None:
    with working("drawing the picture"), tempfile.TemporaryDirectory() as folder:
        from crowdveil.plots.charts import map_of_cells  # matplotlib takes a second to load
        from crowdveil.plots.style import save

        title = "Chance of being selected, by cell, in the first round"
        chances = np.array(found.hit_probability)
        figure = map_of_cells(Area.from_description(plan.area), chances, plan.targets, title, "chance", percent=True)
        picture = save(figure, folder, "map")
    write_bytes(path, picture.png if path.suffix.lower() == ".png" else picture.svg.encode())
