"""Defaults, boxes, sums and sentences to the last digit: a limit loosened by a little is a limit that is gone."""

from __future__ import annotations

from dataclasses import replace
from math import log, pi, sqrt

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import crowdveil as cv
from crowdveil.area import Hexagons
from crowdveil.errors import InputError, LimitReached, NotPrivateError, OutsideLimits
from crowdveil.limits import Charge, Lattice, PrivacyLimits, Spent, check_map, check_policy, check_totals, compatible
from crowdveil.limits.charge import describe_use, more_reports
from crowdveil.limits.map_checks import region_sizes_km
from crowdveil.wire import Announcement
from tests.limits.some_terms import PRIVATE_KEY, announce, some_terms, spread_squares, squares, towers

LN4, LN64 = log(4), log(64)
USUAL = PrivacyLimits()
MONTHS = replace(USUAL, span="twelve-months")


def test_the_defaults_are_those_that_the_documentation_names() -> None:
    assert USUAL.as_dict() == {
        "epsilon_per_km": LN4,
        "null_epsilon": LN64,
        "grade_epsilon": LN64,
        "total_epsilon_per_km": 3 * LN4,
        "total_null_epsilon": 3 * LN64,
        "clear_reports": 0,
        "span": "lifetime",
        "least_charge": 0.1,
        "cell_km": 0.25,
        "gap_km": 5.0,
        "min_cells": 16,
        "cells_within_2_km": 3,
        "delta": 0.2,
    }


def test_cells_a_metre_finer_than_the_limit_are_refused_and_those_at_the_limit_are_not() -> None:
    check_map(squares(6, 0.25), USUAL)
    for cell_m in (249, 240, 225):
        with pytest.raises(OutsideLimits, match="finer than your limit allows"):
            check_map(squares(6, cell_m / 1000), USUAL)


def test_without_grades_a_report_costs_what_being_outside_costs() -> None:
    assert Charge.of(some_terms(null_epsilon=0.5, grade_epsilon=None), USUAL).null_epsilon == 0.5


def test_who_lost_a_ledger_has_spent_every_limit() -> None:
    limits = PrivacyLimits(total_epsilon_per_km=2.0, total_null_epsilon=5.0, clear_reports=4)
    assert Spent.whole_limit(limits) == Spent(2.0, 5.0, 4, 0)


def test_a_refusal_says_both_sums() -> None:
    with pytest.raises(LimitReached) as refusal:
        check_totals(Spent(4.0, 2.0, 0, 3), Charge(1.0, 3.0, clear=False), USUAL)
    assert refusal.value.figures == (
        "ε per km: 4 of 4.15888 is used, and this report would add 1; "
        "ε₀: 2 of 12.4766 is used, and this report would add 3."
    )


def test_how_many_more_reports_are_left_follows_from_what_was_spent() -> None:
    one = Charge(LN4, LN64, clear=False)
    spent = Spent()
    left = []
    for _ in range(4):
        left.append(more_reports(spent, one, USUAL))
        spent = spent.plus([one])
    assert left == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("spent", "limits", "text"),
    [
        (Spent(), USUAL, "You have answered no campaign."),
        (Spent(LN4, LN64, 0, 1), USUAL, "You have answered 1 campaign and used 34 % of your limit."),
        (Spent(0.2, 0.2, 0, 2), MONTHS, "You have answered 2 campaigns in the last twelve months and used 5 % of "),
        (
            Spent(3 * LN4, 1.0, 0, 3),
            USUAL,
            "You have answered 3 campaigns, the most your limit allows. This phone will not answer more unless you "
            "raise the limit.",
        ),
        (
            Spent(1.0, 3 * LN64, 0, 3),
            MONTHS,
            "You have answered 3 campaigns in the last twelve months, the most your limit allows. This phone will not "
            "answer more until the oldest of them is twelve months old.",
        ),
        (
            Spent.whole_limit(USUAL),
            USUAL,
            "Your limit was used up before this record began. This phone will not answer more unless you raise the "
            "limit.",
        ),
    ],
)
def test_what_was_spent_is_said_in_these_words(spent: Spent, limits: PrivacyLimits, text: str) -> None:
    found = describe_use(spent, limits)
    assert found.startswith(text)
    assert found == text or text.endswith("of ")


