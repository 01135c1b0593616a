"""Ours: who covers which target, with a number of people for each target or with any target.

For each seed, targets are drawn among the densest cells of the training periods, and `NUMBER` people are wanted at each
of them. All methods of a seed share the targets, the people and their places, and know the true π (`simulate.balance`);
profile, δ and rule are the defaults of `crowdveil compare`. In the clear form all methods protect the place alone, so
that they are compared at the same privacy; `each-protected` is ours in the default form, which hides grades and being
outside as well.

Visitors are counted as a share of the people wanted: at all targets of all who are wanted, at a single target of those
wanted there. A person who comes to several targets counts at each.
"""

from __future__ import annotations

from math import log

import numpy as np

from crowdveil.paper.cases import Case
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, FinishedCases, Simulated
from crowdveil.paper.verdicts import of_values
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.simulate.balance import Balance, BalanceMethod
from crowdveil.simulate.comparison import ComparisonSettings
from crowdveil.simulate.records import Record

DENSEST, NUMBER = 40, 3
"""So many of the densest cells are drawn from; so many people are wanted at each target."""
METHODS: tuple[BalanceMethod, ...] = ("none", "any", "each", "laplace-posterior")
PROTECTED: BalanceMethod = "each"
"""What is shown in the protected form too."""
MEASURES = {
    "visitors": "all targets",
    "where_selected": "the target that each was chosen for",
    "median": "the median target",
    "least": "the least target",
    "supplied": "targets that get their number",
}
"""Measures of `Balance` and what their panels are called."""

SPEC = FigureSpec(
    name="balance",
    title="Who covers which target",
    paper="",
    question=f"{NUMBER} people are wanted at each of several targets, drawn among the {DENSEST} densest cells. How "
    "many visitors come in a test period, for each person wanted: to any of the targets, to the very one they were "
    "chosen for, to the median target, and to the least of those that somebody would report? And at how many targets "
    "are as many seen as were wanted? ε = ln 4 per km, π known, default profile.",
    chart="lines",
    x="targets",
    x_title="targets",
    y_title="visitors per person wanted",
)


def draw_targets(source: CitySource, many: int, seed: int) -> tuple[int, ...]:
    """Draw so many targets among the densest cells, in a random order; fewer of a seed are among its more."""
    dataset = open_city(source)
    among = dataset.densest[: min(DENSEST, len(dataset.area) - 1)]
    return tuple(np.random.default_rng([seed, 16]).permutation(among)[:many].tolist())


def cases(source: CitySource, effort: Effort) -> list[Case]:
    """List every method for every seed and number of targets that the crowd is large enough for."""
    dataset = open_city(source)
    most = min(len(dataset.area) - 1, dataset.counts.users // (2 * NUMBER))
    default = ComparisonSettings((), log(4))
    found = []
    for many in (count for count in effort.balance_targets if count <= most):
        for seed in range(effort.loss_seeds):
            targets = draw_targets(source, many, seed)
            clear = ((method, None, None) for method in METHODS)
            for method, null_epsilon, grade_epsilon in (
                *clear,
                (PROTECTED, default.null_epsilon, default.grade_epsilon),
            ):
                found.append(
                    Case(
                        SPEC.name,
                        f"seed {seed}",
                        0,
                        targets,
                        method,
                        default.profile,
                        default.rule,
                        default.epsilon_per_km,
                        default.delta,
                        (seed, seed + 1),
                        rounds=default.rounds,
                        null_epsilon=null_epsilon,
                        grade_epsilon=grade_epsilon,
                        number_each=NUMBER,
                    )
                )
    return found


def records(source: CitySource, found: FinishedCases) -> list[Record]:
    """Make one record per measure, number of targets and method, over the seeds."""
    groups: dict[tuple[int, str], list[tuple[Case, list[Balance]]]] = {}
    for case, result in found:
        method = case.method if case.null_epsilon is None else f"{case.method}-protected"
        groups.setdefault((len(case.targets), method), []).append((case, list(result.balance)))
    made = []
    for measure, title in MEASURES.items():
        for (many, method), members in groups.items():
            case = members[0][0]
            wanted = {"visitors": NUMBER * many, "where_selected": NUMBER * many, "supplied": 1}.get(measure, NUMBER)
            values = [getattr(one, measure) / wanted for _, some in members for one in some]
            interval = of_values(values)
            made.append(
                Record(
                    figure=SPEC.name,
                    dataset=source.name,
                    method=method,
                    profile=case.profile,
                    rule=case.rule,
                    label=title,
                    measure=f"{measure}_share",
                    value=interval.value,
                    ci_low=max(0.0, interval.low),
                    ci_high=interval.high,
                    n=interval.n,
                    seeds=interval.n,
                    epsilon_per_km=case.epsilon_per_km,
                    delta=case.delta,
                    targets=many,
                    extra={"values": values, "number_each": NUMBER},
                )
            )
    return made


FIGURE = Simulated(SPEC, cases, records)
