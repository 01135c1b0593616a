"""Measure whether the intervals told before a launch hold what comes, over 1,000 simulated campaigns.

    python -m benchmarks.planning ../shared/data
    python -m benchmarks.planning                       (synthetic towns only)

Each campaign asks a panel for 1 to 4 of its places, any or each, after every one of the panel's people has reported
once; ε = ln 4 per km, grades and outside protected at the defaults. Two kinds of crowds, which the planner does
not know:

    cities   New York, Gowalla and San Francisco: people drawn anew, with replacement, for every campaign; places among
             the busiest cells, or any of the busiest 80; who came is read from one test period
    towns    synthetic towns of four kinds, not of the family that the planner draws from: bumps around centres, ranks
             with a power law, two shores of an empty river, and people spread evenly; everyone has a place and comes by
             chance to others that they share with neighbours

The planner is told one of

    nothing      the area and the places
    habits       also what share of people is regular or outside, and whether they cover the whole area as drivers do
    population   also how many are counted by cell: all visits of the training periods; in towns the people, times a
                 lognormal error of 0.6
    panel        also the estimate of an earlier panel of other people drawn from the same

For each the share of campaigns is printed whose realised coverage lies in the 95 % interval, with the mean width of the
intervals as a multiple of two ranges that hold 95 % of the campaigns: of realised coverages ("of realised"), and of
their distance from the middle that was told ("of errors"), which is less where much is known.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from math import log
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import crowdveil as cv
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.campaign.knowledge import Knowledge
from crowdveil.campaign.next_policy import next_policy
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.prediction import possible_campaigns, predict
from crowdveil.campaign.request import SelectionRequest
from crowdveil.campaign.selection import Reports
from crowdveil.campaign.state import RoundClosed, RoundOpened, State, advance, begin, select
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.prior import count_symbols
from crowdveil.simulate.dataset import Dataset
from crowdveil.vocabulary import DEFAULT_THRESHOLDS

FILES = {
    "new-york": "dataset_TSMC2014_NYC.txt.xz",
    "gowalla": "gowalla_new_york.txt.gz",
    "san-francisco": "cabspotting_5min.csv.xz",
}
TOWNS = ("bumps", "ranks", "river", "even")
TOLD = ("nothing", "habits", "population", "panel")
CITY_CASES, TOWN_CASES = 4, 6
"""How many panels each city and each kind of town has."""
CITY_CAMPAIGNS, TOWN_CAMPAIGNS = 42, 21
"""Campaigns of each panel: 504 in cities and 504 in towns."""
SIZES = (300, 1000, 3000)
"""People in a panel, in turn."""
PLACES = 16
SIDE = 14
"""Cells along a side of a town."""
COUNTED_ERROR = 0.6
MIN_RECORDED = 0.25
"""A test period with a smaller part of the visits of the median training period was not recorded to its end."""
MARGIN = 1e-9
"""Ends of intervals are shares of whole people, divided and multiplied again."""


class Task(NamedTuple):
    """One panel of one city or kind of town."""

    name: str
    data: str | None
    case: int
    campaigns: int
    crowds: int
    told: tuple[str, ...]


@dataclass(frozen=True)
class Person:
    """The people of a city or town: one entry, or row, for each."""

    cell: IntArray
    grade: IntArray
    came: FloatArray
    """The chance that each comes to each place of the panel; 0 or 1 where it was observed."""


@dataclass(frozen=True)
class Campaign:
    """What was told and what came."""

    name: str
    told: str
    low: float
    middle: float
    high: float
    realised: float

    @property
    def held(self) -> bool:
        """Whether the interval held what came."""
        return self.low - MARGIN <= self.realised <= self.high + MARGIN


def run(task: Task) -> list[Campaign]:
    """Simulate the campaigns of a panel, and tell each beforehand what is to be expected."""
    generator = np.random.default_rng([TOWNS.index(task.name) if task.name in TOWNS else len(task.name), task.case])
    users = SIZES[task.case % len(SIZES)]
    with threadpool_limits(1, user_api="blas"):
        made = _city(task, generator) if task.data else _town(task, generator)
        area, places, counted, everyone = made
        plan = Plan(area, places, log(4), users, rounds=1, panel=True)
        policy = next_policy(begin(plan))
        certificate = cv.certify(policy)

        def reported(people: IntArray) -> tuple[State, Reports]:
            sent = cv.draw_many(policy, everyone.cell[people], certificate, generator, everyone.grade[people])
            opened = advance(begin(plan), RoundOpened(policy))
            rows = np.arange(len(people))
            closed = RoundClosed(count_symbols(policy, sent))
            return advance(opened, closed), Reports(rows, np.zeros(len(rows), dtype=np.int64), sent)

        def drawn() -> IntArray:
            return np.asarray(generator.integers(0, len(everyone.cell), users))

        inside = everyone.cell >= 0
        habits = Knowledge(
            regular_share=float((everyone.grade[inside] == 0).mean()),
            outside_share=float(1 - inside.mean()),
            roaming=task.name == "san-francisco",
        )
        earlier = Knowledge.from_state(reported(drawn())[0])
        known = {
            "nothing": Knowledge(),
            "habits": habits,
            "population": replace(habits, shape=counted, known_from="population"),
            "panel": replace(habits, shape=earlier.shape, known_from="reports", reports=earlier.reports),
        }
        told = {
            one: possible_campaigns(plan, known[one], crowds=task.crowds, seed=task.case, policy=policy)
            for one in task.told
        }
        found = []
        for _ in range(task.campaigns):
            request, asked = _request(places, users, generator)
            people = drawn()
            state, reports = reported(people)
            chosen = people[select(state, reports, request).participants]
            stays_away = np.prod(1 - everyone.came[np.ix_(chosen, asked)], axis=1)
            realised = float((generator.random(len(chosen)) >= stays_away).mean())
            for one in task.told:
                interval = predict(told[one], request).coverage
                found.append(Campaign(task.name, one, interval.low, interval.middle, interval.high, realised))
    return found


def _request(places: tuple[int, ...], users: int, generator: np.random.Generator) -> tuple[SelectionRequest, IntArray]:
    """Ask for 1 to 4 places, and between 2 % and 6 % of the people, at any or the same number at each."""
    asked = generator.choice(len(places), int(generator.integers(1, 5)), replace=False)
    targets = tuple(places[one] for one in asked.tolist())
    wanted = max(len(targets), round(users * generator.uniform(0.02, 0.06)))
    if generator.random() < 0.5:
        return SelectionRequest(targets, wanted), asked
    return SelectionRequest(targets, numbers=(wanted // len(targets),) * len(targets)), asked


def _city(task: Task, generator: np.random.Generator) -> tuple[cv.Area, tuple[int, ...], FloatArray, Person]:
    dataset = open_city(CitySource(task.name, task.data), task.case % 4)
    busiest = dataset.densest[: PLACES if task.case % 2 == 0 else 80]
    places = tuple(int(one) for one in generator.choice(busiest, PLACES, replace=False))
    cells, grades = dataset.graded_places("logistic", "target-aware", DEFAULT_THRESHOLDS, places, generator)
    rows = dataset.counts.during(dataset.split.train)
    counted = np.bincount(rows.cell, rows.visits, minlength=len(dataset.area))
    period = int(generator.choice(_recorded(dataset)))
    week = range(period, period + 1)
    came = np.column_stack([dataset.counts.periods_at((place,), week) for place in places])
    return dataset.area, places, np.asarray(counted, dtype=np.float64), Person(cells, grades, came.astype(np.float64))


def _recorded(dataset: Dataset) -> list[int]:
    """Return the test periods that were recorded whole: the last day of the taxi cabs has 78 of 500."""
    visits = np.bincount(dataset.counts.period, dataset.counts.visits, minlength=len(dataset.counts.periods))
    usual = float(np.median(visits[list(dataset.split.train)]))
    return [period for period in dataset.split.test if visits[period] >= MIN_RECORDED * usual]


def _town(task: Task, generator: np.random.Generator) -> tuple[cv.Area, tuple[int, ...], FloatArray, Person]:
    side = 0.00895 * SIDE
    area = cv.Grid.from_bounds(0.0, 0.0, side, side, cell_km=1.0)
    prior = _shares(task.name, area, generator)
    busy = generator.choice(len(area), PLACES // 2, replace=False, p=prior)
    others = generator.choice(np.setdiff1d(np.arange(len(area)), busy), PLACES - len(busy), replace=False)
    places = tuple(np.concatenate([busy, others]).tolist())
    people = 20_000
    regular, outside = generator.uniform(0.05, 0.8), generator.uniform(0, 0.3)
    shares = np.array([regular, *(np.array([0.4, 0.6]) * (1 - regular))])
    cells = generator.choice(len(area), people, p=prior)
    grades = generator.choice(3, people, p=shares)
    low, high = np.array([0.5, 0.2, 0.01])[grades], np.array([1.0, 0.5, 0.2])[grades]
    # Probabilities of a visit fall like 1/p² between the thresholds; then a town has weeks of its own.
    own = 1 / (1 / low - generator.random(people) * (1 / low - 1 / high))
    own = np.minimum(1.0, own * np.exp(0.15 * generator.standard_normal()))
    away = generator.random(people) < outside
    # Each person also comes to another place now and then, one that people like.
    second = generator.choice(len(area), people, p=prior)
    also = 0.5 * own * generator.random(people)
    came = np.where(cells[:, None] == np.array(places), own[:, None], 0.0)
    came = np.maximum(came, np.where(second[:, None] == np.array(places), also[:, None], 0.0))
    came[away] = 0.0
    counted = prior * np.exp(COUNTED_ERROR * generator.standard_normal(len(area)))
    person = Person(np.where(away, -1, cells), np.where(away, 0, grades), came)
    return area, places, counted, person


def _shares(kind: str, area: cv.Area, generator: np.random.Generator) -> FloatArray:
    """Return where the people of a town are."""
    x_km = area.xy_m / 1000
    if kind == "even":
        shares = generator.uniform(0.5, 1.5, len(area))
    elif kind == "ranks":
        shares = 1 / (1.0 + generator.permutation(len(area))) ** generator.uniform(0.7, 1.3)
    else:
        centres = x_km[generator.choice(len(area), 4)]
        apart_km = np.linalg.norm(x_km[:, None] - centres[None], axis=2)
        width_km = generator.uniform(0.8, 2.5)
        shares = (np.exp(-((apart_km / width_km) ** 2) / 2) * generator.uniform(0.3, 1, 4)).sum(axis=1) + 0.01
        if kind == "river":
            shares[np.abs(x_km[:, 0] - np.median(x_km[:, 0])) < 1] = 1e-4
    return np.asarray(shares / shares.sum())


def tasks(data: Path | None, campaigns: int | None, crowds: int, told: tuple[str, ...]) -> Iterator[Task]:
    """List all panels."""
    if data is not None:
        for name, file in FILES.items():
            for case in range(CITY_CASES):
                yield Task(name, str(data / file), case, campaigns or CITY_CAMPAIGNS, crowds, told)
    for name in TOWNS:
        for case in range(TOWN_CASES):
            yield Task(name, None, case, campaigns or TOWN_CAMPAIGNS, crowds, told)


def table(found: Sequence[Campaign]) -> list[str]:
    """One line for everything together, for what is told, and for each city or kind of town."""
    lines = [f"{'told':12}{'where':16}{'campaigns':>10}{'held':>8}{'width':>8}{'of realised':>13}{'of errors':>11}"]
    names = [*dict.fromkeys(one.name for one in found)]
    for told in TOLD:
        for name in ("all", *names):
            some = [one for one in found if one.told == told and name in ("all", one.name)]
            if some:
                lines.append(f"{told:12}{name:16}{_figures(some)}")
    return lines


def _figures(some: Sequence[Campaign]) -> str:
    realised = np.array([one.realised for one in some])
    errors = realised - np.array([one.middle for one in some])
    width = float(np.mean([one.high - one.low for one in some]))
    ranges = [float(np.subtract(*np.quantile(values, [0.975, 0.025]))) for values in (realised, errors)]
    held = float(np.mean([one.held for one in some]))
    return f"{len(some):10,}{held:8.1%}{width:8.3f}{width / ranges[0]:13.2f}{width / ranges[1]:11.2f}"


def _sides(task: Task, some: Sequence[Campaign]) -> Iterator[str]:
    """Say of one panel what was told and what came, and on which side of the intervals."""
    for told in task.told:
        rows = [(one.low, one.middle, one.high, one.realised) for one in some if one.told == told]
        low, middle, high, realised = np.array(rows).T
        below, above = (realised < low - MARGIN).mean(), (realised > high + MARGIN).mean()
        yield (
            f"{task.name} {task.case}, {told}: {middle.mean():.3f} ({low.mean():.3f} to {high.mean():.3f}), "
            f"came {realised.mean():.3f}, {below:.0%} below and {above:.0%} above"
        )


def main() -> None:
    """Simulate all campaigns, and print the table."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.planning", description=(__doc__ or "").splitlines()[0])
    options.add_argument("data", nargs="?", type=Path, help="the folder of the traces")
    options.add_argument("--only", nargs="+", choices=(*FILES, *TOWNS), help="these cities and towns")
    options.add_argument("--campaigns", type=int, help="of each panel (default: about 1,000 in all)")
    options.add_argument("--crowds", type=int, default=100, help="that the planner draws")
    options.add_argument("--told", nargs="+", choices=TOLD, default=list(TOLD), help="what the planner is told")
    options.add_argument("--workers", type=int, default=1)
    given = options.parse_args()
    every = tasks(given.data, given.campaigns, given.crowds, tuple(given.told))
    asked = [task for task in every if given.only is None or task.name in given.only]
    found: list[Campaign] = []
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        for task, some in zip(asked, pool.map(run, asked), strict=True):
            found += some
            sys.stderr.writelines(f"{line}\n" for line in _sides(task, some))
    sys.stdout.write("\n".join(table(found)) + "\n")


if __name__ == "__main__":
    main()
