"""`crowdveil plan`: what a panel will bring, how many people to ask, and how often in a year."""

from __future__ import annotations

from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from crowdveil.area import Area
from crowdveil.campaign import (
    FADING_PER_WEEK,
    Knowledge,
    LikelyRange,
    Plan,
    SelectionRequest,
    people_needed,
    possible_campaigns,
    predict,
    year_ahead,
)
from crowdveil.campaign.people_needed import DEFAULT_SELECTED_FOR_ONE
from crowdveil.cli.campaign_plan import read_numbers
from crowdveil.cli.console import Verb, new_app, note, progress_bar, show, show_json, show_rows, working
from crowdveil.cli.files import load_area
from crowdveil.cli.options import (
    EPSILON,
    EPSILON_HELP,
    missing,
    read_epsilon,
    read_share,
    read_whole,
    refuse,
    written_as_logarithm,
)
from crowdveil.cli.targets import TARGETS_HELP, KeepApart, LeaveOutOutside, find_targets, places_of
from crowdveil.errors import InputError
from crowdveil.prior import read_population, read_prior

EXAMPLES = """\b
Examples:
  crowdveil plan --area area.json --targets shops.csv --users 2000 --wanted 60
      --population inhabitants.csv --regular-share 0.3 --drivers no
  crowdveil plan --area area.json --targets shops.csv --coming 10
      --epsilon-per-km ln4,ln16 --population inhabitants.csv
  crowdveil plan --area area.json --targets shops.csv --users 2000 --wanted 60
      --weeks 26 --campaigns 26
"""
MAX_USERS = 100_000
DAYS_PER_WEEK = 7
ACCEPTED = {True: "by default", False: "if owners allow it"}
MIDDLE = "Numbers before a range are medians: the truth is as probably above as below them."


class YesNo(StrEnum):
    """An answer of someone who may also not know."""

    yes = "yes"
    no = "no"


