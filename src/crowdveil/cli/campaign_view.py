"""Print a campaign: how it stands, what it promises, and whether its selection can be reproduced."""

from __future__ import annotations

from datetime import UTC, datetime

import typer

from crowdveil.campaign.audit import AuditVerdict
from crowdveil.cli.console import show, show_json, show_rows, warn
from crowdveil.formatting import exact, in_plain_words, rounded_up_below
from crowdveil.wire import CampaignPlan, CampaignView, Preview, PreviewPoint, RoundView

ROUNDS = ["round", "state", "seats taken", "reports", "refused", "closes", "policy"]
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
        "created": when(view.created),
        "privacy": f"ε = {exact(plan.epsilon_per_km)} per km: {in_plain_words(plan.epsilon_per_km)}",
        "protected": _protected(plan),
        "server's key": view.server_key,
        "terms": view.terms_hash,
        "wanted": f"{plan.people_wanted:,} of {plan.users:,} people who may take part, {plan.enrolment} to join",
        "reports": f"{reports:,} in {len(view.rounds)} of {plan.rounds} rounds",
    }
    if view.expected_coverage is not None:
        facts["expected coverage"] = f"{view.expected_coverage:.2%}"
    if view.selected is not None:
        facts["selected"] = f"{view.selected:,}"
    show("Campaign", facts)
    if view.rounds:
        show_rows("Rounds", ROUNDS, [_round(one) for one in view.rounds])


def _protected(plan: CampaignPlan) -> str:
    if plan.null_epsilon is None:
        return "the place only: a reply says openly that there is no frequent place"
    outside = f"being outside the area (ε₀ = {exact(plan.null_epsilon)})"
    if plan.grade_epsilon is None:
        return f"the place and {outside}"
    return f"the place, being a regular visitor (ε₁ = {exact(plan.grade_epsilon)}) and {outside}"


def show_preview(preview: Preview, plan: CampaignPlan) -> None:
    """Print what a campaign promises, and what other settings would."""
    epsilon_per_km = plan.epsilon_per_km
    assumed = "people spread evenly; give --prior if you know better" if plan.prior is None else "the plan's prior"
    smallest = rounded_up_below(preview.private_from_epsilon_per_km, epsilon_per_km)
    show(
        "Preview",
        {
            "cells": f"{preview.cells:,}",
            "wanted": f"{preview.people_wanted:,} people",
            "privacy": f"ε = {exact(epsilon_per_km)} per km: {in_plain_words(epsilon_per_km)}",
            "certified": f"the first round's policy is private at ε ≥ {smallest} per km",
            "selected": f"{preview.beta:.2%} of the people who report in the first round (β)",
            "expected coverage": f"{preview.expected_coverage:.2%} of the people selected regularly visit a target",
            "assumes": assumed,
            "by chance": f"{preview.by_chance:.2%} if people were selected at random",
        },
    )
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
