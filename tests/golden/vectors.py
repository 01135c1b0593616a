"""Compute the golden vectors: what the product decides, reduced to numbers that names and file formats do not touch.

Cells, weights, verdicts, draws from a fixed tape, learnt priors and selected people. `golden.json` holds the values;
after a deliberate change of behaviour, `python -m tests.golden.vectors` writes them again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from math import log
from pathlib import Path
from typing import Any

import numpy as np

import crowdveil as cv
from crowdveil.arrays import IntArray
from crowdveil.campaign import Plan, select
from crowdveil.prior import target_chances
from crowdveil.simulate.comparison import ComparisonSettings, compare_methods
from crowdveil.simulate.simulation import METHODS, run_rounds
from crowdveil.vocabulary import Algorithm
from tests.simulate.small import small_dataset
from tests.town import live, people_around, square_town

FILE = Path(__file__).parent / "golden.json"
LN4 = log(4)
BOUNDS = (40.70, -74.02, 40.80, -73.93)
TOWERS = np.random.default_rng(3).random((25, 2)) * (0.09, 0.08) + (40.7, -74.0)


def digest(values: Any) -> str:
    """Reduce whole numbers, or text, to a short digest."""
    raw = values.encode() if isinstance(values, str) else np.ascontiguousarray(values, dtype="<i8").tobytes()
    return hashlib.sha256(raw).hexdigest()[:24]


def projected(weights: IntArray) -> list[float]:
    """Reduce weights to a few numbers that change with any of them; their last bits may differ between processors."""
    shares = np.ravel(weights).astype(np.float64) / float(np.sum(weights[0]))
    return shown(np.random.default_rng(13).standard_normal((3, shares.size)) @ shares)


def shown(values: Any) -> list[float]:
    """Floats to ten digits: their last bits may differ between processors."""
    return [float(f"{value:.10g}") for value in np.ravel(values)]


def tape(seed: int) -> Callable[[int], int]:
    """A source of random bits that always says the same."""
    generator = np.random.default_rng(seed)
    return lambda bits: int(generator.integers(0, 1 << bits, dtype=np.uint64))


def areas() -> dict[str, cv.Area]:
    return {
        "grid": cv.Grid.from_bounds(*BOUNDS, cell_km=1.0),
        "hexagons": cv.Hexagons.from_bounds(*BOUNDS, resolution=7),
        "towers": cv.Towers.from_positions(TOWERS[:, 0], TOWERS[:, 1]),
        "points": cv.Area.from_points_km(np.random.default_rng(4).random((30, 2)) * 5),
    }


def policies() -> Iterator[tuple[str, cv.Policy]]:
    for name, area in areas().items():
        generator = np.random.default_rng(11)
        prior = generator.gamma(0.5, size=len(area)) + 1e-3
        prior /= prior.sum()
        for targets in ([2], [1, 5, 9, 12]):
            for how in ("informative", "equal"):
                policy = cv.optimal_policy(area, prior, targets, epsilon_per_km=LN4, beta=0.06, completion=how)
                yield f"{name}/optimal/{len(targets)}/{how}", policy
            policy = cv.optimal_policy(
                area, prior, targets, epsilon_per_km=LN4, beta=0.06, null_epsilon=log(16), null_share=0.3
            )
            yield f"{name}/optimal/{len(targets)}/null", policy
            joint = np.stack([0.4 * prior, 0.6 * prior[::-1]])
            for how in ("informative", "equal"):
                policy = cv.optimal_policy(
                    area,
                    joint,
                    targets,
                    epsilon_per_km=LN4,
                    beta=0.02,
                    completion=how,
                    null_epsilon=log(64),
                    null_share=0.3,
                    grade_epsilon=log(64),
                )
                yield f"{name}/optimal/{len(targets)}/grades/{how}", policy
        yield f"{name}/laplace", cv.planar_laplace(area, prior, [2], LN4)
        yield f"{name}/exponential", cv.exponential(area, prior, [2], LN4)
        yield f"{name}/identity", cv.identity(area, prior, [2], LN4)


def describe_policy(policy: cv.Policy) -> dict[str, Any]:
    certificate = cv.certify(policy)
    found: dict[str, Any] = {
        "weights": projected(policy.weights),
        "refined": None if policy.completion is None else projected(policy.completion.weights),
        "value": shown(policy.value)[0],
        "ok": certificate.ok,
        "smallest_epsilon_per_km": shown(certificate.smallest_epsilon_per_km)[0],
    }
    if certificate.ok:
        random_bits = tape(17)
        found["draws"] = [cv.draw(policy, cell % len(policy), certificate, random_bits) for cell in range(12)]
        many = cv.draw_many(policy, np.arange(200) % len(policy), certificate, np.random.default_rng(5))
        found["draw_many"] = digest(many)
    if policy.null_epsilon is not None:
        assert certificate.null is not None
        found["smallest_null_epsilon"] = shown(certificate.null.smallest_epsilon)[0]
        random_bits = tape(18)
        found["draws_outside"] = [cv.draw(policy, -1, certificate, random_bits) for _ in range(6)]
    if policy.grade_epsilon is not None:
        assert certificate.grades is not None
        found["smallest_grade_epsilon"] = shown(certificate.grades.smallest_epsilon)[0]
        random_bits = tape(19)
        found["draws_occasional"] = [
            cv.draw(policy, cell % len(policy), certificate, random_bits, grade=1) for cell in range(12)
        ]
    return found


def describe_campaign(algorithm: Algorithm, *, protected: bool) -> dict[str, Any]:
    town = square_town(6)
    generator = np.random.default_rng(8)
    places: IntArray = live(people_around(town, 2), 600, generator)
    places[generator.random(600) < 0.2] = -1
    grades = np.where(places == -1, 0, np.random.default_rng(12).integers(0, 2, 600))
    protection: dict[str, Any] = {} if protected else {"null_epsilon": None, "grade_epsilon": None}
    plan = Plan(town, (8, 21), LN4, 600, 30, 4, algorithm=algorithm, seed="7", **protection)
    state, reports, _ = run_rounds(plan, np.arange(600), places, generator, grades=grades if protected else None)
    chosen = select(state, reports)
    return {
        "people": chosen.participants.tolist(),
        "chances": shown(chosen.chances),
        "short": int(chosen.short),
        "prior": shown(state.prior),
        "null_share": shown(state.null_share)[0],
        "weights": [projected(policy.weights) for policy in state.policies],
        "target_chances": shown(target_chances(state.prior, state.policies[-1], (8, 21))),
    }


def golden() -> dict[str, Any]:
    dataset = small_dataset()
    targets = (int(dataset.densest[0]),)
    # The clear form's methods, and ours in the protected form, the default.
    clear = tuple(method for method in METHODS if method != "crowdveil-clear")
    compared = compare_methods(
        dataset,
        ComparisonSettings(targets, LN4, seeds=2, methods=clear, null_epsilon=None, grade_epsilon=None),
    )
    ours = compare_methods(dataset, ComparisonSettings(targets, LN4, seeds=2, methods=("crowdveil", "crowdveil-known")))
    rng = np.random.default_rng(9)
    return {
        "areas": {
            name: {
                "cells": len(area),
                "xy_m": digest(area.xy_m),
                "furthest_km": shown(area.distances_km(np.arange(len(area))).max())[0],
            }
            for name, area in areas().items()
        },
        "policies": {name: describe_policy(policy) for name, policy in policies()},
        "campaigns": {
            f"{algorithm}/{'protected' if protected else 'clear'}": describe_campaign(algorithm, protected=protected)
            for algorithm in ("crowdveil", "algorithm-2")
            for protected in (False, True)
        },
        "profiles": {
            name: {"rows": len(profile.cell), "cells": digest(profile.cell), "sum": shown(profile.probability.sum())[0]}
            for name, profile in dataset.profiles.items()
        },
        "places": digest(dataset.places("recency", "target-aware", 0.7, (int(dataset.densest[0]),), rng)),
        "comparison": {record.method: shown([record.value, record.ci_low]) for record in compared.records},
        "comparison/protected": {record.method: shown([record.value, record.ci_low]) for record in ours.records},
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(golden(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
