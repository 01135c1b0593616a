"""A checker that refuses every policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import crowdveil as cv
from crowdveil.simulate import balance, privic, simulation, year


@pytest.fixture
def refusing_checker() -> Iterator[None]:
    """Certify nothing. Simulations keep the certificates of their first policies, so what they kept is dropped
    before and afterwards: a certificate of this checker must not reach another test."""

    def refuse(policy: cv.Policy) -> cv.Certificate:
        return cv.certify(policy, epsilon_per_km=policy.epsilon_per_km / 2)

    kept = (simulation._first_policy, simulation.laplace_policy, privic._first, year._panel)
    with pytest.MonkeyPatch.context() as patch:
        for room in (balance, simulation, privic, year):
            patch.setattr(room, "certify", refuse)
        for cache in kept:
            cache.cache_clear()
        yield
    for cache in kept:
        cache.cache_clear()
