"""NULL as one more input: least policies, optima, whole numbers."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.policy.policy import Completion
from crowdveil.policy.solver import closure as closure_module
from crowdveil.policy.solver.cutting_planes import solve
from crowdveil.policy.solver.null_closure import NullClosure, NullInput
from tests.instances import Instance, instances, make_instance
from tests.reference.linear_programs import reduced_dual_bound
from tests.reference.slow_closure import slow_closure

AREA = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0], [0, 1]])


def hub_distances(instance: Instance, null_epsilon: float) -> FloatArray:
    """D of all inputs: the cells', and NULL at ε₀ from each of them, last."""
    n = len(instance.area)
    D = np.full((n + 1, n + 1), null_epsilon)
    D[:n, :n] = instance.D
    D[n, n] = 0.0
    return D


def protected(null_epsilon: float = log(4), null_share: float = 0.3, **changes: object) -> cv.Policy:
    options: dict[str, object] = {"epsilon_per_km": 1.0, "beta": 0.1, **changes}
    prior = [0.25, 0.25, 0.5, 0.0]
    return cv.optimal_policy(AREA, prior, [0, 3], null_epsilon=null_epsilon, null_share=null_share, **options)  # type: ignore[arg-type]


@settings(deadline=None, derandomize=True, max_examples=80)
@given(instances(most_cells=30), st.sampled_from([0.05, log(2), log(4), log(64)]), st.integers(0, 1000))
def test_the_least_policy_with_null_is_the_least_fixpoint_of_all_hops(
    instance: Instance, null_epsilon: float, seed: int
) -> None:
    scores = np.random.default_rng(seed).uniform(-4, 4, len(instance.targets))
    chances = np.where(scores < 0, np.exp(scores) / 2, 1 - np.exp(-scores) / 2)
    pieces = NullClosure(instance.area, instance.targets, instance.epsilon_per_km, null_epsilon)(scores)
    expected = slow_closure(hub_distances(instance, null_epsilon), instance.targets, chances.tolist())
    assert np.exp(pieces.log_hit).tolist() == pytest.approx(expected.tolist(), rel=1e-9)
    along = 1 - (1 - chances[pieces.target]) * np.exp(pieces.steep)
    assert (along * np.exp(-pieces.flat)).tolist() == pytest.approx(expected.tolist(), rel=1e-9)


@pytest.mark.parametrize("seed", range(24))
def test_the_optimum_with_null_is_that_of_the_full_linear_program_with_one_more_input(seed: int) -> None:
    generator = np.random.default_rng(seed)
    z = int(generator.integers(1, 5))
    null = NullInput(float(generator.choice([log(2), log(4), log(16)])), float(generator.choice([0.0, 0.3, 0.7])))
    instance = make_instance("points", 25, z, 1.0, float(generator.choice([0.02, 0.1, 0.4])), seed)
    beta, targets = instance.beta, instance.targets
    found = solve(instance.area, instance.prior, tuple(targets), instance.epsilon_per_km, beta, null=null)
    inputs = null.inputs(instance.prior)
    bound = reduced_dual_bound(hub_distances(instance, null.epsilon), inputs, targets, beta)
    assert found.value == pytest.approx(bound, rel=1e-7)
    assert found.value <= found.upper_bound <= found.value * (1 + 1e-9)
    assert inputs @ np.exp(found.log_hit) == pytest.approx(beta, rel=1e-12)


