"""What is measured: each function returns the lines it adds to the table."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import highspy
import numpy as np
import qif
from scipy.sparse import vstack
from tests.reference.linear_programs import Program, literal_program, reduced_program

import crowdveil as cv
from benchmarks.cases import BETA, EPSILON_PER_KM, Case, city, timed
from benchmarks.line import Line
from crowdveil.arrays import FloatArray
from crowdveil.policy.multi import solve
from crowdveil.words import rounded_up

PEER_LIMIT_S = 900.0
"""A peer that takes longer is stopped, and the ratio is then a lower bound."""


def ours(case: Case) -> cv.Policy:
    """Our whole job: solve, round, make the value."""
    return cv.optimal_policy(case.area, case.prior, case.targets, epsilon_per_km=EPSILON_PER_KM, beta=BETA)


def certified(case: Case, hit: FloatArray) -> str:
    """What the checker says of a peer's chances, taken as they are."""
    chances = np.clip(hit, 0.0, 1.0)
    smallest = cv.certify_table(case.area, np.column_stack([chances, 1 - chances]), EPSILON_PER_KM)
    if smallest.ok:
        return "private"
    return f"NOT private: needs ε = {smallest.smallest_epsilon_per_km:.4g}, asked {EPSILON_PER_KM:.4g}"


def highs_interior_point(program: Program) -> tuple[float, FloatArray, str]:
    """Seconds, solution and status of HiGHS's interior point on a program, without crossover (the peer's best)."""
    columns, rows = len(program.objective), len(program.limit) + len(program.fixed)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.col_cost_ = program.objective
    model.col_lower_, model.col_upper_ = np.zeros(columns), np.ones(columns)
    model.row_lower_ = np.concatenate([np.full(len(program.limit), -highspy.kHighsInf), program.fixed])
    model.row_upper_ = np.concatenate([program.limit, program.fixed])
    matrix = vstack([program.inequality, program.equality]).tocsr()
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("solver", "ipm")
    solver.setOptionValue("run_crossover", "off")
    solver.setOptionValue("time_limit", PEER_LIMIT_S)
    solver.passModel(model)
    start = time.perf_counter()
    solver.run()
    seconds = time.perf_counter() - start
    status = solver.modelStatusToString(solver.getModelStatus())
    return seconds, np.asarray(solver.getSolution().col_value), status


def against_the_paper() -> Iterator[Line]:
    """n = 100, 4 targets: the paper's literal LP on HiGHS interior point."""
    case = city(10, 4)
    program = literal_program(case.distances, case.prior, case.targets, BETA)
    seconds, solution, status = highs_interior_point(program)
    mine = timed(lambda: ours(case), 15)
    policy = ours(case)
    note = f"peer: {status}"
    if len(solution):
        hit = solution.reshape(100, 100)[:, 0]
        value = float(case.prior[case.targets] @ hit[case.targets]) / BETA
        note += f", value {value:.9f} against {policy.value:.9f}; {certified(case, hit)}"
    yield Line(
        "n = 100, 4 targets: the paper's LP as printed, HiGHS interior point (1 run)",
        str(mine),
        f"{seconds:.3g} s",
        seconds / mine.median,
        1000,
        note=note,
    )


def against_the_reduced_program() -> Iterator[Line]:
    """n = 400, 8 targets: scipy's HiGHS on the reduced, scaled LP with all rows."""
    case = city(20, 8)
    program = reduced_program(case.distances, case.prior, case.targets, BETA)
    theirs = timed(lambda: program.solve("highs"), 5)
    answer = program.solve("highs")
    mine = timed(lambda: ours(case), 15)
    policy = ours(case)
    note = f"peer: {answer.message.split('.')[0]}"
    if answer.x is not None:
        note += f", value {-answer.fun:.9f} against {policy.value:.9f}; {certified(case, answer.x)}"
    yield Line(
        "n = 400, 8 targets: the reduced, scaled LP with all rows, scipy linprog",
        str(mine),
        str(theirs),
        theirs.median / mine.median,
        20,
        note=note,
    )


