"""Compare noise and reports with the peers' planar Laplace samplers: points a second, and correctness of the noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import cos, radians, sqrt
from typing import Any

import numpy as np
import qif

import crowdveil as cv
from benchmarks.cases import EPSILON_PER_KM, Timing, city, timed
from benchmarks.line import Line
from benchmarks.peers.environment import AbsentError, ask
from benchmarks.solving import ours
from crowdveil.arrays import FloatArray

NEW_YORK = (40.73, -73.99)
KM_PER_DEGREE = 111.195
DUE_KM = sqrt(3) / EPSILON_PER_KM
"""Standard deviation along any axis: the radius is Gamma(2, 1/ε), so E r² = 6/ε², half of it on each axis."""
RUNS = 5


@dataclass(frozen=True)
class Rate:
    """Points a second, from seconds for so many."""

    points: int
    seconds: Timing

    @property
    def median(self) -> float:
        """Points a second in the middle run."""
        return self.points / self.seconds.median

    def __str__(self) -> str:
        low, high = self.points / self.seconds.high, self.points / self.seconds.low
        return f"{self.median:,.3g} points/s ({low:,.3g}-{high:,.3g}, {self.seconds.runs} runs)"


def spread(north_km: FloatArray, east_km: FloatArray) -> str:
    """How wide noise lies on either axis, and whether that is what ε asks for (within 5 %)."""
    sides = north_km.std(), east_km.std()
    right = all(abs(side / DUE_KM - 1) < 0.05 for side in sides)
    return f"{'' if right else 'WRONG NOISE: '}spread {sides[0]:.3f} km north-south, {sides[1]:.3f} east-west"


def draws() -> Iterator[Line]:
    """Noise and reports against the planar Laplace samplers of qif, GeoPrivacy, trasgoDP and privkit."""
    generator = np.random.default_rng(1)
    points = np.zeros((1_000_000, 2))
    noise = cv.sample_planar_laplace(points, EPSILON_PER_KM, generator)
    mine = Rate(len(points), timed(lambda: cv.sample_planar_laplace(points, EPSILON_PER_KM, generator), 7))
    shown = f"{mine}; {spread(noise[:, 1], noise[:, 0])}"
    theirs, told = _qif()
    yield Line(
        "planar Laplace noise: qif",
        shown,
        f"{theirs}; {told}",
        mine.median / theirs.median,
        unequal="qif draws one point a call from Python, we draw arrays; both seeded, in floats, for simulation",
    )
    for peer, count, unequal in (
        ("GeoPrivacy", 100_000, "it draws one point a call inside its batch; both seeded, in floats"),
        (
            "trasgoDP",
            20_000,
            "it blurs a table of coordinates, equal ones equally, and always with seed 42 unless told",
        ),
        ("privkit", 50_000, "it blurs coordinates one by one; its noise lies on Earth-centred axes, not on the ground"),
    ):
        yield _beside(mine, shown, peer, count, unequal)
    yield from _reports(theirs, told)


def _qif() -> tuple[Rate, str]:
    sample, count = qif.mechanism.geo_ind.planar_laplace_sample, 200_000

    def peer() -> list[Any]:
        return [sample(EPSILON_PER_KM) for _ in range(count)]

    noise = np.array([(point.x, point.y) for point in peer()])
    return Rate(count, timed(peer, RUNS)), spread(noise[:, 1], noise[:, 0])


def _beside(mine: Rate, shown: str, peer: str, count: int, unequal: str) -> Line:
    what = f"planar Laplace noise: {peer}"
    # trasgoDP blurs equal coordinates alike: a spread of some metres keeps them apart.
    apart = np.arange(count) * 1e-9
    latitude, longitude = NEW_YORK[0] + apart, NEW_YORK[1] + apart
    try:
        answer = ask(peer.lower(), latitude=latitude, longitude=longitude, epsilon_per_km=EPSILON_PER_KM, runs=RUNS)
    except AbsentError as reason:
        return Line.without_peer(what, peer, str(reason))
    if "noise_km" in answer:
        north, east = answer["noise_km"][:, 1], answer["noise_km"][:, 0]
    else:
        north = (answer["latitude"] - latitude) * KM_PER_DEGREE
        east = (answer["longitude"] - longitude) * KM_PER_DEGREE * cos(radians(NEW_YORK[0]))
    theirs = Rate(count, Timing.of(answer["seconds"].tolist()))
    note = "two calls gave the same noise" if answer.get("repeats") else ""
    due = f"; due are {DUE_KM:.3f} km on either axis"
    return Line(
        what, shown, f"{theirs}; {spread(north, east)}", mine.median / theirs.median, note=note, unequal=unequal + due
    )


def _reports(theirs: Rate, told: str) -> Iterator[Line]:
    case = city(20, 8)
    policy = ours(case)
    certificate = cv.certify(policy)
    generator = np.random.default_rng(1)
    cells = generator.choice(len(case.area), size=2_000_000, p=case.prior)
    many = Rate(len(cells), timed(lambda: cv.draw_many(policy, cells, certificate, generator), 7))
    few = cells[:20_000].tolist()
    one = Rate(len(few), timed(lambda: [cv.draw(policy, cell, certificate) for cell in few], RUNS))
    peer = f"{theirs}; {told}"
    yield Line(
        "reports of a certified policy, simulated: qif's planar Laplace",
        str(many),
        peer,
        many.median / theirs.median,
        unequal="ours are symbols chosen in whole numbers, as the policy says to the last bit; qif's are float points",
    )
    yield Line(
        "reports as a phone draws them, one by one: qif's planar Laplace",
        str(one),
        peer,
        one.median / theirs.median,
        unequal="ours takes its bits from the operating system, checks that the certificate is the policy's, and looks "
        "at every boundary whatever it drew; qif's is seeded, in floats",
        why="one call of Python each: by a profile two fifths of it check the input, a third looks at every boundary, "
        "a tenth asks the operating system for bits; a phone draws once a round",
    )
