"""Hostile campaigns: none is joined, nothing is drawn, and the server never hears of the device."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from math import fsum, log
from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.arrays import IntArray
from crowdveil.client import PrivacyLimits, Spent
from crowdveil.errors import CampaignRefused, LimitReached, NotPrivateError, OutsideLimits
from crowdveil.policy.files import MAGIC
from crowdveil.wire import new_private_key
from tests.client.fake_server import (
    AREA,
    LN4,
    LN8,
    LN64,
    TARGETS,
    THRESHOLDS,
    FakeServer,
    clear_policy,
    new_device,
    small_policy,
    three_grades,
)
from tests.limits.some_terms import spread_squares, towers
from tests.town import square_town

Attack = Callable[[FakeServer], None]


def serve(server: FakeServer, policy: cv.Policy) -> None:
    """Announce a policy and hand out that very one."""
    server.policy_bytes, server.policy_hash = policy.to_bytes(), policy.hash
    server.terms |= {
        "area": policy.area.describe(),
        "targets": list(policy.targets),
        "epsilon_per_km": policy.epsilon_per_km,
        "null_epsilon": policy.null_epsilon,
        "grade_epsilon": policy.grade_epsilon,
        "lower_deltas": list(THRESHOLDS[1 : max(1, policy.grades - 1)]),
    }


def changed_rows(change: Callable[[IntArray], None], policy: cv.Policy | None = None) -> cv.Policy:
    """A policy whose weights were changed by hand, and that claims the same protection."""
    policy = policy or small_policy()
    weights = policy.weights.copy()
    change(weights)
    return replace(policy, weights=weights)


def tells_a_cell(weights: IntArray) -> None:
    """The first cell says something that no other does."""
    weights[0] = weights[TARGETS[0]]


def tells_outside(weights: IntArray) -> None:
    """Those outside say something that hardly anyone else does."""
    weights[-1] = weights[TARGETS[0]]


def tells_grades(weights: IntArray) -> None:
    """Visitors of the second grade are never taken for regular ones."""
    hits = weights[len(AREA) : 2 * len(AREA), 0].copy()
    weights[len(AREA) : 2 * len(AREA), 0] = 0
    weights[len(AREA) : 2 * len(AREA), 1] += hits


def one_more_grade() -> cv.Policy:
    policy = small_policy()
    weights = np.vstack([policy.weights[:36], policy.weights[:36], policy.weights[36:]])
    weights = np.hstack([weights, np.zeros((len(weights), 1), dtype=np.int64)])
    names = (*policy.symbols, "grade 3")
    return replace(policy, weights=weights, symbols=names, grades=3, completion=None)


def announce(**fields: object) -> Attack:
    return lambda server: server.terms.update(fields)


def announce_area(**fields: object) -> Attack:
    return lambda server: server.terms["area"].update(fields)


def hand_out(policy: Callable[[], cv.Policy]) -> Attack:
    """Announce one policy, send another."""

    def attack(server: FakeServer) -> None:
        server.policy_bytes = policy().to_bytes()

    return attack


def announce_and_hand_out(policy: Callable[[], cv.Policy]) -> Attack:
    return lambda server: serve(server, policy())


def as_promised_but(policy: Callable[[], cv.Policy]) -> Attack:
    """Announce the hash of another policy than the announced area, targets and ε belong to."""

    def attack(server: FakeServer) -> None:
        other = policy()
        server.policy_bytes = other.to_bytes()
        server.policy_hash = other.hash

    return attack


def fewer_grades_than_announced(server: FakeServer) -> None:
    serve(server, small_policy(grade_epsilon=LN8))
    server.terms["lower_deltas"] = [0.2]


def inflated_points() -> cv.Policy:
    """The same town with a kilometre said to be a thousand: any policy looks private over such distances."""
    return small_policy(cv.Area.from_points_km(AREA.xy_m / 1000 * 1000), TARGETS)


def inflated_towers(server: FakeServer) -> None:
    towers = cv.Towers.from_positions(*AREA.centres())
    serve(server, small_policy(towers))
    centres = towers.describe()["centres_m"]
    server.terms["area"]["centres_m"] = [[1000 * x, 1000 * y] for x, y in centres]


def stretched_towers(server: FakeServer) -> None:
    towers = cv.Towers.from_positions(*AREA.centres())
    serve(server, small_policy(towers))
    server.terms["area"]["centres_m"] = [[x + 10 * (x > 0), y] for x, y in towers.describe()["centres_m"]]


def metre_cells() -> cv.Policy:
    grid = cv.Grid.from_bounds(0.0, 0.0, 0.00005, 0.00005, cell_km=0.001)
    return small_policy(grid, (3,))


def scattered() -> cv.Policy:
    town = square_town(40)
    return small_policy(town.subset([row * 40 + column for row in range(0, 40, 8) for column in range(0, 40, 8)]), (3,))


def weights_that_sum_to_more(server: FakeServer) -> None:
    """Canonical bytes by hand, because no Policy can be made of them."""
    canonical = small_policy().canonical_bytes()
    (size,) = struct.unpack(">Q", canonical[:8])
    canonical = canonical[: 8 + size] + b"\xff" * (len(canonical) - 8 - size)
    digest = hashlib.sha256(canonical)
    server.policy_bytes = MAGIC + digest.digest() + zlib.compress(canonical)
    server.policy_hash = digest.hexdigest()


def cut(server: FakeServer) -> None:
    server.policy_bytes = server.policy_bytes[:-20]


def flipped(server: FakeServer) -> None:
    at = len(server.policy_bytes) // 2
    byte = bytes([server.policy_bytes[at] ^ 1])
    server.policy_bytes = server.policy_bytes[:at] + byte + server.policy_bytes[at + 1 :]


NAN, INFINITY = float("nan"), float("inf")
HOSTILE: dict[str, tuple[Attack, str]] = {
    "inflated coordinates of bare points": (announce_and_hand_out(inflated_points), "no latitudes and longitudes"),
    "inflated coordinates of towers": (inflated_towers, "distances would be wrong"),
    "towers ten metres off": (stretched_towers, "would be wrong"),
    "metres for kilometres": (announce_and_hand_out(metre_cells), "Were metres given as kilometres"),
    "cells of 1 m announced only": (announce_area(cell_m=1), "Were metres given as kilometres"),
    "cells 1000 times as large": (announce_area(cell_m=1_000_000), "should reach at most"),
    "cells twice as large as the policy's": (announce_area(cell_m=2000), "was announced"),
    "NaN for ε": (announce(epsilon_per_km=NAN), "NaN"),
    "infinity for ε": (announce(epsilon_per_km=INFINITY), "Infinity"),
    "NaN for δ": (announce(delta=NAN), "NaN"),
    "NaN in the area": (announce_area(cell_m=NAN), "NaN"),
    "a threshold that nobody can pass": (announce(delta=1.0), "delta = 1.0"),
    "NaN for ε₀": (announce(null_epsilon=NAN), "NaN"),
    "no ε₀": (announce(null_epsilon=0.0), "null_epsilon"),
    "no ε₁": (announce(grade_epsilon=0.0), "grade_epsilon"),
    "grades without ε₀": (announce(null_epsilon=None), "grade_epsilon needs null_epsilon"),
    "the clear form": (announce_and_hand_out(clear_policy), "accepts 0 reports in the clear"),
    "a protected form announced, the clear one handed out": (as_promised_but(clear_policy), "null_epsilon = None, but"),
    "another ε₀ than announced": (as_promised_but(lambda: small_policy(null_epsilon=4.0)), "null_epsilon = 4.0"),
    "another ε₁ than announced": (as_promised_but(lambda: small_policy(grade_epsilon=4.0)), "grade_epsilon = 4.0"),
    "a huge ε₀": (announce_and_hand_out(lambda: small_policy(null_epsilon=5.0)), "ε₀ = 5; this device accepts at most"),
    "a huge ε₁": (
        announce_and_hand_out(lambda: small_policy(grade_epsilon=5.0)),
        "ε₁ = 5 from each of 2 grades to the next, 5 in all; this device accepts at most 4.15888",
    ),
    "an ε₁ that only two grades could have": (
        announce_and_hand_out(lambda: three_grades(LN64)),
        "ε₁ = 4.15888 from each of 3 grades to the next, 8.31777 in all; this device accepts at most 4.15888",
    ),
    "a small ε₁ over many grades": (
        announce(lower_deltas=[0.4, 0.3, 0.2, 0.1], grade_epsilon=log(4)),
        "ε₁ = 1.38629 from each of 6 grades to the next, 6.93147 in all",
    ),
    "thresholds that do not fall": (announce(lower_deltas=[0.2, 0.3]), "lower_deltas should fall"),
    "a threshold above the first": (announce(lower_deltas=[0.5]), "lower_deltas should fall"),
    "a threshold that everyone passes": (announce(lower_deltas=[0.0]), "lower_deltas"),
    "NaN for a threshold": (announce(lower_deltas=[NAN]), "NaN"),
    "thresholds by the hundred": (announce(lower_deltas=[0.4 / n for n in range(1, 101)]), "lower_deltas"),
    "grades in the clear form": (
        announce(lower_deltas=[0.2], null_epsilon=None, grade_epsilon=None),
        "lower_deltas applies only to grades",
    ),
    "too few constants": (announce(profile_constants=[0.0] * 6), "profile_constants"),
    "a huge constant": (announce(profile_constants=[0.0] * 6 + [51.0]), "profile_constants"),
    "NaN for a constant": (announce(profile_constants=[0.0] * 6 + [NAN]), "NaN"),
    "a row for outside that breaks its ε₀": (
        announce_and_hand_out(lambda: changed_rows(tells_outside, small_policy(null_epsilon=log(2)))),
        "Being outside is NOT protected",
    ),
    "rows of grades that break their ε₁": (
        announce_and_hand_out(lambda: changed_rows(tells_grades)),
        "The regularity of visits is NOT protected|NOT private",
    ),
    "more grades than were announced": (as_promised_but(one_more_grade), "grades = 3, but 2 was announced"),
    "fewer grades than were announced": (fewer_grades_than_announced, "grades = 2, but 3 was announced"),
    "a threshold below the floor": (
        announce(delta=0.1),
        "δ = 0.1 as its lowest threshold; this device accepts no less than 0.2",
    ),
    "towers that name houses": (
        announce_and_hand_out(lambda: small_policy(towers(5.0, 0.03), (3,))),
        "smallest region",
    ),
    "kept squares that name houses": (
        announce_and_hand_out(lambda: small_policy(spread_squares(0.25, 12), (3,))),
        "1 cells within 2 km",
    ),
    "no ε": (announce(epsilon_per_km=0.0), "epsilon_per_km"),
    "a negative ε": (announce(epsilon_per_km=-1.0), "epsilon_per_km"),
    "ε as text": (announce(epsilon_per_km="1"), "epsilon_per_km"),
    "a huge ε": (announce_and_hand_out(lambda: small_policy(epsilon_per_km=30.0)), "accepts at most 1.38629"),
    "ε a little above the limit": (
        announce_and_hand_out(lambda: small_policy(epsilon_per_km=1.3863)),
        "accepts at most 1.38629",
    ),
    "another ε than announced": (as_promised_but(lambda: small_policy(epsilon_per_km=4.0)), "epsilon_per_km = 4.0"),
    "a stricter ε than announced": (as_promised_but(lambda: small_policy(epsilon_per_km=1.0)), "epsilon_per_km = 1.0"),
    "a policy that breaks its ε": (announce_and_hand_out(lambda: changed_rows(tells_a_cell)), "NOT private at ε"),
    "a policy that breaks it by a hair": (
        announce_and_hand_out(lambda: _relabelled(small_policy(), 0.999 * LN4)),
        "NOT private at ε",
    ),
    "another policy than the hash": (hand_out(lambda: small_policy(targets=(14, 21))), "could be singled out"),
    "targets swapped": (as_promised_but(lambda: small_policy(targets=(1, 2))), "targets"),
    "targets outside": (announce(targets=[36]), "targets"),
    "a target twice": (announce(targets=[14, 14]), "named twice"),
    "a policy of another area": (as_promised_but(lambda: small_policy(square_town(7))), "area"),
    "a town elsewhere": (announce_area(origin_e7=[480000000, 20000000]), "area"),
    "three cells to hide among": (announce_and_hand_out(lambda: small_policy(AREA.subset([0, 1, 2]), (0,))), "3 parts"),
    "lone cells among gaps": (announce_and_hand_out(scattered), "would identify you"),
    "wrong sums": (weights_that_sum_to_more, "sum to more than|should lie between"),
    "truncated bytes": (cut, "cut short"),
    "a flipped bit": (flipped, "damaged|altered"),
    "no bytes": (lambda server: setattr(server, "policy_bytes", b""), "does not begin like"),
    "an unknown field": (announce(precise=True), "is not a field of this message"),
    "another protocol": (announce(protocol=2), "protocol"),
    "another campaign": (announce(campaign="other"), "answered with 'other'"),
    "no signature": (lambda server: setattr(server, "private_key", new_private_key()), "did not sign"),
    "no key": (announce(server_key="0" * 64), "did not sign"),
}


def _relabelled(policy: cv.Policy, epsilon_per_km: float) -> cv.Policy:
    return replace(policy, epsilon_per_km=epsilon_per_km)


def announce_anything(server: FakeServer) -> None:
    """Announce terms that a message may not hold; what cannot be hashed is not signed either."""
    server.terms = {"campaign": "noise", **server.terms}
    try:
        server.raw = server.announcement(server.terms["campaign"]).to_bytes()
    except ValueError:
        notice = {"campaign": "noise", "terms_hash": "0" * 64, "round": 0, "policy_hash": server.policy_hash}
        document = {"protocol": 1, "terms": server.terms, "notice": {**notice, "signature": "0" * 128}, "state": "open"}
        server.raw = json.dumps(document).encode()


@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_campaign_is_joined(tmp_path: Path, name: str) -> None:
    attack, reason = HOSTILE[name]
    server = FakeServer(small_policy())
    attack(server)
    announce_anything(server)
    device = new_device(tmp_path / "ledger", server)
    with pytest.raises((CampaignRefused, NotPrivateError)) as refusal:
        device.join("noise", {8: 1.0})
    assert re.search(reason, f"{refusal.value} {refusal.value.figures}")
    assert {request.method for request in server.requests} == {"GET"}
    assert device.ledger.entries() == {}
    assert device.ledger.spent() == Spent()


def test_the_same_campaign_without_the_attack_is_joined(tmp_path: Path) -> None:
    server = FakeServer(small_policy())
    announce_anything(server)
    assert new_device(tmp_path / "ledger", server).join("noise", {8: 1.0}).state == "acknowledged"


def test_an_owner_may_set_other_limits(tmp_path: Path) -> None:
    server = FakeServer(small_policy(epsilon_per_km=log(8)))
    limits = PrivacyLimits(epsilon_per_km=log(8))
    entry = new_device(tmp_path / "ledger", server, limits=limits).join("noise", {8: 1.0})
    assert entry.charge is not None
    assert entry.charge.epsilon_per_km == log(8)


def test_campaigns_that_claim_to_cost_nothing_are_charged(tmp_path: Path) -> None:
    """14 campaigns with ε = 1e-9 over striped maps found a person's cell, because "no place here" was free."""
    device = new_device(tmp_path / "ledger", FakeServer(small_policy(epsilon_per_km=1e-3)))
    for number in range(3):
        assert device.join(f"c{number}", {}).state == "acknowledged"
    with pytest.raises(LimitReached):
        device.join("c3", {})
    assert device.ledger.spent() == Spent(fsum([0.1] * 3), 3 * LN64, 0, 3)


def test_shifted_maps_are_refused_once_one_of_them_was_answered(tmp_path: Path) -> None:
    town = AREA
    x, y = town.first_centre_m
    shifted = cv.Grid.build(town.origin, 1000, 6, 6, (x + 500, y + 250))
    new_device(tmp_path / "ledger", FakeServer(small_policy())).join("one", {8: 1.0})
    server = FakeServer(small_policy(shifted))
    with pytest.raises(OutsideLimits, match="divided in another way"):
        new_device(tmp_path / "ledger", server).join("two", {8: 1.0})
    assert [request.method for request in server.requests] == ["GET"]
    assert new_device(tmp_path / "other", server).join("two", {8: 1.0}).state == "acknowledged"
