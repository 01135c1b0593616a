"""`crowdveil certify`: is this policy, or this table, private? Exit code 0 yes, 1 no, 2 unreadable."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify import Certificate, certify, certify_table
from crowdveil.cli.console import NOT_PRIVATE, progress_bar, show, show_json, working
from crowdveil.cli.files import is_header, load_area, load_policy, read_number, read_rows
from crowdveil.cli.options import missing, read_epsilon
from crowdveil.errors import CrowdveilError, FileFormatError, InputError
from crowdveil.formatting import exact, in_plain_words

EXAMPLES = """\b
Examples:
  crowdveil certify policy.json
  crowdveil certify policy.cvp --epsilon-per-km ln2 --json
  crowdveil certify --table table.csv --area area.json --epsilon-per-km 1.386
Exit code: 0 private, 1 not private, 2 unreadable.
"""

SIMPLE_NAME = re.compile(r"[\w][\w .-]{0,39}")
"""Names of columns that can stand in a sentence."""


def check(
    policy: Annotated[
        Path | None, typer.Argument(help="The policy, .json or .cvp.", metavar="POLICY", show_default=False)
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
    """Check that a policy, or a table, is private.

    With exact arithmetic. Says the smallest ε that holds, and the worst pair of cells.
    """
    epsilon = None if epsilon_per_km is None else read_epsilon(epsilon_per_km)
    if policy is not None and table is not None:
        raise InputError("policy", str(policy), "name either a policy or a --table")
    if policy is not None:
        if area is not None:
            raise InputError("area", str(area), "a policy brings its own area; leave it out")
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
    with working(f"reading {table}"):
        names, entries = read_table(table)
    with progress_bar("certifying") as report:
        certificate = certify_table(cells, entries, epsilon, progress=report)
    worst = certificate.witness
    if worst is None or not names:
        return certificate
    return replace(certificate, witness=replace(worst, symbol_name=names[worst.symbol]))


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
    }


def read_table(path: Path) -> tuple[list[str], FloatArray | IntArray]:
    """Names of the symbols, if a header has simple ones; and rows of probabilities, or of whole-number weights."""
    rows = read_rows(path)
    names: list[str] = []
    if is_header(rows[0][1]):
        names = rows[0][1]
        rows = rows[1:]
    if not rows:
        raise FileFormatError(f"{path}: has a header but no rows")
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise FileFormatError(f"{path}, line {line}: {len(row)} columns: the first row has {width}")
    if len(set(names)) != width or not all(map(SIMPLE_NAME.fullmatch, names)):
        names = []
    if all(text.isdecimal() and len(text) < 19 for _, row in rows for text in row):
        return names, np.array([[int(text) for text in row] for _, row in rows], dtype=np.int64)
    return names, np.array([[read_number(path, line, "probability", text) for text in row] for line, row in rows])
