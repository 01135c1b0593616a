"""Vectors of limits: terms and maps that are accepted or refused, what a report costs, and which maps fit together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from math import log, nextafter
from typing import Any

import numpy as np

from crowdveil.area import Area, Grid, Hexagons, Plane, Towers
from crowdveil.errors import CrowdveilError
from crowdveil.limits import (
    Charge,
    Lattice,
    PrivacyLimits,
    Spent,
    check_lattice,
    check_terms,
    check_totals,
    compatible,
)
from crowdveil.limits.charge import describe_use, more_reports
from crowdveil.wire import Terms
from tests.conformance.messages import TERMS, announced
from tests.conformance.policies import double

Case = dict[str, Any]
LN4, LN64 = log(4), log(64)


def limit_cases() -> Iterator[Case]:
    """All of them."""
    yield from _terms_cases()
    yield from _cost_cases()
    yield from _lattice_cases()
    yield from _limits_cases()


# --- terms and maps -----------------------------------------------------------------------------------------


def _squares(side: int, cell_m: int = 1000) -> Grid:
    first = -(side - 1) * cell_m // 2
    return Grid.build(Plane(0, 0), cell_m, side, side, (first, first))


def _towers(spacing_m: int, reach_km: float) -> Towers:
    return Towers.from_positions(*_squares(4, spacing_m).centres(), reach_km=reach_km)


def _spread(cell_m: int, apart: int) -> Grid:
    many = 4 * apart + 1
    chosen = apart * np.arange(5)
    return _squares(many, cell_m).subset((chosen[:, None] * many + chosen[None, :]).ravel())


def _maps() -> list[Case]:
    """Maps that an attacker would choose, and some that everyone accepts."""
    city = Grid.from_bounds(48.1, 11.5, 48.16, 11.58, cell_km=1.0)
    lonely = Towers.from_positions(48 + np.append(np.arange(20) * 0.01, 1.0), np.full(21, 11.0), reach_km=1)
    found: list[Area] = [
        city,
        Grid.on_lattice(48.1, 11.5, 48.16, 11.58, cell_km=1.0),
        Grid.from_bounds(48.1, 11.5, 48.1005, 11.5005, cell_km=0.01),
        city.subset([*range(18), len(city) - 1]),
        city.subset(range(10)),
        lonely,
        _towers(5000, 0.03),
        _towers(5000, 0.5),
        _towers(1500, 0.2),
        _towers(1500, 1.0),
        _towers(200, 1.0),
        _spread(250, 2),
        _spread(250, 8),
        _spread(250, 9),
        _spread(2000, 3),
        _squares(6, 250),
        _squares(6, 249),
        _squares(4, 5000),
        _squares(4, 5001),
        *(Hexagons.from_bounds(40.70, -74.03, 40.78, -73.95, resolution=one) for one in (7, 8, 9, 10)),
    ]
    inflated = {"kind": "points", "centres_m": (1000 * city.xy_m).tolist()}
    return [*(area.describe() for area in found), {**city.describe(), "cell_m": 1}, inflated, {"kind": "sphere"}]


def _terms_cases() -> Iterator[Case]:
    usual = PrivacyLimits()
    # A target beyond the smallest maps would hide what is said of them.
    for area in _maps():
        yield _terms({"area": area}, usual)
        yield _terms({"area": area}, replace(usual, cell_km=0.1, cells_within_2_km=1, gap_km=20.0, min_cells=2))
    city = _squares(6).describe()
    changes: tuple[Case, ...] = (
        {"epsilon_per_km": 2.0},
        {"epsilon_per_km": nextafter(LN4, 2)},
        {"epsilon_per_km": 1e-9},
        {"targets": [1, 1]},
        {"targets": [10**6]},
        {"targets": list(range(36))},
        {"delta": 1.0},
        {"delta": 0.2, "lower_deltas": [0.1]},
        {"grade_epsilon": 1.0, "lower_deltas": [0.3, 1e-9]},
        {"grade_epsilon": 1.0, "lower_deltas": [0.35, 0.2]},
        {"grade_epsilon": 1.0, "lower_deltas": [nextafter(0.2, 0)]},
        {"delta": 0.19, "lower_deltas": []},
        {"lower_deltas": [0.5, 0.2]},
        {"lower_deltas": [], "grade_epsilon": LN64},
        {"lower_deltas": [], "grade_epsilon": nextafter(LN64, 5)},
        {"lower_deltas": [], "grade_epsilon": 4.2},
        {"null_epsilon": nextafter(LN64, 5)},
        {"grade_epsilon": 2.1},
        {"grade_epsilon": None, "lower_deltas": []},
        {"null_epsilon": 2.5},
        {"null_epsilon": None, "grade_epsilon": None, "lower_deltas": []},
    )
    for change in changes:
        for limits in (usual, replace(usual, clear_reports=1)):
            yield _terms({"area": city, **change}, limits)


def _terms(change: Case, limits: PrivacyLimits) -> Case:
    terms = Terms.model_validate({**TERMS, **change})
    return {
        "kind": "terms",
        "announcement": announced(terms).to_bytes().decode(),
        "limits": limits.as_dict(),
        **_refusal(partial(check_terms, terms, limits)),
    }


def _refusal(check: Callable[[], object]) -> Case:
    """What a check says: the participant's words and the exact figures, or None where it passes."""
    try:
        check()
    except CrowdveilError as error:
        return {"error": type(error).__name__, "refused": str(error), "figures": getattr(error, "figures", "")}
    return {"error": None, "refused": None, "figures": None}


