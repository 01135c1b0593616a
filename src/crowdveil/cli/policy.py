"""`crowdveil policy`: make a policy, certify it, write it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from crowdveil.area import Area
from crowdveil.arrays import FloatArray
from crowdveil.certify import certify
from crowdveil.cli.console import note, progress_bar, show, show_json, warn, working
from crowdveil.cli.files import check_destination, load_area, read_prior, write_whole
from crowdveil.cli.options import missing, read_epsilon, read_real, read_targets, read_whole
from crowdveil.cli.summary import facts, summary
from crowdveil.errors import InputError, NotPrivateError
from crowdveil.formatting import exact
from crowdveil.policy.baselines.exponential import exponential
from crowdveil.policy.baselines.identity import identity
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.policy import Policy
from crowdveil.policy.quota import minimum_beta
from crowdveil.policy.solver.optimal import optimal_policy

EXAMPLES = """\b
Examples:
  crowdveil policy --area area.json --prior prior.csv --targets 3,17
      --epsilon-per-km 1.386 --beta 0.06 --out policy.json
  crowdveil policy --area area.json --targets 40.75:-73.98 --epsilon-per-km ln4
      --users 1083 --wanted 54 --picture policy.png --out policy.cvp
  crowdveil policy --area area.json --targets 3 --epsilon-per-km ln4
      --baseline laplace --out laplace.json
"""

CONFIDENCE = "0.95"


class CompletionName(StrEnum):
    """What those who are not selected send."""

    equal = "equal"
    informative = "informative"


class Baseline(StrEnum):
    """Mechanisms to compare with."""

    laplace = "laplace"
    exponential = "exponential"
    identity = "identity"


def make(
    area: Annotated[Path, typer.Option(help="The area (.json), from `crowdveil area`.", metavar="FILE")],
    targets: Annotated[
        str,
        typer.Option(help="Cells to cover, such as 3,17, or places, such as 40.75:-73.98.", metavar="LIST"),
    ],
    epsilon_per_km: Annotated[
        str,
        typer.Option(help="Privacy loss per km, such as 1.386 or ln4; smaller is more private.", metavar="NUMBER"),
    ],
    out: Annotated[Path, typer.Option(help="Where to write it: .json, or .cvp (compact).", metavar="FILE")],
    prior: Annotated[
        Path | None,
        typer.Option(
            help="CSV: one probability per line, or a header and cell,probability. Left out: uniform.",
            metavar="FILE",
        ),
    ] = None,
    beta: Annotated[
        str | None, typer.Option(help="Share of the users to be selected, between 0 and 1.", metavar="NUMBER")
    ] = None,
    users: Annotated[
        str | None, typer.Option(help="Instead of --beta: how many users report.", metavar="NUMBER")
    ] = None,
    wanted: Annotated[
        str | None, typer.Option(help="Instead of --beta: how many of them are needed.", metavar="NUMBER")
    ] = None,
    confidence: Annotated[
        str | None,
        typer.Option(help=f"Chance that as many as wanted are found; {CONFIDENCE} unless given.", metavar="NUMBER"),
    ] = None,
    completion: Annotated[
        CompletionName | None,
        typer.Option(
            help="What those not selected send: all the same (equal), or what best tells the prior (informative; "
            "at most 3,000 cells, and a file of megabytes)."
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

    Best among all that are private at this ε and select this share of the users. It is certified before it is written;
    a file that is there already is replaced.
    """
    started = perf_counter()
    check_destination("out", out, (".json", ".cvp"))
    if picture is not None:
        check_destination("picture", picture, (".png", ".svg"))
    epsilon = read_epsilon(epsilon_per_km)
    cells = load_area(area)
    covered = read_targets(targets, cells)
    chances = None if prior is None else read_prior(prior, len(cells))
    if baseline is None:
        share = _quota(beta, users, wanted, confidence)
        kind = (completion or CompletionName.equal).value
        _warn_of_empty_targets(chances, covered)
        with progress_bar("optimising") as report:
            policy = optimal_policy(
                cells, chances, covered, epsilon_per_km=epsilon, beta=share, completion=kind, progress=report
            )
    else:
        _refuse(baseline, beta=beta, users=users, wanted=wanted, confidence=confidence, completion=completion)
        _warn_of_empty_targets(chances, covered)
        with working(f"making the baseline {baseline.value}"):
            policy = make_baseline(baseline, cells, chances, covered, epsilon)
    with progress_bar("certifying") as report:
        certificate = certify(policy, progress=report)
    if not certificate.ok:
        if baseline is not Baseline.identity:
            raise NotPrivateError(f"the policy is not private and was not written. {certificate.explain()}")
        warn(f"{out} protects nobody: every phone sends its true cell. Use it for comparisons only.")
    size = write_whole(out, policy.save)
    if picture is not None:
        draw_picture(policy, picture)
    seconds = perf_counter() - started
    if json:
        show_json(summary(policy, certificate) | {"policy": str(out), "bytes": size, "seconds": round(seconds, 3)})
    else:
        show("Policy", facts(policy, certificate, out, size, seconds))
    if baseline is not None and 0 < policy.beta < 1:
        note(f"Compare with the optimal policy at the same share: --beta {exact(policy.beta)}")


