from __future__ import annotations

from math import inf, log

import numpy as np
import pytest

from crowdveil.area import Area
from crowdveil.certify import certify, certify_table, smallest_epsilon
from crowdveil.certify.certificate import Certificate, ProtectionFinding, ProtectionWitness, Witness
from crowdveil.policy.policy import Completion, Policy
from tests.certify.good_policies import completed, good_policy, good_weights, square, two_symbols

EPSILON = log(4)
TOTAL = 2**53


@pytest.fixture(scope="module")
def policy() -> Policy:
    return good_policy(square(12), [40, 77, 130], [0.5, -0.3, 1.0], EPSILON)


def test_a_good_policy_is_private_at_its_own_epsilon_and_not_at_99_percent_of_it(policy: Policy) -> None:
    assert certify(policy).ok
    assert not certify(policy, epsilon_per_km=0.99 * EPSILON).ok


def test_the_smallest_epsilon_holds_and_a_millionth_less_does_not(policy: Policy) -> None:
    for subject in (policy, completed(policy)):
        least = smallest_epsilon(subject)
        assert certify(subject, epsilon_per_km=least).ok
        assert not certify(subject, epsilon_per_km=least * 0.999999).ok
        assert not certify(subject, epsilon_per_km=least * (1 - 1e-11)).ok


def test_the_smallest_epsilon_does_not_depend_on_the_claim(policy: Policy) -> None:
    least = smallest_epsilon(policy)
    for claim in (0.1, EPSILON, 50.0):
        assert certify(policy, epsilon_per_km=claim).smallest_epsilon_per_km == pytest.approx(least, rel=1e-12)


def test_the_certificate_names_the_policy_the_claim_and_the_work_done(policy: Policy) -> None:
    certificate = certify(policy)
    assert certificate.policy_hash == policy.hash
    assert certificate.epsilon_per_km == policy.epsilon_per_km
    assert certificate.inequalities == 144 * 143 * 2
    assert 0 < certificate.pairs_opened < certificate.inequalities


def test_the_witness_of_a_violation_names_both_cells_the_symbol_and_the_excess() -> None:
    hit = good_weights(square(12), [40], [0.0], EPSILON)
    hit[17] *= 20
    certificate = certify(two_symbols(square(12), hit, EPSILON))
    worst = certificate.witness
    assert worst is not None
    assert not certificate.ok
    assert (worst.cell, worst.symbol, worst.symbol_name) == (17, 0, "hit")
    assert worst.distance_km == square(12).distance_km(worst.cell, worst.other)
    assert worst.log_ratio == pytest.approx(log(hit[17] / hit[worst.other]))
    assert worst.excess == pytest.approx(worst.log_ratio - EPSILON * worst.distance_km)
    assert worst.log_ratio / worst.distance_km == pytest.approx(certificate.smallest_epsilon_per_km, rel=1e-12)


def test_the_witness_of_a_good_policy_has_a_negative_excess(policy: Policy) -> None:
    worst = certify(policy).witness
    assert worst is not None
    assert worst.excess < 0


def test_the_explanation_says_what_where_by_how_much_and_what_next(policy: Policy) -> None:
    assert str(certify(policy)).startswith("Private at ε = 1.386")
    refused = certify(policy, epsilon_per_km=1.0)
    worst = refused.witness
    assert worst is not None
    for part in (
        "NOT private at ε = 1 per km",
        f"cells {worst.cell} and {worst.other}",
        "excess",
        "claim ε = ",
    ):
        assert part in refused.explain()
    assert refused.smallest_shown in str(refused)


def test_the_smallest_epsilon_in_words_holds_and_is_not_above_what_was_claimed(policy: Policy) -> None:
    least = smallest_epsilon(policy)
    for claim in (1.0, least, float(np.nextafter(least, 2)), EPSILON, 50.0):
        certificate = certify(policy, epsilon_per_km=claim)
        shown = float(certificate.smallest_shown)
        assert shown >= certificate.smallest_epsilon_per_km
        assert shown == pytest.approx(least, rel=1e-8)
        assert certify(policy, epsilon_per_km=shown).ok
        assert shown <= claim or not certificate.ok


def test_equal_rows_have_a_smallest_epsilon_of_0_and_no_witness() -> None:
    certificate = certify(two_symbols(square(4), np.full(16, 12345, dtype=np.int64), EPSILON))
    assert certificate.ok
    assert certificate.smallest_epsilon_per_km == 0.0
    assert certificate.witness is None
    assert "equally often" in str(certificate)


