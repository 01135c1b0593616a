"""A campaign over any number of users, who are rows of a table: memory does not grow with them.

A table of people has one row per user:

    user
    cell, grade    the place that the user reports in the protected form, or `NULL` (-1), and its grade
    frequent       the frequent place, which is all that Algorithm 2 is told, or `NULL`
    hits           test periods in which the user was at a target
    user_hash      62 random bits of the user's own (`batch.graph.user_hash`)

All randomness is in the hash t, so the same table gives the same campaign on every engine, in any order of its rows.
The user reports in round ⌊t / 2^31⌋ mod k; the words that draw the symbol are t + 1·g and t + 2·g, mixed (SplitMix64,
g its odd constant); where a group has to share its last places, the lowest hashes win. A round is one pass over its
users, in which the engine draws and counts symbols. That is all a campaign needs to go on, and which groups are
selected whole follows from the counts; only the group at the border is read once more. Two things differ from
`simulation`: rounds have about N/k users, not exactly, and the lottery goes by hash instead of by number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray, WordArray
from crowdveil.batch.engine import Engine
from crowdveil.batch.fixes import Expression
from crowdveil.campaign import Plan, RoundClosed, RoundOpened, State, advance, begin, next_policy
from crowdveil.campaign.groups import groups_of
from crowdveil.certify import Certificate, certify
from crowdveil.draw import draw_by_words
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_targets
from crowdveil.policy.grades import chances_of_grades
from crowdveil.policy.policy import Policy
from crowdveil.prior import Round, divergence
from crowdveil.simulate.simulation import check_terms, wanted_of
from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
    DEFAULT_ROUNDS,
    DEFAULT_SHARE_WANTED,
    DEFAULT_THRESHOLDS,
    NULL,
    Algorithm,
)

LargeMethod = Literal["none", "random", "algorithm-2", "crowdveil"]
LARGE_METHODS: tuple[LargeMethod, ...] = get_args(LargeMethod)
TURN_FROM = 1 << 31
"""Above the bits that choose among places."""
STEP = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class LargeCrowd:
    """People in an engine's table, and what the campaign that they are invited to wants."""

    engine: Engine
    people: Expression
    area: Area
    targets: tuple[int, ...]
    test_periods: int
    epsilon_per_km: float
    share_wanted: float = DEFAULT_SHARE_WANTED
    """α as a share of everyone."""
    rounds: int = DEFAULT_ROUNDS
    confidence: float = DEFAULT_CONFIDENCE
    thresholds: tuple[float, ...] = DEFAULT_THRESHOLDS
    """What divides the grades of the table."""
    null_epsilon: float = DEFAULT_NULL_EPSILON
    grade_epsilon: float = DEFAULT_GRADE_EPSILON
    """ε₀ and ε₁ of our method."""
    seed: int = 0
    """Decides the lottery among equals; the draws are decided by the hashes."""

    def __post_init__(self) -> None:
        check_terms(self.epsilon_per_km, self.share_wanted, self.rounds, self.confidence)
        if self.seed < 0:
            raise InputError("seed", self.seed, "should not be negative")


@dataclass(frozen=True)
class LargeOutcome:
    """Whom a method selected, how well they cover the targets, and what was learnt."""

    method: LargeMethod
    users: int
    reporters: int
    wanted: int
    selected: int
    coverage: float
    """Mean, over the people wanted, of their share of test periods at a target; 0 for who is missing."""
    divergence: tuple[float, ...] = ()
    """KL divergence of the estimate of π from the truth after each round."""


@dataclass(frozen=True, eq=False)
class _Census:
    """How many people are where: known to a simulation, never to a server."""

    users: int
    reporters: int
    """Users with a frequent place."""
    joint: FloatArray
    """π of cells at every grade."""
    frequent: FloatArray
    """π of frequent places."""


def simulate_large(
    crowd: LargeCrowd, method: LargeMethod, progress: Callable[[float], None] = lambda _: None
) -> LargeOutcome:
    """Run one method once, over everyone in the table."""
    check_targets(crowd.targets, len(crowd.area))
    census = _census(crowd)
    wanted = wanted_of(census.users, crowd.share_wanted)
    people = crowd.people
    if method == "none":
        selected, hits = _first(crowd, people.filter(people.cell.isin(list(crowd.targets))), wanted, "grade")
        learnt: tuple[float, ...] = ()
    elif method == "random":
        selected, hits = _first(crowd, people, wanted)
        learnt = ()
    elif method in LARGE_METHODS:
        selected, hits, learnt = _campaign(crowd, census, wanted, method, progress)
    else:
        raise InputError("method", method, f"should be one of {', '.join(LARGE_METHODS)}")
    coverage = hits / (wanted * crowd.test_periods)
    return LargeOutcome(method, census.users, census.reporters, wanted, selected, coverage, learnt)


def _census(crowd: LargeCrowd) -> _Census:
    by = crowd.people.group_by("cell", "grade", "frequent")
    found = crowd.engine.rows(by.agg(users=crowd.people.count()))
    joint = np.zeros((len(crowd.thresholds) + 1, len(crowd.area)), dtype=np.int64)
    frequent = np.zeros(len(crowd.area), dtype=np.int64)
    for row in found:
        if row["cell"] != NULL:
            joint[row["grade"], row["cell"]] += row["users"]
        if row["frequent"] != NULL:
            frequent[row["frequent"]] += row["users"]
    reporters = int(frequent.sum())
    if reporters == 0:
        raise InputError("people", "all NULL", "nobody has a frequent place; lower δ or take a longer training period")
    return _Census(sum(row["users"] for row in found), reporters, joint / joint.sum(), frequent / reporters)


