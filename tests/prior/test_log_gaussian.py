"""The assumption that shares vary smoothly: its covariance, its choice by evidence, and its maximum."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.prior import Round, log_gaussian, pooled, pooled_estimate
from crowdveil.prior.log_gaussian import Smoothness, factor, likeliest
from tests.town import people_around, square_town

TOWN = square_town(8)
LN4 = log(4)


def sent(true: FloatArray, reports: int, epsilon_per_km: float = LN4) -> Round:
    """Reports through planar Laplace, whose symbols are the cells."""
    policy = cv.planar_laplace(TOWN, None, [0], epsilon_per_km)
    chances = true @ policy.table()
    return Round(policy, np.random.default_rng(1).multinomial(reports, chances / chances.sum()))


def test_the_factor_is_that_of_the_documented_covariance() -> None:
    area, n = cv.Area.from_points_km([[0, 0], [0, 1], [2, 1], [5, 5]]), 4
    length, smooth, rough = assumed = Smoothness(2.0, 0.7, 0.3)
    expected = np.zeros((9, 9))
    for row in range(2 * n):
        for column in range(2 * n):
            (g, k), (h, other) = divmod(row, n), divmod(column, n)
            distance = area.distance_km(k, other) / 1.5
            cells = smooth**2 * np.exp(-((distance / length) ** 2) / 2) + rough**2 * (k == other)
            expected[row, column] = (1.0 if g == h else 0.7) * cells + 4.0 * (g == h)
    expected[8, 8] = 4.0
    root = factor(area, 1.5, 2, True, assumed)
    assert root.shape == (2 * n + 1, 2 * (n + 1) + 1)
    assert (root @ root.T).ravel().tolist() == pytest.approx(expected.ravel().tolist(), abs=1e-7)
    alone = factor(area, 1.5, 1, False, assumed)
    assert (alone @ alone.T).ravel().tolist() == pytest.approx(expected[:n, :n].ravel().tolist(), abs=1e-7)


def test_cells_may_be_near_each_other() -> None:
    area, assumed = cv.Area.from_points_km([[0.0, 0.0], [0.1, 0.0], [0.3, 0.0]]), Smoothness(2.0, 0.5, 0.0)
    root = log_gaussian.cell_factor(area, 0.1, assumed)
    expected = [0.25 * np.exp(-((distance / 0.2) ** 2) / 2) for distance in (0.0, 0.1, 0.3)]
    assert (root @ root.T)[0].tolist() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("length", [0.5, 3.0])
def test_the_factor_of_many_cells_is_what_the_landmarks_explain(monkeypatch: pytest.MonkeyPatch, length: float) -> None:
    monkeypatch.setattr(log_gaussian, "MAX_LANDMARKS", 20)
    landmarks, gap_km = log_gaussian._landmarks(TOWN, 20)
    reach_km = max(0.9 * length, gap_km)
    assert (reach_km == gap_km) == (length == 0.5)
    near = 0.6**2 * np.exp(-((TOWN.distances_km(np.arange(len(TOWN))) / reach_km) ** 2) / 2)
    explained = near[:, landmarks] @ np.linalg.inv(near[np.ix_(landmarks, landmarks)] + 1e-8 * np.eye(20))
    root = log_gaussian.cell_factor(TOWN, 0.9, Smoothness(length, 0.6, 5.0))
    assert root.shape == (len(TOWN), 20)
    np.testing.assert_allclose(root @ root.T, explained @ near[landmarks], atol=1e-9)


@pytest.mark.parametrize(
    ("landmarks", "table", "used"),
    [(600, 5_000_000, 64), (10, 5_000_000, 10), (600, 64 * 12 + 63, 12), (600, 64 * 12, 12), (600, 20, 1)],
)
def test_landmarks_are_as_many_as_fit(monkeypatch: pytest.MonkeyPatch, landmarks: int, table: int, used: int) -> None:
    monkeypatch.setattr(log_gaussian, "MAX_LANDMARKS", landmarks)
    monkeypatch.setattr(log_gaussian, "MAX_FACTOR", table)
    assert log_gaussian.cell_factor(TOWN, 1.0, Smoothness(2.5, 1.0, 0.5)).shape == (64, used)


@pytest.mark.parametrize(("side", "shape"), [(25, (625, 600)), (100, (9_900, 505))])
def test_many_cells_have_600_landmarks_and_very_many_have_fewer(side: int, shape: tuple[int, int]) -> None:
    assert log_gaussian.cell_factor(square_town(side), 1.0, pooled.ASSUMPTIONS[0]).shape == shape


@pytest.mark.parametrize(
    ("symbols", "inputs", "width"), [(9, 5, 7), (5, 5, 3), (3, 5, 7), (6, 8, 4), (4, 8, 4), (7, 5, 3)]
)
def test_the_curvature_is_the_documented_matrix_in_whichever_form_it_is_kept(
    symbols: int, inputs: int, width: int
) -> None:
    generator = np.random.default_rng(symbols)
    columns, rows = generator.random((inputs, symbols)), generator.standard_normal((inputs, width))
    shares, counts = generator.dirichlet(np.ones(inputs)), generator.integers(1, 30, symbols).astype(float)
    chance = shares @ columns
    w = [np.sqrt(counts[s]) / chance[s] * ((shares * (columns[:, s] - chance[s])) @ rows) for s in range(symbols)]
    b = np.eye(width) + np.array(w).T @ np.array(w)
    found = log_gaussian._Curvature.at(columns, counts, shares, chance, rows)
    assert found.half_log_determinant == pytest.approx(np.linalg.slogdet(b)[1] / 2)
    slope = generator.standard_normal(width)
    assert found.solve(slope).tolist() == pytest.approx(np.linalg.solve(b, slope).tolist())


def test_the_usual_assumption_is_used_unless_another_is_clearly_better() -> None:
    assert pooled.ASSUMPTIONS == ((2.5, 1.0, 0.5), (2.5, 1.0, 0.85), (2.5, 1.0, 1.5))
    assert (pooled.MIN_EVIDENCE, pooled.MANY_REPORTS) == (20.0, 5_000)
    rough = np.random.default_rng(2).gamma(0.3, size=len(TOWN))
    assert pooled_estimate([sent(people_around(TOWN, 1), 300_000)]).smoothness == pooled.ASSUMPTIONS[0]
    assert pooled_estimate([sent(rough / rough.sum(), 300_000)]).smoothness == pooled.ASSUMPTIONS[2]


@pytest.mark.parametrize(
    ("evidence_of", "reports", "used"),
    [
        ([0.0, 19.9, 0.0], 5_000, 0),
        ([0.0, 20.0, 0.0], 5_000, 0),
        ([0.0, 20.1, 20.0], 5_000, 1),
        ([0.0, 10.0, 20.1], 5_000, 2),
        ([0.0], 4_999, 0),
    ],
)
def test_clearly_means_twenty_nats_from_many_reports(
    monkeypatch: pytest.MonkeyPatch, evidence_of: list[float], reports: int, used: int
) -> None:
    evidence = iter(evidence_of)

    def scored(*arguments: FloatArray) -> log_gaussian.Likeliest:
        return likeliest(*arguments)._replace(evidence=next(evidence))

    monkeypatch.setattr(pooled, "likeliest", scored)
    assert pooled_estimate([sent(people_around(TOWN, 1), reports)]).smoothness == pooled.ASSUMPTIONS[used]


@pytest.mark.parametrize("reports", [1, 50, 5_000, 5_000_000])
@pytest.mark.parametrize("epsilon_per_km", [LN4, log(64)])
@pytest.mark.parametrize("town", ["smooth", "rough", "spikes"])
def test_steps_come_to_a_maximum(town: str, epsilon_per_km: float, reports: int) -> None:
    generator = np.random.default_rng(3)
    true = {
        "smooth": people_around(TOWN, 2),
        "rough": np.exp(2 * generator.standard_normal(len(TOWN))),
        "spikes": 0.002 + (generator.random(len(TOWN)) < 0.05),
    }[town]
    one = sent(true / true.sum(), reports, epsilon_per_km)
    start = np.full(len(TOWN), 1 / len(TOWN))
    for assumed in pooled.ASSUMPTIONS:
        found = likeliest(one.policy.table(), one.counts.astype(float), start, factor(TOWN, 1.0, 1, False, assumed))
        assert found.converged
        assert found.shares.sum() == pytest.approx(1)
        assert (found.shares > 0).all()


ROUGH = np.exp(2 * np.random.default_rng(3).standard_normal(len(TOWN)))
EVERYWHERE = np.full(len(TOWN), 1 / len(TOWN))


def found_under(one: Round, start: FloatArray = EVERYWHERE) -> log_gaussian.Likeliest:
    root = factor(TOWN, 1.0, 1, False, pooled.ASSUMPTIONS[0])
    return likeliest(one.policy.table(), one.counts.astype(float), start, root)


def test_too_few_steps_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    one = sent(ROUGH / ROUGH.sum(), 5_000)
    assert found_under(one).converged
    monkeypatch.setattr(log_gaussian, "MAX_STEPS", 1)
    assert not found_under(one).converged


def test_where_rounding_ends_the_search_the_maximum_is_found_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    one = sent(ROUGH / ROUGH.sum(), 5_000)
    found = found_under(one)
    monkeypatch.setattr(log_gaussian, "CONVERGED", 0.0)
    exact = found_under(one)
    assert not exact.converged
    assert exact.evidence == pytest.approx(found.evidence, abs=1e-3)
    # The last step makes up for most of what stopping early leaves out.
    assert np.abs(found.shares - exact.shares).max() < 1e-5


def test_an_input_without_a_share_at_the_start_keeps_none_and_warns_of_nothing() -> None:
    start = np.where(np.arange(len(TOWN)) % 3 == 0, 0.0, 1.0)
    with np.errstate(divide="raise", invalid="raise"):
        found = found_under(sent(ROUGH / ROUGH.sum(), 500), start / start.sum())
    assert (found.shares[start == 0] == 0).all()
    assert (found.shares[start > 0] > 0).all()
    assert found.shares.sum() == pytest.approx(1)


def test_the_length_is_in_distances_between_neighbouring_cells() -> None:
    # Five cells 2 km apart in a row, and one far away.
    area = cv.Area.from_points_km([[0, 0], [2, 0], [4, 0], [6, 0], [8, 0], [40, 0]])
    assert log_gaussian.spacing_km(area) == pytest.approx(2.0, rel=1e-9)


def test_landmarks_are_spread_evenly_and_tell_nearly_all_of_a_smooth_town(monkeypatch: pytest.MonkeyPatch) -> None:
    true, assumed = people_around(TOWN, 1, width_km=2.0), Smoothness(2.5, 1.0, 0.0)
    one = sent(true, 20_000)
    exact = pooled_estimate([one], smoothness=assumed).prior
    monkeypatch.setattr(log_gaussian, "MAX_LANDMARKS", 32)
    landmarks, gap_km = log_gaussian._landmarks(TOWN, 32)
    assert len(set(landmarks.tolist())) == 32
    assert gap_km < 1.5
    few = pooled_estimate([one], smoothness=assumed).prior
    assert np.abs(few - exact).sum() < 0.05
    assert cv.divergence(true, few) < 0.2 * cv.divergence(true, np.full(len(TOWN), 1 / len(TOWN)))


@pytest.mark.long
def test_a_hundred_thousand_cells_fit_into_little_memory() -> None:
    area = square_town(316)
    policy = cv.optimal_policy(
        area, None, [50_000], epsilon_per_km=LN4, beta=0.01, null_epsilon=log(64), null_share=0.5
    )
    counts = np.random.default_rng(0).multinomial(60_000, np.full(policy.symbol_count, 1 / policy.symbol_count))
    found = pooled_estimate([Round(policy, counts)])
    assert found.prior.shape == (len(area),)
    assert found.prior.sum() == pytest.approx(1)
    assert np.isfinite(found.prior).all()
    root = factor(area, 1.0, 2, True, pooled.ASSUMPTIONS[0])
    assert root.nbytes < 200e6
