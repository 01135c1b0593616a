"""A campaign over a table: the same as one over arrays, whatever holds the table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from multiprocessing import active_children
from pathlib import Path
from typing import cast

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdveil.area import Grid
from crowdveil.batch.engine import Engine
from crowdveil.batch.graph import user_hash
from crowdveil.batch.open_engine import open_engine
from crowdveil.campaign import Plan, RoundClosed, RoundOpened, advance, begin, next_policy, select
from crowdveil.campaign.selection import Reports
from crowdveil.certify import certify
from crowdveil.draw import draw_by_words, draw_many
from crowdveil.errors import CrowdveilError, InputError
from crowdveil.policy.grades import chances_of_grades
from crowdveil.prior import count_symbols, divergence
from crowdveil.profile import Periods, count_visits
from crowdveil.simulate.large import LARGE_METHODS, TURN_FROM, LargeCrowd, mixed, simulate_large
from crowdveil.simulate.people import SCHEMA, SyntheticPopulation, people_of, write_people
from crowdveil.traces import CitySettings, SyntheticCity
from crowdveil.vocabulary import NULL

USERS, SEED = 1_200, 3


@pytest.fixture(scope="module")
def population() -> SyntheticPopulation:
    city = SyntheticCity(SEED, USERS, CitySettings(weeks=6, radius_km=5.0), block_users=500)
    return SyntheticPopulation.over(city, test=2, delta=0.6, densest=1, seed=SEED)


@pytest.fixture(scope="module")
def rows(population: SyntheticPopulation) -> pa.Table:
    return pa.concat_tables([population.people(block) for block in range(len(population.city))])


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    opened = open_engine("duckdb", threads=1)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def crowd(
    population: SyntheticPopulation, rows: pa.Table, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> LargeCrowd:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(rows, path)
    people = engine.read_parquet([str(path)])
    return LargeCrowd(
        engine, people, population.area, population.targets, 2, epsilon_per_km=np.log(4), rounds=3, seed=SEED
    )


def test_a_block_is_the_same_alone_and_among_others(population: SyntheticPopulation) -> None:
    alone, among = population.city.block(2), list(population.city)[2]
    assert len(population.city) == 3
    assert alone.users == among.users == tuple(f"{n:04}" for n in range(1000, 1200))
    assert np.array_equal(alone.latitude, among.latitude)


def test_all_blocks_live_in_one_town(population: SyntheticPopulation) -> None:
    """Of two towns laid out apart, the busiest cells differ; of two blocks of one they do not."""
    cells = [population.area.locate(block.latitude, block.longitude) for block in population.city]
    share = [np.bincount(c[c >= 0], minlength=len(population.area)) / len(c) for c in cells]
    other = SyntheticCity(SEED + 1, USERS, population.city.settings).block(0)
    elsewhere = population.area.locate(other.latitude, other.longitude)
    foreign = np.bincount(elsewhere[elsewhere >= 0], minlength=len(population.area)) / len(elsewhere)
    assert np.abs(share[0] - share[1]).sum() < 0.5 * np.abs(share[0] - foreign).sum()


@pytest.mark.long
def test_the_file_of_people_holds_every_block(
    population: SyntheticPopulation, rows: pa.Table, engine: Engine, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []
    write_people(population, tmp_path / "people.parquet", 2, lambda done, of: told.append((done, of)))
    written = engine.rows(engine.read_parquet([str(tmp_path / "people.parquet")]).order_by("user"))
    assert written == rows.to_pylist()
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]


def test_none_and_random_are_the_lowest_tickets(crowd: LargeCrowd, rows: pa.Table) -> None:
    cell, frequent, hits, number = (rows[name].to_numpy() for name in ("cell", "frequent", "hits", "user_hash"))
    reporters = np.flatnonzero(frequent != NULL)
    wanted = round(0.05 * USERS)
    for method, there in (("random", np.arange(USERS)), ("none", np.flatnonzero(np.isin(cell, crowd.targets)))):
        grade = rows["grade"].to_numpy()[there] if method == "none" else np.zeros(len(there))
        chosen = there[np.lexsort((number[there], grade))][:wanted]
        found = simulate_large(crowd, method)  # type: ignore[arg-type]
        assert (found.users, found.reporters, found.selected) == (USERS, len(reporters), len(chosen))
        assert found.coverage == hits[chosen].sum() / (2 * wanted)


@pytest.mark.parametrize("algorithm", ["algorithm-2", pytest.param("crowdveil", marks=pytest.mark.long)])
def test_a_campaign_is_that_of_arrays(crowd: LargeCrowd, rows: pa.Table, algorithm: str) -> None:
    """Driven by hand with the same words; the groups selected whole are those that `select` takes."""
    ours = algorithm == "crowdveil"
    cell, grade, frequent, hits, number = (rows[name].to_numpy() for name in SCHEMA.names[1:])
    who = np.arange(USERS) if ours else np.flatnonzero(frequent != NULL)
    if not ours:
        cell, grade = frequent, np.zeros(USERS, dtype=np.int64)
    wanted = round(0.05 * USERS)
    plan = Plan(
        crowd.area,
        crowd.targets,
        np.log(4),
        len(who),
        wanted,
        rounds=3,
        algorithm=algorithm,  # type: ignore[arg-type]
        seed=str(SEED),
        grade_chances=chances_of_grades(crowd.thresholds),
        null_epsilon=crowd.null_epsilon if ours else None,
        grade_epsilon=crowd.grade_epsilon if ours else None,
    )
    state, sent = begin(plan), []
    placed = np.flatnonzero(cell != NULL)
    n = len(crowd.area)
    true = np.bincount(grade[placed] * n + cell[placed], minlength=plan.grades * n) / len(placed)
    learnt = []
    for turn in range(3):
        policy = next_policy(state)
        here = who[(number[who] // TURN_FROM) % 3 == turn]
        there = here if ours else here[cell[here] != NULL]
        words = number[there].astype(np.uint64)
        both = (mixed(words, 1), mixed(words, 2))
        symbols = draw_by_words(policy, cell[there], certify(policy), both, grade[there])
        closed = RoundClosed(count_symbols(policy, symbols, len(here) - len(there)))
        state = advance(advance(state, RoundOpened(policy)), closed)
        sent.append((there, symbols))
        learnt.append(divergence(true, state.prior.ravel()))
    turns = np.repeat(np.arange(3), [len(one) for one, _ in sent])
    # The lottery of `select` goes by the participant's number; numbered by ticket, the same people win only by chance,
    # so those who stand in the group at the border are compared by number, the others by name.
    people, symbols = (np.concatenate(columns) for columns in zip(*sent, strict=True))
    chosen = select(state, Reports(people, turns, symbols)).participants
    found = simulate_large(crowd, algorithm)  # type: ignore[arg-type]
    assert found.selected == len(chosen)
    assert found.divergence == pytest.approx(learnt, abs=1e-12)
    key = turns * 10_000 + symbols
    group_of = dict(zip(people.tolist(), key.tolist(), strict=True))
    taken = np.array([group_of[one] for one in chosen.tolist()])
    whole = [group for group in np.unique(taken) if (taken == group).sum() == (key == group).sum()]
    in_whole = people[np.isin(key, whole)]
    (border,) = set(np.unique(taken)) - set(whole) or {-1}
    tied = people[key == border]
    winners = tied[np.argsort(number[tied])][: len(chosen) - len(in_whole)]
    expected = hits[np.concatenate([in_whole, winners])].sum() / (2 * wanted)
    assert found.coverage == pytest.approx(expected, abs=1e-12)


def test_words_draw_what_the_weights_say(crowd: LargeCrowd) -> None:
    """Many tickets at one cell: the shares are those of `draw_many`, within five standard errors."""
    plan = Plan(crowd.area, crowd.targets, np.log(4), 1000, 100, null_epsilon=None, grade_epsilon=None)
    policy = next_policy(begin(plan))
    certificate = certify(policy)
    many = 40_000
    cells = np.full(many, crowd.targets[0])
    words = np.array([user_hash(1, str(n)) for n in range(many)], dtype=np.uint64)
    by_words = draw_by_words(policy, cells, certificate, (mixed(words, 1), mixed(words, 2)))
    by_generator = draw_many(policy, cells, certificate, np.random.default_rng(1))
    share = policy.table()[crowd.targets[0]]
    for symbols in (by_words, by_generator):
        off = np.abs(np.bincount(symbols, minlength=len(share)) / many - share)
        assert (off <= 5 * np.sqrt(share * (1 - share) / many) + 1e-9).all()


def test_people_of_a_batch(engine: Engine) -> None:
    """Visits and places as a batch writes them → the rows that a campaign needs."""
    visits = ibis.memtable(
        {
            "user": ["a", "a", "a", "b", "b", None],
            "cell": [4, 4, 5, 4, None, None],
            "period": [3, 4, 4, 0, None, None],
            "left_out": [None, None, None, None, "outside of the area", "no user"],
            "visits": [9, 1, 2, 1, 1, 7],
        },
        schema={"user": "string", "cell": "int64", "period": "int64", "left_out": "string", "visits": "int64"},
    )
    columns = {"user": ["a", "b"], "cell": [4, None], "grade": [1, None], "frequent": [5, None]}
    kinds = {"user": "string", "cell": "int64", "grade": "int64", "frequent": "int64"}
    places = ibis.memtable(columns, schema=kinds)
    found = engine.rows(people_of(visits, places, [4, 5], range(3, 5), 8, engine).order_by("user"))
    assert found == [
        {"user": "a", "cell": 4, "grade": 1, "frequent": 5, "hits": 2, "user_hash": user_hash(8, "a")},
        {"user": "b", "cell": NULL, "grade": 0, "frequent": NULL, "hits": 0, "user_hash": user_hash(8, "b")},
    ]


def test_hits_are_test_weeks_at_a_target(population: SyntheticPopulation, rows: pa.Table) -> None:
    visits = population.city.block(0)
    counts = count_visits(visits, population.area, Periods(date(2024, 1, 1), 6))
    late = (counts.period >= 4) & np.isin(counts.cell, population.targets)
    pairs = set(zip(counts.user[late].tolist(), counts.period[late].tolist(), strict=True))
    expected = [sum(user == who for user, _ in pairs) for who in range(20)]
    assert rows["hits"].to_pylist()[:20] == expected
    assert sum(expected) > 0


def test_nobody_with_a_place_is_refused(crowd: LargeCrowd, engine: Engine) -> None:
    table = pa.table([["a"], [NULL], [0], [NULL], [0], [1]], schema=SCHEMA)
    with pytest.raises(InputError, match="nobody has a frequent place"):
        simulate_large(replace(crowd, people=ibis.memtable(table)), "random")


def test_every_method_selects_what_is_wanted_and_ours_learns(crowd: LargeCrowd) -> None:
    found = {method: simulate_large(crowd, method) for method in LARGE_METHODS}
    assert len({one.wanted for one in found.values()}) == 1
    assert found["none"].coverage > found["random"].coverage
    assert found["crowdveil"].coverage > found["random"].coverage


def test_a_grid_covers_the_town(population: SyntheticPopulation) -> None:
    assert isinstance(population.area, Grid)
    located = population.area.locate(population.city.block(0).latitude, population.city.block(0).longitude)
    assert (located >= 0).mean() > 0.9


@pytest.mark.long
def test_a_file_that_cannot_be_finished_is_not_left_behind(population: SyntheticPopulation, tmp_path: Path) -> None:
    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    before = len(active_children())
    with pytest.raises(KeyboardInterrupt):
        write_people(population, tmp_path / "people.parquet", 1, stop)
    assert list(tmp_path.iterdir()) == []
    assert len(active_children()) == before


def test_a_worker_that_is_ended_is_told_in_words(population: SyntheticPopulation, tmp_path: Path) -> None:
    with pytest.raises(CrowdveilError, match="a process that made people was ended; is there too little memory"):
        write_people(
            cast(SyntheticPopulation, Deadly(population.city)), tmp_path / "people.parquet", 1, lambda *_: None
        )
    assert list(tmp_path.iterdir()) == []


@dataclass(frozen=True)
class Deadly:
    """A town whose people end the process that makes them, as a system short of memory does."""

    city: SyntheticCity

    def people(self, block: int) -> pa.Table:
        os._exit(block + 1)
