"""Who is chosen, and why."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import crowdveil as cv
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.campaign.groups import Groups, groups_of
from crowdveil.campaign.selection import (
    Reports,
    Selection,
    lottery_number,
    select_by_posterior,
    select_for_each_target,
    select_latest_first,
)
from crowdveil.prior import posterior
from tests.town import live, people_around, square_town

TOWN = square_town(4)
TARGETS = [5, 14]
PRIOR = people_around(TOWN, 1)


@lru_cache(maxsize=1)
def three_rounds() -> list[cv.Policy]:
    """Equal columns, informative columns at another quota, and a mechanism that names cells."""
    return [
        cv.optimal_policy(TOWN, None, TARGETS, epsilon_per_km=log(4), beta=0.1),
        cv.optimal_policy(TOWN, PRIOR, TARGETS, epsilon_per_km=log(4), beta=0.2, completion="informative"),
        cv.planar_laplace(TOWN, None, TARGETS, log(4)),
    ]


@lru_cache(maxsize=1)
def three_groups() -> Groups:
    return groups_of(three_rounds(), PRIOR, TARGETS)


@st.composite
def reports(draw: st.DrawFn, least: int = 0) -> Reports:
    """Anyone, in any round, with any symbol; few different symbols, so that ties are common."""
    who = draw(st.lists(st.integers(-5, 10**6), unique=True, min_size=least, max_size=25))
    symbols = [draw(st.lists(st.integers(0, p.symbol_count - 1), min_size=1, max_size=3)) for p in three_rounds()]
    rounds = [draw(st.integers(0, 2)) for _ in who]
    sent = [draw(st.sampled_from(symbols[number])) for number in rounds]
    return Reports(np.array(who, dtype=np.int64), np.array(rounds, dtype=np.int64), np.array(sent, dtype=np.int64))


def rows_of(reports: Reports) -> list[tuple[int, int, int]]:
    return list(zip(reports.participant.tolist(), reports.round.tolist(), reports.symbol.tolist(), strict=True))


def chance(number: int, symbol: int) -> float:
    return float(posterior(PRIOR, three_rounds()[number], symbol)[TARGETS].sum())


def in_one_round(symbols: list[int], number: int = 0) -> Reports:
    return Reports(np.arange(len(symbols)), np.full(len(symbols), number), np.array(symbols, dtype=np.int64))


# --- by posterior ---------------------------------------------------------------------------------------------


@settings(deadline=None, derandomize=True, max_examples=150)
@given(reports(), st.integers(1, 30), st.integers(0, 10**9).map(str))
def test_those_with_the_highest_chance_of_a_target_are_chosen_and_a_lottery_decides_among_equals(
    sent: Reports, wanted: int, seed: str
) -> None:
    def rank(row: tuple[int, int, int]) -> tuple[float, int, int, bytes]:
        who, number, symbol = row
        drawn = hashlib.sha256(f"{seed}:{who}".encode()).digest()
        return -round(chance(number, symbol), 6), -number, symbol, drawn

    best = sorted(rows_of(sent), key=rank)[:wanted]
    found = select_by_posterior(sent, three_groups(), wanted, seed)
    assert set(found.participants.tolist()) == {who for who, _, _ in best}
    assert len(found) == len(best) == wanted - found.short
    assert found.chances.tolist() == pytest.approx([chance(number, symbol) for _, number, symbol in best], abs=1e-6)
    assert found.hits == sum(symbol in three_rounds()[number].selecting for _, number, symbol in best)
    assert (np.diff(found.chances) <= 0).all()


@settings(deadline=None, derandomize=True, max_examples=60)
@given(reports(least=2), st.integers(1, 30), st.integers(0, 10**9).map(str), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_decides_nothing(sent: Reports, wanted: int, seed: str, shuffler: object) -> None:
    order = np.arange(len(sent))
    shuffler.shuffle(order)  # type: ignore[attr-defined]
    mixed = Reports(sent.participant[order], sent.round[order], sent.symbol[order])
    one, two = (select_by_posterior(r, three_groups(), wanted, seed) for r in (sent, mixed))
    assert one.participants.tolist() == two.participants.tolist()
    assert one.chances.tolist() == two.chances.tolist()


def test_the_lottery_is_one_that_anyone_can_repeat() -> None:
    """printf 7:12 | sha256sum"""
    assert lottery_number("7", "12") == 0x0D6236236F75C17979109C89E05C4BEBFA428E1B3EF11B4D4F14487201B02B2B
    assert lottery_number("0", "0") == 0xAC72368A586A18C19088393573CE03074B8E8A4D8C21ADD8729AF1890A407E52
    everyone = in_one_round([0] * 9)
    winners = select_by_posterior(everyone, three_groups(), 3, seed="7").participants.tolist()
    assert winners == sorted(sorted(range(9), key=lambda who: hashlib.sha256(b"7:%d" % who).digest())[:3])


def test_being_early_does_not_help() -> None:
    seeds, people, wanted = 1500, 40, 10
    everyone = in_one_round([0] * people)
    won = np.zeros(people)
    for seed in range(seeds):
        won[select_by_posterior(everyone, three_groups(), wanted, str(seed)).participants] += 1
    assert won.sum() == seeds * wanted
    share = wanted / people
    assert (np.abs(won - seeds * share) < 4 * sqrt(seeds * share * (1 - share))).all()
    halves = 4 * sqrt(seeds * wanted / 4)
    assert abs(won[: people // 2].sum() - seeds * wanted / 2) < halves
    assert halves < 0.05 * seeds * wanted / 2  # so that an early half that wins 5 % too often would not pass


def test_of_equal_chances_the_later_round_comes_first() -> None:
    policy = three_rounds()[0]
    both = Reports(np.arange(6), np.array([0, 1, 0, 1, 0, 1]), np.zeros(6, dtype=np.int64))
    for seed in range(20):
        found = select_by_posterior(both, groups_of([policy, policy], PRIOR, TARGETS), 3, str(seed))
        assert found.participants.tolist() == [1, 3, 5]
        assert found.short == 0


def test_where_too_few_are_hits_the_next_best_symbols_fill_up() -> None:
    policy = three_rounds()[1]
    order = sorted(range(policy.symbol_count), key=lambda symbol: -chance(1, symbol))
    assert order[0] == 0
    symbols = [order[-1], order[2], 0, order[1], 0, order[2]]
    found = select_by_posterior(in_one_round(symbols, 1), three_groups(), 4, seed="3")
    lucky = min((1, 5), key=lambda who: lottery_number("3", str(who)))
    assert found.participants.tolist() == [2, 4, 3, lucky]
    assert (found.hits, found.short) == (2, 0)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(reports(), st.integers(1, 30))
def test_only_who_sent_a_symbol_is_ever_chosen_and_what_is_missing_is_said(sent: Reports, wanted: int) -> None:
    for found in (
        select_by_posterior(sent, three_groups(), wanted, "0"),
        select_latest_first(sent, three_groups(), wanted),
    ):
        chosen = found.participants.tolist()
        assert len(set(chosen)) == len(chosen) == wanted - found.short == len(found.chances)
        assert set(chosen) <= set(sent.participant.tolist())
    everyone = select_by_posterior(sent, three_groups(), 30, "0")
    assert sorted(everyone.participants.tolist()) == sorted(sent.participant.tolist())
    assert everyone.short == 30 - len(sent)


# --- for each target ------------------------------------------------------------------------------------------


def chance_at(number: int, symbol: int, target: int) -> float:
    return round(float(posterior(PRIOR, three_rounds()[number], symbol)[target]), 6)


def best_total(sent: Reports, numbers: list[int]) -> float:
    """The highest sum of chances, person by person, by another algorithm."""
    seats = np.repeat(np.array(TARGETS), numbers).tolist()
    pairs = np.array([[chance_at(number, symbol, seat) for seat in seats] for _, number, symbol in rows_of(sent)])
    people, places = linear_sum_assignment(pairs.reshape(-1, len(seats)), maximize=True)
    return float(pairs.reshape(-1, len(seats))[people, places].sum())


@settings(deadline=None, derandomize=True, max_examples=150)
@given(reports(), st.lists(st.integers(1, 8), min_size=2, max_size=2), st.integers(0, 10**9).map(str))
def test_every_target_gets_its_number_and_the_most_are_expected_to_come(
    sent: Reports, numbers: list[int], seed: str
) -> None:
    found = select_for_each_target(sent, three_groups(), numbers, seed)
    row_of = {who: (number, symbol) for who, number, symbol in rows_of(sent)}
    chosen = found.participants.tolist()
    assert len(set(chosen)) == len(chosen) == min(len(sent), sum(numbers)) == sum(numbers) - found.short
    for target, wanted in enumerate(numbers):
        assert len(found.at_target(target)) == wanted - found.missing[target]
        assert (np.diff(found.chances[found.targets == target]) <= 0).all()
    assert (np.diff(found.targets) >= 0).all()
    for who, target, chance, how in zip(
        chosen, found.targets.tolist(), found.chances.tolist(), found.chosen, strict=True
    ):
        number, symbol = row_of[who]
        policy = three_rounds()[number]
        assert chance == chance_at(number, symbol, TARGETS[target])
        one_each = len(policy.selecting) == len(TARGETS)
        own = symbol == policy.selecting[target] if one_each else symbol in policy.selecting
        assert how == ("symbol" if own else "filled")
    assert found.chances.sum() == pytest.approx(best_total(sent, numbers), abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(reports(least=2), st.integers(0, 10**9).map(str), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_decides_nothing_about_who_goes_where(sent: Reports, seed: str, shuffler: object) -> None:
    order = np.arange(len(sent))
    shuffler.shuffle(order)  # type: ignore[attr-defined]
    mixed = Reports(sent.participant[order], sent.round[order], sent.symbol[order])
    one, two = (select_for_each_target(r, three_groups(), (2, 3), seed) for r in (sent, mixed))
    assert one.participants.tolist() == two.participants.tolist()
    assert one.targets.tolist() == two.targets.tolist()


def test_one_lottery_of_a_group_serves_all_targets_that_take_from_it() -> None:
    everyone = in_one_round([0] * 12)
    at = three_groups().at[0]
    assert at[0] < at[1]
    found = select_for_each_target(everyone, three_groups(), (4, 3), "7")
    drawn = sorted(range(12), key=lambda who: lottery_number("7", str(who)))
    assert found.at_target(1).tolist() == sorted(drawn[:3])
    assert found.at_target(0).tolist() == sorted(drawn[3:7])
    assert found.missing == (0, 0)


def test_a_shortfall_is_named_for_the_target_that_has_it() -> None:
    laplace = 2
    near_first = in_one_round([TARGETS[0]] * 3, laplace)
    found = select_for_each_target(near_first, three_groups(), (2, 4), "0")
    assert found.missing == (0, 3)
    assert found.chosen == ["symbol", "symbol", "filled"]
    nobody_reported = in_one_round([])
    assert select_for_each_target(nobody_reported, three_groups(), (2, 4), "0").missing == (2, 4)


def test_where_any_target_will_do_the_likeliest_one_is_named() -> None:
    laplace = 2
    sent = in_one_round([TARGETS[1], TARGETS[0], TARGETS[1]], laplace)
    found = select_by_posterior(sent, three_groups(), 3, "0")
    named = dict(zip(found.participants.tolist(), found.targets.tolist(), strict=True))
    assert named == {0: 1, 1: 0, 2: 1}
    printed = select_latest_first(sent, three_groups(), 3)
    assert printed.targets.tolist() == [1, 0, 1]
    assert sorted(printed.chances.tolist()) == sorted(found.chances.tolist())


def test_ten_thousand_of_a_million_people_are_selected() -> None:
    people = 10**6
    generator = np.random.default_rng(1)
    rounds = generator.integers(0, 3, people)
    symbols = (generator.random(people) * np.diff(three_groups().begin)[rounds]).astype(np.int64)
    sent = Reports(np.arange(people), rounds, symbols)
    found = select_for_each_target(sent, three_groups(), (5_000, 5_000), "7")
    assert (len(found), found.short) == (10_000, 0)


# --- as printed -----------------------------------------------------------------------------------------------


def as_printed(sent: Reports, wanted: int) -> list[int]:
    """The last loops of Algorithm 2, line by line."""
    chosen: list[int] = []
    for j in (2, 1, 0):
        for who, number, symbol in rows_of(sent):
            if number == j and symbol in three_rounds()[j].selecting:
                chosen.append(who)
                if len(chosen) == wanted:
                    return chosen
    return chosen


@settings(deadline=None, derandomize=True, max_examples=150)
@given(reports(), st.integers(1, 30))
def test_latest_first_is_the_printed_loop(sent: Reports, wanted: int) -> None:
    found = select_latest_first(sent, three_groups(), wanted)
    assert found.participants.tolist() == as_printed(sent, wanted)
    assert found.hits == len(found)
    assert found.short == wanted - len(found)


# --- people who lie -------------------------------------------------------------------------------------------


def with_fakes(seed: int, latest: bool) -> tuple[Reports, list[cv.Policy]]:
    """950 honest users and 50 fakes who always send `hit`; every fake reports before every honest user."""
    policy = three_rounds()[0]
    generator = np.random.default_rng(seed)
    honest = cv.draw_many(policy, live(PRIOR, 950, generator), cv.certify(policy), generator)
    rounds = np.concatenate([np.full(50, 3) if latest else generator.integers(4, size=50), np.arange(950) % 4])
    return Reports(np.arange(1000), rounds, np.concatenate([np.zeros(50, dtype=np.int64), honest])), [policy] * 4


def fakes(selection: Selection) -> int:
    return int((selection.participants < 50).sum())


def test_one_in_twenty_who_always_says_hit_does_not_take_all_the_places() -> None:
    taken, latest, printed = [], [], []
    for seed in range(20):
        spread, policies = with_fakes(seed, latest=False)
        taken.append(fakes(select_by_posterior(spread, groups_of(policies, PRIOR, TARGETS), 50, str(seed))))
        together, policies = with_fakes(seed, latest=True)
        latest.append(fakes(select_by_posterior(together, groups_of(policies, PRIOR, TARGETS), 50, str(seed))))
        printed.append(fakes(select_latest_first(together, groups_of(policies, PRIOR, TARGETS), 50)))
    # About 0.1 of 950 honest users are hits too, so fakes who do not choose their round are a third of the hits,
    assert max(taken) < 30
    assert np.mean(taken) < 22
    # and who all choose the last round two thirds of its hits; in the printed order, who comes first has everything.
    assert max(latest) < 46
    assert np.mean(latest) < 38
    assert min(printed) == 50


# --- wrong input ----------------------------------------------------------------------------------------------


def columns(participant: list[int], number: list[int], symbol: list[int]) -> tuple[IntArray, IntArray, IntArray]:
    return np.array(participant), np.array(number), np.array(symbol)


def test_reports_that_cannot_be_are_refused() -> None:
    with pytest.raises(cv.InputError, match="participant = 4: should have one report"):
        Reports(*columns([4, 3, 4], [0, 0, 1], [0, 0, 0]))
    with pytest.raises(cv.InputError, match=r"round = 'shape \(1,\)': should have one entry for each of 2 reports"):
        Reports(*columns([1, 2], [0], [0, 0]))
    with pytest.raises(cv.InputError, match=r"participant = 'shape \(\)'"):
        Reports(5, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(cv.InputError, match="symbol = 'float64': should be whole numbers"):
        Reports(np.array([1]), np.array([0]), np.array([0.5]))


@pytest.mark.parametrize("algorithm", ["by posterior", "latest first", "for each target"])
def test_what_cannot_be_chosen_from_is_refused(algorithm: str) -> None:
    def select(sent: Reports, policies: list[cv.Policy], wanted: int) -> Selection:
        if algorithm == "latest first":
            return select_latest_first(sent, groups_of(policies, PRIOR, TARGETS), wanted)
        if algorithm == "for each target":
            return select_for_each_target(sent, groups_of(policies, PRIOR, TARGETS), (wanted, 1), "0")
        return select_by_posterior(sent, groups_of(policies, PRIOR, TARGETS), wanted, "0")

    fine = in_one_round([0, 1])
    for wanted in (0, -1, 1.5, True):
        with pytest.raises(cv.InputError, match=f"(wanted|numbers) = {wanted}"):
            select(fine, three_rounds(), wanted)  # type: ignore[arg-type]
    with pytest.raises(cv.InputError, match="policies"):
        select(fine, [], 1)
    for number in (-1, 3):
        with pytest.raises(cv.InputError, match=f"round = {number}"):
            select(in_one_round([0], number), three_rounds(), 1)
    for symbol in (-1, 2):
        with pytest.raises(cv.InputError, match=f"symbol = {symbol}"):
            select(in_one_round([0, symbol]), three_rounds(), 1)


def test_a_prior_for_other_cells_is_refused() -> None:
    wrong: FloatArray = np.array([0.5, 0.5])
    with pytest.raises(cv.InputError, match="prior"):
        groups_of(three_rounds(), wrong, TARGETS)


def test_reports_cannot_be_changed_afterwards() -> None:
    mine = np.array([1, 2])
    kept = Reports(mine, np.array([0, 0]), np.array([0, 1]))
    mine[0] = 99
    assert kept.participant.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        kept.symbol[0] = 5
    assert kept != Reports(kept.participant, kept.round, kept.symbol)  # rather than an error about arrays


# --- the protected form ---------------------------------------------------------------------------------------


def test_senders_without_a_place_lower_the_chances_of_what_they_send() -> None:
    policy = cv.optimal_policy(
        TOWN, PRIOR, TARGETS, epsilon_per_km=log(4), beta=0.1, null_epsilon=log(4), null_share=0.5
    )
    sent = in_one_round([0, 1, 1, 0])
    none, some = (select_by_posterior(sent, groups_of([policy], PRIOR, TARGETS, share), 2, "0") for share in (0.0, 0.5))
    assert none.participants.tolist() == some.participants.tolist() == [0, 3]
    hit = 0.5 * (PRIOR @ policy.hit[:-1]) + 0.5 * policy.hit[-1]
    expected = 0.5 * (PRIOR[TARGETS] @ policy.hit[TARGETS]) / hit
    assert some.chances.tolist() == pytest.approx([expected] * 2, abs=1e-6)
    assert (some.chances < none.chances).all()


def test_regular_visitors_come_before_occasional_ones_and_both_before_those_outside() -> None:
    joint = np.stack([0.5 * PRIOR, 0.5 * PRIOR])
    policy = cv.optimal_policy(
        TOWN,
        joint,
        TARGETS,
        epsilon_per_km=log(4),
        beta=0.02,
        completion="informative",
        null_epsilon=log(64),
        null_share=0.3,
        grade_epsilon=log(64),
    )
    names = [policy.symbol_name(symbol) for symbol in range(policy.symbol_count)]
    near = [names.index(f"cell 5, grade {grade}") for grade in (1, 2)]
    far = names.index("cell 3, grade 1")
    sent = in_one_round([1, near[1], far, near[0], 0])
    chosen = select_by_posterior(sent, groups_of([policy], joint, TARGETS, 0.3), 5, "7")
    assert chosen.participants.tolist()[:2] == [4, 3]
    assert chosen.participants.tolist()[-1] == 0
    assert chosen.hits == 1
    chances = dict(zip(chosen.participants.tolist(), chosen.chances.tolist(), strict=True))
    assert chances[4] > chances[3] > chances[1] > chances[0]
    # Being there occasionally is not being there: with nobody regular, all chances are 0.
    occasional = np.stack([np.zeros(len(TOWN)), PRIOR])
    assert (
        select_by_posterior(sent, groups_of([policy], occasional, TARGETS, 0.3), 5, "7").chances.tolist() == [0.0] * 5
    )


# --- tickets --------------------------------------------------------------------------------------------------


def test_the_lottery_runs_over_tickets_and_the_seed() -> None:
    tickets = tuple(hashlib.sha256(f"secret {user}".encode()).hexdigest() for user in range(40))
    seed = "ab" * 32
    sent = Reports(np.arange(40), np.zeros(40, dtype=np.int64), np.zeros(40, dtype=np.int64), tickets)
    chosen = select_by_posterior(sent, three_groups(), 7, seed)
    drawn = sorted(range(40), key=lambda user: hashlib.sha256(f"{seed}:{tickets[user]}".encode()).digest())
    assert set(chosen.participants.tolist()) == set(drawn[:7])
    # Numbers and order do not matter, tickets and the seed do.
    shuffled = np.random.default_rng(1).permutation(40)
    renumbered = Reports(1000 - np.arange(40), sent.round, sent.symbol, tickets).in_order(shuffled)
    again = select_by_posterior(renumbered, three_groups(), 7, seed)
    assert {1000 - user for user in again.participants.tolist()} == set(drawn[:7])
    other = select_by_posterior(sent, three_groups(), 7, "cd" * 32)
    assert set(other.participants.tolist()) != set(drawn[:7])
    numbered = Reports(sent.participant, sent.round, sent.symbol)
    by_number = sorted(range(40), key=lambda user: hashlib.sha256(f"{seed}:{user}".encode()).digest())
    chosen = select_by_posterior(numbered, three_groups(), 7, seed)
    assert set(chosen.participants.tolist()) == set(by_number[:7])


def test_there_is_one_ticket_for_each_report() -> None:
    with pytest.raises(cv.InputError, match="ticket = '1 entries': should have one entry for each of 2 reports"):
        Reports(*columns([1, 2], [0, 0], [0, 0]), ("a",))
    rows = Reports(*columns([5, 6, 7], [0, 0, 1], [0, 1, 0]), ("a", "b", "c")).in_order(np.array([2, 0]))
    assert (rows.participant.tolist(), rows.ticket) == ([7, 5], ("c", "a"))
    assert [rows.ticket_of(row) for row in (0, 1)] == ["c", "a"]
    assert in_one_round([0, 0]).ticket_of(1) == "1"


def test_a_number_for_each_target_is_a_whole_number_for_each() -> None:
    with pytest.raises(cv.InputError) as refused:
        select_for_each_target(in_one_round([0, 1]), three_groups(), (2, 3, 4), "0")
    assert str(refused.value) == "numbers = '3 numbers': should have one number for each of 2 targets"
    for wrong in (0, 2.5, True):
        with pytest.raises(cv.InputError) as refused:
            select_for_each_target(in_one_round([0, 1]), three_groups(), (2, wrong), "0")  # type: ignore[arg-type]
        assert str(refused.value) == f"numbers = {wrong}: should be a whole number of people, at least 1"
    with pytest.raises(cv.InputError, match="wanted = 0: should be a whole number of people, at least 1"):
        select_by_posterior(in_one_round([0, 1]), three_groups(), 0, "0")


def test_groups_are_those_of_one_or_more_rounds() -> None:
    with pytest.raises(cv.InputError) as refused:
        groups_of([], PRIOR, TARGETS)
    assert str(refused.value) == "policies = []: should be the policies of one or more rounds"
    groups = three_groups()
    symbols = [policy.symbol_count for policy in three_rounds()]
    assert groups.begin.tolist() == [0, symbols[0], symbols[0] + symbols[1], sum(symbols)]
    assert groups.round.tolist() == [0] * symbols[0] + [1] * symbols[1] + [2] * symbols[2]
    for row in range(len(groups)):
        number = int(groups.round[row])
        symbol = row - int(groups.begin[number])
        assert groups.at[row].tolist() == [chance_at(number, symbol, target) for target in TARGETS]
        assert groups.at_any[row] == pytest.approx(chance(number, symbol), abs=1e-6)
        own = three_rounds()[number].selecting
        named = [symbol == own[t] for t in range(2)] if len(own) == 2 else [symbol in own] * 2
        assert groups.names[row].tolist() == named


def test_a_target_that_the_policy_is_not_for_has_no_symbol() -> None:
    policies = three_rounds()
    groups = groups_of(policies, PRIOR, [3, 14])
    assert not groups.names[:, 0].any()
    assert groups.names[:, 1].sum() == 3
    assert groups.selecting.sum() == 3


def test_grades_and_people_outside_change_the_chances_of_groups() -> None:
    joint = np.outer([0.5, 0.3, 0.2], PRIOR)
    policy = cv.panel_policy(
        TOWN, TARGETS, epsilon_per_km=log(4), targets=TARGETS, null_epsilon=log(64), grade_epsilon=log(8), grades=3
    )
    groups = groups_of([policy], joint, TARGETS, 0.4, (0.9, 0.5, 0.1))
    table, n = policy.table(), len(TOWN)
    for symbol in range(policy.symbol_count):
        sent = 0.6 * sum(joint[g, cell] * table[g * n + cell, symbol] for g in range(3) for cell in range(n))
        sent += 0.4 * table[-1, symbol]
        for position, target in enumerate(TARGETS):
            come = sum(
                w * 0.6 * joint[g, target] * table[g * n + target, symbol] for g, w in enumerate((0.9, 0.5, 0.1))
            )
            assert groups.at[symbol, position] == pytest.approx(come / sent, abs=1e-6)
    assert groups.at_any == pytest.approx(groups.at.sum(axis=1), abs=2e-6)
    assert (groups.at == groups.at.round(6)).all()
