"""Print a campaign: how it stands, what it promises, and whether its selection can be reproduced."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import typer

from crowdveil.campaign.audit import AuditVerdict
from crowdveil.campaign.state import panel_rounds_in_use
from crowdveil.cli.console import note, show, show_json, show_rows, warn
from crowdveil.formatting import exact, in_plain_words, rounded_up_below
from crowdveil.vocabulary import Cover
from crowdveil.wire import CampaignPlan, CampaignView, Expectation, ExpectedPeople, Preview, PreviewPoint, RoundView

COVERS: dict[Cover, str] = {"any": "at any place", "each": "as many at each", "numbers": "own numbers"}
ROUNDS = ["round", "state", "seats taken", "reports", "refused", "closes", "policy"]
CONTRADICTION, CONTRADICTION_FACTOR = 0.05, 3
"""Answers contradict a prior if they move so large a share of the people, and change it by so large a factor."""
POINTS = ["ε per km", "wanted", "expected coverage"]


def when(seconds: int) -> str:
    """Write a time for people, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def show_view(view: CampaignView, json: bool) -> None:
    """Print how a campaign stands, in words or as JSON."""
    if json:
        show_json(view.model_dump(mode="json"))
        return
    plan = view.plan
    reports = sum(one.accepted for one in view.rounds)
    facts = {
        "campaign": f"{view.campaign}: {plan.name}",
        "state": view.state,
        "created": when(view.created) + (f" by {view.operator}" if view.operator else ""),
        "privacy": f"ε = {exact(plan.epsilon_per_km)} per km: {in_plain_words(plan.epsilon_per_km)}",
        "protected": _protected(plan),
        "server's key": view.server_key,
        "terms": view.terms_hash,
        "wanted": f"{_wanted(plan)}, of {plan.users:,} people who may take part, {plan.enrolment} to join",
        "reports": f"{reports:,} in {len(view.rounds)} of {plan.rounds} rounds",
    }
    if view.finished is not None:
        facts["finished"] = when(view.finished)
    if view.kept_until is not None:
        facts["kept until"] = f"{when(view.kept_until)}; the server deletes it then"
    elif view.keep_days is not None:
        facts["kept for"] = (
            f"{view.keep_days:,} {_days(view.keep_days)} after it is finished; the server deletes it then"
        )
    if view.failure is not None:
        facts["cannot go on"] = f"{view.failure}; the server tries again by itself"
    if plan.panel and (used := answers_in_use(view)) is not None:
        facts["selections"] = used
    if view.shared_with:
        facts["shared with"] = ", ".join(view.shared_with)
    if view.expected_coverage is not None:
        facts["expected coverage"] = f"{view.expected_coverage:.2%}"
    if view.selected is not None:
        last = f", the last of {view.selections:,} selections" if plan.panel else ""
        facts["selected"] = f"{view.selected:,}{last}"
    show("Campaign", facts)
    if view.rounds:
        show_rows("Rounds", ROUNDS, [_round(one) for one in view.rounds])
    if view.expectation is not None:
        show_places(plan.target_names, view.expectation)
    warn_of_wrong_prior(view)


def warn_of_wrong_prior(view: CampaignView) -> None:
    """Print a warning if the answers put far more or far fewer people at the targets than the plan's prior."""
    plan = view.plan
    if plan.prior is None or view.estimate is None or plan.panel:
        return
    cells, targets = len(view.estimate), list(plan.targets)
    told = float(np.array(plan.prior).reshape(-1, cells)[:, targets].sum())
    found = float(np.array(view.estimate)[targets].sum())
    if abs(found - told) >= CONTRADICTION and max(found, told) >= CONTRADICTION_FACTOR * min(found, told):
        warn(
            f"the plan's prior has {told:.1%} of the people at the targets; the answers so far say {found:.1%}. "
            "The answers count. Do the prior and the area belong together?"
        )


def answers_in_use(view: CampaignView, closed: int | None = None) -> str | None:
    """Say which answers of a panel its selections use, and which no longer; None before a round is closed.

    `closed` says how many rounds count as closed (default: those that are).
    """
    if closed is None:
        closed = sum(one.state == "closed" for one in view.rounds)
    answers = [one.accepted for one in view.rounds[:closed]]
    if not closed:
        return None
    if not any(answers):
        return "nobody has answered yet"
    [used] = panel_rounds_in_use(answers)
    said = f"use the {_answers(answers[used])} of round {used + 1}"
    before = [f"the {count:,} of round {number + 1}" for number, count in enumerate(answers[:used]) if count]
    if before:
        said += (
            f"; {' and '.join(before)} are no longer used, because people who renewed are among both, and nobody can "
            "tell which they are"
        )
    if any(one.state == "open" for one in view.rounds[closed:]):
        said += f"; once round {closed + 1} is closed, only its answers are used"
    return said


def _days(count: int) -> str:
    return "day" if count == 1 else "days"


def _answers(count: int) -> str:
    return f"{count:,} {'answer' if count == 1 else 'answers'}"


def _wanted(plan: CampaignPlan) -> str:
    if plan.panel:
        return f"any number of selections for {len(plan.targets):,} places"
    if plan.numbers is None:
        return f"{plan.people_wanted:,} people at any target"
    if plan.cover == "each":
        return f"{plan.numbers[0]:,} people at each of {len(plan.targets)} places, {plan.people_wanted:,} in all"
    listed = ", ".join(f"{number:,}" for number in plan.numbers)
    return f"{listed} people at the {len(plan.targets)} places, {plan.people_wanted:,} in all"


