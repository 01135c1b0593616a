"""Compare certificates with qif's `is_private`: seconds, and which of them is right at the bound."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from math import log
from typing import Any

import numpy as np
import qif

import crowdveil as cv
from benchmarks.cases import BETA, EPSILON_PER_KM, Case, city, timed
from benchmarks.exact import most, smallest_epsilon
from benchmarks.line import Line
from benchmarks.solving import ours
from crowdveil.arrays import FloatArray

TRIALS = 100
PROTECTED: dict[str, Any] = {"null_epsilon": log(256), "grade_epsilon": log(8), "grades": 3}


def certificates() -> Iterator[Line]:
    """Certificates against qif's is_private: seconds, and who is right at the bound."""
    large = city(20, 8)
    yield _speed("the optimal policy, 400 cells, 2 symbols", large, ours(large))
    for case in (city(10, 2), large):
        n = len(case.area)
        laplace = cv.planar_laplace(case.area, case.prior, case.targets, EPSILON_PER_KM)
        yield _speed(f"planar Laplace, {n} cells, {n} symbols", case, laplace)
    yield from _stacks()
    yield _at_the_bound()


def qif_is_private(distances: FloatArray, table: FloatArray) -> bool:
    """qif's answer, with its own look-up of distances, which is its fastest."""
    return bool(qif.measure.d_privacy.is_private(table, qif.metric.from_distance_matrix(distances)))


def _speed(kind: str, case: Case, policy: cv.Policy) -> Line:
    table, distances = policy.table(), case.distances
    theirs = timed(lambda: qif_is_private(distances, table), 9)
    mine = timed(lambda: cv.certify(policy), 9)
    return Line(
        f"certify {kind}: qif's is_private",
        f"{mine}; says {cv.certify(policy).ok}",
        f"{theirs}; says {qif_is_private(distances, table)}",
        theirs.median / mine.median,
        unequal="ours decides in exact arithmetic from coordinates, and finds the smallest ε and the worst pair; qif "
        "compares floats and says yes or no, and its distances are computed before the clock starts",
        why="blocks, error bounds and the worst pair are prepared in Python, milliseconds that pay only from some "
        "hundred cells on; qif compares all n² pairs in C++",
    )


def _stacks() -> Iterator[Line]:
    """A symbol for each of 64 targets, and for each of 400 cells: beside qif, and with grades and outside protected."""
    case = city(20, 64)
    few = [0.001] * 64
    each = cv.policy_per_target(case.area, case.prior, case.targets, epsilon_per_km=EPSILON_PER_KM, betas=few)
    yield _speed("a symbol for each of 64 targets, 400 cells", case, each)
    yield _speed("a panel of all 400 cells", case, cv.panel_policy(case.area, epsilon_per_km=EPSILON_PER_KM))
    for places, limit_s in ((case.targets, 1.0), (None, 10.0)):
        panel = cv.panel_policy(case.area, places, epsilon_per_km=EPSILON_PER_KM, **PROTECTED)
        mine = timed(partial(cv.certify, panel), 5)
        data = panel.to_bytes()
        reading = timed(partial(cv.Policy.from_bytes, data), 5)
        yield Line(
            f"certify a panel of {len(panel.targets)} places in 400 cells, with 3 grades and being outside: seconds",
            f"{mine}; says {cv.certify(panel).ok}; {len(data):,} bytes, read in {reading}",
            f"limit {limit_s:g} s",
            mine.median,
            limit_s,
            better="at most",
        )


def policies_at_the_bound(trials: int) -> Iterator[tuple[Case, cv.Policy]]:
    """Optimal policies with one weight as large as Definition 1 allows, and then one unit larger."""
    generator = np.random.default_rng(7)
    for trial in range(trials // 2):
        case = city(4, 2, cell_km=float(generator.choice([0.3, 0.7, 1.0])), seed=trial)
        good = cv.optimal_policy(case.area, None, case.targets, epsilon_per_km=EPSILON_PER_KM, beta=BETA + 0.1)
        cell = int(generator.integers(len(case.area)))
        hit = good.weights[:, 0].tolist()
        largest = most(case.area, hit, cell, good.total, EPSILON_PER_KM)
        for weight in (largest, largest + 1):
            hit[cell] = weight
            weights = np.array([[one, good.total - one] for one in hit])
            yield case, cv.Policy(case.area, EPSILON_PER_KM, good.targets, weights)


def _at_the_bound() -> Line:
    wrong = {"crowdveil": 0, "accepts": 0, "refuses": 0}
    for case, policy in policies_at_the_bound(TRIALS):
        private = smallest_epsilon(case.area, policy.weights.tolist()) <= Decimal(EPSILON_PER_KM)
        said = qif_is_private(case.distances, policy.table())
        wrong["crowdveil"] += cv.certify(policy).ok != private
        wrong["accepts"] += said and not private
        wrong["refuses"] += private and not said
    theirs = wrong["accepts"] + wrong["refuses"]
    return Line(
        f"certify {TRIALS} policies at the bound, half of them one unit of 2^-53 beyond it: right answers",
        f"{TRIALS - wrong['crowdveil']} right",
        f"{TRIALS - theirs} right: qif accepts {wrong['accepts']} wrongly, refuses {wrong['refuses']} wrongly",
        (TRIALS - wrong["crowdveil"]) / max(1, TRIALS - theirs),
        note="judged by plain 60-digit arithmetic",
        unequal="qif's is_private is made for floats, which cannot see one unit",
        figures=wrong,
    )
