"""`crowdveil campaign review`: what was planned, what came in, and why they differ."""

from __future__ import annotations

from dataclasses import asdict

from crowdveil.campaign import Expected, PlanComparison, Reason
from crowdveil.campaign.audit import compare_record_with_plan
from crowdveil.cli.console import note, show, show_json, show_rows, working
from crowdveil.errors import InputError
from crowdveil.wire import AuditRecord

REVIEW = """\b
Examples:
  crowdveil campaign review noise-map
  crowdveil campaign review city-panel --selection 3
  crowdveil campaign review --record record.json
"""
COUNTED = "people who answered"
"""What is a number of people; the others are shares."""


def review(record: AuditRecord, selection: int | None, *, json: bool) -> None:
    """Print why one of a record's selections (from 1; the newest by default) differs from the plan."""
    made = len(record.selections)
    if made == 0:
        raise InputError("campaign", record.campaign, "has made no selection yet; it can be reviewed once there is one")
    if selection is not None and selection > made:
        raise InputError("selection", selection, f"should be at most {made:,}: so many were made")
    number = made if selection is None else selection
    with working("comparing with the plan"):
        found = compare_record_with_plan(record, number - 1)
    if json:
        show_json({"campaign": record.campaign, "selection": number, **asdict(found)})
        return
    which = {"selection": f"{number:,} of {made:,}"} if record.plan.panel else {}
    facts = {"campaign": record.campaign, **which}
    facts["planned"] = _range(found.planned, found.planned_coverage)
    facts["estimated"] = _range(found.estimated, found.estimated_coverage)
    show("Planned and estimated", facts)
    header = ["why", "planned", "found", "people more or fewer"]
    show_rows("Why they differ", header, [_reason(one) for one in found.reasons])
    _conclude(found)


def _range(people: Expected, coverage: float) -> str:
    return f"{people.people:.1f} people come ({people.low:,} to {people.high:,}), {coverage:.1%} of those selected"


def _reason(one: Reason) -> list[str]:
    assumed, found = ("" if value is None else _value(one.what, value) for value in (one.planned, one.found))
    return [one.what, assumed, found, f"{one.people:+.1f}"]


def _value(what: str, value: float) -> str:
    return f"{value:,.0f}" if what == COUNTED else f"{value:.1%}"


def _conclude(found: PlanComparison) -> None:
    if found.contradicted:
        note("The reports contradict the plan's prior so clearly that only half of it is still believed.")
    note(
        "Nobody knows yet who came: both are forecasts, before the first report and after the last. The reasons are "
        "replaced one after the other, in this order, and add up."
    )