# --- lattices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("latitude", "longitude", "box"),
    [
        (0, 0, (-227399, -316322, 227399, 316322)),
        (60, 10, (599773545, 99368177, 600226376, 100631823)),
        (-60, 10, (-600226376, 99368177, -599773545, 100631823)),
        (0, 179.99, (-227399, 1799583678, 227399, 1800216322)),
        (86, 20, (859773331, -1800000000, 860226021, 1800000000)),
    ],
)
def test_the_box_of_a_map(latitude: float, longitude: float, box: tuple[int, ...]) -> None:
    plane = cv.Plane(round(latitude * 1e7), round(longitude * 1e7))
    assert Lattice.of(cv.Grid.build(plane, 1000, 4, 6, (-2500, -1500))).box_e7 == box


def test_the_box_of_towers_is_as_wide_as_their_reach_and_they_have_no_squares() -> None:
    lattice = Lattice.of(cv.Towers.from_positions([48.0, 48.1], [11.0, 11.2], reach_km=3.0))
    assert lattice.box_e7 == (479724743, 109587593, 481275192, 112412331)
    assert (lattice.cell_m, lattice.corner_half_m) == (0, (0, 0))


def boxed(*box: int) -> Lattice:
    south, west, north, east = box
    return Lattice("towers", str(box), (0, 0), 0, (0, 0), (south, west, north, east), ())


@pytest.mark.parametrize(
    ("other", "disjoint"),
    [
        ((11, 0, 20, 10), True),
        ((10, 0, 20, 10), False),
        ((-20, 0, -1, 10), True),
        ((-20, 0, 0, 10), False),
        ((0, 11, 10, 20), True),
        ((0, 10, 10, 20), False),
        ((0, -20, 10, -1), True),
        ((0, -20, 10, 0), False),
        ((2, 2, 8, 8), False),
        ((-5, -5, 15, 15), False),
        ((0, 3_599_999_990, 10, 3_600_000_005), False),
        ((0, 3_599_999_980, 10, 3_599_999_999), True),
    ],
)
def test_maps_are_apart_only_if_not_even_their_edges_meet(other: tuple[int, ...], disjoint: bool) -> None:
    one, two = boxed(0, 0, 10, 10), boxed(*other)
    assert compatible(one, two) == compatible(two, one) == disjoint


def test_squares_do_not_fit_maps_of_another_kind() -> None:
    grid = Lattice.of(squares(6))
    assert compatible(grid, replace(grid, digest="other"))
    for kind in ("towers", "hexagons"):
        other = replace(grid, digest="other", kind=kind, ground_half_m=())
        assert not compatible(grid, other)
        assert not compatible(other, grid)


def test_the_box_of_larger_squares_is_wider_by_their_side() -> None:
    town = Lattice.of(cv.Grid.build(cv.Plane(0, 0), 2000, 4, 6, (-5000, -3000)))
    assert town.box_e7 == (-454798, -632645, 454798, 632645)


# --- maps -----------------------------------------------------------------------------------------------------


def blocks_of_16(last: int = 16) -> cv.Grid:
    """Nine blocks of sixteen squares of 250 m, as large as the smallest map, of which the last may be smaller."""
    row, column = np.divmod(np.arange(44**2), 44)
    kept = np.flatnonzero((row % 20 < 4) & (column % 20 < 4))
    return squares(44, 0.25).subset(kept[: len(kept) + last - 16])


