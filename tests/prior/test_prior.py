"""Learning where people are from their reports."""

from __future__ import annotations

from math import inf, isfinite, isnan, log, nan

import numpy as np
import pytest
import scipy.optimize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.prior import (
    PriorEstimate,
    Round,
    count_symbols,
    divergence,
    pooled_estimate,
    posterior,
    round_update,
    round_update_with_null,
    target_chances,
)
from crowdveil.prior import pooled as learning
from crowdveil.prior.log_gaussian import Likeliest
from tests.instances import Instance, instances
from tests.reference.iterative_bayesian_update import iterative_bayesian_update
from tests.town import live, people_around, square_town

TOWN = square_town(7)
UNIFORM = np.full(len(TOWN), 1 / len(TOWN))
LN4 = log(4)


def policy_of(instance: Instance, completion: str = "informative") -> cv.Policy:
    return cv.optimal_policy(
        instance.area,
        instance.prior,
        instance.targets,
        epsilon_per_km=instance.epsilon_per_km,
        beta=instance.beta,
        completion=completion,
    )


def town_policy(prior: FloatArray | None = None, completion: str = "informative", beta: float = 0.1) -> cv.Policy:
    return cv.optimal_policy(TOWN, prior, [10, 37], epsilon_per_km=LN4, beta=beta, completion=completion)


def reports_of(policy: cv.Policy, true: FloatArray, users: int, seed: int) -> Round:
    generator = np.random.default_rng(seed)
    return count_symbols(policy, cv.draw_many(policy, live(true, users, generator), cv.certify(policy), generator))


# --- posterior and one round ----------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(instances(most_cells=20), st.integers(0, 2**32 - 1), st.integers(0, 60))
def test_the_rounds_update_is_the_mean_of_the_reporters_posteriors(instance: Instance, seed: int, users: int) -> None:
    """Algorithm 2, user by user and cell by cell, against counts per symbol."""
    policy = policy_of(instance)
    generator = np.random.default_rng(seed)
    cells = live(instance.prior, users, generator)
    symbols = cv.draw_many(policy, cells, cv.certify(policy), generator)
    found = round_update(instance.prior, count_symbols(policy, symbols))
    assert found.sum() == pytest.approx(1.0)
    if not users:
        assert found.tolist() == pytest.approx(instance.prior.tolist())
        return
    table, pi, n = policy.table(), instance.prior, len(policy)
    mean = [0.0] * n
    for symbol in symbols.tolist():
        everywhere = sum(pi[k] * table[k, symbol] for k in range(n))
        for cell in range(n):
            mean[cell] += pi[cell] * table[cell, symbol] / everywhere / users
    assert found.tolist() == pytest.approx(mean, abs=1e-12)


