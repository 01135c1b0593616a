"""Ours: an attacker who knows π and sees a report guesses the reported place.

From symbol s the best guess is the cell with the largest posterior, and it is right with the chance

    Σ_s max_l π_l P(s|l).

Definition 1 bounds it. For any symbol, P(s|k) ≥ e^{-ε d(k,l)} P(s|l), hence

    π(l|s) = π_l P(s|l) / Σ_k π_k P(s|k)  ≤  B_l = π_l / Σ_k π_k e^{-ε d(k,l)},

so no guess, after whatever symbol, is right with a chance above B of the guessed cell, and none above max_l B_l.
"""

from __future__ import annotations

from math import log

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify import certify
from crowdveil.draw import draw_many
from crowdveil.errors import NotPrivateError
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, Measured
from crowdveil.plots.figure_spec import OURS, FigureSpec
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.policy import Policy
from crowdveil.policy.quota import minimum_beta
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.simulate.records import Record, interval
from crowdveil.simulate.simulation import PLACES_STREAM, Crowd

SPEC = FigureSpec(
    name="attackers",
    title="What an attacker learns from one report",
    paper="",
    question="How often is the best guess of the reported place right, for an attacker who knows π exactly? Without "
    "obfuscation always. The floor is the best guess without any report; the bound is what ε allows at most.",
    chart="lines",
    x="epsilon_per_km",
    x_title="ε per km",
    y_title="guessed right",
)
BASES = (2, 4, 6, 8)
SIMULATED = 100_000
"""Reports drawn for each guess that is tested."""


def records(source: CitySource, effort: Effort) -> list[Record]:
    """Make records for every ε: our policy (equal and informative columns), Laplace, no report, and the bound."""
    dataset = open_city(source)
    target = (int(dataset.densest[0]),)
    made: list[Record] = []
    for base in BASES:
        values: dict[str, list[float]] = {}
        for seed in range(min(effort.seeds, 8)):
            places = dataset.places(*OURS, 0.7, target, np.random.default_rng([seed, PLACES_STREAM]))
            crowd = Crowd(dataset.area, target, places, log(base))
            pi = crowd.prior()
            bound = guess_bounds(dataset.area, pi, log(base))
            for name, policy in _policies(crowd, pi).items():
                values.setdefault(name, []).append(_attack(policy, pi, bound, seed))
            values.setdefault("no report", []).append(float(pi.max()))
            values.setdefault("bound", []).append(float(bound.max()))
        for method, shares in values.items():
            mean, low, high = interval(shares, most=1.0)
            made.append(
                Record(
                    figure=SPEC.name,
                    dataset=source.name,
                    method=method,
                    profile=OURS[0],
                    rule=OURS[1],
                    label="dense target",
                    measure="found_share",
                    value=mean,
                    ci_low=low,
                    ci_high=high,
                    n=len(shares),
                    seeds=len(shares),
                    epsilon_per_km=log(base),
                    delta=0.7,
                    targets=1,
                    extra={"bound": float(np.mean(values["bound"])), "simulated": SIMULATED},
                )
            )
    return made


def guess_bounds(area: Area, prior: FloatArray, epsilon_per_km: float) -> FloatArray:
    """Compute B_l = π_l / Σ_k π_k e^{-ε d(k,l)} for every cell."""
    everywhere = np.arange(len(area))
    near = np.exp(-epsilon_per_km * area.distances_km(everywhere, everywhere))
    return np.asarray(prior / (near @ prior))


def best_guesses(policy: Policy, prior: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return, for each symbol, the cell with the largest posterior, and that posterior."""
    joint = prior[:, None] * policy.table()
    guess = joint.argmax(axis=0)
    return guess, np.asarray(joint.max(axis=0) / joint.sum(axis=0))


def _policies(crowd: Crowd, pi: FloatArray) -> dict[str, Policy]:
    beta = minimum_beta(users=len(crowd.reporters), wanted=crowd.wanted)
    made = crowd.area, pi, crowd.targets
    optimal = {
        name: optimal_policy(*made, epsilon_per_km=crowd.epsilon_per_km, beta=beta, completion=completion)
        for name, completion in (("algorithm-1", "equal"), ("crowdveil-known", "informative"))
    }
    return {**optimal, "laplace": planar_laplace(*made, crowd.epsilon_per_km)}


def _attack(policy: Policy, pi: FloatArray, bound: FloatArray, seed: int) -> float:
    """Compute the share of simulated reports whose place the best guess finds; check every guess against its bound."""
    guess, chance = best_guesses(policy, pi)
    excess = chance - bound[guess]
    if (excess > 1e-9).any():
        symbol = int(excess.argmax())
        raise NotPrivateError(
            f"symbol {policy.symbol_name(symbol)}: a guess is right with chance {chance[symbol]:.6f}, "
            f"above the bound {bound[guess[symbol]]:.6f}"
        )
    generator = np.random.default_rng([seed, 3])
    cells = generator.choice(len(pi), SIMULATED, p=pi)
    symbols = draw_many(policy, cells, certify(policy), generator)
    return float((guess[symbols] == cells).mean())


FIGURE = Measured(SPEC, records)