# --- costs --------------------------------------------------------------------------------------------------


def _cost_cases() -> Iterator[Case]:
    usual = PrivacyLimits()
    spents = [
        Spent(),
        Spent(LN4, LN64, 0, 1),
        Spent(2 * LN4, 2 * LN64, 0, 2),
        Spent(3 * LN4, 3 * LN64, 0, 3),
        Spent(nextafter(2 * LN4, 9), 2 * LN64, 0, 2),
        Spent(0.0, 2.5 * LN64, 0, 1200),
        Spent(1.0, 0.0, 2, 2),
        Spent.whole_limit(usual),
        Spent(0.1, 0.1, 0, 1),
    ]
    for limits in (
        usual,
        replace(usual, clear_reports=3),
        replace(usual, span="twelve-months", total_epsilon_per_km=2.0),
    ):
        for spent in spents:
            yield {
                "kind": "use",
                "limits": limits.as_dict(),
                "spent": doubles(asdict(spent)),
                "text": describe_use(spent, limits),
            }
            for *loss, lower in (
                (LN4, LN64, LN64, ()),
                (LN4, LN64, LN64 / 2, (0.2,)),
                (1e-9, 1e-9, None, ()),
                (LN4, 1.0, 3.0, (0.5, 0.25)),
                (0.5, None, None, ()),
                (3.0, 5.0, 0.01, (0.1,)),
            ):
                names = ("epsilon_per_km", "null_epsilon", "grade_epsilon")
                given = dict(zip(names, loss, strict=True))
                terms = Terms.model_validate({**TERMS, **given, "lower_deltas": lower})
                charge = Charge.of(terms, limits)
                left = more_reports(spent, charge, limits)
                yield {
                    "kind": "totals",
                    "limits": limits.as_dict(),
                    "spent": doubles(asdict(spent)),
                    "terms": [None if one is None else double(one) for one in (*loss, *lower)],
                    "charge": doubles(asdict(charge)),
                    "after": doubles(asdict(spent.plus([charge, charge]))),
                    "more": left,
                    **_refusal(partial(check_totals, spent, charge, limits)),
                }


def doubles(fields: Case) -> Case:
    return {name: double(value) if isinstance(value, float) else value for name, value in fields.items()}


# --- lattices -----------------------------------------------------------------------------------------------


