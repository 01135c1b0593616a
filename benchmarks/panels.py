"""Compare a panel, to which people report once, with fresh reports, Laplace, the exponential mechanism and qif's.

    python -m benchmarks.panels ../shared/data/dataset_TSMC2014_NYC.txt.xz

New York, 1 km cells, π known. For each of the 20 densest cells t and each share of all reports that is wanted, the
precision is the mean chance of coming to t of those who are selected in the order of that chance, as if every symbol
were sent exactly as often as π says. The table has its mean over the 20 cells:

    fresh         the policy that is optimal for t and the share wanted: a new report for every campaign
    panel         one policy for all targets and shares, `panel_policy` over all cells
    list          the same over the 20 cells alone
    Laplace       planar Laplace, integrated exactly
    exponential   e^{-D/2}, normalised
    tight         the tight constraints of qif: P = e^{-D} diag(θ) with θ such that rows sum to 1, where no θ is
                  negative; this is a panel without a rest

In the clear, π is that of the places of people who have a frequent one (recency, δ = 0.7, a frequent place at random).
In the protected form everyone reports a place with one of three grades (logistic, δ = 0.5 and 0.2, one of the 20 cells
preferred), ε = ln 4 per km, grades and outside are protected alike on both sides, and people of each grade count with
their chance of coming (`policy.grades`).

Every policy of the tables is certified first, and a policy that is not ends the benchmark.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
import scipy

from crowdveil.area import Area
from crowdveil.arrays import FloatArray
from crowdveil.certify import certify
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.policy.baselines.exponential import exponential
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.baselines.tables import table_policy, uniform_share
from crowdveil.policy.grades import chances_of_grades
from crowdveil.policy.policy import Policy
from crowdveil.policy.rounding import round_private
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.policy.solver.stack import panel_policy
from crowdveil.prior import target_chances
from crowdveil.simulate.dataset import Dataset
from crowdveil.vocabulary import DEFAULT_DELTA, DEFAULT_EPSILON_PER_KM, DEFAULT_THRESHOLDS, NULL

DENSEST = 20
SHARES = (0.002, 0.01, 0.05)
ASKED = (0.99, 0.95, 0.75)
"""What a panel should have of the precision of fresh reports at each share, at the default ε."""
AHEAD = 1.15
"""How many times the precision of Laplace and of the exponential mechanism it should have at the last share."""
TIMES = (1, 2, 3)
"""ε as multiples of its default."""
PROTECTIONS = (16, 64, 256)
"""e^ε₀; the loss between any two grades is the same."""
LIKE_TIGHT = 0.999
"""A panel keeps a rest of a thousandth, so that it may fall behind the tight constraints by as much."""
TIGHT_ERROR = 1e-10
"""Bound of the error of a solved θ times a probability; the matrix is well conditioned where this is used."""


class Certified:
    """Counts certified policies, and refuses others."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, policy: Policy) -> Policy:
        """Certify a policy and return it."""
        certificate = certify(policy)
        if not certificate.ok:
            raise SystemExit(certificate.explain())
        self.count += 1
        return policy


def precision(
    policy: Policy,
    prior: FloatArray,
    target: int,
    share: float,
    outside: float = 0.0,
    chances: Sequence[float] | None = None,
) -> float:
    """Return the mean chance of coming to the target of the share of reports that are likeliest to."""
    sent = policy.input_prior(prior, outside) @ policy.table()
    chance = target_chances(prior, policy, [target], outside, chances)
    best = np.argsort(-chance, kind="stable")
    before = np.cumsum(sent[best]) - sent[best]
    taken = np.clip(share - before, 0.0, sent[best])
    return float(taken @ chance[best]) / share


def tight_constraints(area: Area, epsilon_per_km: float) -> Policy | None:
    """Make the policy in which all constraints of all cells are tight, if there is one.

    P = e^{-D} diag(θ), so that every column is c ↦ θ_c e^{-D}, and Σ_c P(c|l) = 1 gives θ = (e^{-D})^-1 1.
    """
    n = len(area)
    decay = np.exp(-epsilon_per_km * area.distances_km(np.arange(n)))
    theta = scipy.linalg.solve(decay, np.ones(n), assume_a="pos")
    if theta.min() < 0:
        return None
    share = uniform_share(area, epsilon_per_km, TIGHT_ERROR)
    weights = round_private(decay * theta, share)
    return table_policy(area, None, [0], epsilon_per_km, weights, method="tight constraints", uniform_share=share)


def prior_of(dataset: Dataset, seed: int) -> FloatArray:
    """Compute π of the frequent places that people would report."""
    places = dataset.places("recency", "random", 0.7, (), np.random.default_rng(seed))
    reported = places[places != NULL]
    return np.bincount(reported, minlength=len(dataset.area)) / len(reported)


