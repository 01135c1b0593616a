"""Describe a comparison in words: the facts, the warnings and the table that command line and reports show."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crowdveil.formatting import exact, in_plain_words, rounded_up_below
from crowdveil.simulate.comparison import Comparison, ComparisonSettings, name_targets
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.records import Record

MIN_ACTIVE_SHARE = 0.2
"""Fewer active people in a test period than this share of those in training: the test says little."""


def find_warnings(dataset: Dataset, settings: ComparisonSettings) -> list[str]:
    """Say what makes a comparison less meaningful than it seems, each with its count."""
    found = []
    outside, read = dataset.counts.left_out.get("outside of the area", 0), dataset.visits_read
    if 2 * outside > read:
        found.append(f"{outside:,} of {read:,} visits lie outside of the area.")
    for what, part in (("learn from", dataset.split.train), ("test on", dataset.split.test)):
        empty = dataset.counts.empty_periods(part)
        if empty:
            some = f"{', '.join(map(str, empty[:8]))}{', ...' * (len(empty) > 8)}"
            found.append(f"{len(empty)} of {len(part)} periods to {what} have no visit at all (numbers {some}).")
    found += _thin_test(dataset)
    targets = settings.targets
    if not dataset.coverage(targets).any():
        found.append(f"nobody was at a target ({name_targets(targets)}) in the test periods: every coverage is 0.")
    profile = dataset.profiles[settings.profile]
    if not np.isin(profile.cell[profile.frequent(settings.delta)], targets).any():
        found.append(f"no target ({name_targets(targets)}) is anybody's frequent place: nobody can report one.")
    return found


def _thin_test(dataset: Dataset) -> list[str]:
    """Compare how many people are active in a period to test on and in one to learn from."""
    counts, split = dataset.counts, dataset.split
    once = np.unique(counts.user * len(counts.periods) + counts.period)
    active = np.bincount(once % len(counts.periods), minlength=len(counts.periods))
    learning, testing = (float(active[part.start : part.stop].mean()) for part in (split.train, split.test))
    if testing >= MIN_ACTIVE_SHARE * learning:
        return []
    return [
        f"hardly anyone is active in the periods to test on: {testing:.3g} people in each, against {learning:.3g} in "
        "those to learn from. Set how many to learn from and to test on, so that the test ends where people are active."
    ]


def describe_comparison(result: Comparison) -> dict[str, str]:
    """Say what was read, what was compared, and how."""
    dataset, settings = result.dataset, result.settings
    reporters, users = result.records[0].extra["reports"], dataset.counts.users
    return {
        **dataset.facts,
        **_describe_dataset(dataset),
        "profile": f"{settings.profile}{_half_life(dataset) if settings.profile == 'recency' else ''}",
        "place to report": settings.rule,
        "frequent place": f"{reporters:,} of {users:,} users ({reporters / users:.1%}), at δ = {settings.delta:g}",
        "wanted (α)": f"{result.wanted:,}: {result.wanted / users:.4g} of everyone",
        "targets": name_targets(settings.targets),
        "privacy": f"ε = {exact(settings.epsilon_per_km)} per km: {in_plain_words(settings.epsilon_per_km)}",
        "protected": _protected(settings),
        "certified": _certified(result),
        "seeds": f"{settings.seeds:,}, {settings.rounds} rounds each",
    }


def _describe_dataset(dataset: Dataset) -> dict[str, str]:
    periods, left_out = dataset.counts.periods, dataset.counts.left_out
    unit = "week" if periods.days == 7 else "weekday" if periods.weekdays_only else "day"
    weekends = " without weekends" * (periods.weekdays_only and periods.days == 7)
    return {
        "cells": f"{len(dataset.area):,}",
        "left out": ", ".join(f"{number:,} visits {reason}" for reason, number in left_out.items()) or "no visit",
        "periods": f"{len(periods)} {unit}s{weekends} from {periods.start}: {len(dataset.split.train)} to learn from, "
        f"{len(dataset.split.test)} to test on",
    }


def _half_life(dataset: Dataset) -> str:
    if not dataset.half_life.scores:
        return ", half-life infinite: the training periods cannot choose one"
    return f", half-life {dataset.half_life.half_life_periods:g} periods, chosen on the training periods"


def _protected(settings: ComparisonSettings) -> str:
    if settings.null_epsilon is None:
        return "the place only; our methods too are told in the clear who has no frequent place"
    told = f"by our methods also being outside (ε₀ = {exact(settings.null_epsilon)})"
    if settings.grade_epsilon is None:
        return told
    return f"{told} and how regular a visitor is ({_grades(settings)})"


def _grades(settings: ComparisonSettings) -> str:
    assert settings.grade_epsilon is not None
    divided = ", ".join(f"{one:g}" for one in settings.thresholds)
    between = f"ε₁ = {exact(settings.grade_epsilon)} from each to the next"
    return f"{len(settings.thresholds) + 1} grades, divided at {divided}; {between}"


def _certified(result: Comparison) -> str:
    if result.policies == 0:
        return "nothing: none of the methods that were compared draws symbols"
    return f"{result.policies:,} policies; every symbol was drawn from one of them"


TABLE_HEADER = ["method", "coverage", "95 % interval", "selected", "private at ε ≥ (per km)"]


def table_rows(records: Sequence[Record]) -> list[list[str]]:
    """Write the rows of the table under `TABLE_HEADER`, one per method."""
    return [
        [
            record.method,
            f"{record.value:.1%}",
            f"{record.ci_low:.1%} to {record.ci_high:.1%}",
            f"{record.selected:.0%} of {record.extra['wanted']:,}",
            private_from(record),
        ]
        for record in records
    ]


def private_from(record: Record) -> str:
    """Write the smallest certified ε, rounded up; `no` where there is none."""
    smallest = record.extra["private_from_epsilon_per_km"]
    return "no" if smallest is None else rounded_up_below(smallest, record.epsilon_per_km or math.inf)
