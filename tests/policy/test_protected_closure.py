"""Being outside and grades as inputs: least policies, optima, whole numbers, files."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import replace
from functools import partial
from math import inf, log

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.policy.policy import Completion
from crowdveil.policy.solver import closure as closure_module
from crowdveil.policy.solver.cutting_planes import Optimum, solve
from crowdveil.policy.solver.grade_symbols import split_rest
from crowdveil.policy.solver.protected_closure import ProtectedClosure, Protection
from crowdveil.prior import target_chances
from crowdveil.vocabulary import NULL
from tests.instances import Instance, instances, make_instance
from tests.reference.linear_programs import reduced_dual_bound, reduced_program
from tests.reference.slow_closure import slow_closure

AREA = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0], [0, 1]])
LOSSES = st.sampled_from([0.05, log(2), log(4), log(64), 8.0])


def all_distances(instance: Instance, protection: Protection) -> FloatArray:
    """D of all inputs as it is promised: min(ε d + ε₁ |Δg|, 2 ε₀) between cells at grades, ε₀ to NULL, the last."""
    n, grades = len(instance.area), protection.grades
    steps = np.abs(np.subtract.outer(np.arange(grades), np.arange(grades))) * (protection.grade_epsilon or 0.0)
    cells = (steps[:, None, :, None] + instance.D[None, :, None, :]).reshape(n * grades, n * grades)
    D = np.full((n * grades + 1, n * grades + 1), protection.null_epsilon)
    D[:-1, :-1] = np.minimum(cells, 2 * protection.null_epsilon)
    D[-1, -1] = 0.0
    return D


def people(instance: Instance, protection: Protection, null_share: float, seed: int) -> FloatArray:
    """The prior of all inputs: as many occasional visitors as regular ones, elsewhere."""
    generator = np.random.default_rng(seed)
    grades = [instance.prior, *generator.dirichlet(np.ones(len(instance.area)), protection.grades - 1)]
    return np.append((1 - null_share) * np.concatenate(grades) / protection.grades, null_share)


def joint(instance: Instance, seed: int) -> FloatArray:
    return people(instance, Protection(1.0, 1.0, 2), 0.0, seed)[:-1].reshape(2, -1)


def optimum(instance: Instance, inputs: FloatArray, protection: Protection) -> Optimum:
    return solve(
        instance.area,
        inputs,
        tuple(instance.targets),
        instance.epsilon_per_km,
        instance.beta,
        protection=protection,
    )


def protected(null_epsilon: float | None = log(4), null_share: float = 0.3, **changes: object) -> cv.Policy:
    options: dict[str, object] = {"epsilon_per_km": 1.0, "beta": 0.1, **changes}
    prior = options.pop("prior", [0.25, 0.25, 0.5, 0.0])
    return cv.optimal_policy(AREA, prior, [0, 3], null_epsilon=null_epsilon, null_share=null_share, **options)  # type: ignore[arg-type]


def graded(**changes: object) -> cv.Policy:
    return protected(**{"prior": [[0.2, 0.1, 0.2, 0.0], [0.1, 0.1, 0.2, 0.1]], "grade_epsilon": log(8), **changes})  # type: ignore[arg-type]


# --- least policies and optima --------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=100)
@given(instances(most_cells=20), LOSSES, LOSSES, st.integers(1, 3), st.integers(0, 1000))
def test_the_least_policy_is_the_least_fixpoint_of_all_hops(
    instance: Instance, null_epsilon: float, grade_epsilon: float, grades: int, seed: int
) -> None:
    scores = np.random.default_rng(seed).uniform(-4, 6, len(instance.targets))
    chances = np.where(scores < 0, np.exp(scores) / 2, 1 - np.exp(-scores) / 2)
    protection = Protection(null_epsilon, None if grades == 1 else grade_epsilon, grades)
    pieces = ProtectedClosure(instance.area, instance.targets, instance.epsilon_per_km, protection)(scores)
    expected = slow_closure(all_distances(instance, protection), instance.targets, chances.tolist())
    assert np.exp(pieces.log_hit).tolist() == pytest.approx(expected.tolist(), rel=1e-9)
    along = 1 - (1 - chances[pieces.target]) * np.exp(pieces.steep)
    assert (along * np.exp(-pieces.flat)).tolist() == pytest.approx(expected.tolist(), rel=1e-9)


def test_a_saturated_target_raises_lower_grades_by_a_steep_hop() -> None:
    """At x = 1 - 1e-4 and ε₁ = ln 8 a lower grade has 1 - 8e-4, not an eighth; its own neighbours follow from there."""
    area = cv.Area.from_points_km([[0, 0], [1, 0]])
    pieces = ProtectedClosure(area, [0], 1.0, Protection(20.0, log(8), 3))(np.array([-log(2e-4)]))
    hit = np.exp(pieces.log_hit)
    assert hit[[0, 2, 4]].tolist() == pytest.approx([1 - 1e-4, 1 - 8e-4, 1 - 64e-4], rel=1e-12)
    assert hit[[1, 3, 5]].tolist() == pytest.approx((1 - np.array([1, 8, 64]) * np.e * 1e-4).tolist(), rel=1e-12)


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 60))])
def test_the_optimum_is_that_of_a_plain_linear_program_over_all_inputs(seed: int) -> None:
    generator = np.random.default_rng(seed)
    cells, z = int(generator.integers(3, 13)), int(generator.integers(1, 4))
    losses = [0.1, log(2), log(4), log(16), log(64)]
    grades = 1 if seed % 5 == 4 else 2
    protection = Protection(
        float(generator.choice(losses)), None if grades == 1 else float(generator.choice(losses)), grades
    )
    instance = make_instance(
        "points",
        cells,
        z,
        float(generator.choice([0.3, 1.0, 3.0])),
        float(generator.choice([0.02, 0.1, 0.4, 0.8])),
        seed,
    )
    inputs = people(instance, protection, float(generator.choice([0.0, 0.3, 0.7])), seed)
    found = optimum(instance, inputs, protection)
    bound = reduced_dual_bound(all_distances(instance, protection), inputs, instance.targets, instance.beta)
    assert found.value == pytest.approx(bound, rel=1e-7, abs=1e-12)
    assert found.value <= found.upper_bound <= found.value * (1 + 1e-9)
    assert inputs @ np.exp(found.log_hit) == pytest.approx(instance.beta, rel=1e-12)


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(10, 60))])
def test_expected_visits_are_those_of_a_plain_linear_program_over_all_inputs(seed: int) -> None:
    generator = np.random.default_rng([9, seed])
    grades = int(generator.integers(2, 4))
    outside, between = generator.choice([0.3, log(4), log(64)], 2).tolist()
    protection = Protection(outside, between, grades)
    instance = make_instance("points", int(generator.integers(3, 9)), int(generator.integers(1, 4)), 1.0, 0.1, seed)
    instance = replace(instance, beta=float(generator.choice([0.02, 0.1, 0.4, 0.8])))
    inputs = people(instance, protection, float(generator.choice([0.0, 0.3, 0.7])), seed)
    chances = tuple(np.sort(generator.random(grades))[::-1].tolist())
    targets = tuple(instance.targets)
    found = solve(
        instance.area,
        inputs,
        targets,
        instance.epsilon_per_km,
        instance.beta,
        protection=protection,
        grade_chances=chances,
    )
    n = len(instance.area)
    worth = np.zeros(len(inputs))
    for grade, chance in enumerate(chances):
        worth[[grade * n + t for t in targets]] = chance
    program = reduced_program(all_distances(instance, protection), inputs, list(targets), instance.beta)
    answer = replace(program, objective=-inputs * worth / instance.beta).solve("highs-ds", 1e-10)
    assert answer.status == 0, answer.message
    bound = -float(answer.fun)
    assert found.value == pytest.approx(bound, rel=1e-6)
    assert found.value <= found.upper_bound <= found.value * (1 + 1e-9)
    assert (inputs * worth) @ np.exp(found.log_hit) == pytest.approx(found.value * instance.beta, rel=1e-9)


def test_few_regular_visitors_are_joined_by_the_likeliest_occasional_ones() -> None:
    prior = np.array([[0.02, 0.28, 0.1, 0.1], [0.3, 0.05, 0.05, 0.1]])
    asked = partial(
        cv.optimal_policy,
        AREA,
        prior,
        [0],
        epsilon_per_km=log(4),
        beta=0.2,
        null_epsilon=log(64),
        grade_epsilon=log(64),
    )
    regular, visits = asked(), asked(grade_chances=(0.8, 0.4))
    assert visits.hit[4] > 3 * regular.hit[4]  # occasional visitors of the target
    assert visits.hit[1] < regular.hit[1]  # regular visitors of its neighbour
    assert visits.value == pytest.approx(visits.value_under(prior, grade_chances=(0.8, 0.4)), rel=1e-9)
    assert visits.value > 1.2 * regular.value_under(prior, grade_chances=(0.8, 0.4))
    assert visits.provenance["grade_chances"] == "0.8 0.4"
    cv.certify(visits)
    chances = target_chances(prior, visits, grade_chances=(0.8, 0.4))
    assert chances[0] == pytest.approx(visits.value, rel=1e-9)


@pytest.mark.parametrize("loss", [0.1, log(64)])
@pytest.mark.parametrize("beta", [0.05, 0.9])
def test_three_grades_reach_the_optimum_of_the_linear_program_too(loss: float, beta: float) -> None:
    instance = make_instance("points", 7, 2, 1.0, beta, 4)
    protection = Protection(log(16), loss, 3)
    inputs = people(instance, protection, 0.2, 4)
    found = optimum(instance, inputs, protection)
    bound = reduced_dual_bound(all_distances(instance, protection), inputs, instance.targets, beta)
    assert found.value == pytest.approx(bound, rel=1e-7)


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


def test_grades_cost_less_than_outside_alone_and_nothing_where_all_are_regular() -> None:
    """Who has no frequent place was still seen somewhere: to grade them selects better than to call them NULL."""
    instance = make_instance("grid", 100, 1, log(4), 0.05, 1)
    both = joint(instance, 1)
    options = {"epsilon_per_km": log(4), "beta": 0.05, "null_epsilon": log(64)}
    cells = instance.targets
    alone = cv.optimal_policy(instance.area, instance.prior, cells, null_share=0.5, **options)  # type: ignore[arg-type]
    values = [
        cv.optimal_policy(instance.area, both, cells, grade_epsilon=loss, **options).value  # type: ignore[arg-type]
        for loss in (0.1, log(4), log(16), log(64))
    ]
    assert values == sorted(values)
    assert values[-1] > 1.05 * alone.value
    regular = np.stack([instance.prior, np.zeros(len(instance.area))])
    same = cv.optimal_policy(instance.area, regular, cells, grade_epsilon=log(64), **options)  # type: ignore[arg-type]
    none = cv.optimal_policy(instance.area, instance.prior, cells, **options)  # type: ignore[arg-type]
    assert same.value == pytest.approx(none.value, rel=1e-6)


losses = st.floats(log(0.05), log(40.0)).map(lambda x: float(np.exp(x)))


@settings(deadline=None, derandomize=True, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(
    instances(most_cells=25),
    losses,
    st.one_of(st.none(), losses),
    st.sampled_from([0.001, 0.02, 0.1, 0.5, 0.9, 0.999]),
    st.sampled_from([0.0, 0.2, 0.9]),
    st.sampled_from(["equal", "informative"]),
    st.sampled_from([53, 62]),
)
def test_whole_numbers_keep_every_promise_and_the_quota(
    instance: Instance,
    null_epsilon: float,
    grade_epsilon: float | None,
    beta: float,
    null_share: float,
    completion: str,
    bits: int,
) -> None:
    prior = instance.prior if grade_epsilon is None else joint(instance, 7)
    policy = cv.optimal_policy(
        instance.area,
        prior,
        instance.targets,
        epsilon_per_km=instance.epsilon_per_km,
        beta=beta,
        completion=completion,
        bits=bits,
        null_epsilon=null_epsilon,
        null_share=null_share,
        grade_epsilon=grade_epsilon,
    )
    certificate = cv.certify(policy)
    assert certificate.ok, certificate.explain()
    table = policy.table()
    assert table.sum(axis=1) == pytest.approx(1)
    protection = Protection(null_epsilon, grade_epsilon, policy.grades)
    with np.errstate(divide="ignore"):
        logs = np.log(table)
    loss = np.abs(logs[:, None, :] - logs[None, :, :]).max(axis=2)
    assert (loss <= all_distances(instance, protection) * (1 + 1e-9) + 1e-11).all()
    assert policy.beta == pytest.approx(beta, rel=1e-6)
    assert policy.value == pytest.approx(policy.value_under(prior, null_share), rel=1e-12)
    assert policy.provenance["null_share"] == repr(null_share)
    assert float(policy.provenance["gap"]) < 1e-5


@pytest.mark.parametrize(
    ("null_epsilon", "grade_epsilon"), [(1e-6, None), (300.0, None), (1e-6, 1e-6), (1e-6, 300.0), (300.0, 300.0)]
)
@pytest.mark.parametrize("completion", ["equal", "informative"])
def test_extreme_losses_can_be_asked_for(null_epsilon: float, grade_epsilon: float | None, completion: str) -> None:
    prior = None if grade_epsilon is None else np.full((2, 4), 1 / 8)
    policy = protected(null_epsilon, prior=prior, grade_epsilon=grade_epsilon, completion=completion)
    assert cv.certify(policy).ok
    assert policy.weights.min() > 1 << 20


@pytest.mark.parametrize("grades", [1, 2, 3, 5])
@pytest.mark.parametrize("losses", [(0.05, 0.05), (log(64), log(64)), (log(64), 0.3), (0.3, log(64)), (40.0, 40.0)])
def test_what_is_left_after_a_hit_is_split_privately_for_any_number_of_grades(
    grades: int, losses: tuple[float, float]
) -> None:
    """From hits that fall as steeply as they may: every symbol keeps ε₀ to NULL and ε₁ from grade to grade."""
    protection = Protection(losses[0], losses[1] if grades > 1 else None, grades)
    for top in (0.001, 0.5, 0.999):
        pieces = ProtectedClosure(AREA, [0], 1.0, protection)(
            np.array([log(2 * top) if top < 0.5 else -log(2 - 2 * top)])
        )
        hit = np.rint(np.exp(pieces.log_hit) * (1 - 1e-6) * 2.0**53 + 1e-6 * 0.3 * 2.0**53).astype(np.int64)
        weights = np.column_stack([hit, split_rest(AREA, hit, 1.0, protection, 53)])
        assert (weights.sum(axis=1) == 1 << 53).all()
        logs = np.log(weights)
        assert np.abs(logs[:-1] - logs[-1]).max() <= losses[0] * (1 + 1e-12)
        if grades > 1:
            by_grade = logs[:-1].reshape(grades, len(AREA), -1)
            assert np.abs(np.diff(by_grade, axis=0)).max() <= losses[1] * (1 + 1e-12)


def test_what_is_left_says_how_regular_and_whether_outside_as_clearly_as_it_may() -> None:
    table = graded(null_epsilon=log(64), grade_epsilon=log(64), beta=0.01).table()
    assert table[-1, 1] == pytest.approx(1 / 3, abs=0.02)
    assert (table[:-1, 1] < 1 / 60).all()
    # From one grade to the next a symbol's chance may change by 64 in all: by about 8 each way.
    assert (table[:4, 2] / table[:4, 3] > 7).all()
    assert (table[4:8, 3] / table[4:8, 2] > 7).all()


@pytest.mark.parametrize("protection", [Protection(log(16)), Protection(log(64), log(16), 2)])
def test_large_areas_take_the_same_way(monkeypatch: pytest.MonkeyPatch, protection: Protection) -> None:
    instance = make_instance("grid", 400, 4, 1.0, 0.05, 3)
    inputs = people(instance, protection, 0.4, 3)
    dense = optimum(instance, inputs, protection)
    monkeypatch.setattr(closure_module, "DENSE_CELLS", 10)
    monkeypatch.setattr("crowdveil.policy.solver.cutting_planes.COARSE_CELLS", 100)
    assert optimum(instance, inputs, protection).value == pytest.approx(dense.value, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("grades", [1, 2])
def test_cells_that_share_a_variable_leave_the_proven_optimum_as_it_is(seed: int, grades: int) -> None:
    """Many cells lie on the floor: bounds still meet, where each cell alone would need a variable of its own."""
    instance = make_instance("grid", 400, 6, 1.5, 0.05, seed)
    protection = Protection(log(8), log(8) if grades == 2 else None, grades)
    found = optimum(instance, people(instance, protection, 0.3, seed), protection)
    floor = np.exp(found.log_hit[:-1]).min()
    assert (np.exp(found.log_hit[:-1]) <= floor * (1 + 1e-12)).sum() > 100
    assert found.value <= found.upper_bound <= found.value * (1 + 1e-9)
    assert found.rounds < 30


# --- as a value -----------------------------------------------------------------------------------------------


FORMS = ["outside", "outside/informative", "grades", "grades/informative"]


def form(name: str) -> cv.Policy:
    completion = "informative" if name.endswith("informative") else "equal"
    return (graded if name.startswith("grades") else protected)(completion=completion)


@pytest.mark.parametrize("name", FORMS)
def test_a_protected_policy_travels_in_both_forms(name: str) -> None:
    policy = form(name)
    for back in (cv.Policy.from_bytes(policy.to_bytes()), cv.Policy.from_json(policy.to_json())):
        assert back == policy
        assert (back.null_epsilon, back.grade_epsilon, back.grades) == (
            policy.null_epsilon,
            policy.grade_epsilon,
            policy.grades,
        )
        assert back.weights.tolist() == policy.weights.tolist()
        assert back.table().tolist() == policy.table().tolist()
        assert cv.certify(back).ok
    assert "ε₀=1.386" in repr(policy)
    assert ("2 grades at ε₁=2.079" in repr(policy)) == name.startswith("grades")


def test_inputs_and_symbols_are_numbered_as_documented() -> None:
    policy = graded(completion="informative")
    assert policy.weights.shape == (9, 4)
    assert policy.symbols == ("hit", "outside", "grade 1", "grade 2")
    assert [policy.input_of(cell, grade) for grade in (0, 1) for cell in range(4)] == list(range(8))
    assert policy.input_of(NULL) == policy.input_of(NULL, 1) == 8
    refined = policy.completion
    assert refined is not None
    assert refined.row.shape == (9,)
    assert refined.row[:4].tolist() == refined.row[4:8].tolist()
    width = len(refined.cells)
    assert policy.symbol_count == 2 + 2 * width
    for grade in (0, 1):
        for position, cell in enumerate(refined.cells):
            assert policy.symbol_name(2 + grade * width + position) == f"cell {cell}, grade {grade + 1}"
    table = policy.table()
    for cell, grade in ((0, 0), (3, 1), (NULL, 0)):
        row = policy.input_of(cell, grade)
        assert policy.probabilities(cell, grade).tolist() == table[row].tolist()
        second = refined.weights[refined.row[row]] / policy.total
        first = policy.weights[row] / policy.total
        assert table[row].tolist() == [first[0], first[1], *(first[2] * second), *(first[3] * second)]
    assert policy.hit.tolist() == (policy.weights[:, 0] / policy.total).tolist()
    alone = protected(completion="informative")
    assert alone.symbols == ("hit", "outside", "other")
    assert alone.symbol_name(2) == f"cell {alone.completion.cells[0]}"  # type: ignore[union-attr]
    assert graded().symbol_name(3) == "grade 2"


def test_every_row_and_every_loss_is_part_of_the_hash() -> None:
    policy = graded()
    hashes = {policy.hash}
    for row in range(9):
        moved = policy.weights.copy()
        moved[row, [1, 2]] += (1, -1)
        hashes.add(replace(policy, weights=moved).hash)
    hashes |= {replace(policy, null_epsilon=1.0).hash, replace(policy, grade_epsilon=1.0).hash}
    assert len(hashes) == 12
    for field in ("null_epsilon", "grade_epsilon"):
        document = json.loads(policy.to_json())
        document[field] += 0.01
        with pytest.raises(cv.FileFormatError, match="the file was altered"):
            cv.Policy.from_json(json.dumps(document))


def test_the_losses_and_rows_are_laid_out_as_documented() -> None:
    policy = protected()
    width = policy.bits // 8 + 1
    last = b"".join(int(weight).to_bytes(width, "big") for weight in policy.weights[-1, :-1].tolist())
    assert policy.canonical_bytes().endswith(last)
    assert b'"null_epsilon":"3ff62e42fefa39ef"' in policy.canonical_bytes()
    assert b"grade" not in policy.canonical_bytes()
    header = graded().canonical_bytes()
    assert b'"grade_epsilon":"4000a2b23f3bab73"' in header
    assert b'"grades":2' in header
    clear = protected(null_epsilon=None, null_share=0.0).canonical_bytes()
    assert b"null_epsilon" not in clear
    assert b"grade" not in clear


def test_the_hash_of_a_policy_written_by_hand_stays_what_it_is() -> None:
    """Both languages compute this hash; it changes only if the canonical form does."""
    total = 1 << 24
    rows = [[total // 8 >> row, total // 4, total // 8] for row in range(9)]
    weights = np.array([[*row, total - sum(row)] for row in rows])
    completion = Completion(
        (1, 2), np.array([0, 1, 0, 1, 0, 1, 0, 1, 0]), np.array([[total // 4, total - total // 4], [total // 2] * 2])
    )
    policy = cv.Policy(
        AREA,
        1.0,
        (0, 3),
        weights,
        ("hit", "outside", "grade 1", "grade 2"),
        bits=24,
        completion=completion,
        null_epsilon=6.0,
        grade_epsilon=5.5,
        grades=2,
    )
    assert policy.hash == "b4fcf90322bc2edf80b6bceaa53de7e081e8d58c31e6d7e78e272a12d2d852f1"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"null_epsilon": None}, "grade_epsilon = .*should be given only together with null_epsilon"),
        ({"grade_epsilon": None}, "grades = 2: should be 2 or more if and only if grade_epsilon is given"),
        ({"grades": 1}, "grades = 1: should be 2 or more if and only if grade_epsilon is given"),
        ({"grades": 3}, "weights = '9 rows': should have 13 rows"),
        ({"grades": 0}, "grades = 0"),
        ({"grades": 9}, "grades = 9"),
        ({"grades": True}, "grades = True"),
        ({"null_epsilon": 0.0}, "null_epsilon = 0.0: should be a finite number above 0"),
        ({"null_epsilon": inf}, "null_epsilon = inf"),
        ({"null_epsilon": "much"}, "null_epsilon = 'much'"),
        ({"grade_epsilon": 0.0}, "grade_epsilon = 0.0: should be a finite number above 0"),
        ({"grade_epsilon": float("nan")}, "grade_epsilon = nan"),
        ({"weights": np.full((8, 4), 1 << 51)}, "weights = '8 rows': should have 9 rows"),
        ({"weights": np.full((10, 4), 1 << 51)}, "weights = '10 rows'"),
        ({"weights": np.full((9, 4), 1 << 50)}, r"sum of weights\[0\] = .*should be 2\^53"),
        ({"weights": np.full((9, 3), 1 << 51)}, "weights = .*4 a row"),
    ],
)
def test_losses_grades_and_rows_that_do_not_fit_together_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises((cv.InputError, cv.FileFormatError), match=message):
        replace(graded(), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grades": 3}, "weights = '9 rows': should have 13 rows"),
        ({"grades": 1}, "grades = 1: should be 2 or more if and only if"),
        ({"grades": "2"}, "grades = '2'"),
        ({"grades": 2.0}, "grades = 2.0"),
        ({"grades": True}, "grades = True"),
        ({"grades": -1}, "grades = -1"),
        ({"grades": 10**9}, "grades = 1000000000"),
        ({"grades": None}, "grades = 1: should be 2 or more|grades = None"),
        ({"grade_epsilon": "4000a2b23f3bab73"}, "grade_epsilon = '4000a2b23f3bab73': should be a number"),
        ({"grade_epsilon": -1.0}, "grade_epsilon = -1.0"),
        ({"grade_epsilon": True}, "grade_epsilon = True: should be a number"),
        ({"null_epsilon": 0}, "null_epsilon = 0"),
        ({"null_weights": [1]}, "unknown field 'null_weights'"),
        ({"grade": 1}, "unknown field 'grade'"),
    ],
)
def test_files_with_wrong_fields_about_grades_are_refused(changes: dict[str, object], message: str) -> None:
    document = json.loads(graded().to_json())
    with pytest.raises((cv.InputError, cv.FileFormatError), match=message):
        cv.Policy.from_json(json.dumps({**document, **changes}))


@pytest.mark.parametrize("missing", ["grades", "grade_epsilon", "null_epsilon"])
def test_files_without_a_field_about_protection_are_refused(missing: str) -> None:
    document = json.loads(graded().to_json())
    del document[missing]
    with pytest.raises((cv.InputError, cv.FileFormatError)):
        cv.Policy.from_json(json.dumps(document))


@pytest.mark.parametrize(
    "change", [(b'"grades":2', b'"grades":3'), (b'"grades":2', b'"grades":1'), (b'"grades":2,', b"")]
)
def test_compact_files_with_wrong_grades_are_refused(change: tuple[bytes, bytes]) -> None:
    canonical = graded().canonical_bytes()
    size = int.from_bytes(canonical[:8], "big")
    header = canonical[8 : 8 + size].replace(*change)
    forged = len(header).to_bytes(8, "big") + header + canonical[8 + size :]
    digest = hashlib.sha256(forged).digest()
    with pytest.raises((cv.InputError, cv.FileFormatError)):
        cv.Policy.from_bytes(b"crowdveil-policy-1\n" + digest + zlib.compress(forged))


def test_a_completion_says_what_every_input_draws_and_selects_nobody() -> None:
    policy = graded(completion="informative")
    refined = policy.completion
    assert refined is not None
    for rows in (refined.row[:-1], refined.row[:4], np.append(refined.row, 0)):
        with pytest.raises(cv.InputError, match=r"completion\.row = .*one entry for each of 9 inputs"):
            replace(policy, completion=Completion(refined.cells, rows, refined.weights))
    for selecting in ((2,), (0, 3)):
        with pytest.raises(cv.InputError, match=r"selecting = .*should not contain the last symbols"):
            replace(policy, selecting=selecting)


@pytest.mark.parametrize(("cell", "grade"), [(4, 0), (-2, 0), (0, 2), (0, -1), (0, True), (0, 0.0), (0, "1")])
def test_inputs_that_do_not_exist_are_refused(cell: int, grade: object) -> None:
    with pytest.raises(cv.InputError, match=r"^(cell|grade) = "):
        graded().input_of(cell, grade)  # type: ignore[arg-type]


def test_a_clear_policy_has_no_input_for_being_outside() -> None:
    clear = cv.optimal_policy(AREA, None, [0], epsilon_per_km=1.0, beta=0.1)
    assert clear.input_count == 4
    with pytest.raises(cv.InputError, match="cell = -1"):
        clear.input_of(NULL)
    with pytest.raises(cv.InputError, match="grade = 1: should be a whole number from 0 to 0"):
        clear.input_of(0, 1)
    with pytest.raises(cv.InputError, match="NULL is sent in the clear"):
        clear.value_under(None, 0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"null_epsilon": 0.0}, "null_epsilon = 0.0: should be a finite number above 0"),
        ({"null_epsilon": float("nan")}, "null_epsilon = nan"),
        ({"null_epsilon": 1e-16}, "null_epsilon .*= 1e-16: is out of reach of 53-bit weights"),
        ({"null_share": 1.5}, "null_share = 1.5: should be a share from 0 to 1"),
        ({"null_share": float("nan")}, "null_share = nan"),
        ({"null_epsilon": None}, "null_share = 0.3: applies only where NULL is protected"),
        ({"null_epsilon": None, "null_share": 0.0}, "grade_epsilon = .*applies only where NULL is protected"),
        ({"grade_epsilon": 0.0}, "grade_epsilon = 0.0: should be a finite number above 0"),
        ({"grade_epsilon": 1e-16}, "grade_epsilon = 1e-16: is out of reach"),
        ({"prior": [0.25, 0.25, 0.5, 0.0]}, r"prior = 'shape \(4,\)': should have the shape \(2, 4\)"),
        ({"prior": [[0.25, 0.25, 0.5, -0.1], [0.1, 0, 0, 0]]}, r"prior\[0, 3\] = -0.1: should not be negative"),
        ({"prior": np.full((3, 4), 1 / 12)}, r"prior = 'shape \(3, 4\)'"),
        ({"grade_chances": (0.8,)}, "grade_chances = '1 numbers': should have one number for each of two or more"),
        ({"grade_chances": (0.4, 0.8)}, "grade_chances = .*none above the one before it"),
        ({"grade_chances": (1.1, 0.8)}, "grade_chances = .*should be chances from 0 to 1"),
        ({"grade_chances": (0.8, -0.1)}, "grade_chances = .*should be chances from 0 to 1"),
        ({"grade_chances": (0.0, 0.0)}, "grade_chances = .*the first above 0"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(cv.InputError, match=message):
        graded(**changes)
