"""Terms beyond an owner's limits are refused, each with its figure; terms within them are accepted."""

from __future__ import annotations

import re
from math import log
from typing import Any

import pytest

from crowdveil.errors import CampaignRefused, OutsideLimits
from crowdveil.limits import PrivacyLimits, check_terms
from tests.limits.some_terms import LN4, LN64, some_terms, squares, towers

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "ε = 20": ({"epsilon_per_km": 20.0}, "ε = 20 per km; this device accepts at most 1.38629"),
    "ε a hair too large": ({"epsilon_per_km": LN4 * (1 + 1e-15)}, "accepts at most 1.38629"),
    "ε₀ a hair too large": ({"null_epsilon": LN64 * (1 + 1e-15)}, "announces ε₀ = 4.15888; .* at most 4.15888"),
    "ε₁ a hair too large": (
        {"grade_epsilon": LN64 * (1 + 2e-9)},
        "announces ε₁ = 4.15888 from each of 2 grades to the next, 4.15888 in all; this device accepts at most 4.15888",
    ),
    "several grades that are too far apart": (
        {"grade_epsilon": LN64 / 2, "lower_deltas": [0.3, 0.1]},
        "announces ε₁ = 2.07944 from each of 4 grades to the next, 6.23832 in all; .* at most 4.15888",
    ),
    "the clear form": ({"null_epsilon": None, "grade_epsilon": None}, "accepts 0 reports in the clear"),
    "δ below the floor": ({"delta": 0.19}, "δ = 0.19 as its lowest threshold; this device accepts no less than 0.2"),
    "a lower threshold below the floor": (
        {"grade_epsilon": 0.5, "lower_deltas": [0.3, 1e-9]},
        "δ = 1e-09 as its lowest threshold; this device accepts no less than 0.2",
    ),
    "a threshold a hair below the floor": (
        {"grade_epsilon": 0.5, "lower_deltas": [0.2 * (1 - 2**-52)]},
        "as its lowest threshold; this device accepts no less than 0.2",
    ),
    "100 m squares": ({"area": squares(6, 0.1).describe()}, "0.100 km apart"),
    "towers that name houses": ({"area": towers(5.0, 0.03).describe(), "targets": [3]}, "smallest region"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_terms_beyond_the_limits_are_refused(name: str) -> None:
    changed, figures = REFUSED[name]
    with pytest.raises(OutsideLimits, match="This phone does not take part") as refusal:
        check_terms(some_terms(**changed), PrivacyLimits())
    assert re.search(figures, refusal.value.figures), refusal.value.figures


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"delta": 1.0}, "delta = 1.0: should be at least 0 and below 1"),
        ({"targets": [36]}, "targets"),
        ({"targets": [3, 3]}, "named twice"),
        ({"area": {"kind": "moon"}}, "area kind"),
    ],
)
def test_terms_that_are_not_valid_are_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(CampaignRefused, match=f"announcement is not valid: .*{reason}"):
        check_terms(some_terms(**changed), PrivacyLimits())


def test_terms_at_the_limits_are_accepted() -> None:
    assert len(check_terms(some_terms(delta=0.2), PrivacyLimits())) == 36
    graded = some_terms(grade_epsilon=0.5, lower_deltas=[0.35, 0.2])
    assert len(check_terms(graded, PrivacyLimits())) == 36
    assert len(check_terms(some_terms(grade_epsilon=0.5, lower_deltas=[0.01]), PrivacyLimits(delta=0.01))) == 36
    clear = some_terms(null_epsilon=None, grade_epsilon=None)
    assert len(check_terms(clear, PrivacyLimits(clear_reports=1))) == 36
    assert len(check_terms(some_terms(epsilon_per_km=log(8)), PrivacyLimits(epsilon_per_km=log(8)))) == 36
    assert len(check_terms(some_terms(grade_epsilon=None), PrivacyLimits())) == 36


@pytest.mark.parametrize(
    "sign", ["\x00", "\n", "\x7f", "\x85", "\x9b", "\u200f", "\u2028", "\u2029", "\u202e", "\u2066"]
)
def test_a_name_or_an_offer_holds_no_sign_that_could_forge_or_reorder_the_words_around_it(sign: str) -> None:
    for field in ("name", "offer") if sign != "\n" else ("name",):
        with pytest.raises(ValueError, match=field):
            some_terms(**{field: f"Quiet{sign}map"})
    assert some_terms(name="Café, 静かな地図 👍🏽", offer="A coffee\nor tea").name.startswith("Café")