def _lattice_cases() -> Iterator[Case]:
    box = (48.10, 11.50, 48.16, 11.58)
    areas: list[Area] = [
        Grid.on_lattice(*box, cell_km=1.0),
        Grid.on_lattice(*box, cell_km=0.5),
        Grid.on_lattice(*box, cell_km=0.3),
        Grid.on_lattice(48.12, 11.53, 48.2, 11.6, cell_km=1.0),
        Grid.on_lattice(48.5, 11.9, 48.6, 12.0, cell_km=0.3),
        Grid.on_lattice(48.9, 12.9, 49.1, 13.1, cell_km=1.0),
        Grid.from_bounds(*box, cell_km=1.0),
        Grid.from_bounds(48.1001, 11.5, 48.1601, 11.58, cell_km=1.0),
        Grid.from_bounds(*box, cell_km=1.0).subset(range(20)),
        Hexagons.from_bounds(*box, resolution=8),
        Hexagons.from_bounds(*box, resolution=7),
        Towers.from_positions(48.1 + np.arange(20) * 0.01, np.full(20, 11.5), reach_km=1),
        Towers.from_positions(58.1 + np.arange(20) * 0.01, np.full(20, 11.5), reach_km=1),
        Grid.from_bounds(-17.0, 179.95, -16.9, -179.95, cell_km=1.0),
        Grid.from_bounds(-17.0, -179.94, -16.9, -179.85, cell_km=1.0),
        Grid.from_bounds(88.0, 10.0, 88.1, 14.0, cell_km=1.0),
    ]
    lattices = [Lattice.of(area) for area in areas]
    for area, lattice in zip(areas, lattices, strict=True):
        yield {"kind": "lattice", "area": area.to_json(), "lattice": lattice.as_dict()}
    for one, other in product(lattices, lattices):
        both = json.dumps([one.as_dict(), other.as_dict()])
        yield {"kind": "compatible", "lattices": both, "compatible": compatible(one, other)}
    for earlier, new in _together():
        lattices = [Lattice.of(area) for area in (*earlier, new)]
        yield {
            "kind": "together",
            "areas": json.dumps([area.describe() for area in (*earlier, new)]),
            **_refusal(partial(check_lattice, lattices[-1], lattices[:-1], PrivacyLimits())),
        }


def _together() -> Iterator[tuple[list[Grid], Grid]]:
    """Maps of squares of 250 m that were answered on, and another one: laid over each other, parts may be too small."""

    def block(row: int, column: int, rows: int = 4, columns: int = 4, cell_m: int = 250) -> Grid:
        first = (column * 250 + cell_m // 2, row * 250 + cell_m // 2)
        return Grid.build(Plane(480000000, 110000000), cell_m, rows, columns, first)

    yield [block(0, 0)], block(0, 0)
    yield [block(0, 0)], block(3, 3)
    yield [block(0, 0)], block(4, 4)
    yield [block(0, 0)], block(0, 4)
    yield [block(0, 0, 8, 8)], block(0, 0)
    yield [block(0, 0, 8, 8)], block(0, 4, 8, 8)
    yield [block(0, 0, 8, 8)], block(1, 1, 8, 8)
    yield [block(0, 0, 8, 8), block(4, 0, 8, 8)], block(0, 4, 8, 8)
    yield [block(0, 0, 8, 8), block(4, 0, 8, 8)], block(2, 2, 8, 8)
    yield [block(0, 0, 4, 4, 1000)], block(0, 0, 16, 16)
    yield [block(0, 0, 4, 4, 1000)], block(0, 0, 16, 15)
    yield [block(0, 0, 8, 8).subset([*range(27), *range(28, 64)])], block(0, 0, 8, 8)
    yield [block(0, 0, 8, 8).subset([*range(20), *range(44, 64)])], block(0, 0, 8, 8)
    yield [block(0, 0, 70, 70).subset(range(0, 4900, 2))], block(0, 0, 8, 8)


# --- limits -------------------------------------------------------------------------------------------------


def _limits_cases() -> Iterator[Case]:
    usual = PrivacyLimits().as_dict()
    yield {"kind": "limits", "limits": usual, "ok": True, "default": True}
    for name in usual:
        for wrong in (0, -1, 0.5, 1, 2.5, "x", None, True):
            yield {"kind": "limits", "limits": {**usual, name: wrong}, "ok": _is_valid({**usual, name: wrong})}


def _is_valid(document: Case) -> bool:
    try:
        PrivacyLimits.from_dict(document)
    except CrowdveilError:
        return False
    return True
