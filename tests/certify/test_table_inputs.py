from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crowdveil.certify import certify, certify_table
from crowdveil.errors import InputError
from tests.certify.good_policies import good_policy, square

AREA = square(2)
EVEN = [[0.5, 0.5]] * 4


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.5, 0.5]] * 3, r"table = \(3, 2\): should have 4 rows"),
        ([0.25] * 4, r"table = \(4,\): should have 4 rows"),
        (np.empty((4, 0)), r"table = \(4, 0\): .*columns"),
        ([[0.5, 0.5]] * 3 + [[np.nan, 1]], r"table\[3, 0\] = nan: should be a finite number"),
        ([[0.5, 0.5]] * 3 + [[1.5, -0.5]], r"table\[3, 1\] = -0.5: should not be negative"),
        ([[0.5, 0.5]] * 3 + [[0.5, 0.50001]], r"sum of table\[3\] = 1.00001: should be 1"),
        ([[5, 5]] * 3 + [[5, 6]], r"sum of table\[3\] = 11: .*row 0 has 10"),
        ([[0, 0]] * 4, r"sum of table\[0\] = 0: should be above 0"),
        ([[3, 7], [5, 6], [5, 6], [5, 6]], r"sum of table\[1\] = 11: .*row 0 has 10"),
        ([[0.5, 0.5], [1]], r"^table = .*: should have one row for each cell, all of the same length$"),
        ([[5, -5]] * 4, r"table\[0, 1\] = -5: should not be negative"),
        (np.full((4, 2), 2**63, dtype=np.uint64), r"table\[0, 0\] = .*: should be at most 2\^62$"),
        (np.full((4, 2), 0.5, dtype=np.longdouble), r"table = 'float128': entries should be whole"),
        ([["a", "b"]] * 4, r"table = '<U1': entries should be whole numbers or 64-bit floats"),
        ([[True, False]] * 4, r"table = 'bool': entries"),
        ([[0.5, 0.5]] * 3 + [[0.5, 0.5 + 1.05e-9]], r"sum of table\[3\] = 1.00000000105: should be 1"),
        (
            [[2**62, 2**62]] * 3 + [[2**62, 2**62 - 1]],
            r"sum of table\[3\] = 9223372036854775807: .* 9223372036854775808",
        ),
    ],
)
def test_a_table_that_cannot_be_checked_is_refused_with_the_reason(table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        certify_table(AREA, table, 1.0)


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "much"])
def test_a_claim_that_is_no_privacy_level_is_refused(epsilon: Any) -> None:
    with pytest.raises(InputError, match="epsilon_per_km"):
        certify_table(AREA, EVEN, epsilon)
    with pytest.raises(InputError, match="epsilon_per_km"):
        certify(good_policy(AREA, [0], [0.0], 1.0), epsilon_per_km=epsilon)


def test_rows_of_floats_may_miss_1_by_rounding() -> None:
    table = np.array([[0.1] * 10, [0.1 + 1e-11] * 10, [0.1] * 10, [0.1] * 10])
    assert certify_table(AREA, table, 1.0).smallest_epsilon_per_km == pytest.approx(1e-10, rel=1e-4, abs=0)


def test_row_sums_may_differ_from_1_by_a_billionth() -> None:
    assert certify_table(AREA, [[0.5, 0.5], [0.5, 0.5 + 0.95e-9], [0.5, 0.5 - 0.95e-9], [0.5, 0.5]], 1.0).ok


def test_weights_of_62_bits_are_told_apart_to_the_last() -> None:
    table = [[2**61, 2**61], [2**61 + 1, 2**61 - 1], [2**61, 2**61], [2**61, 2**61]]
    assert certify_table(AREA, table, 1.0).smallest_epsilon_per_km == pytest.approx(2.0**-61, rel=1e-12, abs=0)


def test_whole_numbers_of_any_width_are_weights() -> None:
    for kind in (np.uint8, np.int32, np.uint64):
        table = np.array([[1, 3], [2, 2], [1, 3], [1, 3]], dtype=kind)
        assert certify_table(AREA, table, 1.0).smallest_epsilon_per_km == pytest.approx(np.log(2), rel=1e-12)


def test_certifying_leaves_the_given_table_alone() -> None:
    table = np.array(EVEN)
    certify_table(AREA, table, 1.0)
    assert (table == 0.5).all()


def test_weights_of_exactly_two_to_the_62_are_accepted() -> None:
    assert certify_table(AREA, [[2**62, 2**62]] * 4, 1.0).ok
