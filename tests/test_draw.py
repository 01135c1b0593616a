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
from crowdveil.draw import draw, draw_many
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
        def integers(self, *_: object, size: int, **__: object) -> np.ndarray:  # type: ignore[override]
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


# --- no place -------------------------------------------------------------------------------------------------


def protected(policy: Policy) -> Policy:
    """The same policy with a row for NULL: that of its second cell."""
    completion = policy.completion
    if completion is not None:
        completion = replace(completion, null_row=int(completion.row[1]))
    return replace(policy, null_epsilon=3.0, null_weights=policy.weights[1], completion=completion)


@pytest.mark.parametrize("policy", [two_symbols(), three_symbols()], ids=["two symbols", "three symbols"])
def test_all_4096_tapes_give_null_each_symbol_exactly_its_weight(policy: Policy) -> None:
    policy = protected(policy)
    certificate = certify(policy)
    drawn = Counter(draw(policy, NULL, certificate, tape(number)) for number in range(4096))
    assert [drawn[s] for s in range(len(policy.symbols))] == policy.null_weights.tolist()  # type: ignore[union-attr]


def test_null_draws_as_much_randomness_as_any_cell_and_refines_from_its_own_row() -> None:
    policy = protected(refined())
    certificate = certify(policy)
    for place in (NULL, 0, 1, 3):
        asked: list[int] = []
        draw(policy, place, certificate, lambda bits, asked=asked: asked.append(bits) or 0)  # type: ignore[misc]
        assert asked == [6, 6]
    for pair in itertools.product(range(64), repeat=2):
        assert draw(policy, NULL, certificate, tape(*pair)) == draw(policy, 1, certificate, tape(*pair))


@pytest.mark.parametrize("policy", [two_symbols(), three_symbols(), refined()], ids=["two", "three", "refined"])
def test_many_draws_follow_the_row_of_null_among_those_of_cells(policy: Policy) -> None:
    policy = protected(policy)
    places = np.tile([NULL, 0, 2], 30_000)
    symbols = draw_many(policy, places, certify(policy), np.random.default_rng(8))
    assert chi_square(symbols[places == NULL], policy.null_table()) > 1e-4
    for cell in (0, 2):
        assert chi_square(symbols[places == cell], policy.table()[cell]) > 1e-4
    assert chi_square(symbols[places == NULL], policy.table()[3]) < 1e-9


def test_a_policy_without_a_row_for_null_draws_nothing_for_it() -> None:
    clear = two_symbols()
    with pytest.raises(InputError, match="cell = -1"):
        draw(clear, NULL, certify(clear))
    with pytest.raises(InputError, match="cells = -1"):
        draw_many(clear, [0, NULL], certify(clear), np.random.default_rng(1))
    for place in (-2, 4):
        with pytest.raises(InputError, match=f"cell = {place}"):
            draw(protected(clear), place, certify(protected(clear)))


def test_a_row_for_null_past_its_bound_is_drawn_from_by_nobody() -> None:
    policy = replace(protected(two_symbols()), null_epsilon=0.01)
    for place in (NULL, 0):
        with pytest.raises(NotPrivateError, match="Having no place is NOT protected"):
            draw(policy, place, certify(policy))
