"""Printed numbers never promise more than what was proved."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.formatting import exact, in_plain_words, percent_up, rounded_up, rounded_up_below

positive = st.floats(min_value=0, allow_infinity=False, allow_nan=False)


@given(positive, st.integers(1, 17))
def test_a_bound_read_back_is_never_below_the_bound(number: float, digits: int) -> None:
    assert float(rounded_up(number, digits)) >= number


@given(st.floats(1e-300, 1e300), st.floats(1, 2))
def test_a_bound_below_a_limit_stays_below_it(number: float, factor: float) -> None:
    assert number <= float(rounded_up_below(number, number * factor)) <= number * factor


@given(positive)
def test_exact_text_reads_back_as_the_same_number(number: float) -> None:
    assert float(exact(number)) == number


@given(st.floats(0, 1))
def test_a_share_in_percent_is_never_below_the_share(share: float) -> None:
    assert float(percent_up(share).removesuffix("%")) >= 100 * share * (1 - 1e-15)


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (1.38629435, 9, "1.38629435"),
        (1.386294351, 4, "1.387"),
        (4.0, 9, "4"),
        (2.0**-52, 3, "2.23e-16"),
        (0.0, 9, "0"),
    ],
)
def test_bounds_are_rounded_up(number: float, digits: int, text: str) -> None:
    assert rounded_up(number, digits) == text


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [
        (log(4), "at most 4 times"),
        (log(3), "at most 3 times"),
        (1.386, "at most 3.999 times"),
        (0.01, "at most 1.011 times"),
        (8.0, "at most 2,981 times"),
        (900.0, "no practical protection"),
    ],
)
def test_epsilon_in_plain_words(epsilon: float, said: str) -> None:
    assert said in in_plain_words(epsilon)
