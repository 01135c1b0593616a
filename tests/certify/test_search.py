"""The search over blocks: what it discards is proved, what it looks at is little, and no portion is lost."""

from __future__ import annotations

from itertools import pairwise
from math import log, pi

import mpmath
import numpy as np
import pytest

from crowdveil.area import Area, Blocks
from crowdveil.area.blocks import Level
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.certify import bounds, certify_table, pairs, search
from crowdveil.certify.bounds import MAX_ENTRIES, BlockBounds
from crowdveil.certify.claim import PrivacyClaim
from crowdveil.certify.columns import LOG_ERROR, Columns
from crowdveil.certify.findings import Findings
from crowdveil.certify.pairs import PairSearch, SymbolBatch
from crowdveil.certify.search import BlockSearch
from tests.certify.good_policies import scattered, square

BETA_PER_M = 1 / 1024


class Recorded(Findings):
    """Findings that remember everything they were asked to consider."""

    def __init__(self, columns: Columns, xy_m: IntArray, claim: PrivacyClaim) -> None:
        super().__init__(columns, xy_m, claim)
        self.considered: list[tuple[int, int, int]] = []

    def consider(self, cells: IntArray, others: IntArray, symbols: IntArray) -> None:
        self.considered += zip(cells.tolist(), others.tolist(), symbols.tolist(), strict=True)
        super().consider(cells, others, symbols)


def tabulated(blocks: Blocks, xy_m: FloatArray, g: FloatArray, error: float = 0.0) -> BlockBounds:
    found = BlockBounds(blocks, xy_m, g, np.full(g.shape[1], error))
    found.tabulate(BETA_PER_M)
    return found


def ordered(area: Area, leaf_cells: int) -> tuple[Blocks, FloatArray]:
    blocks = Blocks.over(area.xy_m, leaf_cells)
    return blocks, area.xy_m[blocks.order].astype(np.float64)


def all_triples(blocks: Blocks, level: int, symbols: int) -> tuple[IntArray, IntArray, IntArray]:
    count = len(blocks.levels[level])
    a, b, s = (index.ravel() for index in np.indices((count, count, symbols)))
    return a, b, s


def largest(values: FloatArray, blocks: Blocks, level: int, block: int) -> float:
    starts = blocks.levels[level].starts
    return float(values[starts[block] : starts[block + 1]].max())


# --- bounds of whole blocks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_blocks_are_decided_by_boxes_or_by_slopes_along_the_line_between_them(seed: int) -> None:
    """Each decision is the one of the two inequalities, with the nearest direction, worked out block by block."""
    rng = np.random.default_rng(seed)
    area = scattered(90, 6.0, seed)
    blocks, xy_m = ordered(area, 3)
    tip = xy_m[rng.integers(90)]
    cone = -BETA_PER_M * np.hypot(*(xy_m - tip).T) * rng.uniform(0.97, 1.0, 90)
    g = np.column_stack([cone, rng.uniform(-3, 0, 90), BETA_PER_M * 0.9 * xy_m @ [0.6, -0.8]])
    found = tabulated(blocks, xy_m, g)
    angle = 2 * pi * np.arange(found.directions) / found.directions
    units = np.column_stack([np.cos(angle), np.sin(angle)])
    decided_by_slopes = 0
    for level, stage in enumerate(blocks.levels):
        a, b, s = all_triples(blocks, level, 3)
        left = set(found.undecided(level, a, b, s).tolist())
        middles = (stage.low_m + stage.high_m) / 2
        for number, (one, two, symbol) in enumerate(zip(a, b, s, strict=True)):
            height = g[:, symbol]
            rise = largest(height, blocks, level, one) + largest(-height, blocks, level, two)
            u = units[int((units @ (middles[one] - middles[two])).argmax())]
            tilted = height - BETA_PER_M * xy_m @ u
            slopes = largest(tilted, blocks, level, one) + largest(-tilted, blocks, level, two) <= 0
            boxes = rise <= BETA_PER_M * stage.gap_m(one, stage, two)
            assert (number in left) == (not boxes and not slopes)
            decided_by_slopes += int(slopes and not boxes)
    assert decided_by_slopes > 100


@pytest.mark.parametrize(("run", "rise"), [((1, 0), 1), ((0, 1), 1), ((1, 1), 1), ((3, 4), 1), ((-2, 5), -1)])
def test_a_pair_that_exceeds_the_bound_by_its_last_digit_is_never_discarded(run: tuple[int, int], rise: int) -> None:
    """Cells on a line fall off at β, to the last digit, so that what is discarded depends on the errors allowed for."""
    rng = np.random.default_rng(0)
    steps = np.arange(64)
    blocks, xy_m = ordered(Area.from_points_km(np.outer(steps * 7, run) / 1000), 1)
    along = xy_m @ np.array(run) / np.hypot(*run)
    exact = rise * BETA_PER_M * along
    g = np.nextafter(exact, exact + rng.choice([-1, 0, 1], (8, len(steps)))).T
    found = tabulated(blocks, xy_m, g)
    with mpmath.workdps(50):
        beta, step_m = mpmath.mpf(BETA_PER_M), mpmath.sqrt(run[0] ** 2 + run[1] ** 2)
        heights = [[mpmath.mpf(float(height)) for height in row] for row in g]
        places = [mpmath.mpf(round(float(place / np.hypot(*run)))) for place in along]
        bad = {
            (i, j, s)
            for i in range(64)
            for j in range(64)
            for s in range(8)
            if heights[i][s] - heights[j][s] > beta * step_m * abs(places[i] - places[j])
        }
    assert len(bad) > 100
    for level, stage in enumerate(blocks.levels):
        a, b, s = all_triples(blocks, level, 8)
        left = {(int(a[k]), int(b[k]), int(s[k])) for k in found.undecided(level, a, b, s)}
        block_of = np.searchsorted(stage.starts, np.arange(64), side="right") - 1
        assert {(int(block_of[i]), int(block_of[j]), symbol) for i, j, symbol in bad} <= left


