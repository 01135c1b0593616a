"""Collect places in rounds as PRIVIC does: Blahut-Arimoto policies and iterative Bayesian update, in turns.

Round by round: make the Blahut-Arimoto policy for the current estimate of π (`policy.baselines.blahut_arimoto`), draw
the reports of the round's users from it, and estimate π anew (`prior.iterative_update`). The first round, before
anything is known, uses planar Laplace. This and the number of turns and steps are those of the authors' published
experiments. So few steps stop short of the likeliest π: with the reports of a campaign that is better, because the
likeliest follows their noise; with very many reports more steps come nearer to the truth.

The authors have many thousand reports in each round and learn from the latest round alone. A campaign has far fewer,
so all rounds so far count here, each under its own policy, which leaves it more to learn from. PRIVIC was made to
learn π, not to select anyone; here its reports are ranked as those of our own campaigns, by the chance that the
sender's place is a target under the last estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify import Certificate, certify
from crowdveil.draw import draw_many
from crowdveil.policy.baselines.blahut_arimoto import blahut_arimoto
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.policy import Policy
from crowdveil.prior import count_symbols, iterative_update, target_chances

TURNS, STEPS = 8, 10
"""Of the Blahut-Arimoto algorithm for each policy, and of the iterative Bayesian update after each round."""


@dataclass(frozen=True, eq=False)
class PrivicRun:
    """What was sent in every round, and what was learnt from it."""

    policies: tuple[Policy, ...]
    symbols: tuple[IntArray, ...]
    """By round, in the order of its users."""
    priors: tuple[FloatArray, ...]
    """The estimate after each round."""

    def chances(self, targets: Sequence[int]) -> FloatArray:
        """Return the chance of each report, round after round, that its sender's place is a target."""
        last = self.priors[-1]
        of_round = (target_chances(last, policy, targets) for policy in self.policies)
        return np.concatenate([chance[sent] for chance, sent in zip(of_round, self.symbols, strict=True)])


def run_privic(
    area: Area,
    groups: Sequence[IntArray],
    epsilon_per_km: float,
    generator: np.random.Generator,
    *,
    steps: int = STEPS,
) -> PrivicRun:
    """Run all rounds; `groups` has the cells of each round's users."""
    policies: list[Policy] = []
    symbols: list[IntArray] = []
    priors: list[FloatArray] = []
    rounds = []
    for cells in groups:
        policy, certificate = _policy(area, priors[-1], epsilon_per_km) if priors else _first(area, epsilon_per_km)
        sent = draw_many(policy, cells, certificate, generator)
        rounds.append(count_symbols(policy, sent))
        policies.append(policy)
        symbols.append(sent)
        priors.append(iterative_update(rounds, max_steps=steps))
    return PrivicRun(tuple(policies), tuple(symbols), tuple(priors))


def _policy(area: Area, prior: FloatArray, epsilon_per_km: float) -> tuple[Policy, Certificate]:
    """Its symbols are cells and depend on no target, but a policy has to name one: cell 0."""
    policy = blahut_arimoto(area, prior, [0], epsilon_per_km, max_turns=TURNS)
    return policy, certify(policy)


@lru_cache(maxsize=16)
def _first(area: Area, epsilon_per_km: float) -> tuple[Policy, Certificate]:
    """The first round's is the same for every seed."""
    policy = planar_laplace(area, None, [0], epsilon_per_km)
    return policy, certify(policy)
