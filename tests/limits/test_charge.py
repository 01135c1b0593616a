"""Every report costs something on both accounts, and the sums stop at the owner's limits."""

from __future__ import annotations

from dataclasses import fields
from math import inf, log, nan

import pytest

import crowdveil as cv
from crowdveil.errors import LimitReached
from crowdveil.limits import Charge, PrivacyLimits, Spent, check_totals
from crowdveil.limits.charge import describe_use, more_reports
from tests.limits.some_terms import some_terms

LN4, LN64 = log(4), log(64)
USUAL = PrivacyLimits()
ONE = Charge(LN4, LN64, clear=False)


def test_a_report_costs_what_its_terms_say_and_never_less_than_the_least_charge() -> None:
    assert Charge.of(some_terms(), USUAL) == ONE
    tiny = some_terms(epsilon_per_km=1e-9, null_epsilon=1e-9, grade_epsilon=1e-9)
    assert Charge.of(tiny, USUAL) == Charge(0.1, 0.1, clear=False)
    assert Charge.of(some_terms(null_epsilon=1.0, grade_epsilon=2.0), USUAL).null_epsilon == 2.0
    assert Charge.of(some_terms(null_epsilon=2.0, grade_epsilon=1.0), USUAL).null_epsilon == 2.0
    assert Charge.of(some_terms(null_epsilon=2.0, grade_epsilon=None), USUAL).null_epsilon == 2.0
    assert Charge.of(some_terms(null_epsilon=None, grade_epsilon=None), USUAL) == Charge(LN4, 0.0, clear=True)


def test_three_reports_at_the_default_are_exactly_the_default_limit() -> None:
    spent = Spent()
    for _ in range(3):
        check_totals(spent, ONE, USUAL)
        spent = spent.plus([ONE])
    assert spent == Spent(3 * LN4, 3 * LN64, 0, 3)
    with pytest.raises(LimitReached, match="You have answered 3 campaigns, the most your limit allows") as refusal:
        check_totals(spent, Charge(0.1, 0.1, clear=False), USUAL)
    assert "ε per km: 4.15888 of 4.15888 is used, and this report would add 0.1" in refusal.value.figures
    assert "ε₀: 12.4766 of 12.4766" in refusal.value.figures


@pytest.mark.parametrize("charge", [Charge(LN4, 0.1, clear=False), Charge(0.1, LN64, clear=False)])
def test_each_account_has_a_limit_of_its_own(charge: Charge) -> None:
    spent = Spent()
    for _ in range(3):
        check_totals(spent, charge, USUAL)
        spent = spent.plus([charge])
    with pytest.raises(LimitReached):
        check_totals(spent, charge, USUAL)


def test_reports_that_claim_to_cost_nothing_end_too() -> None:
    """14 campaigns with ε = 1e-9 found a person's cell in 50 of 50 trials; now ε₀ cannot be small and free."""
    free = Charge.of(some_terms(epsilon_per_km=1e-9), USUAL)
    assert more_reports(Spent(), free, USUAL) == 3
    nothing = Charge.of(some_terms(epsilon_per_km=1e-9, null_epsilon=1e-9, grade_epsilon=1e-9), USUAL)
    assert more_reports(Spent(), nothing, USUAL) == 41


def test_reports_in_the_clear_are_counted() -> None:
    clear, limits = Charge(0.1, 0.0, clear=True), PrivacyLimits(clear_reports=2)
    spent = Spent().plus([clear])
    check_totals(spent, clear, limits)
    with pytest.raises(LimitReached, match="asks openly whether you regularly visit") as refusal:
        check_totals(spent.plus([clear]), clear, limits)
    assert "limit of reports in the clear is 2; 2 were sent" in refusal.value.figures
    with pytest.raises(LimitReached):
        check_totals(Spent(), clear, USUAL)
    assert more_reports(spent, clear, limits) == 1


def test_a_campaign_that_would_go_past_the_limit_is_refused_though_some_is_left() -> None:
    with pytest.raises(LimitReached, match="This campaign would take you past your limit") as refusal:
        check_totals(Spent(3.0, 1.0, 0, 2), ONE, USUAL)
    assert "You have answered 2 campaigns and used 73 % of your limit" in str(refusal.value)
    assert "Your phone did not answer" in str(refusal.value)


def test_a_lost_ledger_is_answered_by_the_whole_limit() -> None:
    limits = PrivacyLimits(clear_reports=2)
    spent = Spent.whole_limit(limits)
    assert "used up before this record began" in describe_use(spent, limits)
    for charge in (Charge(0.1, 0.1, clear=False), Charge(0.1, 0.0, clear=True)):
        with pytest.raises(LimitReached):
            check_totals(spent, charge, limits)


def test_a_limit_for_twelve_months_says_so() -> None:
    limits = PrivacyLimits(span="twelve-months")
    assert "in the last twelve months, the most" in describe_use(Spent(3 * LN4, 0.0, 0, 3), limits)
    assert "until the oldest of them is twelve months old" in describe_use(Spent(3 * LN4, 0.0, 0, 3), limits)


@pytest.mark.parametrize("value", [-1.0, nan, inf, "1", True, None])
@pytest.mark.parametrize("name", [field.name for field in fields(Spent)])
def test_what_was_spent_is_a_finite_number_of_at_least_zero(name: str, value: object) -> None:
    with pytest.raises(cv.InputError, match=name):
        Spent(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1.0, nan, inf, "1", True, None])
@pytest.mark.parametrize("name", [field.name for field in fields(PrivacyLimits)])
def test_limits_are_finite_numbers(name: str, value: object) -> None:
    with pytest.raises(cv.InputError, match=name):
        PrivacyLimits(**{name: value})  # type: ignore[arg-type]


def test_only_some_limits_may_be_zero() -> None:
    PrivacyLimits(clear_reports=0, delta=0.0)
    for field in fields(PrivacyLimits):
        if field.name not in ("clear_reports", "delta"):
            with pytest.raises(cv.InputError, match=field.name):
                PrivacyLimits(**{field.name: 0})  # type: ignore[arg-type]
    for name in ("clear_reports", "min_cells", "cells_within_2_km"):
        with pytest.raises(cv.InputError, match="should be a whole number"):
            PrivacyLimits(**{name: 2.5})  # type: ignore[arg-type]
    with pytest.raises(cv.InputError, match="delta"):
        PrivacyLimits(delta=1.0)


def test_limits_survive_being_written_down() -> None:
    limits = PrivacyLimits(epsilon_per_km=1.0, span="twelve-months", clear_reports=3)
    assert PrivacyLimits.from_dict(limits.as_dict()) == limits
    for wrong in ({}, {**limits.as_dict(), "more": 1}, {**limits.as_dict(), "span": "week"}):
        with pytest.raises(cv.InputError):
            PrivacyLimits.from_dict(wrong)
