"""The paper's slips, each shown failing beside what holds instead."""

from __future__ import annotations

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.policy.solver.cutting_planes import solve
from tests.instances import make_instance
from tests.reference.linear_programs import literal_lp


def printed_lemma5(area: cv.Area, prior: np.ndarray, targets: list[int], epsilon: float) -> float:
    """(1 + Σ_{l∉T} Σ_t π_l/π_t e^{-D_lt})^{-1}, as the paper prints it."""
    fall = np.exp(-epsilon * area.distances_km(np.arange(len(area)), targets))
    outside = np.setdiff1d(np.arange(len(area)), targets)
    return float(1 / (1 + (prior[outside, None] / prior[targets] * fall[outside]).sum()))


def test_lemma_5_as_printed_is_exceeded_and_the_corrected_bound_holds() -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0]])
    prior = np.full(3, 1 / 3)
    printed = printed_lemma5(area, prior, [0, 1], 1.0)
    assert printed == pytest.approx(0.665, abs=0.001)
    attained = solve(area, prior, (0, 1), 1.0, 0.01).value
    assert attained == pytest.approx(0.910, abs=0.001)
    assert attained > printed
    assert attained <= cv.lemma5_bound(area, prior, [0, 1], epsilon_per_km=1.0)


def test_lemma_5_as_printed_fails_on_most_random_instances_and_ours_on_none() -> None:
    exceeded = 0
    for seed in range(49):
        instance = make_instance("points", 30, 4, 1.0, 0.01, seed)
        prior = (instance.prior + 0.01) / (instance.prior + 0.01).sum()
        value = solve(instance.area, prior, tuple(instance.targets), 1.0, 0.001).value
        exceeded += value > printed_lemma5(instance.area, prior, instance.targets, 1.0)
        assert value <= cv.lemma5_bound(instance.area, prior, instance.targets, epsilon_per_km=1.0) * (1 + 1e-12)
    assert exceeded >= 40


def test_theorem_1s_threshold_as_printed_is_not_a_number_and_ours_is_safe_and_sharp() -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0], [3, 0], [1, 2]])
    D = np.log(4) * area.distances_km(np.arange(5))
    target = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        printed = (np.exp(D) - 1) / (np.exp(D - D[target]) - np.exp(-D[target])[:, None])
    assert np.isnan(printed.min())
    tau = cv.theorem1_threshold(area, target, epsilon_per_km=np.log(4))
    assert 0.5 <= tau < 1

    def is_private(theta: float) -> bool:
        p = theta * np.exp(-D[target])
        return bool(((1 - p)[None, :] <= np.exp(D) * (1 - p)[:, None] * (1 + 1e-12)).all())

    assert is_private(tau * (1 - 1e-9))
    assert not is_private(tau * (1 + 1e-6))


def test_theorem_2s_construction_must_share_out_the_mass_it_frees() -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0], [0, 1]])
    table = cv.equal_columns(cv.optimal_policy(area, None, [0, 3], epsilon_per_km=1.0, beta=0.3))
    chosen, theta = 0, 0.5
    printed = table + (1 - theta) * table[:, [chosen]]
    printed[:, chosen] = theta * table[:, chosen]
    assert not np.allclose(printed.sum(axis=1), 1)
    with pytest.raises(cv.InputError, match="sum"):
        cv.certify_table(area, printed, 1.0)
    shared = table + (1 - theta) * table[:, [chosen]] / (len(area) - 1)
    shared[:, chosen] = theta * table[:, chosen]
    assert cv.certify_table(area, shared, 1.0).ok
    prior = np.full(4, 0.25)
    assert prior @ shared[:, chosen] == pytest.approx(theta * (prior @ table[:, chosen]))


def test_a_program_cannot_ask_for_chances_above_zero_but_the_closure_never_gives_zero() -> None:
    """Far cells: the paper's program answers with chances below its tolerance, even 0: an infinite loss."""
    area = cv.Area.from_points_km([[0, 0], [1, 0], [14, 0]])
    epsilon, prior, beta = np.log(8), np.array([0.2, 0.3, 0.5]), 0.05
    hit = cv.optimal_policy(area, prior, [0], epsilon_per_km=epsilon, beta=beta).hit
    assert (hit > 0).all()
    found = solve(area, prior, (0,), epsilon, beta)
    assert found.value >= literal_lp(epsilon * area.distances_km([0, 1, 2]), prior, [0], beta) * (1 - 1e-9)
    assert np.exp(found.log_hit).min() < 1e-10  # what a tolerance of 1e-7 calls zero
    zeroed = np.exp(found.log_hit)
    zeroed[2] = 0.0
    verdict = cv.certify_table(area, np.column_stack([zeroed, 1 - zeroed]), epsilon)
    assert verdict.smallest_epsilon_per_km == np.inf


def test_saying_null_in_the_clear_is_an_infinite_loss_and_null_as_an_input_is_not() -> None:
    """`No frequent place` as one more input, as far from the city as one wants it to be protected."""
    city = [[0, 0], [1, 0], [2, 0]]
    nowhere = [1, 3]
    area = cv.Area.from_points_km([*city, nowhere])
    table = cv.equal_columns(cv.optimal_policy(area.subset([0, 1, 2]), None, [0], epsilon_per_km=1.0, beta=0.3))
    clear = np.zeros((4, 4))
    clear[:3, :3] = table
    clear[3, 3] = 1.0
    assert cv.certify_table(area, clear, 1.0).smallest_epsilon_per_km == np.inf
    protected = cv.optimal_policy(area, [0.2, 0.2, 0.2, 0.4], [0], epsilon_per_km=1.0, beta=0.3)
    certificate = cv.certify(protected)
    assert certificate.ok
    assert certificate.smallest_epsilon_per_km <= 1.0


def test_a_campaign_that_asks_for_it_loses_at_most_its_own_epsilon_about_null() -> None:
    """The channel from every input, the cells and NULL, to what the server sees; in the clear NULL is a symbol too."""
    area = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0]])
    clear = cv.optimal_policy(area, None, [0], epsilon_per_km=1.0, beta=0.3)
    channel = np.zeros((4, 3))
    channel[:3, :2], channel[3, 2] = clear.table(), 1.0

    def loss(channel: np.ndarray) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.nanmax(np.abs(np.log(channel[:-1]) - np.log(channel[-1]))))

    assert loss(channel) == np.inf
    for null_epsilon in (0.01, np.log(2), np.log(16)):
        policy = cv.optimal_policy(area, None, [0], epsilon_per_km=1.0, beta=0.3, null_epsilon=null_epsilon)
        assert loss(policy.table()) <= null_epsilon
        certificate = cv.certify(policy)
        assert certificate.null is not None
        assert certificate.null.smallest_epsilon <= null_epsilon


def test_one_report_per_campaign_is_not_one_report_two_campaigns_add_up() -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0]])
    policy = cv.optimal_policy(area, None, [0], epsilon_per_km=1.0, beta=0.2)
    assert cv.certify(policy).ok
    one = policy.table()
    twice = np.einsum("ls,lt->lst", one, one).reshape(3, -1)
    assert not cv.certify_table(area, twice, 1.0).ok
    verdict = cv.certify_table(area, twice, 2.0)
    assert verdict.ok
    assert verdict.smallest_epsilon_per_km == pytest.approx(2 * cv.smallest_epsilon(policy), rel=1e-9)
