"""Compare crowdveil's pooled estimate of the prior with iterative Bayesian updates, on the same reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import qif
from threadpoolctl import threadpool_limits

import crowdveil as cv
from benchmarks.cases import EPSILON_PER_KM, Timing, city, timed
from benchmarks.line import Line
from benchmarks.peers.environment import AbsentError, ask
from crowdveil.arrays import FloatArray
from crowdveil.prior import Round, count_symbols, pooled_estimate

SIDE = 20
SIZES = (540, 5_400, 54_000, 540_000)
SEEDS = (0, 1, 2)
SETTLED, STEPS = 1e-6, 10_000
"""qif's own threshold, given to both peers, and a number of steps that neither reaches."""


@dataclass(frozen=True)
class Town:
    """Where people really are, and reports of theirs, by how many reported and by seed."""

    name: str
    truths: tuple[FloatArray, ...]
    reports: dict[int, tuple[Round, ...]]

    def errors(self, estimates: list[FloatArray]) -> list[float]:
        """Total variation between the truth and each seed's estimate."""
        return [float(np.abs(found - true).sum() / 2) for found, true in zip(estimates, self.truths, strict=True)]


def smooth_prior(seed: int) -> FloatArray:
    """Six neighbourhoods, some km wide, and a few people everywhere."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[:SIDE, :SIDE]
    centres, weights = generator.uniform(0, SIDE, (6, 2)), generator.dirichlet(np.ones(6))
    squared = (x.ravel() - centres[:, :1]) ** 2 + (y.ravel() - centres[:, 1:]) ** 2
    density = weights @ np.exp(-squared / 8) + 0.002
    return np.asarray(density / density.sum())


def rough_prior(seed: int) -> FloatArray:
    """Every cell for itself: no neighbour tells anything of another."""
    return city(SIDE, 1, seed=seed).prior


def towns(policy: cv.Policy) -> Iterator[Town]:
    """A smooth and a rough one, everybody reporting through the same policy."""
    certificate = cv.certify(policy)
    for name, prior in (("smooth", smooth_prior), ("rough", rough_prior)):
        truths = tuple(prior(seed) for seed in SEEDS)
        reports: dict[int, tuple[Round, ...]] = {}
        for size in SIZES:
            rounds = []
            for seed, truth in zip(SEEDS, truths, strict=True):
                generator = np.random.default_rng([seed, size])
                cells = generator.choice(len(truth), size, p=truth)
                rounds.append(count_symbols(policy, cv.draw_many(policy, cells, certificate, generator)))
            reports[size] = tuple(rounds)
        yield Town(name, truths, reports)


def estimates() -> Iterator[Line]:
    """Estimates of where people are against qif's and multi-freq-ldpy's iterative Bayesian update."""
    case = city(SIDE, 1)
    policy = cv.planar_laplace(case.area, None, case.targets, EPSILON_PER_KM)
    channel = policy.table()
    with threadpool_limits(1):
        for town in towns(policy):
            for size, rounds in town.reports.items():
                yield from _beside(town, size, rounds, channel)


def _beside(town: Town, size: int, rounds: tuple[Round, ...], channel: FloatArray) -> Iterator[Line]:
    frequencies = [one.counts / size for one in rounds]
    mine = timed(lambda: [pooled_estimate([one]) for one in rounds], 3).shared_by(len(rounds))
    ours = town.errors([pooled_estimate([one]).prior for one in rounds])

    def update() -> list[FloatArray]:
        return [qif.channel.iterative_bayesian_update(channel, one, max_diff=SETTLED)[0] for one in frequencies]

    theirs = timed(update, 3).shared_by(len(rounds))
    what = f"where people are, {town.name} town, {size:,} reports on 400 cells"
    about = {"town": town.name, "reports": size}
    yield from _lines(f"{what}: qif", mine, ours, theirs, town.errors(update()), {**about, "peer": "qif"})
    if town.name != "smooth" or size != 5_400:
        return
    try:
        answer = ask("ldpy", channel=channel, frequencies=frequencies, steps=STEPS, settled=SETTLED, runs=1)
    except AbsentError as reason:
        yield Line.without_peer(f"{what}: multi-freq-ldpy", "multi-freq-ldpy", str(reason))
        return
    unequal = (
        "; multi-freq-ldpy multiplies by the channel where its transpose is due, which is right only for symmetric "
        "channels, and this one, like any on a bounded map, is not; compiling it is not counted"
    )
    taken = Timing.of(answer["seconds"].ravel().tolist())
    errors = town.errors(list(answer["estimates"]))
    about["peer"] = "multi-freq-ldpy"
    yield from _lines(f"{what}: multi-freq-ldpy", mine, ours, taken, errors, about, unequal)


def _lines(
    what: str,
    mine: Timing,
    ours: list[float],
    theirs: Timing,
    errors: list[float],
    about: dict[str, Any],
    unequal: str = "",
) -> Iterator[Line]:
    yield Line(
        f"{what}, seconds",
        str(mine),
        str(theirs),
        theirs.median / mine.median,
        unequal="ours also chooses how smooth people are, of two assumptions; the peer goes on to qif's own "
        f"threshold, thousands of steps, and would take milliseconds for 100; one thread on either side{unequal}",
        why="ours fits two models from 5,000 reports on, by steps that solve for all cells at once; the peer fits one",
    )
    yield Line(
        f"{what}, total variation to the truth",
        _range(ours),
        _range(errors),
        median(errors) / median(ours),
        unequal="ours assumes that neighbours are alike unless the reports say otherwise, and the smooth town is made "
        f"of bumps such as ours looks for; the rough town is the opposite{unequal}",
        why="where reports do not clearly support the rough assumption the smooth one is kept; this town is rougher",
        figures={**about, "ours": ours, "theirs": errors},
    )


def _range(errors: list[float]) -> str:
    return f"{median(errors):.3f} ({min(errors):.3f}-{max(errors):.3f}, {len(errors)} towns)"
