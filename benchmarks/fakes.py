"""Measure what share of the slots fake participants take, who send the selecting symbol whatever their place is.

    python -m benchmarks.fakes [--runs 10] [--out fakes.json]

A campaign of 1,200 people in six rounds, 60 of whom are wanted, over 81 cells of 1 km with three targets; two fifths of
the people are outside, and half of the others are regular visitors of their place. Some of those who take part are
fakes. Measured for each share of fakes:

    spread, first, last     when fakes come: in every round alike, or all in one round
    open, invite            anyone makes as many fakes as an address allows, or a fake needs a leaked invite
    as it is, twice, capped how people are selected: as they are now; from policies that aim at twice as many hits, so
                            that the lottery decides among more; and with an equal number from every round

An attacker who is not limited decides the share of fakes himself. With a limit of seats per address it costs him an
address for every 20 of them; by invite it is the share of invites that reached him.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Literal

import numpy as np

from benchmarks.cases import EPSILON_PER_KM, city
from crowdveil import certify, draw_many
from crowdveil.arrays import IntArray
from crowdveil.campaign import Plan, Reports, RoundClosed, RoundOpened, State, advance, begin, next_policy
from crowdveil.campaign.groups import groups_of
from crowdveil.campaign.selection import select_by_posterior
from crowdveil.prior import count_symbols
from crowdveil.server.settings import ServerSettings
from crowdveil.vocabulary import DEFAULT_GRADE_EPSILON, DEFAULT_NULL_EPSILON, NULL

USERS, WANTED, ROUNDS = 1_200, 60, 6
SIDE, TARGETS = 9, 3
OUTSIDE, REGULAR = 0.4, 0.5
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1)
HIT = 0
FAKE = -2
"""The place of a fake."""
When = Literal["spread", "first", "last"]
How = Literal["as it is", "twice", "capped"]
Form = Literal["protected", "clear"]


@dataclass(frozen=True)
class Measured:
    """What fakes took, over all runs."""

    form: Form
    fakes: float
    """Share of those who take part."""
    when: When
    how: How
    slots: float
    """Share of the selected who are fakes."""
    slots_spread: float
    """Standard deviation between runs."""
    coverage: float
    """Share of the selected who are regular visitors of a target."""


def measure(form: Form, fakes: float, when: When, how: How, runs: int) -> Measured:
    """Run the campaign several times, each with another crowd."""
    found = [_run(form, fakes, when, how, np.random.default_rng(seed)) for seed in range(runs)]
    slots, coverage = zip(*found, strict=True)
    return Measured(form, fakes, when, how, mean(slots), stdev(slots) if runs > 1 else 0.0, mean(coverage))


def _run(form: Form, fakes: float, when: When, how: How, generator: np.random.Generator) -> tuple[float, float]:
    case = city(SIDE, TARGETS)
    protected = form == "protected"
    plan = Plan(
        case.area,
        tuple(case.targets),
        EPSILON_PER_KM,
        users=USERS,
        wanted=WANTED * (2 if how == "twice" else 1),
        rounds=ROUNDS,
        seed=f"{generator.integers(2**53):064x}",
        null_epsilon=DEFAULT_NULL_EPSILON if protected else None,
        grade_epsilon=DEFAULT_GRADE_EPSILON if protected else None,
    )
    places = generator.choice(len(case.area), USERS, p=case.prior)
    grades = (generator.random(USERS) >= REGULAR).astype(np.int64)
    places[generator.random(USERS) < OUTSIDE] = NULL
    if not protected:
        places[grades == 1] = NULL
    rounds = np.arange(USERS) % ROUNDS
    places[_fakes(rounds, round(fakes * USERS), when, generator)] = FAKE
    state, reports = _play(plan, places, grades, rounds, protected, generator)
    chosen = _select(replace(state, plan=replace(plan, wanted=WANTED)), reports, how)
    there = places[chosen]
    at_target = np.isin(there, case.targets) & (grades[chosen] == 0)
    return float((there == FAKE).mean()), float(at_target.mean())


def _fakes(rounds: IntArray, many: int, when: When, generator: np.random.Generator) -> IntArray:
    if when == "spread":
        return np.asarray(generator.permutation(len(rounds))[:many])
    return np.flatnonzero(rounds == (0 if when == "first" else ROUNDS - 1))[:many]


def _play(
    plan: Plan, places: IntArray, grades: IntArray, rounds: IntArray, protected: bool, generator: np.random.Generator
) -> tuple[State, Reports]:
    state = begin(plan)
    symbols = np.full(len(places), NULL)
    for number in range(plan.rounds):
        policy = next_policy(state)
        state = advance(state, RoundOpened(policy))
        here = np.flatnonzero((rounds == number) & (places != FAKE) & (protected | (places != NULL)))
        given = grades[here] if protected else None
        symbols[here] = draw_many(policy, places[here], certify(policy), generator, given)
        symbols[(rounds == number) & (places == FAKE)] = HIT
        sent = symbols[rounds == number]
        state = advance(state, RoundClosed(count_symbols(policy, sent[sent != NULL], int((sent == NULL).sum()))))
    who = np.flatnonzero(symbols != NULL)
    return state, Reports(who, rounds[who], symbols[who])


def _select(state: State, reports: Reports, how: How) -> IntArray:
    plan = state.plan
    groups = groups_of(state.policies, state.prior, plan.targets, state.null_share)
    if how != "capped":
        return select_by_posterior(reports, groups, plan.wanted, plan.seed).participants
    parts = []
    for number in range(plan.rounds):
        rows = reports.in_order(np.flatnonzero(reports.round == number))
        part = select_by_posterior(rows, groups, plan.wanted // plan.rounds, plan.seed)
        parts.append(part.participants)
    return np.concatenate(parts)


def cases() -> Iterator[tuple[Form, float, When, How]]:
    """Everything that is measured."""
    for fakes in SHARES:
        yield "protected", fakes, "spread", "as it is"
    for fakes in (0.0, 0.05):
        yield "clear", fakes, "spread", "as it is"
    for when in ("first", "last"):
        yield "protected", 0.05, when, "as it is"
    for how in ("twice", "capped"):
        for fakes in (0.0, 0.05):
            yield "protected", fakes, "spread", how
        yield "protected", 0.05, "last", how


def main() -> None:
    """Print a table, and write it to a file."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.fakes", description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    addresses = ServerSettings().seats_per_address
    sys.stdout.write("form       fakes  addresses if open  come    selected   slots taken    at a target\n")
    rows = []
    for case in cases():
        one = measure(*case, given.runs)
        rows.append(asdict(one))
        need = -(-round(one.fakes * USERS) // addresses)
        sys.stdout.write(
            f"{one.form:9}  {one.fakes:>5.1%}  {need:>17}  {one.when:6}  {one.how:8}  "
            f"{one.slots:>6.1%} ± {one.slots_spread:>5.1%}  {one.coverage:>11.1%}\n"
        )
        sys.stdout.flush()
    if given.out is not None:
        given.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