def test_rows_that_differ_by_one_unit_have_a_tiny_smallest_epsilon() -> None:
    hit = np.full(400, 2**52, dtype=np.int64)
    hit[210] += 1
    certificate = certify(two_symbols(square(20), hit, EPSILON))
    assert certificate.smallest_epsilon_per_km == pytest.approx(2.0**-52, rel=1e-12, abs=0)
    assert certificate.witness is not None
    assert 210 in (certificate.witness.cell, certificate.witness.other)


def test_the_identity_is_private_at_no_epsilon() -> None:
    for table in (np.eye(9), np.eye(9, dtype=np.int64)):
        certificate = certify_table(square(3), table, 1000.0)
        assert not certificate.ok
        assert certificate.smallest_epsilon_per_km == inf
        assert certificate.witness is not None
        assert certificate.witness.excess == certificate.witness.log_ratio == inf
        assert table[certificate.witness.cell, certificate.witness.symbol] == 1
        assert table[certificate.witness.other, certificate.witness.symbol] == 0
        assert "No ε makes it private" in str(certificate)


def test_a_symbol_that_nobody_sends_does_no_harm() -> None:
    table = np.zeros((9, 4), dtype=np.int64)
    table[:, 1] = 3
    table[:, 2] = 5
    assert certify_table(square(3), table, 0.1).smallest_epsilon_per_km == 0
    table[4, 1:3] = 4
    certificate = certify_table(square(3), table, 0.1)
    assert certificate.smallest_epsilon_per_km == pytest.approx(log(4 / 3), rel=1e-12)


def test_a_single_zero_in_a_large_area_is_found() -> None:
    hit = np.full(10_000, 2**40, dtype=np.int64)
    hit[8_765] = 0
    certificate = certify(two_symbols(square(100), hit, EPSILON))
    assert certificate.smallest_epsilon_per_km == inf
    assert certificate.witness is not None
    assert certificate.witness.other == 8_765


