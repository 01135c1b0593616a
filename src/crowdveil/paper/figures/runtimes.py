"""The paper's section 'Runtime Efficiency': seconds to make one policy, and a whole campaign."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from time import perf_counter

import numpy as np

from crowdveil.certify import certify
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, Measured
from crowdveil.plots.figure_spec import PAPER, FigureSpec
from crowdveil.policy.quota import minimum_beta
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.simulate.records import Record
from crowdveil.simulate.simulation import Crowd, simulate

SPEC = FigureSpec(
    name="runtimes",
    title="Time to make a policy",
    paper="section 'Runtime Efficiency'",
    question="How long does one policy take, and a campaign of six rounds? The paper's figures are of another machine "
    "(i5-5200U, 2.2 GHz, Gurobi 7.5): compare orders of magnitude. Eight random targets; medians, with the quartiles.",
    chart="bars",
    x="label",
    x_title="",
    y_title="seconds",
    percent=False,
    log=True,
)
PRINTED = "text of section 'Runtime Efficiency': about 450 s; six rounds about 45 minutes"


def records(source: CitySource, effort: Effort) -> list[Record]:
    """Time a policy alone, a policy with its certificate, and a whole campaign of both algorithms."""
    dataset = open_city(source)
    generator = np.random.default_rng(8)
    targets = tuple(sorted(generator.choice(len(dataset.area), 8, replace=False).tolist()))
    places = dataset.places(*PAPER, 0.7, targets, generator)
    crowd = Crowd(dataset.area, targets, places, log(4))
    beta = minimum_beta(users=len(crowd.reporters), wanted=crowd.wanted)

    def one_policy() -> object:
        return optimal_policy(dataset.area, crowd.prior(), targets, epsilon_per_km=log(4), beta=beta)

    def with_certificate() -> object:
        made = optimal_policy(
            dataset.area, crowd.prior(), targets, epsilon_per_km=log(4), beta=beta, completion="informative"
        )
        return certify(made)

    timed: list[tuple[str, str, Callable[[], object], float | None]] = [
        ("one policy", "algorithm-1", one_policy, 450.0),
        ("one policy, informative and certified", "crowdveil", with_certificate, None),
        ("campaign of six rounds", "algorithm-2", lambda: simulate(crowd, "algorithm-2", 1), 2700.0),
        ("campaign of six rounds", "crowdveil", lambda: simulate(crowd, "crowdveil", 1), None),
    ]
    made = []
    for label, method, job, printed in timed:
        paper = printed if source.name == "new-york" else None
        seconds = sorted(_seconds(job) for _ in range(effort.repeats))
        low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75]).tolist()
        made.append(
            Record(
                figure=SPEC.name,
                dataset=source.name,
                method=method,
                profile=PAPER[0],
                rule=PAPER[1],
                label=label,
                measure="seconds",
                value=middle,
                ci_low=low,
                ci_high=high,
                n=effort.repeats,
                seeds=1,
                epsilon_per_km=log(4),
                delta=0.7,
                targets=8,
                k=6 if "six" in label else 1,
                paper=paper,
                paper_source=PRINTED if paper else "",
                extra={"interval": "quartiles"},
            )
        )
    return made


def _seconds(job: Callable[[], object]) -> float:
    begun = perf_counter()
    job()
    return perf_counter() - begun


FIGURE = Measured(SPEC, records)