@settings(deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(instances(most_cells=20), st.sampled_from(["equal", "informative"]))
def test_a_symbols_chance_of_a_target_is_its_posterior_summed_over_the_targets(
    instance: Instance, completion: str
) -> None:
    policy = policy_of(instance, completion)
    summed = [posterior(instance.prior, policy, s)[instance.targets].sum() for s in range(policy.symbol_count)]
    assert target_chances(instance.prior, policy).tolist() == pytest.approx(summed, abs=1e-12)


def test_a_symbol_that_nobody_sends_promises_nothing() -> None:
    prior = np.zeros(len(TOWN))
    prior[[3, 10]] = 0.5
    named = cv.identity(TOWN, prior, [10, 37], LN4)
    chances = target_chances(prior, named)
    assert chances[[3, 10, 37]].tolist() == [0.0, 1.0, 0.0]
    with pytest.raises(cv.InputError, match="symbol = 37: should be a symbol that somebody sends"):
        posterior(prior, named, 37)
    with pytest.raises(cv.InputError, match="counts = 'cell 37': was sent, but has the probability 0"):
        round_update(prior, count_symbols(named, [3, 37]))


def leave_nothing_but_nan_in_memory(size: int) -> None:
    """Fill and free some arrays: NumPy uses their memory again, so that what is never set is NaN."""
    used = [np.full(size, nan) for _ in range(20)]
    del used


def test_what_nobody_sends_is_left_out_of_sums_and_quotients() -> None:
    prior = np.zeros(len(TOWN))
    prior[[3, 10]] = [0.25, 0.75]
    named = cv.identity(TOWN, prior, [10, 37], LN4)
    one = count_symbols(named, [3, 10, 10, 10, 10])
    expected = np.zeros(len(TOWN))
    expected[[3, 10]] = [0.2, 0.8]
    for _ in range(5):
        leave_nothing_but_nan_in_memory(len(TOWN))
        assert target_chances(prior, named).tolist() == np.eye(len(TOWN))[10].tolist()
        leave_nothing_but_nan_in_memory(len(TOWN))
        with np.errstate(invalid="raise", divide="raise"):
            assert round_update(prior, one).tolist() == pytest.approx(expected.tolist())


def test_the_odds_between_two_cells_never_move_by_more_than_the_policy_allows() -> None:
    prior = people_around(TOWN, 0)
    policy = town_policy(prior)
    D = LN4 * TOWN.distances_km(np.arange(len(TOWN)))
    for symbol in range(policy.symbol_count):
        moved = np.log(posterior(prior, policy, symbol) / prior)
        assert (moved[:, None] - moved[None, :] <= D + 1e-9).all()


def test_a_hit_that_nobody_sends_promises_nothing() -> None:
    always = np.where(np.arange(len(TOWN)) == 10, 2**16, 0)
    policy = cv.Policy(TOWN, LN4, (10,), np.stack([always, 2**16 - always], axis=1), bits=16)
    elsewhere = np.eye(len(TOWN))[3]
    for _ in range(5):
        leave_nothing_but_nan_in_memory(policy.symbol_count)
        assert target_chances(elsewhere, policy).tolist() == [0.0, 0.0]


# --- the pooled estimate --------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [None, people_around(TOWN, 9)])
def test_the_estimate_is_the_documented_maximum_over_all_rounds(start: FloatArray | None) -> None:
    """Against a general optimiser, with the covariance written out."""
    true, assumed = people_around(TOWN, 1), cv.Smoothness(2.0, 0.8, 0.4)
    rounds = [reports_of(town_policy(), true, 60, 1), reports_of(town_policy(true), true, 60, 2)]
    found = pooled_estimate(rounds, start, smoothness=assumed)
    assert found.smoothness == assumed
    table = np.hstack([one.policy.table() for one in rounds])
    counts = np.concatenate([one.counts for one in rounds])
    distance = TOWN.distances_km(np.arange(len(TOWN))) / TOWN.nearest_neighbour_km
    covariance = 0.8**2 * np.exp(-((distance / 2.0) ** 2) / 2) + 0.4**2 * np.eye(len(TOWN)) + 2.0**2
    inverse, log_q = np.linalg.inv(covariance), np.log(UNIFORM if start is None else start)

    def lost(f: FloatArray) -> float:
        shares = np.exp(f) / np.exp(f).sum()
        return float((f - log_q) @ inverse @ (f - log_q) / 2 - counts @ np.log(shares @ table))

    best = scipy.optimize.minimize(lost, log_q, method="BFGS").x
    assert found.prior.tolist() == pytest.approx((np.exp(best) / np.exp(best).sum()).tolist(), abs=3e-4)
    assert found.prior.sum() == pytest.approx(1.0)
    assert divergence(true, found.prior) < divergence(true, UNIFORM if start is None else start)


@pytest.mark.long
def test_very_many_reports_come_near_the_truth_and_the_nearer_the_more_each_may_say() -> None:
    true = people_around(TOWN, 4)
    found = {}
    for epsilon in (log(4), log(64)):
        policy = cv.optimal_policy(TOWN, None, [10], epsilon_per_km=epsilon, beta=0.01, completion="informative")
        found[epsilon] = divergence(true, pooled_estimate([reports_of(policy, true, 200_000, 4)]).prior)
    assert divergence(true, UNIFORM) > 0.8
    assert found[log(4)] < 0.15
    assert found[log(64)] < 0.005


@pytest.mark.long
def test_fifty_reports_a_round_teach_more_than_algorithm_2_learns_from_them() -> None:
    ours, printed, start = [], [], []
    for seed in range(4):
        true = people_around(TOWN, seed)
        rounds: list[Round] = []
        known, theirs = UNIFORM, UNIFORM
        for number in range(6):
            rounds.append(reports_of(town_policy(known), true, 50, 100 * seed + number))
            known = pooled_estimate(rounds).prior
            equal = town_policy(theirs, "equal")
            theirs = round_update(theirs, reports_of(equal, true, 50, 100 * seed + number))
        ours.append(divergence(true, known))
        printed.append(divergence(true, theirs))
        start.append(divergence(true, UNIFORM))
    assert np.mean(ours) < 0.6 * np.mean(printed)
    assert np.mean(ours) < 0.6 * np.mean(start)


@pytest.mark.long
def test_smoothing_beats_the_maximum_of_the_likelihood() -> None:
    """Fifty reports a round are overfitted without smoothing."""
    plain, smoothed = [], []
    policy = town_policy()
    for seed in range(6):
        true = people_around(TOWN, seed)
        rounds = [reports_of(policy, true, 50, 10 * seed + number) for number in range(6)]
        plain.append(divergence(true, iterative_bayesian_update(rounds, UNIFORM)))
        smoothed.append(divergence(true, pooled_estimate(rounds).prior))
    assert np.mean(smoothed) < 0.8 * np.mean(plain)


@pytest.mark.long
def test_informative_columns_teach_more_than_equal_ones() -> None:
    mean = {}
    for completion in ("equal", "informative"):
        policy = town_policy(completion=completion)
        found = []
        for seed in range(6):
            true = people_around(TOWN, seed)
            found.append(divergence(true, pooled_estimate([reports_of(policy, true, 300, seed)]).prior))
        mean[completion] = np.mean(found)
    assert mean["informative"] < 0.7 * mean["equal"]


def test_the_same_counts_give_the_same_estimate_in_any_order_of_rounds() -> None:
    true = people_around(TOWN, 5)
    rounds = [reports_of(town_policy(beta=beta), true, 80, 7) for beta in (0.05, 0.1, 0.2)]
    first = pooled_estimate(rounds)
    for again in (pooled_estimate(rounds), pooled_estimate(rounds[::-1]), pooled_estimate([*rounds[1:], rounds[0]])):
        assert again.prior.tolist() == first.prior.tolist()
        assert again.smoothness == first.smoothness


def test_people_who_live_in_two_cells_only_are_found_there() -> None:
    true = np.zeros(len(TOWN))
    true[[8, 40]] = 0.5
    policy = cv.optimal_policy(TOWN, None, [10], epsilon_per_km=log(16), beta=0.01, completion="informative")
    found = pooled_estimate([reports_of(policy, true, 5000, 9)])
    assert found.smoothness == learning.ASSUMPTIONS[2]
    assert found.prior[[8, 40]].sum() > 0.9


def test_nobody_reported_leaves_the_prior_alone() -> None:
    nobody = count_symbols(town_policy(), [], nulls=50)
    assert (nobody.reports, nobody.hits, nobody.nulls) == (0, 0, 50)
    prior = people_around(TOWN, 7)
    assert round_update(prior, nobody).tolist() == pytest.approx(prior.tolist())
    assert pooled_estimate([nobody, nobody], prior).prior.tolist() == pytest.approx(prior.tolist())
    assert pooled_estimate([nobody]).prior.tolist() == pytest.approx(UNIFORM.tolist())
    assert pooled_estimate([nobody]).smoothness == learning.ASSUMPTIONS[0]
    assert pooled_estimate([nobody], smoothness=cv.Smoothness(1, 2, 3)).smoothness == (1, 2, 3)


def test_the_start_is_returned_where_no_share_is_left_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, start = protected_policy(), people_around(TOWN, 7)
    outside = Likeliest(np.eye(len(TOWN) + 1)[-1], 0.0, converged=True)
    monkeypatch.setattr(learning, "likeliest", lambda *_: outside)
    found = pooled_estimate([count_symbols(policy, [0])], start)
    assert found.null_share == 1.0
    assert found.prior.tolist() == pytest.approx(start.tolist())


@pytest.mark.parametrize("symbols", [[0], [0, 0, 0], [1] * 5, [0] * 5, list(range(30)), [0] * 5000])
def test_lopsided_reports_still_give_shares_that_sum_to_one(symbols: list[int]) -> None:
    found = pooled_estimate([count_symbols(town_policy(), symbols)]).prior
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0)