app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
def run(
    area: Annotated[Path, typer.Option(help="The area (.json), from `crowdveil area`.", metavar="FILE")],
    targets: Annotated[str, typer.Option(help=TARGETS_HELP, metavar="PLACES")],
    keep_apart: KeepApart = False,
    leave_out_outside: LeaveOutOutside = False,
    users: Annotated[str | None, typer.Option(help="How many people you will ask.", metavar="NUMBER")] = None,
    wanted: Annotated[
        str | None, typer.Option(help="How many of them to select, for any of the places.", metavar="NUMBER")
    ] = None,
    each: Annotated[
        str | None, typer.Option(help="Instead of --wanted: how many to select for each place.", metavar="NUMBER")
    ] = None,
    coming: Annotated[
        str | None,
        typer.Option(
            help="Instead of --users: how many people should come to each place; says how many to ask for that.",
            metavar="NUMBER",
        ),
    ] = None,
    most: Annotated[
        str | None,
        typer.Option(help=f"With --coming: the most people you could ask (default: {MAX_USERS:,}).", metavar="NUMBER"),
    ] = None,
    selected_for_one: Annotated[
        str | None,
        typer.Option(
            help="With --coming: how many people may be selected for each one who should come "
            f"(default: {DEFAULT_SELECTED_FOR_ONE}).",
            metavar="NUMBER",
        ),
    ] = None,
    epsilon_per_km: Annotated[
        str, typer.Option(help=f"{EPSILON_HELP} With --coming, several with commas between.", metavar="NUMBER")
    ] = EPSILON,
    population: Annotated[
        Path | None,
        typer.Option(
            help="How many people are counted where, CSV or GeoJSON: cell,people or latitude,longitude,people.",
            metavar="FILE",
        ),
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(help="Where people's regular places are, if you know that: cell,probability.", metavar="FILE"),
    ] = None,
    prior_reports: Annotated[
        str | None,
        typer.Option(help="From how many answers of an earlier panel --prior was estimated.", metavar="NUMBER"),
    ] = None,
    regular_share: Annotated[
        str | None,
        typer.Option(
            help="Of the people in the area, the share who come to their place in most weeks.", metavar="SHARE"
        ),
    ] = None,
    outside_share: Annotated[
        str | None, typer.Option(help="The share of those asked who are never in the area.", metavar="SHARE")
    ] = None,
    answering: Annotated[
        str | None, typer.Option(help="The share of those asked who answer (default: 1).", metavar="SHARE")
    ] = None,
    drivers: Annotated[
        YesNo | None,
        typer.Option(
            help="Whether people cover the whole area every day, as drivers and couriers do (default: not known)."
        ),
    ] = None,
    weeks: Annotated[
        str | None, typer.Option(help="With --campaigns: how many weeks you plan ahead.", metavar="NUMBER")
    ] = None,
    campaigns: Annotated[
        str | None, typer.Option(help="How many campaigns you will run in these weeks.", metavar="NUMBER")
    ] = None,
    fading: Annotated[
        str | None,
        typer.Option(
            help="With --campaigns: the share of its worth that an answer loses in a week, because people move "
            f"(default: {FADING_PER_WEEK:g}).",
            metavar="SHARE",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Tell what a panel will bring, before anybody is asked.

    Nobody knows where people are before they have answered. So everything is said with the range in which it will lie
    in 95 of 100 cases; the more you can tell of the people, the narrower it is.
    """
    cells = load_area(area)
    found = find_targets(targets, cells, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
    known = _known(cells, population, prior, prior_reports, regular_share, outside_share, answering, drivers)
    epsilons = [read_epsilon(one) for one in epsilon_per_km.split(",")]
    plan = Plan(cells, found.cells, epsilons[0], MAX_USERS, rounds=1, target_names=found.names, panel=True)
    if coming is not None:
        refuse(
            {"users": users, "wanted": wanted, "each": each, "campaigns": campaigns, "weeks": weeks, "fading": fading},
            "can't be combined with --coming",
        )
        ceiling = MAX_USERS if most is None else read_whole("most", most, 1)
        for_one = DEFAULT_SELECTED_FOR_ONE
        if selected_for_one is not None:
            for_one = read_whole("selected_for_one", selected_for_one, 1)
        people = read_whole("coming", coming, 1)
        _backwards(plan, people, known, epsilons, ceiling, for_one, places_of(found), json=json)
        return
    refuse({"most": most, "selected_for_one": selected_for_one}, "applies only with --coming")
    if len(epsilons) > 1:
        refuse({"epsilon_per_km": epsilon_per_km}, "should be one number without --coming")
    if users is None:
        raise missing("users", "how many people you will ask; or name --coming, how many should come to each place")
    if wanted is not None and each is not None:
        raise missing("wanted", "how many people to select; or name --each, how many for each place")
    plan = replace(plan, users=read_whole("users", users, 1))
    numbers = None if wanted is not None else tuple(read_numbers(found, each, None))
    if numbers is not None and sum(numbers) > plan.users:
        expected = (
            f"should be at most {plan.users // len(numbers):,}, for {len(numbers)} places and {plan.users:,} people"
        )
        if each is not None:
            raise InputError("each", each, expected)
        raise InputError(
            "number", f"{sum(numbers):,} people in all", f"should add up to at most --users {plan.users:,}"
        )
    request = SelectionRequest(
        plan.targets,
        0 if wanted is None else read_whole("wanted", wanted, 1, plan.users),
        numbers,
        plan.target_names,
    )
    if campaigns is None:
        refuse({"weeks": weeks, "fading": fading}, "applies only with --campaigns")
        _ahead(plan, request, known, places_of(found), json=json)
        return
    if weeks is None:
        raise missing("weeks", "how many weeks the campaigns are spread over")
    lost = FADING_PER_WEEK if fading is None else read_share("fading", fading)
    days = DAYS_PER_WEEK * read_whole("weeks", weeks, 1)
    _year(plan, request, known, days, read_whole("campaigns", campaigns, 1), lost, places_of(found), json=json)


def _known(
    area: Area,
    population: Path | None,
    prior: Path | None,
    reports: str | None,
    regular_share: str | None,
    outside_share: str | None,
    answering: str | None,
    drivers: YesNo | None,
) -> Knowledge:
    if prior is not None:
        refuse({"population": population}, "can't be combined with --prior")
    else:
        refuse({"prior_reports": reports}, "applies only with --prior")
    roaming = None if drivers is None else drivers is YesNo.yes
    shares: dict[str, Any] = {
        name: read_share(name, text)
        for name, text in (
            ("regular_share", regular_share),
            ("outside_share", outside_share),
            ("answering", answering),
        )
        if text is not None
    }
    if population is not None:
        counted = read_population(population, area)
        if counted.outside:
            rows = f"{counted.outside:,} of {counted.rows:,} places"
            note(f"{rows} of {population}, with {counted.people_outside:,.0f} people, lie outside of the area.")
        return Knowledge(counted.people, "population", roaming=roaming, **shares)
    if prior is None:
        return Knowledge(roaming=roaming, **shares)
    shape = read_prior(prior, area)
    if reports is None:
        return Knowledge(shape, "prior", roaming=roaming, **shares)
    return Knowledge(shape, "reports", read_whole("prior_reports", reports, 1), roaming=roaming, **shares)


def _ahead(plan: Plan, request: SelectionRequest, known: Knowledge, places: dict[str, Any], *, json: bool) -> None:
    with working("Imagining crowds"):
        told = predict(possible_campaigns(plan, known, request), request)
    if json:
        show_json({**asdict(told), **places})
        return
    show(
        "What to expect",
        {
            "people asked": f"{plan.users:,}",
            "selected": _range(told.selected),
            "come to a place": _range(told.visitors),
            "coverage": _share_range(told.coverage),
        },
    )
    header = ["place", "come", "come of all who answer", "somebody comes" if request.numbers is None else "as wanted"]
    rows = [
        [plan.place_name(place), _range(come), _range(there), f"{enough:.0%}"]
        for place, (come, there, enough) in enumerate(zip(told.places, told.possible, told.enough, strict=True))
    ]
    show_rows("At each place", header, rows)
    note(MIDDLE)


def _backwards(
    plan: Plan,
    coming: int,
    known: Knowledge,
    epsilons: list[float],
    most: int,
    selected_for_one: int,
    places: dict[str, Any],
    *,
    json: bool,
) -> None:
    with progress_bar("Looking for numbers") as progress:
        found = people_needed(
            plan,
            coming,
            known,
            epsilons_per_km=epsilons,
            selected_for_one=selected_for_one,
            max_people=most,
            progress=progress,
        )
    if json:
        show_json({"options": [asdict(one) for one in found], **places})
        return
    header = ["ε per km", "ask", "select for each place", "chance of enough", "coverage", "devices accept"]
    rows = [
        [
            written_as_logarithm(one.epsilon_per_km),
            "no number is enough" if one.people is None else f"{one.people:,}",
            f"{one.selected:,}",
            f"{one.chance:.0%}",
            _share_range(one.coverage),
            ACCEPTED[one.within_defaults],
        ]
        for one in found
    ]
    show_rows(f"So that {coming:,} come to each place", header, rows)
    for one in found:
        if one.advice is not None:
            option = {
                "asked": f" --most is {most:,} now.",
                "selected": f" --selected-for-one is {selected_for_one} now.",
            }
            more = option.get(one.limit or "", "")
            note(f"At ε = {written_as_logarithm(one.epsilon_per_km)}: {one.advice}{more}")
    note(MIDDLE)


def _year(
    plan: Plan,
    request: SelectionRequest,
    known: Knowledge,
    days: int,
    campaigns: int,
    fading: float,
    places: dict[str, Any],
    *,
    json: bool,
) -> None:
    with progress_bar("Imagining crowds") as progress:
        found = year_ahead(
            plan, request, known, days=days, campaigns=campaigns, fading_per_week=fading, progress=progress
        )
    if json:
        show_json({"options": [asdict(one) for one in found], **places})
        return
    header = [
        "way",
        "answers of each person",
        "ε per km",
        "campaigns with people",
        "mean coverage",
        "right after an answer",
        "devices accept",
    ]
    rows = [
        [
            {"panel": "a panel", "fresh": "asked anew each time", "split": "the limit split"}[one.kind],
            f"{one.reports}",
            f"{one.epsilon_per_km:.3g}",
            f"{one.answered} of {campaigns}",
            f"{one.mean:.1%}",
            _share_range(one.first),
            ACCEPTED[one.within_defaults],
        ]
        for one in found
    ]
    show_rows(f"{campaigns:,} campaigns in {days // DAYS_PER_WEEK:,} weeks", header, rows)
    note(MIDDLE)


def _share_range(told: LikelyRange) -> str:
    return f"{told.middle:.0%} ({told.low:.0%} to {told.high:.0%})"


def _range(told: LikelyRange) -> str:
    if told.low == told.high:
        return f"{told.low:,.0f}"
    return f"{told.middle:,.0f} ({told.low:,.0f} to {told.high:,.0f})"
