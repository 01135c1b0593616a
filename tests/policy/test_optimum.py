"""The optimum is the optimum: against the paper's program, the reduced one, Theorem 1 and the closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import crowdveil as cv
from crowdveil.policy.solver.cutting_planes import solve
from tests.instances import Instance, instances, make_instance
from tests.reference.linear_programs import literal_lp, reduced_dual_bound

MANY = settings(deadline=None, derandomize=True, max_examples=100, suppress_health_check=[HealthCheck.too_slow])


def optimum(instance: Instance) -> float:
    found = solve(instance.area, instance.prior, tuple(instance.targets), instance.epsilon_per_km, instance.beta)
    assert found.value >= found.upper_bound * (1 - 1e-10)
    return found.value


@MANY
@given(instances(most_cells=9, largest_loss=9.0))
def test_equals_the_papers_literal_program_where_that_is_right(instance: Instance) -> None:
    expected = literal_lp(instance.D, instance.prior, instance.targets, instance.beta)
    assert optimum(instance) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.long
@settings(MANY, max_examples=50)  # the program takes long to solve
@given(instances(most_cells=64, largest_loss=20.0))
def test_equals_the_reduced_program_and_its_dual_bound(instance: Instance) -> None:
    bound = reduced_dual_bound(instance.D, instance.prior, instance.targets, instance.beta)
    value = optimum(instance)
    assert value <= bound * (1 + 1e-9) + 1e-12
    assert value == pytest.approx(bound, rel=1e-9, abs=1e-12)


@MANY
@given(instances(most_cells=49))
def test_equals_theorem_1_wherever_its_threshold_allows(instance: Instance) -> None:
    target = instance.targets[0]
    tau = cv.theorem1_threshold(instance.area, target, epsilon_per_km=instance.epsilon_per_km)
    reach = float(instance.prior @ np.exp(-instance.D[target]))
    beta = min(instance.beta, 0.999 * tau * reach)
    assume(beta > 1e-8)
    found = solve(instance.area, instance.prior, (target,), instance.epsilon_per_km, beta)
    expected = cv.theorem1_hit(instance.area, instance.prior, target, epsilon_per_km=instance.epsilon_per_km, beta=beta)
    assert np.exp(found.log_hit) == pytest.approx(expected, rel=1e-9)
    bound = cv.lemma2_bound(instance.area, instance.prior, target, epsilon_per_km=instance.epsilon_per_km)
    assert found.value == pytest.approx(bound, rel=1e-9, abs=1e-15)


@MANY
@given(instances(most_cells=49))
def test_never_below_the_closed_form_and_never_above_the_corrected_bound(instance: Instance) -> None:
    hit = cv.closed_form_for_quota(
        instance.area,
        instance.prior,
        instance.targets,
        epsilon_per_km=instance.epsilon_per_km,
        beta=instance.beta,
    )
    closed = float(instance.prior[instance.targets] @ hit[instance.targets]) / float(instance.prior @ hit)
    value = optimum(instance)
    assert value >= closed * (1 - 1e-12)
    bound = cv.lemma5_bound(instance.area, instance.prior, instance.targets, epsilon_per_km=instance.epsilon_per_km)
    assert value <= bound * (1 + 1e-9)


def test_meets_the_closed_form_as_cells_become_dense() -> None:
    """One target, the same city in ever finer cells: the discrete optimum approaches the closed form."""
    shortfall = []
    for side in (9, 17, 33):
        axis = np.linspace(-4, 4, side)
        x, y = np.meshgrid(axis, axis)
        area = cv.Area.from_points_km(np.column_stack([x.ravel(), y.ravel()]))
        target = area.xy_m.tolist().index([0, 0])
        prior = np.exp(-(area.xy_m.astype(float) ** 2).sum(axis=1) / 2 / 2000**2)
        prior /= prior.sum()
        epsilon, beta = np.log(4), 0.5
        found = solve(area, prior, (target,), epsilon, beta)
        hit = cv.closed_form_for_quota(area, prior, [target], epsilon_per_km=epsilon, beta=beta)
        shortfall.append(1 - float(prior[target] * hit[target]) / beta / found.value)
        assert np.abs(np.exp(found.log_hit) - hit).max() < 0.12
    assert shortfall[0] > shortfall[1] > shortfall[2] >= 0


@MANY
@given(instances(most_cells=100))
def test_what_is_published_gives_up_next_to_nothing(instance: Instance) -> None:
    policy = cv.optimal_policy(
        instance.area,
        instance.prior,
        instance.targets,
        epsilon_per_km=instance.epsilon_per_km,
        beta=instance.beta,
    )
    best = float(policy.provenance["upper_bound"])
    assert policy.value == pytest.approx(policy.value_under(instance.prior), rel=1e-12)
    assert best * (1 - 1e-6) <= policy.value <= best * (1 + 1e-9)
    assert policy.beta == pytest.approx(instance.beta, rel=1e-9)


@MANY
@given(instances(most_cells=49))
def test_a_single_target_uses_up_all_the_privacy_there_is(instance: Instance) -> None:
    """While nobody is selected for certain, the target is at its limit against its neighbours."""
    policy = cv.optimal_policy(
        instance.area,
        None,
        instance.targets[:1],
        epsilon_per_km=instance.epsilon_per_km,
        beta=instance.beta,
    )
    assert cv.smallest_epsilon(policy) > 0.99 * min(instance.epsilon_per_km, 20 / instance.area.nearest_neighbour_km)


@pytest.mark.long
@pytest.mark.parametrize("z", [2, 5, 16])
def test_larger_areas_take_another_road_to_the_same_optimum(z: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above DENSE_CELLS distances are found by blocks and the start comes from a coarser area."""
    import crowdveil.policy.solver.closure as closure
    import crowdveil.policy.solver.cutting_planes as multi

    for seed, epsilon, beta in ((1, np.log(4), 0.06), (2, 0.4, 0.4), (3, 4.0, 0.01)):
        instance = make_instance("points", 600, z, epsilon, beta, seed)
        straight = optimum(instance)
        with monkeypatch.context() as patch:
            patch.setattr(closure, "DENSE_CELLS", 10)
            patch.setattr(multi, "COARSE_CELLS", 400)
            assert optimum(instance) == pytest.approx(straight, rel=1e-11)


