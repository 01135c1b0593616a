"""A case: one method on one city with one set of targets, over some seeds. The unit of work of a study.

A case is a plain value that says everything its result depends on, so that results can be kept and looked up again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np

from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.uploads import simulate_uploads
from crowdveil.simulate.balance import Balance, BalanceMethod, balance_of, cover_targets, promised_at
from crowdveil.simulate.comparison import ComparisonSettings
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.simulation import PLACES_STREAM, Crowd, Method, coverage_of, simulate
from crowdveil.vocabulary import Rule


@dataclass(frozen=True)
class Case:
    """What to simulate."""

    figure: str
    label: str
    """What it stands for within its figure: a target's name, a random draw's number."""
    offset: int
    targets: tuple[int, ...]
    method: Method | BalanceMethod
    profile: str
    rule: Rule
    epsilon_per_km: float
    delta: float
    seeds: tuple[int, int]
    """From, and up to but not including."""
    rounds: int = 6
    uploads: int = 1
    """How many places a user may report; the budget ε is split among them."""
    null_epsilon: float | None = None
    grade_epsilon: float | None = None
    """ε₀ and ε₁ of our methods; None for the paper's clear form."""
    number_each: int | None = None
    """How many people are wanted at each target, for methods of `simulate.balance`; None: a share, at any target."""

    def to_json(self) -> dict[str, Any]:
        """Return the case as JSON, for the record of finished work."""
        return asdict(self)


@dataclass(frozen=True)
class CaseResult:
    """One number per seed."""

    coverage: tuple[float, ...]
    selected: tuple[float, ...]
    """Share of the wanted users that were selected."""
    divergence: tuple[float, ...]
    """KL divergence of the last estimate of π; empty for methods without one."""
    reports: int
    """Users who had a place to report, under the last seed."""
    policies: int
    """Certified policies that symbols were drawn from."""
    balance: tuple[Balance, ...] = ()
    """Who came to which target, where a number is wanted at each."""

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> CaseResult:
        """Read what was kept."""
        per_seed = ("coverage", "selected", "divergence")
        coverage, selected, divergence = (tuple(float(value) for value in document[name]) for name in per_seed)
        balance = tuple(Balance(**one) for one in document["balance"])
        return cls(coverage, selected, divergence, int(document["reports"]), int(document["policies"]), balance)


def combine_portions(results: Sequence[CaseResult]) -> CaseResult:
    """Combine the results of one case's portions of seeds, in order."""

    def together(name: str) -> tuple[Any, ...]:
        return tuple(chain.from_iterable(getattr(one, name) for one in results))

    return CaseResult(
        coverage=together("coverage"),
        selected=together("selected"),
        divergence=together("divergence"),
        reports=results[-1].reports,
        policies=sum(one.policies for one in results),
        balance=together("balance"),
    )


def run_case(source: CitySource, case: Case) -> CaseResult:
    """Simulate every seed of a case."""
    dataset = open_city(source, case.offset)
    if case.number_each is not None:
        return _run_balance(dataset, case, case.number_each)
    method: Method = case.method  # type: ignore[assignment]
    share = dataset.coverage(case.targets)
    coverage: list[float] = []
    selected: list[float] = []
    divergence: list[float] = []
    reports = policies = 0
    for seed in range(*case.seeds):
        generator = np.random.default_rng([seed, PLACES_STREAM])
        if case.null_epsilon is not None:
            outcome = simulate(_settings(case).crowd(dataset, seed), method, seed)
        elif case.uploads == 1:
            places = dataset.places(case.profile, case.rule, case.delta, case.targets, generator)
            crowd = Crowd(dataset.area, case.targets, places, case.epsilon_per_km, rounds=case.rounds)
            outcome = simulate(crowd, method, seed)
        else:
            profile = dataset.profiles[case.profile]
            outcome = simulate_uploads(
                dataset.area,
                profile,
                generator,
                seed,
                targets=case.targets,
                rule=case.rule,
                delta=case.delta,
                epsilon_per_km=case.epsilon_per_km,
                rounds=case.rounds,
                uploads=case.uploads,
            )
        missing_count = case.null_epsilon is not None  # as in `compare`; the paper divides by those selected
        coverage.append(coverage_of(outcome.selected, share, outcome.wanted if missing_count else None))
        selected.append(len(outcome.selected) / outcome.wanted)
        divergence.extend(outcome.divergence[-1:])
        reports, policies = outcome.reports, policies + outcome.policies
    return CaseResult(tuple(coverage), tuple(selected), tuple(divergence), reports, policies)


def _settings(case: Case, wanted: int | None = None) -> ComparisonSettings:
    return ComparisonSettings(
        case.targets,
        case.epsilon_per_km,
        case.delta,
        case.profile,
        case.rule,
        rounds=case.rounds,
        null_epsilon=case.null_epsilon,
        grade_epsilon=case.grade_epsilon,
        wanted=wanted,
    )


def _run_balance(dataset: Dataset, case: Case, number: int) -> CaseResult:
    """Simulate a case with a number of people for each target."""
    numbers = (number,) * len(case.targets)
    settings = _settings(case, wanted=sum(numbers))
    share = dataset.coverage_by_target(case.targets)
    method: BalanceMethod = case.method  # type: ignore[assignment]
    promised = promised_at(dataset.profiles[case.profile], case.targets)
    balance: list[Balance] = []
    selected: list[float] = []
    reports = policies = 0
    for seed in range(*case.seeds):
        crowd = settings.crowd(dataset, seed)
        found = cover_targets(crowd, numbers, promised, method, seed)
        balance.append(balance_of(found, share, crowd, numbers))
        selected.append(len(found.selected) / sum(numbers))
        reports, policies = len(crowd.reporters), policies + len(found.policies)
    return CaseResult((), tuple(selected), (), reports, policies, tuple(balance))
