"""Two hops suffice: the closure against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdveil as cv
import crowdveil.policy.solver.closure as closure_module
from crowdveil.policy.solver.closure import ClosureMap
from tests.instances import Instance, instances, make_instance
from tests.reference.slow_closure import slow_closure

SETTINGS = settings(deadline=None, derandomize=True, max_examples=200)


@SETTINGS
@given(instances(most_cells=36, largest_loss=20.0), st.integers(0, 2**32 - 1))
def test_two_hops_reach_what_any_number_of_hops_reaches(instance: Instance, seed: int) -> None:
    generator = np.random.default_rng(seed)
    chances = 1 - np.exp(generator.uniform(-12, 0, len(instance.targets)))
    chances = np.clip(chances, 1e-6, 1 - 1e-6)
    found = cv.least_policy(instance.area, instance.targets, chances, instance.epsilon_per_km)
    expected = slow_closure(instance.D, instance.targets, chances.tolist())
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_stop_on_the_way_can_be_stronger_than_the_direct_hop() -> None:
    """p = 0.9, hops ln 2 then ln 8: 0.1; direct ln 16: 0.056."""
    far = np.log(16) / np.log(2)
    area = cv.Area.from_points_km([[0, 0], [1, 0], [far, 0]])
    epsilon = np.log(2)
    p = cv.least_policy(area, [0], [0.9], epsilon)
    assert p[2] == pytest.approx(0.1, rel=1e-3)
    assert cv.least_policy(area.subset([0, 2]), [0], [0.9], epsilon)[1] == pytest.approx(0.9 / 16, rel=1e-3)


@pytest.mark.parametrize("kind", ["grid", "points", "hexagons"])
def test_blocks_find_the_same_closure_as_all_pairs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(6):
        instance = make_instance(kind, 500, 5, float(np.exp(seed - 2.0)), 0.1, seed)
        scores = np.random.default_rng(seed).uniform(-2, 9, 5)
        dense = ClosureMap(instance.area, instance.targets, instance.epsilon_per_km)(scores)
        with monkeypatch.context() as patch:
            patch.setattr(closure_module, "DENSE_CELLS", 0)
            blocks = ClosureMap(instance.area, instance.targets, instance.epsilon_per_km)(scores)
        assert blocks.log_hit == pytest.approx(dense.log_hit, rel=1e-13, abs=1e-13)


def test_every_piece_is_a_lower_bound_everywhere() -> None:
    instance = make_instance("points", 60, 4, 1.0, 0.1, 7)
    closure = ClosureMap(instance.area, instance.targets, 1.0)
    generator = np.random.default_rng(3)
    pieces = closure(generator.uniform(-1, 5, 4))
    for _ in range(20):
        other = generator.uniform(-3, 8, 4)
        x = cv.closed_form_hit(instance.area, instance.targets, other, epsilon_per_km=1e9)[instance.targets]
        bound = (1 - (1 - x[pieces.target]) * np.exp(pieces.steep)) * np.exp(-pieces.flat)
        assert (bound <= np.exp(closure(other).log_hit) * (1 + 1e-12) + 1e-12).all()


@pytest.mark.parametrize("chances", [[0.0], [1.0], [float("nan")], [1.5]])
def test_chances_outside_zero_and_one_are_named(chances: list[float]) -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0]])
    with pytest.raises(cv.InputError, match=r"chances = .*strictly between 0 and 1"):
        cv.least_policy(area, [0], chances, 1.0)
