"""Small policies that lie on, just inside and just outside of the bound, with the verdict of the Python checker."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf, log, nextafter
from typing import Any

import numpy as np

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.arrays import IntArray
from crowdveil.certify import certify
from crowdveil.certify.exponential import FRACTION_BITS, exponent_below, power_below
from crowdveil.policy.policy import Completion, Policy
from crowdveil.policy.solver.optimal import optimal_policy
from tests.conformance.stacks import large_stacks, stacks

BITS = (12, 31, 53, 53, 62)
EPSILONS = (log(2), log(4), log(8), 0.05, 3.0)
Case = dict[str, Any]


def double(value: float) -> str:
    """The 16 hexadecimal digits of a double."""
    return struct.pack(">d", value).hex()


def policy_cases(generator: np.random.Generator, count: int) -> Iterator[Case]:
    """So many policies, of all makers in turn."""
    makers: list[Callable[[np.random.Generator], Policy]] = [_tight, _tight_last, _refined, _near_its_own, _one_sided]
    optimal, stacked = _around_optimal(generator), stacks(generator)
    for number in range(count):
        turn = number % (len(makers) + 2)
        others = optimal if turn == len(makers) else stacked
        policy = makers[turn](generator) if turn < len(makers) else next(others)
        if turn <= len(makers) and generator.random() < 0.4:
            policy = _protected(policy, generator)
        yield _case(policy, compact=generator.random() < 0.5)


def large_cases() -> Iterator[Case]:
    """Policies as large as a phone may have to read, compute and certify."""
    for name, policy in large_stacks():
        yield {"name": name, **_case(policy, compact=True)}


def _case(policy: Policy, compact: bool) -> Case:
    found = certify(policy)
    return {
        "compact" if compact else "json": base64.b64encode(policy.to_bytes()).decode() if compact else policy.to_json(),
        "hash": policy.hash,
        "weights": hashlib.sha256(policy.weights.astype(">u8").tobytes()).hexdigest(),
        "has_peaks": policy.peaks is not None,
        "ok_at_99": certify(policy, epsilon_per_km=0.99 * policy.epsilon_per_km).cells_ok,
        "ok": found.ok,
        "cells_ok": found.cells_ok,
        "smallest": double(found.smallest_epsilon_per_km),
        "null_ok": None if found.null is None else found.null.ok,
        "null_smallest": None if found.null is None else double(found.null.smallest_epsilon),
        "grades_ok": None if found.grades is None else found.grades.ok,
        "grades_smallest": None if found.grades is None else double(found.grades.smallest_epsilon),
        "boundary": found.exact_comparisons > 0,
    }


def _area(generator: np.random.Generator) -> Area:
    kind = generator.integers(10)
    if kind == 0:
        grid = Grid.from_bounds(48.1, 11.5, 48.13, 11.54, cell_km=1.0)
        return grid.subset(generator.choice(len(grid), 6, replace=False))
    if kind == 1:
        return Hexagons.from_bounds(40.70, -74.02, 40.72, -74.0, resolution=8)
    if kind == 2:
        at = generator.random((6, 2)) * 0.1
        return Towers.from_positions(37.7 + at[:, 0], -122.5 + at[:, 1], reach_km=5)
    n = int(generator.integers(3, 9))
    step = generator.choice([0.001, 0.25, 1.0])
    points = generator.integers(0, 40, size=(4 * n, 2)) * step
    return Area.from_points_km(np.unique(points, axis=0)[:n])


def _least_other(weight: int, epsilon_per_km: float, squared_m: int) -> int:
    """The least v with w ≤ e^{εd} v, as the checker decides it; one less breaks the claim."""
    return -(-(weight << FRACTION_BITS) // power_below(exponent_below(epsilon_per_km, squared_m)))


def _squared_m(area: Area, cell: int, other: int) -> int:
    dx, dy = (area.xy_m[cell] - area.xy_m[other]).tolist()
    return int(dx * dx + dy * dy)


def _falling(area: Area, epsilon: float, peak: int, target: int, generator: np.random.Generator) -> list[int]:
    """Weights that fall off from a target as fast as allowed; one of them is a unit off, or none."""
    weights = [
        peak if cell == target else max(1, _least_other(peak, epsilon, _squared_m(area, cell, target)))
        for cell in range(len(area))
    ]
    off = int(generator.integers(len(area)))
    weights[off] = max(1, weights[off] + int(generator.integers(-1, 2)))
    return weights


def _near_epsilon(epsilon: float, area: Area) -> float:
    """No smaller than what leaves the farthest cells something to send."""
    reach_km = float(area.distances_km(np.arange(len(area))).max())
    return min(epsilon, 6.0 / reach_km)


def _two_symbols(area: Area, epsilon: float, bits: int, first: list[int]) -> Policy:
    weights = np.array([[w, (1 << bits) - w] for w in first], dtype=np.int64)
    return Policy(area, epsilon, (0,), weights, bits=bits)


def _tight(generator: np.random.Generator) -> Policy:
    area, bits = _area(generator), int(generator.choice(BITS))
    epsilon = _near_epsilon(float(generator.choice(EPSILONS)), area)
    peak = int((1 << bits) * generator.uniform(0.05, 0.5))
    return _two_symbols(
        area, epsilon, bits, _falling(area, epsilon, peak, int(generator.integers(len(area))), generator)
    )


def _tight_last(generator: np.random.Generator) -> Policy:
    """The same bound, met by the last symbol."""
    policy = _tight(generator)
    return replace(policy, weights=policy.weights[:, ::-1])


def _refined(generator: np.random.Generator) -> Policy:
    """A completion whose products of two weights meet the bound."""
    area, bits = _area(generator), int(generator.choice(BITS))
    n, total = len(area), 1 << bits
    epsilon = _near_epsilon(float(generator.choice(EPSILONS)), area)
    hits = _falling(area, epsilon / 2, int(total * generator.uniform(0.05, 0.3)), 0, generator)
    others = [total - hit for hit in hits]
    one, two = (int(cell) for cell in generator.choice(n, 2, replace=False))
    sent = int(total * generator.uniform(0.1, 0.4))
    quotient = power_below(exponent_below(epsilon, _squared_m(area, one, two))) * others[two]
    against = max(1, -(-(others[one] * sent << FRACTION_BITS) // quotient) + int(generator.integers(-1, 2)))
    rows = np.array(
        [[sent, total // 4, total - sent - total // 4], [against, total // 4, total - against - total // 4]]
    )
    row = np.where(np.arange(n) == two, 1, 0)
    completion = Completion((0, 1, 2), row, rows.astype(np.int64))
    return replace(_two_symbols(area, epsilon, bits, hits), completion=completion)


def _table(generator: np.random.Generator, n: int, symbols: int, bits: int) -> IntArray:
    shares = 0.5 / symbols + 0.5 * generator.dirichlet(np.ones(symbols), size=n)
    weights = np.floor(shares[:, :-1] * (1 << bits)).astype(np.int64)
    return np.column_stack([weights, (1 << bits) - weights.sum(axis=1)])


def _near_its_own(generator: np.random.Generator) -> Policy:
    """Any table, claimed at an ε that lies at its smallest one or some last places beside it."""
    area, bits = _area(generator), int(generator.choice(BITS))
    symbols = int(generator.integers(2, 6))
    names = ("hit", *(str(cell) for cell in range(symbols - 1)))
    policy = Policy(area, 1.0, (1,), _table(generator, len(area), symbols, bits), symbols=names, bits=bits)
    return replace(policy, epsilon_per_km=_some_below(certify(policy).smallest_epsilon_per_km, generator))


def _one_sided(generator: np.random.Generator) -> Policy:
    """Some weights are 0: of all cells, or only of some."""
    area, bits = _area(generator), int(generator.choice(BITS))
    weights = _table(generator, len(area), 3, bits)
    silent = slice(None) if generator.random() < 0.5 else slice(0, int(generator.integers(1, len(area))))
    weights[silent, 2] += weights[silent, 1]
    weights[silent, 1] = 0
    policy = Policy(area, 50.0, (1,), weights, symbols=("hit", "0", "1"), bits=bits)
    smallest = certify(policy).smallest_epsilon_per_km
    return policy if smallest == inf else replace(policy, epsilon_per_km=smallest)


def _around_optimal(generator: np.random.Generator) -> Iterator[Policy]:
    """Optimal policies as they are published, and the same with some weights moved."""
    while True:
        side = int(generator.integers(3, 6))
        y, x = np.mgrid[:side, :side]
        area = Area.from_points_km(np.column_stack([x.ravel(), y.ravel()]))
        targets = generator.choice(side * side, 2, replace=False).tolist()
        completion = "informative" if generator.random() < 0.5 else "equal"
        epsilon, beta = float(generator.choice(EPSILONS[:3])), float(generator.uniform(0.05, 0.3))
        policy = optimal_policy(area, None, targets, epsilon_per_km=epsilon, beta=beta, completion=completion)
        yield policy
        for _ in range(30):
            weights = policy.weights.copy()
            cell = int(generator.integers(len(area)))
            # From one unit to about what was mixed in so that rounding is safe, and beyond.
            step = int(generator.choice([-1, 1])) << int(generator.integers(0, 40))
            weights[cell, 0] = min(max(1, int(weights[cell, 0]) + step), policy.total - 1)
            weights[cell, 1] = policy.total - weights[cell, 0]
            yield replace(policy, weights=weights)


def _protected(policy: Policy, generator: np.random.Generator) -> Policy:
    """Rows for grades and NULL that meet the bounds e^{ε₁} and e^{ε₀}, or miss them by a unit or by last places."""
    null_epsilon, grade_epsilon = (float(generator.choice([log(2), log(16), 4.0])) for _ in range(2))
    grades = int(generator.choice([1, 2, 2, 3]))
    policy = _with_grade_symbols(policy, grades)
    rows = [policy.weights]
    for _ in range(grades - 1):
        rows.append(np.array([_hop(row, grade_epsilon, generator) for row in rows[-1]]))
    weights = np.vstack(rows)
    weights = np.vstack([weights, _hop(weights[int(generator.integers(len(weights)))], null_epsilon, generator)])
    told: dict[str, Any] = {"null_epsilon": null_epsilon, "weights": weights}
    if grades > 1:
        told.update(grade_epsilon=grade_epsilon, grades=grades)
    if policy.completion is not None:
        null_row = int(generator.integers(len(policy.completion.weights)))
        told["completion"] = replace(policy.completion, row=np.append(np.tile(policy.completion.row, grades), null_row))
    policy = replace(policy, **told)
    found = certify(policy)
    for name, finding in (("null_epsilon", found.null), ("grade_epsilon", found.grades)):
        if finding is not None and 0 < finding.smallest_epsilon < inf and generator.random() < 0.7:
            change: dict[str, Any] = {name: _some_below(finding.smallest_epsilon, generator)}
            policy = replace(policy, **change)
    return policy


def _with_grade_symbols(policy: Policy, grades: int) -> Policy:
    """Split the last symbol, where a completion refines it: a completion refines one symbol for each grade."""
    if policy.completion is None or grades == 1:
        return policy
    last = policy.weights[:, -1]
    parts = np.column_stack([last // (grades + 2)] * grades)
    weights = np.column_stack([policy.weights[:, :-1], last - parts.sum(axis=1), parts])
    symbols = (*policy.symbols[:-1], "outside", *(f"grade {grade + 1}" for grade in range(grades)))
    return replace(policy, weights=weights, symbols=symbols)


def _hop(row: IntArray, epsilon: float, generator: np.random.Generator) -> IntArray:
    """A row whose first symbol is as much rarer as ε allows at any distance, or a unit beside it."""
    row = row.copy()
    if row[0] > 0:
        at = max(1, _least_other(int(row[0]), epsilon, 1_000_000) + int(generator.integers(-1, 2)))
        row[-1] += row[0] - at
        row[0] = at
    return row


def _some_below(value: float, generator: np.random.Generator) -> float:
    """The value itself, or one that is up to 40 last places smaller."""
    for _ in range(int(generator.integers(0, 40))):
        value = nextafter(value, 0.0)
    return value
