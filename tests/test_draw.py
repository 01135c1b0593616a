"""Draws are exact, ask for the same randomness everywhere, and are refused without a certificate."""

from __future__ import annotations

import itertools
import math
import timeit
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify import certify
from crowdveil.draw import draw, draw_by_words, draw_many
from crowdveil.errors import InputError, NotPrivateError
from crowdveil.policy.policy import Completion, Policy
from crowdveil.vocabulary import NULL

LINE = Area.from_points_km([[0, 0], [1, 0], [2, 0], [3, 0]])


def two_symbols(bits: int = 12) -> Policy:
    total = 1 << bits
    hit = np.array([total // 2, total // 3, total // 7, total // 20])
    return Policy(LINE, math.log(4), (0,), np.column_stack([hit, total - hit]), bits=bits)


def three_symbols(bits: int = 12) -> Policy:
    total = 1 << bits
    first = np.array([total // 4, total // 5, total // 8, total // 10])
    second = np.array([total // 8, total // 6, total // 4, total // 4])
    weights = np.column_stack([first, second, total - first - second])
    return Policy(LINE, math.log(4), (0,), weights, symbols=("hit", "1", "2"), bits=bits)


def refined(bits: int = 6) -> Policy:
    total = 1 << bits
    hit = np.array([total // 2, total // 3, total // 4, total // 5])
    ways = np.array([[total // 2, total // 4, total // 4], [total // 3, total // 3, total - 2 * (total // 3)]])
    completion = Completion((1, 2, 3), np.array([0, 0, 1, 1]), ways)
    return Policy(LINE, 2.0, (0,), np.column_stack([hit, total - hit]), bits=bits, completion=completion)


def tape(*numbers: int) -> Callable[[int], int]:
    left: Iterator[int] = iter(numbers)
    return lambda _: next(left)


def chi_square(symbols: IntArray, row: FloatArray) -> float:
    """P-value of the counts of `symbols` under the probabilities `row`."""
    expected = row * len(symbols)
    counts = np.bincount(symbols, minlength=len(row))
    return float(chi2.sf(np.sum((counts - expected) ** 2 / expected), len(row) - 1))


@pytest.mark.parametrize("policy", [two_symbols(), three_symbols()], ids=["two symbols", "three symbols"])
@pytest.mark.parametrize("cell", range(4))
def test_all_4096_tapes_give_each_symbol_exactly_its_weight(policy: Policy, cell: int) -> None:
    certificate = certify(policy)
    drawn = Counter(draw(policy, cell, certificate, tape(number)) for number in range(4096))
    assert [drawn[symbol] for symbol in range(policy.symbol_count)] == policy.weights[cell].tolist()


@pytest.mark.parametrize("cell", range(4))
def test_all_pairs_of_tapes_give_each_refined_symbol_exactly_its_weight(cell: int) -> None:
    policy = refined()
    assert policy.completion is not None
    certificate = certify(policy)
    pairs = itertools.product(range(64), repeat=2)
    drawn = Counter(draw(policy, cell, certificate, tape(*pair)) for pair in pairs)
    hit, other = policy.weights[cell].tolist()
    ways = policy.completion.weights[policy.completion.row[cell]].tolist()
    assert [drawn[symbol] for symbol in range(policy.symbol_count)] == [
        hit * 64,
        *(other * algorithm for algorithm in ways),
    ]


@pytest.mark.parametrize(("policy", "calls"), [(two_symbols(), 1), (three_symbols(), 1), (refined(), 2)])
def test_every_place_and_every_symbol_asks_for_the_same_random_bits(policy: Policy, calls: int) -> None:
    certificate = certify(policy)
    for cell, number in itertools.product(range(4), range(1 << policy.bits)):
        asked: list[int] = []

        def random_bits(bits: int, number: int = number, asked: list[int] = asked) -> int:
            asked.append(bits)
            return number

        draw(policy, cell, certificate, random_bits)
        assert asked == [policy.bits] * calls


def test_draws_use_the_operating_system_unless_told_otherwise() -> None:
    policy = refined(bits=53)
    certificate = certify(policy)
    drawn = np.array([draw(policy, 2, certificate) for _ in range(4000)])
    assert chi_square(drawn, policy.table()[2]) > 1e-9


@pytest.mark.parametrize("policy", [two_symbols(53), three_symbols(53), three_symbols(62), refined(53), refined(62)])
def test_a_million_simulated_draws_fit_the_table_and_refute_one_altered_by_five_percent(
    policy: Policy,
) -> None:
    generator = np.random.default_rng(20120403)
    cells = generator.integers(0, len(policy), 1_000_000)
    symbols = draw_many(policy, cells, certify(policy), generator)
    table = policy.table()
    for cell in range(len(policy)):
        here = symbols[cells == cell]
        assert chi_square(here, table[cell]) > 1e-4
        altered = table[cell].copy()
        altered[0] *= 1.05
        altered[-1] += table[cell][0] - altered[0]
        assert chi_square(here, altered) < 1e-4


def test_simulated_draws_with_all_bit_patterns_are_exact() -> None:
    policy = three_symbols()

    class Tapes(np.random.Generator):
        def integers(self, low: int, high: int, *, size: int, dtype: type) -> np.ndarray:  # type: ignore[override]
            assert (low, high, dtype) == (0, 1 << 64, np.uint64)
            return np.arange(size, dtype=np.uint64) << np.uint64(64 - 12)

    for cell in range(4):
        symbols = draw_many(policy, np.full(4096, cell), certify(policy), Tapes(np.random.PCG64(1)))
        assert np.bincount(symbols).tolist() == policy.weights[cell].tolist()


def test_simulated_draws_keep_the_shape_of_the_cells_and_follow_the_seed() -> None:
    policy = refined(53)
    certificate = certify(policy)
    cells = np.arange(12).reshape(3, 4) % 4
    one = draw_many(policy, cells, certificate, np.random.default_rng(5))
    two = draw_many(policy, cells, certificate, np.random.default_rng(5))
    assert one.shape == (3, 4)
    assert np.array_equal(one, two)
    assert draw_many(policy, [], certificate, np.random.default_rng(5)).shape == (0,)


def test_two_symbols_are_simulated_almost_as_fast_as_random_numbers_are_made() -> None:
    policy = two_symbols(53)
    certificate = certify(policy)
    generator = np.random.default_rng(1)
    cells = generator.integers(0, 4, 500_000)

    def fastest_s(make: Callable[[], object]) -> float:
        return min(timeit.repeat(make, repeat=5, number=1))

    numbers_s = fastest_s(lambda: generator.integers(0, 2**53, len(cells)))
    assert fastest_s(lambda: draw_many(policy, cells, certificate, generator)) < 20 * numbers_s  # mostly 3 times


def test_nothing_is_drawn_without_a_certificate_that_says_private() -> None:
    policy = two_symbols()
    steep = replace(policy, epsilon_per_km=0.1)
    refused = certify(steep)
    assert not refused.ok
    with pytest.raises(NotPrivateError, match="refusing to draw"):
        draw(steep, 0, refused)
    with pytest.raises(NotPrivateError, match="refusing to draw"):
        draw_many(steep, [0], refused, np.random.default_rng(1))


def test_nothing_is_drawn_with_the_certificate_of_another_policy() -> None:
    certificate = certify(three_symbols())
    with pytest.raises(NotPrivateError, match="another policy"):
        draw(two_symbols(), 0, certificate)
    with pytest.raises(NotPrivateError, match="another policy"):
        draw_many(two_symbols(), [0], certificate, np.random.default_rng(1))


def test_nothing_is_drawn_when_the_certificate_allows_more_loss_than_the_policy_states() -> None:
    steep = replace(two_symbols(), epsilon_per_km=0.1)
    lax = certify(steep, epsilon_per_km=5.0)
    assert lax.ok
    with pytest.raises(NotPrivateError, match=r"states ε = 0\.1 per km, but the certificate is for 5"):
        draw(steep, 0, lax)


@pytest.mark.parametrize("cell", [-1, 4, 10**9])
def test_a_cell_outside_the_area_is_refused_by_name(cell: int) -> None:
    policy = two_symbols()
    certificate = certify(policy)
    with pytest.raises(InputError, match=f"cell = {cell}: cells of this area are 0 to 3"):
        draw(policy, cell, certificate)
    with pytest.raises(InputError, match=f"cells = {cell}"):
        draw_many(policy, [0, cell], certificate, np.random.default_rng(1))


def test_broken_generators_are_refused() -> None:
    policy = two_symbols()
    certificate = certify(policy)
    with pytest.raises(InputError, match=r"random_bits\(12\) = 4096"):
        draw(policy, 0, certificate, lambda bits: 1 << bits)
    with pytest.raises(InputError, match="generator"):
        draw_many(policy, [0], certificate, 7)  # type: ignore[arg-type]


# --- outside, and grades --------------------------------------------------------------------------------------


def protected(policy: Policy) -> Policy:
    """The same policy with a row for NULL: that of its second cell."""
    completion = policy.completion
    if completion is not None:
        completion = replace(completion, row=np.append(completion.row, completion.row[1]))
    weights = np.vstack([policy.weights, policy.weights[1]])
    return replace(policy, null_epsilon=3.0, weights=weights, completion=completion)


def graded(bits: int, *, completed: bool = False) -> Policy:
    """Four cells at two grades, and NULL: all nine rows are different."""
    total = 1 << bits
    hit = np.array([14, 11, 9, 8, 6, 5, 4, 3, 2]) * (total // 32)
    outside = np.array([4, 4, 4, 4, 5, 5, 5, 6, 12]) * (total // 64)
    first = (total - hit - outside) // 8 * np.array([6, 5, 5, 5, 3, 3, 2, 2, 4])
    weights = np.column_stack([hit, outside, first, total - hit - outside - first])
    completion = None
    if completed:
        ways = np.array([[4, 2, 2], [3, 3, 2], [2, 3, 3]]) * (total // 8)
        completion = Completion((1, 2, 3), np.array([0, 0, 1, 1, 0, 0, 1, 1, 2]), ways)
    symbols = ("hit", "outside", "grade 1", "grade 2")
    return Policy(
        LINE,
        2.0,
        (0,),
        weights,
        symbols,
        bits=bits,
        completion=completion,
        null_epsilon=3.0,
        grade_epsilon=2.0,
        grades=2,
    )


INPUTS = [(cell, grade) for grade in (0, 1) for cell in range(4)] + [(NULL, 0)]


@pytest.mark.parametrize("policy", [two_symbols(), three_symbols()], ids=["two symbols", "three symbols"])
def test_all_4096_tapes_give_null_each_symbol_exactly_its_weight(policy: Policy) -> None:
    policy = protected(policy)
    certificate = certify(policy)
    drawn = Counter(draw(policy, NULL, certificate, tape(number)) for number in range(4096))
    assert [drawn[s] for s in range(len(policy.symbols))] == policy.weights[-1].tolist()


@pytest.mark.parametrize(("cell", "grade"), INPUTS)
def test_all_tapes_give_every_cell_and_grade_exactly_its_weights(cell: int, grade: int) -> None:
    policy = graded(10)
    certificate = certify(policy)
    drawn = Counter(draw(policy, cell, certificate, tape(number), grade=grade) for number in range(1024))
    assert [drawn[s] for s in range(4)] == policy.weights[INPUTS.index((cell, grade))].tolist()


@pytest.mark.parametrize(("cell", "grade"), INPUTS)
def test_all_pairs_of_tapes_refine_every_grade_exactly(cell: int, grade: int) -> None:
    policy = graded(6, completed=True)
    assert policy.completion is not None
    certificate = certify(policy)
    pairs = itertools.product(range(64), repeat=2)
    drawn = Counter(draw(policy, cell, certificate, tape(*pair), grade=grade) for pair in pairs)
    row = INPUTS.index((cell, grade))
    hit, outside, *by_grade = policy.weights[row].tolist()
    ways = policy.completion.weights[policy.completion.row[row]].tolist()
    expected = [hit * 64, outside * 64, *(weight * way for weight in by_grade for way in ways)]
    assert [drawn[symbol] for symbol in range(policy.symbol_count)] == expected
    assert policy.table()[row].tolist() == [count / 4096 for count in expected]


@pytest.mark.parametrize("policy", [graded(10), graded(6, completed=True), protected(refined())])
def test_every_input_draws_the_same_amount_of_randomness(policy: Policy) -> None:
    certificate = certify(policy)
    for cell, grade in INPUTS:
        if grade >= policy.grades:
            continue
        for number in range(1 << policy.bits):
            asked: list[int] = []

            def random_bits(bits: int, number: int = number, asked: list[int] = asked) -> int:
                asked.append(bits)
                return number

            draw(policy, cell, certificate, random_bits, grade=grade)
            assert asked == [policy.bits] * (1 if policy.completion is None else 2)


@pytest.mark.parametrize(
    "policy",
    [
        protected(two_symbols()),
        protected(three_symbols()),
        protected(refined()),
        graded(53),
        graded(53, completed=True),
        graded(62, completed=True),
    ],
    ids=["two", "three", "refined", "grades", "grades refined", "grades refined at 62 bits"],
)
@pytest.mark.parametrize("how", ["draw_many", "draw_by_words"])
def test_many_draws_follow_the_row_of_every_input_and_refute_that_of_another(policy: Policy, how: str) -> None:
    inputs = [one for one in INPUTS if one[1] < policy.grades]
    places, grades = np.tile(np.array(inputs), (20_000, 1)).T
    generator = np.random.default_rng(8)
    certificate = certify(policy)
    given = grades if policy.grades > 1 else None
    if how == "draw_many":
        symbols = draw_many(policy, places, certificate, generator, given)
    else:
        words = generator.integers(0, 1 << 64, size=(2, len(places)), dtype=np.uint64)
        symbols = draw_by_words(policy, places, certificate, (words[0], words[1]), given)
    table = policy.table()
    for row, (cell, grade) in enumerate(inputs):
        here = symbols[(places == cell) & (grades == grade)]
        assert chi_square(here, table[row]) > 1e-4
        for other in range(len(inputs)):
            if not np.allclose(table[row], table[other]):
                assert chi_square(here, table[other]) < 1e-4


def test_draws_without_grades_are_those_of_regular_visitors() -> None:
    policy = graded(53, completed=True)
    certificate = certify(policy)
    cells = np.array([0, 3, NULL, 2, 1] * 20).reshape(4, 25)
    none = draw_many(policy, cells, certificate, np.random.default_rng(3))
    zero = draw_many(policy, cells, certificate, np.random.default_rng(3), np.zeros_like(cells))
    assert none.shape == (4, 25)
    assert none.tolist() == zero.tolist()
    one = draw_many(policy, cells, certificate, np.random.default_rng(3), np.ones_like(cells))
    assert none.tolist() != one.tolist()
    assert draw(policy, 2, certificate, tape(5, 5)) == draw(policy, 2, certificate, tape(5, 5), grade=0)


def test_a_policy_without_a_row_for_null_draws_nothing_for_it() -> None:
    clear = two_symbols()
    with pytest.raises(InputError, match="cell = -1"):
        draw(clear, NULL, certify(clear))
    with pytest.raises(InputError, match="cells = -1"):
        draw_many(clear, [0, NULL], certify(clear), np.random.default_rng(1))
    for place in (-2, 4):
        with pytest.raises(InputError, match=f"cell = {place}"):
            draw(protected(clear), place, certify(protected(clear)))


@pytest.mark.parametrize("grade", [-1, 2, 10**9])
def test_a_grade_that_the_policy_does_not_have_is_refused(grade: int) -> None:
    policy, clear = graded(12), two_symbols()
    generator = np.random.default_rng(1)
    with pytest.raises(InputError, match=f"grade = {grade}: should be a whole number from 0 to 1"):
        draw(policy, 0, certify(policy), grade=grade)
    with pytest.raises(InputError, match=f"grades = {grade}"):
        draw_many(policy, [0, 1], certify(policy), generator, [0, grade])
    for bad in (1, grade):
        with pytest.raises(InputError, match=f"grade = {bad}: should be a whole number from 0 to 0"):
            draw(clear, 0, certify(clear), grade=bad)
        with pytest.raises(InputError, match=f"grades = {bad}"):
            draw_many(clear, [0], certify(clear), generator, [bad])


def test_grades_of_another_shape_are_refused() -> None:
    policy = graded(12)
    for wrong in ([0, 1], 1, [[0, 1, 0]]):
        with pytest.raises(InputError, match=r"grades = 'shape .*': should have the shape of cells, \(3,\)"):
            draw_many(policy, [0, 1, 2], certify(policy), np.random.default_rng(1), wrong)
    with pytest.raises(InputError, match="grades"):
        draw_many(policy, [0, 1, 2], certify(policy), np.random.default_rng(1), [0.5, 1, 0])


@pytest.mark.parametrize(
    ("field", "said"),
    [("null_epsilon", "Being outside is NOT protected"), ("grade_epsilon", "regularity of visits is NOT protected")],
)
def test_a_policy_past_one_of_its_bounds_is_drawn_from_by_nobody(field: str, said: str) -> None:
    policy = replace(graded(12), **{field: 0.01})  # type: ignore[arg-type]
    for place in (NULL, 0):
        with pytest.raises(NotPrivateError, match=said):
            draw(policy, place, certify(policy))


BAD_PLACES: dict[str, tuple[object, object, str]] = {
    "cells of different lengths": ([[0], [1, 2]], None, r"cells = \[\[0\], \[1, 2\]\]: cells are whole numbers"),
    "a cell that is not whole": ([0.5], None, r"cells = \[0\.5\]: cells are whole numbers"),
    "a cell that is not there": ([0, 4], None, "cells = 4: cells of this area are 0 to 3"),
    "grades of different lengths": ([0, 1], [[0], [1, 2]], r"grades = \[\[0\], \[1, 2\]\]: grades are whole numbers"),
    "a grade that is not there": ([0, 1], [0, 2], "grades = 2: "),
}


@pytest.mark.parametrize("name", BAD_PLACES)
def test_many_places_that_make_no_sense_are_refused_by_name(name: str) -> None:
    cells, grades, said = BAD_PLACES[name]
    policy = graded(12)
    words = (np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.uint64))
    with pytest.raises(InputError, match=f"^{said}"):
        draw_many(policy, cells, certify(policy), np.random.default_rng(1), grades)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"^{said}"):
        draw_by_words(policy, cells, certify(policy), words, grades)  # type: ignore[arg-type]


def test_who_is_outside_has_no_grade() -> None:
    generator = np.random.default_rng(1)
    policy = graded(12)
    assert draw_many(policy, [0, NULL], certify(policy), generator, [1, 7]).shape == (2,)
    without_grades = protected(two_symbols())
    assert draw_many(without_grades, [0, NULL], certify(without_grades), generator, [0, 0]).shape == (2,)


@pytest.mark.parametrize("policy", [two_symbols(), three_symbols(), refined(), graded(12)])
def test_one_place_alone_is_drawn_for_too(policy: Policy) -> None:
    for cell in range(4):
        (symbol,) = draw_many(policy, [cell], certify(policy), np.random.default_rng(1))
        assert 0 <= symbol < policy.symbol_count