def make_baseline(
    baseline: Baseline, area: Area, prior: FloatArray | None, targets: list[int], epsilon_per_km: float
) -> Policy:
    """One of the mechanisms to compare with."""
    maker = {"laplace": planar_laplace, "exponential": exponential, "identity": identity}[baseline.value]
    return maker(area, prior, targets, epsilon_per_km)


def draw_picture(policy: Policy, path: Path) -> None:
    """Write the picture of a policy, whole or not at all."""
    with working("drawing the picture"):
        from crowdveil.plots.maps import draw_policy  # matplotlib takes a second to load; most calls do without

    write_whole(path, lambda temporary: draw_policy(policy, temporary))


def _quota(beta: str | None, users: str | None, wanted: str | None, confidence: str | None) -> float:
    if beta is not None:
        for name, value in (("users", users), ("wanted", wanted), ("confidence", confidence)):
            if value is not None:
                raise InputError(name, value, "beta is given already; name either beta, or users and wanted")
        share = read_real("beta", beta)
        if not 0 < share < 1:
            raise InputError("beta", share, "should lie strictly between 0 and 1; --users and --wanted compute it")
        return share
    if users is None and wanted is None:
        raise missing("beta", "give it, or --users and --wanted from which it follows")
    if wanted is None:
        raise missing("wanted", "how many of the users are needed")
    if users is None:
        raise missing("users", "how many users report")
    return minimum_beta(
        users=read_whole("users", users),
        wanted=read_whole("wanted", wanted),
        confidence=read_real("confidence", confidence or CONFIDENCE),
    )


def _warn_of_empty_targets(prior: FloatArray | None, targets: list[int]) -> None:
    """Say so when the prior sees nobody at a target; what is no prior or no cell is refused elsewhere."""
    if prior is None:
        return
    empty = [cell for cell in targets if 0 <= cell < len(prior) and prior[cell] == 0]
    if not empty:
        return
    shown = ", ".join(map(str, empty[:12])) + (", ..." if len(empty) > 12 else "")
    if len(empty) == len(targets):
        warn(
            f"the prior has nobody at any target (cell{'s' * (len(empty) > 1)} {shown}): nobody who is selected "
            "will be at one. Do the prior and the area belong together?"
        )
    else:
        warn(f"the prior has nobody at {len(empty)} of {len(targets)} targets (cells {shown}): they add nothing.")


def _refuse(baseline: Baseline, **options: object) -> None:
    for name, value in options.items():
        if value is not None:
            shown = str(value) if isinstance(value, StrEnum) else value
            raise InputError(name, shown, f"has no meaning for the baseline {baseline.value}; leave it out")