@pytest.mark.parametrize(
    ("xy_m", "g"),
    [
        # Flat blocks, one north of the other and to the side, so that slopes along the line between them are no use.
        ([[0, 0], [4096, 0], [3072, 2048], [7168, 2048]], [0.0, 0.0, 1.8, 1.8]),
        # Blocks on one ray with a slope of β, which no boxes separate.
        ([[0, 0], [2048, 0], [3072, 0], [5120, 0]], [0.0, 2.0, 2.8, 4.8]),
    ],
    ids=["boxes", "slopes"],
)
def test_blocks_are_decided_only_with_room_for_the_errors_of_both_logarithms(
    xy_m: list[list[int]], g: list[float]
) -> None:
    """One test alone decides each pair of blocks, with 0.2 to spare: errors of 0.1 on either side use that up."""
    centres = np.array(xy_m)
    whole = Level(np.array([0, 4]), centres.min(axis=0)[None], centres.max(axis=0)[None])
    halves = Level(np.array([0, 2, 4]), centres[[0, 2]], centres[[1, 3]])
    blocks = Blocks(np.arange(4), (whole, halves))
    for error, undecided in ((0.0, []), (0.099, []), (0.101, [0])):
        found = tabulated(blocks, centres.astype(np.float64), np.array(g)[:, None], error)
        assert found.undecided(1, np.array([1]), np.array([0]), np.array([0])).tolist() == undecided


def test_the_first_bound_is_tabulated_whatever_it_is() -> None:
    blocks, xy_m = ordered(square(3), 3)
    for beta_per_m in (0.0, 1.0, 2.0):
        found = BlockBounds(blocks, xy_m, np.zeros((9, 1)), np.zeros(1))
        found.tabulate(beta_per_m)
        assert len(found.undecided(0, *np.zeros((3, 1), dtype=np.int64))) == 0


@pytest.mark.parametrize("power", range(8))
def test_there_are_about_four_directions_for_each_leaf_across_the_area(power: int) -> None:
    assert bounds._directions(4**power) == max(8, 4 * 2**power)


@pytest.mark.parametrize("power", range(14, 21))
def test_directions_of_a_large_area_are_as_many_as_memory_allows(power: int) -> None:
    assert bounds._directions(2**power) * 4 * 2**power == MAX_ENTRIES


def test_the_memory_that_a_symbol_needs_is_known_beforehand() -> None:
    blocks, xy_m = ordered(square(16), 16)
    found = tabulated(blocks, xy_m, np.zeros((256, 3)))
    kept = sum(array.size for levels in (found.steep, found.flat, found.top, found.bottom) for array in levels)
    assert BlockBounds.entries_per_symbol(blocks) == pytest.approx((kept + found.g.size) / 3, rel=0.1)


# --- pairs of cells -------------------------------------------------------------------------------------------


def some_search(n: int = 60, seed: int = 4) -> tuple[Recorded, PairSearch, SymbolBatch]:
    """Two symbols of random weights over scattered cells, in leaves of at most five."""
    area = scattered(n, 4.0, seed)
    table = np.random.default_rng(seed).integers(1, 1000, (n, 2))
    columns = Columns(table, str)
    blocks = Blocks.over(area.xy_m, 5)
    findings = Recorded(columns, area.xy_m, PrivacyClaim(1000.0))
    batch = SymbolBatch.of(columns, np.arange(2), blocks.order)
    return findings, PairSearch(blocks, area.xy_m, findings), batch


def test_centres_are_measured_from_the_middle_of_the_area() -> None:
    findings, found, _ = some_search()
    assert found.xy_m.min(axis=0).tolist() == (-found.xy_m.max(axis=0)).tolist()
    assert (np.diff(found.xy_m, axis=0) == np.diff(findings.xy_m[found.order], axis=0)).all()


def test_the_bound_of_the_search_is_just_below_the_worst_pair_known() -> None:
    """So that pairs that lose exactly as much are looked at as well."""
    findings, found, batch = some_search()
    assert found.beta_per_m() == 0
    found.find_first_candidates(batch)
    assert findings.low * (1 - 1e-12) < found.beta_per_m() * 1000 < findings.low * (1 - 2 * LOG_ERROR)


