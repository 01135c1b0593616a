"""Ours: where coverage is lost, from a selection with hindsight down to ours.

Four selections of the same number of people, each knowing less than the one before:

    hindsight         the best people, chosen knowing the test periods: the ceiling
    by-profile        everyone's profile known, nobody protected; what lies between is what the profile loses
    crowdveil-known   one certified report per person, π known; between: what privacy loses
    crowdveil         the same, π learnt in k rounds; between: what not knowing π loses

All of it in the form and with the settings that are the default of `crowdveil compare`, which protect more than the
paper does: also how regularly a place is visited, and being outside. `crowdveil-clear`, which protects the place alone,
stands beside them in the records, to tell what that costs. A seed draws targets among the densest cells, the order of
people and every report; all selections of a seed share them, so that losses are differences within a seed, and their
intervals are over seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np

from crowdveil.paper.cases import Case
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.figure import Effort, FinishedCases, Simulated
from crowdveil.paper.verdicts import of_values
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.profile import PROFILE_METHODS
from crowdveil.simulate.ceilings import choose_by_profile, choose_with_hindsight
from crowdveil.simulate.comparison import ComparisonSettings
from crowdveil.simulate.records import Record
from crowdveil.simulate.simulation import Method, coverage_of

DENSEST, TARGETS = 20, 4
"""So many of the densest cells are drawn from; so many are targets."""
KNOWN: Method = "crowdveil-known"
CLEAR: Method = "crowdveil-clear"
OURS: Method = "crowdveil"
HINDSIGHT, BY_PROFILE = "hindsight", "by-profile"


class Part(NamedTuple):
    """A part of what is lost: the selection before and after it."""

    name: str
    title: str
    before: str
    after: str
    short: str


PARTS = (
    Part("profile", "Knowing profiles instead of the future", HINDSIGHT, BY_PROFILE, "the profile\nloses"),
    Part("privacy", "Protecting people", BY_PROFILE, KNOWN, "privacy\nloses"),
    Part("prior", "Not knowing where people are (π)", KNOWN, OURS, "unknown π\nloses"),
)
SHORT = {
    HINDSIGHT: "best with\nhindsight",
    OURS: "crowdveil\nreaches",
    **{part.name: part.short for part in PARTS},
}
"""What stands under the bars."""

SPEC = FigureSpec(
    name="losses",
    title="Where coverage is lost",
    paper="",
    question="How many of the best possible people are missed because only the past is known (the profile), because "
    "everyone sends one private report (privacy), and because the organiser has to learn where people are (π)? "
    f"{TARGETS} targets, drawn for each seed among the {DENSEST} densest cells; ε = ln 4 per km and the default "
    "settings. Differences are within seeds.",
    chart="waterfall",
    x="method",
    x_title="",
    y_title="coverage",
)


def cases(source: CitySource, effort: Effort) -> list[Case]:
    """List the private selections of every seed, under the default settings."""
    every = [ComparisonSettings(draw_targets(source, seed), log(4)) for seed in range(effort.loss_seeds)]
    return [
        Case(
            SPEC.name,
            f"seed {seed}",
            0,
            settings.targets,
            method,
            settings.profile,
            settings.rule,
            settings.epsilon_per_km,
            settings.delta,
            (seed, seed + 1),
            rounds=settings.rounds,
            null_epsilon=settings.null_epsilon,
            grade_epsilon=settings.grade_epsilon,
        )
        for seed, settings in enumerate(every)
        for method in (KNOWN, CLEAR, OURS)
    ]


def draw_targets(source: CitySource, seed: int) -> tuple[int, ...]:
    """Draw the targets of a seed among the densest cells of the training periods."""
    dataset = open_city(source)
    among = dataset.densest[: min(DENSEST, len(dataset.area) - 1)]
    drawn = np.random.default_rng([seed, 9]).choice(among, min(TARGETS, len(among)), replace=False)
    return tuple(sorted(drawn.tolist()))


def records(source: CitySource, found: FinishedCases) -> list[Record]:
    """Make one record per selection and one per part that is lost; and what other profiles, or less privacy, give."""
    case = found[0][0]
    levels = _levels(source, found)
    made = [_record(source, case, HINDSIGHT, levels[HINDSIGHT])]
    made += [
        _record(source, case, BY_PROFILE, levels[f"{BY_PROFILE}: {name}"], profile=name) for name in PROFILE_METHODS
    ]
    made += [_record(source, case, method, levels[method]) for method in (KNOWN, CLEAR, OURS)]
    at = {**levels, BY_PROFILE: levels[f"{BY_PROFILE}: {case.profile}"]}
    for part in PARTS:
        lost = np.subtract(at[part.before], at[part.after]).tolist()
        made.append(_record(source, case, part.name, lost, measure="coverage_lost"))
    return made


def _levels(source: CitySource, found: FinishedCases) -> dict[str, list[float]]:
    """Compute the coverage of every selection, by seed."""
    dataset = open_city(source)
    levels: dict[str, list[float]] = {}
    for case, result in found:
        levels.setdefault(case.method, []).extend(result.coverage)
        if case.method != OURS:
            continue
        settings = ComparisonSettings(
            case.targets, case.epsilon_per_km, case.delta, case.profile, case.rule, rounds=case.rounds
        )
        wanted = settings.people_wanted(dataset)
        share, (seed, _) = dataset.coverage(case.targets), case.seeds
        best = choose_with_hindsight(share, wanted)
        levels.setdefault(HINDSIGHT, []).append(coverage_of(best, share, wanted))
        for name in PROFILE_METHODS:
            chosen = choose_by_profile(dataset.profiles[name], case.targets, wanted, seed)
            levels.setdefault(f"{BY_PROFILE}: {name}", []).append(coverage_of(chosen, share, wanted))
    return levels


def _record(
    source: CitySource,
    case: Case,
    method: str,
    values: Sequence[float],
    *,
    profile: str | None = None,
    measure: str = "coverage",
) -> Record:
    found = of_values(values)
    lost = measure == "coverage_lost"
    return Record(
        figure=SPEC.name,
        dataset=source.name,
        method=method,
        profile=case.profile if profile is None else profile,
        rule=case.rule,
        label=open_city(source).title,
        measure=measure,
        value=found.value,
        ci_low=found.low if lost else max(0.0, found.low),
        ci_high=found.high if lost else min(1.0, found.high),
        n=found.n,
        seeds=found.n,
        epsilon_per_km=case.epsilon_per_km,
        delta=case.delta,
        targets=len(case.targets),
        k=case.rounds,
        extra={"values": list(values), "short": SHORT.get(method, method)},
    )


FIGURE = Simulated(SPEC, cases, records)
