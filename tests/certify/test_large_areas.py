from __future__ import annotations

import subprocess
import sys
from math import log

import numpy as np
import pytest

from crowdveil.area import Area
from crowdveil.arrays import FloatArray
from crowdveil.certify import certify, certify_table
from tests.certify.good_policies import good_weights, scattered, square, two_symbols

EPSILON = log(4)
TOTAL = 2**53


@pytest.mark.parametrize("seed", range(6))
def test_a_single_far_pair_just_past_the_bound_is_found_and_named(seed: int) -> None:
    """A cone around one cell, tight along its rays, and far out one cell that is lower by a few billionths.

    Only the tip breaks the bound with it: any third cell off the line between them has metres to spare.
    """
    tip, far = ([3, 5], [60, 64]) if seed % 2 else ([11, 7], [50, 3])
    area = square(70, 0.1) if seed < 4 else scattered(4900, 7.0, seed)
    cell, other = (70 * tip[1] + tip[0], 70 * far[1] + far[0]) if seed < 4 else (17 * seed, 4000 + seed)
    d = area.distances_km([cell])[0]
    height = -EPSILON * (1 - 1e-9) * d
    for lower, ok in ((0.0, True), (3e-9 * EPSILON * d[other], False)):
        height[other] -= lower
        hit = np.rint(0.4 * TOTAL * np.exp(height)).astype(np.int64)
        certificate = certify(two_symbols(area, hit, EPSILON))
        assert certificate.ok == ok
        if not ok:
            worst = certificate.witness
            assert worst is not None
            assert (worst.cell, worst.other, worst.symbol_name) == (cell, other, "hit")
            assert worst.excess == pytest.approx(2e-9 * EPSILON * d[other], rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_pair_of_two_towns_that_differ_is_found(seed: int) -> None:
    """Two flat towns 10 km apart: their nearest cells decide, by metres; no block may close too early."""
    east = scattered(400, 0.2, seed + 5).xy_m + np.array([10_000, 0])
    area = Area.from_points_km(np.concatenate([scattered(400, 0.2, seed).xy_m, east]) / 1000)
    hit = np.repeat([TOTAL // 3, TOTAL // 3000], 400)
    certificate = certify(two_symbols(area, hit, EPSILON))
    nearest = area.distances_km(np.arange(400), np.arange(400, 800)).min()
    assert certificate.smallest_epsilon_per_km == pytest.approx(log(hit[0] / hit[-1]) / nearest, rel=1e-12)


def all_pairs(area: Area, table: FloatArray) -> float:
    """The largest loss per km, row by row in floats."""
    largest = 0.0
    logs = np.log(table)
    for cell in range(len(area)):
        d = area.distances_km([cell])[0]
        d[cell] = np.inf
        largest = max(largest, float(((logs[cell] - logs) / d[:, None]).max()))
    return largest


SHAPES = ["noise", "ramp", "waves", "bowl", "cones", "cliff"]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_search_misses_nothing_that_all_pairs_show(shape: str) -> None:
    area = scattered(3000, 10.0, 7)
    rng = np.random.default_rng(8)
    x, y = (area.xy_m / 1000.0).T
    hit = {
        "noise": rng.uniform(0.3, 0.6, len(area)),
        "ramp": 0.5 * np.exp(-0.3 * x - 0.2 * y),
        "waves": 0.3 + 0.2 * np.sin(x) * np.sin(1.3 * y),
        "bowl": 0.6 * np.exp(-0.1 * ((x - 5) ** 2 + (y - 4) ** 2)),
        "cones": good_weights(area, [5, 900, 2000], [2.0, -1.0, 0.5], EPSILON) / TOTAL,
        "cliff": np.where(x > 5, 0.9, 0.1),
    }[shape]
    weights = np.rint(hit * TOTAL).astype(np.int64)
    certificate = certify(two_symbols(area, weights, EPSILON))
    truth = all_pairs(area, np.column_stack([weights, TOTAL - weights]) / TOTAL)
    assert certificate.smallest_epsilon_per_km == pytest.approx(truth, rel=1e-9)
    assert certificate.pairs_opened < 0.4 * certificate.inequalities


def test_the_planar_laplace_table_of_400_cells_has_the_number_that_all_pairs_show() -> None:
    area = square(20)
    table = np.exp(-0.5 * EPSILON * area.distances_km(np.arange(400)))
    table /= table.sum(axis=1, keepdims=True)
    certificate = certify_table(area, table, EPSILON)
    assert certificate.ok
    assert certificate.smallest_epsilon_per_km == pytest.approx(all_pairs(area, table), rel=1e-11)


BIG = """
from pathlib import Path
from tests.certify.good_policies import good_policy, square
from crowdveil.certify import certify
policy = good_policy(square(316, 0.1), [49_928], [0.0], 1.4)
certificate = certify(policy)
megabytes = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
print(certificate.ok, certificate.smallest_epsilon_per_km, certificate.pairs_opened, megabytes)
"""


@pytest.mark.long
def test_100000_cells_are_certified_within_a_gigabyte_and_without_looking_at_all_pairs() -> None:
    done = subprocess.run([sys.executable, "-c", BIG], capture_output=True, text=True, check=True)
    ok, least, opened, megabytes = done.stdout.split()
    assert ok == "True"
    assert 1.4 * (1 - 1e-6) < float(least) < 1.4
    assert int(opened) < 0.01 * 99_856**2
    assert int(megabytes) < 1024
