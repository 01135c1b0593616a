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
    assert (root @ root.T).ravel().tolist() == pytest.approx(expected.ravel().tolist(), abs=1e-7)
    alone = factor(area, 1.5, 1, False, assumed)
    assert (alone @ alone.T).ravel().tolist() == pytest.approx(expected[:n, :n].ravel().tolist(), abs=1e-7)


def test_the_usual_assumption_is_used_unless_another_is_clearly_better() -> None:
    assert [assumed.rough for assumed in pooled.ASSUMPTIONS] == [0.5, 0.85, 1.5]
    assert (pooled.MIN_EVIDENCE, pooled.MANY_REPORTS) == (20.0, 5_000)
    rough = np.random.default_rng(2).gamma(0.3, size=len(TOWN))
    assert pooled_estimate([sent(people_around(TOWN, 1), 300_000)]).smoothness == pooled.ASSUMPTIONS[0]
    assert pooled_estimate([sent(rough / rough.sum(), 300_000)]).smoothness == pooled.ASSUMPTIONS[2]


@pytest.mark.parametrize(
    ("evidence_of", "reports", "used"),
    [
        ([0.0, 19.9, 0.0], 5_000, 0),
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
