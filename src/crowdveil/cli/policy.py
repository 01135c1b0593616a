"""`crowdveil policy`: make a policy, certify it, write it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from crowdveil.area.targets import NamedTargets
from crowdveil.arrays import FloatArray
from crowdveil.certify import Certificate, certify
from crowdveil.cli.console import Verb, in_bytes, new_app, note, progress_bar, show, show_json, warn, working
from crowdveil.cli.files import check_destination, load_area, write_file
from crowdveil.cli.options import (
    CONFIDENCE,
    EPSILON,
    EPSILON_HELP,
    GRADE_EPSILON,
    GRADE_EPSILON_HELP,
    NULL_EPSILON,
    NULL_EPSILON_HELP,
    missing,
    read_epsilon,
    read_epsilon_or_none,
    read_real,
    read_share,
    read_whole,
    refuse,
)
from crowdveil.cli.targets import (
    TARGETS_HELP,
    KeepApart,
    LeaveOutOutside,
    find_targets,
    list_targets,
    places_of,
    warn_of_empty_targets,
)
from crowdveil.errors import InputError, NotPrivateError
from crowdveil.extras import require_extra
from crowdveil.formatting import exact, in_plain_words, rounded_up
from crowdveil.policy.baselines.exponential import exponential
from crowdveil.policy.baselines.identity import identity
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.checks import check_prior
from crowdveil.policy.grades import chances_of_grades
from crowdveil.policy.policy import Policy
from crowdveil.policy.quota import minimum_beta
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.policy.solver.stack import policy_per_target
from crowdveil.prior import read_prior
from crowdveil.vocabulary import DEFAULT_THRESHOLDS

EXAMPLES = """\b
Examples:
  crowdveil policy --area area.json --prior prior.csv --targets 3,17
      --epsilon-per-km 1.386 --beta 0.06 --out policy.json
  crowdveil policy --area area.json --targets "40.75, -73.98" --epsilon-per-km ln4
      --users 1083 --wanted 54 --picture policy.png --out policy.cvp
  crowdveil policy --area area.json --targets shops.csv --users 5000 --each 20
      --out policy.cvp
  crowdveil policy --area area.json --targets 3 --epsilon-per-km ln4
      --baseline laplace --out laplace.json
