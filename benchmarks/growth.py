"""Measure how the cost grows with cells, targets and users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.alone import alone
from benchmarks.cases import BETA, EPSILON_PER_KM, city, timed
from crowdveil.policy.solver.cutting_planes import solve

SIDES = (5, 7, 10, 14, 20, 28, 40, 57, 80, 113)
TARGETS = (1, 2, 4, 8, 16, 32)
USERS = (1_000, 10_000, 100_000, 1_000_000, 3_000_000)

Curve = list[dict[str, Any]]


def growth() -> dict[str, Curve]:
    """Seconds of a solve by cells and by targets, beside the floor n·z exponentials, and of a campaign by users."""
    return {
        "cells": [_solved(side, 8) for side in SIDES],
        "targets": [_solved(40, targets) for targets in TARGETS],
        "users": [_campaign(users) for users in USERS],
    }


def told(curves: dict[str, Curve]) -> Iterator[str]:
    """The curves in words."""
    for name in ("cells", "targets"):
        yield f"\ngrowth with {name} (seconds; times the floor of n·z exponentials)"
        for point in curves[name]:
            size = f"n = {point['cells']:>6,}, z = {point['targets']:>2}"
            yield f"  {size}: {point['seconds']:.4f} s, {point['ratio_to_floor']:,.0f} x"
    yield "\ngrowth with users (a campaign of six rounds, 400 cells, 4 targets)"
    for point in curves["users"]:
        spread = f"{point['low']:.3g}-{point['high']:.3g}, 3 runs"
        yield f"  {point['users']:>9,} users: {point['seconds']:.3g} s ({spread}), peak {point['peak_mb']:.0f} MB"


def _campaign(users: int) -> dict[str, Any]:
    """The middle one of three runs, and their spread."""
    runs = sorted((alone("campaign", users) for _ in range(3)), key=lambda one: float(one["seconds"]))
    return {**runs[1], "low": runs[0]["seconds"], "high": runs[2]["seconds"]}


def _solved(side: int, targets: int) -> dict[str, Any]:
    case = city(side, targets)
    runs = 5 if side <= 40 else 3
    exponents = -EPSILON_PER_KM * case.area.distances_km(case.targets)
    floor = timed(lambda: np.exp(exponents), 50)
    mine = timed(lambda: solve(case.area, case.prior, tuple(case.targets), EPSILON_PER_KM, BETA), runs)
    return {
        "cells": side * side,
        "targets": targets,
        "seconds": mine.median,
        "low": mine.low,
        "high": mine.high,
        "floor_seconds": floor.median,
        "ratio_to_floor": mine.median / floor.median,
    }
