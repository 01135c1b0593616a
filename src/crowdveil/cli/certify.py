"""`crowdveil certify`: check that a policy, or a table, is private. Exit code 0 yes, 1 no, 2 unreadable."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from crowdveil.certify import Certificate, certify, certify_file
from crowdveil.cli.console import NOT_PRIVATE, Verb, new_app, progress_bar, show, show_json
from crowdveil.cli.files import load_area, load_policy
from crowdveil.cli.options import missing, read_epsilon
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.formatting import exact, in_plain_words

EXAMPLES = """\b
Examples:
  crowdveil certify policy.json
  crowdveil certify policy.cvp --epsilon-per-km ln2 --json
  crowdveil certify --table table.csv --area area.json --epsilon-per-km 1.386
Exit code: 0 private, 1 not private, 2 unreadable.
"""

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
def run(
    policy: Annotated[
        Path | None, typer.Argument(help="The policy, .json or .cvp.", metavar="POLICY", show_default=False)
    ] = None,
    epsilon_per_km: Annotated[
        str | None,
        typer.Option(
            help="Check at this ε per km, such as ln4 (default: the one that the policy states).", metavar="NUMBER"
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="Check a table (CSV) instead of a policy: a row per true cell, a column per symbol.", metavar="FILE"
        ),
    ] = None,
    area: Annotated[
        Path | None, typer.Option(help="With --table: the area (.json) of its rows.", metavar="FILE")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the certificate as JSON.")] = False,
) -> None:
    """Check that a policy, or a table, is private.

    Uses exact arithmetic. Prints the smallest ε that holds, and the pair of cells that needs it.
    """
    epsilon = None if epsilon_per_km is None else read_epsilon(epsilon_per_km)
    if policy is not None and table is not None:
        raise InputError("policy", str(policy), "can't be combined with --table")
    if policy is not None:
        if area is not None:
            raise InputError("area", str(area), "applies only to --table; a policy holds its own area")
        loaded = load_policy(policy)
        with progress_bar("certifying") as report:
            certificate = certify(loaded, epsilon_per_km=epsilon, progress=report)
    elif table is not None:
        certificate = _check_table(table, area, epsilon)
    else:
        raise CrowdveilError("name the policy to certify, or a --table")
    if json:
        show_json(_document(certificate) | {"file": str(policy or table)})
    else:
        show("Certificate", {"file": str(policy or table)} | _facts(certificate))
    if not certificate.ok:
        raise typer.Exit(NOT_PRIVATE)


def _check_table(table: Path, area: Path | None, epsilon: float | None) -> Certificate:
    if area is None or epsilon is None:
        raise missing("area" if area is None else "epsilon-per-km", "a --table needs both --area and --epsilon-per-km")
    cells = load_area(area)
    with progress_bar("certifying") as report:
        return certify_file(table, cells, epsilon, progress=report)


def _facts(certificate: Certificate) -> dict[str, str]:
    epsilon, smallest = certificate.epsilon_per_km, certificate.smallest_shown
    facts = {
        "private": "yes" if certificate.ok else "NO",
        "checked at": f"ε = {exact(epsilon)} per km: {in_plain_words(epsilon)}",
        "smallest ε": f"{smallest} per km" if np.isfinite(certificate.smallest_epsilon_per_km) else smallest,
        "inequalities": f"{certificate.inequalities:,} of {certificate.cells:,} cells",
        "verdict": certificate.explain(),
    }
    if certificate.null is not None:
        facts["smallest ε₀"] = certificate.null.smallest_shown
    if certificate.grades is not None:
        facts["smallest ε₁"] = certificate.grades.smallest_shown
    return facts | ({"hash": certificate.policy_hash} if certificate.policy_hash else {})


def _document(certificate: Certificate) -> dict[str, Any]:
    return {
        "private": certificate.ok,
        "epsilon_per_km": certificate.epsilon_per_km,
        "smallest_epsilon_per_km": certificate.smallest_epsilon_per_km,
        "cells": certificate.cells,
        "symbols": certificate.symbols,
        "witness": None if certificate.witness is None else asdict(certificate.witness),
        "verdict": certificate.explain(),
        "hash": certificate.policy_hash or None,
        **({} if certificate.null is None else {"null": asdict(certificate.null)}),
        **({} if certificate.grades is None else {"grades": asdict(certificate.grades)}),
    }
