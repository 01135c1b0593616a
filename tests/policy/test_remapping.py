"""Remapping reports to the place nearest to their sender on average."""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np
import pytest

from crowdveil.area import Area
from crowdveil.policy.baselines.exponential import exponential
from crowdveil.policy.baselines.identity import identity
from crowdveil.policy.baselines.laplace import planar_laplace
from crowdveil.policy.baselines.remapping import remapped_cells
from tests.policy.test_laplace import square


@pytest.mark.parametrize("seed", range(6))
def test_no_other_rule_comes_nearer_on_average(seed: int) -> None:
    """All 5^5 rules of five cells are tried."""
    generator = np.random.default_rng(seed)
    area = Area.from_points_km((generator.random((5, 2)) * 4).round(3))
    prior = generator.dirichlet(np.full(5, 0.6))
    policy = (planar_laplace, exponential)[seed % 2](area, prior, [0], log(4))
    distance, joint = area.distances_km(np.arange(5)), prior[:, None] * policy.table()

    def mean_km(rule: tuple[int, ...]) -> float:
        return float(sum(joint[:, z] @ distance[:, w] for z, w in enumerate(rule)))

    best = min(mean_km(rule) for rule in product(range(5), repeat=5))
    chosen = mean_km(tuple(remapped_cells(policy, prior).tolist()))
    assert chosen == pytest.approx(best, abs=1e-12)
    assert chosen <= mean_km(tuple(range(5)))


def test_a_report_from_where_nobody_is_moves_to_where_people_are() -> None:
    area = square(5)
    prior = np.zeros(25)
    prior[[6, 7]] = 0.9, 0.1
    assert set(remapped_cells(planar_laplace(area, prior, [0], log(4)), prior).tolist()) <= {6, 7}


def test_what_is_not_obfuscated_stays_where_it_is() -> None:
    area = square(3)
    assert remapped_cells(identity(area, None, [0], log(4)), None).tolist() == list(range(9))


def test_a_symbol_that_nobody_sends_is_remapped_by_the_prior_alone() -> None:
    area = square(3)
    prior = np.zeros(9)
    prior[4] = 1.0
    assert remapped_cells(identity(area, prior, [0], log(4)), prior).tolist() == [4] * 9
