"""A panel's selections one after the other: who was chosen before, how often, and since when."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.arrays import IntArray
from crowdveil.campaign import (
    Plan,
    Reports,
    RoundClosed,
    RoundOpened,
    Selection,
    SelectionRequest,
    State,
    advance,
    begin,
    next_policy,
    select,
)
from crowdveil.campaign.groups import groups_of
from crowdveil.campaign.selection import lottery_number, nobody, select_by_posterior, with_history
from crowdveil.campaign.state import select_from_panel, select_so_far
from crowdveil.prior import count_symbols
from tests.town import square_town

TOWN = square_town(4)
PANEL = Plan(TOWN, (5, 14), log(4), 12, rounds=2, panel=True)
SENT = [0] * 6 + [1] * 4 + [2] * 2
"""The first six send the symbol of the first place, the next four that of the second, the others another."""
REPORTS = Reports(np.arange(20, 32), np.zeros(12, dtype=np.int64), np.array(SENT))
SEED = "ab" * 32


def closed(state: State, symbols: list[int]) -> State:
    policy = next_policy(state)
    return advance(advance(state, RoundOpened(policy)), RoundClosed(count_symbols(policy, symbols)))


STATE = closed(begin(PANEL), SENT)


def drawn(people: range, seed: str = SEED) -> list[int]:
    """People in the order of the lottery."""
    return sorted(people, key=lambda who: lottery_number(seed, str(who)))


def chosen(request: SelectionRequest, earlier: list[tuple[int, list[int]]], made: int = 1000) -> Selection:
    past = [(when, np.array(who, dtype=np.int64)) for when, who in earlier]
    return select_from_panel(STATE, REPORTS, request, seed=SEED, made=made, earlier=past)


# --- what is noted ----------------------------------------------------------------------------------------------


def times(reports: Reports, earlier: list[tuple[int, list[int]]], since: int | None) -> IntArray:
    noted = with_history(reports, [(when, np.array(who, dtype=np.int64)) for when, who in earlier], since)
    assert noted.participant.tolist() == reports.participant.tolist()
    assert noted.symbol.tolist() == reports.symbol.tolist()
    assert noted.chosen_before is not None
    return noted.chosen_before


def test_how_often_each_was_chosen_is_noted_whoever_else_was_chosen() -> None:
    reports = Reports(np.array([30, 7, 19, 4]), np.zeros(4, dtype=np.int64), np.array([0, 1, 0, 1]))
    earlier = [(10, [7, 30, 5]), (20, [99, 7]), (30, [3, 19, 7, 40]), (40, [])]
    assert times(reports, earlier, None).tolist() == [1, 3, 1, 0]
    assert times(reports, earlier, 9).tolist() == [1, 3, 1, 0]
    assert times(reports, earlier, 10).tolist() == [0, 2, 1, 0]  # what was selected at that very time is not after it
    assert times(reports, earlier, 20).tolist() == [0, 1, 1, 0]
    assert times(reports, [], None).tolist() == [0, 0, 0, 0]


def test_nobody_was_chosen_where_nobody_reported() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert times(Reports(none, none, none), [(10, [7])], None).tolist() == []


def test_rows_in_another_order_keep_their_history() -> None:
    reports = Reports(
        np.array([5, 6, 7]), np.zeros(3, dtype=np.int64), np.array([1, 0, 1]), ("a", "b", "c"), np.array([2, 0, 1])
    )
    rows = reports.in_order(np.array([2, 0]))
    assert rows.chosen_before is not None
    assert (rows.participant.tolist(), rows.ticket, rows.chosen_before.tolist()) == ([7, 5], ("c", "a"), [1, 2])
    plain = Reports(np.array([5, 6]), np.zeros(2, dtype=np.int64), np.array([1, 0])).in_order(np.array([1]))
    assert (plain.ticket, plain.chosen_before) == (None, None)


# --- what follows -----------------------------------------------------------------------------------------------


def test_those_who_were_chosen_less_often_come_first_and_the_lottery_decides_among_these() -> None:
    first, second, *others = drawn(range(20, 26))
    request = SelectionRequest((5,), 3)
    assert sorted(chosen(request, []).participants) == sorted([first, second, others[0]])
    once = [(10, [first, second])]
    assert sorted(chosen(request, once).participants) == sorted(others[:3])
    twice = [(10, [first, second]), (11, [*others[1:], second])]
    assert sorted(chosen(request, twice).participants) == sorted([others[0], first, others[1]])
    all_but_one = SelectionRequest((5,), 5)
    assert second not in chosen(all_but_one, twice).participants
    assert len(chosen(SelectionRequest((5,), 6), twice)) == 6


def test_whoever_was_chosen_as_often_as_allowed_is_left_out() -> None:
    near = list(range(20, 26))
    past = [(10, near[:2]), (11, near[1:3])]
    once = chosen(SelectionRequest((5,), 12, at_most=1), past)
    assert sorted(once.participants) == [23, 24, 25, *range(26, 32)]
    assert once.missing == (3,)
    assert once.participants[:3].tolist() == [23, 24, 25]
    twice = chosen(SelectionRequest((5,), 12, at_most=2), past)
    assert sorted(set(range(20, 32)) - set(twice.participants.tolist())) == [21]


def test_only_selections_within_the_time_that_was_named_count() -> None:
    past = [(100, [20]), (200, [21]), (300, [22])]
    for within, left_out in ((1000, [20, 21, 22]), (901, [20, 21, 22]), (900, [21, 22]), (750, [22]), (700, [])):
        found = chosen(SelectionRequest((5,), 12, at_most=1, within_s=within), past)
        assert sorted(set(range(20, 32)) - set(found.participants.tolist())) == left_out
    assert len(chosen(SelectionRequest((5,), 12, at_most=1), past)) == 9


def test_a_panel_is_asked_for_any_place_or_for_each_under_the_seed_that_is_given() -> None:
    found = chosen(SelectionRequest((14, 5), numbers=(2, 1)), [])
    assert sorted(found.at_target(0)) == sorted(drawn(range(26, 30))[:2])
    assert found.at_target(1).tolist() == drawn(range(20, 26))[:1]
    other = select_from_panel(STATE, REPORTS, SelectionRequest((5,), 2), seed="cd" * 32, made=1000)
    assert sorted(other.participants) == sorted(drawn(range(20, 26), "cd" * 32)[:2])
    assert sorted(other.participants) != sorted(drawn(range(20, 26))[:2])


def test_only_the_last_round_in_which_anybody_answered_is_selected_from() -> None:
    again = Reports(
        np.arange(20, 44), np.repeat([0, 1], 12), np.array(SENT + [1] * 12)
    )  # numbers of a round are numbers of their own
    renewed = closed(STATE, [1] * 12)
    found = select_from_panel(renewed, again, SelectionRequest((5,), 24), seed=SEED, made=1000)
    assert sorted(found.participants) == list(range(32, 44))
    silent = closed(STATE, [])
    found = select_from_panel(silent, REPORTS, SelectionRequest((5,), 24), seed=SEED, made=1000)
    assert sorted(found.participants) == list(range(20, 32))


def test_a_panel_without_a_closed_round_is_not_asked() -> None:
    opened = advance(begin(PANEL), RoundOpened(next_policy(begin(PANEL))))
    with pytest.raises(cv.InputError) as refused:
        select_from_panel(opened, REPORTS, SelectionRequest((5,), 2), seed=SEED, made=1000)
    assert str(refused.value) == (
        "state = 'no round closed': should have a closed round; the answers of an open round are used once it is closed"
    )


def test_other_cells_are_asked_for_only_if_that_is_allowed() -> None:
    with pytest.raises(cv.InputError) as refused:
        chosen(SelectionRequest((5, 9), 2), [])
    assert str(refused.value) == (
        "targets = 'cell 9': should be one of the 2 places of the panel; with other_cells, the people of the nearest "
        "places are selected, whose visits there are known less well"
    )
    found = chosen(SelectionRequest((9,), 6, other_cells=True), [])
    assert sorted(found.participants) == list(range(20, 26))  # cell 5 is next to cell 9
    with pytest.raises(cv.InputError, match="targets = 16"):
        chosen(SelectionRequest((16,), 2, other_cells=True), [])


# --- nobody -----------------------------------------------------------------------------------------------------


def test_before_the_first_round_is_closed_nobody_is_selected_and_all_are_missing() -> None:
    each = Plan(TOWN, (5, 14), log(4), 12, numbers=(3, 2), rounds=2)
    for plan, missing in ((each, (3, 2)), (Plan(TOWN, (5, 14), log(4), 12, wanted=4, rounds=2), (4,))):
        none = np.zeros(0, dtype=np.int64)
        found = select_so_far(begin(plan), Reports(none, none, none))
        assert (len(found), found.missing, found.short) == (0, missing, sum(missing))
        assert found.chosen == []


def test_a_selection_of_nobody_looks_like_one_from_no_reports() -> None:
    none = np.zeros(0, dtype=np.int64)
    policies = [next_policy(begin(PANEL))]
    selected = select_by_posterior(Reports(none, none, none), groups_of(policies, None, (5,)), 4, "0")
    for one in (nobody((4,)), selected):
        assert one.missing == (4,)
        columns = (one.participants, one.chances, one.targets, one.by_symbol)
        assert [(len(column), column.dtype.name) for column in columns] == [
            (0, "int64"),
            (0, "float64"),
            (0, "int64"),
            (0, "bool"),
        ]


def test_the_printed_algorithm_takes_reports_in_the_order_of_the_lottery_until_all_rounds_are_closed() -> None:
    plan = Plan(
        TOWN, (5, 14), log(4), 24, 3, 2, algorithm="algorithm-2", seed=SEED, null_epsilon=None, grade_epsilon=None
    )
    state = closed(closed(begin(plan), [0] * 3 + [1] * 9), [0] * 2 + [1] * 10)
    reports = Reports(np.arange(24), np.repeat([0, 1], 12), np.array([0] * 3 + [1] * 9 + [0] * 2 + [1] * 10))
    expected = [*drawn(range(12, 14)), drawn(range(3))[0]]
    assert select_so_far(state, reports).participants.tolist() == expected
    shuffled = reports.in_order(np.random.default_rng(1).permutation(24))
    assert select_so_far(state, shuffled).participants.tolist() == expected


def test_ours_is_the_same_before_and_after_the_last_round_is_closed() -> None:
    plan = Plan(TOWN, (5, 14), log(4), 24, 3, 2, seed=SEED, null_epsilon=None, grade_epsilon=None)
    early = closed(begin(plan), [0] * 5 + [1] * 7)
    reports = Reports(np.arange(12), np.zeros(12, dtype=np.int64), np.array([0] * 5 + [1] * 7))
    found = select_so_far(early, reports)
    assert sorted(found.participants) == sorted(drawn(range(5))[:3])
    assert found.participants.tolist() == select(early, reports, early=True).participants.tolist()
    with pytest.raises(cv.InputError) as refused:
        select(early, reports)
    assert str(refused.value) == "state = '1 of 2 rounds closed': should all be closed"
    with pytest.raises(cv.InputError, match="0 of 2 rounds closed"):
        select(begin(plan), reports, early=True)