LOOSE = replace(USUAL, cells_within_2_km=1, min_cells=64)
MAPS: dict[str, tuple[cv.Area, PrivacyLimits, str]] = {
    "cells too near": (
        squares(6, 0.249),
        USUAL,
        "Neighbouring cells are 0.249 km apart; this device accepts no less than 0.25 km. Were metres given as "
        "kilometres?",
    ),
    "regions too small": (
        spread_squares(0.2, 5),
        USUAL,
        "The smallest region is as large as a square of 0.200 km; this device accepts no less than 0.25 km. Were "
        "metres given as kilometres?",
    ),
    "towers a metre too far for company": (
        towers(2.001, 0.9),
        USUAL,
        "Cell 0 has 1 cells within 2 km, itself included; this device accepts no less than 3.",
    ),
    "company at exactly 2 km counts": (
        squares(6),
        replace(USUAL, cells_within_2_km=7),
        "Cell 0 has 6 cells within 2 km, itself included; this device accepts no less than 7.",
    ),
    "one cell alone where two are wanted": (
        squares(12).subset([*range(6 * 12), 12 * 9 + 5]),
        replace(USUAL, cells_within_2_km=2),
        "Cell 72 has 1 cells within 2 km, itself included; this device accepts no less than 2.",
    ),
    "towers whose reaches do not meet": (
        towers(1.0, 0.4),
        USUAL,
        "The piece with cell 0 covers 0.503 km²; this device accepts no less than 1 km².",
    ),
    "towers a metre too far to touch": (
        towers(2.001, 20.0, side=8),
        LOOSE,
        "The piece with cell 0 covers 3.14 km²; this device accepts no less than 4 km².",
    ),
    "one piece a square too small": (
        blocks_of_16(last=15),
        USUAL,
        "The piece with cell 104 covers 0.938 km²; this device accepts no less than 1 km².",
    ),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_is_refused_with_these_figures(name: str) -> None:
    area, limits, figures = MAPS[name]
    with pytest.raises(OutsideLimits) as refusal:
        check_map(area, limits)
    assert refusal.value.figures == figures


def test_maps_at_the_very_limit_are_accepted() -> None:
    check_map(blocks_of_16(), USUAL)
    check_map(towers(2.0, 20.0, side=8), LOOSE)
    check_map(spread_squares(2.0, 2), USUAL)  # squares 2 km wide need no company
    smallest = replace(USUAL, min_cells=1, cells_within_2_km=1)
    check_map(squares(2).subset([0, 1]), smallest)


def test_the_size_of_a_region_is_that_of_a_square_as_large() -> None:
    hexagons = Hexagons.from_bounds(40.70, -74.02, 40.74, -73.96, resolution=8)
    areas_m2 = [ConvexHull(corners).volume for corners in hexagons.boundaries_m()]
    np.testing.assert_allclose(region_sizes_km(hexagons), np.sqrt(areas_m2) / 1000, rtol=1e-9)
    points = cv.Area.from_points_km([[3 * x, 0] for x in range(4)])
    np.testing.assert_allclose(region_sizes_km(points), sqrt(pi) * 1.5)


# --- limits and policies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("epsilon_per_km", 0, "should be a finite number above 0"),
        ("delta", -0.1, "should be a finite number of at least 0"),
        ("min_cells", 2.5, "should be a whole number above 0"),
        ("clear_reports", -1, "should be a whole number of at least 0"),
        ("delta", 1.0, "should be below 1"),
        ("span", "week", "should be one of lifetime, twelve-months"),
    ],
)
def test_a_limit_that_makes_no_sense_is_named(name: str, value: object, expected: str) -> None:
    with pytest.raises(InputError) as refusal:
        PrivacyLimits(**{name: value})  # type: ignore[arg-type]
    assert (refusal.value.field, refusal.value.value, refusal.value.expected) == (name, value, expected)


def test_a_limit_that_is_missing_or_unknown_is_named() -> None:
    written = USUAL.as_dict()
    for document, field, value in (
        ({**written, "more": 1}, "more", 1),
        ({name: one for name, one in written.items() if name != "delta"}, "delta", None),
    ):
        with pytest.raises(InputError, match="all of them should be given") as refusal:
            PrivacyLimits.from_dict(document)
        assert (refusal.value.field, refusal.value.value) == (field, value)


def announced_policy(grade_epsilon: float | None) -> tuple[cv.Policy, Announcement]:
    policy = cv.optimal_policy(
        squares(6), None, [14, 22], epsilon_per_km=LN4, beta=0.2, null_epsilon=LN64, grade_epsilon=grade_epsilon
    )
    return policy, announce(some_terms(grade_epsilon=grade_epsilon), policy.hash, private_key=PRIVATE_KEY)


@pytest.mark.parametrize("grade_epsilon", [None, LN64])
def test_a_policy_with_or_without_grades_is_certified(grade_epsilon: float | None) -> None:
    policy, announcement = announced_policy(grade_epsilon)
    assert check_policy(policy, announcement, squares(6)).ok


def test_a_policy_of_a_round_that_nobody_announced_is_refused() -> None:
    policy, announcement = announced_policy(None)
    with pytest.raises(NotPrivateError, match="other than what it announced to everyone") as refusal:
        check_policy(policy, announcement.model_copy(update={"notice": None}), squares(6))
    assert refusal.value.figures == f"The policy has the hash {policy.hash}, but None was announced."
