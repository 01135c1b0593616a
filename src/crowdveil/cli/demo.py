"""`crowdveil demo`: the whole way once, over a synthetic city."""

from __future__ import annotations

import math
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

from crowdveil.arrays import FloatArray
from crowdveil.certify import Certificate, certify
from crowdveil.cli.city import City, synthetic_city
from crowdveil.cli.console import in_bytes, show_rows, working
from crowdveil.cli.files import write_whole
from crowdveil.cli.options import read_whole
from crowdveil.cli.policy import draw_picture
from crowdveil.errors import InputError, NotPrivateError
from crowdveil.policy.bounds import lemma5_bound
from crowdveil.policy.identity import identity
from crowdveil.policy.laplace import planar_laplace
from crowdveil.policy.optimal import optimal_policy
from crowdveil.policy.policy import Policy
from crowdveil.policy.quota import minimum_beta
from crowdveil.report import draw_many
from crowdveil.words import exact, in_plain_words, percent_up

EXAMPLES = "Example: crowdveil demo --out demo/"

EPSILON_PER_KM = math.log(4)
USERS, WANTED, CONFIDENCE = 1083, 54, 0.95
SIMULATED = 1_000_000


def run(
    out: Annotated[Path, typer.Option(help="Folder to write to; made if missing.", metavar="FOLDER")] = Path("demo"),
    seed: Annotated[str, typer.Option(help="Seed of the city and of the simulated reports.", metavar="NUMBER")] = "5",
) -> None:
    """Go the whole way once, over a synthetic city.

    Make a policy, certify it, compare it, simulate reports, draw its picture. Files of an earlier run are replaced.
    """
    started = perf_counter()
    number = read_whole("seed", seed)
    if number < 0:
        raise InputError("seed", number, "should not be negative")
    if out.exists() and not out.is_dir():
        raise InputError("out", str(out), "is a file; name a folder")
    out.mkdir(parents=True, exist_ok=True)
    city = synthetic_city(number)
    _tell_city(city)
    beta = minimum_beta(users=USERS, wanted=WANTED, confidence=CONFIDENCE)
    _step(
        f"How many to select: to find {WANTED} of {USERS:,} users with {CONFIDENCE:.0%} confidence, "
        f"each is selected with chance β = {beta:.4f}."
    )
    policy, certificate = _make(city, beta)
    _compare(city, policy, certificate)
    _simulate(city, policy, certificate, np.random.default_rng(number))
    _write(out, city, policy)
    typer.echo(f"Done in {perf_counter() - started:.1f} s.")


def _step(text: str) -> None:
    typer.echo(f"* {text}")


def _tell_city(city: City) -> None:
    area, prior = city.area, city.prior
    empty = int((prior == 0).sum())
    _step(
        f"A synthetic city: {area.columns} x {area.rows} cells of {area.cell_m / 1000:g} km, "
        f"{empty} of them river or park where nobody stays; "
        f"to cover: cells {', '.join(map(str, city.targets))}, "
        f"where {prior[city.targets].sum():.1%} of the people are."
    )
    _step(f"Privacy: ε = ln 4 per km: {in_plain_words(EPSILON_PER_KM)}.")


def _make(city: City, beta: float) -> tuple[Policy, Certificate]:
    start = perf_counter()
    with working("optimising"):
        policy = optimal_policy(city.area, city.prior, city.targets, epsilon_per_km=EPSILON_PER_KM, beta=beta)
        made = perf_counter()
        certificate = certify(policy)
    if not certificate.ok:
        raise NotPrivateError(certificate.explain())
    _step(
        f"The optimal policy, made in {1000 * (made - start):.0f} ms and certified with exact arithmetic in "
        f"{1000 * (perf_counter() - made):.0f} ms: private from "
        f"ε = {certificate.smallest_shown} per km on; allowed is {exact(EPSILON_PER_KM)}."
    )
    return policy, certificate


def _compare(city: City, policy: Policy, certificate: Certificate) -> None:
    with working("comparing"):
        given = city.area, city.prior, city.targets
        laplace = planar_laplace(*given, EPSILON_PER_KM)
        nothing = identity(*given, EPSILON_PER_KM)
        matched = optimal_policy(*given, epsilon_per_km=EPSILON_PER_KM, beta=laplace.beta)
        rows = [
            _row("optimal (crowdveil)", policy, certificate),
            _row("optimal at Laplace's share", matched, certify(matched)),
            _row("planar Laplace", laplace, certify(laplace)),
            _row("no obfuscation", nothing, certify(nothing)),
        ]
        at_any_beta = lemma5_bound(*given, epsilon_per_km=EPSILON_PER_KM)
    _step(
        "Compared, at the same ε; value = share of the selected who really are at a target. The fewer are selected, "
        "the higher it can be, so compare at the same share:"
    )
    show_rows("Value and privacy", ["mechanism", "value", "selected", "smallest certified ε per km"], rows)
    at_this_beta = float(policy.provenance["upper_bound"])
    typer.echo(f"  No private policy exceeds {percent_up(at_this_beta)} at this β (proved while optimising)")
    typer.echo(f"  or {percent_up(at_any_beta)} at any β (Lemma 5, corrected).")


def _row(name: str, policy: Policy, certificate: Certificate) -> list[str]:
    return [name, f"{policy.value:.2%}", f"{policy.beta:.2%}", certificate.smallest_shown]


def _simulate(city: City, policy: Policy, certificate: Certificate, generator: np.random.Generator) -> None:
    with working("simulating"):
        cells = generator.choice(len(city.area), size=SIMULATED, p=city.prior)
        start = perf_counter()
        selected = draw_many(policy, cells, certificate, generator) == policy.selecting[0]
        seconds = perf_counter() - start
    share, at_target = float(selected.mean()), float(np.isin(cells[selected], city.targets).mean())
    _step(
        f"{SIMULATED:,} simulated reports, drawn in {1000 * seconds:.0f} ms: {share:.4%} selected, "
        f"{_verdict(share, policy.beta, SIMULATED)} β = {policy.beta:.4%}; "
        f"of them {at_target:.3%} at a target, "
        f"{_verdict(at_target, policy.value, int(selected.sum()))} {policy.value:.3%}."
    )


def _verdict(share: float, chance: float, trials: int) -> str:
    """Compare a simulated share with the chance it should show, in standard errors."""
    errors = abs(share - chance) / math.sqrt(chance * (1 - chance) / trials)
    return f"{errors:.1f} standard errors from" if errors <= 4 else f"SUSPICIOUS, {errors:.1f} standard errors from"


def _write(out: Path, city: City, policy: Policy) -> None:
    write_whole(out / "area.json", city.area.save)
    write_whole(out / "prior.csv", lambda path: path.write_text(_prior_csv(city.prior), encoding="utf-8"))
    sizes = [write_whole(out / f"policy.{suffix}", policy.save) for suffix in ("json", "cvp")]
    draw_picture(policy, out / "policy.png")
    _step(
        f"Written: {out / 'area.json'}, {out / 'prior.csv'}, {out / 'policy.json'} ({in_bytes(sizes[0])}), "
        f"{out / 'policy.cvp'} ({in_bytes(sizes[1])}) and the picture {out / 'policy.png'}."
    )
    _step(f"Next: crowdveil certify {out / 'policy.json'}; crowdveil draw {out / 'policy.json'} --cell 17")


def _prior_csv(prior: FloatArray) -> str:
    return "cell,probability\n" + "".join(
        f"{cell},{chance!r}\n" for cell, chance in enumerate(prior.tolist()) if chance
    )