def test_without_protection_to_speak_of_null_costs_nothing_and_with_all_of_it_the_policy_is_flat() -> None:
    clear = cv.optimal_policy(AREA, None, [0], epsilon_per_km=1.0, beta=0.1)
    values = [
        cv.optimal_policy(AREA, None, [0], epsilon_per_km=1.0, beta=0.1, null_epsilon=e).value
        for e in (1e-9, 0.01, 0.1, log(2), log(16), 50.0, 1e6)
    ]
    assert values == sorted(values)
    assert values[0] == pytest.approx(0.25, rel=1e-6)
    assert values[-1] == pytest.approx(clear.value, rel=1e-6)
    assert max(values) <= clear.value * (1 + 1e-12)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    instances(most_cells=40),
    st.sampled_from([1e-6, 0.05, log(2), log(16), log(64), 300.0]),
    st.sampled_from([0.0, 0.2, 0.9, 1.0]),
    st.sampled_from(["equal", "informative"]),
)
def test_whole_numbers_keep_both_promises_and_the_quota(
    instance: Instance, null_epsilon: float, null_share: float, completion: str
) -> None:
    policy = cv.optimal_policy(
        instance.area,
        instance.prior,
        instance.targets,
        epsilon_per_km=instance.epsilon_per_km,
        beta=instance.beta,
        completion=completion,
        null_epsilon=null_epsilon,
        null_share=null_share,
    )
    certificate = cv.certify(policy)
    assert certificate.ok, certificate.explain()
    table, null = policy.table(), policy.null_table()
    with np.errstate(divide="ignore"):
        assert np.abs(np.log(table) - np.log(null)).max() <= null_epsilon * (1 + 1e-9) + 1e-12
    assert table.sum(axis=1) == pytest.approx(1)
    assert null.sum() == pytest.approx(1)
    assert policy.beta == pytest.approx(instance.beta, rel=1e-6)
    assert policy.value == pytest.approx(policy.value_under(instance.prior, null_share), rel=1e-12)
    assert policy.provenance["null_share"] == repr(null_share)
    assert float(policy.provenance["gap"]) < 1e-5


def test_large_areas_take_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = make_instance("grid", 900, 4, 1.0, 0.05, 3)
    null = NullInput(log(16), 0.4)
    arguments = (instance.area, instance.prior, tuple(instance.targets), 1.0, 0.05)
    dense = solve(*arguments, null=null)
    monkeypatch.setattr(closure_module, "DENSE_CELLS", 10)
    monkeypatch.setattr("crowdveil.policy.solver.cutting_planes.COARSE_CELLS", 100)
    assert solve(*arguments, null=null).value == pytest.approx(dense.value, rel=1e-9)


@pytest.mark.parametrize(
    ("null_share", "targets", "shares"),
    [
        (0.0, [(10, 10)], [20, 75, 98, 100]),
        (0.0, [(4, 4), (15, 4), (4, 15), (15, 15)], [22, 69, 100, 100]),
        (0.5, [(10, 10)], [13, 32, 95, 99]),
        (0.5, [(4, 4), (15, 4), (4, 15), (15, 15)], [14, 32, 91, 98]),
    ],
)
def test_protection_costs_what_the_page_about_privacy_says(
    null_share: float, targets: list[tuple[int, int]], shares: list[int]
) -> None:
    area = cv.Area.from_points_km([[x, y] for y in range(20) for x in range(20)])
    cells = [20 * y + x for x, y in targets]
    clear = cv.optimal_policy(area, None, cells, epsilon_per_km=log(4), beta=0.05 / (1 - null_share))
    found = [
        cv.optimal_policy(
            area, None, cells, epsilon_per_km=log(4), beta=0.05, null_epsilon=log(factor), null_share=null_share
        )
        for factor in (2, 4, 16, 64)
    ]
    assert [round(100 * policy.value / clear.value) for policy in found] == shares
    row = f"| {'half' if null_share else 'none'} | {len(cells)} | {' | '.join(f'{share} %' for share in shares)} |"
    assert row in (Path(__file__).parents[2] / "docs" / "explanations" / "privacy.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", range(6))
def test_cells_that_share_a_variable_leave_the_proven_optimum_as_it_is(seed: int) -> None:
    """Many cells lie on the floor: bounds still meet, where each cell alone would need a variable of its own."""
    instance = make_instance("grid", 400, 6, 1.5, 0.05, seed)
    null = NullInput(log(8), 0.3)
    found = solve(instance.area, instance.prior, tuple(instance.targets), 1.5, 0.05, null=null)
    floor = np.exp(found.log_hit[:-1]).min()
    assert (np.exp(found.log_hit[:-1]) <= floor * (1 + 1e-12)).sum() > 100
    assert found.value <= found.upper_bound <= found.value * (1 + 1e-9)
    assert found.rounds < 30