def test_reports_that_the_start_cannot_explain_are_left_out() -> None:
    start = np.zeros(len(TOWN))
    start[[3, 10]] = 0.5
    named = cv.identity(TOWN, start, [10, 37], LN4)
    found = pooled_estimate([count_symbols(named, [37] * 9)], start)
    assert found.prior.tolist() == pytest.approx(start.tolist())
    found = pooled_estimate([count_symbols(named, [37] * 9 + [3])], start)
    assert 0.5 < found.prior[3] < 1
    assert found.prior[[3, 10]].sum() == pytest.approx(1)
    assert found.prior[start == 0].tolist() == [0.0] * 47


@pytest.mark.parametrize("smoothness", [(0.0, 1.0, 0.5), (1e-300, 1.0, 0.0), (1e6, 1.0, 0.0), (2.5, 0.0, 0.0)])
def test_a_smoothness_of_any_size_is_well_defined(smoothness: tuple[float, float, float]) -> None:
    one = reports_of(town_policy(), people_around(TOWN, 8), 100, 8)
    found = pooled_estimate([one], smoothness=cv.Smoothness(*smoothness)).prior
    assert found.sum() == pytest.approx(1)
    if smoothness[0] > 1:
        # Cells that can only rise and fall together keep the proportions of the start.
        assert found.tolist() == pytest.approx(UNIFORM.tolist(), rel=1e-2)


