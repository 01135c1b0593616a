"""Iterative Bayesian update over several rounds."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from crowdveil.arrays import FloatArray
from crowdveil.certify import certify
from crowdveil.draw import draw_many
from crowdveil.errors import InputError
from crowdveil.policy.baselines.exponential import exponential
from crowdveil.policy.baselines.identity import identity
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.prior import Round, count_symbols, divergence, iterative_update, round_update
from tests.policy.test_laplace import square
from tests.reference.iterative_bayesian_update import iterative_bayesian_update

AREA = square(4)
TRUE = np.random.default_rng(1).dirichlet(np.full(16, 0.7))


def reports(people: int, seed: int = 2) -> list[Round]:
    made = []
    for number, make in enumerate((planar_laplace, exponential)):
        policy = make(AREA, None, [0], log(64))
        generator = np.random.default_rng([seed, number])
        cells = generator.choice(16, people, p=TRUE)
        made.append(count_symbols(policy, draw_many(policy, cells, certify(policy), generator)))
    return made


def log_likelihood(prior: FloatArray, rounds: list[Round]) -> float:
    return float(sum(one.counts @ np.log(prior @ one.policy.table()) for one in rounds))


def test_one_step_over_one_round_is_the_papers_update() -> None:
    (one, _) = reports(100)
    np.testing.assert_allclose(iterative_update([one], max_steps=1), round_update(None, one), atol=1e-11)


def test_no_step_makes_what_was_sent_less_likely() -> None:
    rounds = reports(200)
    values = [log_likelihood(iterative_update(rounds, max_steps=steps), rounds) for steps in range(40)]
    assert (np.diff(values) >= -1e-6).all()
    assert values[-1] > values[0]


def test_the_estimate_converges_to_the_truth_as_reports_grow() -> None:
    distance = [divergence(TRUE, iterative_update(reports(people))) for people in (100, 2_000, 40_000)]
    assert distance[0] > distance[1] > distance[2]
    assert distance[2] < 0.01


def test_steps_end_when_no_share_moves_by_more_than_a_millionth() -> None:
    rounds = reports(200)
    expected = iterative_bayesian_update(rounds, np.full(16, 1 / 16))
    np.testing.assert_allclose(iterative_update(rounds), expected, atol=1e-10)
    assert np.abs(iterative_update(rounds, max_steps=20) - expected).max() > 1e-4


def test_rounds_count_by_their_reports() -> None:
    few, many = reports(20)[0], reports(2_000)[1]
    found = iterative_update([few, many], max_steps=1)
    shares = [iterative_update([one], max_steps=1) for one in (few, many)]
    np.testing.assert_allclose(found, (20 * shares[0] + 2_000 * shares[1]) / 2_020, atol=1e-11)


def test_every_cell_keeps_some_share_for_the_next_round() -> None:
    assert (iterative_update(reports(5)) > 0).all()
    at_home = Round(identity(AREA, None, [0], log(4)), 7 * np.eye(16, dtype=np.int64)[3])
    assert iterative_update([at_home]).tolist() == pytest.approx(
        np.where(np.arange(16) == 3, 1.0, 1e-12), rel=1e-6, abs=0
    )


def test_nobody_reported_leaves_the_start_alone() -> None:
    policy = exponential(AREA, None, [0], log(4))
    assert iterative_update([Round(policy, np.zeros(16, dtype=np.int64))], TRUE) == pytest.approx(TRUE)


def test_rounds_that_cannot_be_pooled_are_refused() -> None:
    with pytest.raises(InputError, match="one or more rounds"):
        iterative_update([])
    other = Round(exponential(square(3), None, [0], log(4)), np.zeros(9, dtype=np.int64))
    with pytest.raises(InputError, match="same area"):
        iterative_update([*reports(5), other])
    protected = optimal_policy(AREA, None, [0], epsilon_per_km=1.0, beta=0.1, null_epsilon=2.0)
    with pytest.raises(InputError, match=r"^rounds\[0\]\.policy\.null_epsilon = 2\.0: .*clear form"):
        iterative_update([Round(protected, np.zeros(protected.symbol_count, dtype=np.int64))])


def test_a_start_that_rules_out_what_was_sent_is_refused() -> None:
    policy = identity(AREA, None, [0], log(4))
    with pytest.raises(InputError, match=r"^start = 0\.0: should have full support: .*impossible under it$"):
        iterative_update([Round(policy, np.eye(16, dtype=np.int64)[3])], np.eye(16)[4])