# --- as a value -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("completion", ["equal", "informative"])
def test_a_protected_policy_travels_in_both_forms(completion: str) -> None:
    policy = protected(completion=completion)
    for back in (cv.Policy.from_bytes(policy.to_bytes()), cv.Policy.from_json(policy.to_json())):
        assert back == policy
        assert back.null_epsilon == policy.null_epsilon
        assert back.null_weights is not None
        assert back.null_weights.tolist() == policy.null_weights.tolist()  # type: ignore[union-attr]
        assert cv.certify(back).ok
    assert "NULL at ε₀=1.386" in repr(policy)


def test_every_weight_of_null_and_its_epsilon_are_part_of_the_hash() -> None:
    policy = protected()
    assert policy.null_weights is not None
    moved = policy.null_weights + np.array([1, -1])
    assert replace(policy, null_weights=moved).hash != policy.hash
    assert replace(policy, null_epsilon=1.0).hash != policy.hash
    assert replace(policy, null_epsilon=None, null_weights=None).hash != policy.hash
    altered = policy.to_json().replace('"null_epsilon": 1.38', '"null_epsilon": 1.39')
    with pytest.raises(cv.FileFormatError, match="the file was altered"):
        cv.Policy.from_json(altered)


def test_the_row_of_null_is_laid_out_as_documented() -> None:
    policy = protected()
    assert policy.null_weights is not None
    width = policy.bits // 8 + 1
    assert policy.canonical_bytes()[-width:] == int(policy.null_weights[0]).to_bytes(width, "big")
    assert b'"null_epsilon":"3ff62e42fefa39ef"' in policy.canonical_bytes()
    assert b"null" not in replace(policy, null_epsilon=None, null_weights=None, provenance={}).canonical_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"null_epsilon": None}, "null_weights = .*should be given together"),
        ({"null_weights": None}, "null_epsilon = .*should be given together"),
        ({"null_epsilon": 0.0}, "null_epsilon = 0.0: should be a finite number above 0"),
        ({"null_epsilon": inf}, "null_epsilon = inf"),
        ({"null_epsilon": "much"}, "null_epsilon = 'much'"),
        ({"null_weights": np.array([1, 2])}, r"sum of null_weights\[0\] = 3: should be 2\^53"),
        ({"null_weights": np.array([-1, (1 << 53) + 1])}, "null_weights"),
        ({"null_weights": np.array([1 << 53])}, "null_weights = .*2 a row"),
        ({"null_weights": np.array([[1, (1 << 53) - 1]])}, "null_weights = .*one whole number for each symbol"),
        ({"null_weights": np.array([0.5, 0.5])}, "null_weights"),
    ],
)
def test_a_row_without_an_epsilon_an_epsilon_without_a_row_and_bad_rows_are_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(cv.InputError, match=message):
        replace(protected(), **changes)  # type: ignore[arg-type]


def test_a_completion_says_what_null_draws_if_and_only_if_null_is_protected() -> None:
    policy = protected(completion="informative")
    refined = policy.completion
    assert refined is not None
    assert refined.null_row is not None
    for wrong in (None, len(refined.weights), -1):
        with pytest.raises(cv.InputError, match="null_row"):
            replace(policy, completion=Completion(refined.cells, refined.row, refined.weights, wrong))
    with pytest.raises(cv.InputError, match="null_row"):
        replace(policy, null_epsilon=None, null_weights=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"null_epsilon": 0.0}, "null_epsilon = 0.0: should be a finite number above 0"),
        ({"null_epsilon": float("nan")}, "null_epsilon = nan"),
        ({"null_epsilon": 1e-16}, "null_epsilon = 1e-16: is out of reach of 53-bit weights"),
        ({"null_share": 1.5}, "null_share = 1.5: should be a share from 0 to 1"),
        ({"null_share": float("nan")}, "null_share = nan"),
        ({"null_epsilon": None}, "null_share = 0.3: applies only where NULL is protected"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(cv.InputError, match=message):
        protected(**changes)  # type: ignore[arg-type]


def test_a_policy_that_says_null_in_the_clear_has_no_table_for_it() -> None:
    clear = cv.optimal_policy(AREA, None, [0], epsilon_per_km=1.0, beta=0.1)
    assert clear.null_hit == 0.0
    with pytest.raises(cv.InputError, match="no row for NULL"):
        clear.null_table()