# --- divergence -----------------------------------------------------------------------------------------------


def shares_of(cells: int) -> st.SearchStrategy[FloatArray]:
    weights = st.lists(
        st.one_of(st.just(0.0), st.floats(1e-300, 1.0), st.floats(0.1, 1.0)), min_size=cells, max_size=cells
    )
    return weights.filter(any).map(lambda w: np.array(w) / sum(w))


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.integers(1, 6).flatmap(lambda n: st.tuples(shares_of(n), shares_of(n))))
def test_divergence_is_at_least_half_the_squared_distance_and_infinite_for_a_denial(
    both: tuple[FloatArray, FloatArray],
) -> None:
    true, estimate = both
    found = divergence(true, estimate)
    assert not isnan(found)
    assert isfinite(found) == bool((estimate[true > 0] > 0).all())
    assert found >= 0.5 * np.abs(true - estimate).sum() ** 2 - 1e-9  # Pinsker: so it is 0 for the truth only
    assert divergence(true, true) == 0.0


def test_divergence_is_in_nats_and_takes_the_truth_first() -> None:
    assert divergence([1.0, 0.0], [0.5, 0.5]) == pytest.approx(log(2))
    assert divergence([0.5, 0.5], [1.0, 0.0]) == inf
    assert divergence([0.9, 0.1], [0.1, 0.9]) == pytest.approx(0.8 * log(9))
    assert divergence([0.9, 0.1], [0.5, 0.5]) == pytest.approx(0.9 * log(1.8) + 0.1 * log(0.2))
    assert divergence([1.0, 0.0], [1e-310, 1.0]) == pytest.approx(310 * log(10))


# --- wrong input ----------------------------------------------------------------------------------------------


def test_counts_that_cannot_be_are_refused() -> None:
    policy = town_policy(completion="equal")
    with pytest.raises(cv.InputError, match=r"counts = 'shape \(3,\) of int64': .* one for each of 2 symbols"):
        Round(policy, np.array([1, 2, 3]))
    with pytest.raises(cv.InputError, match=r"counts = 'shape \(2,\) of float64': should be whole numbers"):
        Round(policy, np.array([0.5, 2.0]))
    with pytest.raises(cv.InputError, match="counts = -1"):
        Round(policy, np.array([-1, 2]))
    for nulls in (-1, 0.5, True):
        with pytest.raises(cv.InputError, match=f"nulls = {nulls}"):
            Round(policy, np.array([1, 2]), nulls)  # type: ignore[arg-type]
    with pytest.raises(cv.InputError, match=r"^counts = .*: should be whole numbers, one for each symbol$"):
        Round(policy, [[1], [1, 2]])  # type: ignore[arg-type]
    for symbols in ([0, 2], [-1], [0.5]):
        with pytest.raises(cv.InputError, match=r"^symbols = "):
            count_symbols(policy, symbols)
    with pytest.raises(cv.InputError, match="symbol = 2"):
        posterior(None, policy, 2)