def in_the_clear(dataset: Dataset, seeds: int) -> None:
    """Print the table of the clear form, and what is asked of it."""
    area, targets = dataset.area, dataset.densest[:DENSEST].tolist()
    certified = Certified()
    priors = [prior_of(dataset, seed) for seed in range(seeds)]
    _say(f"in the clear: {len(area)} cells, mean over the {DENSEST} densest and {seeds} choices of places")
    _say(f"{'ε per km':>9} {'wanted':>7}" + "".join(f"{one:>12}" for one in (*NAMES, "panel/fresh")))
    for times in TIMES:
        epsilon = times * DEFAULT_EPSILON_PER_KM
        tight = tight_constraints(area, epsilon)
        tables = {
            "panel": certified(panel_policy(area, epsilon_per_km=epsilon)),
            "list": certified(panel_policy(area, targets, epsilon_per_km=epsilon)),
            "Laplace": certified(planar_laplace(area, None, [0], epsilon)),
            "exponential": certified(exponential(area, None, [0], epsilon)),
            **({} if tight is None else {"tight": certified(tight)}),
        }
        for share, asked in zip(SHARES, ASKED, strict=True):
            found: dict[str, list[float]] = {}
            for prior in priors:
                for target in targets:
                    fresh = certified(optimal_policy(area, prior, [target], epsilon_per_km=epsilon, beta=share))
                    found.setdefault("fresh", []).append(fresh.value)
                    for name, policy in tables.items():
                        found.setdefault(name, []).append(precision(policy, prior, target, share))
            means = {name: float(np.mean(values)) for name, values in found.items()}
            _say(f"{times:>4} ln 4  {share:>7.1%}" + _row(means))
            _judge(means, asked if times == 1 else 0.0, AHEAD if share == SHARES[-1] else 1.0)
    _say(f"{certified.count} policies, all certified")


def protected(dataset: Dataset) -> None:
    """Print the table with grades and outside protected."""
    area, targets = dataset.area, dataset.densest[:DENSEST].tolist()
    n, count, certified = len(area), len(DEFAULT_THRESHOLDS) + 1, Certified()
    chances = chances_of_grades(DEFAULT_THRESHOLDS)
    cells, grades = dataset.graded_places(
        "logistic", "target-aware", DEFAULT_THRESHOLDS, tuple(targets), np.random.default_rng(0)
    )
    there = cells != NULL
    joint = np.bincount(grades[there] * n + cells[there], minlength=count * n) / there.sum()
    prior, outside = joint.reshape(count, n), 1 - float(there.mean())
    of_grades = ", ".join(f"{share:.0%}" for share in (prior.sum(axis=1) * (1 - outside)).tolist())
    _say(f"grades and outside protected: of each grade {of_grades}, outside {outside:.0%}; δ = {DEFAULT_DELTA:g}")
    _say(f"{'ε₀':>9} {'wanted':>7}" + "".join(f"{one:>12}" for one in ("fresh", "panel", "list", "panel/fresh")))
    for factor in PROTECTIONS:
        losses: dict[str, Any] = {"epsilon_per_km": DEFAULT_EPSILON_PER_KM, "null_epsilon": log(factor)}
        losses["grade_epsilon"] = log(factor) / (count - 1)
        panel = certified(panel_policy(area, **losses, grades=count))
        listed = certified(panel_policy(area, targets, **losses, grades=count))
        for share in SHARES:
            found: dict[str, list[float]] = {"fresh": [], "panel": [], "list": []}
            for target in targets:
                fresh = optimal_policy(
                    area, prior, [target], **losses, beta=share, null_share=outside, grade_chances=chances
                )
                found["fresh"].append(certified(fresh).value)
                for name, policy in (("panel", panel), ("list", listed)):
                    found[name].append(precision(policy, prior, target, share, outside, chances))
            means = {name: float(np.mean(values)) for name, values in found.items()}
            row = "".join(f"{means[name]:>12.3f}" for name in found)
            _say(f"{f'ln {factor}':>9} {share:>7.1%}{row}{means['panel'] / means['fresh']:>12.3f}")
    _say(f"{certified.count} policies, all certified")


NAMES = ("fresh", "panel", "list", "Laplace", "exponential", "tight")


def _row(means: dict[str, float]) -> str:
    shown = (f"{means[name]:>12.3f}" if name in means else f"{'-':>12}" for name in NAMES)
    return "".join(shown) + f"{means['panel'] / means['fresh']:>12.3f}"


def _judge(means: dict[str, float], of_fresh: float, ahead: float) -> None:
    """Say where less was found than is asked."""
    asked = {"fresh": of_fresh, "Laplace": ahead, "exponential": ahead, "tight": LIKE_TIGHT}
    for name, times in asked.items():
        if name in means and means["panel"] < times * means[name]:
            _say(f"          LESS THAN ASKED: {means['panel'] / means[name]:.4f} times {name}, asked {times:g}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print both tables."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.panels", description=__doc__.splitlines()[0])
    options.add_argument("traces")
    options.add_argument("--seeds", type=int, default=4, help="choices of places, in the clear")
    options.add_argument("--parts", nargs="*", default=["clear", "protected"], choices=("clear", "protected"))
    given = options.parse_args()
    dataset = open_city(CitySource("new-york", given.traces))
    if "clear" in given.parts:
        in_the_clear(dataset, given.seeds)
    if "protected" in given.parts:
        protected(dataset)


if __name__ == "__main__":
    main()
