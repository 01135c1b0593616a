"""No obfuscation: the ceiling of every comparison, and never certified."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.area import Area
from crowdveil.certify import certify
from crowdveil.errors import InputError
from crowdveil.policy.baselines.identity import identity
from tests.policy.test_laplace import square, uniform


def test_it_selects_exactly_who_is_at_a_target() -> None:
    area = square(4)
    policy = identity(area, uniform(area), [3, 9], 1.0)
    assert np.flatnonzero(policy.hit).tolist() == [3, 9]
    assert set(policy.hit.tolist()) == {0.0, 1.0}
    assert policy.value == 1.0
    assert policy.beta == pytest.approx(2 / 16)


def test_nobody_at_a_target_means_nobody_selected() -> None:
    prior = np.ones(16) / 15
    prior[3] = 0
    policy = identity(square(4), prior, [3], 1.0)
    assert (policy.value, policy.beta) == (0.0, 0.0)


def test_no_certificate_vouches_for_it() -> None:
    area = square(4)
    certificate = certify(identity(area, uniform(area), [3], 50.0))
    assert not certificate.ok
    assert certificate.smallest_epsilon_per_km == float("inf")


def test_it_too_is_a_table_of_at_most_three_thousand_cells() -> None:
    area = Area.from_points_km(np.column_stack([np.arange(3001), np.zeros(3001)]))
    with pytest.raises(InputError, match="at most 3,000"):
        identity(area, uniform(area), [0], 1.0)
