"""Define the options for the limits of a device's owner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer

from crowdveil.cli.options import read_epsilon, read_whole, written_as_logarithm
from crowdveil.client import PrivacyLimits

USUAL = PrivacyLimits()
REPORTS = 3
"""How many answers a new ledger allows that each cost as much as one may."""
ONE, ALL = "in one answer", "over all answers together"


class SpanName(StrEnum):
    """Over what time losses add up."""

    lifetime = "lifetime"
    twelve_months = "twelve-months"


def limit_changes(
    max_epsilon_per_km: Annotated[
        str | None,
        typer.Option(
            help=f"Maximum privacy loss about your place {ONE} (ε per km); at ln4, an answer is at most 4 times as "
            f"likely from one place as from another 1 km away (default: {written_as_logarithm(USUAL.epsilon_per_km)}).",
            metavar="NUMBER",
        ),
    ] = None,
    max_null_epsilon: Annotated[
        str | None,
        typer.Option(
            help=f"Maximum privacy loss about being in the area at all {ONE} (ε₀; default: "
            f"{written_as_logarithm(USUAL.null_epsilon)}).",
            metavar="NUMBER",
        ),
    ] = None,
    max_grade_epsilon: Annotated[
        str | None,
        typer.Option(
            help=f"Maximum privacy loss about how regularly you visit your place {ONE}, between any two grades "
            f"(default: {written_as_logarithm(USUAL.grade_epsilon)}).",
            metavar="NUMBER",
        ),
    ] = None,
    total_epsilon_per_km: Annotated[
        str | None,
        typer.Option(
            help=f"Maximum of ε per km {ALL} (default in a new ledger: 3 times that of one).", metavar="NUMBER"
        ),
    ] = None,
    total_null_epsilon: Annotated[
        str | None,
        typer.Option(
            help=f"Maximum of ε₀ and ε₁ {ALL} (default in a new ledger: 3 times the larger of those of one).",
            metavar="NUMBER",
        ),
    ] = None,
    clear_reports: Annotated[
        str | None,
        typer.Option(
            help="How many answers may say openly whether you regularly visit anywhere in the area, as campaigns in "
            f"the clear form ask (default: {USUAL.clear_reports}).",
            metavar="NUMBER",
        ),
    ] = None,
    span: Annotated[
        SpanName | None,
        typer.Option(
            help="Whether sums run over all answers ever, or over those of any twelve months, which protects less: "
            f"what was learnt earlier stays known (default: {USUAL.span}).",
        ),
    ] = None,
    least_charge: Annotated[
        str | None,
        typer.Option(
            help=f"What an answer costs at least, however little it reveals (default: {USUAL.least_charge:g}).",
            metavar="NUMBER",
        ),
    ] = None,
    min_cell_km: Annotated[
        str | None,
        typer.Option(help=f"The finest map: minimum size of its cells (default: {USUAL.cell_km:g}).", metavar="KM"),
    ] = None,
    max_gap_km: Annotated[
        str | None,
        typer.Option(
            help=f"Maximum distance from a cell to the nearest other (default: {USUAL.gap_km:g}).", metavar="KM"
        ),
    ] = None,
    min_cells: Annotated[
        str | None,
        typer.Option(
            help=f"Minimum number of cells in the campaign's area (default: {USUAL.min_cells}).", metavar="NUMBER"
        ),
    ] = None,
    min_cells_near: Annotated[
        str | None,
        typer.Option(
            help="Minimum number of cells within 2 km of every cell, itself included (default: "
            f"{USUAL.cells_within_2_km}).",
            metavar="NUMBER",
        ),
    ] = None,
    min_delta: Annotated[
        str | None,
        typer.Option(
            help="Minimum of δ, above which a visit counts as regular, and of the thresholds below it (default: "
            f"{USUAL.delta:g}).",
            metavar="NUMBER",
        ),
    ] = None,
) -> dict[str, Any]:
    """Read the limits that the owner named."""
    given: dict[str, tuple[str, str | None, Callable[[str, str], Any]]] = {
        "epsilon_per_km": ("max_epsilon_per_km", max_epsilon_per_km, _real),
        "null_epsilon": ("max_null_epsilon", max_null_epsilon, _real),
        "grade_epsilon": ("max_grade_epsilon", max_grade_epsilon, _real),
        "total_epsilon_per_km": ("total_epsilon_per_km", total_epsilon_per_km, _real),
        "total_null_epsilon": ("total_null_epsilon", total_null_epsilon, _real),
        "clear_reports": ("clear_reports", clear_reports, read_whole),
        "least_charge": ("least_charge", least_charge, _real),
        "cell_km": ("min_cell_km", min_cell_km, _real),
        "gap_km": ("max_gap_km", max_gap_km, _real),
        "min_cells": ("min_cells", min_cells, read_whole),
        "cells_within_2_km": ("min_cells_near", min_cells_near, read_whole),
        "delta": ("min_delta", min_delta, _real),
    }
    changes = {limit: read(option, text) for limit, (option, text, read) in given.items() if text is not None}
    return changes | ({} if span is None else {"span": span.value})


def changed(limits: PrivacyLimits, changes: dict[str, Any]) -> PrivacyLimits:
    """Return the limits with some of them changed."""
    return replace(limits, **changes)


def new_limits(changes: dict[str, Any]) -> PrivacyLimits:
    """Return the limits of a new ledger; sums that were not named are 3 times what one answer may cost."""
    one = replace(USUAL, **changes)
    totals: dict[str, Any] = {
        "total_epsilon_per_km": REPORTS * one.epsilon_per_km,
        "total_null_epsilon": REPORTS * max(one.null_epsilon, one.grade_epsilon),
    }
    return replace(one, **{name: total for name, total in totals.items() if name not in changes})


def limit_facts(limits: PrivacyLimits) -> dict[str, str]:
    """Return the limits for people to read."""
    return {
        "place, one answer": f"ε = {limits.epsilon_per_km:.6g} per km",
        "place, all answers": f"ε = {limits.total_epsilon_per_km:.6g} per km",
        "being in the area, one answer": f"ε₀ = {limits.null_epsilon:.6g}",
        "how regularly, one answer": f"{limits.grade_epsilon:.6g} between any two grades",
        "being in the area and how regularly, all answers": f"{limits.total_null_epsilon:.6g}",
        "answers in the clear": str(limits.clear_reports),
        "sums run over": "all answers ever" if limits.span == "lifetime" else "any twelve months",
        "least charge": f"{limits.least_charge:g}",
        "finest map": f"{limits.cell_km:g} km",
        "largest gap": f"{limits.gap_km:g} km",
        "fewest cells": f"{limits.min_cells}, and {limits.cells_within_2_km} within 2 km of each",
        "threshold of a regular visit": f"at least {limits.delta:g}",
    }


def _real(option: str, text: str) -> float:
    return read_epsilon(text, option)
