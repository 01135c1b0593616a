"""Logarithms of weights are as exact as they are said to be: every error is bounded, against mpmath."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.certify import certify
from crowdveil.certify.columns import LOG_ERROR, Columns, log_quotient, relative_logs
from crowdveil.policy.policy import Completion, Policy
from tests.certify.good_policies import square

TOTAL = 2**53

whole = st.integers(1, 2**62)
nearly_equal = st.builds(lambda base, more: base + more, st.just(2**61), st.integers(0, 1000))
doubles = st.floats(5e-324, 1.0)
weights = st.one_of(*(st.lists(kind, min_size=2, max_size=6) for kind in (whole, nearly_equal, doubles)))


def name(symbol: int) -> str:
    return f"symbol {symbol}"


def ln(weight: float, other: float) -> Any:
    return mpmath.log(mpmath.mpf(weight) / mpmath.mpf(other))


@settings(max_examples=200, deadline=None)
@given(weights)
def test_logarithms_of_weights_are_right_to_the_error_that_the_search_allows_for(entries: list[Any]) -> None:
    column = np.array(entries)
    with mpmath.workdps(60):
        for weight, log in zip(entries, relative_logs(column), strict=True):
            truth = ln(weight, max(entries))
            assert abs(mpmath.mpf(float(log)) - truth) <= LOG_ERROR * abs(truth)
        for log, weight, other in zip(log_quotient(column, column[::-1]), entries, entries[::-1], strict=True):
            truth = ln(weight, other)
            assert abs(mpmath.mpf(float(log)) - truth) <= LOG_ERROR * abs(truth)


def test_weights_of_every_size_need_no_warning_to_be_compared() -> None:
    """A quotient of doubles may be too large for a double, and a weight may be 0; neither is a fault."""
    with np.errstate(all="raise", under="ignore"):
        assert log_quotient(np.array([1.0]), np.array([5e-324]))[0] == pytest.approx(1074 * np.log(2), rel=1e-15)
        assert relative_logs(np.array([0.5, 0.0, 0.125])).tolist() == [0.0, -np.inf, pytest.approx(-2 * np.log(2))]
        assert relative_logs(np.zeros(3)).tolist() == [-np.inf] * 3


def refined_columns() -> Columns:
    """Two plain symbols and one that is refined in two, over three inputs."""
    first = np.array([[5, 900, 95], [7, 300, 693], [1, 990, 9]])
    second = np.array([[1, 999], [800, 200]])
    return Columns(first, name, second, np.array([1, 0, 1]))


def test_weights_of_refined_symbols_are_products() -> None:
    columns = refined_columns()
    assert columns.count == 4
    assert [[columns.exact(cell, symbol) for symbol in range(4)] for cell in range(3)] == [
        [5, 900, 95 * 800, 95 * 200],
        [7, 300, 693 * 1, 693 * 999],
        [1, 990, 9 * 800, 9 * 200],
    ]


@pytest.mark.parametrize("double", [5e-324, 3e-310, 0.1, 1.0])
def test_doubles_are_whole_multiples_of_the_smallest(double: float) -> None:
    assert Columns(np.array([[double]]), name).exact(0, 0) == Fraction(double) * 2**1074


def test_a_refined_symbol_has_the_errors_of_both_of_its_logarithms() -> None:
    columns = refined_columns()
    with mpmath.workdps(40):
        for symbol in range(4):
            g, error = columns.logs(symbol)
            parts = [columns.first[:, min(symbol, 2)].tolist()]
            if columns.second is not None and symbol >= 2:
                parts.append(columns.second[:, symbol - 2].tolist())
            expected = LOG_ERROR * float(sum(ln(max(part), min(part)) for part in parts))
            assert error == pytest.approx(expected, rel=1e-9, abs=0)
            for cell in range(3):
                for other in range(3):
                    truth = ln(columns.exact(cell, symbol), columns.exact(other, symbol))
                    assert abs(mpmath.mpf(float(g[cell] - g[other])) - truth) <= 2 * error


def test_a_quotient_of_refined_weights_has_the_errors_of_both_of_its_logarithms() -> None:
    columns = refined_columns()
    assert columns.second is not None
    assert columns.row is not None
    cells, others, symbols = (index.ravel() for index in np.indices((3, 3, 4)))
    values, errors = columns.log_quotients(cells, others, symbols)
    for cell, other, symbol, value, error in zip(cells, others, symbols, values, errors, strict=True):
        weight, against = columns.exact(int(cell), int(symbol)), columns.exact(int(other), int(symbol))
        assert value == pytest.approx(float(ln(weight, against)), rel=1e-14)
        assert abs(mpmath.mpf(float(value)) - ln(weight, against)) <= error
        at = min(symbol, 2)
        least = abs(ln(columns.first[cell, at].item(), columns.first[other, at].item()))
        if symbol >= 2:
            one, two = (columns.second[columns.row[index], symbol - 2].item() for index in (cell, other))
            least += abs(ln(one, two))
        assert error >= LOG_ERROR * (1 - 1e-12) * float(least)


def test_a_symbol_that_nobody_sends_has_no_error() -> None:
    g, error = Columns(np.array([[0, 5], [0, 5]]), name).logs(0)
    assert g.tolist() == [-np.inf] * 2
    assert error == 0.0


@pytest.mark.parametrize("first_varies", [False, True])
@pytest.mark.parametrize("second_varies", [False, True])
def test_a_refined_symbol_varies_if_either_of_its_weights_does(first_varies: bool, second_varies: bool) -> None:
    first = np.array([[40, 30, 30, 0], [40, 30 + first_varies, 30 - first_varies, 0]])
    second = np.array([[50, 50], [50 + second_varies, 50 - second_varies]])
    columns = Columns(first, name, second, np.array([0, 1]), refined=2)
    assert not columns.varies(0)
    assert columns.varies(1) == first_varies
    for symbol in (2, 3):
        assert columns.varies(symbol) == (first_varies or second_varies)
    for symbol in (4, 5):  # refines a symbol that nobody sends
        assert not columns.varies(symbol)


def test_what_breaks_the_claim_in_one_stage_alone_is_refused_whatever_the_other_stage_is() -> None:
    """Three cells are alike; the fourth differs in the symbol that is refined, or in how it is refined."""
    quarter = TOTAL // 4
    even = np.array([[3 * quarter, quarter]] * 4)
    uneven = np.array([[3 * quarter, quarter]] * 3 + [[2 * quarter, 2 * quarter]])
    same, other = [TOTAL // 2, TOTAL // 2], [TOTAL // 8, TOTAL - TOTAL // 8]
    for weights, rows, ok in ((even, [same], True), (even, [same, other], False), (uneven, [same], False)):
        row = np.array([0, 0, 0, len(rows) - 1])
        policy = Policy(square(2), 0.5, (0,), weights, completion=Completion((1, 2), row, np.array(rows)))
        assert certify(policy).ok == ok