"""


class CompletionName(StrEnum):
    """What people who are not selected send."""

    equal = "equal"
    informative = "informative"


class Baseline(StrEnum):
    """Mechanisms to compare with."""

    laplace = "laplace"
    exponential = "exponential"
    identity = "identity"


GRADE_SHARES, OUTSIDE_SHARE = "0.2,0.3,0.5", "0"
GRADE_CHANCES = chances_of_grades(DEFAULT_THRESHOLDS)
MAKERS = {Baseline.laplace: planar_laplace, Baseline.exponential: exponential, Baseline.identity: identity}

NOBODY = "so nobody who is selected will be at one"

app = new_app()


@app.command(cls=Verb, epilog=EXAMPLES)
def run(
    area: Annotated[Path, typer.Option(help="The area (.json), from `crowdveil area`.", metavar="FILE")],
    targets: Annotated[str, typer.Option(help=TARGETS_HELP, metavar="PLACES")],
    out: Annotated[Path, typer.Option(help="Where to write the policy: .json, or .cvp (compact).", metavar="FILE")],
    keep_apart: KeepApart = False,
    leave_out_outside: LeaveOutOutside = False,
    epsilon_per_km: Annotated[str, typer.Option(help=EPSILON_HELP, metavar="NUMBER")] = EPSILON,
    prior: Annotated[
        Path | None,
        typer.Option(
            help="Where people are (CSV): one probability per line, or a header and cell,probability "
            "(default: the same in every cell).",
            metavar="FILE",
        ),
    ] = None,
    beta: Annotated[
        str | None, typer.Option(help="Share of the people to be selected, between 0 and 1.", metavar="NUMBER")
    ] = None,
    users: Annotated[
        str | None, typer.Option(help="Instead of --beta: how many people report.", metavar="NUMBER")
    ] = None,
    wanted: Annotated[
        str | None, typer.Option(help="Instead of --beta: how many of them are needed.", metavar="NUMBER")
    ] = None,
    each: Annotated[
        str | None,
        typer.Option(
            help="Instead of --wanted: how many are needed at each target; every target then has a symbol of its own. "
            "A file of targets may have a number for each instead.",
            metavar="NUMBER",
        ),
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(
            help=f"With --wanted: chance that as many can be selected (default: {CONFIDENCE}).", metavar="NUMBER"
        ),
    ] = None,
    null_epsilon: Annotated[str | None, typer.Option(help=NULL_EPSILON_HELP, metavar="NUMBER")] = None,
    grade_epsilon: Annotated[str | None, typer.Option(help=GRADE_EPSILON_HELP, metavar="NUMBER")] = None,
    grade_shares: Annotated[
        str | None,
        typer.Option(
            help="Shares of those in the area who visit their place with a chance above 0.5, above 0.2, and less "
            f"(default: {GRADE_SHARES}).",
            metavar="LIST",
        ),
    ] = None,
    outside_share: Annotated[
        str | None,
        typer.Option(
            help=f"Share of the people who are outside the area (default: {OUTSIDE_SHARE}).", metavar="NUMBER"
        ),
    ] = None,
    completion: Annotated[
        CompletionName | None,
        typer.Option(
            help="What people who are not selected send: all the same, or what tells most about where people are; "
            "informative takes at most 3,000 cells and makes a file of megabytes (default: equal)."
        ),
    ] = None,
    baseline: Annotated[
        Baseline | None,
        typer.Option(help="Make this mechanism instead of the optimal policy, to compare; at most 3,000 cells."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the policy on its map (.png or .svg).", metavar="FILE")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Make the policy that covers the targets best.

    It is the best of all policies that are private at this ε and select this share of the people. It is certified
    before it is written. An existing file is replaced.
    """
    started = perf_counter()
    check_destination("out", out, (".json", ".cvp"))
    check_picture(picture)
    epsilon = read_epsilon(epsilon_per_km)
    cells = load_area(area)
    named = find_targets(targets, cells, keep_apart=keep_apart, leave_out_outside=leave_out_outside)
    covered = named.cells
    chances = None if prior is None else read_prior(prior, cells)
    if baseline is None:
        betas = _quotas(named, each, beta, users, wanted, confidence)
        share = _quota(beta, users, wanted, confidence) if betas is None else 0.0
        protection = _protection(null_epsilon, grade_epsilon, grade_shares, outside_share)
        kind = (completion or CompletionName.equal).value
        warn_of_empty_targets(chances, named, NOBODY)
        joint = protection.joint(check_prior(chances, len(cells)))
        with progress_bar("optimising") as report:
            made: dict[str, Any] = {
                "epsilon_per_km": epsilon,
                "completion": kind,
                "null_epsilon": protection.null_epsilon,
                "null_share": protection.outside_share,
                "grade_epsilon": protection.grade_epsilon,
                "grade_chances": None if protection.grade_epsilon is None else GRADE_CHANCES,
                "progress": report,
            }
            if betas is None:
                policy = optimal_policy(cells, joint, covered, beta=share, **made)
            else:
                policy = policy_per_target(cells, joint, covered, betas=betas, **made)
    else:
        others = {"beta": beta, "users": users, "wanted": wanted, "confidence": confidence, "completion": completion}
        others |= {"each": each}
        others |= {"null_epsilon": null_epsilon, "grade_epsilon": grade_epsilon}
        others |= {"grade_shares": grade_shares, "outside_share": outside_share}
        refuse(others, f"does not apply to --baseline {baseline.value}; leave it out")
        warn_of_empty_targets(chances, named, NOBODY)
        with working(f"making the baseline {baseline.value}"):
            policy = MAKERS[baseline](cells, chances, covered, epsilon)
    with progress_bar("certifying") as report:
        certificate = certify(policy, progress=report)
    if not certificate.ok:
        if baseline is not Baseline.identity:
            raise NotPrivateError(f"the policy is not private and was not written. {certificate.explain()}")
        warn(f"{out} protects nobody: every phone sends its true cell. Use it for comparisons only.")
    size = write_file(out, policy.save)
    if picture is not None:
        draw_picture(policy, picture)
    seconds = perf_counter() - started
    if json:
        summary = _summary(policy, certificate) | places_of(named)
        show_json(summary | {"policy": str(out), "bytes": size, "seconds": round(seconds, 3)})
    else:
        show("Policy", _facts(policy, named, certificate, out, size, seconds))
    if baseline is not None and 0 < policy.beta < 1:
        clear = "--null-epsilon none --grade-epsilon none"  # a baseline protects the place alone
        note(f"To compare with the optimal policy at the same share: --beta {exact(policy.beta)} {clear}")