def show_places(names: Sequence[str] | None, found: Expectation, believed: str = "") -> None:
    """Print how many people are expected at each place, with 95 % intervals, and what these take to be true."""
    header = ["place", "name", "wanted", "selected", "by symbol", "expected", "95 %", "of everybody"]
    rows = [
        [
            str(number + 1),
            "" if names is None else names[number],
            "any" if one.wanted is None else f"{one.wanted:,}",
            _few(one.selected),
            _few(one.by_symbol),
            _few(one.visitors.people),
            f"{one.visitors.low:,} to {one.visitors.high:,}",
            _few(one.possible),
        ]
        for number, one in enumerate(found.places)
    ]
    visitors = found.visitors
    total = [
        "all",
        "",
        "" if found.numbers is None else f"{sum(found.numbers):,}",
        _few(found.selected),
        _few(sum(one.by_symbol for one in found.places)),
    ]
    rows.append([*total, _few(visitors.people), f"{visitors.low:,} to {visitors.high:,}", ""])
    show_rows(f"People expected at each place {believed}".rstrip(), header, rows)
    if believed:
        note(f"These ranges hold {believed}. For ranges without that assumption: crowdveil plan")


def show_covers(plan: CampaignPlan, covers: Sequence[Expectation]) -> None:
    """Print beside each other what people at any target, the same number at each, and own numbers would bring."""
    header = ["place", *(f"{COVERS[one.cover]}{_numbers(one)}" for one in covers)]
    rows = [
        [
            str(number + 1) + ("" if plan.target_names is None else f" {plan.target_names[number]}"),
            *map(_expected, places),
        ]
        for number, places in enumerate(zip(*([one.visitors for one in cover.places] for cover in covers), strict=True))
    ]
    rows.append(["all", *(_expected(one.visitors) for one in covers)])
    show_rows("Expected, if people are wanted", header, rows)


def _numbers(one: Expectation) -> str:
    return f" ({one.numbers[0]:,})" if one.cover == "each" and one.numbers is not None else ""


def _expected(visitors: ExpectedPeople) -> str:
    return f"{_few(visitors.people)} ({visitors.low:,} to {visitors.high:,})"


def _few(people: float) -> str:
    return f"{people:.1f}" if people < 10 else f"{people:,.0f}"


def _protected(plan: CampaignPlan) -> str:
    if plan.null_epsilon is None:
        return "the place only: a reply says openly that there is no frequent place"
    outside = f"being outside the area (ε₀ = {exact(plan.null_epsilon)})"
    if plan.grade_epsilon is None:
        return f"the place and {outside}"
    grades = f"{1 + len(plan.thresholds)} grades, ε₁ = {exact(plan.grade_epsilon)} from each to the next"
    return f"the place, how regular a visitor is ({grades}) and {outside}"


def show_preview(preview: Preview, plan: CampaignPlan) -> None:
    """Print what a campaign promises, and what other settings would."""
    epsilon_per_km = plan.epsilon_per_km
    assumed = "people spread evenly; give --prior if you know better" if plan.prior is None else "the plan's prior"
    believed = "if people are spread evenly" if plan.prior is None else "if the plan's prior is right"
    smallest = rounded_up_below(preview.private_from_epsilon_per_km, epsilon_per_km)
    show(
        "Preview",
        {
            "cells": f"{preview.cells:,}",
            "wanted": _wanted(plan),
            "privacy": f"ε = {exact(epsilon_per_km)} per km: {in_plain_words(epsilon_per_km)}",
            "certified": f"the first round's policy is private at ε ≥ {smallest} per km",
            "selected": f"{preview.beta:.2%} of the people who report in the first round (β)",
            "expected coverage": f"{preview.expected_coverage:.2%} of the people selected are expected at a target",
            "assumes": assumed,
            "by chance": f"{preview.by_chance:.2%} if people were selected at random",
        },
    )
    show_places(plan.target_names, preview.expectation, believed)
    for advice in preview.advice:
        note(advice)
    show_covers(plan, preview.covers)
    show_rows("By ε", POINTS, [_point(one) for one in preview.by_epsilon])
    show_rows("By people wanted", POINTS, [_point(one) for one in preview.by_wanted])


def show_verdict(campaign: str, verdict: AuditVerdict) -> None:
    """Print what an audit found, and its verdict."""
    rows = [
        [one.step, one.verdict if one.verdict == "ok" else one.verdict.upper(), one.text] for one in verdict.findings
    ]
    show_rows("Audit", ["step", "verdict", "finding"], rows)
    if verdict.reproduced:
        typer.echo(f"Campaign {campaign} is reproduced.")
    else:
        warn(f"campaign {campaign} is NOT reproduced.")


def _round(one: RoundView) -> list[str]:
    size = "" if one.size is None else f" of {one.size:,}"
    refused = ", ".join(f"{reason}: {count:,}" for reason, count in one.refused.items()) or "none"
    closes = "when full" if one.deadline is None else when(one.deadline)
    policy = (one.policy_hash or "")[:12]
    return [str(one.number + 1), one.state, f"{one.seated:,}{size}", f"{one.accepted:,}", refused, closes, policy]


def _point(one: PreviewPoint) -> list[str]:
    return [f"{one.epsilon_per_km:.6g}", f"{one.wanted:,}", f"{one.expected_coverage:.2%}"]