def test_the_first_search_finds_the_steepest_pair_with_the_extremes_and_with_neighbours() -> None:
    findings, found, batch = some_search()
    found.find_first_candidates(batch)
    position = np.argsort(found.order)
    cells, others, symbols = np.array(findings.considered).T
    one, two = position[cells], position[others]
    assert (batch.g[one, symbols] >= batch.g[two, symbols]).all()
    steepness = (batch.g[one, symbols] - batch.g[two, symbols]) / np.hypot(*(found.xy_m[one] - found.xy_m[two]).T)
    everyone = np.arange(60)
    for symbol in range(2):
        g = batch.g[:, symbol]
        compared = [(everyone, np.full(60, g.argmax())), (everyone, np.full(60, g.argmin()))]
        compared += [(everyone[offset:], everyone[:-offset]) for offset in (1, 2, 3, 5, 8)]
        for number, (i, j) in enumerate(compared):
            i, j = i[i != j], j[i != j]
            best = (np.abs(g[i] - g[j]) / np.hypot(*(found.xy_m[i] - found.xy_m[j]).T)).max()
            assert steepness[2 * number + symbol] == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("at_once", [1, 60, 1 << 16])
def test_all_pairs_of_leaves_that_reach_the_bound_are_looked_at_and_no_others(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "_PAIRS_AT_ONCE", at_once)
    findings, found, batch = some_search()
    batch = SymbolBatch(batch.symbols, batch.g, np.array([0.05, 0.4]))
    leaves = len(found.members)
    a, b, s = (index.ravel() for index in np.indices((leaves, leaves, 2)))
    for k in range(len(a)):  # one by one, with the same bound each time
        findings.low = 1.0
        beta_per_m = found.beta_per_m()
        found.evaluate(batch, a[k : k + 1], b[k : k + 1], s[k : k + 1])
    position = np.argsort(found.order)
    looked_at = {(position[i], position[j], t) for i, j, t in findings.considered if i != j}
    i, j, t = (index.ravel() for index in np.indices((60, 60, 2)))
    apart = np.hypot(*(found.xy_m[i] - found.xy_m[j]).T)
    reach = (batch.g[i, t] - batch.g[j, t] + 2 * batch.error[t] >= beta_per_m * apart) & (i != j)
    assert looked_at == set(zip(i[reach].tolist(), j[reach].tolist(), t[reach].tolist(), strict=True))
    assert 100 < len(looked_at) < 0.5 * 60 * 60 * 2
    before = found.pairs_opened
    found.evaluate(batch, a, b, s)
    assert found.pairs_opened - before == before == len(a) * found.members.shape[1] ** 2


# --- the whole search -----------------------------------------------------------------------------------------


def hilly_table(area: Area) -> FloatArray:
    x, y = (area.xy_m / 1000.0).T
    hit = 0.3 + 0.2 * np.sin(2 * x) * np.sin(1.7 * y)
    return np.column_stack([hit, 0.9 * (1 - hit), 0.1 * (1 - hit)])


def test_portions_do_not_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    area = scattered(300, 5.0, 1)
    whole = certify_table(area, hilly_table(area), log(4))
    monkeypatch.setattr(search, "_TRIPLES_AT_ONCE", 3)
    monkeypatch.setattr(bounds, "_CHUNK", 1)
    monkeypatch.setattr(search, "MAX_ENTRIES", 1)
    told: list[tuple[int, int]] = []
    parts = certify_table(area, hilly_table(area), log(4), progress=lambda *given: told.append(given))
    assert parts.smallest_epsilon_per_km == whole.smallest_epsilon_per_km
    assert parts.witness == whole.witness
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1]


def test_bounds_are_tabulated_again_once_that_costs_no_more_than_what_was_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All pairs in a row of cells lose the same per km, so that none of them can be discarded.
    area = square(32)
    slope = 0.4 * np.exp(-0.1 * area.xy_m[:, 0] / 1000)
    findings = Findings(Columns(np.column_stack([slope, 1 - slope]), str), area.xy_m, PrivacyClaim(log(4)))
    monkeypatch.setattr(search, "_TRIPLES_AT_ONCE", 16)
    opened: list[int] = []
    tabulate = BlockBounds.tabulate

    def counted(self: BlockBounds, beta_per_m: float) -> None:
        opened.append(found.pairs.pairs_opened)
        work.append(self.tabulation_work)
        tabulate(self, beta_per_m)

    work: list[int] = []
    monkeypatch.setattr(BlockBounds, "tabulate", counted)
    found = BlockSearch(area, findings.columns, findings, None)
    found.run([0, 1])
    assert len(opened) > 3
    assert all(after - before > work[0] for before, after in pairwise(opened))
    at_once = 4 * 16 * 16**2
    assert all(after - before <= work[0] + at_once for before, after in pairwise(opened))


def test_even_an_area_of_two_leaves_is_not_compared_pair_by_pair() -> None:
    area = Area.from_points_km([[x / 10, 0.0] for x in range(32)])
    height = np.exp(-np.arange(32) / 20)
    certificate = certify_table(area, np.column_stack([0.4 * height, 1 - 0.4 * height]), log(4))
    assert certificate.pairs_opened < 0.7 * certificate.inequalities
