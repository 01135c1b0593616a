"""`crowdveil certify`: is this policy, or this table, private? Exit code 0 yes, 1 no, 2 unreadable."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify import Certificate, certify, certify_table
from crowdveil.cli.console import NOT_PRIVATE, in_plain_words, progress_bar, show, show_json
from crowdveil.cli.files import is_header, read_number, read_rows
from crowdveil.cli.options import read_epsilon
from crowdveil.errors import FileFormatError, InputError
from crowdveil.policy.policy import Policy

EXAMPLES = """\b
Examples:
  crowdveil certify policy.json
  crowdveil certify policy.cvp --epsilon-per-km ln2 --json
  crowdveil certify --table table.csv --area area.json --epsilon-per-km 1.386
Exit code: 0 private, 1 not private, 2 unreadable.
"""


def check(
    policy: Annotated[
        Path | None, typer.Argument(help="The policy, .json or .cvp.", metavar="[POLICY]", show_default=False)
    ] = None,
    epsilon_per_km: Annotated[
        str | None,
        typer.Option(help="Check at this ε per km instead of the one the policy states.", metavar="NUMBER"),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="Check a table (CSV) instead: a row per true cell, a column per symbol.", metavar="FILE"),
    ] = None,
    area: Annotated[
        Path | None, typer.Option(help="With --table: the area its rows belong to.", metavar="FILE")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the certificate as JSON.")] = False,
) -> None:
    """Check a policy with exact arithmetic: the smallest ε it is private at, and the worst pair of cells."""
    epsilon = None if epsilon_per_km is None else read_epsilon(epsilon_per_km)
    if (policy is None) == (table is None):
        raise InputError("policy", policy and str(policy), "name either a policy or a --table")
    with progress_bar("certifying") as report:
        if policy is not None:
            if area is not None:
                raise InputError("area", str(area), "a policy brings its own area; leave it out")
            certificate = certify(Policy.load(policy), epsilon_per_km=epsilon, progress=report)
        else:
            assert table is not None
            if area is None or epsilon is None:
                missing = "area" if area is None else "epsilon_per_km"
                raise InputError(missing, None, "a --table needs both --area and --epsilon-per-km")
            certificate = certify_table(Area.load(area), read_table(table), epsilon, progress=report)
    if json:
        show_json(_document(certificate) | {"file": str(policy or table)})
    else:
        show("Certificate", {"file": str(policy or table)} | _facts(certificate))
    if not certificate.ok:
        raise typer.Exit(NOT_PRIVATE)


def _facts(certificate: Certificate) -> dict[str, str]:
    epsilon, smallest = certificate.epsilon_per_km, certificate.smallest_epsilon_per_km
    facts = {
        "private": "yes" if certificate.ok else "NO",
        "checked at": f"ε = {epsilon:.9g} per km: {in_plain_words(epsilon)}",
        "smallest ε": f"{smallest:.12g} per km" if np.isfinite(smallest) else "none: not private at any ε",
        "inequalities": f"{certificate.inequalities:,} of {certificate.cells:,} cells",
        "verdict": certificate.explain(),
    }
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
    }


def read_table(path: Path) -> FloatArray | IntArray:
    """Rows of probabilities, or of whole-number weights if there is no other number; a header is skipped."""
    rows = read_rows(path)
    if is_header(rows[0][1]):
        rows = rows[1:]
    if not rows:
        raise FileFormatError(f"{path}: has a header but no rows")
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise FileFormatError(f"{path}, line {line}: {len(row)} columns: the first row has {width}")
    if all(text.isdecimal() and len(text) < 19 for _, row in rows for text in row):
        return np.array([[int(text) for text in row] for _, row in rows], dtype=np.int64)
    return np.array([[read_number(path, line, "probability", text) for text in row] for line, row in rows])