def test_a_zero_in_a_completion_is_found_and_named_after_its_cell() -> None:
    weights = np.full((4, 2), TOTAL // 2, dtype=np.int64)
    refined = np.array([[TOTAL // 4, 3 * (TOTAL // 4)], [0, TOTAL]], dtype=np.int64)
    completion = Completion((2, 3), np.array([0, 0, 1, 0]), refined)
    certificate = certify(Policy(square(2), EPSILON, (0,), weights, completion=completion))
    assert certificate.witness is not None
    assert certificate.witness.symbol_name == "cell 2"
    assert certificate.witness.other == 2
    assert certificate.smallest_epsilon_per_km == inf


def test_a_completion_of_a_symbol_that_nobody_sends_does_no_harm() -> None:
    weights = np.array([[TOTAL, 0]] * 4)
    completion = Completion((2, 3), np.array([0, 0, 1, 0]), np.array([[TOTAL, 0], [1, TOTAL - 1]]))
    certificate = certify(Policy(square(2), EPSILON, (0,), weights, completion=completion))
    assert certificate.ok
    assert certificate.smallest_epsilon_per_km == 0


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, 1e9, 1e300])
def test_extreme_claims_are_decided(policy: Policy, epsilon: float) -> None:
    assert certify(policy, epsilon_per_km=epsilon).ok == (epsilon > EPSILON)


def test_a_completion_can_break_what_its_first_stage_kept(policy: Policy) -> None:
    certificate = certify(completed(policy, share=3.0))
    assert not certificate.ok
    assert certificate.witness is not None
    assert certificate.witness.symbol_name.startswith("cell ")


def test_one_cell_has_nobody_to_be_told_apart_from() -> None:
    certificate = certify_table(Area.from_points_km([[0.0, 0.0]]), [[0.25, 0.75]], 1.0)
    assert certificate.ok
    assert certificate.smallest_epsilon_per_km == 0
    assert certificate.witness is None


def test_progress_grows_and_ends_at_the_total(policy: Policy) -> None:
    for subject in (policy, two_symbols(square(3), np.full(9, 7, dtype=np.int64), EPSILON)):
        told: list[tuple[int, int]] = []
        certify(subject, progress=lambda done, total, told=told: told.append((done, total)))  # type: ignore[misc]
        assert [done for done, _ in told] == sorted(done for done, _ in told)
        assert told[-1][0] == told[-1][1] > 0


def test_numbers_first_a_claim_between_the_bounds_is_decided_exactly() -> None:
    """Two cells 1 km apart and weights 4 : 1; the double `log(4)` is just below ln 4, the next one above."""
    area = Area.from_points_km([[0.0, 0.0], [1.0, 0.0]])
    table = np.array([[4, 16], [1, 19]])
    at, above = log(4), float(np.nextafter(log(4), 2))
    verdicts = [certify_table(area, table, claim) for claim in (at, above)]
    assert [verdict.ok for verdict in verdicts] == [False, True]
    assert all(verdict.exact_comparisons > 0 for verdict in verdicts)
    assert verdicts[0].witness is not None
    assert 0 < verdicts[0].witness.excess < 1e-15
    assert verdicts[1].smallest_epsilon_per_km == above


# --- what certificates say ------------------------------------------------------------------------------------


def said(witness: Witness | None, *, ok: bool, least: float, grade_count: int = 1) -> str:
    return Certificate(ok, 0.5, least, witness, "", 4, 2, 0, 0, ok, grade_count=grade_count).explain()


def test_a_certificate_says_where_and_by_how_much_in_these_words() -> None:
    pair = "The worst pair is cells 1 and 2"
    finite = Witness(1, 2, 0, "hit", 2.0, 1.5, 0.5)
    assert said(finite, ok=False, least=0.75) == (
        f"NOT private at ε = 0.5 per km. {pair}, 2 km apart: 1 sends 'hit' e^1.5 times as often as 2, e^1 times is "
        "allowed (excess 0.5 in the exponent). Do not report with it; claim ε = 0.75 per km, which holds, or have it "
        "made again."
    )
    assert said(Witness(1, 2, 0, "hit", 2.0, inf, inf), ok=False, least=inf) == (
        f"NOT private at ε = 0.5 per km. {pair}, 2 km apart: 1 sends 'hit' infinitely as often as 2, e^1 times is "
        "allowed. No ε makes it private, because some weights of that symbol are 0 and others are not: mix in a small "
        "constant, or do not use it."
    )
    assert said(Witness(1, 2, 0, "hit", 2.0, 0.5, -0.5, grade=1), ok=True, least=0.25, grade_count=2) == (
        f"Private at ε = 0.5 per km. {pair} at grade 2, 2 km apart: 1 sends 'hit' e^0.5 times as often as 2; the "
        "smallest ε that holds is 0.25 per km."
    )


def test_a_certificate_is_about_one_grade_and_a_witness_about_the_first_by_default() -> None:
    pair = Witness(1, 2, 0, "hit", 2.0, 0.5, -0.5)
    assert "cells 1 and 2 at grade 1, 2 km" in said(pair, ok=True, least=0.25, grade_count=2)
    assert Certificate(True, 0.5, 0.25, pair, "", 4, 2, 0, 0, True).inequalities == 4 * 3 * 2


WORST = "The worst ratio is that of cell 1, which sends 'hit'"


@pytest.mark.parametrize(
    ("log_ratio", "excess", "ok", "text"),
    [
        (
            1.5,
            -0.5,
            True,
            f"X is protected at ε₀ = 2. {WORST} e^1.5 times as often as outside; the smallest ε₀ that holds is 1.5.",
        ),
        (
            2.0,
            0.0,
            True,
            f"X is protected at ε₀ = 2. {WORST} e^2 times as often as outside; the smallest ε₀ that holds is 1.5.",
        ),
        (
            2.5,
            0.5,
            False,
            f"X is NOT protected at ε₀ = 2. {WORST} e^2.5 times as often as outside, e^2 times is allowed (excess 0.5 "
            "in the exponent). Do not report with it; have it made again.",
        ),
        (
            inf,
            inf,
            False,
            f"X is NOT protected at ε₀ = 2. {WORST} infinitely as often as outside, e^2 times is allowed. Do not "
            "report with it; have it made again.",
        ),
    ],
)
def test_a_finding_says_where_and_by_how_much_in_these_words(
    log_ratio: float, excess: float, ok: bool, text: str
) -> None:
    witness = ProtectionWitness(1, 4, "cell 1", "outside", 0, "hit", log_ratio, excess)
    assert ProtectionFinding(ok, 2.0, 1.5, witness, 0).explain("X", "ε₀") == text
    both = Certificate(
        ok, 0.5, 0.25, None, "", 4, 2, 0, 0, cells_ok=True, null=ProtectionFinding(ok, 2.0, 1.5, witness, 0)
    )
    assert str(both).startswith(
        "Private at ε = 0.5 per km: every cell sends every symbol equally often. Being outside is"
    )


def test_where_all_inputs_send_the_same_that_is_said() -> None:
    assert ProtectionFinding(True, 2.0, 0.0, None, 0).explain("X", "ε₀") == (
        "X is protected at ε₀ = 2. All inputs send every symbol equally often; the smallest ε₀ that holds is 0."
    )
