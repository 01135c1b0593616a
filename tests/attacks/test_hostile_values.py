"""What an attacker may try: hostile areas, policies, files and instances."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.policy.files import MAGIC
from crowdveil.policy.solver.cutting_planes import solve

LEAST = -(2**63)
AREA = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0]])


def test_a_coordinate_whose_absolute_value_is_negative_is_refused() -> None:
    """|-2^63| wraps to -2^63 in 64 bits; its squared distances would wrap to 0 and blind the checker."""
    text = json.dumps({"kind": "points", "centres_m": [[LEAST, 0], [0, 0], [1000, 0]]})
    with pytest.raises(cv.CrowdveilError, match="within 16,777 km"):
        cv.Area.from_json(text)
    towers = cv.Towers.from_positions([5.3, 5.30003], [-4.0, -4.0]).describe()
    towers["centres_m"] = [[LEAST, 0], [0, 2]]
    with pytest.raises(cv.CrowdveilError, match="would be wrong"):
        cv.Area.from_description(towers)
    grid = cv.Grid.from_bounds(5.3, -4.0, 5.4, -3.9).describe()
    for first in ([LEAST, 0], [0, 2**62]):
        with pytest.raises(cv.CrowdveilError, match="should reach at most"):
            cv.Area.from_description({**grid, "first_centre_m": first})


def test_the_checker_gives_no_verdict_when_a_distance_is_no_number() -> None:
    area = cv.Area.from_points_km([[0, 0], [1, 0], [2, 0]])
    object.__setattr__(area, "xy_m", np.array([[0, 0], [0, 0], [2000, 0]]))
    weights = np.array([[1, 3], [2, 2], [3, 1]]) << 51
    with pytest.raises(cv.NotPrivateError, match="nothing can be certified"):
        cv.certify(cv.Policy(area, 0.01, (0,), weights))


def test_metres_one_off_are_refused_even_between_near_towers() -> None:
    towers = cv.Towers.from_positions([5.3, 5.30003], [-4.0, -4.0])
    for cell, axis, move in ((0, 1, -1), (1, 0, 1), (1, 1, 1)):
        centres = towers.xy_m.copy()
        centres[cell, axis] += move
        with pytest.raises(cv.FileFormatError, match="would be wrong"):
            cv.Area.from_description({**towers.describe(), "centres_m": centres.tolist()})


@pytest.mark.parametrize(("apart_km", "beta"), [(50.0, 2e-6), (200.0, 1e-5), (40.0, 0.3)])
def test_a_quota_that_only_a_far_crowd_can_fill_is_met(apart_km: float, beta: float) -> None:
    """The target's chance must then lie within e^-εd of 1, closer than neighbouring doubles of its score resolve."""
    area = cv.Area.from_points_km([[0.0, 0.0], [apart_km, 0.0]])
    policy = cv.optimal_policy(area, [1e-6, 1 - 1e-6], [0], epsilon_per_km=1.0, beta=beta)
    assert policy.beta == pytest.approx(beta, rel=1e-9)


def test_many_targets_that_all_hold_up_one_crowded_cell_are_still_solved() -> None:
    """Twenty targets on a ring tie at the only cell where anyone lives: a hard case for cutting planes."""
    angle = 2 * np.pi * np.arange(25) / 25
    area = cv.Area.from_points_km(2 * np.column_stack([np.cos(angle), np.sin(angle)]))
    prior = np.full(25, 1e-6)
    prior[20] = 1 - 24e-6
    targets = tuple(sorted([7, 8, 22, 18, 23, 14, 12, 10, 1, 21, 4, 3, 5, 19, 9, 0, 13, 11, 2, 17]))
    found = solve(area, prior, targets, 2.0854683033348826, 0.06)
    assert found.value >= found.upper_bound * (1 - 1e-10)


def test_a_policy_cannot_be_changed_after_it_was_certified() -> None:
    policy = cv.optimal_policy(AREA, None, [0], epsilon_per_km=1.0, beta=0.2)
    for array in (policy.weights, policy.area.xy_m):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


def compact(canonical: bytes) -> bytes:
    return MAGIC + hashlib.sha256(canonical).digest() + zlib.compress(canonical)


def test_a_small_file_that_unpacks_to_a_huge_header_is_refused_before_it_is_parsed() -> None:
    header = b"[" + b"[]," * (1 << 24) + b"[]]"
    data = compact(struct.pack(">Q", len(header)) + header)
    assert len(data) < 200_000
    with pytest.raises(cv.FileFormatError, match=r"header of .* bytes; should be at most"):
        cv.Policy.from_bytes(data)


def test_only_the_canonical_bytes_are_accepted() -> None:
    canonical = cv.optimal_policy(AREA, None, [0], epsilon_per_km=1.0, beta=0.2).canonical_bytes()
    (size,) = struct.unpack(">Q", canonical[:8])
    spaced = canonical[8 : 8 + size].replace(b",", b", ")
    with pytest.raises(cv.FileFormatError, match="canonical"):
        cv.Policy.from_bytes(compact(struct.pack(">Q", len(spaced)) + spaced + canonical[8 + size :]))


@pytest.mark.parametrize("name", ["x\nprivate: yes", "\ud800", "", "\x1b[2J", "a" * 33, 7])
def test_symbol_names_cannot_carry_anything_but_a_name(name: object) -> None:
    weights = np.array([[100, 156]] * 3)
    with pytest.raises(cv.InputError, match="symbols"):
        cv.Policy(AREA, 1.0, (0,), weights, symbols=("hit", name), bits=8)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": ' + "9" * 5000 + "}",
        '{"kind": []}',
        '{"kind": {}}',
        '{"kind": "points", "kind": "points", "centres_m": [[0, 0], [1, 1]]}',
        '{"kind": "hexagons", "origin_e7": [0, 0], "resolution": 8, "cells": ["' + "f" * 40 + '"], "centres_m": []}',
    ],
    ids=["digits", "list", "object", "twice", "long id"],
)
def test_odd_json_is_one_clear_error(text: str) -> None:
    for read in (cv.Area.from_json, cv.Policy.from_json):
        with pytest.raises(cv.CrowdveilError):
            read(text)


def test_numbers_beyond_all_bounds_and_ragged_rows_are_one_clear_error() -> None:
    huge = 10**400
    with pytest.raises(cv.InputError, match="epsilon_per_km"):
        cv.optimal_policy(AREA, None, [0], epsilon_per_km=huge, beta=0.1)
    with pytest.raises(cv.InputError, match="prior"):
        cv.optimal_policy(AREA, [huge, 0, 0], [0], epsilon_per_km=1.0, beta=0.1)
    with pytest.raises(cv.InputError, match="targets"):
        cv.optimal_policy(AREA, None, [[0], [1, 2]], epsilon_per_km=1.0, beta=0.1)
    with pytest.raises(cv.InputError, match="users"):
        cv.minimum_beta(users=huge, wanted=5)
    with pytest.raises(cv.InputError, match="table"):
        cv.certify_table(AREA, [[1, 2], [3]], 1.0)
    with pytest.raises(cv.InputError, match="cell_km"):
        cv.Grid.from_bounds(40, -74, 41, -73, cell_km=1e300)
    with pytest.raises(cv.InputError, match="weights"):
        cv.Policy(AREA, 1.0, (0,), [[1], [2, 3], [4]])  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64])
def test_weights_of_any_whole_type_are_read_right(dtype: type) -> None:
    policy = cv.Policy(AREA, 1.0, (0,), np.array([[100, 156]] * 3).astype(dtype), bits=8)
    assert policy.weights.tolist() == [[100, 156]] * 3
