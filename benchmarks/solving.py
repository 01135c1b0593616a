"""Policies beside linear programs: seconds, and the smallest ε that exact arithmetic grants each answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal

import highspy
import numpy as np
import qif
from scipy.sparse import vstack
from tests.reference.linear_programs import Program, literal_program, reduced_program

import crowdveil as cv
from benchmarks.cases import BETA, EPSILON_PER_KM, Case, Timing, city, timed
from benchmarks.exact import smallest_epsilon
from benchmarks.line import Line
from crowdveil.area import Area
from crowdveil.arrays import FloatArray

PEER_LIMIT_S = 420.0
"""A peer that takes longer is stopped, and the ratio is then a lower bound."""


def ours(case: Case) -> cv.Policy:
    """Our whole job: solve, round, make the value."""
    return cv.optimal_policy(case.area, case.prior, case.targets, epsilon_per_km=EPSILON_PER_KM, beta=BETA)


def judged(area: Area, answer: FloatArray | cv.Policy) -> str:
    """The smallest ε of an answer, taken as exactly the numbers it is, and what that makes of it.

    A policy is judged by crowdveil's checker, a peer's channel by plain 60-digit arithmetic.
    """
    if isinstance(answer, cv.Policy):
        certificate = cv.certify(answer)
        return f"private, smallest ε {certificate.smallest_shown}" if certificate.ok else f"WRONG: {certificate}"
    smallest = smallest_epsilon(area, answer.tolist())
    if smallest <= Decimal(EPSILON_PER_KM):
        return f"private, smallest ε {smallest:.9f}"
    if smallest.is_infinite():
        return "WRONG: private at no ε, for some cells never send what others send"
    return f"WRONG: smallest ε {smallest:.9f}, {smallest - Decimal(EPSILON_PER_KM):.1e} above what was asked"


def hit_and_other(hit: FloatArray) -> FloatArray:
    """The channel of two symbols that a program's chances stand for."""
    chances = np.clip(hit, 0.0, 1.0)
    return np.column_stack([chances, 1 - chances])


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


def _mine(case: Case) -> tuple[Timing, cv.Policy, str]:
    timing, policy = timed(lambda: ours(case), 15), ours(case)
    return timing, policy, f"{timing}; {judged(case.area, policy)}"


def against_the_paper() -> Iterator[Line]:
    """The paper's literal LP on HiGHS interior point: 5x5, 7x7 and 10x10 cells."""
    for side, targets, required in ((5, 2, 1), (7, 2, 1), (10, 4, 1000)):
        case = city(side, targets)
        n = len(case.area)
        program = literal_program(case.distances, case.prior, case.targets, BETA)
        seconds, solution, status = highs_interior_point(program)
        mine, policy, shown = _mine(case)
        theirs, note = f"{seconds:.3g} s (1 run)", f"peer ends as '{status}'"
        if len(solution):
            hit = solution.reshape(n, n)[:, 0]
            value = float(case.prior[case.targets] @ hit[case.targets]) / BETA
            theirs += f"; {judged(case.area, hit_and_other(hit))}"
            note += f"; value {value:.9f} against {policy.value:.9f}"
        yield Line(
            f"solve, n = {n}, {targets} targets: the paper's LP as printed, HiGHS interior point",
            shown,
            theirs,
            seconds / mine.median,
            required,
            note=note,
            unequal="the LP has n² variables and n³ rows for a whole channel; of its answer only the column that "
            "selects is used and judged; ours is the whole job, rounded to whole numbers, with a proven gap",
            figures={"solver": "the paper's LP, HiGHS", "cells": n, "seconds": seconds},
        )


def against_the_reduced_program() -> Iterator[Line]:
    """n = 400, 8 targets: scipy's HiGHS on the reduced, scaled LP with all rows."""
    case = city(20, 8)
    program = reduced_program(case.distances, case.prior, case.targets, BETA)
    theirs = timed(lambda: program.solve("highs"), 3)
    answer = program.solve("highs")
    mine, policy, shown = _mine(case)
    note, judgement = f"peer: {answer.message.split('.')[0]}", "no answer"
    if answer.x is not None:
        note += f"; value {-answer.fun:.9f} against {policy.value:.9f}"
        judgement = judged(case.area, hit_and_other(answer.x))
    yield Line(
        "solve, n = 400, 8 targets: the reduced LP with all rows, scipy's HiGHS",
        shown,
        f"{theirs}; {judgement}",
        theirs.median / mine.median,
        20,
        note=note,
        unequal="the LP is given to the solver ready made, that time is not counted; it works to absolute tolerances",
        figures={"solver": "the reduced LP, HiGHS", "cells": 400, "seconds": theirs.median},
    )


def against_qif() -> Iterator[Line]:
    """qif's optimal LP at the sizes it reaches: 5x5 and 7x7 cells."""
    for side, runs in ((5, 3), (7, 1)):
        case = city(side, 2)
        n, D = len(case.area), case.distances.tolist()
        channels: list[FloatArray] = []

        def solve(case: Case = case, D: list[list[float]] = D, channels: list[FloatArray] = channels) -> None:
            channels.append(
                qif.mechanism.d_privacy.min_loss_given_d(
                    case.prior, len(D), lambda a, b: D[a][b], lambda a, b: D[a][b] / EPSILON_PER_KM
                )
            )

        theirs = timed(solve, runs)
        mine, _, shown = _mine(case)
        private = qif.measure.d_privacy.is_private(channels[-1], lambda a, b, D=D: D[a][b])
        yield Line(
            f"solve, n = {n}, 2 targets: qif's optimal LP",
            shown,
            f"{theirs}; {judged(case.area, channels[-1])}",
            theirs.median / mine.median,
            note=f"its own is_private says {private}; 8x8 takes it about a minute, 10x10 more than three",
            unequal="qif minimises the expected distance over all n² entries of a channel: a harder problem than ours",
            figures={"solver": "qif's LP (harder problem)", "cells": n, "seconds": theirs.median},
        )
