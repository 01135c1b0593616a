"""Make large crowds for `large.simulate_large`: a synthetic city of any size, or what `crowdveil profile` wrote.

People are written to Parquet in a folder and read from there by the engine, so that memory does not grow with them.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from crowdveil.area import Area
from crowdveil.batch import Engine
from crowdveil.codec import read_pairs
from crowdveil.errors import FileFormatError, InputError
from crowdveil.policy.checks import check_targets
from crowdveil.simulate.large import LargeCrowd, LargeOutcome
from crowdveil.simulate.people import SyntheticPopulation, people_of, write_people
from crowdveil.traces import CitySettings, SyntheticCity
from crowdveil.vocabulary import DEFAULT_ROUNDS, DEFAULT_SHARE_WANTED, grade_thresholds

MAX_USERS, MAX_WEEKS = 10**10, 520


def synthetic_crowd(
    engine: Engine,
    folder: Path,
    *,
    users: int,
    weeks: int,
    test: int,
    delta: float,
    epsilon_per_km: float,
    share_wanted: float = DEFAULT_SHARE_WANTED,
    rounds: int = DEFAULT_ROUNDS,
    seed: int = 0,
    densest: int = 1,
    progress: Callable[[int, int], None],
) -> LargeCrowd:
    """Make the people of a synthetic city, in `folder`/people.parquet; the busiest cells are the targets."""
    if users > MAX_USERS:
        raise InputError("users", users, f"should be at most {MAX_USERS:,}, more than there are people")
    if weeks > MAX_WEEKS:
        raise InputError("weeks", weeks, f"should be at most {MAX_WEEKS}, ten years")
    city = SyntheticCity(seed, users, CitySettings(weeks))
    population = SyntheticPopulation.over(city, test=test, delta=delta, densest=densest, seed=seed)
    path = folder / "people.parquet"
    write_people(population, path, os.cpu_count() or 1, progress)
    table = engine.read_parquet([str(path)])
    campaign = (epsilon_per_km, share_wanted, rounds)
    thresholds = grade_thresholds(delta)
    return LargeCrowd(
        engine, table, population.area, population.targets, test, *campaign, thresholds=thresholds, seed=seed
    )


def profiled_crowd(
    engine: Engine,
    folder: Path,
    *,
    profiled: Path,
    area: Area,
    epsilon_per_km: float,
    share_wanted: float = DEFAULT_SHARE_WANTED,
    rounds: int = DEFAULT_ROUNDS,
    seed: int = 0,
    targets: Sequence[int] | None = None,
    densest: int = 1,
    progress: Callable[[float], None],
) -> LargeCrowd:
    """Gather the people whom `crowdveil profile` has profiled, in `folder`/people.

    They are tested on the periods that the profiles were not learned from. Without targets, the cells with the most
    people are taken.
    """
    train, periods, thresholds = _read_summary(profiled, area)
    if targets is not None:
        wanted = check_targets(targets, len(area))
    elif not 1 <= densest < len(area):
        raise InputError("densest", densest, f"should be from 1 to {len(area) - 1}")
    else:
        _, reporters = read_pairs(profiled / "prior.csv", ("cell",), ("users",))
        wanted = tuple(sorted(np.argsort(-reporters, kind="stable")[:densest].tolist()))
    visits, places = (engine.read_parquet(_parquet_files(profiled / name)) for name in ("visits", "places"))
    people = people_of(visits, places, wanted, range(train, periods), seed, engine)
    half, whole = folder / "people.half", folder / "people"
    for one in (half, whole):
        shutil.rmtree(one, ignore_errors=True)
    engine.write(people, half, progress)
    half.rename(whole)
    table = engine.read_parquet([str(path) for path in sorted(whole.glob("*.parquet"))])
    campaign = (epsilon_per_km, share_wanted, rounds)
    return LargeCrowd(engine, table, area, wanted, periods - train, *campaign, thresholds=thresholds, seed=seed)


def large_results(crowd: LargeCrowd, outcomes: Sequence[LargeOutcome]) -> dict[str, Any]:
    """Describe a large crowd and what every method came to, as JSON holds it."""
    return {
        "cells": len(crowd.area),
        "targets": list(crowd.targets),
        "test_periods": crowd.test_periods,
        "epsilon_per_km": crowd.epsilon_per_km,
        "share_wanted": crowd.share_wanted,
        "rounds": crowd.rounds,
        "confidence": crowd.confidence,
        "seed": crowd.seed,
        "engine": crowd.engine.name,
        "methods": [asdict(one) for one in outcomes],
    }


def _read_summary(profiled: Path, area: Area) -> tuple[int, int, tuple[float, ...]]:
    """Read from how many of how many periods the profiles were learned, and what divides the grades."""
    try:
        summary = json.loads((profiled / "summary.json").read_text(encoding="utf-8"))
        made_for, train, periods = summary["area_digest"], int(summary["train"]), int(summary["periods"])
        settings = summary["profile_settings"]
        thresholds = (float(settings["delta"]), *map(float, settings["lower_deltas"]))
    except (OSError, ValueError, LookupError, TypeError):
        raise FileFormatError(f"{profiled}: holds no summary.json of `crowdveil profile`") from None
    if made_for != area.digest:
        raise InputError("area", f"{len(area):,} cells", "is not the area that the profiles were made for")
    if train >= periods:
        what = f"was learned from all {periods} periods; profile with a smaller --train"
        raise InputError("profiled", str(profiled), what)
    return train, periods, thresholds


def _parquet_files(folder: Path) -> list[str]:
    files = [str(path) for path in sorted(folder.glob("*.parquet"))]
    if not files:
        raise FileFormatError(f"{folder}: holds no Parquet of `crowdveil profile`; run it again")
    return files
