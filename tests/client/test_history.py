"""What the ledger is for: a user who never moves, asked 52 times."""

from __future__ import annotations

from math import log
from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.client import Ledger
from crowdveil.errors import CampaignRefused
from crowdveil.policy.solver.optimal import optimal_policy
from tests.client.test_ledger import drawn, key
from tests.town import square_town

LN4 = log(4)
CAMPAIGNS = 52
USERS = 4_000
POLICIES = 8
"""Different targets that the campaigns take in turn."""


def reports_allowed(path: Path) -> int:
    """In how many of the campaigns a device with the default limits draws at all."""
    ledger, reports = Ledger.create(path), 0
    for number in range(CAMPAIGNS):
        try:
            ledger.draw_once(key(f"week-{number}"), drawn(), lambda: (0, "hit"))
            reports += 1
        except CampaignRefused:
            continue
    return reports


def found_after(campaigns: tuple[int, ...]) -> dict[int, float]:
    """Share of unmoved users whose cell is the likeliest one after so many independent reports."""
    area = square_town(20)
    generator = np.random.default_rng(52)
    homes = generator.integers(0, len(area), USERS)
    made = []
    for target in generator.choice(len(area), POLICIES, replace=False).tolist():
        policy = optimal_policy(area, None, [target], epsilon_per_km=LN4, beta=0.05, completion="informative")
        made.append((policy, cv.certify(policy), np.log(policy.table())))
    belief: FloatArray = np.zeros((USERS, len(area)))
    found = {}
    for number in range(1, max(campaigns) + 1):
        policy, certificate, log_table = made[number % POLICIES]
        belief += log_table[:, cv.draw_many(policy, homes, certificate, generator)].T
        if number in campaigns:
            found[number] = float((belief.argmax(axis=1) == homes).mean())
    return found


@pytest.mark.long
def test_the_ledger_keeps_an_unmoved_user_hidden_where_redrawing_would_not(tmp_path: Path) -> None:
    """20 x 20 km, ε = ln 4 per km: found 9.1 % of the time after one report, 86.1 % after 52, 16.1 % with the ledger.

    The default limit of 3 ln 4 per km allows reports in 3 of the 52 campaigns; the others get none.
    """
    allowed = reports_allowed(tmp_path / "ledger")
    assert allowed == 3
    found = found_after((1, allowed, CAMPAIGNS))
    assert found[CAMPAIGNS] > 0.8
    assert found[1] < 0.1
    assert found[allowed] < 0.2
