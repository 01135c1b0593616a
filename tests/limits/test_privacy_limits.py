"""Of two sets of limits the stricter of each is taken, in either order."""

from __future__ import annotations

from dataclasses import fields

import pytest

from crowdveil.limits import PrivacyLimits

USUAL = PrivacyLimits()
AT_LEAST = {"least_charge", "cell_km", "min_cells", "cells_within_2_km", "delta"}


@pytest.mark.parametrize(
    "name", [one.name for one in fields(PrivacyLimits) if one.name not in ("span", "clear_reports")]
)
def test_the_stricter_of_two_limits_is_the_lesser_or_where_larger_is_stricter_the_larger(name: str) -> None:
    usual = getattr(USUAL, name)
    other = usual + 1 if isinstance(usual, int) else usual * 1.5
    looser, stricter = (usual, other) if name in AT_LEAST else (other, usual)
    loose, strict = ({**USUAL.as_dict(), name: value} for value in (looser, stricter))
    for one, two in ((loose, strict), (strict, loose)):
        assert PrivacyLimits.from_dict(one).stricter(PrivacyLimits.from_dict(two)).as_dict() == strict


def test_fewer_reports_in_the_clear_and_a_lifetime_are_stricter() -> None:
    loose = PrivacyLimits(clear_reports=3, span="twelve-months")
    assert loose.stricter(USUAL) == USUAL.stricter(loose) == USUAL
    assert loose.stricter(loose) == loose
