"""Policies with a symbol for each of several places, described by peaks; mutants of them, and altered descriptions."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf, log, nextafter
from typing import Any

import numpy as np

from crowdveil.area import Area
from crowdveil.certify import certify
from crowdveil.codec import canonical_json
from crowdveil.errors import CrowdveilError
from crowdveil.policy import files
from crowdveil.policy.peaks import Peaks
from crowdveil.policy.policy import Policy
from crowdveil.policy.solver.stack import panel_policy, policy_per_target

Case = dict[str, Any]
GRADED: dict[str, Any] = {"null_epsilon": log(64), "grade_epsilon": log(8)}


def stacks(generator: np.random.Generator) -> Iterator[Policy]:
    """Stacks as they are published, and the same with something moved."""
    while True:
        for maker in (_unsaturated, _saturated, _graded, _panel, _graded_panel, _any_peaks):
            made = maker(generator)
            yield made
            for _ in range(8):
                yield from mutants(made, generator)


def _square(generator: np.random.Generator) -> Area:
    y, x = np.mgrid[: int(generator.integers(3, 6)), :4]
    return Area.from_points_km(np.column_stack([x.ravel(), y.ravel()]))


def _some(area: Area, count: int, generator: np.random.Generator) -> list[int]:
    cells: list[int] = generator.choice(len(area), count, replace=False).tolist()
    return cells


def _unsaturated(generator: np.random.Generator) -> Policy:
    area = _square(generator)
    return policy_per_target(area, None, _some(area, 3, generator), epsilon_per_km=log(4), betas=[0.02, 0.03, 0.01])


def _saturated(generator: np.random.Generator) -> Policy:
    """Some columns have several peaks."""
    area = _square(generator)
    prior = generator.dirichlet(np.full(len(area), 0.5))
    completion = str(generator.choice(["equal", "informative"]))
    places = _some(area, 4, generator)
    return policy_per_target(area, prior, places, epsilon_per_km=log(4), betas=[0.2] * 4, completion=completion)


def _graded(generator: np.random.Generator) -> Policy:
    area = _square(generator)
    prior = generator.dirichlet(np.full(3 * len(area), 0.7)).reshape(3, len(area))
    return policy_per_target(
        area,
        prior,
        _some(area, 2, generator),
        epsilon_per_km=log(4),
        betas=[float(generator.choice([0.02, 0.3]))] * 2,
        grade_chances=(0.7, 0.3, 0.03),
        null_share=0.1,
        **GRADED,
    )


def _panel(generator: np.random.Generator) -> Policy:
    return panel_policy(_square(generator), epsilon_per_km=float(generator.choice([log(2), log(4), 3.0])))


def _graded_panel(generator: np.random.Generator) -> Policy:
    area = _square(generator)
    places = _some(area, 5, generator)
    return panel_policy(area, places, targets=places[1:3], epsilon_per_km=log(4), grades=3, **GRADED)


def _any_peaks(generator: np.random.Generator) -> Policy:
    """Peaks that nobody would publish: of any height, at any input, for any number of bits."""
    area, bits, symbols = _square(generator), int(generator.choice([12, 31, 62])), 3
    inputs = 2 * len(area) + 1
    at = np.sort(generator.choice(symbols * inputs, 9, replace=False))
    heights = (generator.random(9) * (1 << bits) / 8).astype(np.int64)
    peaks = Peaks(at // inputs, at % inputs, heights, generator.integers(0, 1 << (bits - 5), symbols))
    others = generator.integers(1, 1 << (bits - 3), (inputs, 1))
    names = ("place 0", "place 2", "cell 1", "outside", "other")
    losses = {"null_epsilon": 1.5, "grade_epsilon": 0.5, "grades": 2}
    return Policy(area, 0.7, (0, 2), others, names, (0, 1), bits=bits, peaks=peaks, **losses)  # type: ignore[arg-type]


def mutants(policy: Policy, generator: np.random.Generator) -> Iterator[Policy]:
    """A peak raised, a floor lowered, a weight of the rest changed, less claimed: some private, some not."""
    changes = (_raised_peak, _lowered_floor, _moved_rest, _less_claimed, _near_its_own)
    change = changes[int(generator.integers(len(changes)))]
    with suppress(CrowdveilError):  # more than 2^bits in a row
        yield change(policy, generator)


def _raised_peak(policy: Policy, generator: np.random.Generator) -> Policy:
    assert policy.peaks is not None
    weight = policy.peaks.weight.copy()
    peak = int(generator.integers(len(weight)))
    weight[peak] += weight[peak] >> int(generator.integers(3, 50))
    return replace(policy, peaks=replace(policy.peaks, weight=weight))


def _lowered_floor(policy: Policy, generator: np.random.Generator) -> Policy:
    assert policy.peaks is not None
    floor = policy.peaks.floor.copy()
    floor[int(generator.integers(len(floor)))] >>= int(generator.choice([1, 2, 62]))
    return replace(policy, peaks=replace(policy.peaks, floor=floor))


def _moved_rest(policy: Policy, generator: np.random.Generator) -> Policy:
    """In one row some weight goes from a symbol to the last one."""
    weights = policy.weights.copy()
    row, symbol = int(generator.integers(len(weights))), int(generator.integers(weights.shape[1] - 1))
    moved = weights[row, symbol] >> int(generator.integers(1, 40))
    weights[row, symbol] -= moved
    weights[row, -1] += moved
    return replace(policy, weights=weights, peaks=None)


def _less_claimed(policy: Policy, generator: np.random.Generator) -> Policy:
    """The same weights, said to keep 0.99 of one of the losses."""
    names = [name for name in ("epsilon_per_km", "null_epsilon", "grade_epsilon") if getattr(policy, name) is not None]
    name = str(generator.choice(names))
    change: dict[str, Any] = {name: 0.99 * getattr(policy, name)}
    return replace(policy, peaks=None, **change)


def _near_its_own(policy: Policy, generator: np.random.Generator) -> Policy:
    """The same weights, claimed at their own smallest ε, or some last places below it."""
    smallest = certify(policy).smallest_epsilon_per_km
    for _ in range(int(generator.integers(0, 40))):
        smallest = nextafter(smallest, 0.0)
    return policy if smallest in (0.0, inf) else replace(policy, peaks=None, epsilon_per_km=smallest)


def large_stacks() -> Iterator[tuple[str, Policy]]:
    """A symbol for each of 400 cells: in the clear, and with three grades and being outside protected."""
    y, x = np.mgrid[:20, :20]
    area = Area.from_points_km(np.column_stack([x.ravel(), y.ravel()]))
    every, betas = np.arange(400), [0.0003] * 400
    yield "in the clear", policy_per_target(area, None, every, epsilon_per_km=log(4), betas=betas)
    losses: dict[str, Any] = {"null_epsilon": log(256), "grade_epsilon": log(16)}
    chances = (1.0, 0.0, 0.0)
    graded = policy_per_target(area, None, every, epsilon_per_km=log(4), betas=betas, grade_chances=chances, **losses)
    yield "with three grades and outside", graded


# --- descriptions ------------------------------------------------------------------------------------------------

CHANGES: tuple[Callable[[Case], object], ...] = (
    lambda document: document.items(),
    lambda document: document["peaks"]["weight"].__setitem__(0, document["peaks"]["weight"][0] + 1),
    lambda document: document["peaks"]["weight"].__setitem__(0, 0),
    lambda document: document["peaks"]["weight"].__setitem__(0, -1),
    lambda document: document["peaks"]["weight"].__setitem__(0, 2**53),
    lambda document: document["peaks"]["weight"].__setitem__(0, 2**64),
    lambda document: document["peaks"]["weight"].__setitem__(0, 1.0),
    lambda document: document["peaks"]["floor"].__setitem__(0, 0),
    lambda document: document["peaks"]["floor"].__setitem__(0, -1),
    lambda document: document["peaks"]["floor"].__setitem__(0, 2**53),
    lambda document: document["peaks"]["floor"].append(1),
    lambda document: document["peaks"]["floor"].extend([1] * 40),
    lambda document: document["peaks"]["floor"].clear(),
    lambda document: document["peaks"].__setitem__("floor", None),
    lambda document: document["peaks"]["input"].__setitem__(0, 999),
    lambda document: document["peaks"]["input"].__setitem__(0, -1),
    lambda document: document["peaks"]["input"].__setitem__(0, document["peaks"]["input"][0] - 1),
    lambda document: document["peaks"]["symbol"].__setitem__(0, 99),
    lambda document: document["peaks"]["symbol"].reverse(),
    lambda document: document["peaks"]["input"].pop(),
    lambda document: document["peaks"].pop("input"),
    lambda document: document["peaks"].__setitem__("colour", [1]),
    lambda document: document["peaks"].__setitem__("weight", "high"),
    lambda document: document["peaks"].__setitem__("weight", []),
    lambda document: document.__setitem__("peaks", []),
    lambda document: document.__setitem__("peaks", None),
    lambda document: document.pop("peaks"),
    lambda document: document["weights"].pop(),
    lambda document: document.__setitem__("weights", []),
    lambda document: document.__setitem__("weights", [1] * len(document["weights"])),
    lambda document: document.__setitem__("values", document.get("values", [])[:-1]),
    lambda document: document.__setitem__("values", [0.5] * len(document["targets"])),
    lambda document: document.__setitem__("values", [1.5] * len(document["targets"])),
    lambda document: document.__setitem__("values", ["0.5"] * len(document["targets"])),
    lambda document: document.__setitem__("values", 0.5),
    lambda document: document["targets"].reverse(),
    lambda document: document["targets"].append(document["targets"][0]),
    lambda document: document.__setitem__("targets", []),
    lambda document: document["selecting"].reverse(),
    lambda document: document.__setitem__("epsilon_per_km", document["epsilon_per_km"] / 2),
)


def description_cases(generator: np.random.Generator) -> Iterator[Case]:
    """Stacks as JSON and as bytes, with something altered, under the hash of what they then say, and refused or not."""
    for policy in (_unsaturated(generator), _saturated(generator), _graded_panel(generator)):
        for change in CHANGES:
            document = json.loads(policy.to_json())
            change(document)
            document["hash"] = _hash_of(document) or document["hash"]
            text = json.dumps(document)
            yield {"json": text, "hash": _accepted(partial(Policy.from_json, text))}
            with suppress(TypeError, KeyError, struct.error, AttributeError, ValueError):
                data = _compact(document, policy)
                accepted = _accepted(partial(Policy.from_bytes, data))
                yield {"compact": base64.b64encode(data).decode(), "hash": accepted}
    text = costly_description(generator)
    with suppress(CrowdveilError):
        Policy.from_json(text)
        raise AssertionError("too many exponentials were computed")
    yield {"json": text, "hash": None, "said": "peaks = 'in 1,100 of 1,100 cells': should need at most 500,000"}


def costly_description(generator: np.random.Generator) -> str:
    """A peak in every one of 1,100 scattered cells: more than 600,000 distances, in a file of some kilobytes."""
    area, many = Area.from_points_km(generator.random((1_100, 2)) * 30), 1_100
    peak = Peaks(np.array([0]), np.array([0]), np.array([1 << 40]), np.array([1 << 30]))
    policy = Policy(area, log(4), (0,), np.zeros((many, 0), dtype=np.int64), ("hit", "other"), (0,), peaks=peak)
    document = json.loads(policy.to_json())
    document["peaks"] |= {"symbol": [0] * many, "input": list(range(many)), "weight": [1 << 40] * many}
    return json.dumps(document)


def _accepted(read: Callable[[], Policy]) -> str | None:
    try:
        return read().hash
    except CrowdveilError:
        return None


def _hash_of(document: Case) -> str | None:
    """The hash that the content has, whatever the document says."""
    for _ in range(2):
        try:
            return Policy.from_json(json.dumps(document)).hash
        except CrowdveilError as error:
            found = str(error).partition("the content has ")[2][:64]
            if not found:
                return None
            document = {**document, "hash": found}
    return None


def _compact(document: Case, policy: Policy) -> bytes:
    """The compact form of what a document says, with the weights of the policy that it was."""
    header = {name: value for name, value in document.items() if name not in ("weights", "hash")}
    for name in ("epsilon_per_km", "value", "beta", "null_epsilon", "grade_epsilon"):
        if name in header:
            header[name] = struct.pack(">d", header[name]).hex()
    if "values" in header:
        header["values"] = [struct.pack(">d", value).hex() for value in header["values"]]
    original = policy.canonical_bytes()
    (size,) = struct.unpack(">Q", original[:8])
    text = canonical_json(header).encode()
    canonical = struct.pack(">Q", len(text)) + text + original[8 + size :]
    return files.MAGIC + hashlib.sha256(canonical).digest() + zlib.compress(canonical)