def test_losses_far_beyond_what_a_double_can_exponentiate_work() -> None:
    xy = np.array([[0, 0], [1, 0], [400, 0], [0, 900], [1500, 1500], [1500.5, 1500]])
    area = cv.Area.from_points_km(xy)
    for epsilon in (0.5, 1.0, 5.0):
        for beta in (0.001, 0.3, 0.9):
            policy = cv.optimal_policy(area, [0.3, 0.2, 0.2, 0.1, 0.1, 0.1], [0, 4], epsilon_per_km=epsilon, beta=beta)
            assert cv.certify(policy).ok
            assert policy.value >= float(policy.provenance["upper_bound"]) * (1 - 1e-6)


def test_towers_a_metre_apart_and_targets_side_by_side_work() -> None:
    xy = [[0.001 * i, 0.0] for i in range(8)] + [[3.0, 3.0], [-2.0, 1.0]]
    area = cv.Area.from_points_km(xy)
    for epsilon in (0.1, np.log(4), 5.0):
        policy = cv.optimal_policy(area, None, [0, 1, 2], epsilon_per_km=epsilon, beta=0.1)
        assert cv.certify(policy).ok
        assert policy.value >= float(policy.provenance["upper_bound"]) * (1 - 1e-6)


def test_a_prior_of_zero_at_every_target_still_gives_the_sharpest_policy() -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0], [3, 0]])
    policy = cv.optimal_policy(area, [0, 0.5, 0.5, 0], [0, 3], epsilon_per_km=1.0, beta=0.2)
    assert policy.value == 0.0
    assert policy.hit.argmax() in (0, 3)
    assert cv.certify(policy).ok