def test_rounds_that_cannot_be_pooled_are_refused() -> None:
    one = count_symbols(town_policy(), [0])
    with pytest.raises(cv.InputError, match="rounds"):
        pooled_estimate([])
    elsewhere = cv.optimal_policy(TOWN.subset([1, 2, 3]), None, [1], epsilon_per_km=1.0, beta=0.1)
    with pytest.raises(cv.InputError, match=r"rounds\[1\].*same area"):
        pooled_estimate([one, count_symbols(elsewhere, [0])])
    for rounds in ([one], [count_symbols(town_policy(), [])]):
        for wrong in (-1.0, float("nan"), inf):
            with pytest.raises(cv.InputError, match=r"smoothness = .*should be three numbers of 0 or more"):
                pooled_estimate(rounds, smoothness=cv.Smoothness(2.5, wrong, 0.5))
        with pytest.raises(cv.InputError, match="prior"):
            pooled_estimate(rounds, [0.5, 0.5])


def test_priors_that_do_not_fit_are_refused() -> None:
    policy = town_policy()
    for wrong in ([1.0], [-1.0, *[2.0 / 48] * 48], [0.5] * 49):
        with pytest.raises(cv.InputError, match="prior"):
            target_chances(wrong, policy)
        with pytest.raises(cv.InputError, match="prior"):
            round_update(wrong, count_symbols(policy, [0]))
    with pytest.raises(cv.InputError, match="prior"):
        divergence([0.5, 0.5], [1.0])


def test_what_a_round_keeps_cannot_be_changed_afterwards() -> None:
    mine = np.array([1, 2])
    kept = Round(town_policy(completion="equal"), mine)
    mine[0] = 99
    assert (kept.counts.tolist(), kept.reports, kept.hits) == ([1, 2], 3, 1)
    with pytest.raises(ValueError, match="read-only"):
        kept.counts[0] = 5
    assert kept != Round(kept.policy, kept.counts)  # rather than an error about arrays
    assert kept.nulls == 0
    assert PriorEstimate(UNIFORM, learning.ASSUMPTIONS[0]).null_share == 0.0


# --- the protected form ---------------------------------------------------------------------------------------


def protected_policy(null_epsilon: float = log(64), completion: str = "informative", beta: float = 0.1) -> cv.Policy:
    return cv.optimal_policy(
        TOWN, None, [10, 37], epsilon_per_km=LN4, beta=beta, completion=completion, null_epsilon=null_epsilon
    )


def graded_policy(
    area: cv.Area = TOWN,
    targets: tuple[int, ...] = (10, 37),
    completion: str = "informative",
    beta: float = 0.02,
    loss: float = log(64),
) -> cv.Policy:
    """What a first round has: nothing is known, place, grade and outside are protected at the default."""
    return cv.optimal_policy(
        area,
        None,
        targets,
        epsilon_per_km=LN4,
        beta=beta,
        completion=completion,
        null_epsilon=loss,
        null_share=0.5,
        grade_epsilon=loss,
    )


def sent_with_null(policy: cv.Policy, true: FloatArray, null_share: float, users: int, seed: int) -> Round:
    generator = np.random.default_rng(seed)
    places = live(true, users, generator)
    places[generator.random(users) < null_share] = -1
    return count_symbols(policy, cv.draw_many(policy, places, cv.certify(policy), generator))


def joint_prior(area: cv.Area, regular: float, seed: int) -> FloatArray:
    """Regular and occasional visitors live around different centres."""
    return np.stack([regular * people_around(area, seed), (1 - regular) * people_around(area, seed + 50)])


def sent_with_grades(policy: cv.Policy, joint: FloatArray, null_share: float, users: int, seed: int) -> Round:
    generator = np.random.default_rng(seed)
    grades, places = np.divmod(live(joint.ravel(), users, generator), joint.shape[1])
    places[generator.random(users) < null_share] = -1
    return count_symbols(policy, cv.draw_many(policy, places, cv.certify(policy), generator, grades))


def test_chances_of_a_target_count_senders_without_a_place() -> None:
    policy, prior = protected_policy(), people_around(TOWN, 3)
    inputs = np.append(0.6 * prior, 0.4)
    table = policy.table()
    full = inputs[:, None] * table / (inputs @ table)
    assert target_chances(prior, policy, null_share=0.4).tolist() == pytest.approx(full[[10, 37]].sum(axis=0).tolist())
    assert target_chances(prior, policy, null_share=1.0).tolist() == [0.0] * policy.symbol_count
    with pytest.raises(cv.InputError, match="NULL is sent in the clear"):
        target_chances(prior, town_policy(), null_share=0.4)
    with pytest.raises(cv.InputError, match="null_share"):
        target_chances(prior, policy, null_share=-0.1)