class _Protection(NamedTuple):
    """What is protected besides the place, and how many people are expected to be what."""

    null_epsilon: float | None
    grade_epsilon: float | None
    grade_shares: tuple[float, ...]
    outside_share: float

    def joint(self, prior: FloatArray) -> FloatArray:
        """Spread a prior of cells over the grades, if there are any."""
        if self.grade_epsilon is None:
            return prior
        return np.outer(self.grade_shares, prior)


def _protection(
    null_epsilon: str | None, grade_epsilon: str | None, grade_shares: str | None, outside_share: str | None
) -> _Protection:
    null = read_epsilon_or_none(NULL_EPSILON if null_epsilon is None else null_epsilon, "null_epsilon")
    grade = read_epsilon_or_none(GRADE_EPSILON if grade_epsilon is None else grade_epsilon, "grade_epsilon")
    if null is None:
        refuse({"outside_share": outside_share}, "can't be combined with --null-epsilon none")
    if grade is None:
        refuse({"grade_shares": grade_shares}, "can't be combined with --grade-epsilon none")
    shares = _grade_shares(GRADE_SHARES if grade_shares is None else grade_shares)
    outside = 0.0 if null is None else read_share("outside_share", outside_share or OUTSIDE_SHARE)
    return _Protection(null, grade, shares, outside)


def _grade_shares(text: str) -> tuple[float, ...]:
    shares = tuple(read_share("grade_shares", one) for one in text.split(","))
    if len(shares) != len(GRADE_CHANCES) or abs(sum(shares) - 1) > 1e-6:
        what = f"should be {len(GRADE_CHANCES)} shares with the sum 1, such as {GRADE_SHARES}"
        raise InputError("grade_shares", text, what)
    return tuple(share / sum(shares) for share in shares)


def check_picture(path: Path | None) -> None:
    """Refuse, before the work begins, a picture that could not be drawn or written."""
    if path is not None:
        check_destination("picture", path, (".png", ".svg"))
        require_extra("--picture", "plots")


def draw_picture(policy: Policy, path: Path) -> None:
    """Draw a policy on its map."""
    with working("drawing the picture"):
        from crowdveil.plots.maps import draw_policy  # matplotlib takes a second to load; most calls do without

    write_file(path, lambda temporary: draw_policy(policy, temporary))


def _quota(beta: str | None, users: str | None, wanted: str | None, confidence: str | None) -> float:
    if beta is not None:
        refuse({"users": users, "wanted": wanted, "confidence": confidence}, "can't be combined with --beta")
        share = read_real("beta", beta)
        if not 0 < share < 1:
            raise InputError("beta", share, "should be between 0 and 1; --users and --wanted compute it")
        return share
    if users is None and wanted is None:
        raise missing("beta", "give it, or give --users and --wanted, from which it is computed")
    if wanted is None:
        raise missing("wanted", "say how many of the people are needed")
    if users is None:
        raise missing("users", "say how many people report")
    return minimum_beta(
        users=read_whole("users", users),
        wanted=read_whole("wanted", wanted),
        confidence=read_real("confidence", CONFIDENCE if confidence is None else confidence),
    )


