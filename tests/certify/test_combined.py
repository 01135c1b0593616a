"""What several reports tell together: no attacker is right more often than the bound, and it is reached."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest
import scipy

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.certify import combined
from crowdveil.certify.combined import AcceptedReport, combined_loss, guess_bound
from crowdveil.vocabulary import NULL

LN4, LN64 = log(4), log(64)


def row_of_cells(n: int, apart_km: float = 1.0) -> cv.Area:
    return cv.Area.from_points_km([[apart_km * x, 0.0] for x in range(n)])


def mechanism(loss: FloatArray) -> FloatArray:
    """P(s | i) ∝ e^{-M_is / 2}: no ratio exceeds e^M, by the triangle inequality, and none of its uses is certain."""
    table = np.exp(-loss / 2)
    private: FloatArray = table / table.sum(axis=1, keepdims=True)
    return private


def all_replies(tables: list[FloatArray]) -> FloatArray:
    """P(s | i) of every sequence of replies, one column for each."""
    joint = np.ones((len(tables[0]), 1))
    for table in tables:
        joint = (joint[:, :, None] * table[:, None, :]).reshape(len(table), -1)
    return joint


def success(tables: list[FloatArray], prior: FloatArray) -> float:
    """The best guess from all replies at once, exactly: Σ_s max_i π_i P(s | i)."""
    return float((prior[:, None] * all_replies(tables)).max(axis=0).sum())


def some_reports(generator: np.random.Generator, places: int) -> list[AcceptedReport]:
    reports = []
    for _ in range(3):
        area = cv.Area.from_points_km(generator.uniform(0, 3, (5, 2)))
        reports.append(
            AcceptedReport(
                area,
                epsilon_per_km=float(generator.uniform(0.2, 2.0)),
                cells=generator.integers(NULL, 5, places),
                null_epsilon=float(generator.uniform(0.5, 2.0)),
                grade_epsilon=float(generator.uniform(0.2, 1.0)),
                grades=generator.integers(0, 2, places),
            )
        )
    return reports


@pytest.mark.parametrize("seed", range(20))
def test_the_best_guess_from_all_replies_never_exceeds_the_bound(seed: int) -> None:
    generator = np.random.default_rng(seed)
    reports = some_reports(generator, places=7)
    prior = generator.dirichlet(np.full(7, 0.4 if seed % 2 else 5.0))
    tables = [mechanism(report.losses()) for report in reports]
    loss = combined_loss(reports)
    log_replies = np.log(all_replies(tables))
    assert (np.abs(log_replies[:, None] - log_replies[None, :]).max(axis=2) <= loss + 1e-9).all()
    assert prior.max() - 1e-12 <= success(tables, prior) <= guess_bound(loss, prior)


def test_two_places_reach_the_bound() -> None:
    """Randomised response between two places is right e^M / (1 + e^M) of the time, and no bound could be lower."""
    loss = combined_loss([AcceptedReport(row_of_cells(2), LN4, [0, 1])] * 2)
    assert loss.tolist() == [[0, 2 * LN4], [2 * LN4, 0]]
    assert guess_bound(loss) == pytest.approx(16 / 17, rel=1e-8)
    answer = np.array([[16, 1], [1, 16]]) / 17
    assert success([answer], np.array([0.5, 0.5])) == pytest.approx(guess_bound(loss), rel=1e-8)


def test_three_reports_at_ln_4_on_one_grid_name_the_place_in_at_most_17_percent() -> None:
    across, along = np.meshgrid(np.arange(66), np.arange(67))
    area = cv.Area.from_points_km(0.25 * np.column_stack([across.ravel(), along.ravel()]))
    report = AcceptedReport(area, LN4, np.arange(len(area)), null_epsilon=LN64)
    assert guess_bound(combined_loss([report] * 3)) == pytest.approx(0.1742, abs=5e-5)


def test_distance_between_losses_is_the_papers_the_grades_and_the_way_through_outside() -> None:
    report = AcceptedReport(row_of_cells(9), 1.0, [0, 2, 8, NULL, NULL, 0], 3.0, 1.5, [0, 0, 1, 0, 1, 1])
    assert report.losses().tolist() == [
        [0, 2, 6, 3, 3, 1.5],
        [2, 0, 6, 3, 3, 3.5],
        [6, 6, 0, 3, 3, 6],
        [3, 3, 3, 0, 0, 3],
        [3, 3, 3, 0, 0, 3],
        [1.5, 3.5, 6, 3, 3, 0],
    ]


def test_nothing_is_hidden_by_the_clear_form_between_inside_and_outside() -> None:
    """Reports that split the places in halves, at no ε to speak of, name one of 32."""
    numbers = np.arange(32)
    reports = [AcceptedReport(row_of_cells(2), 1e-9, np.where(numbers >> bit & 1, 0, NULL)) for bit in range(5)]
    loss = combined_loss(reports)
    assert np.isinf(loss[~np.eye(32, dtype=bool)]).all()
    assert guess_bound(loss) == 1.0
    protected = [AcceptedReport(one.area, 1e-9, one.cells, null_epsilon=0.1) for one in reports]
    assert 1 / 32 < guess_bound(combined_loss(protected)) < exp(0.5) / 32


def test_places_that_share_all_their_cells_are_guessed_by_the_prior_alone() -> None:
    loss = combined_loss([AcceptedReport(row_of_cells(2, 1000.0), LN4, [0, 0, 0, 1])])
    assert guess_bound(loss, [0.5, 0.2, 0.1, 0.2]) == pytest.approx(0.7, rel=1e-8)


def test_shifted_grids_tell_more_than_one_report_of_each_place_would() -> None:
    """Two points 250 m apart that are a cell apart in both of two 2 km grids: e^5.5, not e^0.7."""
    one = AcceptedReport(row_of_cells(3, 2.0), LN4, [0, 1])
    assert combined_loss([one, one])[0, 1] == pytest.approx(2 * LN4 * 2)


def test_an_uneven_prior_is_solved_as_the_linear_program_that_it_is() -> None:
    generator = np.random.default_rng(3)
    area = cv.Area.from_points_km(generator.uniform(0, 6, (60, 2)))
    loss = combined_loss([AcceptedReport(area, 1.0, np.arange(60), null_epsilon=2.0)])
    prior = generator.dirichlet(np.full(60, 0.05))
    found = scipy.optimize.linprog(np.ones(60), A_ub=-np.exp(-loss), b_ub=-prior)
    assert guess_bound(loss, prior) == pytest.approx(found.fun, rel=1e-6)
    assert guess_bound(loss, prior) >= found.fun


def test_nothing_reported_is_guessed_by_the_prior_and_everything_reported_is_known() -> None:
    prior = [0.5, 0.3, 0.2]
    assert guess_bound(np.zeros((3, 3)), prior) == pytest.approx(0.5, rel=1e-8)
    certain = np.full((3, 3), inf)
    np.fill_diagonal(certain, 0.0)
    assert guess_bound(certain, prior) == 1.0


def test_what_is_no_matrix_of_losses_is_refused() -> None:
    for bad in ([[0.0, 1.0]], [[0.0, 1.0], [2.0, 0.0]], [[0.0, -1.0], [-1.0, 0.0]], [[0.0, float("nan")]] * 2):
        with pytest.raises(cv.InputError, match="loss"):
            guess_bound(bad)
    with pytest.raises(cv.InputError, match="reports"):
        combined_loss([])
    with pytest.raises(cv.InputError, match="same places"):
        combined_loss([AcceptedReport(row_of_cells(2), 1.0, [0, 1]), AcceptedReport(row_of_cells(2), 1.0, [0])])
    with pytest.raises(cv.InputError, match="grade_epsilon"):
        AcceptedReport(row_of_cells(2), 1.0, [0, 1], grades=[0, 1]).losses()
    with pytest.raises(cv.InputError, match="cells"):
        AcceptedReport(row_of_cells(2), 1.0, [0, 2]).losses()


BAD_REPORTS: dict[str, tuple[dict[str, object], str]] = {
    "cells of different lengths": (
        {"cells": [[0], [1, 2]]},
        r"cells = .*: should be one cell, or NULL, for each place$",
    ),
    "a cell that is not there": ({"cells": [0, 9]}, "cells = 9: cells of this area are 0 to 2$"),
    "grades of different lengths": ({"grades": [[0], [1, 2]]}, r"grades = .*: should be whole numbers from 0$"),
    "half a grade": ({"grades": [0, 0.5]}, r"grades = \[0, 0.5\]: should be whole numbers from 0$"),
    "a grade below the first": ({"grades": -1}, r"grades = -1: should be whole numbers from 0$"),
}


@pytest.mark.parametrize("name", BAD_REPORTS)
def test_a_report_that_makes_no_sense_is_refused_by_name(name: str) -> None:
    changed, said = BAD_REPORTS[name]
    given = {"cells": [0, 1], "grade_epsilon": 1.0, "null_epsilon": 1.0, **changed}
    with pytest.raises(cv.InputError, match=f"^{said}"):
        AcceptedReport(row_of_cells(3), 1.0, **given).losses()  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", [[[0.0, 1.0]], [[0.0], [1.0]], [0.0, 0.0], "much", [[0.0, -1.0], [-1.0, 0.0]]])
def test_losses_that_are_no_square_are_refused_by_name(loss: object) -> None:
    with pytest.raises(cv.InputError, match=r"^loss = "):
        guess_bound(loss)  # type: ignore[arg-type]


def test_places_in_groups_are_bounded_by_the_likeliest_of_each() -> None:
    apart = np.array([[0, 0, 5, 5], [0, 0, 5, 5], [5, 5, 0, 1e-6], [5, 5, 1e-6, 0]], dtype=float)
    assert guess_bound(apart, [0.4, 0.1, 0.3, 0.2]) == pytest.approx(0.7, abs=0.005)
    mixed = apart[np.ix_([0, 2, 1, 3], [0, 2, 1, 3])]
    assert guess_bound(mixed, [0.4, 0.3, 0.1, 0.2]) == pytest.approx(guess_bound(apart, [0.4, 0.1, 0.3, 0.2]))


# --- the linear program ---------------------------------------------------------------------------------------


def optimum(loss: FloatArray, prior: FloatArray) -> float:
    """The least sum of the theorem, by a solver alone."""
    return float(scipy.optimize.linprog(np.ones(len(prior)), A_ub=-np.exp(-loss), b_ub=-prior).fun)


def random_losses(generator: np.random.Generator, n: int, most: float) -> FloatArray:
    upper = np.triu(generator.uniform(0, most, (n, n)), 1)
    return np.asarray(upper + upper.T)


@pytest.fixture
def unsolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whoever calls the solver of linear programs."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("should not need a solver")

    monkeypatch.setattr(scipy.optimize, "linprog", refuse)


@pytest.mark.parametrize("most", [1.0, 3.0, 20.0])
def test_the_bound_is_the_optimum_of_its_linear_program_and_not_below(most: float) -> None:
    generator = np.random.default_rng(7)
    for _ in range(25):
        n = int(generator.integers(2, 9))
        loss, prior = random_losses(generator, n, most), generator.dirichlet(np.ones(n))
        least = optimum(loss, prior)
        assert least <= guess_bound(loss, prior) <= least * 1.001


def test_the_duals_of_an_optimum_are_not_negative_either() -> None:
    """Equations that only the primal solves without negative entries do not give the optimum, here 0.539."""
    loss = np.array([[0.0, 0.6, 0.9, 0.6], [0.6, 0.0, 2.2, 2.4], [0.9, 2.2, 0.0, 2.1], [0.6, 2.4, 2.1, 0.0]])
    prior = np.array([0.28, 0.15, 0.37, 0.2])
    assert (np.linalg.solve(np.exp(-loss), prior) > 0).all()
    assert guess_bound(loss, prior) == pytest.approx(optimum(loss, prior), rel=1e-6)


def test_equations_without_a_solution_leave_the_linear_program() -> None:
    loss = -np.log([[1.0, 0.75, 0.75], [0.75, 1.0, 0.125], [0.75, 0.125, 1.0]])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.solve(np.exp(-loss), np.ones(3))
    assert guess_bound(loss) == pytest.approx(4 / 9, rel=1e-6)


def test_a_nearly_even_prior_needs_no_linear_program(request: pytest.FixtureRequest) -> None:
    loss = combined_loss([AcceptedReport(row_of_cells(30, 0.25), LN4, np.arange(30))])
    prior = np.linspace(1.0, 1.2, 30) / np.linspace(1.0, 1.2, 30).sum()
    least = optimum(loss, prior)
    request.getfixturevalue("unsolved")
    assert guess_bound(loss, prior) == pytest.approx(least, rel=1e-6)


@pytest.mark.usefixtures("unsolved")
def test_a_program_too_large_to_be_solved_is_bounded_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = np.array([[0.0, 0.6, 0.9, 0.6], [0.6, 0.0, 2.2, 2.4], [0.9, 2.2, 0.0, 2.1], [0.6, 2.4, 2.1, 0.0]])
    monkeypatch.setattr(combined, "MAX_ENTRIES", 15)
    assert 0.539 < guess_bound(loss, [0.28, 0.15, 0.37, 0.2]) < 0.6
    assert 0.4 < guess_bound(loss, [0.4, 0.0, 0.3, 0.3]) < 0.7


def test_a_place_where_nobody_is_adds_nothing() -> None:
    loss = np.array([[0.0, 1.0, inf], [1.0, 0.0, inf], [inf, inf, 0.0]])
    assert guess_bound(loss, [0.5, 0.5, 0.0]) == pytest.approx(exp(1) / (1 + exp(1)), rel=1e-8)


def test_places_that_are_hardly_told_apart_one_by_one_are_one_group() -> None:
    """0 and 1, and 1 and 2, are below what is told apart; 0 and 2 are above it."""
    step = 0.9e-6
    loss = step * np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    assert 0.5 <= guess_bound(loss, [0.2, 0.3, 0.5]) <= 0.5 * exp(3 * step)


def test_an_area_of_one_cell_has_an_outside() -> None:
    report = AcceptedReport(row_of_cells(1), LN4, [NULL, 0, NULL], null_epsilon=LN64)
    assert report.losses().tolist() == [[0, LN64, 0], [LN64, 0, LN64], [0, LN64, 0]]