def test_chances_of_a_target_count_regular_visitors_only() -> None:
    policy, joint = graded_policy(), joint_prior(TOWN, 0.3, 3)
    inputs = np.append(0.6 * joint.ravel(), 0.4)
    table = policy.table()
    full = inputs[:, None] * table / (inputs @ table)
    found = target_chances(joint, policy, null_share=0.4)
    assert found.tolist() == pytest.approx(full[[10, 37]].sum(axis=0).tolist())
    assert found.argmax() == 0
    grades, cells = posterior(joint, policy, 0).shape
    assert (grades, cells) == (2, 49)
    placed = full[:-1, 0] / full[:-1, 0].sum()
    assert posterior(joint, policy, 0).ravel().tolist() == pytest.approx(placed.tolist())
    weighed = full[[10, 37]].sum(axis=0) * 0.9 + full[[49 + 10, 49 + 37]].sum(axis=0) * 0.25
    graded = target_chances(joint, policy, null_share=0.4, grade_chances=(0.9, 0.25))
    assert graded.tolist() == pytest.approx(weighed.tolist())
    other = target_chances(joint, policy, [3], 0.4)
    assert other.tolist() == pytest.approx(full[3].tolist())
    with pytest.raises(cv.InputError, match=r"should have the shape \(2, 49\)"):
        target_chances(joint[0] / joint[0].sum(), policy)


@pytest.mark.parametrize("grades", [1, 2])
def test_the_rounds_update_with_null_is_the_mean_of_posteriors_over_all_inputs(grades: int) -> None:
    policy = protected_policy() if grades == 1 else graded_policy()
    prior = people_around(TOWN, 3) if grades == 1 else joint_prior(TOWN, 0.4, 3)
    one = (sent_with_null if grades == 1 else sent_with_grades)(policy, prior, 0.5, 200, 4)
    inputs = np.append(0.7 * prior.ravel(), 0.3)
    table = policy.table()
    mean = (inputs[:, None] * table / (inputs @ table)) @ one.counts / one.reports
    found, null_share = round_update_with_null(prior, 0.3, one)
    assert null_share == pytest.approx(mean[-1])
    assert found.shape == prior.shape
    assert found.ravel().tolist() == pytest.approx((mean[:-1] / mean[:-1].sum()).tolist())
    nobody = Round(policy, np.zeros(policy.symbol_count, dtype=np.int64))
    kept, share = round_update_with_null(prior, 0.3, nobody)
    assert share == 0.3
    assert kept.ravel().tolist() == pytest.approx(prior.ravel().tolist())
    kept, share = round_update_with_null(prior, 1.0, one)
    assert share == 1.0
    assert kept.ravel().tolist() == pytest.approx(prior.ravel().tolist())


SHARES = [(0.2, 0.77, 0.03), (0.5, 0.3, 0.2), (0.8, 0.1, 0.1), (0.3, 0.3, 0.4), (0.05, 0.05, 0.9)]


@pytest.mark.parametrize("completion", ["equal", "informative"])
@pytest.mark.parametrize(
    ("side", "targets", "beta"),
    [
        (7, (10, 37), 0.05),
        pytest.param(12, (40,), 0.01, marks=pytest.mark.long),
        pytest.param(12, (20, 40, 75, 110), 0.02, marks=pytest.mark.long),
    ],
)
def test_2400_people_show_the_shares_of_grades_and_of_those_outside(
    side: int, targets: tuple[int, ...], beta: float, completion: str
) -> None:
    """Each within 0.1. It takes targets that leave most of their visitors unselected: see the next test."""
    area = square_town(side)
    policy = graded_policy(area, targets, completion, beta)
    assert policy.hit.max() < 0.93
    worst = 0.0
    for shares in SHARES:
        for seed in range(3):
            joint = joint_prior(area, shares[0] / (shares[0] + shares[1]), seed)
            found = pooled_estimate([sent_with_grades(policy, joint, shares[2], 2400, seed)])
            assert found.prior.shape == (2, len(area))
            assert found.prior.sum() == pytest.approx(1)
            estimate = np.append((1 - found.null_share) * found.grade_shares, found.null_share)
            worst = max(worst, float(np.abs(estimate - shares).max()))
    assert worst < 0.1