def _first(crowd: LargeCrowd, people: Expression, room: int, *before: str) -> tuple[int, int]:
    """Select the lowest hashes, after some columns that come before; return how many there are, and their hits."""
    winners = people.order_by([*before, "user_hash"]).limit(room)
    (row,) = crowd.engine.rows(winners.agg(selected=winners.count(), hits=winners.hits.sum().cast("int64")))
    return row["selected"], row["hits"] or 0


# --- a campaign -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _LargeRun:
    """A closed round: its people, with what they sent, and the totals by symbol."""

    sent: Expression
    counts: IntArray
    hits: IntArray


def _campaign(
    crowd: LargeCrowd, census: _Census, wanted: int, algorithm: Algorithm, progress: Callable[[float], None]
) -> tuple[int, int, tuple[float, ...]]:
    everyone = algorithm == "crowdveil"
    people = crowd.people if everyone else crowd.people.filter(crowd.people.frequent != NULL)
    if not everyone:
        people = people.mutate(cell=people.frequent, grade=0 * people.grade)
    plan = Plan(
        area=crowd.area,
        targets=crowd.targets,
        epsilon_per_km=crowd.epsilon_per_km,
        users=census.users if everyone else census.reporters,
        wanted=min(wanted, census.users if everyone else census.reporters),
        rounds=crowd.rounds,
        confidence=crowd.confidence,
        algorithm=algorithm,
        seed=str(crowd.seed),
        null_epsilon=crowd.null_epsilon if everyone else None,
        grade_epsilon=crowd.grade_epsilon if everyone else None,
        grade_chances=chances_of_grades(crowd.thresholds),
    )
    state = begin(plan)
    played: list[_LargeRun] = []
    learnt: list[float] = []
    for number in range(plan.rounds):
        policy = next_policy(state)
        here = people.filter((people.user_hash // TURN_FROM) % plan.rounds == number)
        one, nulls = _play(crowd, here, policy)
        state = advance(advance(state, RoundOpened(policy)), RoundClosed(Round(policy, one.counts, nulls)))
        played.append(one)
        true = census.joint if everyone else census.frequent
        learnt.append(divergence(true.ravel(), state.prior.ravel()))
        progress((number + 1) / plan.rounds)
    ranked = _ranked(state, algorithm)
    return (*_select(crowd, played, ranked, wanted), tuple(learnt))


def _play(crowd: LargeCrowd, here: Expression, policy: Policy) -> tuple[_LargeRun, int]:
    """One pass: everyone in a round draws; the engine counts what was sent, and who sent NULL."""
    draw = crowd.engine.column_function(
        f"draw_{policy.hash[:16]}", _Draw(policy, certify(policy)), ("int64",) * 3, "int64"
    )
    sent = here.mutate(symbol=draw(here.cell, here.grade, here.user_hash))
    totals = sent.group_by("symbol").agg(people=sent.count(), hits=sent.hits.sum().cast("int64"))
    counts, hits = (np.zeros(policy.symbol_count, dtype=np.int64) for _ in range(2))
    nulls = 0
    for row in crowd.engine.rows(totals):
        if row["symbol"] == NULL:
            nulls = row["people"]
        else:
            counts[row["symbol"]], hits[row["symbol"]] = row["people"], row["hits"]
    return _LargeRun(sent, counts, hits), nulls


class _Draw:
    """Columns of cells, grades and hashes → symbols. A plain value, so that it can travel.

    Where NULL is sent in the clear it stays NULL.
    """

    def __init__(self, policy: Policy, certificate: Certificate) -> None:
        self.policy, self.certificate = policy, certificate

    def __call__(self, cells: IntArray, grades: IntArray, hashes: IntArray) -> IntArray:
        placed = (cells != NULL) | (self.policy.null_epsilon is not None)
        words = hashes.astype(np.uint64)[placed]
        pair = (mixed(words, 1), mixed(words, 2))
        symbols = np.full(len(cells), NULL, dtype=np.int64)
        symbols[placed] = draw_by_words(self.policy, cells[placed], self.certificate, pair, grades[placed])
        return symbols


def mixed(words: WordArray, number: int) -> WordArray:
    """The SplitMix64 output that follows `number` steps after a state: well-mixed bits of any words."""
    with np.errstate(over="ignore"):
        z = words + np.uint64(STEP * number % (1 << 64))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _ranked(state: State, algorithm: Algorithm) -> list[tuple[int, int]]:
    """Rounds and symbols in the order in which they are selected."""
    if algorithm == "algorithm-2":
        policies = list(enumerate(state.policies))
        return [(number, symbol) for number, policy in reversed(policies) for symbol in policy.selecting]
    groups = groups_of(state.policies, state.prior, state.plan.targets, state.null_share, state.plan.grade_chances)
    rounds = groups.round[groups.best_first]
    symbols = groups.best_first - groups.begin[rounds]
    return list(zip(rounds.tolist(), symbols.tolist(), strict=True))


def _select(crowd: LargeCrowd, played: list[_LargeRun], ranked: list[tuple[int, int]], wanted: int) -> tuple[int, int]:
    """Take whole groups while they fit; of the next, the lowest hashes."""
    selected, hits = 0, 0
    for number, symbol in ranked:
        one = played[number]
        size = int(one.counts[symbol])
        if selected + size > wanted:
            sent: Any = one.sent
            more, their_hits = _first(crowd, sent.filter(sent.symbol == symbol), wanted - selected)
            return selected + more, hits + their_hits
        selected += size
        hits += int(one.hits[symbol])
    return selected, hits
