"""Hostile campaigns: none is joined, nothing is drawn, and the server never hears of the device."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.client import DeviceSettings, PrivacyLimits
from crowdveil.errors import CampaignRefused, NotPrivateError, OutsideLimits
from crowdveil.policy.files import MAGIC
from tests.client.fake_server import AREA, LN4, TARGETS, FakeServer, new_device, small_policy
from tests.town import square_town

Attack = Callable[[FakeServer], None]


def serve(server: FakeServer, policy: cv.Policy) -> None:
    """Announce a policy and hand out that very one."""
    server.policy_bytes = policy.to_bytes()
    server.info |= {
        "area": policy.area.describe(),
        "targets": list(policy.targets),
        "epsilon_per_km": policy.epsilon_per_km,
        "null_epsilon": policy.null_epsilon,
        "policy_hash": policy.hash,
    }


def leaky(area: cv.Area, epsilon_per_km: float) -> cv.Policy:
    """Tells the first cell from all others."""
    weights = np.tile(np.array([[1, 255]]), (len(area), 1))
    weights[0] = [255, 1]
    return cv.Policy(area, epsilon_per_km, (0,), weights, bits=8)


def tells_null() -> cv.Policy:
    """Claims to protect NULL, and lets those without a place say something that hardly anyone else does."""
    policy = small_policy(null_epsilon=log(2))
    return replace(policy, null_weights=policy.weights[TARGETS[0]])


def announce(**fields: object) -> Attack:
    return lambda server: server.info.update(fields)


def announce_area(**fields: object) -> Attack:
    return lambda server: server.info["area"].update(fields)


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
        server.info["policy_hash"] = other.hash

    return attack


def inflated_points() -> cv.Policy:
    """The same town with a kilometre said to be a thousand: any policy looks private over such distances."""
    return small_policy(cv.Area.from_points_km(AREA.xy_m / 1000 * 1000), TARGETS)


def inflated_towers(server: FakeServer) -> None:
    towers = cv.Towers.from_positions(*AREA.centres())
    serve(server, small_policy(towers))
    centres = towers.describe()["centres_m"]
    server.info["area"]["centres_m"] = [[1000 * x, 1000 * y] for x, y in centres]


def stretched_towers(server: FakeServer) -> None:
    towers = cv.Towers.from_positions(*AREA.centres())
    serve(server, small_policy(towers))
    server.info["area"]["centres_m"] = [[x + 10 * (x > 0), y] for x, y in towers.describe()["centres_m"]]


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
    server.info["policy_hash"] = digest.hexdigest()


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
    "a protected NULL announced, none handed out": (announce(null_epsilon=2.0), "null_epsilon = None, but 2.0 was"),
    "another ε₀ than announced": (as_promised_but(lambda: small_policy(null_epsilon=4.0)), "null_epsilon = 4.0"),
    "a row for NULL that breaks its ε₀": (announce_and_hand_out(tells_null), "Having no place is NOT protected"),
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
    "a policy that breaks its ε": (announce_and_hand_out(lambda: leaky(AREA, LN4)), "NOT private at ε"),
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
    "no hash": (announce(policy_hash=None), "policy_hash"),
}


def _relabelled(policy: cv.Policy, epsilon_per_km: float) -> cv.Policy:
    return cv.Policy(policy.area, epsilon_per_km, policy.targets, policy.weights, completion=policy.completion)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_hostile_campaign_is_joined(tmp_path: Path, name: str) -> None:
    attack, reason = HOSTILE[name]
    server = FakeServer(small_policy())
    server.info["campaign"] = "noise"
    attack(server)
    server.raw_info = json.dumps(server.info).encode()
    device = new_device(tmp_path / "ledger", server)
    with pytest.raises((CampaignRefused, NotPrivateError)) as refusal:
        device.join("noise", {8: 1.0})
    assert re.search(reason, f"{refusal.value} {refusal.value.figures}")
    assert {request.method for request in server.requests} == {"GET"}
    assert device.ledger.entries() == {}


def test_the_same_campaign_without_the_attack_is_joined(tmp_path: Path) -> None:
    server = FakeServer(small_policy())
    server.raw_info = json.dumps({"campaign": "noise", **server.info}).encode()
    assert new_device(tmp_path / "ledger", server).join("noise", {8: 1.0}).state == "acknowledged"


def test_an_owner_may_set_other_limits(tmp_path: Path) -> None:
    server = FakeServer(small_policy(epsilon_per_km=log(8)))
    settings = DeviceSettings(PrivacyLimits(epsilon_per_km=log(8)), seat_interval_s=0)
    assert new_device(tmp_path / "ledger", server, settings).join("noise", {8: 1.0}).epsilon_per_km == log(8)


@pytest.mark.parametrize(
    ("null_epsilon", "reason"), [(None, "asks for NULL in the clear"), (log(17), "announces ε₀ = 2.83")]
)
def test_an_owner_may_ask_for_a_protected_null(tmp_path: Path, null_epsilon: float | None, reason: str) -> None:
    settings = DeviceSettings(PrivacyLimits(null_epsilon=log(16)), seat_interval_s=0)
    server = FakeServer(small_policy(null_epsilon=null_epsilon))
    device = new_device(tmp_path / "refuses", server, settings)
    with pytest.raises(OutsideLimits, match="whether you regularly visit anywhere in this area") as refusal:
        device.join("noise", {8: 1.0})
    assert re.search(f"{reason}.*accepts at most ε₀ = 2.77259", refusal.value.figures)
    assert [request.path for request in server.requests] == ["/v1/campaigns/noise"]
    for fine in (log(16), log(2)):
        kind = FakeServer(small_policy(null_epsilon=fine))
        assert new_device(tmp_path / f"joins {fine}", kind, settings).join("noise", {}).state == "acknowledged"