def test_whoever_is_nearly_always_selected_leaves_no_room_to_tell_grades() -> None:
    """Where a target's regular visitors are selected nearly always, 1 - p already uses ε₀ and ε₁ for not being one."""
    symbols = slice(1, 4)
    room = {}
    for beta in (0.05, 0.4):
        policy = graded_policy(beta=beta, completion="equal")
        table = policy.table()[:, symbols] / (1 - policy.hit[:, None])
        room[beta] = float(table[0, 1] / table[0, 2])
    assert room[0.05] > 2
    assert room[0.4] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_joint_distribution_of_places_and_grades_is_learnt(seed: int) -> None:
    true = joint_prior(TOWN, 0.6, seed)
    policies = [graded_policy(beta=beta) for beta in (0.02, 0.05)]
    uniform = np.full((2, len(TOWN)), 1 / 2 / len(TOWN))
    rounds = [sent_with_grades(one, true, 0.2, 1200, seed + k) for k, one in enumerate(policies)]
    found = pooled_estimate(rounds).prior
    assert divergence(true.ravel(), found.ravel()) < 0.8 * divergence(true.ravel(), uniform.ravel())
    for grade in (0, 1):
        near, before = (
            divergence(true[grade] / true[grade].sum(), p[grade] / p[grade].sum()) for p in (found, uniform)
        )
        assert near < before


@pytest.mark.parametrize("true_share", [0.1, 0.8])
def test_many_reports_show_how_many_have_no_place_and_tell_more_than_nothing_of_the_others(true_share: float) -> None:
    true = people_around(TOWN, 3)
    policies = [protected_policy(log(256), beta=beta) for beta in (0.1, 0.2)]
    rounds = [sent_with_null(policy, true, true_share, 60_000, 9 + k) for k, policy in enumerate(policies)]
    found = pooled_estimate(rounds)
    assert found.null_share == pytest.approx(true_share, abs=0.1)
    assert divergence(true, found.prior) < divergence(true, UNIFORM)
    assert found.prior.sum() == pytest.approx(1)


@pytest.mark.parametrize("grades", [1, 2])
def test_whoever_has_no_place_is_not_smeared_into_the_cells(grades: int) -> None:
    """Everyone without a place: the share outside is found, whatever the smoothness."""
    policy = protected_policy(log(256)) if grades == 1 else graded_policy(loss=log(256))
    start = people_around(TOWN, 3) if grades == 1 else joint_prior(TOWN, 0.5, 3)
    nowhere = (sent_with_null if grades == 1 else sent_with_grades)(policy, start, 1.0, 40_000, 5)
    for smoothness in learning.ASSUMPTIONS:
        found = pooled_estimate([nowhere], start, smoothness=smoothness)
        assert found.null_share > 0.85
        assert np.isfinite(found.prior).all()


@pytest.mark.parametrize("grades", [1, 2])
def test_extreme_losses_leave_finite_estimates(grades: int) -> None:
    policy = protected_policy(60.0, "equal") if grades == 1 else graded_policy(completion="equal", loss=60.0)
    for symbol in range(policy.symbol_count):
        counts = np.zeros(policy.symbol_count, dtype=np.int64)
        counts[symbol] = 5000
        found = pooled_estimate([Round(policy, counts)])
        assert 0 <= found.null_share <= 1
        assert np.isfinite(found.prior).all()
        assert found.prior.sum() == pytest.approx(1)
    nobody = pooled_estimate([Round(policy, np.zeros(policy.symbol_count, dtype=np.int64))])
    assert nobody.null_share == learning.START_NULL_SHARE == 0.5


def test_rounds_with_a_protected_null_hold_no_null_in_the_clear_and_do_not_mix_with_others() -> None:
    with pytest.raises(cv.InputError, match="nulls = 2: should be 0"):
        count_symbols(protected_policy(), [0, 1], nulls=2)
    with pytest.raises(cv.InputError, match=r": should protect NULL if and only if the first round does$"):
        pooled_estimate([count_symbols(protected_policy(), [0]), count_symbols(town_policy(), [0])])
    with pytest.raises(
        cv.InputError, match=r"rounds\[1\]\.policy\.grades = 2: should be the grades of the first round, 1"
    ):
        pooled_estimate([count_symbols(protected_policy(), [0]), count_symbols(graded_policy(), [0])])
    assert pooled_estimate([count_symbols(town_policy(), [0, 1], nulls=2)]).null_share == 0.0
