"""What those who are not selected may still say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import crowdveil as cv
from crowdveil.arrays import FloatArray
from tests.instances import Instance, instances


def information_bits(prior: FloatArray, table: FloatArray) -> float:
    """Mutual information between the true cell and the symbol."""
    joint = prior[:, None] * table
    outer = prior[:, None] * joint.sum(axis=0)
    seen = joint > 0
    return float((joint[seen] * np.log2(joint[seen] / outer[seen])).sum())


@settings(deadline=None, derandomize=True, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(instances(most_cells=49))
def test_the_informative_completion_is_private_and_leaves_the_optimum_alone(instance: Instance) -> None:
    def make(completion: str) -> cv.Policy:
        return cv.optimal_policy(
            instance.area,
            instance.prior,
            instance.targets,
            epsilon_per_km=instance.epsilon_per_km,
            beta=instance.beta,
            completion=completion,
        )

    plain, refined = make("equal"), make("informative")
    assert refined.hit.tolist() == plain.hit.tolist()
    assert refined.value == plain.value
    certificate = cv.certify(refined)
    assert certificate.ok, certificate.explain()
    assert refined.table().sum(axis=1) == pytest.approx(1.0, rel=1e-12)
    gain = information_bits(instance.prior, refined.table()) - information_bits(instance.prior, plain.table())
    assert gain >= -1e-12


def test_it_says_much_more_than_equal_columns_on_a_city() -> None:
    grid = cv.Grid.from_bounds(40.65, -74.03, 40.82, -73.90, cell_km=1.0)
    prior = np.random.default_rng(1).gamma(0.5, size=len(grid))
    prior /= prior.sum()
    bits = {}
    for completion in ("equal", "informative"):
        policy = cv.optimal_policy(
            grid, prior, [40, 57, 120], epsilon_per_km=np.log(4), beta=0.06, completion=completion
        )
        bits[completion] = information_bits(prior, policy.table())
    assert bits["informative"] > 5 * bits["equal"]


def test_cells_at_the_limit_of_the_steep_constraint_share_one_row() -> None:
    """Where 1 - p already changes as fast as it may, nothing is left to tell cells apart by."""
    area = cv.Area.from_points_km([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [30.0, 0.0]])
    policy = cv.optimal_policy(area, None, [0], epsilon_per_km=1.0, beta=0.6, completion="informative")
    assert policy.completion is not None
    row = policy.completion.row
    assert policy.hit[2] > 0.5
    assert row[0] == row[1] == row[2] != row[3]
    assert cv.certify(policy).ok


def test_nothing_is_refined_where_privacy_has_left_nothing() -> None:
    area = cv.Area.from_points_km([[0.0, 0.0], [0.5, 0.0]])
    policy = cv.optimal_policy(area, None, [0], epsilon_per_km=1.0, beta=0.7, completion="informative")
    assert policy.completion is None
    assert cv.Policy.from_json(policy.to_json()) == policy


def test_equal_columns_are_the_papers_table() -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0]])
    policy = cv.optimal_policy(area, None, [1], epsilon_per_km=1.0, beta=0.3)
    table = cv.equal_columns(policy)
    assert table.sum(axis=1) == pytest.approx(1.0)
    assert table[:, 1] == pytest.approx(policy.hit)
    assert table[:, 0] == pytest.approx(table[:, 2])
    assert cv.certify_table(area, table, 1.0).ok


def test_too_large_an_area_or_too_few_bits_are_refused_with_what_to_do() -> None:
    y, x = np.mgrid[:60, :60]
    area = cv.Area.from_points_km(np.column_stack([x.ravel(), y.ravel()]))
    with pytest.raises(cv.InputError, match="at most 3,000 cells"):
        cv.optimal_policy(area, None, [5], epsilon_per_km=1.0, beta=0.1, completion="informative")
    small = area.subset(np.arange(2000))
    with pytest.raises(cv.InputError, match=r"bits = 25: should be larger .* use 53"):
        cv.optimal_policy(small, None, [5], epsilon_per_km=1.0, beta=0.5, completion="informative", bits=25)
