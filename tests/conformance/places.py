"""Areas and their distances, draws from tapes, and profiles of visits, as the Python side has them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import date
from math import log
from typing import Any

import numpy as np

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.certify import certify
from crowdveil.draw import draw
from crowdveil.errors import CrowdveilError
from crowdveil.policy.policy import Policy
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.policy.solver.stack import panel_policy, policy_per_target
from crowdveil.profile import LogisticConstants, Periods, count_visits, logistic
from crowdveil.profile.place import choose_graded_place, choose_place, places_to_choose_from
from crowdveil.traces.visits import Visits
from crowdveil.vocabulary import NULL
from tests.conformance.policies import double

Case = dict[str, Any]


def areas(generator: np.random.Generator) -> list[Area]:
    """Areas of every kind, on both hemispheres and across the antimeridian."""
    grid = Grid.from_bounds(40.65, -74.03, 40.82, -73.90, cell_km=1.0)
    far = Grid.from_bounds(-36.95, 174.6, -36.75, 174.9, cell_km=0.75)
    dateline = Grid.from_bounds(-17.0, 179.9, -16.7, -179.9, cell_km=2.0)
    near = generator.random((60, 2)) * 0.2
    return [
        grid,
        grid.subset(generator.choice(len(grid), 90, replace=False)),
        far,
        dateline,
        Hexagons.from_bounds(40.68, -74.03, 40.75, -73.95, resolution=8),
        Hexagons.from_bounds(-33.9, 151.1, -33.87, 151.15, resolution=9),
        Towers.from_positions(14.6 + near[:, 0], -17.5 + near[:, 1], reach_km=4),
        Area.from_points_km(generator.random((40, 2)) * 30),
    ]


def area_cases(generator: np.random.Generator) -> Iterator[Case]:
    """Descriptions with digests, distances and located points, and descriptions that are refused."""
    for area in areas(generator):
        cells = generator.integers(0, len(area), size=(40, 2)).tolist()
        case: Case = {
            "area": area.to_json(),
            "digest": area.digest,
            "distances": [[i, j, double(area.distance_km(i, j))] for i, j in cells],
            "neighbour_km": area.nearest_neighbour_km if len(area) > 1 else None,
        }
        if area.plane is not None:
            latitude, longitude = area.centres()
            case["centres"] = np.column_stack([latitude, longitude]).tolist()
            middle = np.column_stack([latitude, longitude])[generator.integers(0, len(area), size=300)]
            # A little beside centres, across the borders of cells and of the area.
            lat = middle[:, 0] + generator.normal(0, 0.02, 300)
            lon = (middle[:, 1] + generator.normal(0, 0.02, 300) + 180) % 360 - 180
            found = area.locate(lat, lon).tolist()
            case["located"] = [[a, o, c] for a, o, c in zip(lat.tolist(), lon.tolist(), found, strict=True)]
        yield case
        yield from _false_descriptions(area, generator)


def _false_descriptions(area: Area, generator: np.random.Generator) -> Iterator[Case]:
    for field in list(area.describe()):
        # A `kept` of None is read as none given; no message can hold it.
        for wrong in (*([None] if field != "kept" else []), 1.5, "x", [], -1, 10**12, [[0, 0], [0, 0]], {"a": 1}):
            yield _refused({**area.describe(), field: wrong})
        yield _refused({name: value for name, value in area.describe().items() if name != field})
    yield _refused({**area.describe(), "more": 1})
    centres = area.describe().get("centres_m")
    if centres is not None:
        for _ in range(20):
            moved = [list(pair) for pair in centres]
            moved[int(generator.integers(len(moved)))][int(generator.integers(2))] += int(
                generator.choice([-2, -1, 1, 2])
            )
            yield _refused({**area.describe(), "centres_m": moved})
        yield _refused({**area.describe(), "centres_m": [[10 * x, 10 * y] for x, y in centres]})
        yield _refused({**area.describe(), "centres_m": centres[:-1]})


def _refused(description: Case) -> Case:
    try:
        digest = Area.from_description(description).digest
    except CrowdveilError:
        digest = None
    return {"area": json.dumps(description), "digest": digest}


PROTECTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"null_epsilon": log(16)},
    {"null_epsilon": log(64), "grade_epsilon": log(64)},
    {"null_epsilon": log(64), "grade_epsilon": log(8), "grade_chances": (0.7, 0.3, 0.03)},
)
"""The clear form, "no place" protected alone, and place, two or three grades and being outside protected together."""


def made_stacks(area: Area) -> list[Policy]:
    """Policies with a symbol for each target, and panels over some or all cells."""
    prior = np.linspace(1, 3, len(area)) / np.linspace(1, 3, len(area)).sum()
    graded: dict[str, Any] = {"null_epsilon": log(64), "grade_epsilon": log(8)}
    chances = (0.7, 0.3, 0.03)
    return [
        policy_per_target(area, prior, [7, 3], epsilon_per_km=log(4), betas=[0.02, 0.03]),
        policy_per_target(area, prior, [7, 3, 11], epsilon_per_km=log(4), betas=[0.2] * 3, completion="informative"),
        policy_per_target(
            area, None, [7, 3], epsilon_per_km=log(4), betas=[0.1, 0.2], grade_chances=chances, null_share=0.1, **graded
        ),
        panel_policy(area, epsilon_per_km=log(4)),
        panel_policy(area, [8, 2, 5, 11], targets=[5, 2], epsilon_per_km=log(4), null_epsilon=log(16)),
        panel_policy(area, epsilon_per_km=log(4), grades=3, **graded),
    ]


def _policies(generator: np.random.Generator) -> list[Policy]:
    grid = Grid.from_bounds(48.1, 11.5, 48.14, 11.56, cell_km=1.0)
    made = [
        optimal_policy(grid, None, [3, 7], epsilon_per_km=log(4), beta=0.1, completion=completion, **protection)
        for protection in PROTECTIONS
        for completion in ("equal", "informative")
    ]
    made += made_stacks(grid)
    n = len(grid)
    weights = generator.multinomial(1 << 12, np.full(5, 0.2), size=n)
    made.append(Policy(grid, 40.0, (0,), weights, symbols=("hit", "0", "1", "2", "3"), bits=12))
    return made


class Tape:
    """Numbers in place of random bits, and how many bits were asked for."""

    def __init__(self, words: list[int]) -> None:
        self._words = iter(words)
        self.asked: list[int] = []

    def bits(self, bits: int) -> int:
        """The next number."""
        self.asked.append(bits)
        return next(self._words)


def draw_cases(generator: np.random.Generator) -> Iterator[Case]:
    """Policies, and for each the symbols that tapes of random bits give."""
    for policy in _policies(generator):
        certificate = certify(policy)
        protected = policy.null_epsilon is not None
        boundaries = np.cumsum(policy.weights[0]).tolist()
        tapes = []
        for number in range(400):
            place = int(generator.integers(-1 if protected else 0, len(policy)))
            grade = int(generator.integers(policy.grades))
            words = [int(word) >> (64 - policy.bits) for word in generator.integers(0, 1 << 64, 2, dtype=np.uint64)]
            if number % 4 == 0:  # at a boundary of the first cell's row, and one beside it
                place, grade, words[0] = 0, 0, max(0, min(boundaries[0] - number % 8 // 4, policy.total - 1))
            tape = Tape(words)
            symbol = draw(policy, place, certificate, tape.bits, grade=grade)
            told = {"place": place, "grade": grade, "tape": [str(word) for word in words]}
            tapes.append({**told, "bits": tape.asked, "symbol": symbol})
        yield {"policy": base64.b64encode(policy.to_bytes()).decode(), "draws": tapes}


def profile_cases(generator: np.random.Generator) -> Iterator[Case]:
    """Visits of one person, and the profile and place they make."""
    for area in areas(generator):
        if area.plane is None:
            continue
        latitude, longitude = area.centres()
        for days in (1, 7):
            for _ in range(6):
                yield _profile_case(area, np.column_stack([latitude, longitude]), days, generator)
        yield _lowest_case(area)


def _profile_case(area: Area, centres: np.ndarray[Any, Any], days: int, generator: np.random.Generator) -> Case:
    start, count = date(2024, 2, 20), int(generator.integers(5, 40))
    haunts = centres[generator.integers(0, len(centres), size=4)]
    visits = int(generator.integers(1, 200))
    at = haunts[generator.choice(4, size=visits, p=[0.5, 0.3, 0.15, 0.05])] + generator.normal(0, 0.003, (visits, 2))
    first_s = (start - date(1970, 1, 1)).days * 86_400
    utc_s = first_s + generator.integers(-5 * 86_400, (days * count + 3) * 86_400, size=visits)
    # Some just around midnight on the person's own clock.
    offset_s = generator.choice([-18_000, -14_400, 0, 3_600, 20_700, 46_800], size=visits)
    midnight = generator.random(visits) < 0.3
    utc_s = np.where(midnight, utc_s // 86_400 * 86_400 - offset_s + generator.integers(-1, 2, size=visits), utc_s)
    at[:, 1] = (at[:, 1] + 180) % 360 - 180
    whole = Visits(("me",), np.zeros(visits, dtype=np.int64), utc_s, offset_s, at[:, 0], at[:, 1])
    constants = None
    if generator.random() < 0.5:
        constants = LogisticConstants("day" if days == 1 else "week", tuple(generator.normal(0, 2, 7).tolist()))
    delta = float(generator.choice([0.05, 0.3, 0.7]))
    thresholds = [delta, delta / 2, delta / 4][: int(generator.integers(1, 4))]
    targets = generator.choice(len(area), 3, replace=False).tolist()
    rule = str(generator.choice(["random", "target-aware"]))
    rng = int(generator.integers(1 << 30))
    return _case(whole, area, Periods(start, count, days), constants, thresholds, rule, targets, rng)


def _lowest_case(area: Area) -> Case:
    """One visit in a year of days elsewhere, and constants under which it is as unlikely as doubles can say."""
    latitude, longitude = (axis[[1] + [0] * 351] for axis in area.centres())
    start = date(2024, 1, 1)
    utc_s = ((start - date(1970, 1, 1)).days + np.append(1, np.arange(1, 352))) * 86_400 + 40_000
    nothing = np.zeros(len(utc_s), dtype=np.int64)
    whole = Visits(("me",), nothing, utc_s, nothing, latitude, longitude)
    constants = LogisticConstants("day", (-50.0, 50.0, -50.0, 50.0, -50.0, 50.0, -50.0))
    return _case(whole, area, Periods(start, 364, 1), constants, [0.5, 0.2], "target-aware", [1, 2], 0)


def _case(
    whole: Visits,
    area: Area,
    periods: Periods,
    constants: LogisticConstants | None,
    thresholds: list[float],
    rule: str,
    targets: list[int],
    rng: int,
) -> Case:
    counts = count_visits(whole, area, periods)
    profile = logistic(counts, range(len(periods)), constants).of(0)
    wanted, delta = sorted({*targets, *list(profile)[:1]}), thresholds[0]
    place = choose_place(profile, delta, rule, wanted, lambda below: rng % below)  # type: ignore[arg-type]
    graded = choose_graded_place(profile, thresholds, rule, wanted, lambda below: rng % below)  # type: ignore[arg-type]
    shipped, least = logistic(counts, range(len(periods))).of(0), thresholds[-1]
    refined = places_to_choose_from(shipped, profile, least)
    kept = choose_graded_place(refined, thresholds, rule, wanted, lambda below: rng % below)  # type: ignore[arg-type]
    return {
        "area": area.to_json(),
        "start_day": (periods.start - date(1970, 1, 1)).days,
        "count": len(periods),
        "days": periods.days,
        "constants": None if constants is None else list(constants.values),
        "visits": [
            list(row)
            for row in zip(
                whole.utc_s.tolist(),
                whole.offset_s.tolist(),
                whole.latitude.tolist(),
                whole.longitude.tolist(),
                strict=True,
            )
        ],
        "left_out": dict(counts.left_out),
        "profile": [[cell, probability] for cell, probability in profile.items()],
        "delta": delta,
        "thresholds": thresholds,
        "rule": rule,
        "targets": wanted,
        "rng": rng,
        "place": None if place == NULL else place,
        "graded": list(graded),
        "least": least,
        "refined": list(kept),
    }
