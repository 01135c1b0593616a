"""Find out where a person is: maps of houses, campaigns by the dozen, shifted grids. The best guess uses all replies.

Every attack takes what devices with the default limits answer, guesses the place by the exact posterior, and is
compared with the bound of the reports that were accepted (`certify.combined`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import crowdveil as cv
from tests.attacks.hostile_policies import LN4, LN64, naming, question
from tests.attacks.hostile_server import HostileServer
from tests.attacks.people import Places, Replies, device
from tests.attacks.results import Attack

HERE = cv.Plane(60_000_000, -40_000_000)
"""6° N, 4° W: the origin of a public lattice."""
LIKELIHOOD_SLACK = 1e-6
PATIENCE = 14
"""After so many refusals in a row an operator gives up on a person."""


def squares(rows: int, columns: int, cell_m: int, shift_m: tuple[int, int] = (0, 0)) -> cv.Grid:
    """Squares around the origin, with corners at multiples of their side unless they are shifted."""
    west, south = (-(number // 2) * cell_m + cell_m // 2 for number in (columns, rows))
    return cv.Grid.build(HERE, cell_m, rows, columns, (west + shift_m[0], south + shift_m[1]))


def kept(area: cv.Grid, every: int) -> cv.Grid:
    """Only some squares of a grid, as far apart along both axes."""
    row, column = np.divmod(np.arange(len(area)), area.columns)
    return area.subset(np.flatnonzero((row % every == every // 2) & (column % every == every // 2)))


CITY = squares(67, 66, 250)
"""4,422 cells of 250 m."""


def suspecting(
    attack: Attack, folder: Path, trials: int, seed: int, policies: Sequence[cv.Policy], home: int
) -> Attack:
    """Ask those who live in one cell of the city, and count how often the best guess among all cells is that one.

    The bound is that of the smallest map that devices accept: a cell is hidden among sixteen.
    """
    generator = np.random.default_rng(seed)
    places = Places.of(CITY)
    answered = 0
    for trial in range(trials):
        server, replies = HostileServer(), Replies()
        someone = device(folder / f"{attack.name} {trial}", server)
        for number, policy in enumerate(policies):
            replies.ask(someone, server, f"c{number}", policy, places.visits(home))
        attack.count(places.guess(replies, generator) == home)
        answered += len(replies.answered)
    attack.bound = 1 / 16
    attack.notes += [f"refused: {replies.refusals[-1]}"] if replies.refusals else []
    attack.notes.append(f"{answered / trials:g} replies each")
    return attack


def guessing(
    attack: Attack,
    folder: Path,
    trials: int,
    seed: int,
    places: Places,
    policies: Sequence[cv.Policy],
) -> Attack:
    """Ask everyone everything, guess, and compare with the bound of what was answered."""
    generator = np.random.default_rng(seed)
    bounds: dict[tuple[str, ...], float] = {}
    answered = 0
    for trial in range(trials):
        home = int(generator.integers(len(places)))
        server, replies = HostileServer(), Replies()
        someone = device(folder / f"{attack.name} {trial}".replace("/", " "), server)
        for number, policy in enumerate(policies):
            replies.ask(someone, server, f"c{number}", policy, places.visits(home))
            if replies.refused_in_a_row >= PATIENCE:
                break
        attack.count(places.guess(replies, generator) == home)
        answered += len(replies.answered)
        accepted = tuple(policy.hash for policy, _ in replies.answered)
        if accepted not in bounds:
            bounds[accepted] = places.bound(replies)
            if replies.refusals:
                attack.notes.append(f"{len(replies.refusals)} refused, at last with: {replies.refusals[-1]}")
            _check_likelihoods(places, replies)
    attack.bound = max(bounds.values())
    attack.notes.append(f"{answered / trials:g} replies each")
    return attack


def _check_likelihoods(places: Places, replies: Replies) -> None:
    """No symbol that came favours one place over another by more than M."""
    loss = places.loss(replies)
    total = sum(places.log_likelihood(policy, symbol) for policy, symbol in replies.answered)
    if replies.answered and len(places) <= 2000:
        ratio = np.subtract.outer(total, total)
        assert (ratio <= loss + LIKELIHOOD_SLACK).all(), "a log-likelihood ratio exceeds M"


# --- maps of houses -------------------------------------------------------------------------------------------


def towers(folder: Path, trials: int, seed: int) -> Attack:
    """Sixteen towers 5 km apart with a reach of 30 m: each is a house."""
    latitude, longitude = squares(4, 4, 5000).centres()
    area = cv.Towers.from_positions(latitude, longitude, reach_km=0.03)
    attack = Attack("a house under each of 16 towers", "2")
    return guessing(attack, folder, trials, seed, Places.of(area), [naming(area, null_epsilon=LN64)])


def kept_cells(folder: Path, trials: int, seed: int) -> Attack:
    """Squares of 250 m, 5 km apart, everything between them left out of the map."""
    area = kept(squares(80, 80, 250), 20)
    attack = Attack("a house in each of 16 kept cells", "2")
    return guessing(attack, folder, trials, seed, Places.of(area), [naming(area)])


def hexagons(folder: Path, trials: int, seed: int) -> Attack:
    """Hexagons of 300 m, 4.7 km apart."""
    latitude, longitude = HERE.latitude_e7 / 1e7, HERE.longitude_e7 / 1e7
    fine = cv.Hexagons.from_bounds(latitude - 0.1, longitude - 0.1, latitude + 0.1, longitude + 0.1, resolution=9)
    corners = 4700 * np.arange(-2, 2) + 2350
    chosen = [int(np.hypot(*(fine.xy_m - (x, y)).T).argmin()) for x in corners for y in corners]
    area = fine.subset(sorted(set(chosen)))
    attack = Attack("a house in each of 16 hexagons", "2")
    return guessing(attack, folder, trials, seed, Places.of(area), [naming(area)])


def threes(folder: Path, trials: int, seed: int) -> Attack:
    """Cells kept in threes around houses, as sparse as the limits allow; who is elsewhere in the city is outside."""
    row, column = np.divmod(np.arange(len(CITY)), CITY.columns)
    alone = (row % 20 == 3) & (column % 20 == 3)
    beside = ((row % 20 == 8) & (column % 20 == 3)) | ((row % 20 == 3) & (column % 20 == 8))
    whole = (row < 60) & (column < 60)
    area = CITY.subset(np.flatnonzero((alone | beside) & whole))
    attack = Attack("cells kept in threes, among 4,422", "2, 6, 7")
    return guessing(attack, folder, trials, seed, Places.of(CITY), [naming(area)] * 3)


def block(row: int, column: int) -> cv.Grid:
    """Four by four squares of the city, and nothing else."""
    x, y = CITY.first_centre_m
    return cv.Grid.build(HERE, 250, 4, 4, (x + 250 * column, y + 250 * row))


def one_cell_shared(folder: Path, trials: int, seed: int) -> Attack:
    """Three of the smallest maps, on one lattice, share a single cell: only who lives there is in all three."""
    attack = Attack("three maps that share one cell", "2, 6, 7")
    maps = [block(30, 30), block(27, 27), block(30, 27)]
    policies = [question(area, lambda cells: cells >= 0, 1e-9, LN64) for area in maps]
    return suspecting(attack, folder, trials, seed, policies, 30 * CITY.columns + 30)


def diagonal(folder: Path, trials: int, seed: int) -> Attack:
    """Sixteen squares that meet at corners: all who live beside the line are outside."""
    attack = Attack("a line of squares that meet at corners", "2, 6, 7")
    area = CITY.subset(np.arange(20, 36) * CITY.columns + np.arange(20, 36))
    return suspecting(attack, folder, trials, seed, [naming(area)] * 3, 28 * CITY.columns + 28)


def slivers(folder: Path, trials: int, seed: int) -> Attack:
    """Hexagons of two sizes over the same ground, which do not nest; a success is a second map that is answered."""
    attack = Attack("hexagons of two sizes over one place", "2, 6")
    latitude, longitude = HERE.latitude_e7 / 1e7, HERE.longitude_e7 / 1e7
    box = (latitude - 0.02, longitude - 0.02, latitude + 0.02, longitude + 0.02)
    maps = [cv.Hexagons.from_bounds(*box, resolution=resolution) for resolution in (8, 9)]
    places = Places(np.array([latitude]), np.array([longitude]))
    for trial in range(trials):
        server, replies = HostileServer(), Replies()
        someone = device(folder / f"slivers {trial}", server)
        for number, area in enumerate(maps):
            replies.ask(someone, server, f"c{number}", naming(area), places.visits(0))
        assert replies.answered
        attack.count(len(replies.answered) > 1)
    attack.notes.append(f"refused: {replies.refusals[-1]}" if replies.refusals else "both maps were answered")
    return attack


# --- campaigns by the dozen -----------------------------------------------------------------------------------


def stripes(epsilon_per_km: float, null_epsilon: float | None) -> list[cv.Policy]:
    """Fourteen maps of the city, each with the cells that have one bit of their row or column set."""
    row, column = np.divmod(np.arange(len(CITY)), CITY.columns)
    areas = [CITY.subset(np.flatnonzero(number >> bit & 1)) for number in (column, row) for bit in range(7)]
    return [question(area, lambda cells: cells >= 0, epsilon_per_km, null_epsilon) for area in areas]


def no_place(folder: Path, trials: int, seed: int) -> Attack:
    """Fourteen campaigns that reveal nothing about the place, and whether it is in the map in the clear."""
    attack = Attack("14 campaigns at ε = 1e-9, NULL in the clear", "6, 7")
    return guessing(attack, folder, trials, seed, Places.of(CITY), stripes(1e-9, None))


def no_place_protected(folder: Path, trials: int, seed: int) -> Attack:
    """Five times fourteen campaigns with ε₀ = ln 16."""
    attack = Attack("70 campaigns at ε₀ = ln 16", "6, 7")
    return guessing(attack, folder, trials, seed, Places.of(CITY), stripes(1e-9, np.log(16)) * 5)


def no_place_default(folder: Path, trials: int, seed: int) -> Attack:
    """Five times fourteen campaigns with ε₀ = ln 64, the most that one report may tell."""
    attack = Attack("70 campaigns at ε₀ = ln 64", "6, 7")
    return guessing(attack, folder, trials, seed, Places.of(CITY), stripes(1e-9, LN64) * 5)


def least_charge(folder: Path, trials: int, seed: int) -> Attack:
    """As many campaigns as the least charge allows, each with its share of ε₀."""
    attack = Attack("70 campaigns at the least charge", "6, 7")
    return guessing(attack, folder, trials, seed, Places.of(CITY), stripes(1e-9, 0.3) * 5)


def one_grid(folder: Path, trials: int, seed: int) -> Attack:
    """Three reports on one map of 400 cells, under policies that name cells as often as they may."""
    area = squares(20, 20, 250)
    attack = Attack("three reports at ln 4 on one grid", "2, 6")
    return guessing(attack, folder, trials, seed, Places.of(area), [naming(area)] * 3)


def grades_too(folder: Path, trials: int, seed: int) -> Attack:
    """Three reports under policies that name cells and grades."""
    area = squares(16, 16, 500)
    attack = Attack("three reports that name cell and grade", "2, 6, 7")
    return guessing(attack, folder, trials, seed, Places.of(area), [naming(area, grade_epsilon=LN64)] * 3)


# --- shifted grids --------------------------------------------------------------------------------------------


def shifted(folder: Path, trials: int, seed: int) -> Attack:
    """Three 2 km grids, each a third of a cell farther along both axes: together they are finer than any of them."""
    maps = [squares(5, 5, 2000, (by, by)) for by in (0, 668, -668)]
    places = Places.of(squares(24, 24, 250))
    attack = Attack("three shifted 2 km grids, the 250 m cell", "2, 6")
    return guessing(attack, folder, trials, seed, places, [naming(one) for one in maps])


def border(folder: Path, trials: int, seed: int) -> Attack:
    """Two houses 250 m apart, and three maps whose cells all end between them."""
    latitude, longitude = HERE.to_degrees(np.array([-125.0, 125.0]), np.array([900.0, 900.0]))
    maps = [squares(4, 4, 2000, (by, 0)) for by in (-60, 0, 60)]
    policies = [question_of_halves(area) for area in maps]
    attack = Attack("three shifted borders between two houses", "2, 6")
    return guessing(attack, folder, trials, seed, Places(latitude, longitude), policies)


def question_of_halves(area: cv.Grid) -> cv.Policy:
    """Is it the western half of the map? As clearly as ε allows across one cell."""
    west = area.xy_m[:, 0] < area.xy_m[:, 0].mean()
    chance = 1 / (1 + np.exp(-LN4 * area.cell_m / 1000 * (1 - 1e-6)))
    first = np.append(np.where(west, chance, 1 - chance), 0.5)
    weights = np.floor(np.column_stack([first, 1 - first]) * 2.0**53).astype(np.int64)
    weights[:, 1] = (1 << 53) - weights[:, 0]
    return cv.Policy(area, LN4, (0,), weights, symbols=("west", "east"), null_epsilon=LN64)


LOCATING: dict[Callable[[Path, int, int], Attack], tuple[int, int]] = {
    towers: (200, 20),
    kept_cells: (200, 20),
    hexagons: (200, 20),
    threes: (50, 2),
    one_cell_shared: (100, 5),
    diagonal: (100, 5),
    slivers: (20, 1),
    no_place: (50, 2),
    no_place_protected: (20, 0),
    no_place_default: (20, 0),
    least_charge: (4, 0),
    one_grid: (100, 0),
    grades_too: (60, 0),
    shifted: (200, 10),
    border: (200, 40),
}
"""How many trials, and how many in the quick part."""


def attacks(folder: Path, seed: int, quick: bool) -> Iterator[Callable[[], Attack]]:
    """All of these attacks, to be played one by one."""
    for play, sizes in LOCATING.items():
        trials = sizes[quick]
        if trials:
            yield lambda play=play, trials=trials: play(folder, trials, seed)  # type: ignore[misc]
