"""Every optimal policy that any test makes is certified on the spot: at its ε, and where it is tight not at 0.99 ε."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import crowdveil as cv

# A busy machine is no failure: no example is timed.
settings.register_profile("crowdveil", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("crowdveil")


@pytest.fixture(scope="session", autouse=True)
def _every_policy_is_certified() -> Iterator[None]:
    make = cv.optimal_policy

    def make_and_certify(*arguments: Any, **options: Any) -> cv.Policy:
        policy = make(*arguments, **options)
        certificate = cv.certify(policy)
        assert certificate.ok, certificate.explain()
        less = 0.99 * policy.epsilon_per_km
        if certificate.smallest_epsilon_per_km > less:
            assert not cv.certify(policy, epsilon_per_km=less).ok
        return policy

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cv, "optimal_policy", make_and_certify)
        yield
