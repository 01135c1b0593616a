"""Figure 8 of the paper: how well the distribution of places is learnt."""

from __future__ import annotations

from math import log

import numpy as np

from crowdveil.paper.cases import Case
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, FinishedCases, Simulated
from crowdveil.plots.figure_spec import PAPER, FigureSpec
from crowdveil.prior import divergence
from crowdveil.simulate.records import Record, interval
from crowdveil.simulate.simulation import PLACES_STREAM, Method
from crowdveil.vocabulary import NULL

SPEC = FigureSpec(
    name="divergences",
    title="Learning where people are",
    paper="Figure 8",
    question="How far is the estimate of π from the truth after k rounds (Kullback-Leibler divergence, nats; k = 0 is "
    "the uniform start)? All learn from the same users under the paper's profile and rule. ε = ln 4 per km, δ = 0.7.",
    chart="lines",
    x="k",
    x_title="k, rounds",
    y_title="divergence in nats",
    percent=False,
)
MANY = 8
LEARNING: tuple[Method, ...] = ("algorithm-2", "crowdveil", "privic")


def cases(source: CitySource, effort: Effort) -> list[Case]:
    """List one dense target, and eight random ones, for every k."""
    dataset = open_city(source)
    most = len(dataset.area) - 1  # some cell has to be no target
    found = []
    for seed in range(effort.divergence_seeds):
        many = np.random.default_rng([seed, 8]).choice(len(dataset.area), min(MANY, most), replace=False)
        for targets in ((int(dataset.densest[0]),), tuple(sorted(many.tolist()))):
            label = "1 target" if len(targets) == 1 else f"{len(targets)} targets"
            for k in effort.group_counts:
                for method in LEARNING:
                    one = (seed, seed + 1)
                    found.append(Case(SPEC.name, label, 0, targets, method, *PAPER, log(4), 0.7, one, rounds=k))
    return found


def records(source: CitySource, found: FinishedCases) -> list[Record]:
    """Make one record per number of targets, k and method, and the start as k = 0."""
    groups: dict[tuple[str, str, int], list[float]] = {}
    for case, result in found:
        groups.setdefault((case.label, case.method, case.rounds), []).extend(result.divergence)
    start = _start(source, sorted({case.seeds[0] for case, _ in found}))
    for label, method in sorted({(label, method) for label, method, _ in groups}):
        groups[label, method, 0] = start
    made = []
    for (label, method, k), values in sorted(groups.items()):
        mean, low, high = interval(values)
        made.append(
            Record(
                figure=SPEC.name,
                dataset=source.name,
                method=method,
                profile=PAPER[0],
                rule=PAPER[1],
                label=label,
                measure="divergence_nats",
                value=mean,
                ci_low=low,
                ci_high=high,
                n=len(values),
                seeds=len(values),
                epsilon_per_km=log(4),
                delta=0.7,
                targets=int(label.split()[0]),
                k=k,
                extra={"values": values},
            )
        )
    return made


def _start(source: CitySource, seeds: list[int]) -> list[float]:
    """Compare the uniform distribution with each seed's true one."""
    dataset = open_city(source)
    values = []
    for seed in seeds:
        places = dataset.places(*PAPER, 0.7, (0,), np.random.default_rng([seed, PLACES_STREAM]))
        count = np.bincount(places[places != NULL], minlength=len(dataset.area))
        values.append(divergence(count / count.sum(), np.full(len(count), 1 / len(count))))
    return values


FIGURE = Simulated(SPEC, cases, records)
