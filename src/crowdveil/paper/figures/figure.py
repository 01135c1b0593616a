"""What a figure of a study is: a question, the cases that answer it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from crowdveil.paper.cases import Case, CaseResult
from crowdveil.paper.cities import CitySource
from crowdveil.plots.figure_spec import OURS, PAPER, FigureSpec
from crowdveil.simulate.records import Record, interval
from crowdveil.simulate.simulation import Method
from crowdveil.vocabulary import Rule

PAPER_METHODS: tuple[Method, ...] = ("none", "algorithm-2", "laplace", "random")
"""What the paper compares, under its own profile and rule."""
OUR_METHODS: tuple[Method, ...] = (
    "none", "crowdveil", "laplace", "laplace-posterior", "laplace-remapped", "privic",
)  # fmt: skip
"""What we compare, all under our profile and rule."""


@dataclass(frozen=True)
class Effort:
    """How much is simulated."""

    seeds: int
    """For a fixed target."""
    draws: int
    """Random draws of targets."""
    draw_seeds: int
    offsets: int
    """Positions of the grid, at most; for figures that average over them."""
    densest_seeds: int
    divergence_seeds: int
    group_counts: tuple[int, ...]
    """The k of the figure of divergences."""
    repeats: int
    """Of what is timed."""
    loss_seeds: int
    """Of the figures of losses and balance, each with its own targets."""
    balance_targets: tuple[int, ...]
    """How many targets there are in the figure of balance."""


QUICK = Effort(
    seeds=4,
    draws=3,
    draw_seeds=1,
    offsets=1,
    densest_seeds=1,
    divergence_seeds=2,
    group_counts=(1, 6),
    repeats=1,
    loss_seeds=8,
    balance_targets=(2, 8),
)
FULL = Effort(
    seeds=80,
    draws=24,
    draw_seeds=2,
    offsets=4,
    densest_seeds=6,
    divergence_seeds=24,
    group_counts=(1, 2, 3, 4, 6, 8, 10),
    repeats=9,
    loss_seeds=40,
    balance_targets=(2, 4, 8, 16),
)

FinishedCases = Sequence[tuple[Case, CaseResult]]
"""Finished cases."""


@dataclass(frozen=True)
class Simulated:
    """A figure from simulated campaigns: its cases, and how their results become records."""

    spec: FigureSpec
    cases: Callable[[CitySource, Effort], list[Case]]
    records: Callable[[CitySource, FinishedCases], list[Record]]


@dataclass(frozen=True)
class Measured:
    """A figure that is measured at once."""

    spec: FigureSpec
    records: Callable[[CitySource, Effort], list[Record]]


Figure: TypeAlias = Simulated | Measured


def both(methods_of_paper: Iterable[Method] = PAPER_METHODS) -> list[tuple[Method, str, Rule]]:
    """List the paper's methods under the paper's profile and rule, then ours under ours."""
    paper = [(method, *PAPER) for method in methods_of_paper]
    return [*paper, *((method, *OURS) for method in OUR_METHODS)]


def coverage_records(
    source: CitySource,
    found: FinishedCases,
    *,
    independent: Literal["seeds", "draws"],
    label: Callable[[Case], str] = lambda case: case.label,
    by_offset: bool = False,
    paper: Callable[[Case], tuple[float, str] | None] = lambda _: None,
    extra: Callable[[Case], dict[str, Any]] = lambda _: {},
) -> list[Record]:
    """Compute the mean coverage of each method and setting.

    Independent are the seeds of one case, or the draws of targets and positions of the grid, averaged over seeds. The
    record keeps them: methods whose cases are listed in the same order are compared value by value.
    """
    groups: dict[tuple[Any, ...], list[tuple[Case, CaseResult]]] = {}
    for case, result in found:
        setting = (case.epsilon_per_km, case.delta, len(case.targets), case.rounds, case.uploads)
        where = case.offset if by_offset else None
        series = (label(case), case.method, case.profile, case.rule)
        groups.setdefault((*series, setting, where), []).append((case, result))
    records = []
    for (name, method, profile, rule, _, where), members in groups.items():
        case = members[0][0]
        if independent == "seeds":
            values = [value for _, result in members for value in result.coverage]
        else:
            values = [sum(result.coverage) / len(result.coverage) for _, result in members]
        shares = [share for _, result in members for share in result.selected]
        mean, low, high = interval(values, most=1.0)
        printed = paper(case)
        records.append(
            Record(
                figure=case.figure,
                dataset=source.name,
                method=method,
                profile=profile,
                rule=rule,
                label=name,
                measure="coverage",
                value=mean,
                ci_low=low,
                ci_high=high,
                n=len(values),
                seeds=case.seeds[1] - case.seeds[0],
                epsilon_per_km=case.epsilon_per_km,
                delta=case.delta,
                targets=len(case.targets),
                k=case.rounds,
                offset=where,
                selected=sum(shares) / len(shares),
                paper=printed[0] if printed else None,
                paper_source=printed[1] if printed else "",
                extra={"reports": members[-1][1].reports, "values": values, **extra(case)},
            )
        )
    return records