def _alone(module: str, *arguments: object) -> dict[str, Any]:
    """Run a module of these benchmarks in a process of its own, and read the JSON it prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    done: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return done


def large_areas() -> Iterator[Line]:
    """n = 10,000 with 8 targets, n = 100,000 with one and its certificate: seconds, minutes, and memory."""
    for side, targets, cell_km, certify, limit_s, limit_mb in (
        (100, 8, 1.0, False, 60, 1024),
        (100, 8, 0.1, False, 60, 1024),
        (316, 1, 1.0, True, 600, 4096),
        (316, 1, 0.1, True, 600, 4096),
    ):
        done = _alone("large", side, targets, cell_km, "certify" if certify else "solve")
        seconds = done["solve_s"] + (done["certify_s"] or 0.0)
        what = f"n = {done['cells']:,}, {targets} target{'s' * (targets > 1)}, {cell_km:g} km cells"
        parts = f"solve {done['solve_s']:.3g} s"
        if certify:
            parts += f", certify {done['certify_s']:.3g} s, private: {done['private']}"
        note = f"proven gap {rounded_up(done['gap'], 2)}, {done['compact_bytes'] / 1000:.0f} kB compact"
        yield Line(f"{what}: seconds", parts, f"limit {limit_s} s", seconds, limit_s, "at most", note, done)
        peak = done["peak_mb"]
        yield Line(f"{what}: peak memory in MB", f"{peak:.0f} MB", f"limit {limit_mb} MB", peak, limit_mb, "at most")


def campaigns() -> Iterator[Line]:
    """A campaign of six rounds over 400 cells, profiles given: a million users, and how it grows."""
    done = {users: _alone("campaign", users) for users in (10_000, 100_000, 1_000_000)}
    most = done[1_000_000]
    told = ", ".join(f"{users:,}: {one['seconds']:.3g} s" for users, one in done.items())
    seconds, peak = most["seconds"], most["peak_mb"]
    what = "campaign of 1,000,000 users, 400 cells, 4 targets"
    yield Line(f"{what}: seconds", f"{seconds:.3g} s", "limit 10 s", seconds, 10, "at most", told, most)
    yield Line(f"{what}: peak memory in MB", f"{peak:.0f} MB", "limit 2048 MB", peak, 2048, "at most")
    ratio = seconds / done[100_000]["seconds"]
    yield Line(f"{what}: times the seconds of 100,000", f"{ratio:.3g} x", "linear: 10 x", ratio, 10, "at most")


def draws() -> Iterator[Line]:
    """Vectorised draws against qif's planar Laplace sampler."""
    case = city(20, 8)
    policy = ours(case)
    certificate = cv.certify(policy)
    generator = np.random.default_rng(1)
    cells = generator.choice(len(case.area), size=2_000_000, p=case.prior)
    mine = timed(lambda: cv.draw_many(policy, cells, certificate, generator), 7)
    count = 300_000

    def peer() -> None:
        sample = qif.mechanism.geo_ind.planar_laplace_sample
        for _ in range(count):
            sample(EPSILON_PER_KM)

    theirs = timed(peer, 5)
    rate, peer_rate = len(cells) / mine.median, count / theirs.median
    yield Line(
        "draws per second: qif's planar Laplace sampler",
        f"{rate / 1e6:.3g} M/s",
        f"{peer_rate / 1e6:.3g} M/s",
        rate / peer_rate,
        1,
        note="qif draws one point a call from Python, we draw arrays; seeded generators, for simulation only",
    )


def growth() -> dict[str, list[dict[str, float]]]:
    """How the cost grows with n and with z, beside the floor: computing n·z exponentials."""
    curves: dict[str, list[dict[str, float]]] = {"cells": [], "targets": []}
    for side in (10, 14, 20, 28, 40, 57, 80, 113):
        curves["cells"].append(_point(side, 8))
    for targets in (1, 2, 4, 8, 16, 32):
        curves["targets"].append(_point(40, targets))
    return curves


def _point(side: int, targets: int) -> dict[str, float]:
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
