"""What is counted, who is named, and what is refused without a verdict."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from crowdveil.area import Area
from crowdveil.certify import certify_table
from crowdveil.certify.claim import PrivacyClaim
from crowdveil.certify.columns import Columns
from crowdveil.certify.findings import Findings
from crowdveil.errors import NotPrivateError


def test_only_inequalities_that_an_interval_leaves_open_are_decided_in_whole_numbers() -> None:
    """Cells 1 km apart: of three pairs two lose exactly the claim's ln 4, or its inverse, and one much less."""
    xy_m = np.array([[0, 0], [1000, 0]])
    columns = Columns(np.array([[4, 1, 10], [1, 4, 11]]), str)
    findings = Findings(columns, xy_m, PrivacyClaim(float(np.nextafter(log(4), 2))))
    assert findings.exact_comparisons == 0
    findings.consider(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([0, 0, 2]))
    assert findings.exact_comparisons == 1
    findings.consider(np.array([1]), np.array([0]), np.array([1]))
    assert findings.exact_comparisons == 2
    assert findings.ok


def test_a_claim_at_the_lower_end_of_an_interval_is_decided_in_whole_numbers() -> None:
    """The loss is above the end of its interval, so that a claim of exactly that number does not hold."""
    xy_m = np.array([[0, 0], [1000, 0]])
    columns = Columns(np.array([[4], [1]]), str)
    pair = np.array([0]), np.array([1]), np.array([0])
    looked_at = Findings(columns, xy_m, PrivacyClaim(1.0))
    looked_at.consider(*pair)
    assert looked_at.low < log(4)
    findings = Findings(columns, xy_m, PrivacyClaim(looked_at.low))
    findings.consider(*pair)
    assert findings.low == findings.claim.epsilon_per_km
    assert not findings.ok


@pytest.mark.parametrize("weights", [[3, 5], [5, 5]])
def test_cells_at_distance_0_get_no_verdict(weights: list[int]) -> None:
    """Not even where floating-point faults raise: a policy that nobody could check is refused in plain words."""
    findings = Findings(Columns(np.array(weights)[:, None], str), np.zeros((2, 2), dtype=np.int64), PrivacyClaim(1.0))
    with np.errstate(all="raise"), pytest.raises(NotPrivateError, match="nothing can be certified"):
        findings.consider(np.array([0]), np.array([1]), np.array([0]))


def test_a_symbol_that_only_some_send_names_its_likeliest_sender_and_the_nearest_who_never_does() -> None:
    area = Area.from_points_km([[0, 0], [9, 0], [4, 4], [10, 1], [10, 6]])
    table = np.array([[0, 10], [0, 10], [2, 8], [5, 5], [0, 10]])
    told: list[tuple[int, int]] = []
    certificate = certify_table(area, table, 1.0, progress=lambda *given: told.append(given))
    assert not certificate.ok
    assert certificate.witness is not None
    assert (certificate.witness.cell, certificate.witness.other, certificate.witness.symbol) == (3, 1, 0)
    assert certificate.pairs_opened == 0
    assert told == [(1, 1)]
