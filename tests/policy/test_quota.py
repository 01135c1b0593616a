"""β in one call."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import crowdveil as cv


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.integers(1, 5000), st.floats(0.001, 1), st.floats(0.01, 0.999))
def test_the_least_beta_is_enough_and_less_is_not(users: int, share: float, confidence: float) -> None:
    wanted = max(1, round(share * users))
    beta = cv.minimum_beta(users=users, wanted=wanted, confidence=confidence)
    assert binom.sf(wanted - 1, users, min(1.0, beta * (1 + 1e-6))) >= confidence
    assert binom.sf(wanted - 1, users, beta * (1 - 1e-6)) <= confidence


def test_the_papers_setting() -> None:
    assert cv.minimum_beta(users=1083, wanted=54, confidence=0.95) == pytest.approx(0.0611, abs=1e-4)


@pytest.mark.parametrize(
    ("users", "wanted", "confidence", "message"),
    [
        (0, 1, 0.95, "users = 0: should be a whole number from 1 to"),
        (10, 0, 0.95, "wanted = 0"),
        (10, 11, 0.95, "wanted = 11: should be at most users = 10"),
        (10.5, 2, 0.95, r"users = 10\.5"),
        (10, 5, 1.0, r"confidence = 1\.0: should lie strictly between 0 and 1"),
        (10, 5, float("nan"), "confidence = nan"),
    ],
)
def test_impossible_quotas_are_named(users: int, wanted: int, confidence: float, message: str) -> None:
    with pytest.raises(cv.InputError, match=message):
        cv.minimum_beta(users=users, wanted=wanted, confidence=confidence)