def _quotas(
    targets: NamedTargets,
    each: str | None,
    beta: str | None,
    users: str | None,
    wanted: str | None,
    confidence: str | None,
) -> list[float] | None:
    """Return the share of the people who are needed at each target; None where people are wanted at any."""
    others = {"beta": beta, "wanted": wanted, "confidence": confidence}
    numbers = [number for number in targets.numbers if number is not None]
    if each is not None:
        refuse(others, "can't be combined with --each")
        numbers = [read_whole("each", each)] * len(targets)
    elif not numbers or beta is not None or wanted is not None:
        return None
    elif len(numbers) < len(targets):
        expected = "should be given for every target, or for none (then give --each, --wanted or --beta)"
        raise InputError("number", f"{len(numbers)} of {len(targets)} targets", expected)
    if users is None:
        raise missing("users", "say how many people report")
    people = read_whole("users", users)
    if sum(numbers) > people:
        expected = f"should add up to at most --users {people:,}"
        raise InputError("each", f"{sum(numbers):,} people in all", expected)
    return [number / people for number in numbers]


# --- words ------------------------------------------------------------------------------------------------------


def _summary(policy: Policy, certificate: Certificate) -> dict[str, Any]:
    return {
        "cells": len(policy),
        "targets": list(policy.targets),
        "epsilon_per_km": policy.epsilon_per_km,
        "null_epsilon": policy.null_epsilon,
        "grade_epsilon": policy.grade_epsilon,
        "beta": policy.beta,
        "value": policy.value,
        "values": list(policy.values),
        "proven_gap": float(policy.provenance["gap"]) if "gap" in policy.provenance else None,
        "private": certificate.ok,
        "smallest_epsilon_per_km": certificate.smallest_epsilon_per_km,
        "hash": policy.hash,
    }


def _facts(
    policy: Policy, targets: NamedTargets, certificate: Certificate, out: Path, size: int, seconds: float
) -> dict[str, str]:
    epsilon = policy.epsilon_per_km
    facts = {
        "policy": f"{out} ({in_bytes(size)})",
        "cells": f"{len(policy):,}",
        "targets": list_targets(targets, policy.targets),
        "privacy": f"ε = {exact(epsilon)} per km: {in_plain_words(epsilon)}" if certificate.ok else "NONE",
        "selected": f"{policy.beta:.2%} of the people (β)",
        "value": f"{policy.value:.4%} of the selected are {'expected ' * (policy.grades > 1)}at a target",
    }
    if policy.values:
        shown = [f"{targets.label(t)}: {value:.2%}" for t, value in zip(policy.targets, policy.values, strict=True)]
        facts["value of each"] = ", ".join(shown[:12]) + (", ..." if len(shown) > 12 else "")
    if policy.null_epsilon is not None:
        facts["also protected"] = f"being outside, ε₀ = {exact(policy.null_epsilon)}"
    if policy.grade_epsilon is not None:
        facts["also protected"] += f"; how regular a visitor is, ε₁ = {exact(policy.grade_epsilon)} per grade"
    if "gap" in policy.provenance:
        facts["proven gap"] = _gap(float(policy.provenance["gap"]))
    return facts | {"certified": _certified(certificate), "hash": policy.hash, "time": f"{seconds:.2f} s"}


def _gap(gap: float) -> str:
    if gap <= 0:
        return "none: no private policy with this β is better"
    return f"{rounded_up(gap, 2)}: no private policy with this β is better by more than this share"


def _certified(certificate: Certificate) -> str:
    if not certificate.ok:
        return "NO"
    if certificate.smallest_epsilon_per_km == 0:
        return "yes, private at every ε: all cells send the same"
    return f"yes, private at ε ≥ {certificate.smallest_shown} per km"
